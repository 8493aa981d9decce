"""Columns that are dates, row numbers or identifiers are told and handled; empty cells are never overlooked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from table_files import cells, error_of, table_of

import exactfit
from exactfit import DataError, InterpolatingClassifier, TableModel, read_table
from exactfit.tables import Encoding
from exactfit.tables.explained import described


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
        ("n", "number, 1 to 3; 1 empty cell imputed"),
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
        "row    a  d           y",
        "  0  1.5  2020-01-02  p",
        "  1  2.5  2020-01-03  q",
        "  2  3.5  2020-01-04  q",
        "  3  3.5  2020-01-04  q",
        "  4  3.5  2020-01-04  q",
        "and 2 more rows",
    ]


GAPS = "a,b,y\n1,u,p\n,v,q\n2,,p\n8,v,q\n"


def test_the_median_and_the_most_frequent_category_fill_gaps(path: Path) -> None:
    table = table_of(path, GAPS, label="y", missing="impute")
    X = Encoding.learn(table, "none").encode(table)
    assert X.tolist() == [[1, 1, 0], [2, 0, 1], [2, 0, 1], [8, 0, 1]]


def test_indicators_say_which_cells_were_empty(path: Path) -> None:
    table = table_of(path, GAPS, label="y", missing="indicator")
    encoding = Encoding.learn(table, "none")
    assert encoding.features == ("a", "a is missing", "b=u", "b=v", "b is missing")
    assert encoding.encode(table).tolist() == [[1, 0, 1, 0, 0], [2, 1, 0, 1, 0], [2, 0, 0, 0, 1], [8, 0, 0, 1, 0]]


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_what_was_learned_is_kept_in_the_file(missing: str, path: Path, tmp_path: Path) -> None:
    path.write_text(GAPS.replace("2,,p", "2,,q"))  # filled, it equals the row before
    model = TableModel(InterpolatingClassifier(random_state=0), missing=missing).fit(path, label="y")  # type: ignore[arg-type]
    exactfit.save(model, tmp_path / "m.exactfit")
    again = exactfit.load(tmp_path / "m.exactfit")
    (tmp_path / "new.csv").write_text("b,a\n,\nu,2\n")
    assert np.array_equal(again.encode(tmp_path / "new.csv"), model.encode(tmp_path / "new.csv"))
    assert again.missing == missing
    assert again.certify(path).holds
    assert again.columns == model.columns


def test_a_model_that_did_not_learn_to_fill_says_so() -> None:
    model = TableModel(InterpolatingClassifier(random_state=0)).fit([[1.0], [2.0]], ["p", "q"])
    with pytest.raises(DataError, match="fitted without --missing impute"):
        model.predict(read_table(np.array([[np.nan], [1.0]]), missing="impute"))


def test_a_nearly_empty_column_is_named_before_its_rows_are_left_out(path: Path) -> None:
    content = "a,b,y\n" + "1,,p\n" * 9 + "2,3,q\n"
    message = error_of(path, content, label="y", missing="drop-rows")
    assert "column 'b' is empty in 9 of 10 rows, which would all be left out for it" in message
    assert "--drop b" in message
    assert "Nearly empty, better left out: --drop b." in error_of(path, content, label="y")
    assert "column 'b' has no filled cell" in error_of(path, "a,b\n1,\n2,\n", missing="impute")


def test_rows_without_a_label_are_left_out_and_told(path: Path) -> None:
    table = table_of(path, "a,y\n1,p\n2,\n,q\n", label="y", missing="impute")
    assert (table.rows.tolist(), table.notes) == ([0, 2], ("1 row without a label is left out",))


def test_anchors_are_rows_of_the_file(path: Path, tmp_path: Path) -> None:
    path.write_text("a,y\n,p\n,q\n0,p\n5,q\n6,p\n1,p\n7,q\n")
    table = read_table(path, label="y", missing="drop-rows")
    model = TableModel(InterpolatingClassifier(random_state=0)).fit(table)
    exactfit.save(model, tmp_path / "m.exactfit")
    for one in (model, exactfit.load(tmp_path / "m.exactfit")):
        found = one.explain(table)
        named = {at.anchor for each in found for _, at in each.roles()} | {
            at.witness for e in found for _, at in e.roles()
        }
        assert named <= set(range(2, 7))
        assert set(found.anchors) == {int(row) + 2 for row in one.classifier_.anchors_}
