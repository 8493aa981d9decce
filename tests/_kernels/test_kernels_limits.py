"""Limits and turns of the second layer against all counts, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import twins as naive
from helpers.problems import COLUMNS, WIDTHS, count_matrix, masked_values, masks_of, random_bits
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels import counting
from exactfit._kernels import limits as kernels
from exactfit.network.bits import BitMatrix


@pytest.mark.parametrize("n_bits", WIDTHS)
@pytest.mark.parametrize("n_columns", COLUMNS)
def test_lowest_counts_and_who_attains_them_first(n_bits, n_columns):
    points, masks = random_bits(7, n_columns, n_bits, 0.3), random_bits(8, 6, n_bits)
    counts = count_matrix(masks, points)
    start, stop = n_columns // 3, n_columns
    lowest, where = np.full(6, np.iinfo(np.int64).max), np.full(6, -1)
    kernels.lowest_counts(BitMatrix.from_bool(points).words, start, stop, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts[:, start:stop].min(axis=1))
    np.testing.assert_array_equal(where, start + counts[:, start:stop].argmin(axis=1))


@pytest.mark.parametrize("n_bits", [1023, 1024, 1025, 1600, 2111])
@pytest.mark.parametrize("seed", range(4))
def test_lowest_counts_where_most_columns_are_out_early(n_bits, seed):
    rng = np.random.default_rng(seed)
    density = rng.choice([0.02, 0.3, 0.9], p=[0.02, 0.18, 0.8], size=(3000, 1))
    points, masks = rng.random((3000, n_bits)) < density, random_bits(8, 6, n_bits)
    points[rng.integers(3000, size=40)] = points[rng.integers(3000, size=40)]
    points[2500:] &= ~masks[0] | (rng.random((500, n_bits)) < 0.01)
    counts = count_matrix(masks, points)
    lowest, where = np.full(6, np.iinfo(np.int64).max), np.full(6, -1)
    kernels.lowest_counts(BitMatrix.from_bool(points).words, 0, 3000, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts.min(axis=1))
    np.testing.assert_array_equal(where, counts.argmin(axis=1))


def test_lowest_counts_go_on_from_what_is_known():
    points, masks = random_bits(9, 1200, 130), random_bits(10, 4, 130)
    words, counts = BitMatrix.from_bool(points).words, count_matrix(masks, points)
    lowest, where = np.full(4, np.iinfo(np.int64).max), np.full(4, -1)
    for start, stop in [(0, 500), (500, 1200)]:
        kernels.lowest_counts(words, start, stop, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts.min(axis=1))
    np.testing.assert_array_equal(where, counts.argmin(axis=1))
    known = np.array([0, 1, counts[2].min(), 131])
    known[1] = max(1, counts[1].min() - 1)
    lowest, where = known.copy(), np.full(4, -7)
    kernels.lowest_counts(words, 0, 1200, masks_of(masks), lowest, where)
    assert where.tolist() == [-7, -7, -7, int(counts[3].argmin())]
    assert lowest[:3].tolist() == known[:3].tolist()


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_masks_are_the_complements_of_the_anchors(n_bits):
    points = random_bits(11, 9, n_bits)
    columns = np.array([8, 0, 0, 3])
    out = np.empty((4, len(BitMatrix.from_bool(points).words)), dtype=np.uint64)
    kernels.gather_masks(BitMatrix.from_bool(points).words, columns, n_bits, out)
    np.testing.assert_array_equal(out, masks_of(~points[columns]))


@pytest.mark.parametrize("n_columns", [6, 512, 1030])
def test_mutual_counts_are_those_under_the_mask_of_the_other(n_columns):
    bits = random_bits(15, n_columns, 193, 0.4)
    words, place, start = BitMatrix.from_bool(bits).words, 1, 5
    rows = np.ascontiguousarray(words[:, place : place + 4].T)
    keys = np.full(n_columns, kernels.MOST)
    kernels.lowest_mutual_counts(words, start, n_columns, rows, place, bits.sum(axis=1), keys)
    left, right = range(place, place + 4), range(start, n_columns)
    for c, others in [*((c, right) for c in left), *((c, left) for c in right)]:
        counts = (bits[list(others)] & ~bits[c]).sum(axis=1)
        assert divmod(int(keys[c]), 2**32) == (counts.min(), others[int(counts.argmin())])
    assert keys[0] == kernels.MOST


def cover_by_hand(low, high, target, rest, order, remaining):
    """Algorithm 2, lines 3-10: anchor, limit, witness and claimed points of every detector, and rejected points."""
    found, rejected = [], 0
    for anchor in order:
        if not remaining[anchor - target[0]]:
            continue
        counts = [(int((low[r] & ~high[anchor]).sum()), r) for r in rest]
        limit, witness = min(counts)
        if limit == 0:
            rejected += remaining[anchor - target[0]]
            continue
        taken = [c for c in range(*target) if (high[c] & ~high[anchor]).sum() < limit]
        found.append([anchor, limit, witness, sum(remaining[c - target[0]] for c in taken)])
        for c in taken:
            remaining[c - target[0]] = 0
    return found, rejected


@given(st.integers(0, 10**6), st.sampled_from([4, 64, 70]))
def test_candidates_cover_a_class_in_turn(seed, n_bits):
    rng = np.random.default_rng(seed)
    low = rng.random((30, n_bits)) < 0.3
    high = low | (rng.random(low.shape) < rng.choice([0.0, 0.05]))
    target, rest = (8, 20), np.array([[0, 8], [20, 30]])
    order, remaining = 8 + rng.permutation(12), rng.integers(0, 4, 12)
    by_hand = remaining.copy()
    expected = cover_by_hand(low, high, target, [*range(8), *range(20, 30)], order.tolist(), by_hand)
    chosen, packed = np.empty((12, 4), dtype=np.int64), [BitMatrix.from_bool(bits).words for bits in (low, high)]
    accepted, rejected = kernels.cover_in_turn(*packed, n_bits, target, rest, order, remaining, chosen)
    assert (chosen[:accepted].tolist(), rejected) == expected
    assert remaining.tolist() == by_hand.tolist()


def turns_by_hand(masked_counts, limits, places, remaining):
    """Algorithm 2, lines 4-8, for candidates in order; masked_counts has a row for all of them."""
    claimed, highest = [], []
    for row, limit, place in zip(masked_counts, limits, places, strict=True):
        if not remaining[place]:
            claimed.append(-1)
            highest.append(None)
            continue
        taken = [c for c in range(len(row)) if limit > 0 and remaining[c] and row[c] < limit]
        claimed.append(sum(remaining[c] for c in taken))
        for c in taken:
            remaining[c] = 0
        highest.append(max((row[c] for c in taken), default=None))
    return claimed, highest


@given(st.integers(0, 10**6))
def test_candidates_claim_in_order(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    places = rng.choice(n, min(m, n), replace=False)
    masked_counts = rng.integers(0, 6, (len(places), n)).astype(np.int32)
    masked_counts[np.arange(len(places)), places] = 0
    limits = rng.integers(0, 5, len(places))
    remaining = rng.integers(0, 4, n)
    by_hand = remaining.copy()
    expected, highest_expected = turns_by_hand(masked_counts, limits, places, by_hand)
    claimed, highest = np.empty(len(places), dtype=np.int64), np.empty(len(places), dtype=np.int32)
    kernels.claim_in_order(masked_counts[limits > 0], limits, places, remaining, claimed, highest)
    assert claimed.tolist() == expected
    assert remaining.tolist() == by_hand.tolist()
    assert [h for h, e in zip(highest, highest_expected, strict=True) if e is not None] == [
        e for e in highest_expected if e is not None
    ]


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 129])
def test_masked_sums_add_up_in_index_order(n_bits):
    columns, errors, masks = masked_values(14, n_bits, 30)
    expected = [[naive.ordered_sum(columns[mask, c]) for c in range(30)] for mask in masks]
    out = np.empty((4, 30))
    counting.masked_sums(columns, masks_of(masks), out)
    assert out.tolist() == expected
    share = 1e-9
    kernels.highest_sums(columns, errors, share, masks_of(masks), out)
    assert out.tolist() == [[v + share * v + e for v, e in zip(row, errors, strict=True)] for row in expected]
    lowest, where = np.full(4, np.inf), np.full(4, -1)
    kernels.lowest_sums(columns, errors, share, masks_of(masks), 100, lowest, where)
    lows = np.array([[v - share * v - e for v, e in zip(row, errors, strict=True)] for row in expected])
    assert lowest.tolist() == lows.min(axis=1).tolist()
    assert where.tolist() == (100 + lows.argmin(axis=1)).tolist()


def test_lowest_sums_name_the_first_of_equals_and_keep_what_is_known():
    columns, errors = np.array([[2.0, 1.0, 1.0]]), np.zeros(3)
    masks = masks_of(np.ones((2, 1), dtype=bool))
    lowest, where = np.array([np.inf, 1.0]), np.array([-1, -5])
    kernels.lowest_sums(columns, errors, 0.0, masks, 10, lowest, where)
    assert lowest.tolist() == [1.0, 1.0]
    assert where.tolist() == [11, -5]
