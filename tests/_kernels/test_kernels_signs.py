"""Sides of hyperplanes, stage by stage, against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import ALL, any_float, close_calls, moderate
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._kernels import signs
from exactfit._kernels.signs import settle_ramps
from exactfit.network.bits import BitMatrix


def test_signs_to_bits():
    rng = np.random.default_rng(21)
    for _ in range(20):
        numbers = rng.choice([-1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf, -np.inf, np.nan], 64)
        word = int(signs.signs(numbers))
        assert [word >> i & 1 == 1 for i in range(64)] == [v > 0 for v in numbers.tolist()]
    assert int(signs.signs(np.ones(64))) == ALL


def test_doubt_unless_the_size_exceeds_the_bound():
    numbers = np.zeros(64)
    slopes, errors = np.full(64, 0.5), np.full(64, 0.25)
    bound = 2.0 * 0.5 + 3.0 * 0.25
    up, down = np.nextafter(bound, 9), np.nextafter(bound, 0)
    numbers[:8] = bound, up, down, -bound, -up, np.inf, -np.inf, np.nan
    numbers[63] = 1e308
    word = int(signs.in_doubt(numbers, 2.0, slopes, 3.0, errors))
    assert [i for i in range(64) if not word >> i & 1] == [1, 4, 63]
    slopes[2], errors[4] = np.nan, np.inf
    word = int(signs.in_doubt(np.full(64, 1e300), 2.0, slopes, 3.0, errors))
    assert [i for i in range(64) if word >> i & 1] == [2, 4]


def test_columns_vary_where_some_row_differs_from_the_first():
    rows, first = np.array([[1.0, 2.0, 0.0, 5.0], [1.0, 3.0, -0.0, 5.0]]), np.array([1.0, 2.0, 0.0, 4.0])
    columns, varying = np.array([3, 2, 1, 0]), np.array([False, False, False, True])
    signs.find_varying(rows, first, columns, varying)
    assert varying.tolist() == [True, False, True, True]  # the last was known to vary


def open_where(values, bounds):
    return ~((np.abs(values) > bounds + signs.TINY) & (np.abs(values) <= signs.LARGEST))


def test_sides_and_doubts_of_products():
    rng = np.random.default_rng(26)
    products = rng.standard_normal((6, 128)).astype(np.float32)
    products[2], products[3] = 0.0, np.inf
    rows = signs.ScaledRows(np.ldexp(1.0, rng.integers(-3, 4, 6)), rng.random(6))
    planes = signs.FilterPlanes(rng.standard_normal(128), rng.random(128), rng.random(128))
    words, doubtful = np.zeros((4, 9), dtype=np.uint64), np.zeros((2, 6), dtype=np.uint64)
    signs.decide_products(products, rows, planes, signs.WordBlock(1, 2, np.uint64(2**36 - 1)), words, doubtful)
    values = planes.offsets * rows.factors[:, None] + products.astype(float)
    bounds = rows.norms[:, None] * planes.slopes + rows.factors[:, None] * planes.doubts
    np.testing.assert_array_equal(BitMatrix(words[1:3, 2:8].copy(), 100).to_bool(), values[:, :100] > 0)
    np.testing.assert_array_equal(BitMatrix(doubtful, 100).to_bool(), open_where(values, bounds)[:, :100])
    words[1:3, 2:8] = 0
    assert not words.any()


@pytest.mark.parametrize("n_rows", [1, signs.PIECE, signs.PIECE + 44])
@pytest.mark.parametrize("d", [1, 3])
def test_sides_and_doubts_in_few_dimensions(n_rows, d):
    rng = np.random.default_rng(27)
    X, W, b = (rng.integers(-3, 4, shape) / 4 for shape in [(n_rows, d), (70, d), (70,)])  # no rounding, many ties
    slopes, doubts = rng.choice([1e-15, 0.2], 70), rng.choice([0.0, 0.2], 70)
    words, doubtful = np.zeros((2, n_rows + 3), dtype=np.uint64), np.zeros((2, n_rows), dtype=np.uint64)
    signs.decide_low(X, W, b, slopes, doubts, 2, words, doubtful)
    bounds = np.abs(X).max(axis=1)[:, None] * slopes + doubts
    np.testing.assert_array_equal(BitMatrix(words[:, 2:-1].copy(), 70).to_bool(), naive.sides(X, W, b))
    np.testing.assert_array_equal(BitMatrix(doubtful, 70).to_bool(), open_where(X @ W.T + b, bounds))
    assert not words[:, [0, 1, -1]].any()


def sign_of(number):
    return (number > 0) - (number < 0)


@given(moderate, moderate)
def test_products_come_with_their_exact_remainder(a, b):
    product, remainder = signs._two_product(a, b)
    assert product == a * b
    assert Fraction(product) + Fraction(remainder) == Fraction(a) * Fraction(b)


@settings(max_examples=200)
@given(close_calls(any_float))
def test_float64_stage_is_right_or_says_that_it_does_not_know(call):
    x, w, b = call
    got = signs._float64_sign(x, w, b)
    assert got in (2, sign_of(naive.exact(w, x, b)))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_compensated_stage_is_right_or_says_that_it_does_not_know(call):
    x, w, b = call
    got = signs._compensated_sign(x, w, b)
    assert got in (2, sign_of(naive.exact(w, x, b)))


def exact_sign(x, w, b, limbs):
    signs._add_affine(limbs, x, w, b)
    return signs.sign_of_limbs(limbs)


@settings(max_examples=200)
@given(close_calls(any_float))
def test_long_accumulator_is_always_right(call):
    x, w, b = call
    limbs = np.full(signs.LIMBS, 12345, dtype=np.int64)  # what an earlier call left behind
    assert exact_sign(x, w, b, limbs) == sign_of(naive.exact(w, x, b))


@given(any_float, any_float, any_float, st.booleans())
def test_single_weight_stage_is_right_or_says_that_it_does_not_know(x, w, b, on_it):
    if on_it and math.isfinite(w * x):
        b = -w * x
    assert signs._lone_sign(x, w, b) in (2, sign_of(Fraction(w) * Fraction(x) + Fraction(b)))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_all_stages_together(call):
    x, w, b = call
    nonzero = np.flatnonzero(w)
    lone = int(nonzero[0]) if len(nonzero) == 1 else -1
    limbs = np.zeros(signs.LIMBS, dtype=np.int64)
    for which in {lone, -1}:
        assert signs.positive(x, w, b, which, limbs) == naive.side(w, x, b)


def test_each_stage_decides_what_it_is_there_for():
    """Nothing would be wrong if a stage always passed on, but all would be slow."""
    rng = np.random.default_rng(22)
    for _ in range(50):
        x, w = rng.standard_normal(50), rng.standard_normal(50)
        near = -naive.dot(w, x)
        size = float(np.abs(w) @ np.abs(x))
        assert signs._float64_sign(x, w, near + 1e-12 * size) == 1
        assert signs._float64_sign(x, w, near - 1e-12 * size) == -1
        assert signs._float64_sign(x, w, near) == 2
        both = np.concatenate([x, x]), np.concatenate([w, -w])
        assert signs._compensated_sign(*both, 1e-25) == 1
        assert signs._compensated_sign(*both, -1e-25) == -1
        assert signs._compensated_sign(*both, 0.0) == 2
    grid_x, grid_w = rng.integers(-5, 6, 40).astype(float), rng.integers(-5, 6, 40).astype(np.float32)
    assert signs._compensated_sign(grid_x, grid_w, -float(grid_x @ grid_w)) == 0
    for x in (0.1, 1e8, 0.0):
        assert [signs._lone_sign(x, s, -s * x) for s in (1.0, -1.0, 0.25)] == [0, 0, 0]
        assert signs._lone_sign(x, 1.0, -math.nextafter(x, 1e9)) == -1
        assert signs._lone_sign(x, 1.0, -math.nextafter(x, -1e9)) == 1


@pytest.mark.parametrize("terms", [1, 3, 200])
def test_long_accumulator_at_the_ends_of_its_range(terms):
    limbs = np.zeros(signs.LIMBS, dtype=np.int64)
    for size in (5e-324, 2.0**-1022, 1.7e308):
        for last in (0.0, 5e-324, -5e-324, 1.7e308, -1.7e308):
            x = np.concatenate([np.full(terms, size), np.full(terms, -size)])
            w = np.concatenate([np.full(2 * terms, size)])
            for points in (x, np.abs(x), -np.abs(x)):
                assert exact_sign(points, w, last, limbs) == sign_of(naive.exact(w, points, last))


def test_settling_changes_doubtful_bits_only():
    rng = np.random.default_rng(23)
    X, W, b = rng.integers(-2, 3, (5, 3)) / 2, rng.integers(-2, 3, (70, 3)) / 2, rng.integers(-1, 2, 70) / 2
    truth = naive.sides(X, W, b)
    wrong = BitMatrix.from_bool(~truth)
    opened = rng.random((5, 70)) < 0.5
    doubtful = BitMatrix.from_bool(opened).words.copy()
    words = np.zeros((4, 9), dtype=np.uint64)
    words[1:3, 2:7] = wrong.words
    lone = np.full(134, -1, dtype=np.int64)
    shifted_W, shifted_b = np.vstack([np.zeros((64, 3)), W]), np.concatenate([np.zeros(64), b])
    planes = signs.SparsePlanes(3 * np.arange(135), np.arange(0), shifted_W.ravel(), shifted_b)
    signs.settle(X, np.arange(0), planes, lone, 1, 2, words, doubtful)
    np.testing.assert_array_equal(BitMatrix(words[1:3, 2:7].copy(), 70).to_bool(), np.where(opened, truth, ~truth))
    assert not doubtful.any()
    words[1:3, 2:7] = 0
    assert not words.any()


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 1e-307, 1.7e308, 0.0])
def test_rows_are_scaled_to_size_one(size):
    rng = np.random.default_rng(24)
    X = size * rng.uniform(-1, 1, (12, 5))
    scaled, factors, norms = np.empty((12, 5), dtype=np.float32), np.empty(12), np.empty(12)
    signs.scale_rows(X, np.zeros(5), np.arange(5), scaled, factors, norms)
    if size in (1e-307, 1.7e308):
        assert (norms == np.inf).all(), "such factors would leave the range of float64"
        return
    for x, row, factor, norm in zip(X, scaled, factors, norms, strict=True):
        assert math.frexp(factor)[0] == 0.5
        largest = Fraction(factor) * max(abs(Fraction(v)) for v in x.tolist())
        assert largest == 0 if size == 0 else Fraction(1, 2) <= largest < 1
        for v, s in zip(x.tolist(), row.tolist(), strict=True):
            assert abs(Fraction(s) - Fraction(factor) * Fraction(v)) <= Fraction(2) ** -24 * abs(Fraction(s))
        assert Fraction(norm) ** 2 >= sum((Fraction(factor) * Fraction(v)) ** 2 for v in x.tolist())


@settings(max_examples=200)
@given(close_calls(any_float))
def test_shifted_biases_come_with_a_true_error_bound(call):
    origin, w, b = call
    shifted, errors = np.empty(1), np.empty(1)
    signs.shift_biases(w[None], np.array([b]), origin, shifted, errors)
    if errors[0] < np.inf:
        assert abs(Fraction(float(shifted[0])) - naive.exact(w, origin, b)) <= Fraction(float(errors[0]))


def test_shifted_biases_are_sharp_on_plain_data():
    rng = np.random.default_rng(25)
    W, b, origin = rng.standard_normal((30, 100)).astype(np.float32), rng.standard_normal(30), rng.standard_normal(100)
    shifted, errors = np.empty(30), np.empty(30)
    signs.shift_biases(W, b, origin, shifted, errors)
    assert (errors <= 1e-15 * np.abs(shifted) + 1e-25).all()


def sparse_planes(W, b, columns):
    """Hyperplanes as the sparse kernels take them, their features as places among some columns."""
    rows = sp.csr_array(W)
    places = np.searchsorted(columns, rows.indices).astype(np.int64)
    return signs.SparsePlanes(rows.indptr.astype(np.int64), places, rows.data.astype(float), b)


def few_weights(rng, n, d, most=4):
    """Weights of which each row has up to so many."""
    return rng.integers(-2, 3, (n, d)) * (rng.random((n, d)) < rng.integers(1, most + 1, (n, 1)) / d) / 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_gathered_with_the_largest_size_of_each_row(dtype):
    rows = np.random.default_rng(30).standard_normal((7, 9)).astype(dtype)
    for columns in ([], [4], [8, 0, 3]):
        points, sizes = np.full((len(columns), 9), np.nan), np.full(8, np.nan)
        signs.gather(rows, np.array(columns, dtype=np.int64), points, sizes)
        np.testing.assert_array_equal(points[:, :7], rows[:, columns].T)
        np.testing.assert_array_equal(sizes[:7], np.abs(rows[:, columns]).max(axis=1, initial=0.0))
        assert np.isnan(points[:, 7:]).all()
        assert np.isnan(sizes[7])


SPARSE_KERNELS = [signs.decide_sparse, signs.decide_sparse_few]


@pytest.mark.parametrize("decide", SPARSE_KERNELS)
@pytest.mark.parametrize("n_rows", [1, signs.PIECE, signs.PIECE + 44])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_sides_and_doubts_of_few_weights(decide, n_rows, d):
    rng = np.random.default_rng(31)
    X, W = rng.standard_normal((n_rows, d)), few_weights(rng, 70, d)
    b = rng.choice([1.0, 1.0 + 2e-16, 1.0 - 1e-15, 1.01], 70) * -(W @ X[0])  # about as close as rounding reaches
    columns = np.flatnonzero(np.abs(W).any(axis=0))
    words, doubtful = np.zeros((2, n_rows + 3), dtype=np.uint64), np.zeros((2, n_rows), dtype=np.uint64)
    decide(X, columns, sparse_planes(W, b, columns), 2, words, doubtful)
    values = np.tile(b, (n_rows, 1))
    for j in range(d):
        values += X[:, [j]] * W[:, j]
    shares = np.array([signs.sparse_rel_error(k) for k in np.count_nonzero(W, axis=1)])
    bounds = shares * (np.abs(X[:, columns]).max(axis=1)[:, None] * np.abs(W).sum(axis=1) + np.abs(b))
    in_doubt = BitMatrix(doubtful, 70).to_bool()
    np.testing.assert_array_equal(BitMatrix(words[:, 2:-1].copy(), 70).to_bool(), values > 0)
    for share, expected in ((1 - 1e-12, True), (1 + 1e-12, False)):
        clear = open_where(values, bounds * share) == expected
        np.testing.assert_array_equal(in_doubt[clear], expected)
    assert in_doubt.any()
    np.testing.assert_array_equal((values > 0)[~in_doubt], naive.sides(X, W, b)[~in_doubt])
    assert not words[:, [0, 1, -1]].any()


@given(st.integers(1, 2**30))
def test_few_products_err_by_less_than_their_share(n_terms):
    assert Fraction(signs.sparse_rel_error(n_terms)) > (n_terms + 2) * Fraction(2) ** -53 * (
        1 + n_terms * Fraction(2) ** -53
    )


def test_pieces_are_small_where_columns_are_many():
    rng = np.random.default_rng(32)
    d = signs.GATHERED // 16 + 5  # so that a piece has the least number of points
    X, W, b = rng.standard_normal((50, d)), np.zeros((3, d)), rng.standard_normal(3)
    W[[0, 1, 1, 2], [0, d - 1, 7, d // 2]] = 1.0, -1.0, 2.0, 4.0
    for decide in SPARSE_KERNELS:
        words, doubtful = np.zeros((2, 1, 50), dtype=np.uint64)
        decide(X, np.arange(d), sparse_planes(W, b, np.arange(d)), 0, words, doubtful)
        np.testing.assert_array_equal(BitMatrix(words, 3).to_bool(), X @ W.T + b > 0)
        assert not doubtful.any()


@pytest.mark.parametrize("decide", SPARSE_KERNELS)
def test_sums_that_are_not_finite_are_in_doubt(decide):
    """Numbers near the end of the range, of which sums and their bounds overflow."""
    X = np.array([[1.7e308, 1.7e308, -1.7e308], [1.0, 1.0, 1.0]])
    W = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 2.0], [1.7e308, 1.7e308, 0.0]])
    words, doubtful = np.zeros((2, 1, 2), dtype=np.uint64)
    decide(X, np.arange(3), sparse_planes(W, np.zeros(3), np.arange(3)), 0, words, doubtful)
    assert [int(word) for word in doubtful[0]] == [7, 4]
    assert int(words[0, 1]) == 7


@settings(max_examples=200)
@given(close_calls(any_float), st.integers(0, 2**16))
def test_settling_few_weights_is_always_right(call, seed):
    x, w, b = call
    rng = np.random.default_rng(seed)
    d = len(x) + int(rng.integers(0, 4))
    columns = np.sort(rng.permutation(2 * d)[: len(x)])  # of the features, those that are gathered
    rows, W = rng.standard_normal((3, 2 * d)), np.zeros((66, 2 * d))
    rows[1, columns], W[65, columns] = x, w
    W[0, columns[0]], W[1, columns] = 1.0, rng.standard_normal(len(x))
    truth = [naive.side(W[i], rows[1], b) for i in (0, 1, 65)]
    planes = sparse_planes(W, np.full(66, b), columns)
    for before in (0, ALL):
        words, doubtful = np.full((2, 6), before, dtype=np.uint64), np.zeros((2, 3), dtype=np.uint64)
        doubtful[0, 1], doubtful[1, 1] = 3, 2
        lone = np.where(np.diff(planes.starts) == 1, 0, -1)
        signs.settle(rows, columns, planes, lone, 0, 2, words, doubtful)
        assert not doubtful.any()
        assert [int(words[0, 3]) & 1, int(words[0, 3]) >> 1 & 1, int(words[1, 3]) >> 1 & 1] == truth
        words[0, 3] ^= np.uint64((int(words[0, 3]) ^ before) & 3)
        words[1, 3] ^= np.uint64((int(words[1, 3]) ^ before) & 2)
        assert (words == np.uint64(before)).all(), "no other bit is touched"


def test_many_units_are_taken_off_without_overflow() -> None:
    n = 5000
    weights, biases = np.full((n, 1), 1.7e308), np.full(n, -5e-324)
    limit = float(Fraction(1.7e308) * 2**-1074 * n)  # a product of the smallest number, n times over
    packed = np.ascontiguousarray(BitMatrix.from_bool(np.ones((1, n), dtype=bool)).words.T)
    point, fires = np.array([[5e-324]]), np.zeros(1, dtype=bool)
    for step, fired in [(0.0, False), (np.inf, True)]:
        limits = np.array([np.nextafter(limit, step)])
        settle_ramps(point, weights, biases, packed, limits, np.array([0]), np.array([0]), fires)
        assert fires[0] == fired
