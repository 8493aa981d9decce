"""Covers: candidates in the paper's order or by greed, over any table of counts, the same as one at a time."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.console import silent
from exactfit._support.threads import Threads
from exactfit.construct import cover, evidence
from exactfit.construct.cover import greedy_cover, random_cover
from exactfit.construct.distinct import ClassOrder
from exactfit.construct.evidence import Counts, first_lowest
from exactfit.construct.values import roundest
from exactfit.network.bits import BitMatrix


class Table:
    """Evidence read from a table: what mask a counts at column x."""

    def __init__(self, heights, cost=1, rounds=False):
        self.table, self._cost, self._rounds = heights, cost, rounds
        self.n_limits = 0

    def cost(self, rest):
        return self._cost

    def limits(self, anchors, rest):
        self.n_limits += len(anchors)
        columns = np.concatenate([np.arange(*piece) for piece in rest])
        part = self.table[anchors][:, columns]
        lowest = part.min(axis=1)
        return np.where(self.table[anchors, anchors] < lowest, lowest, 0), columns[part.argmin(axis=1)]

    def select(self, columns):
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def heights(self, anchors, selected):
        return self.table[anchors][:, selected]

    def stored(self, limit, highest):
        return roundest(float(highest), float(limit)) if self._rounds else limit

    def stored_limits(self, limits, highest):
        return [self.stored(*pair) for pair in zip(limits, highest, strict=True)]


class TableTwin:
    def __init__(self, table):
        self.table = table.table
        self.stored = table.stored

    def low(self, anchor, point):
        return self.table[anchor, point]

    high = low


@st.composite
def tables(draw, max_target=40):
    """(table, target, rest pieces, order): columns of the rest before and after the target."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    before, n, after = int(rng.integers(0, 8)), int(rng.integers(1, max_target)), int(rng.integers(1, 8))
    total = before + n + after
    high = int(rng.choice([2, 4, 12]))
    heights = rng.integers(0, high, (total, total))
    if draw(st.booleans()):
        heights = heights * 0.3 + rng.integers(0, 2, (total, total))
    heights[np.arange(total), np.arange(total)] = rng.integers(0, 2, total)
    target = (before, before + n)
    rest = [piece for piece in [(0, before), (before + n, total)] if piece[0] < piece[1]]
    cost = int(rng.choice([1, 2**17, 2**18, 2**25]))
    return Table(heights, cost, draw(st.booleans())), target, rest, before + rng.permutation(n)


def assert_same_cover(fast, slow):
    assert fast.anchors == slow.anchors
    assert fast.limits == slow.limits
    assert fast.witnesses == slow.witnesses
    assert fast.coverage == slow.coverage
    assert fast.uncovered.tolist() == list(slow.uncovered)
    assert fast.n_rejected == slow.n_rejected


def rows_of(rest):
    return [x for piece in rest for x in range(*piece)]


@settings(max_examples=300)
@given(tables())
def test_random_cover_is_the_walk_through_the_order(case):
    table, target, rest, order = case
    fast = random_cover(table, target, rest, order, silent)
    slow = naive.random_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist())
    assert_same_cover(fast, slow)


@settings(max_examples=300)
@given(tables(), st.sampled_from([1, 8, 16, 40, 10**6]))
def test_greedy_cover_takes_the_best_of_the_pool(case, memory):
    table, target, rest, order = case
    fast = greedy_cover(table, target, rest, order, memory, silent)
    slow = naive.greedy_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist(), memory)
    assert_same_cover(fast, slow)


@given(tables(max_target=200))
def test_more_points_than_a_word_has(case):
    table, target, rest, order = case
    n = target[1] - target[0]
    for memory in (8 * -(-n // 64) * 3, 10**6):
        fast = greedy_cover(table, target, rest, order, memory, silent)
        slow = naive.greedy_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist(), memory)
        assert_same_cover(fast, slow)
    fast = random_cover(table, target, rest, order, silent)
    slow = naive.random_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist())
    assert_same_cover(fast, slow)


