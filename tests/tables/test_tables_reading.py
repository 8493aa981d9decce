"""Tables from files, frames and standard input: their columns, labels and gaps."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.problems import cells, error_of, table_of

from exactfit import DataError, MissingDependencyError, ParameterError, read_table
from exactfit.tables import reading

FRUIT = "weight,colour,fruit\n182,red,apple\n118.5,yellow,banana\n-1e2,red,apple\n"


def test_columns_of_numbers_and_of_categories(path: Path) -> None:
    table = table_of(path, FRUIT, label="fruit")
    assert cells(table) == {"weight": [182.0, 118.5, -100.0], "colour": ["red", "yellow", "red"]}
    assert [column.kind for column in table.columns] == ["numeric", "categorical"]
    assert table.columns[1].categories == ("red", "yellow")
    assert table.labels is not None
    assert table.labels.tolist() == ["apple", "banana", "apple"]
    assert (table.label, table.label_position, table.n_columns, len(table)) == ("fruit", 2, 3, 3)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pipe(b"\xef\xbb\xbfa,b\n1,2\n")))
    table = read_table("-")
    assert (table.name, cells(table)) == ("standard input", {"a": [1.0], "b": [2.0]})


def test_columns_are_dropped_and_made_categorical(path: Path) -> None:
    table = table_of(path, "id,zip,x,y\nq,10115,1,a\n,80331,2,b\n", label="y", drop=["id"], categorical=["zip"])
    assert cells(table) == {"zip": ["10115", "80331"], "x": [1.0, 2.0]}
    assert [column.position for column in table.columns] == [1, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "friut"}, "no column 'friut': did you mean 'fruit'?"),
        ({"drop": ["q"]}, "no column 'q': the columns are weight, colour, fruit"),
        ({"categorical": ["q"]}, "no column 'q'"),
        ({"label": "fruit", "drop": ["fruit"]}, "holds the labels"),
        ({"missing": "fill"}, "missing must be one of 'error', 'drop-rows', 'impute', 'indicator'"),
        ({"label": "fruit", "separator": ";"}, "did you mean --separator ','?"),
        ({"label": np.zeros(9)}, "label must be the name of a column, got ndarray"),
        ({"separator": np.zeros(9)}, "must be one character, got ndarray"),
    ],
)
def test_columns_that_are_not_there(options: dict[str, Any], says: str, path: Path) -> None:
    assert says in error_of(path, FRUIT, ParameterError, **options)


def test_one_column_only_is_noticed(path: Path) -> None:
    message = error_of(path, "weight colour fruit\n1 red apple\n", ParameterError, label="fruit")
    assert "'weight colour fruit' is the only one. Is the separator another one (--separator)?" in message


def test_nothing_is_left(path: Path) -> None:
    assert "no columns beside the labels" in error_of(path, "y\n1\n", label="y")
    assert "every row has an empty cell" in error_of(path, "a,b\n1,\n,2\n", missing="drop-rows")


GAPS = "a,b,y\n1,x,p\n2,,q\n\n ,z,p\n4,x,\n5,x,q\n"


def test_empty_cells_are_counted_and_placed(path: Path) -> None:
    message = error_of(path, GAPS, label="y")
    assert (
        "t.csv has 3 empty cells, the first in row 1 (line 3), column 'b' (by column: 'a' 1, 'b' 1, 'y' 1)" in message
    )
    assert "--missing drop-rows" in message


def test_rows_with_empty_cells_are_dropped_if_asked(path: Path) -> None:
    table = table_of(path, GAPS, label="y", missing="drop-rows")
    assert cells(table) == {"a": [1.0, 5.0], "b": ["x", "x"]}
    assert table.labels is not None
    assert table.labels.tolist() == ["p", "q"]
    assert (table.rows.tolist(), table.n_dropped) == ([0, 4], 3)
    assert table.places([0, 1]) == "rows 0 and 4 (lines 2 and 7)"


def test_empty_cells_of_dropped_columns_do_not_count(path: Path) -> None:
    assert len(table_of(path, GAPS, drop=["b", "y", "a"][:2], missing="drop-rows")) == 4
    assert len(table_of(path, "a,b\n1,\n2,\n", drop=["b"])) == 2


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"w": [1.5, 2.0, -3.0], "n": [1, 2, 3], "c": ["x", "y", "x"], "b": [True, False, True], "y": [7, 8, 7]}
    )


def test_the_same_table_from_csv_parquet_and_frames(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "t.csv", index=False)
    frame().to_parquet(tmp_path / "t.parquet")
    expected = read_table(tmp_path / "t.csv", label="y")
    sources = [tmp_path / "t.parquet", frame(), pl.from_pandas(frame()), pl.from_pandas(frame()).to_arrow()]
    for source in [*sources, frame().convert_dtypes(), frame().astype({"c": "category"})]:
        table = read_table(source, label="y")
        assert cells(table) == cells(expected)
        assert table.labels is not None
        assert table.labels.tolist() == [7, 8, 7]
        assert table.place(1) == "row 1"
        assert table.header


def test_empty_cells_of_a_frame(tmp_path: Path) -> None:
    gaps = pd.DataFrame({"w": [1.0, np.nan, 3.0, 4.0], "c": ["x", "y", None, "x"], "y": ["p", "q", "p", None]})
    for source in (gaps, gaps.convert_dtypes(), pl.from_pandas(gaps)):
        with pytest.raises(
            DataError, match=r"the frame has 3 empty cells \(None or NaN\), the first in row 1, column 'w'"
        ):
            read_table(source, label="y")
        table = read_table(source, label="y", missing="drop-rows")
        assert (cells(table), table.rows.tolist()) == ({"w": [1.0], "c": ["x"]}, [0])
    whole = pd.DataFrame({"w": [1.0, 2.0, 3.0], "y": [1.0, np.nan, 2.0]})
    labels = read_table(whole, label="y", missing="drop-rows").labels
    assert labels is not None
    assert labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        ({"a": [2**53 + 1, 1]}, {}, "9007199254740993"),
        ({"a": ["x", 1]}, {}, "row 1 holds the number 1"),
        ({"a": [1.0, 2.0], "y": [0.5, 1.0]}, {"label": "y"}, "labels must be integers or text, got the number 0.5"),
        ({"a": []}, {}, "has no rows"),
        ({"a": [np.inf, 1.0]}, {}, "infinity in row 0"),
    ],
)
def test_frames_that_cannot_be_used(columns: dict[str, list[Any]], options: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=re.escape(says)):
        read_table(pd.DataFrame(columns), **options)


def test_names_that_become_the_same(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="same name"):
        read_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([3, 1], [3, 1]),
        (["b", "3"], ["b", "3"]),
        ([True, False], ["True", "False"]),
        ([2.0, 5.0], [2, 5]),
        (np.array([1, 2], dtype=np.uint8), [1, 2]),
    ],
)
def test_npz(y: Any, labels: list[Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.array([[1, 2], [3, 4]], dtype=np.uint8), y=np.array(y))
    for label in ("y", None):
        table = read_table(tmp_path / "t.npz", label=label)
        assert cells(table) == {"0": [1.0, 3.0], "1": [2.0, 4.0]}
        assert table.labels is not None
        assert table.labels.tolist() == labels
    assert cells(read_table(tmp_path / "t.npz", categorical=["0"]))["0"] == ["1", "3"]


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"y": [1, 2]}, "must hold an array of numbers X"),
        ({"X": [[1.0], [2.0]], "y": [1]}, "a label for each row"),
        ({"X": [1.0, 2.0]}, "X must be a matrix of numbers"),
        ({"X": [["a"]]}, "X must be a matrix of numbers"),
        ({"X": np.array([[None]])}, "must hold an array of numbers X"),
        ({"X": [[2**53 + 1]]}, "9007199254740993"),
        ({"X": [[np.nan], [1.0]]}, "1 empty cell (None or NaN), the first in row 0, column '0'"),
    ],
)
def test_npz_that_cannot_be_used(arrays: dict[str, Any], says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", **{name: np.asarray(array) for name, array in arrays.items()})
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "t.npz")
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["t.npz", "t.parquet"])
def test_damaged_files_are_data_errors(name: str, tmp_path: Path) -> None:
    for content in (b"", b"text", b"PAR1", b"PK\3\4 no archive"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=name):
            read_table(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / f"no{name}")


def test_parquet_without_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame().to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        read_table(tmp_path / "t.parquet")


def test_csv_and_npz_need_neither_pyarrow_nor_polars(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
    assert len(table_of(path, FRUIT)) == 3
    np.savez(path.with_suffix(".npz"), X=np.eye(2))
    assert len(read_table(path.with_suffix(".npz"))) == 2


# ---- Damage, and integers of every size --------------------------------------------------------------------

LARGE = np.array([2**63, 2**64 - 1, 5], dtype=np.uint64)


@pytest.mark.parametrize("kind", ["npz", "parquet", "frame"])
def test_labels_beyond_int64_stay_what_they_are(kind, tmp_path):
    X, frame = np.array([[1.0], [2.0], [3.0]]), pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": LARGE})
    path = tmp_path / f"t.{kind}"
    if kind == "npz":
        np.savez(path, X=X, y=LARGE)
    elif kind == "parquet":
        frame.to_parquet(path)
    table = read_table(frame if kind == "frame" else path, label="y")
    assert table.labels.dtype == np.uint64
    assert table.labels.tolist() == LARGE.tolist()


def test_labels_beyond_64_bits_are_refused():
    for labels in ([2**64, 1, 2], [-1, 2**63, 2], [10**30, 1, 2]):
        frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": np.array(labels, dtype=object)})
        with pytest.raises(DataError, match="fit no integer of 64 bits: write them as text"):
            read_table(frame, label="y")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_damaged_files_are_refused_in_one_line(ending, tmp_path):
    path, rng = tmp_path / f"t.{ending}", np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.arange(50.0), "größe": rng.normal(size=50), "y": np.arange(50) % 3})
    if ending == "npz":
        np.savez_compressed(path, X=frame[["x", "größe"]].to_numpy(), y=frame["y"].to_numpy())
    else:
        frame.to_parquet(path)
    whole = path.read_bytes()
    for trial in range(600):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged if trial % 5 else damaged[: rng.integers(len(whole))])
        said = ""
        try:
            read_table(path, label="y")
        except (DataError, ParameterError) as error:
            said = str(error)
        assert "\n" not in said


def test_an_archive_that_unpacks_to_more_than_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((1000, 100)), y=np.arange(1000))
    monkeypatch.setattr(reading, "usable_memory", lambda: 10**6)
    with pytest.raises(DataError, match="no more than 500,000 can be read here"):
        read_table(path)


def test_a_name_among_very_many_that_stands_twice_is_found_at_once(tmp_path):
    path = tmp_path / "t.csv"
    names = [f"c{k}" for k in range(100_000)]
    path.write_text(",".join([*names, "c99999"]) + "\n")
    with pytest.raises(DataError, match="more than one column 'c99999'"):
        read_table(path)


def test_zeros_in_front_do_not_count_as_digits(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,y\n{'0' * 4400}9007199254740994,u\n-{'0' * 4400}9007199254740994,v\n")
    assert read_table(path, label="y").columns[0].values.tolist() == [9007199254740994.0, -9007199254740994.0]
    path.write_text(f"a,y\n{'0' * 4400}9007199254740993,u\n")
    with pytest.raises(DataError, match="beyond 2"):
        read_table(path, label="y")
