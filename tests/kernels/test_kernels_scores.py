"""Best slack against all detectors, one by one."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from kernel_inputs import count_matrix, masked_values, masks_of, random_bits

from exactfit._kernels import scores
from exactfit.network.bits import BitMatrix


@pytest.mark.parametrize("n_bits", [1, 64, 65, 129])
@pytest.mark.parametrize("n_columns", [1, 513])
def test_best_slack_of_counts(n_bits, n_columns):
    points, masks = random_bits(18, n_columns, n_bits), random_bits(19, 6, n_bits)
    limits, classes = np.arange(1, 7), np.array([0, 2, 0, 2, 2, 0])
    out = np.full((3, n_columns), -100.0)
    words = BitMatrix.from_bool(points).words
    for start, stop in [(0, n_columns // 2), (n_columns // 2, n_columns)]:
        scores.best_slack_counts(words, start, stop, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = (limits[:, None] - 0.5 - count_matrix(masks, points)) / limits[:, None]
    np.testing.assert_array_equal(out[0], slack[classes == 0].max(axis=0).clip(-100))
    np.testing.assert_array_equal(out[2], slack[classes == 2].max(axis=0).clip(-100))
    assert (out[1] == -100).all()


def test_best_slack_of_sums():
    columns, _, masks = masked_values(20, 70, 25, 5)
    limits, classes = np.array([40.0, 20.0, 18.5, 30.0, 1e-3]), np.array([1, 0, 1, 0, 0])
    out = np.full((2, 25), -1e9)
    scores.best_slack_sums(columns, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = [
        [(limit - naive.ordered_sum(columns[mask, c])) / limit for c in range(25)]
        for limit, mask in zip(limits, masks, strict=True)
    ]
    for k in range(2):
        assert out[k].tolist() == np.array(slack)[classes == k].max(axis=0).tolist()


def test_slack_of_a_sum_at_its_limit_is_below_zero():
    out = np.full((1, 3), -1e9)
    below = np.nextafter(2.0, 0.0)
    scores.best_slack_sums(
        np.array([[2.0, below, np.nextafter(2.0, 3.0)]]), masks_of(np.ones((1, 1), dtype=bool)), np.array([2.0]),
        np.array([2.0]), np.array([0]), out,
    )  # fmt: skip
    assert (out[0] > 0).tolist() == [False, True, False]
    assert (out != 0).all()