@settings(max_examples=100)
@given(tables(), st.sampled_from(["random", "greedy"]), st.sampled_from([0, 2**62]))
def test_columns_that_stand_for_several_points(case, how, small):
    """As many equal columns, one after the other, of which the first comes first in the order."""
    table, target, rest, order = case
    sizes = np.random.default_rng(target[1]).integers(1, 6, target[1] - target[0])
    copies = np.ones(len(table.table), dtype=np.int64)
    copies[slice(*target)] = sizes
    firsts = np.cumsum(copies) - copies
    whole = Table(np.repeat(np.repeat(table.table, copies, axis=0), copies, axis=1), table._cost, table._rounds)
    places = [(int(firsts[a]), int(firsts[b - 1] + copies[b - 1])) for a, b in [target, *rest]]
    many = np.concatenate([firsts[c] + np.arange(copies[c]) for c in order])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "SMALL", small)
        if how == "greedy":
            few = greedy_cover(table, target, rest, order, 10**6, silent, sizes)
            all_of_them = greedy_cover(whole, places[0], places[1:], many, 10**9, silent)
        else:
            few = random_cover(table, target, rest, order, silent, sizes)
            all_of_them = random_cover(whole, places[0], places[1:], many, silent)
    assert firsts[few.anchors].tolist() == all_of_them.anchors
    assert few.limits == all_of_them.limits
    assert firsts[few.witnesses].tolist() == all_of_them.witnesses
    assert few.coverage == all_of_them.coverage
    assert few.n_rejected == all_of_them.n_rejected
    assert sizes[few.uncovered - target[0]].sum() == len(all_of_them.uncovered)


@settings(max_examples=300)
@given(tables(), st.booleans())
def test_detectors_fire_on_their_anchor_and_never_on_the_rest(case, greedy):
    table, target, rest, order = case
    made = (
        greedy_cover(table, target, rest, order, 10**6, silent)
        if greedy
        else random_cover(table, target, rest, order, silent)
    )
    claimed = set()
    for anchor, limit, witness in zip(made.anchors, made.limits, made.witnesses, strict=True):
        assert table.table[anchor, anchor] < limit
        assert min(table.table[anchor, x] for x in rows_of(rest)) >= limit
        assert table.table[anchor, witness] == min(table.table[anchor, x] for x in rows_of(rest))
        claimed |= {x for x in range(*target) if table.table[anchor, x] < limit}
    assert set(range(*target)) - claimed == set(made.uncovered.tolist())
    assert sum(made.coverage) == len(claimed)
    assert all(made.coverage)


def test_a_covered_anchor_still_gets_a_detector_that_fires_on_it():
    """Greed may pick an anchor that is covered already, for the sake of points with smaller heights than its own."""
    heights = np.full((4, 4), 9.0)
    heights[0, [0, 1]] = 0.0  # claims 0 and 1
    heights[1, [1, 2]] = 1.5, 0.5  # claims 1 (covered by then) and 2; the rest is at 1.9
    heights[2, 2] = 9.0  # useless itself
    heights[:3, 3] = 9.0, 1.9, 1.0
    made = greedy_cover(Table(heights, rounds=True), (0, 3), [(3, 4)], np.arange(3), 10**6, silent)
    assert made.anchors == [0, 1]
    assert 1.5 < made.limits[1] <= 1.9


def test_greedy_takes_the_lowest_column_on_a_tie_whatever_the_order():
    heights = np.full((7, 7), 9)
    for anchor, claims in {0: [0, 1], 1: [1], 2: [2, 3], 3: [2, 3], 4: [4, 5], 5: [5]}.items():
        heights[anchor, claims] = 0
    for order in ([5, 4, 3, 2, 1, 0], [3, 5, 0, 2, 4, 1]):
        made = greedy_cover(Table(heights), (0, 6), [(6, 7)], np.array(order), 10**6, silent)
        assert made.anchors == [0, 2, 4]
        assert made.coverage == [2, 2, 2]


