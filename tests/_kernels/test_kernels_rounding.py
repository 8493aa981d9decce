"""The bound of what an evaluation may err by, and sure bits, against evaluations in every order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.certificate_twins import ORDERS, affine
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels.rounding import (
    FLOAT32,
    FLOAT64,
    SurePlanes,
    SureRows,
    closer_size,
    error_bound,
    gamma,
    line_of,
    sure_bits,
    underflows,
)
from exactfit.network.bits import BitMatrix


@pytest.mark.parametrize("form", [FLOAT32, FLOAT64])
@given(terms=st.integers(0, 10**6))
def test_gamma_is_rounded_up(form, terms):
    part = (terms + 5) * Fraction(form.unit)
    assert Fraction(gamma(terms, form.unit)) >= part / (1 - part)
    assert gamma(terms, form.unit) <= float(part / (1 - part)) * (1 + 1e-11)


def test_gamma_says_when_it_knows_nothing():
    assert gamma(2**22, FLOAT32.unit) == np.inf
    assert error_bound(0.1, FLOAT32.huge, 1.0, 1.0, FLOAT32) == np.inf
    assert error_bound(0.1, 1.0, FLOAT32.huge, 1.0, FLOAT32) == np.inf


@pytest.mark.parametrize(("form", "number"), [(FLOAT32, np.float32), (FLOAT64, np.float64)])
@given(seed=st.integers(0, 10**6), exponent=st.sampled_from([0, 0, -70, 40]))
def test_no_evaluation_errs_by_more(form, number, seed, exponent):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    w, x = (np.ldexp(rng.standard_normal(d).astype(number), exponent) for _ in range(2))
    b = number(rng.choice([0.0, 1.0, -float(w.astype(float) @ x.astype(float))]))
    size = float(np.abs(w).astype(float) @ np.abs(x).astype(float)) * (1 + 1e-12) + abs(float(b))
    norms = [float(np.linalg.norm(v.astype(float))) * (1 + 1e-12) for v in (x, w)]
    bound = error_bound(gamma(d, form.unit), size, *norms, form)
    for order in ORDERS:
        found = order([*(a * c for a, c in zip(w, x, strict=True)), b], rng)
        assert abs(Fraction(float(found)) - affine(w, x, b)) <= Fraction(bound)


@pytest.mark.parametrize(("form", "number"), [(FLOAT32, np.float32), (FLOAT64, np.float64)])
def test_what_is_below_the_normal_numbers_underflows(form, number):
    tiny = float(np.finfo(number).tiny)
    below = float(np.nextafter(number(tiny), number(0)))
    values = [0.0, -0.0, tiny, -tiny, below, -below, 5e-324, 1.0, np.inf]
    assert [underflows(value, form) for value in values] == [value != 0.0 and abs(value) < tiny for value in values]


FORMATS = {np.float32: FLOAT32, np.float64: FLOAT64}


def norms_of(rows):
    return np.linalg.norm(rows.astype(float), axis=1) * (1 + 1e-12)


HELD = [np.array, sp.csr_array]  # how hyperplanes may be held


def sure_planes(W, b, held, columns=None):
    """Hyperplanes as the kernels take them; ``columns`` of coordinate cuts."""
    n, d = W.shape
    starts, features, numbers = d * np.arange(n + 1), np.arange(0), W.astype(float).ravel()
    if held is sp.csr_array:
        rows = sp.csr_array(W.astype(float))
        starts, features, numbers = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
    columns = np.full(n, -1) if columns is None else columns
    cuts = W[np.arange(n), columns].astype(float)
    return SurePlanes(numbers, starts, features, b, norms_of(W), np.count_nonzero(W, axis=1), columns, cuts)


@pytest.mark.parametrize("held", HELD)
@given(seed=st.integers(0, 10**6))
def test_the_line_of_a_hyperplane_and_the_numbers_that_it_meets(held, seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    W = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.0, 0.3, 1.0]))
    point = rng.standard_normal(d)
    planes = sure_planes(W, np.zeros(n), held)
    for j in range(n):
        line, met = line_of(planes, j, point)
        places = np.arange(d) if held is np.array else np.flatnonzero(W[j])
        np.testing.assert_array_equal(line, W[j, places])
        np.testing.assert_array_equal(met, point[places])


def decided(X, W, b, form, columns=None, held=np.array):
    """Bits that are on in every evaluation, and on in some, as the kernel says."""
    planes = sure_planes(W, b, held, columns)
    words = np.zeros((2, -(-len(W) // 64), len(X) + 3), dtype=np.uint64)
    rows = SureRows(X.astype(float), norms_of(X), np.count_nonzero(X, axis=1))
    sure_bits(X @ W.T.astype(float), rows, 0.0, planes, form, 2, *words)
    assert not words[:, :, [0, 1, -1]].any()
    return [BitMatrix(part[:, 2:-1].copy(), len(W)).to_bool() for part in words]


def evaluated(x, w, b, number, rng):
    """Every answer that an evaluation in the format gives."""
    terms = [*(number(a) * number(c) for a, c in zip(w, x, strict=True)), number(b)]
    return {bool(order(terms, rng) > 0) for order in ORDERS * 2}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("number", FORMATS)
@given(seed=st.integers(0, 10**6))
def test_no_evaluation_turns_a_sure_bit(number, held, seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 7)), int(rng.choice([3, 70]))
    X, W = (rng.standard_normal((k, d)).astype(number) for k in (4, n))
    if rng.random() < 0.5:
        X, W = np.round(X * 2) / 2, np.round(W * 2) / 2
    W *= rng.random((n, d)) < rng.choice([0.5, 1.0])
    near = -(W.astype(float) @ X[0].astype(float))  # hyperplanes through the first point, up to rounding
    b = np.where(rng.random(n) < 0.7, near, 1.0).astype(number).astype(float)
    on, maybe = decided(X, W, b, FORMATS[number], held=held)
    assert not (on & ~maybe).any()
    for i, x in enumerate(X):
        for j, (w, bias) in enumerate(zip(W, b, strict=True)):
            if on[i, j] == maybe[i, j]:
                assert evaluated(x, w, bias, number, rng) == {bool(on[i, j])}


def decided_within(margin, X, W, b, form, held):
    """As ``decided``, wherever points move by at most a margin."""
    planes = sure_planes(W, b, held)
    words = np.zeros((2, -(-len(W) // 64), len(X) + 3), dtype=np.uint64)
    X = X.astype(float)
    rows = SureRows(X, norms_of(X), np.count_nonzero(X, axis=1))
    sure_bits(X @ W.T.astype(float), rows, margin, planes, form, 2, *words)
    assert not words[:, :, [0, 1, -1]].any()
    return [BitMatrix(part[:, 2:-1].copy(), len(W)).to_bool() for part in words]


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("number", FORMATS)
@given(seed=st.integers(0, 10**6), margin=st.sampled_from([1e-3, 0.3]))
def test_no_move_within_the_margin_turns_a_bit_in_any_evaluation(number, held, seed, margin):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 7)), int(rng.choice([3, 70]))
    X, W = (rng.standard_normal((k, d)).astype(number) for k in (3, n))
    W *= np.maximum(np.eye(1, d, dtype=number), rng.random((n, d)) < rng.choice([0.5, 1.0]))
    lengths = np.linalg.norm(W.astype(float), axis=1)
    away = rng.choice([0.0, 1.0, 1.0 + 1e-5, 2.0], n) * margin * lengths  # of the first point, so many margins
    b = (away - W.astype(float) @ X[0].astype(float)).astype(number).astype(float)
    on, maybe = decided_within(margin, X, W, b, FORMATS[number], held)
    assert not (on & ~maybe).any()
    values = X.astype(float) @ W.T.astype(float) + b
    clear = np.abs(values) > 1.001 * margin * lengths + 1e-4
    np.testing.assert_array_equal(on[clear], values[clear] > 0)
    np.testing.assert_array_equal(maybe[clear], values[clear] > 0)
    for i, j in np.argwhere(on == maybe):
        assert abs(affine(W[j], X[i], b[j])) ** 2 > Fraction(margin) ** 2 * affine(W[j], W[j], 0.0)
        toward = X[i] - np.sign(values[i, j]) * 0.999999 * margin * W[j] / lengths[j]
        assert evaluated(toward.astype(number), W[j], b[j], number, rng) == {bool(on[i, j])}


@pytest.mark.parametrize("number", FORMATS)
def test_within_a_margin_bounds_count_weights_and_not_features(number):
    rng, form = np.random.default_rng(0), FORMATS[number]
    X, W = rng.standard_normal((30, 200)), np.zeros((64, 200))
    W[np.arange(64), np.arange(64)] = W[np.arange(64), 100] = 1.0
    b = 200 * form.unit * np.linalg.norm(X, axis=1).mean() - X[0] @ W.T
    open_bits = []
    for terms in (2, 200):
        planes = sure_planes(W, b, sp.csr_array)._replace(terms=np.full(64, terms))
        words = np.zeros((2, 1, 30), dtype=np.uint64)
        rows = SureRows(X, norms_of(X), np.count_nonzero(X, axis=1))
        sure_bits(X @ W.T, rows, 1e-30, planes, form, 0, *words)
        open_bits.append(np.bitwise_count(words[1] & ~words[0])[0, 0])
    assert open_bits == [0, 64]


@pytest.mark.parametrize("number", FORMATS)
def test_plain_bits_are_sure(number):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((50, 20)).astype(number), rng.standard_normal((130, 20)).astype(number)
    b = rng.standard_normal(130).astype(np.float32).astype(float)
    on, maybe = decided(X, W, b, FORMATS[number])
    assert (on != maybe).mean() < 1e-3
    exact = X.astype(float) @ W.T.astype(float) + b > 0
    assert ((on == exact) | (on != maybe)).all()


@pytest.mark.parametrize("number", FORMATS)
@given(seed=st.integers(0, 10**6))
def test_a_cut_is_sure_even_at_its_threshold(number, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 3)).astype(number)
    W = np.zeros((5, 3), dtype=number)
    columns = rng.integers(0, 3, 5)
    W[np.arange(5), columns] = rng.choice([-4, -1, 0.5, 1], 5)
    b = np.array([-float(W[k, columns[k]] * X[k, columns[k]]) for k in range(5)])
    for held in HELD:
        on, maybe = decided(X, W, b, FORMATS[number], columns, held)
        np.testing.assert_array_equal(on, maybe)
        for i in range(5):
            for j in range(5):
                assert evaluated(X[i], W[j], b[j], number, rng) == {bool(on[i, j])}


def test_a_cut_that_underflows_is_open():
    X, W = np.array([[1e-40]], dtype=np.float32), np.ones((1, 1), dtype=np.float32)
    on, maybe = decided(X, W, np.zeros(1), FLOAT32, np.zeros(1, dtype=np.int64))
    assert (on[0, 0], maybe[0, 0]) == (False, True)


def test_closer_size_leaves_out_zeros():
    size, terms = closer_size(np.array([1.0, 0.0, -2.0]), np.array([3.0, 5.0, 0.5]), -1.0)
    assert terms == 2
    assert 5.0 <= size <= 5.0 * (1 + 1e-14)
