"""Records of tables, and errors that name rows of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.problems import fitted_table, people, table_of

from exactfit import (
    ConflictWarning,
    ContradictoryLabelsError,
    DataError,
    InterpolatingClassifier,
    read_table,
)


def test_contradictions_are_named_by_their_row_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,c,y\n1,a,p\n,a,p\n\n2,b,q\n1,a,q\n2,b,q\n", encoding="utf-8")
    table = read_table(path, label="y", missing="drop-rows")
    with pytest.raises(ContradictoryLabelsError) as caught:
        fitted_table(table)
    assert caught.value.pairs == ((0, 3),)
    assert "t.csv: rows that are equal after encoding" in str(caught.value)
    assert "rows 0 and 3 (lines 2 and 6)" in str(caught.value)
    assert "--conflicts majority" in str(caught.value)
    with pytest.warns(ConflictWarning):
        model = fitted_table(table, conflicts="majority")
    assert model.certificate_.overruled.tolist() == [3]
    assert model.certify(table).errors.tolist() == [3]
    kept = model.certify(table, given_up=[3])
    assert kept.holds
    assert (kept.given_up.tolist(), kept.overruled.tolist()) == ([3], [3])


def test_rows_that_only_scaling_makes_equal_are_contradictions(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1e-20,p\n1,p\n2e-20,q\n", encoding="utf-8")
    with pytest.raises(ContradictoryLabelsError, match="rows 0 and 2"):
        fitted_table(path, "y")
    assert fitted_table(path, "y", scale="none").certify(path).holds


def test_more_contradictions_than_a_line_can_hold(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [k // 2 for k in range(20)], "y": ["p", "q"] * 10})
    with pytest.raises(ContradictoryLabelsError, match=r"rows 8 and 9; and 5 more\. No function"):
        fitted_table(frame, "y")


def test_scikit_learns_complaints_are_data_errors(fruit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complain(*_: Any) -> None:
        raise ValueError("Found array with 0 feature(s)")

    monkeypatch.setattr(InterpolatingClassifier, "fit", complain)
    with pytest.raises(DataError, match=r"fruit\.csv: Found array"):
        fitted_table(fruit, "fruit")


def test_records_are_shown_in_a_line() -> None:
    frame, y = people()
    table = read_table(frame.assign(answer=y), label="answer")
    model = fitted_table(table)
    assert repr(table) == "<Table the frame: 60 rows, 2 columns, labels in 'answer'>"
    assert repr(model) == "TableModel(classifier=InterpolatingClassifier(random_state=0))"


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
