"""Exact sums against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from naive_certificate import affine

from exactfit._kernels.exact_sums import BINS, exact_side, quantum

finite = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.integers(1, 5).flatmap(lambda d: st.tuples(*(st.lists(finite, min_size=d, max_size=d) for _ in range(2))))


def side(w, x, b) -> tuple[int, float]:
    return exact_side(np.array(w), np.array(x), float(b), np.empty(BINS, dtype=np.int64))


@given(vectors, finite)
@example(([1e300, -1e300], [1e8, 1e8]), 5e-324)
@example(([1e-300, 1e-300], [1e-300, -1e-300]), 0.0)
@example(([1.7e308] * 4, [1.7e308] * 4), -1.7e308)
@example(([5e-324], [-5e-324]), 0.0)
def test_signs_are_exact_over_the_whole_range(vectors, b) -> None:
    w, x = vectors
    exact = affine(w, x, b)
    sign, size = side(w, x, b)
    assert sign == (exact > 0) - (exact < 0)
    assert 0 <= Fraction(size) <= abs(exact)
    if Fraction(2) ** -999 < abs(exact) < Fraction(10) ** 308:
        assert Fraction(size) >= abs(exact) * (1 - Fraction(2) ** -45)


@given(vectors)
def test_what_cancels_is_zero_and_what_is_left_is_seen(vectors) -> None:
    w, x = vectors
    assert side([*w, *w], [*x, *(-value for value in x)], 0.0) == (0, 0.0)
    assert side([*w, *w], [*x, *(-value for value in x)], -5e-324)[0] == -1


def test_many_terms_do_not_overflow_a_digit() -> None:
    ones = np.full(200_000, np.nextafter(2.0, 0.0))
    assert side(ones, ones, 0.0)[0] == 1
    assert side(ones, -ones, 0.0)[0] == -1


@given(finite.filter(bool))
def test_a_number_is_an_odd_multiple_of_its_quantum(number: float) -> None:
    ratio = Fraction(number) / Fraction(2) ** quantum(number)
    assert ratio.denominator == 1
    assert ratio.numerator % 2 == 1
