from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from exactfit.lab.trial import sides_of_many
from exactfit.network.sides import sides


@pytest.mark.parametrize("d", [1, 2, 16, 17, 100, 700])
@pytest.mark.parametrize("n", [1, 64, 65, 130])
def test_same_as_one_bias_vector_at_a_time(d: int, n: int) -> None:
    rng = np.random.default_rng(d + n)
    X, weights = rng.normal(size=(83, d)), rng.normal(size=(n, d)).astype(np.float32)
    biases = np.array([0.0, 0.3, 1.0, 1e-9, 1e9])[:, None] * rng.uniform(-1, 1, n)
    rows = rng.permutation(83)[:70]
    many = sides_of_many(X, weights, biases, rows=rows)
    for bits, each in zip(many, biases, strict=True):
        assert (bits.words == sides(X, weights, each, rows=rows).words).all()


def test_sparse_points() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 40)) * (rng.random((90, 40)) < 0.2)
    weights, biases = rng.normal(size=(70, 40)).astype(np.float32), rng.normal(size=(3, 70))
    for dense, sparse in zip(
        sides_of_many(X, weights, biases), sides_of_many(sp.csr_array(X), weights, biases), strict=True
    ):
        assert (dense.words == sparse.words).all()


@given(st.integers(17, 40), st.integers(0, 2**32))
def test_points_on_hyperplanes_are_off(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (20, d)).astype(np.float64)
    weights = rng.integers(-3, 4, (10, d)).astype(np.float32)
    exact = X @ weights.T.astype(np.float64)
    biases = -exact[:3]  # each bias vector puts one point on every hyperplane
    for bits, each in zip(sides_of_many(X, weights, biases), biases, strict=True):
        assert (bits.to_bool() == (exact + each > 0)).all()


def test_huge_and_tiny_numbers() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 30)) * 10.0 ** rng.integers(-300, 300, (70, 1))
    weights = rng.normal(size=(5, 30)).astype(np.float32)
    biases = rng.normal(size=(4, 5)) * np.array([[1e-300], [1.0], [1e300], [0.0]])
    for bits, each in zip(sides_of_many(X, weights, biases), biases, strict=True):
        assert (bits.words == sides(X, weights, each).words).all()


def test_nothing_to_decide() -> None:
    assert sides_of_many(np.empty((0, 20)), np.ones((3, 20)), np.zeros((2, 3)))[1].n_rows == 0
    assert sides_of_many(np.ones((4, 20)), np.ones((3, 20)), np.empty((0, 3))) == []
