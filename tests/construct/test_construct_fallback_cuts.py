"""Coordinate cuts separate what they are given, in the naive twin's order; stalls are called when due."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.twins import all_pairs, cut_separates
from helpers.twins import coordinate_cuts as naive_cuts
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from exactfit.construct import fallback_cuts
from exactfit.construct.fallback_cuts import Cuts, Stall, coordinate_cuts

TINY = float(np.nextafter(0.0, 1.0))
AWKWARD = [0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1e300, np.nextafter(1e300, np.inf)]
AWKWARD += [-1e300, 1.7e308, -1.7e308, 1e-300, np.nextafter(1e-300, 1.0), TINY, -TINY, 2 * TINY]


def unequal_pairs(X: NDArray[np.float64]) -> list[tuple[int, int]]:
    rows = range(len(X))
    return [(a, b) for a in rows for b in rows if (X[a] != X[b]).any()]


def chunked(pairs: list[tuple[int, int]], size: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return [(rows[at : at + size, 0], rows[at : at + size, 1]) for at in range(0, len(rows), size)]


def as_list(cuts: Cuts) -> list[tuple[tuple[int, int, float], int]]:
    columns = (cuts.feature.tolist(), cuts.sign.tolist(), cuts.threshold.tolist(), cuts.origin.tolist())
    return [((j, s, t), row) for j, s, t, row in zip(*columns, strict=True)]


def check(X: NDArray[np.float64], pairs: list[tuple[int, int]], size: int = 7) -> None:
    cuts = as_list(coordinate_cuts(X, chunked(pairs, size)))
    assert cuts == naive_cuts(X, pairs)
    assert all(any(cut_separates(X[a], X[b], cut) for cut, _ in cuts) for a, b in pairs)


shapes = st.tuples(st.integers(1, 9), st.integers(1, 4))


@settings(deadline=None)
@given(X=shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=st.sampled_from(AWKWARD))))
def test_agrees_with_the_naive_twin_on_awkward_numbers(X: NDArray[np.float64]) -> None:
    check(X, unequal_pairs(X))


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(X=shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=finite)))
def test_agrees_with_the_naive_twin_on_any_numbers(X: NDArray[np.float64]) -> None:
    check(X, unequal_pairs(X))


def test_many_features_and_pairs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(100, 1, (40, 300))
    pairs = [(int(a), int(b)) for a, b in np.argwhere(all_pairs(rng.integers(0, 3, 40), [0, 1, 2]))]
    check(X, pairs, size=10_000)
    check(X.round(), pairs, size=100)


@pytest.mark.parametrize("make", [np.float32, sp.csr_array, sp.csr_matrix])
def test_takes_float32_and_sparse(make) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-1, 2, (30, 5)).astype(np.float64)
    pairs = unequal_pairs(X)
    assert as_list(coordinate_cuts(make(X), chunked(pairs, 100))) == naive_cuts(X, pairs)


def test_rows_and_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    pairs = [(int(a), int(b)) for a, b in np.argwhere(all_pairs(rng.integers(0, 2, 60), [0]))]
    monkeypatch.setattr(fallback_cuts, "ROWS_BYTES", 8 * 3 * 10)
    seen: list[int] = []
    dense_rows = fallback_cuts.dense_rows
    monkeypatch.setattr(fallback_cuts, "dense_rows", lambda X, rows: seen.append(len(rows)) or dense_rows(X, rows))
    check(X, pairs, size=1000)
    assert max(seen) <= 10
    monkeypatch.setattr(fallback_cuts, "STEPS", 1)
    check(X, pairs[:50], size=1000)


def test_no_pairs_no_cuts() -> None:
    assert len(coordinate_cuts(np.zeros((3, 2)), [])) == 0


def test_equal_points_are_an_internal_error() -> None:
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])
    with pytest.raises(AssertionError, match="rows 0 and 2 are equal"):
        coordinate_cuts(X, chunked([(0, 1), (0, 2)], 10))


def test_stall_is_judged_every_512_draws_from_1024_on() -> None:
    stall = Stall(0)
    assert [n for n in range(0, 2049, 64) if stall.due(n)] == [512, 1024, 1536, 2048]
    assert not stall.stalled(512, 100)
    assert not stall.stalled(1024, 50)
    assert stall.stalled(1536, 26)


def test_stall_waits_for_the_smallest_width() -> None:
    stall = Stall(2000)
    assert [n for n in range(0, 2561, 64) if stall.due(n)] == [1536, 2048, 2560]
    assert not stall.stalled(1536, 100)
    assert stall.stalled(2048, 100)


def test_nothing_open_is_no_stall() -> None:
    stall = Stall(0)
    assert not stall.stalled(512, 0)
    assert not stall.stalled(1024, 0)
