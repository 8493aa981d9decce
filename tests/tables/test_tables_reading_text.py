"""Text with separators: what cells become, where mistakes are, and that the fast way and the slow way agree."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.problems import cells, error_of, table_of
from hypothesis import example, given
from hypothesis import strategies as st

from exactfit import DataError, ParameterError, read_table
from exactfit.tables import ReadOptions
from exactfit.tables import reading as text

FRUIT = "weight,colour,fruit\n182,red,apple\n118.5,yellow,banana\n-1e2,red,apple\n"


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


def test_labels_are_found_at_either_end_of_a_line(path: Path) -> None:
    for position in range(5):
        lines = [["1.5", "2.5", "3.5", "4.5"], ["5", "6", "7", "8"]]
        for line, label in zip(lines, ("10", "20"), strict=True):
            line.insert(position, label)
        table = table_of(path, "".join(",".join(line) + "\n" for line in lines), header=False, label=str(position))
        assert table.labels is not None
        assert table.labels.tolist() == [10, 20]


def test_the_place_is_right_in_later_batches_and_after_long_cells(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BATCH_CELLS", 4)
    monkeypatch.setattr(text, "BLOCK_BYTES", 8)
    monkeypatch.setattr(text, "SMALL_TEXT", 0)
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
        patch.setattr(text, "SMALL_TEXT", 0)
        raw, _ = text.read_text(io.BytesIO(content.encode()), "t", ReadOptions(",", False), _all_columns)
    read = np.column_stack([column.values for column in raw.columns])
    assert read.tobytes() == expected.tobytes()


def _all_columns(names: Any, header: bool) -> Any:
    return text.Choice(dict.fromkeys(range(len(names))))


def test_plain_numbers_take_the_fast_way() -> None:
    numbers = text.plain_numbers(b"1,2.5\r\n-3e2,+4", ",", 2)
    assert numbers is not None
    assert numbers.to_numpy().tolist() == [[1.0, 2.5], [-300.0, 4.0]]
    numbers = text.plain_numbers(b"01,2,5\n3,4,-0\n", ",", 3, text={0, 2})
    assert numbers is not None
    assert [numbers[k].tolist() for k in range(3)] == [["01", "3"], [2.0, 4.0], ["5", "-0"]]


DECIMALS = ["9007199254740991", "9007199254740.993", "-0", "5.", ".5", "+.5e1", "00012", "0e99999", "-0.0e-5", "1e-400"]


DECIMALS += ["1e15", "123456789012345678e-5", "1234567890123456789e-9", "1.7976931348623157e-300", "4.9e-324"]


DECIMALS += ["1e-22", "1e-23", "9007199254740991e-22", "9007199254740993e-22", "0.1", "0.30000000000000004", "2.5E-3"]


DECIMALS += ["0.000000000000000000000000000000000000000001234", "1e-99999999999999999999", "0." + "3" * 40]


def test_plain_numbers_are_rounded_as_python_rounds_them() -> None:
    numbers = text.plain_numbers("".join(f"{cell},1\n" for cell in DECIMALS).encode(), ",", 2)
    assert numbers is not None
    assert numbers[0].to_numpy().tobytes() == np.array([float(cell) for cell in DECIMALS]).tobytes()


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
        b"1,2,3\n4,5,6\n",
        b"1,2,\n3,4,\n",
        b"1,inf\n",
        b"1,0x5\n",
        b"1,1e+\n",
        b"1,1_0\n",
    ],
)
def test_anything_else_takes_the_slow_way(block: bytes) -> None:
    assert text.plain_numbers(block, ",", 2) is None


@pytest.mark.parametrize("block", [b"1\n1,2,3\n", b"1,2\n\n3,4\n", b"1,2\n3\n", b"1,2\n3,4,5\n", b"", b"\n"])
def test_lines_of_other_lengths_take_the_slow_way_whatever_is_text(block: bytes) -> None:
    assert text.plain_numbers(block, ",", 2, text={1}) is None


def test_decimal_commas_are_found_with_the_separator_and_told(path: Path) -> None:
    table = table_of(path, "a;b;y\n1,5;2;p\n-2,25;3;q\n", label="y")
    assert cells(table) == {"a": [1.5, -2.25], "b": [2.0, 3.0]}
    assert table.notes == ("cells are separated by ';', numbers have decimal commas",)


def test_plain_blocks_with_decimal_commas_take_the_fast_way_and_are_right(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "SMALL_TEXT", 0)
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


def test_text_that_gzip_packed_is_read(path: Path) -> None:
    path.write_bytes(gzip.compress(b"a,b\n1.5,x\n2.5,y\n"))
    assert cells(read_table(path)) == {"a": [1.5, 2.5], "b": ["x", "y"]}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"t.csv is a gzip file that cannot be unpacked: .*ended before"):
        read_table(path)


def test_spreadsheets_are_named(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(DataError, match=r"t.csv is a spreadsheet \(.xlsx, .ods\) or .*: save the sheet as CSV"):
        read_table(path, label="y")
