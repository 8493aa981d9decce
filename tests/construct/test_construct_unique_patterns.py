"""Points of equal class and pattern are one column, also where hashes meet, and from parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from helpers.weighted_twins import distinct_twin
from hypothesis import given
from hypothesis import strategies as st

from exactfit._support.threads import SERIAL
from exactfit.construct import unique_patterns
from exactfit.construct.evidence import Counts
from exactfit.network.bits import BitMatrix


def test_distinct_patterns_also_where_hashes_meet(monkeypatch):
    rng = np.random.default_rng(0)
    on = rng.random((40, 3)) < 0.5
    codes = np.sort(rng.integers(0, 3, 40))
    words = BitMatrix.from_bool(on).words
    firsts, places, starts = distinct_twin(on, on, codes)
    for hashes_meet in (False, True):
        if hashes_meet:
            monkeypatch.setattr(unique_patterns, "hash_line", lambda line, hashes: hashes.fill(7))
        found = unique_patterns.PatternGroups.of(words, codes, np.arange(40), np.arange(40))
        assert found.firsts.tolist() == firsts
        assert np.searchsorted(found.codes, range(4)).tolist() == starts
        assert found.sizes.tolist() == np.bincount(places).tolist()


@given(st.integers(0, 10**6), st.integers(1, 130), st.booleans())
def test_lines_of_points_give_what_their_patterns_in_class_order_give(seed, n_bits, all_targets):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 57)])
    bits = rng.integers(0, 2, (5, 192))[rng.integers(0, 5, 60)] > 0
    blocks = [(words, words) for words in BitMatrix.from_bool(bits).words]  # with bits beyond the first n_bits
    order = unique_patterns.ClassOrder.of(y)
    candidates = unique_patterns.candidates_of(order, (0, 1, 2) if all_targets else (1,), np.random.SeedSequence(seed))
    patterns = BitMatrix.from_bool(bits[order.rows, :n_bits])
    expected = unique_patterns.UniquePatterns.of_evidence(Counts(patterns, SERIAL), order, candidates)
    found = unique_patterns.UniquePatterns.of_blocks(blocks, n_bits, order, candidates, SERIAL, exact=True)
    np.testing.assert_array_equal(found.evidence.patterns.words, expected.evidence.patterns.words)
    np.testing.assert_array_equal(found.order.rows, expected.order.rows)
    np.testing.assert_array_equal(found.order.starts, expected.order.starts)
    np.testing.assert_array_equal(found.leaders, expected.leaders)
    np.testing.assert_array_equal(found.sizes, expected.sizes)
    assert found.candidates.keys() == expected.candidates.keys()
    for k, own in found.candidates.items():
        assert own.tolist() == expected.candidates[k].tolist()
    some = np.arange(0, len(found.leaders), 2)
    assert found.members(some).tolist() == expected.members(some).tolist()


@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), max_size=4), st.integers(1, 130))
def test_groups_of_parts_join_to_those_of_the_whole(seed, cuts, n_bits):
    rng = np.random.default_rng(seed)
    codes, ranks = rng.integers(0, 3, 60), rng.permutation(60)
    words = BitMatrix.from_bool(rng.integers(0, 2, (4, 130))[rng.integers(0, 4, 60)] > 0).words
    edges = [0, *sorted(cuts), 60]
    parts = [
        unique_patterns.PatternGroups.of(words[:, a:b], codes[a:b], np.arange(a, b), ranks[a:b])
        for a, b in pairwise(edges)
    ]
    whole = unique_patterns.PatternGroups.of(words, codes, np.arange(60), ranks)
    short = unique_patterns.PatternGroups.of(BitMatrix(words, 130).head(n_bits).words, codes, np.arange(60), ranks)
    for found, expected in ((unique_patterns.PatternGroups.joined(parts), whole), (whole.head(n_bits), short)):
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(found, name), value)
