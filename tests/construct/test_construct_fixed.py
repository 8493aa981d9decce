"""Algorithm 2: the twin's network to the last bit, the paper's worst cases, and the paper's own numbers."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from constructors import OWN, PROBLEMS
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from strategies import FOR_VALUES, problems, recipes, seeds

from exactfit import Outcome
from exactfit.construct import Recipe, cover, fixed_width, one_vs_rest
from exactfit.network import sides as _sides

widths = st.integers(1, 140)


def fires(made, X):
    """Which detector (column) fires on which point (row)."""
    first, detectors, _ = made.network.layers
    fired = detectors(first(X))
    return fired.to_bool() if made.network.layers[1].activation.is_threshold else np.asarray(fired) > 0


# ---- Against the twin ------------------------------------------------------------------------------------


@given(problems(), recipes(), widths, seeds)
def test_threshold_networks_are_the_twins(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(), recipes(), widths, seeds)
def test_so_they_are_with_candidates_in_blocks(problem, recipe, width, seed):
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "SMALL", 0)
        made = fixed_width(X, y, width, recipe, seed)
    naive.assert_same(made, naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(kinds=FOR_VALUES), recipes(activation="relu"), widths, seeds)
def test_relu_networks_are_the_twins(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(kinds=("interval", "grid", "any")), recipes(activation=OWN), widths, seeds)
def test_networks_of_ones_own_activation_are_the_twins(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize("d", [17, 40])
@pytest.mark.parametrize("options", [{}, {"hyperplanes": "bisector", "selection": "greedy"}, {"center": False}])
def test_fewer_points_than_features(activation, d, options):
    rng = np.random.default_rng(d)
    X, y = rng.integers(-1, 2, (9, d)) / 2 + 1e4 * np.eye(9, d), np.arange(9) % 3
    recipe = Recipe(activation=activation, **options)
    naive.assert_same(fixed_width(X, y, 70, recipe, 1), naive.algorithm_2(X, y, 70, recipe, 1))


@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("selection", ["random", "greedy"])
@pytest.mark.parametrize("d", [2, 30])
def test_threads_tiles_and_layout_give_the_same_network(monkeypatch, activation, selection, d):
    rng = np.random.default_rng(d)
    X = rng.integers(-40, 40, (1500, d)) / 8
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 3)

    def digest(points, n_jobs):
        recipe = Recipe(activation=activation, selection=selection, n_jobs=n_jobs)
        made = fixed_width(points, y, 130, recipe, random_state=5)
        return made.network.digest, made.trace.witnesses.tolist(), made.trace.coverage.tolist()

    expected = digest(X, 1)
    assert digest(X, 2) == expected
    assert digest(sp.csr_array(X), 3) == expected
    monkeypatch.setattr(_sides._LowDimension, "row_tile", 100)
    monkeypatch.setattr(_sides._HighDimension, "row_tile", 100)
    monkeypatch.setattr(_sides, "TILE_ENTRIES", 900)
    monkeypatch.setattr(one_vs_rest, "WORTH_A_THREAD", 0)
    assert digest(np.asfortranarray(X), 2) == expected
    assert digest(X.astype(np.float32), 1) == expected


def test_two_fits_at_once_do_not_disturb_each_other():
    X, y = PROBLEMS["three classes"]()
    recipe = Recipe(n_jobs=2, selection="greedy")
    alone = [fixed_width(X, y, 300, recipe, seed).network.digest for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: fixed_width(X, y, 300, recipe, seed).network.digest, range(8)))
    assert together == alone


# ---- What every network does -----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("selection", ["random", "greedy"])
@pytest.mark.parametrize("width", [1, 20, 300])
def test_detectors_fire_on_their_anchors_and_never_on_the_rest(problem, activation, selection, width):
    X, y = PROBLEMS[problem]()
    made = fixed_width(X, y, width, Recipe(activation=activation, selection=selection, target="all"), random_state=2)
    fired, trace = fires(made, X), made.trace
    assert fired[trace.anchors, np.arange(len(trace.anchors))].all()
    assert (y[trace.anchors] == trace.detector_classes).all()
    assert not fired[y[:, None] != trace.detector_classes[None, :]].any()
    assert (y[trace.witnesses] != trace.detector_classes).all()
    covered = fired.any(axis=1)
    assert np.flatnonzero(~covered).tolist() == trace.uncovered.tolist()
    assert trace.coverage.sum() == covered.sum()
    assert made.outcome is (Outcome.INTERPOLATES if covered.all() else Outcome.POINTS_MISSED)
    assert (made.network.decide(X) == y).tolist() == covered.tolist()
    assert (trace.n_drawn, trace.n_rescued, made.network.widths[0]) == (width, 0, width)


def test_limits_are_the_smallest_counts_and_witnesses_attain_them():
    X, y = PROBLEMS["three classes"]()
    made = fixed_width(X, y, 100, random_state=0)
    first, detectors, _ = made.network.layers
    bits = first(X).to_bool()
    for anchor, limit, witness, mask in zip(
        made.trace.anchors, detectors.bias, made.trace.witnesses, detectors.weights.bits.to_bool(), strict=True
    ):
        np.testing.assert_array_equal(mask, ~bits[anchor])
        counts = (bits & mask).sum(axis=1)
        assert limit == counts[y != y[anchor]].min() == counts[witness]


def test_one_target_of_two_is_silent_about_the_other():
    X, y = PROBLEMS["two moons"]()
    made = fixed_width(X, y, 300, Recipe(target=0), random_state=0)
    assert set(made.trace.detector_classes.tolist()) == {0}
    assert ((made.network(X)[:, 0] < 0) == (y == 0)).all()


def test_a_network_without_detectors_says_so():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    made = fixed_width(
        X, y, 1, Recipe(max_bias=0.0, center=False), random_state=0
    )  # one ray: nothing can be told apart
    assert made.network.widths == (1, 0, 1)
    assert made.outcome is Outcome.POINTS_MISSED
    assert made.trace.uncovered.tolist() == [1]
    assert made.network.decide(X).tolist() == [0, 0, 0]


def test_progress_is_told():
    told = []
    X, y = PROBLEMS["two moons"]()
    fixed_width(X, y, 100, Recipe(target="all"), random_state=0, progress=lambda *step: told.append(step))
    done = [step[1] for step in told]
    assert done == sorted(done)
    assert told[-1] == ("detectors", 60, 60), "over both classes"


# ---- The paper's worst cases -----------------------------------------------------------------------------


def alternating_line(n_target, per_center, d, seed):
    """Centres of both classes by turns on a line, further points close to them."""
    rng = np.random.default_rng(seed)
    centers = np.concatenate([np.arange(n_target), np.arange(n_target - 1) + 0.5]) / (n_target - 1)
    labels = np.repeat([1, 0], [n_target, n_target - 1])
    along = np.concatenate(
        [centers, *(centers + rng.uniform(-1, 1, len(centers)) * 0.01 / n_target for _ in range(per_center))]
    )
    direction = rng.standard_normal(d)
    return along[:, None] * direction + rng.standard_normal(d), np.tile(labels, per_center + 1)


@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("selection", ["random", "greedy"])
@pytest.mark.parametrize("d", [1, 3])
def test_alternating_points_need_a_detector_for_every_centre(activation, selection, d):
    n_interpolated = 0
    for seed in range(6):
        for width in (50, 300, 1500):
            X, y = alternating_line(6, 3, d, seed)
            made = fixed_width(
                X, y, width, Recipe(activation=activation, selection=selection, target=1), random_state=seed
            )
            if made.outcome.interpolates:
                n_interpolated += 1
                assert len(made.trace.anchors) >= 6
    assert n_interpolated >= 6


def test_parallel_lines_need_every_point_as_an_anchor():
    """But for an end point now and then: there the draws are sparse enough to err on it."""
    along = np.linspace(-1, 1, 10)
    X = np.concatenate([np.column_stack([along, np.full(10, height)]) for height in (0.05, -0.05)])
    recipe = Recipe(max_bias=1.0, center=False, target=1)
    made = [fixed_width(X, np.repeat([0, 1], 10), 2000, recipe, random_state=seed) for seed in range(30)]
    assert all(one.outcome.interpolates for one in made)
    missing = [set(range(10, 20)) - set(one.trace.anchors.tolist()) for one in made]
    assert set().union(*missing) <= {10, 19}
    assert sum(not rows for rows in missing) >= 25
    assert missing[0] == set()


def test_the_limit_shape_is_the_ball_that_reaches_to_the_rest():
    rng = np.random.default_rng(0)
    anchor, rest = np.array([[0.1, -0.2]]), rng.uniform(-1, 1, (40, 2))
    rest = rest[np.linalg.norm(rest - anchor, axis=1) > 0.5]
    X, y = np.concatenate([anchor, rest]), np.repeat([1, 0], [1, len(rest)])
    far = np.linalg.norm(X, axis=1).max()
    made = fixed_width(X, y, 100000, Recipe(max_bias=5 * far, center=False), random_state=1)
    points = rng.uniform(-1, 1, (2000, 2))
    inside = np.linalg.norm(points - anchor, axis=1) < np.linalg.norm(rest - anchor, axis=1).min()
    assert 0.1 < inside.mean() < 0.4
    assert (made.network.decide(points) == inside).mean() > 0.97


# ---- The paper's numbers ---------------------------------------------------------------------------------

PUBLISHED_RUNS, RUNS = 50, 200
# Hyperplanes, lambda, how often the network interpolated, how many detectors it had on average.
TWO_MOONS = [
    (100, 0.5, 0.66, 8.0),
    (200, 0.5, 0.98, 6.3),
    (150, 1.0, 0.84, 6.5),
    (300, 2.0, 0.90, 6.9),
    (500, 0.0, 0.00, 14.0),
    (500, 1.0, 1.00, 5.3),
]


@pytest.mark.parametrize(("width", "max_bias", "probability", "detectors"), TWO_MOONS)
def test_two_moons_as_published(width, max_bias, probability, detectors):
    X, y = make_moons(1000, noise=0.05, random_state=0)
    X /= np.linalg.norm(X, axis=1).max()
    recipe = Recipe(max_bias=max_bias, center=False, target=1)
    made = [fixed_width(X, y, width, recipe, random_state=seed) for seed in range(RUNS)]
    rate = np.mean([one.outcome.interpolates for one in made])
    counts = np.array([len(one.trace.anchors) for one in made])
    pooled = (rate * RUNS + probability * PUBLISHED_RUNS) / (RUNS + PUBLISHED_RUNS)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / RUNS + 1 / PUBLISHED_RUNS))
    assert abs(rate - probability) <= 3.5 * spread
    spread = counts.std(ddof=1) * math.sqrt(1 / RUNS + 1 / PUBLISHED_RUNS)
    assert abs(counts.mean() - detectors) <= 3.5 * spread
