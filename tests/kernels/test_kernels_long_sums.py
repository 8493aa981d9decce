"""Sums without rounding against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels.long_sums import DIGIT_BITS, DIGITS, add_exactly, carry

numbers = st.floats(allow_nan=False, allow_infinity=False)


def total(digits):
    """The number that digits stand for."""
    return sum(Fraction(int(digit)) * 2 ** (DIGIT_BITS * k) for k, digit in enumerate(digits)) / Fraction(2) ** 1074


@given(st.lists(numbers, max_size=30))
def test_nothing_is_rounded(values):
    digits = np.zeros((1, DIGITS), dtype=np.int64)
    add_exactly(np.array(values, dtype=np.float64).reshape(-1, 1).view(np.int64), digits)
    assert total(digits[0]) == sum(map(Fraction, values))
    carry(digits)
    assert total(digits[0]) == sum(map(Fraction, values))
    assert ((digits[0, :-1] >= 0) & (digits[0, :-1] < 2**DIGIT_BITS)).all()


def test_as_many_as_there_may_be_do_not_overflow():
    digits = np.zeros((1, DIGITS), dtype=np.int64)
    largest = np.full((1, 1), np.finfo(np.float64).max)
    add_exactly(largest.view(np.int64), digits)
    digits *= 2**30  # as if so many rows had been added
    assert total(digits[0]) == Fraction(float(largest[0, 0])) * 2**30
