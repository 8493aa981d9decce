"""Counts of masked bits against sums of bits, one by one."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import ALL, COLUMNS, WIDTHS, count_matrix, masks_of, random_bits

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
