"""Greedy covers: the best of the pool, the same as one at a time; what they claim, in points."""

from __future__ import annotations

import numpy as np
from helpers import twins as naive
from helpers.problems import CoverTable, TableTwin, assert_same_cover, rows_of, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.console import silent
from exactfit.geometry.ball_covers import greedy_cover


@settings(max_examples=300)
@given(tables(), st.sampled_from([1, 8, 16, 40, 10**6]))
def test_greedy_cover_takes_the_best_of_the_pool(case, memory):
    table, target, rest, order = case
    fast = greedy_cover(table, target, rest, order, memory, silent)
    slow = naive.greedy_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist(), memory)
    assert_same_cover(fast, slow)


def test_a_covered_anchor_still_gets_a_detector_that_fires_on_it():
    """Greed may pick an anchor that is covered already, for the sake of points with smaller counts than its own."""
    masked_counts = np.full((4, 4), 9.0)
    masked_counts[0, [0, 1]] = 0.0  # claims 0 and 1
    masked_counts[1, [1, 2]] = 1.5, 0.5  # claims 1 (covered by then) and 2; the rest is at 1.9
    masked_counts[2, 2] = 9.0  # useless itself
    masked_counts[:3, 3] = 9.0, 1.9, 1.0
    made = greedy_cover(CoverTable(masked_counts, rounds=True), (0, 3), [(3, 4)], np.arange(3), 10**6, silent)
    assert made.anchors == [0, 1]
    assert 1.5 < made.limits[1] <= 1.9


def test_greedy_takes_the_lowest_column_on_a_tie_whatever_the_order():
    masked_counts = np.full((7, 7), 9)
    for anchor, claims in {0: [0, 1], 1: [1], 2: [2, 3], 3: [2, 3], 4: [4, 5], 5: [5]}.items():
        masked_counts[anchor, claims] = 0
    for order in ([5, 4, 3, 2, 1, 0], [3, 5, 0, 2, 4, 1]):
        made = greedy_cover(CoverTable(masked_counts), (0, 6), [(6, 7)], np.array(order), 10**6, silent)
        assert made.anchors == [0, 2, 4]
        assert made.coverage == [2, 2, 2]


def test_a_small_pool_is_refilled_from_uncovered_points_in_order():
    masked_counts = np.full((5, 5), 9)
    for anchor, claims in {0: [0, 1], 1: [1], 2: [2], 3: [0, 1, 2, 3]}.items():
        masked_counts[anchor, claims] = 0
    made = greedy_cover(
        CoverTable(masked_counts), (0, 4), [(4, 5)], np.array([0, 1, 2, 3]), 8, silent
    )  # one candidate fits
    assert made.anchors == [0, 2, 3]
    made = greedy_cover(CoverTable(masked_counts), (0, 4), [(4, 5)], np.array([0, 1, 2, 3]), 32, silent)  # all four fit
    assert made.anchors == [3]


def test_no_usable_candidate_leaves_all_uncovered():
    masked_counts = CoverTable(np.zeros((5, 5), dtype=int))
    made = greedy_cover(masked_counts, (1, 4), [(0, 1), (4, 5)], np.array([2, 1, 3]), 10**6, silent)
    assert made.uncovered.tolist() == [1, 2, 3]
    assert (made.anchors, made.n_rejected) == ([], 3)


@given(tables(max_target=200))
def test_more_points_than_a_word_has(case):
    table, target, rest, order = case
    n = target[1] - target[0]
    for memory in (8 * -(-n // 64) * 3, 10**6):
        fast = greedy_cover(table, target, rest, order, memory, silent)
        slow = naive.greedy_cover(TableTwin(table), list(range(*target)), rows_of(rest), order.tolist(), memory)
        assert_same_cover(fast, slow)


def test_progress_grows_to_the_number_of_points():
    rng = np.random.default_rng(1)
    table = CoverTable(rng.integers(0, 4, (120, 120)) * (1 - np.eye(120, dtype=int)) + (np.arange(120) >= 100) * 9)
    told = []

    def progress(what, done, total):
        told.append((what, done, total))

    greedy_cover(table, (0, 100), [(100, 120)], rng.permutation(100), 200, progress)
    detectors = [(done, total) for what, done, total in told if what == "detectors"]
    assert [done for done, _ in detectors] == sorted(done for done, _ in detectors)
    assert detectors[-1] == (100, 100)
