"""Tables: what cells become, where mistakes are, and that the fast way and the slow way agree."""

from __future__ import annotations

import csv
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
from hypothesis import example, given
from hypothesis import strategies as st

from exactfit import DataError, MissingDependencyError, ParameterError, Table, read_table
from exactfit.tables import text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def table_of(path: Path, content: str | bytes, **options: Any) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


def error_of(path: Path, content: str | bytes, kind: type[Exception] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        table_of(path, content, **options)
    return str(caught.value)


def cells(table: Table) -> dict[str, list[Any]]:
    """Numbers and categories, as they stood in the file."""
    return {
        column.name: column.values.tolist()
        if column.categories is None
        else [column.categories[code] for code in column.values]
        for column in table.columns
    }


FRUIT = "weight,colour,fruit\n182,red,apple\n118.5,yellow,banana\n-1e2,red,apple\n"


def test_columns_of_numbers_and_of_categories(path: Path) -> None:
    table = table_of(path, FRUIT, label="fruit")
    assert cells(table) == {"weight": [182.0, 118.5, -100.0], "colour": ["red", "yellow", "red"]}
    assert [column.kind for column in table.columns] == ["numeric", "categorical"]
    assert table.columns[1].categories == ("red", "yellow")
    assert table.labels is not None
    assert table.labels.tolist() == ["apple", "banana", "apple"]
    assert (table.label, table.label_position, table.n_columns, len(table)) == ("fruit", 2, 3, 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("red", '"red"').replace("118.5", '"118.5"'),
        lambda text: '"weight"' + text.removeprefix("weight"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\n" + text,
        lambda text: text.replace("118.5", " 118.5 "),
        lambda text: text.replace("182", "+1.82E+2"),
    ],
)
def test_other_ways_to_write_the_same_table(change: Any, path: Path) -> None:
    plain, other = table_of(path, FRUIT, label="fruit"), table_of(path, change(FRUIT), label="fruit")
    assert cells(other) == cells(plain)
    assert other.labels is not None
    assert plain.labels is not None
    assert other.labels.tolist() == plain.labels.tolist()


@pytest.mark.parametrize(("separator", "given"), [(";", ";"), ("\t", "tab"), ("\t", "\t"), ("|", "|"), (" ", " ")])
def test_separators(separator: str, given: str, path: Path) -> None:
    table = table_of(path, FRUIT.replace(",", separator), separator=given, label="fruit")
    assert cells(table)["weight"] == [182.0, 118.5, -100.0]
    numbers = table_of(path, f"a{separator}b\n1{separator}2\n", separator=given)
    assert cells(numbers) == {"a": [1.0], "b": [2.0]}


@pytest.mark.parametrize("separator", ["", ",,", "5", "-", ".", "e", '"', "\n", "\r", "€"])
def test_what_no_separator_is(separator: str, path: Path) -> None:
    assert "must be one character" in error_of(path, FRUIT, ParameterError, separator=separator)


def test_without_a_header_columns_are_numbered(path: Path) -> None:
    for first in ("1,2,x\n", '"1",2,x\n'):
        table = table_of(path, first + "3,4,y\n", header=False, label="2")
        assert cells(table) == {"0": [1.0, 3.0], "1": [2.0, 4.0]}
        assert not table.header
        assert table.place(1) == "row 1 (line 2)"
    assert cells(table_of(path, "1,2\n3,4\n", header=False)) == {"0": [1.0, 3.0], "1": [2.0, 4.0]}


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


# ---------------------------------------------------------------- labels


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
        (["nan", "inf"], ["nan", "inf"]),
    ],
)
@pytest.mark.parametrize("other", ["5", "u"], ids=["fast", "slow"])
def test_labels_stay_as_they_are_written(written: list[str], read: list[Any], other: str, path: Path) -> None:
    table = table_of(path, "y,x\n" + "".join(f"{label},{other}\n" for label in written), label="y")
    assert table.labels is not None
    assert table.labels.tolist() == read


def test_labels_are_found_at_either_end_of_a_line(path: Path) -> None:
    for position in range(5):
        lines = [["1.5", "2.5", "3.5", "4.5"], ["5", "6", "7", "8"]]
        for line, label in zip(lines, ("10", "20"), strict=True):
            line.insert(position, label)
        table = table_of(path, "".join(",".join(line) + "\n" for line in lines), header=False, label=str(position))
        assert table.labels is not None
        assert table.labels.tolist() == [10, 20]


# ---------------------------------------------------------------- cells that do not fit


