"""All limits at once: the same as one by one, and chosen only where it is less work."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import twins as naive
from helpers.problems import problems, seeds, some_options
from hypothesis import given
from hypothesis import strategies as st

from exactfit._support.console import silent
from exactfit._support.threads import SERIAL, Threads
from exactfit.construct import evidence, fixed_width
from exactfit.construct.evidence import Counts, PrecomputedLimits, mutual_limits, precompute_limits
from exactfit.construct.noise import Claims
from exactfit.network.bits import BitMatrix


@pytest.fixture
def at_any_size(monkeypatch):
    """Foresee even where there is next to nothing to see, in pieces of a few columns."""
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    monkeypatch.setattr(evidence, "SHARE", -1.0)
    monkeypatch.setattr(evidence, "LARGEST_BLOCK", 7)


def expected_limits(bits, classes):
    twin, everyone = naive.Counts(bits), [x for piece in classes for x in range(*piece)]
    found = {}
    for start, stop in classes:
        rest = [x for x in everyone if not start <= x < stop]
        for anchor in range(start, stop):
            low = min(twin.low(anchor, x) for x in rest)
            found[anchor] = (low, next(x for x in rest if twin.low(anchor, x) == low))
    return [found.get(x, (-1, -1)) for x in range(len(bits))]


@pytest.mark.parametrize("width", [1, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("classes", [[(0, 30), (30, 50), (50, 90)], [(0, 12), (12, 13), (13, 13), (13, 90)]])
def test_mutual_limits_are_the_twins(at_any_size, width, n_jobs, classes):
    bits = np.random.default_rng(width).random((90, width)) < 0.4
    with Threads(n_jobs) as threads:
        limits, witnesses = mutual_limits(Counts(BitMatrix.from_bool(bits), threads), classes, silent)
    assert list(zip(limits.tolist(), witnesses.tolist(), strict=True)) == expected_limits(bits, classes)


def test_mutual_limits_of_many_columns():
    """More than a tile of columns."""
    rng = np.random.default_rng(0)
    bits = rng.random((1400, 150)) < rng.choice([0.1, 0.5], size=(1400, 1))
    limits, witnesses = mutual_limits(Counts(BitMatrix.from_bool(bits), SERIAL), [(0, 600), (600, 1400)], silent)
    counts = ~bits @ bits.T.astype(int)
    for own, other in [(slice(0, 600), slice(600, 1400)), (slice(600, 1400), slice(0, 600))]:
        np.testing.assert_array_equal(limits[own], counts[own, other].min(axis=1))
        np.testing.assert_array_equal(witnesses[own], other.start + counts[own, other].argmin(axis=1))


@given(problems(), some_options(), st.integers(1, 140), seeds)
def test_networks_with_precomputed_limits_are_the_twins(problem, options, width, seed):
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "WORTHWHILE", 0)
        patch.setattr(evidence, "SHARE", -1.0)
        made = fixed_width(X, y, width, options, seed)
    naive.assert_same(made, naive.algorithm_2(X, y, width, options, seed))


def test_claims_with_precomputed_limits_are_those_without(monkeypatch):
    rng = np.random.default_rng(3)
    patterns, y = BitMatrix.from_bool(rng.random((200, 90)) < 0.3), rng.integers(0, 3, 200) * 2
    without = Claims.over(patterns, y, SERIAL)
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    precomputed = Claims.over(patterns, y, SERIAL)
    np.testing.assert_array_equal(precomputed.claims, without.claims)
    np.testing.assert_array_equal(precomputed.support, without.support)


# ---- When ------------------------------------------------------------------------------------------------

CLASSES = [(start, start + 60) for start in range(0, 600, 60)]


def counts_of(clusters):
    """600 points in ten classes, each of them around so many random patterns of its own."""
    rng = np.random.default_rng(1)
    centres = rng.random((10 * clusters, 400)) < 0.5
    own = np.arange(600) // 60 * clusters + rng.integers(0, clusters, 600)
    return Counts(BitMatrix.from_bool(centres[own] ^ (rng.random((600, 400)) < 0.02)), SERIAL)


def orders():
    return [np.arange(*piece) for piece in CLASSES]


def test_limits_are_precomputed_where_hardly_any_point_claims_another(monkeypatch):
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    assert isinstance(precompute_limits(counts_of(1000), CLASSES, silent, orders()), PrecomputedLimits)
    easy = counts_of(3)
    assert precompute_limits(easy, CLASSES, silent, orders()) is easy
    assert isinstance(precompute_limits(easy, CLASSES, silent), PrecomputedLimits)


def test_limits_are_not_precomputed_where_candidates_have_none(monkeypatch):
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    same = Counts(BitMatrix.from_bool(np.zeros((600, 10), dtype=bool)), SERIAL)
    assert precompute_limits(same, CLASSES, silent, orders()) is same


def test_limits_are_not_precomputed_for_little_work_or_for_bits_in_doubt(monkeypatch):
    small = counts_of(1000)
    assert precompute_limits(small, CLASSES, silent) is small
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    doubtful = Counts(small.patterns, SERIAL, BitMatrix(small.patterns.words.copy(), 400))
    assert precompute_limits(doubtful, CLASSES, silent) is doubtful
    assert precompute_limits(small, [(0, 600)], silent) is small


def test_progress_of_limits_grows_to_the_end(at_any_size):
    told = []
    precompute_limits(counts_of(1000), CLASSES, lambda *what: told.append(what))
    assert {(what, total) for what, _, total in told} == {("limits", 540)}
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert told[-1][1] == 540
    assert len(told) == 9 * 9
