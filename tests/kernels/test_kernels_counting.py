"""Counts of masked bits, sums in one fixed order, and best slack, against loops over bits and detectors."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import ALL, COLUMNS, WIDTHS, count_matrix, masked_values, masks_of, random_bits

from exactfit._kernels import counting
from exactfit.network.bits import BitMatrix


@given(st.integers(0, ALL), st.integers(0, ALL), st.integers(0, ALL))
def test_full_adder_adds_every_position(a, b, c):
    low, carry = counting.full_add(np.uint64(a), np.uint64(b), np.uint64(c))
    for k in range(64):
        total = (a >> k & 1) + (b >> k & 1) + (c >> k & 1)
        assert total == (int(low) >> k & 1) + 2 * (int(carry) >> k & 1)


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_counts_at_every_width(n_bits):
    points, masks = random_bits(1, 40, n_bits), random_bits(2, 5, n_bits)
    words = BitMatrix.from_bool(points).words
    out = np.full((5, 40), -1)
    counting.count_all(words, 0, 40, masks_of(masks), 0, out)
    assert out.tolist() == [[naive.count(mask, point) for point in points] for mask in masks]
    tile = np.full(40, -1)
    counting.count_words(words, 0, len(words), 3, 30, masks_of(masks)[0], tile)
    assert tile[:27].tolist() == points[3:30].sum(axis=1).tolist()
    assert (tile[27:] == -1).all()


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_counts_of_many_columns(n_columns):
    points, masks = random_bits(3, n_columns, 100), random_bits(4, 3, 100)
    out = np.full((3, n_columns), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 0, n_columns, masks_of(masks), 0, out)
    np.testing.assert_array_equal(out, count_matrix(masks, points))


def test_counts_of_some_columns_leave_the_others_alone():
    points, masks = random_bits(5, 700, 70), random_bits(6, 2, 70)
    out = np.full((2, 700), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 100, 650, masks_of(masks), 0, out)
    np.testing.assert_array_equal(out[:, 100:650], count_matrix(masks, points)[:, 100:650])
    assert (out[:, :100] == -1).all()
    assert (out[:, 650:] == -1).all()
    part = np.full((2, 600), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 100, 650, masks_of(masks), 90, part)
    np.testing.assert_array_equal(part[:, 10:560], out[:, 100:650])
    assert (part[:, :10] == -1).all()
    assert (part[:, 560:] == -1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 9, 40])
def test_affine_adds_features_in_order_and_then_the_bias(d, dtype):
    rng = np.random.default_rng(d)
    X, W, b = rng.standard_normal((21, d)), rng.standard_normal((13, d)).astype(dtype), rng.standard_normal(13)
    W[3] = 0.0
    W[4, : d // 2] = 0.0
    out = np.empty((13, 21))
    counting.affine(np.ascontiguousarray(X.T), W, b, out)
    assert out.tolist() == [[naive.dot(W[i], x) + b[i] for x in X] for i in range(13)]


@pytest.mark.parametrize("n_bits", [1, 64, 65, 129])
@pytest.mark.parametrize("n_columns", [1, 513])
def test_best_slack_of_counts(n_bits, n_columns):
    points, masks = random_bits(18, n_columns, n_bits), random_bits(19, 6, n_bits)
    limits, classes = np.arange(1, 7), np.array([0, 2, 0, 2, 2, 0])
    out = np.full((3, n_columns), -100.0)
    words = BitMatrix.from_bool(points).words
    for start, stop in [(0, n_columns // 2), (n_columns // 2, n_columns)]:
        counting.best_slack_counts(words, start, stop, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = (limits[:, None] - 0.5 - count_matrix(masks, points)) / limits[:, None]
    np.testing.assert_array_equal(out[0], slack[classes == 0].max(axis=0).clip(-100))
    np.testing.assert_array_equal(out[2], slack[classes == 2].max(axis=0).clip(-100))
    assert (out[1] == -100).all()


def test_best_slack_of_sums():
    columns, _, masks = masked_values(20, 70, 25, 5)
    limits, classes = np.array([40.0, 20.0, 18.5, 30.0, 1e-3]), np.array([1, 0, 1, 0, 0])
    out = np.full((2, 25), -1e9)
    counting.best_slack_sums(columns, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = [
        [(limit - naive.ordered_sum(columns[mask, c])) / limit for c in range(25)]
        for limit, mask in zip(limits, masks, strict=True)
    ]
    for k in range(2):
        assert out[k].tolist() == np.array(slack)[classes == k].max(axis=0).tolist()


def test_slack_of_a_sum_at_its_limit_is_below_zero():
    out = np.full((1, 3), -1e9)
    below = np.nextafter(2.0, 0.0)
    counting.best_slack_sums(
        np.array([[2.0, below, np.nextafter(2.0, 3.0)]]), masks_of(np.ones((1, 1), dtype=bool)), np.array([2.0]),
        np.array([2.0]), np.array([0]), out,
    )  # fmt: skip
    assert (out[0] > 0).tolist() == [False, True, False]
    assert (out != 0).all()
