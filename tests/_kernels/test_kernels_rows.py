"""Sums over rows against loops and fractions, products of sparse rows against dense ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import twins as naive
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels import rows
from exactfit._kernels.rows import DIGIT_BITS, DIGITS, add_exactly, carry


@pytest.mark.parametrize("size", [1.0, 1e-320, 1e-300, 1e-170, 1e170, 1e300])
def test_norms_of_every_size(size):
    rng = np.random.default_rng(16)
    X, origin = size * rng.standard_normal((20, 7)), size * rng.standard_normal(7)
    X[4] = 0.0
    norms = np.empty(20)
    rows.norms_of(X, norms)
    assert norms.tolist() == [naive.norm(x) for x in X]
    for x, norm in zip(X, norms, strict=True):
        square = sum(Fraction(v) ** 2 for v in x.tolist())
        slack = Fraction(1, 10**14) * square + Fraction(5e-324) * Fraction(norm) * 3
        assert abs(Fraction(float(norm)) ** 2 - square) <= slack
    assert rows.largest_norm(X, np.zeros(7)) == norms.max()
    assert rows.largest_norm(X, origin) == naive.radius(X, origin)


def test_facts_of_lines_of_any_length():
    rng = np.random.default_rng(20)
    lines = [rng.standard_normal(k) * 10.0 ** rng.integers(-300, 300) for k in (3, 0, 7, 1, 2, 0)]
    lines[2][[0, 3]], lines[4][:] = 0.0, 0.0
    starts = np.cumsum([0, *map(len, lines)])
    norms, (terms, firsts) = np.full(6, np.nan), np.full((2, 6), -1)
    rows.line_facts(np.concatenate(lines), starts, norms, terms, firsts)
    assert norms.tolist() == [naive.norm(line) if len(line) else 0.0 for line in lines]
    assert terms.tolist() == [3, 0, 5, 1, 0, 0]
    assert firsts.tolist() == [0, 0, 4, 10, 0, 0]


@pytest.mark.parametrize("size", [1.0, 1e-170, 1e170])
def test_squared_norms_add_features_in_order(size):
    X, squares = size * np.random.default_rng(19).standard_normal((20, 7)), np.empty(20)
    X[4] = 0.0
    rows.squared_norms(X, squares)
    assert squares.tolist() == [naive.dot(x, x) for x in X]


def test_a_norm_beyond_float64_is_infinite():
    X = np.array([[1.0, 1.0], [1.7e308, 1.7e308]])
    assert rows.largest_norm(X, np.zeros(2)) == math.inf
    assert rows.largest_norm(X, np.array([-1e308, 0.0])) == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_subtracted_in_order(dtype):
    rng = np.random.default_rng(17)
    W, point, b = rng.standard_normal((6, 9)).astype(dtype), rng.standard_normal(9), rng.standard_normal(6)
    expected = [float(b[i]) - naive.dot(W[i], point) for i in range(6)]
    rows.subtract_products(W, np.broadcast_to(point, W.shape), b)
    assert b.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_product_with_its_own_point_is_subtracted_in_order(dtype):
    rng = np.random.default_rng(18)
    W, points, b = rng.standard_normal((6, 9)).astype(dtype), rng.standard_normal((6, 9)), rng.standard_normal(6)
    expected = [float(b[i]) - naive.dot(W[i], points[i]) for i in range(6)]
    rows.subtract_products(W, points, b)
    assert b.tolist() == expected


def hashed(X):
    hashes = np.empty(len(X), dtype=np.uint64)
    rows.hash_rows(np.ascontiguousarray(X, dtype=np.float64), hashes)
    return hashes.tolist()


def test_equal_rows_have_equal_hashes_and_zeros_have_no_sign():
    assert hashed([[0.0, 1.0], [-0.0, 1.0]])[0] == hashed([[5.0, 5.0], [-0.0, 1.0]])[1]


def test_different_rows_have_different_hashes():
    grid = np.array([[i, j, k] for i in range(-9, 10) for j in range(-9, 10) for k in range(-9, 10)])
    assert len(set(hashed(grid))) == len(grid)
    steps = np.nextafter(np.ones((1, 4)), np.where(np.eye(4) > 0, 2.0, 1.0))
    assert len(set(hashed(steps))) == 4


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


@pytest.mark.parametrize("block", [1, 7, 8, 9, 256])
@pytest.mark.parametrize("n", [1, 64, 130])
def test_products_of_what_is_not_zero(n, block):
    """Whole numbers, so that sums are exact in any order; rows with 0 to 40 of them."""
    rng = np.random.default_rng(n)
    X = np.array([rng.permutation(np.repeat([1, 0], [k, 50 - k])) for k in range(41)])
    X = (X * rng.integers(1, 9, X.shape)).astype(np.float32)
    weights = rng.integers(-8, 9, (n, 50)).astype(np.float32)
    starts, features = np.empty(len(X) + 1, dtype=np.int64), np.empty(np.count_nonzero(X), dtype=np.int64)
    values, total = np.empty(len(features), dtype=np.float32), np.zeros((len(X), n), dtype=np.float32)
    rows.find_nonzeros(X, starts, features, values)
    assert starts.tolist() == [0, *np.cumsum(np.count_nonzero(X, axis=1))]
    assert features.tolist() == np.nonzero(X)[1].tolist()
    assert values.tolist() == X[np.nonzero(X)].tolist()
    rows.multiply_nonzeros(starts, features, values, np.ascontiguousarray(weights.T), block, total)
    np.testing.assert_array_equal(total, X.astype(np.int64) @ weights.T.astype(np.int64))