def test_text_among_numbers_is_named(path: Path) -> None:
    message = error_of(path, "a,b\n1,2\n3,\n4,x\n5,y\n")
    assert (
        "column 'b' is one of numbers (row 0 (line 2) holds numbers), but row 2 (line 4) holds the text 'x'" in message
    )
    assert "--categorical b" in message


def test_a_number_among_text_is_named(path: Path) -> None:
    message = error_of(path, "a,b\n1,\n3,x\n4,y\n5, 7\n")
    assert "column 'b' is one of text (row 1 (line 3) holds text), but row 3 (line 5) holds the number 7" in message
    table = table_of(path, "a,b\n3,x\n5, 7\n", categorical=["b"])
    assert cells(table)["b"] == ["x", " 7"]


@pytest.mark.parametrize("cell", ["1_000", "0x10", "1,5", "1 2", "--1", "1e", "1'000"])
def test_what_no_number_is(cell: str, path: Path) -> None:
    assert f"row 1 (line 3) holds the text {cell!r}" in error_of(path, f'a\n1\n"{cell}"\n')


def test_the_place_is_right_in_later_batches_and_after_long_cells(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BATCH_CELLS", 4)
    monkeypatch.setattr(text, "BLOCK_BYTES", 8)
    rows = "".join(f"{k},{k}\n" for k in range(20))
    assert "row 21 (line 25)" in error_of(path, f'a,b\n{rows}"2\n",3\n\nx,1\n')
    assert "row 20 (line 22), column 'b'" in error_of(path, f"a,b\n{rows}1,\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "t.csv is empty"),
        ("\ufeff", "t.csv is empty"),
        ("\n\n", "t.csv is empty"),
        ("a,b\n", "has a header, but no rows"),
        ("a,b\n\n", "has a header, but no rows"),
        ("a,b\n1,2\n1,2,3\n", "row 1 (line 3) has 3 cells, and its header has 2"),
        ("a,b\n1\n", "row 0 (line 2) has 1 cells"),
        ("a,b,a\n1,2,3\n", "more than one column 'a'"),
        ('a,b\n1,"2\n', "line 2 cannot be read"),
        ('a,b\n1,"2"3\n', "line 2 cannot be read"),
        (b"a,b\n1,\xff\n", "is not UTF-8"),
        (b"a,\xe4\n1,2\n", "is not UTF-8"),
        ("a,b\n1,2\n1,inf\n", "column 'b' holds infinity in row 1 (line 3)"),
        ("a,b\n1,2\n1,1e999\n", "column 'b' holds infinity in row 1 (line 3)"),
        ("a,b\n1,2\n1,9007199254740993\n", "9007199254740993 in row 1 (line 3)"),
        ("a,b\n1,2\n1,NaN\n,3\n", "2 empty cells, the first in row 1 (line 3), column 'b'"),
        ("a,b\n1,2\n  ,x\n", "row 1 (line 3) holds the text 'x'"),
    ],
)
def test_files_that_cannot_be_used(content: str | bytes, says: str, path: Path) -> None:
    message = error_of(path, content)
    assert says in message
    assert "\n" not in message


def test_large_integers_that_float64_holds_are_fine(path: Path) -> None:
    table = table_of(path, "a\n9007199254740994\n-1e300\n123456789012345678901234567890.5\n")
    assert cells(table)["a"] == [9007199254740994.0, -1e300, 123456789012345678901234567890.5]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "friut"}, "no column 'friut': did you mean 'fruit'?"),
        ({"drop": ["q"]}, "no column 'q': the columns are weight, colour, fruit"),
        ({"categorical": ["q"]}, "no column 'q'"),
        ({"label": "fruit", "drop": ["fruit"]}, "holds the labels"),
        ({"label": "fruit", "categorical": ["fruit"]}, "holds the labels"),
        ({"missing": "fill"}, "missing must be one of 'error', 'drop-rows'"),
        ({"label": "fruit", "separator": ";"}, "is the separator another one"),
        ({"target": "fruit"}, "named by label=..., not target="),
    ],
)
def test_columns_that_are_not_there(options: dict[str, Any], says: str, path: Path) -> None:
    assert says in error_of(path, FRUIT, ParameterError, **options)


def test_nothing_is_left(path: Path) -> None:
    assert "no columns beside the labels" in error_of(path, "y\n1\n", label="y")
    assert "every row has an empty cell" in error_of(path, "a,b\n1,\n,2\n", missing="drop-rows")


# ---------------------------------------------------------------- empty cells


GAPS = "a,b,y\n1,x,p\n2,,q\n\n ,z,p\n4,x,\n5,x,q\n"


def test_empty_cells_are_counted_and_placed(path: Path) -> None:
    message = error_of(path, GAPS, label="y")
    assert "t.csv has 3 empty cells, the first in row 1 (line 3), column 'b'" in message
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


