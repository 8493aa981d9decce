"""Cells become numbers, categories or nothing, and what is neither is named; row numbers and gaps are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.problems import cells, error_of, table_of

from exactfit import ParameterError, read_table


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["3", "01"], ["3", "01"]),
        (["3", "1.0"], ["3", "1.0"]),
        (["-0", "1"], ["-0", "1"]),
        (["1", "x"], ["1", "x"]),
        ([" 1", "2"], [" 1", "2"]),
        (["999999999999999999", "1"], [999999999999999999, 1]),
        (["9" * 30, "1"], ["9" * 30, "1"]),
        (["nil", "inf"], ["nil", "inf"]),
    ],
)
@pytest.mark.parametrize("other", ["5", "u"], ids=["fast", "slow"])
def test_labels_stay_as_they_are_written(written: list[str], read: list[Any], other: str, path: Path) -> None:
    table = table_of(path, "y,x\n" + "".join(f"{label},{other}\n" for label in written), label="y")
    assert table.labels is not None
    assert table.labels.tolist() == read


def test_text_among_numbers_is_named(path: Path) -> None:
    message = error_of(path, "a,b\n1,2\n3,\n4,x\n5,9\n")
    assert "column 'b' holds numbers (2 so far), but row 2 (line 4) holds the text 'x'" in message
    assert "--missing-values 'x' --missing drop-rows" in message
    assert "--categorical b" in message
    remedied = table_of(path, "a,b\n1,2\n3,\n4,x\n5,9\n", missing_values=["x"], missing="drop-rows")
    assert remedied.rows.tolist() == [0, 3]


def test_a_stray_in_the_first_row_is_the_one_that_is_named(path: Path) -> None:
    assert "holds text (2 so far), but row 0 (line 2) holds the number 2" in error_of(path, "b\n2\nx\ny\n")
    assert "holds numbers (2 so far), but row 0 (line 2) holds the text 'x'" in error_of(path, "b\nx\n1\n2\n")


def test_a_number_among_text_is_named(path: Path) -> None:
    message = error_of(path, "a,b\n1,\n3,x\n4,y\n5, 7\n")
    assert "column 'b' holds text (2 so far), but row 3 (line 5) holds the number 7" in message
    table = table_of(path, "a,b\n3,x\n5, 7\n", categorical=["b"])
    assert cells(table)["b"] == ["x", " 7"]


@pytest.mark.parametrize("cell", ["1_000", "0x10", "1,5", "1 2", "--1", "1e", "1'000"])
def test_what_no_number_is(cell: str, path: Path) -> None:
    assert f"row 1 (line 3) holds the text {cell!r}" in error_of(path, f'a\n1\n"{cell}"\n')


def test_large_integers_that_float64_holds_are_fine(path: Path) -> None:
    table = table_of(path, "a\n9007199254740994\n-1e300\n123456789012345678901234567890.5\n")
    assert cells(table)["a"] == [9007199254740994.0, -1e300, 123456789012345678901234567890.5]


@pytest.mark.parametrize("word", ["NA", "N/A", "?", "null", "nan", "", " ? "])
def test_words_for_nothing(word: str, path: Path) -> None:
    content = f"a,b,y\n1,u,p\n{word},v,q\n3,{word},p\n4,u,q\n"
    assert table_of(path, content, label="y", missing="drop-rows").rows.tolist() == [0, 3]
    assert "2 empty cells, the first in row 1 (line 3), column 'a'" in error_of(path, content, label="y")


def test_other_words_for_nothing(path: Path) -> None:
    content = "a,b\n1,NA\n-999,v\n3,none\n4,v\n"
    both = {"missing": "drop-rows", "missing_values": ["none", "-999"]}
    assert table_of(path, content, **both).rows.tolist() == [3]
    assert cells(table_of(path, content, missing_values=[""]))["b"] == ["NA", "v", "none", "v"]
    assert read_table(
        pd.DataFrame({"b": ["x", "none"]}), missing_values=["none"], missing="drop-rows"
    ).rows.tolist() == [0]
    assert "must be a collection of words" in error_of(path, content, ParameterError, missing_values="none")


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_without_a_name_are_left_out(name: str, path: Path) -> None:
    table = table_of(path, f"{name},x\n0,5\n1,7\n2,5\n")
    assert cells(table) == {"x": [5.0, 7.0, 5.0]}
    assert "row numbers, left out" in table.notes[0]
    assert cells(table_of(path, f"{name},x\n4,5\n1,7\n")) == {name: [4.0, 1.0], "x": [5.0, 7.0]}


def test_a_nearly_empty_column_is_named_before_its_rows_are_left_out(path: Path) -> None:
    content = "a,b,y\n" + "1,,p\n" * 9 + "2,3,q\n"
    message = error_of(path, content, label="y", missing="drop-rows")
    assert "column 'b' is empty in 9 of 10 rows, which would all be left out for it" in message
    assert "--drop b" in message
    assert "Nearly empty, better left out: --drop b." in error_of(path, content, label="y")


def test_rows_without_a_label_are_left_out_and_told(path: Path) -> None:
    table = table_of(path, "a,y\n1,p\n2,\n,q\n", label="y", missing="impute")
    assert (table.rows.tolist(), table.notes) == ([0, 2], ("1 row without a label is left out",))
