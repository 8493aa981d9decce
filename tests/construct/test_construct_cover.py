"""Covers: candidates in their order, over any table of counts, the same as one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import twins as naive
from helpers.problems import CoverTable, TableTwin, assert_same_cover, rows_of, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.console import silent
from exactfit._support.threads import Threads
from exactfit.construct import cover, evidence
from exactfit.construct.cover import mask_cover
from exactfit.construct.evidence import Counts, first_lowest
from exactfit.construct.unique_patterns import ClassOrder
from exactfit.network.bits import BitMatrix


@settings(max_examples=300)
@given(tables())
def test_mask_cover_is_the_walk_through_the_order(case):
    table, target, rest, order = case
    fast = mask_cover(table, target, rest, order, silent)
    slow = naive.mask_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist())
    assert_same_cover(fast, slow)


@given(tables(max_target=200))
def test_more_points_than_a_word_has(case):
    table, target, rest, order = case
    fast = mask_cover(table, target, rest, order, silent)
    slow = naive.mask_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist())
    assert_same_cover(fast, slow)


@settings(max_examples=100)
@given(tables(), st.sampled_from([0, 2**62]))
def test_columns_that_stand_for_several_points(case, small):
    """As many equal columns, one after the other, of which the first comes first in the order."""
    table, target, rest, order = case
    sizes = np.random.default_rng(target[1]).integers(1, 6, target[1] - target[0])
    copies = np.ones(len(table.table), dtype=np.int64)
    copies[slice(*target)] = sizes
    firsts = np.cumsum(copies) - copies
    whole = CoverTable(np.repeat(np.repeat(table.table, copies, axis=0), copies, axis=1), table._cost, table._rounds)
    places = [(int(firsts[a]), int(firsts[b - 1] + copies[b - 1])) for a, b in [target, *rest]]
    many = np.concatenate([firsts[c] + np.arange(copies[c]) for c in order])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "SMALL", small)
        few = mask_cover(table, target, rest, order, silent, sizes)
        all_of_them = mask_cover(whole, places[0], places[1:], many, silent)
    assert firsts[few.anchors].tolist() == all_of_them.anchors
    assert few.limits == all_of_them.limits
    assert firsts[few.witnesses].tolist() == all_of_them.witnesses
    assert few.coverage == all_of_them.coverage
    assert few.n_rejected == all_of_them.n_rejected
    assert sizes[few.uncovered - target[0]].sum() == len(all_of_them.uncovered)


@settings(max_examples=300)
@given(tables())
def test_detectors_fire_on_their_anchor_and_never_on_the_rest(case):
    table, target, rest, order = case
    made = mask_cover(table, target, rest, order, silent)
    claimed = set()
    for anchor, limit, witness in zip(made.anchors, made.limits, made.witnesses, strict=True):
        assert table.table[anchor, anchor] < limit
        assert min(table.table[anchor, x] for x in rows_of(rest)) >= limit
        assert table.table[anchor, witness] == min(table.table[anchor, x] for x in rows_of(rest))
        claimed |= {x for x in range(*target) if table.table[anchor, x] < limit}
    assert set(range(*target)) - claimed == set(made.uncovered.tolist())
    assert sum(made.coverage) == len(claimed)
    assert all(made.coverage)


def test_no_usable_candidate_leaves_all_uncovered():
    made = mask_cover(CoverTable(np.zeros((5, 5), dtype=int)), (1, 4), [(0, 1), (4, 5)], np.array([2, 1, 3]), silent)
    assert made.uncovered.tolist() == [1, 2, 3]
    assert (made.anchors, made.n_rejected) == ([], 3)


def test_covered_candidates_are_skipped_without_being_examined():
    n = 500
    table = CoverTable(np.where(np.arange(n + 1) < n, 0, 5) * np.ones((n + 1, 1), dtype=int), cost=2**25)
    made = mask_cover(table, (0, n), [(n, n + 1)], np.random.default_rng(0).permutation(n), silent)
    assert made.coverage == [n]
    assert table.n_limits == 1


def test_progress_grows_to_the_number_of_points():
    rng = np.random.default_rng(1)
    table = CoverTable(rng.integers(0, 4, (120, 120)) * (1 - np.eye(120, dtype=int)) + (np.arange(120) >= 100) * 9)
    told = []

    def progress(what, done, total):
        told.append((what, done, total))

    order = rng.permutation(100)
    mask_cover(table, (0, 100), [(100, 120)], order, progress)
    detectors = [(done, total) for what, done, total in told if what == "detectors"]
    assert [done for done, _ in detectors] == sorted(done for done, _ in detectors)
    assert detectors[-1] == (100, 100)


# ---- Counts ----------------------------------------------------------------------------------------------


def random_patterns(seed, n, width):
    return np.random.default_rng(seed).random((n, width)) < 0.4


@pytest.mark.parametrize("width", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_counts_limits_and_witnesses(monkeypatch, width, n_jobs):
    monkeypatch.setattr(evidence, "SHORT_WORDS", 10)  # cut even this little work into pieces
    monkeypatch.setattr(evidence, "PIECE_WORDS", 100)
    bits = random_patterns(0, 60, width)
    twin, rest = naive.Counts(bits), [(0, 13), (40, 60)]
    anchors = np.array([39, 13, 20, 20])
    with Threads(n_jobs) as threads:
        counts = Counts(BitMatrix.from_bool(bits), threads)
        limits, witnesses = counts.limits(anchors, rest)
        some = np.array([5, 59, 20])
        masked_counts = counts.masked_counts(anchors, counts.select(some))
        everyone = counts.masked_counts(anchors, counts.select(slice(13, 40)))
    expected = [naive.limit_of(twin, int(a), rows_of(rest)) for a in anchors]
    assert limits.tolist() == [limit for limit, _ in expected]
    assert witnesses.tolist() == [witness for _, witness in expected]
    assert masked_counts.tolist() == [[twin.low(a, x) for x in some] for a in anchors]
    assert everyone.tolist() == [[twin.low(a, x) for x in range(13, 40)] for a in anchors]
    assert counts.cost(rest) == 33 * -(-width // 64)
    assert counts.stored_limits(np.array([5, 2]), np.array([3, 1])) == [5, 2]


def test_joined_pieces_name_the_first_that_has_the_smallest():
    parts = [
        (np.array([3, 1]), np.array([10, 11])),
        (np.array([2, 1]), np.array([20, 21])),
        (np.array([2, 5]), np.array([30, 31])),
    ]
    lowest, where = first_lowest(parts)
    assert lowest.tolist() == [2, 1]
    assert where.tolist() == [20, 11]


def test_columns_are_sorted_by_class_and_then_by_row():
    order = ClassOrder.of(np.array([2, 0, 1, 0, 2, 2]))
    assert order.rows.tolist() == [1, 3, 2, 0, 4, 5]
    assert [order.target(k) for k in range(3)] == [(0, 2), (2, 3), (3, 6)]
    assert [order.rest(k) for k in range(3)] == [[(2, 6)], [(0, 2), (3, 6)], [(0, 3)]]


def test_blocks_stay_within_their_bounds():
    much = 2**40  # so much work that calls cost nothing beside it
    assert cover._block_size(much, 1000, 0.0, 10) == cover.LARGEST_BLOCK
    assert cover._block_size(much, 1000, 1.0, 10) == cover.LARGEST_BLOCK
    assert cover._block_size(much, 1000, 6.0, 10) == cover.WASTE * 1000 / 5
    assert cover._block_size(much, 1000, 1000.0, 10) == 1
    assert cover._block_size(cover.CALL_WORDS, 200, 101.0, 10) == 2
    assert cover._block_size(1, 200, 101.0, 10) == cover.LARGEST_BLOCK
    assert cover._block_size(1, 1000, 1.0, 2 * cover.COUNTS_AT_ONCE) == 1


@pytest.mark.parametrize("doubtful", [False, True])
@pytest.mark.parametrize("target", [(0, 700), (300, 1100), (300, 1200)])
def test_candidates_in_turn_give_the_cover_of_candidates_in_blocks(monkeypatch, doubtful, target):
    rng = np.random.default_rng(target[0])
    on = rng.random((1200, 130)) < rng.choice([0.05, 0.5], size=(1200, 1))
    on[:900:7] = on[1]  # so that some candidates have no limit
    on[1190] = on[1]
    maybe = BitMatrix.from_bool(on | (rng.random(on.shape) < 0.01)) if doubtful else None
    counts = Counts(BitMatrix.from_bool(on), Threads(1), maybe)
    rest = [piece for piece in [(0, target[0]), (target[1], 1200)] if piece[0] < piece[1]]
    order, told = target[0] + rng.permutation(target[1] - target[0]), []
    monkeypatch.setattr(cover, "SMALL", 2**62)
    in_turn = mask_cover(counts, target, rest, order, lambda *what: told.append(what))
    monkeypatch.setattr(cover, "SMALL", 0)
    in_blocks = mask_cover(counts, target, rest, order, silent)
    assert in_turn.anchors
    assert in_turn.n_rejected
    assert_same_cover(in_turn, in_blocks)
    total = target[1] - target[0]
    assert told == [("detectors", total - len(in_turn.uncovered), total)]
