"""Floating-point numbers as whole numbers over a power of two, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exactfit.network.weights import Dyadic, odd_parts

floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5)
whole = st.integers(-(2**80), 2**80)


@given(values=floats)
def test_nothing_is_lost(values):
    numbers = Dyadic.of(np.array([values]))
    assert [Fraction(n, 2**numbers.shift) for n in numbers.numerators[0]] == [Fraction(v) for v in values]
    assert numbers.numbers()[0].tolist() == [Fraction(v) for v in values]


@given(values=floats)
def test_odd_parts_are_odd(values):
    digits, exponents = odd_parts(np.array(values))
    for digit, exponent, value in zip(digits.tolist(), exponents.tolist(), values, strict=True):
        assert digit * Fraction(2) ** exponent == Fraction(value)
        assert digit % 2 == 1 or digit == exponent == 0


@given(values=floats, weights=st.lists(whole, min_size=5, max_size=5), bias=whole)
def test_sums_are_exact(values, weights, bias):
    row = np.array([weights[: len(values)]], dtype=object)
    total = sum((w * Fraction(v) for w, v in zip(weights, values, strict=False)), Fraction(bias))
    sums = Dyadic.of(np.array([values])).affine(row, np.array([bias], dtype=object))
    assert sums.numbers()[0, 0] == total
    assert sums.clipped().numbers()[0, 0] == max(total, 0)


def test_float32_and_whole_numbers_come_in_as_they_are():
    assert Dyadic.of(np.array([[0.1]], dtype=np.float32)).numbers()[0, 0] == Fraction(float(np.float32(0.1)))
    assert Dyadic.of(np.array([[2**70]], dtype=object)).numbers()[0, 0] == 2**70
    assert Dyadic.of(np.empty((0, 3))).numerators.shape == (0, 3)