# ---------------------------------------------------------------- the fast way and the slow way


def naive_numbers(content: str) -> list[list[float]]:
    return [[float(cell) for cell in record] for record in csv.reader(io.StringIO(content))]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
CELLS = (
    FLOATS.map(repr)
    | st.integers(-300, 300).map(str)
    | FLOATS.map(lambda x: f"{x:.3f}")
    | FLOATS.map("{:+.17e}".format)
)
MATRICES = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=9)
)


@given(rows=MATRICES, block=st.integers(1, 60), odd=st.booleans())
@example(rows=[["0", "-0.0"], ["4.9e-324", "2.2250738585072011e-308"]], block=5, odd=False)
def test_numbers_are_read_as_python_reads_them(rows: list[list[str]], block: int, odd: bool) -> None:
    content = "".join(",".join(row) + "\n" for row in rows)
    if odd:
        content += '"7"' + ",7" * (len(rows[0]) - 1) + "\n"
    expected = np.array(naive_numbers(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", block)
        raw = text.read_text(io.BytesIO(content.encode()), "t", ",", False, _all_columns, lambda *_: None)
    read = np.column_stack([column.values for column in raw.columns])
    assert read.tobytes() == expected.tobytes()


def _all_columns(names: Any, header: bool) -> Any:
    return text.Choice(dict.fromkeys(range(len(names))))


def test_plain_numbers_take_the_fast_way() -> None:
    numbers = text.plain_numbers(b"1,2.5\r\n-3e2,+4", ",", 2)
    assert numbers is not None
    assert numbers.tolist() == [[1.0, 2.5], [-300.0, 4.0]]


DECIMALS = ["9007199254740991", "9007199254740.993", "-0", "5.", ".5", "+.5e1", "00012", "0e99999", "-0.0e-5", "1e-400"]
DECIMALS += ["1e15", "123456789012345678e-5", "1234567890123456789e-9", "1.7976931348623157e-300", "4.9e-324"]
DECIMALS += ["1e-22", "1e-23", "9007199254740991e-22", "9007199254740993e-22", "0.1", "0.30000000000000004", "2.5E-3"]
DECIMALS += ["0.000000000000000000000000000000000000000001234", "1e-99999999999999999999", "0." + "3" * 40]


def test_plain_numbers_are_rounded_as_python_rounds_them() -> None:
    numbers = text.plain_numbers("".join(f"{cell},1\n" for cell in DECIMALS).encode(), ",", 2)
    assert numbers is not None
    assert numbers[:, 0].tobytes() == np.array([float(cell) for cell in DECIMALS]).tobytes()


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\n",
        b"1,\n",
        b",1\n",
        b"1,,2\n",
        b"1\n1,2,3\n",
        b"1,2\n\n3,4\n",
        b"1,x\n",
        b'1,"2"\n',
        b"1,1-2\n",
        b"1,e5\n",
        b"1,9007199254740993\n",
        b"1,1e999\n",
        b"1,.\n",
        b"1,+-1\n",
        b"1, 2\n",
        b"1,nan\n",
        b"1\r2,3\n",
        b"1,2\n3,4\n5\n",
    ],
)
def test_anything_else_takes_the_slow_way(block: bytes) -> None:
    assert text.plain_numbers(block, ",", 2) is None


def test_reading_tells_how_far_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", 8)
    monkeypatch.setattr(text, "BATCH_CELLS", 2)
    content = b"a,b\n" + b"1,2\n" * 6 + b"1,x\n" * 6
    told: list[tuple[str, int, int | None]] = []
    with pytest.raises(DataError):
        text.read_text(io.BytesIO(content), "t.csv", ",", True, _all_columns, lambda *tell: told.append(tell))
    text.read_text(
        io.BytesIO(b"a\n" + b"5\n" * 20 + b"\n6\n"), "t.csv", ",", True, _all_columns, lambda *tell: told.append(tell)
    )
    assert {what for what, _, _ in told} == {"reading t.csv"}
    assert {total for _, _, total in told} == {len(content), 45}
    done = [done for _, done, total in told if total == 45]
    assert done == sorted(done)
    assert done[-1] == 45


# ---------------------------------------------------------------- files with types


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
    with pytest.raises(MissingDependencyError, match="pip install pandas pyarrow"):
        read_table(tmp_path / "t.parquet")


def test_csv_and_npz_need_neither_pandas_nor_pyarrow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pandas", "pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
    assert len(table_of(path, FRUIT)) == 3
    np.savez(path.with_suffix(".npz"), X=np.eye(2))
    assert len(read_table(path.with_suffix(".npz"))) == 2