def test_a_small_pool_is_refilled_from_uncovered_points_in_order():
    heights = np.full((5, 5), 9)
    for anchor, claims in {0: [0, 1], 1: [1], 2: [2], 3: [0, 1, 2, 3]}.items():
        heights[anchor, claims] = 0
    made = greedy_cover(Table(heights), (0, 4), [(4, 5)], np.array([0, 1, 2, 3]), 8, silent)  # one candidate fits
    assert made.anchors == [0, 2, 3]
    made = greedy_cover(Table(heights), (0, 4), [(4, 5)], np.array([0, 1, 2, 3]), 32, silent)  # all four fit
    assert made.anchors == [3]


def test_no_usable_candidate_leaves_all_uncovered():
    for cover_them in (lambda *a: random_cover(*a, silent), lambda *a: greedy_cover(*a, 10**6, silent)):
        made = cover_them(Table(np.zeros((5, 5), dtype=int)), (1, 4), [(0, 1), (4, 5)], np.array([2, 1, 3]))
        assert made.uncovered.tolist() == [1, 2, 3]
        assert (made.anchors, made.n_rejected) == ([], 3)


def test_covered_candidates_are_skipped_without_being_examined():
    n = 500
    table = Table(np.where(np.arange(n + 1) < n, 0, 5) * np.ones((n + 1, 1), dtype=int), cost=2**25)
    made = random_cover(table, (0, n), [(n, n + 1)], np.random.default_rng(0).permutation(n), silent)
    assert made.coverage == [n]
    assert table.n_limits == 1


@pytest.mark.parametrize("greedy", [False, True])
def test_progress_grows_to_the_number_of_points(greedy):
    rng = np.random.default_rng(1)
    table = Table(rng.integers(0, 4, (120, 120)) * (1 - np.eye(120, dtype=int)) + (np.arange(120) >= 100) * 9)
    told = []

    def progress(what, done, total):
        told.append((what, done, total))

    order = rng.permutation(100)
    if greedy:
        greedy_cover(table, (0, 100), [(100, 120)], order, 200, progress)
    else:
        random_cover(table, (0, 100), [(100, 120)], order, progress)
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
        heights = counts.heights(anchors, counts.select(some))
        everyone = counts.heights(anchors, counts.select(slice(13, 40)))
    expected = [naive.limit_of(twin, int(a), rows_of(rest)) for a in anchors]
    assert limits.tolist() == [limit for limit, _ in expected]
    assert witnesses.tolist() == [witness for _, witness in expected]
    assert heights.tolist() == [[twin.low(a, x) for x in some] for a in anchors]
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
    assert cover._block_size(much, 1000, 0.0, 10) == evidence.HERE.largest_block
    assert cover._block_size(much, 1000, 1.0, 10) == evidence.HERE.largest_block
    assert cover._block_size(much, 1000, 6.0, 10) == cover.WASTE * 1000 / 5
    assert cover._block_size(much, 1000, 1000.0, 10) == 1
    assert cover._block_size(evidence.HERE.call_words, 200, 101.0, 10) == 2
    assert cover._block_size(1, 200, 101.0, 10) == evidence.HERE.largest_block
    assert cover._block_size(1, 1000, 1.0, 2 * cover.HEIGHTS_AT_ONCE) == 1


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
    in_turn = random_cover(counts, target, rest, order, lambda *what: told.append(what))
    monkeypatch.setattr(cover, "SMALL", 0)
    in_blocks = random_cover(counts, target, rest, order, silent)
    assert in_turn.anchors
    assert in_turn.n_rejected
    assert_same_cover(in_turn, in_blocks)
    total = target[1] - target[0]
    assert told == [("detectors", total - len(in_turn.uncovered), total)]
