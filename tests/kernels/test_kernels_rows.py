"""Sums over rows against loops and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
import pytest

from exactfit._kernels import rows


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


def test_a_norm_beyond_float64_is_infinite():
    X = np.array([[1.0, 1.0], [1.7e308, 1.7e308]])
    assert rows.largest_norm(X, np.zeros(2)) == math.inf
    assert rows.largest_norm(X, np.array([-1e308, 0.0])) == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_subtracted_in_order(dtype):
    rng = np.random.default_rng(17)
    W, point, b = rng.standard_normal((6, 9)).astype(dtype), rng.standard_normal(9), rng.standard_normal(6)
    expected = [float(b[i]) - naive.dot(W[i], point) for i in range(6)]
    rows.subtract_products(W, point, b)
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
