"""Decimals against Python's own ``float``, cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels.decimals import parse_decimals

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=6).map(str),
    st.from_regex(r"[+-]?[0-9]{0,19}\.?[0-9]{1,22}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(
        ["0", "-0", "+.5", "5.", "-00.100", "9007199254740993", "1e22", "1e23", "1e-22", "0e999999999999999"]
    ),
)
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[numbers] * width), min_size=1, max_size=5))


def parsed(text: bytes, width: int, cells: int, mark: str = ","):
    """The numbers as the caller completes them, and how many were hard; None if the block was refused."""
    found, hard = np.full(cells, -1.0), np.empty((2, cells), dtype=np.int64)
    count = parse_decimals(np.frombuffer(text, dtype=np.uint8), ord(mark), width, found, hard)
    if count < 0:
        return None
    assert np.isnan(found).sum() == count
    found[np.isnan(found)] = [float(text[start:stop]) for start, stop in hard[:, :count].T.tolist()]
    return found, count


@given(tables, st.sampled_from(",; \t"))
def test_every_number_is_the_nearest_one(table, mark):
    text = "".join(mark.join(line) + "\n" for line in table).encode()
    found, _ = parsed(text, len(table[0]), sum(map(len, table)), mark)
    expected = [float(cell) for line in table for cell in line]
    assert found.tolist() == expected
    assert [math.copysign(1, v) for v in found] == [math.copysign(1, v) for v in expected]


@pytest.mark.parametrize("cell", ["0", "12.5", "-3e-5", "1e22", "9007199254740991e-22", "0e99999", "0.000"])
def test_easy_numbers_are_not_left_to_the_caller(cell):
    found, count = parsed(f"{cell}\n".encode(), 1, 1)
    assert (found[0], count) == (float(cell), 0)


@pytest.mark.parametrize("cell", ["9007199254740992", "1e23", "1e-23", "0.12345678901234567890"])
def test_hard_numbers_are(cell):
    found, count = parsed(f"{cell}\n".encode(), 1, 1)
    assert (found[0], count) == (float(cell), 1)


@pytest.mark.parametrize(
    "text",
    ["", "x", "1", "1,2", ",1\n", "1,\n", "1 \n", "--1\n", "1e\n", "1e+\n", ".\n", "1..2\n", "nan\n", "1,2\n3\n"],
)
def test_anything_else_is_refused(text):
    assert parsed(text.encode(), 2, 2) is None


def test_the_number_of_cells_must_be_right():
    assert parsed(b"1,2\n3,4\n", 2, 4)[0].tolist() == [1, 2, 3, 4]
    assert parsed(b"1,2\n3,4\n", 2, 3) is None
    assert parsed(b"1,2\n3,4\n", 2, 6) is None
