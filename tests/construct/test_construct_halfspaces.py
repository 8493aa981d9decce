"""Half-spaces of the cube: scores, limits, rounding and choices, each against the obvious way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit.construct import weighted
from exactfit.construct.weighted import (
    LARGEST_SUM,
    LARGEST_WEIGHT,
    BinaryPatterns,
    Effort,
    HalfspaceSolver,
    lowest,
)  # fmt: skip
from exactfit.network.bits import BitMatrix


def cube_of(on, start, stop, maybe=None):
    words = BitMatrix.from_bool(on).words
    return BinaryPatterns(words, words if maybe is None else BitMatrix.from_bool(maybe).words, on.shape[1], start, stop)


def random_cube(seed, m=20, n=70, start=6, stop=13, opened=0.0):
    rng = np.random.default_rng(seed)
    on = rng.random((m, n)) < 0.5
    maybe = on | (rng.random(on.shape) < opened)
    return on, maybe, cube_of(on, start, stop, maybe if opened else None)


@pytest.mark.parametrize("opened", [0.0, 0.1])
def test_scores_are_the_worst_that_open_bits_allow(opened):
    on, maybe, cube = random_cube(0, opened=opened)
    weights = np.random.default_rng(1).integers(-127, 128, 70).astype(np.int8)
    v = weights.astype(np.int64)
    low = on @ np.maximum(v, 0) + maybe @ np.minimum(v, 0)
    high = maybe @ np.maximum(v, 0) + on @ np.minimum(v, 0)
    expected = np.concatenate([low[:6], high[6:13], low[13:]])
    assert cube.weigh(weights).tolist() == expected.tolist()
    rest = np.r_[0:6, 13:20]
    found = cube.judge(weights, np.array([1, 2, 0, 1, 1, 5, 1]))
    assert found.limit == low[rest].min()
    assert found.witness == rest[low[rest].argmin()]
    claimed = (high[6:13] < found.limit) & (np.arange(7) != 2)
    assert found.claimed.tolist() == claimed.tolist()
    assert found.coverage == np.array([1, 2, 0, 1, 1, 5, 1])[claimed].sum()


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (4, 9), (9, 12)])
def test_the_rest_may_lie_on_either_side_of_the_target(start, stop):
    on, _, cube = random_cube(2, m=12, start=start, stop=stop)
    weights = np.ones(70, dtype=np.int8)
    rest = np.delete(np.arange(12), np.arange(start, stop))
    counts = on.sum(axis=1)
    found = cube.judge(weights, np.ones(stop - start, dtype=np.int64))
    assert (found.limit, found.witness) == (counts[rest].min(), rest[counts[rest].argmin()])


@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=20), data=st.data())
def test_lowest_takes_the_first_on_a_tie_and_keeps_the_order(values, data):
    places = np.array(sorted(data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))))
    count = data.draw(st.integers(1, len(values) + 1))
    expected = sorted(sorted(places.tolist(), key=lambda p: (values[p], p))[:count])
    assert lowest(np.array(values), places, count).tolist() == expected


def test_nearest_by_differing_bits_the_first_on_a_tie():
    on = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=bool)
    cube = cube_of(on, 0, 5)
    columns = np.arange(5)
    assert cube.nearest(0, columns, 3).tolist() == [0, 1, 2]
    assert cube.nearest(3, columns, 1).tolist() == [3]
    assert cube.nearest(0, columns, 5).tolist() == columns.tolist()


@pytest.mark.parametrize("opened", [0.0, 0.2])
def test_masks_are_the_papers_and_the_signed_one(opened):
    on, maybe, cube = random_cube(3, opened=opened)
    plain, signed = cube.masks(8)
    assert plain.tolist() == (1 - maybe[8]).tolist()
    assert signed.tolist() == (1 - maybe[8].astype(int) - on[8].astype(int)).tolist()


def test_the_signed_mask_claims_its_seed_whenever_no_pattern_of_the_rest_is_the_same():
    for seed in range(20):
        _, _, cube = random_cube(seed, m=30, n=6, start=5, stop=12)
        on = BitMatrix(cube.on, 6).to_bool()
        for k in range(5, 12):
            alone = not (np.delete(on, np.arange(5, 12), axis=0) == on[k]).all(axis=1).any()
            found = cube.judge(cube.masks(k)[1], np.ones(7, dtype=np.int64))
            assert bool(found.claimed[k - 5]) == alone


@pytest.mark.parametrize("n", [1, 70, 300])
def test_rounded_weights_keep_their_bounds_and_are_the_nearest(n):
    _, _, cube = random_cube(4, n=n)
    solver = HalfspaceSolver(cube, np.arange(6, 13), 2, Effort())
    solver.join_rest(np.r_[0:6, 13:20])
    solver.descend()
    weights, top, largest = solver.weights()
    exact = solver.totals[0] - 2 * solver.sums[:n]
    assert (top, largest) == (LARGEST_WEIGHT, np.abs(exact).max())
    assert np.abs(weights.astype(int)).max() <= LARGEST_WEIGHT
    assert (np.abs(weights * (largest / max(top, 1)) - exact) <= largest / (2 * top) + 1e-6 * largest).all()
    counted = cube.judge(weights, np.ones(7, dtype=np.int64))
    assert np.abs(weights.astype(int)).sum() + abs(counted.limit) <= LARGEST_SUM


def test_wide_layers_get_smaller_weights(monkeypatch):
    monkeypatch.setattr(weighted, "LARGEST_SUM", 2000)
    _, _, cube = random_cube(5, n=100)
    solver = HalfspaceSolver(cube, np.arange(6, 13), 2, Effort())
    solver.join_rest(np.r_[0:6, 13:20])
    solver.descend()
    weights, top, _ = solver.weights()
    assert top == 10
    assert np.abs(weights.astype(int)).max() == 10
    limit = cube.judge(weights, np.ones(7, dtype=np.int64)).limit
    assert np.abs(weights.astype(int)).sum() + abs(limit) <= 2000


def test_shares_that_the_machine_may_reach_stay_within_int64():
    """|f| is at most 2 n times the sum of all shares, and its terms at most twice that."""
    for n, m in [(1, 2), (2000, 60_000), (66_000, 10**6)]:
        on = np.zeros((1, 1), dtype=np.uint64)
        solver = HalfspaceSolver(BinaryPatterns(on, on, n, 0, 1), np.array([0]), 2, Effort())
        assert solver.bound == 2**60 // (2 * n * 1)
        room = 2**60 // (2 * n * m)
        assert 4 * n * m * room < 2**63


def test_a_fit_separates_what_one_hyperplane_of_the_cube_separates():
    rng = np.random.default_rng(6)
    on = rng.random((60, 40)) < 0.5
    order = np.argsort(on @ rng.integers(-5, 6, 40), kind="stable")
    cube = cube_of(on[order], 0, 25)
    remaining = np.ones(25, dtype=np.int64)
    found, support = HalfspaceSolver(cube, np.arange(25), weighted.C_HARD, Effort()).fit(remaining)
    assert found.coverage == 25
    assert (support.dual_coef[support.columns < 25] > 0).all()
    assert (support.dual_coef[support.columns >= 25] < 0).all()
