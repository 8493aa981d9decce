"""Cells as numbers or categories: what is neither is named with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from table_files import cells, error_of, table_of


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
