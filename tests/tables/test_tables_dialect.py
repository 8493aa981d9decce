"""Separators, decimal signs and words for nothing, found out from the file or given."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from table_files import cells, error_of, table_of

from exactfit import ParameterError, read_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def test_decimal_commas_are_found_with_the_separator_and_told(path: Path) -> None:
    table = table_of(path, "a;b;y\n1,5;2;p\n-2,25;3;q\n", label="y")
    assert cells(table) == {"a": [1.5, -2.25], "b": [2.0, 3.0]}
    assert table.notes == ("cells are separated by ';', numbers have decimal commas",)


def test_plain_blocks_with_decimal_commas_take_the_fast_way_and_are_right(path: Path) -> None:
    rows = "".join(f"{k},25;{k}\n" for k in range(500))
    assert cells(table_of(path, f"a;b\n{rows}"))["a"] == [k + 0.25 for k in range(500)]
    assert "holds the text '1.5'" in error_of(path, f"a;b\n{rows}1.5;2\n")


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_separators_are_found(separator: str, path: Path) -> None:
    table = table_of(path, "a,b\n1.5,x\n2.5,y\n".replace(",", separator))
    assert cells(table) == {"a": [1.5, 2.5], "b": ["x", "y"]}
    assert len(table.notes) == (separator != ",")


def test_without_a_header_commas_may_stand_on_either_side(path: Path) -> None:
    assert cells(table_of(path, "1,5;2,5\n3,5;4,5\n", header=False)) == {"0": [1.5, 3.5], "1": [2.5, 4.5]}
    assert cells(table_of(path, "1,x;y\n3,z;w\n", header=False)) == {"0": [1.0, 3.0], "1": ["x;y", "z;w"]}


def test_a_given_decimal_sign_stays(path: Path) -> None:
    assert cells(table_of(path, "a;b\n1,5;x\n", decimal=".")) == {"a": ["1,5"], "b": ["x"]}
    assert cells(table_of(path, 'a,b\n"1,5",x\n', decimal=",")) == {"a": [1.5], "b": ["x"]}
    assert "decimal must be '.', ',' or 'auto'" in error_of(path, "a\n1\n", ParameterError, decimal=";")


def test_a_separator_that_gives_one_column_is_noticed(path: Path) -> None:
    assert "did you mean --separator ';'?" in error_of(path, "a;b\n1;2\n", ParameterError, separator=",")
    assert cells(table_of(path, "a\n1\n", separator=";")) == {"a": [1.0]}


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
