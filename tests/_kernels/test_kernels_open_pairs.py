"""Open pairs and rescue cuts against all pairs, one by one."""

from __future__ import annotations

import numpy as np
from helpers.twins import coordinate_cuts, cut_separates
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels import open_pairs as kernels

seeds = st.integers(0, 10**6)


def scan_of(rng):
    """Distinct sorted patterns in groups of classes, and every group against a few runs of others."""
    n_groups, n_words = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    sizes = rng.integers(1, 200, n_groups)
    group = np.repeat(np.arange(n_groups), sizes)
    few = rng.integers(0, 2**64, n_words, dtype=np.uint64, endpoint=False)
    words = rng.integers(0, 2**64, (n_words, len(group)), dtype=np.uint64)
    words &= few[:, None] if rng.random() < 0.7 else np.uint64(0b1011)
    words = words[:, np.lexsort((*words[::-1], group))]
    common = np.bitwise_and.reduceat(words, np.arange(0, len(group), kernels.TILE), axis=1)
    start = np.searchsorted(group, np.arange(n_groups + 1))
    runs = [[(g, g + 1) for g in range(n_groups) if g != own and rng.random() < 0.8] for own in range(n_groups)]
    indptr = np.cumsum([0, *map(len, runs)])
    ends = np.array([run for of_group in runs for run in of_group], dtype=np.int32).reshape(-1, 2)
    return kernels.Scan(words, common, group, start, indptr, ends[:, 0].copy(), ends[:, 1].copy())


def against(scan, child):
    """Children that a child is compared with, in order."""
    g = scan.group[child]
    runs = range(scan.indptr[g], scan.indptr[g + 1])
    return [c for r in runs for c in range(scan.start[scan.first[r]], scan.start[scan.last[r]])]


def pattern(scan, child):
    return sum(int(word) << 64 * w for w, word in enumerate(scan.words[:, child]))


def open_against(scan, child):
    own = pattern(scan, child)
    return [c for c in against(scan, child) if pattern(scan, c) & ~own == 0]


@given(seeds)
def test_open_children_are_listed_as_runs(seed):
    rng = np.random.default_rng(seed)
    scan = scan_of(rng)
    ids = rng.permutation(len(scan.group))[:12]
    runs_of, room = np.zeros(len(ids), dtype=np.int64), 12 * len(scan.group)
    first, last = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    done, n_runs, n_pairs = kernels.list_open(scan, ids, 2**62, runs_of, first, last)
    expected = [open_against(scan, child) for child in ids]
    assert (done, n_runs, n_pairs) == (len(ids), runs_of.sum(), sum(map(len, expected)))
    stops = np.cumsum(runs_of)
    for found, start, stop in zip(expected, stops - runs_of, stops, strict=True):
        assert [c for k in range(start, stop) for c in range(first[k], last[k])] == found
    weights, sizes = np.empty(len(ids), dtype=np.int64), rng.integers(1, 9, len(scan.group))
    kernels.weigh_open(scan, ids, sizes, weights)
    assert weights.tolist() == [int(sizes[found].sum()) for found in expected]


@given(seeds)
def test_listing_stops_above_the_limit_or_where_the_room_ends(seed):
    rng = np.random.default_rng(seed)
    scan = scan_of(rng)
    ids = rng.permutation(len(scan.group))[:12]
    expected = [len(open_against(scan, child)) for child in ids]
    runs_of, first, last = np.zeros(len(ids), dtype=np.int64), np.empty(4000, np.int32), np.empty(4000, np.int32)
    limit = int(rng.integers(0, sum(expected) + 1))
    done, _, n_pairs = kernels.list_open(scan, ids, limit, runs_of, first, last)
    totals = np.cumsum(expected)
    assert done == min(len(ids), int(np.searchsorted(totals, limit, side="right")) + 1)
    assert n_pairs == totals[done - 1]
    done, n_runs, n_pairs = kernels.list_open(scan, ids, 2**62, runs_of, first[:1], last[:1])
    assert n_runs <= 1
    assert n_pairs == sum(expected[:done])


@given(seeds)
def test_last_separating_bit_is_that_of_the_hardest_pair(seed):
    rng = np.random.default_rng(seed)
    scan = scan_of(rng)
    ids, n_bits = rng.permutation(len(scan.group))[:8], 64 * len(scan.words)
    bits = [0]
    for child in ids:
        for other in against(scan, child):
            apart = pattern(scan, other) & ~pattern(scan, child)
            lowest = (apart & -apart).bit_length() - 1 if apart else n_bits
            assert kernels.separating_bit(scan.words, child, other) == lowest
            bits.append(lowest)
    assert kernels.last_separating_bit(scan, ids, 0) == max(bits)
    assert kernels.last_separating_bit(scan, ids, n_bits) == n_bits


@given(seeds, st.integers(1, 70))
def test_off_bits_up_to_an_index(seed, n_words):
    words = np.random.default_rng(seed).integers(0, 2**64, (n_words, 2), dtype=np.uint64)
    off, index = np.empty(n_words, dtype=np.uint64), seed % (64 * n_words)
    kernels.off_bits_until(words, 1, index, off)
    whole = sum(int(word) << 64 * w for w, word in enumerate(words[:, 1]))
    assert sum(int(word) << 64 * w for w, word in enumerate(off)) == ~whole & ((2 << index) - 1)


def sorted_cuts(cuts, d):
    """Thresholds by feature and sign, sorted, and where each list begins."""
    lists = [sorted(t for (j, s, t), _ in cuts if (j, s) == key) for key in ((j, s) for j in range(d) for s in (-1, 1))]
    return np.array([t for of_key in lists for t in of_key], dtype=float), np.cumsum([0, *map(len, lists)])


@given(seeds, st.sampled_from([3, 1000]))
def test_cuts_for_pairs_that_none_before_separates(seed, room):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.permuted(np.tile(np.arange(n) / 4, (d, 1)), axis=1).T.copy()
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b and rng.random() < 0.7]
    cuts, done = [], 0
    while done < len(pairs):
        a, b = np.array(pairs[done:]).T.copy()
        feature, sign, origin = (np.empty(room, dtype=np.int64) for _ in range(3))
        threshold = np.empty(room)
        step, count = kernels.cut_pairs(X, a, b, sorted_cuts(cuts, d), (feature, sign, threshold, origin))
        new = zip(feature.tolist(), sign.tolist(), threshold.tolist(), origin.tolist(), strict=True)
        cuts += [((j, s, t), row) for (j, s, t, row), _ in zip(new, range(count), strict=False)]
        assert step
        done += step
    assert cuts == coordinate_cuts(X, pairs)
    assert all(any(cut_separates(X[a], X[b], cut) for cut, _ in cuts) for a, b in pairs)
