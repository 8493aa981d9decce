"""What columns are for: row numbers, quantities among labels, and a line about each."""

from __future__ import annotations

from pathlib import Path

import pytest
from table_files import cells, table_of

from exactfit import DataError, InterpolatingClassifier, TableModel, read_table
from exactfit.tables.roles import described


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_without_a_name_are_left_out(name: str, path: Path) -> None:
    table = table_of(path, f"{name},x\n0,5\n1,7\n2,5\n")
    assert cells(table) == {"x": [5.0, 7.0, 5.0]}
    assert "row numbers, left out" in table.notes[0]
    assert cells(table_of(path, f"{name},x\n4,5\n1,7\n")) == {name: [4.0, 1.0], "x": [5.0, 7.0]}


def test_labels_that_look_like_a_quantity_are_refused(path: Path) -> None:
    path.write_text("x,price\n" + "".join(f"{k},{100 + 7 * (k // 3)}\n" for k in range(90)))
    model = TableModel(InterpolatingClassifier(random_state=0))
    with pytest.raises(DataError, match=r"30 different values in 90 rows: is this a quantity"):
        model.fit(path, label="price")
    assert len(model.fit(read_table(path, label="price", categorical=["price"])).classes_) == 30


def test_a_line_about_each_column(path: Path) -> None:
    content = "n,c,d,z,y\n1,u,2020-01-01,5,p\n,v,2020-01-02,5,q\n3,u,2020-01-03,5,p\n"
    table = table_of(path, content, label="y", drop=["z"], missing="impute")
    assert described(table, ["z"]) == [
        ("n", "number, 1 to 3; 1 empty cells imputed"),
        ("c", "category, 2 levels"),
        ("d", "date (year-month-day), as days"),
        ("z", "left out"),
        ("y", "label, 2 classes"),
    ]


def test_many_columns_of_numbers_share_a_line(path: Path) -> None:
    names = ",".join(f"x{k}" for k in range(50))
    table = table_of(path, f"{names},c\n" + ("1," * 50 + "u\n") + ("2," * 50 + "v\n"))
    assert described(table) == [("x0 to x49", "50 columns of numbers, 1 to 2"), ("c", "category, 2 levels")]


def test_a_printed_table_shows_its_head(path: Path) -> None:
    table = table_of(path, "a;d;y\n1,5;2020-01-02;p\n2,5;2020-01-03;q\n" + "3,5;2020-01-04;q\n" * 5, label="y")
    assert str(table).splitlines() == [
        "<Table t.csv: 7 rows, 2 columns, labels in 'y'>",
        "cells are separated by ';', numbers have decimal commas",
        "row  a    d           y",
        "0    1.5  2020-01-02  p",
        "1    2.5  2020-01-03  q",
        "2    3.5  2020-01-04  q",
        "3    3.5  2020-01-04  q",
        "4    3.5  2020-01-04  q",
        "and 2 more rows",
    ]
