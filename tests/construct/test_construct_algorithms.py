"""Algorithm 1 ends interpolating or raises, Algorithm 2 is its twin's to the last bit; the paper's own numbers."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import FOR_VALUES, OWN, PROBLEMS, problems, seeds, some_options
from hypothesis import event, given
from hypothesis import strategies as st
from sklearn.datasets import make_moons

from exactfit import Outcome
from exactfit.construct import Options, adaptive_width, cover, first_layer, fixed_width
from exactfit.construct.memory import Memory
from exactfit.exceptions import ConstructionError, ContradictoryLabelsError, NoGapError, WidthLimitError
from exactfit.network import sides as _sides

min_widths = st.sampled_from([0, 0, 1, 64, 100])


def interpolates(made, X, y):
    assert made.outcome is Outcome.INTERPOLATES
    assert made.trace.uncovered.tolist() == []
    return made.network.decide(X).tolist() == np.asarray(y).tolist()


# ---- Against the twin ------------------------------------------------------------------------------------


@given(problems(), some_options(), min_widths, seeds)
def test_threshold_networks_are_the_twins(problem, recipe, min_width, seed):
    X, y = problem
    made = adaptive_width(X, y, replace(recipe, min_width=min_width), seed)
    event("rescued" if made.trace.n_fallback_cuts else "drawn")
    naive.assert_same(made, naive.algorithm_1(X, y, recipe, seed, min_width))
    assert interpolates(made, X, y)


@given(problems(kinds=FOR_VALUES), some_options(activation="relu"), min_widths, seeds)
def test_relu_networks_are_the_twins(problem, recipe, min_width, seed):
    X, y = problem
    made = adaptive_width(X, y, replace(recipe, min_width=min_width), seed)
    event("rescued" if made.trace.n_fallback_cuts else "drawn")
    naive.assert_same(made, naive.algorithm_1(X, y, recipe, seed, min_width))
    assert interpolates(made, X, y)


@given(problems(kinds=("interval", "grid")), some_options(activation=OWN), seeds)
def test_networks_of_ones_own_activation_are_the_twins(problem, recipe, seed):
    X, y = problem
    made = adaptive_width(X, y, recipe, seed)
    naive.assert_same(made, naive.algorithm_1(X, y, recipe, seed))
    assert interpolates(made, X, y)


@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize("law", ["gaussian", "bisector"])
def test_fewer_points_than_features(activation, law):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 2, (8, 20)) / 2.0, np.arange(8) % 3
    recipe = Options(activation=activation, hyperplanes=law)
    made = adaptive_width(X, y, recipe, 1)
    naive.assert_same(made, naive.algorithm_1(X, y, recipe, 1))
    assert interpolates(made, X, y)


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_close_pairs_in_the_twin(activation):
    """Random draws stall and coordinate cuts finish, scaled for real values."""
    X = np.array([[1.0, 0.5], [np.nextafter(1.0, 2.0), 0.5], [0.25, 0.5], [0.25, np.nextafter(0.5, 0.0)], [0.0, 0.0]])
    y = np.array([0, 1, 1, 0, 0])
    recipe = Options(activation=activation, target="all")
    made = adaptive_width(X, y, recipe, 3)
    assert made.trace.n_fallback_cuts > 0
    naive.assert_same(made, naive.algorithm_1(X, y, recipe, 3))
    assert interpolates(made, X, y)


@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("d", [2, 30])
def test_threads_tiles_and_layout_give_the_same_network(monkeypatch, activation, d):
    rng = np.random.default_rng(d)
    X = rng.integers(-40, 40, (700, d)) / 8
    X = np.unique(X, axis=0)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 3)

    def digest(points, n_jobs):
        recipe = Options(activation=activation, n_jobs=n_jobs)
        made = adaptive_width(points, y, recipe, random_state=5)
        return made.network.digest, made.trace.witnesses.tolist()

    expected = digest(X, 1)
    assert digest(X, 2) == expected
    monkeypatch.setattr(_sides._LowDimension, "row_tile", 100)
    monkeypatch.setattr(_sides._HighDimension, "row_tile", 100)
    monkeypatch.setattr(first_layer, "BATCH_BLOCKS", 1)
    assert digest(sp.csr_array(X), 2) == expected
    assert digest(X.astype(np.float32), 1) == expected


# ---- Close pairs -----------------------------------------------------------------------------------------


def pairs_at_distance(gap, size, n, d, seed):
    """n points and as many of the other label, each at a distance of ``gap`` (None: one ulp) in one feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 1.0, (n, d))
    near = X.copy()
    feature = rng.integers(0, d, n)
    rows = np.arange(n)
    near[rows, feature] = np.nextafter(X[rows, feature], 2.0) if gap is None else X[rows, feature] + gap
    power = 2.0 ** round(np.log2(size))  # a power of two keeps the pairs as close as they are
    return power * np.concatenate([X, near]), np.repeat([0, 1], n)


@pytest.mark.parametrize("gap", [1e-9, 1e-12, None])
@pytest.mark.parametrize(
    ("activation", "size"), [("threshold", 1.0), ("threshold", 1e-300), ("threshold", 1e300), ("relu", 1.0)]
)
@pytest.mark.parametrize("options", [{}, {"hyperplanes": "bisector"}, {"target": "all", "center": False}])
def test_close_pairs_are_interpolated(gap, activation, size, options):
    for d in (1, 2, 20):
        X, y = pairs_at_distance(gap, size, 15, d, d)
        assert (X[:15] != X[15:]).any(axis=1).all()
        assert interpolates(adaptive_width(X, y, Options(activation=activation, **options), random_state=d), X, y)


@pytest.mark.parametrize("gap", [1e-20, 1e-60, 1e-200, 1e-300])
def test_relu_tells_points_apart_that_lie_close_to_zero(gap):
    X, y = np.array([[0.0, 1.0], [gap, 1.0], [1.0, 0.3]]), np.array([0, 1, 0])
    assert interpolates(adaptive_width(X, y, Options(activation="relu", target="all"), random_state=0), X, y)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("law", ["gaussian", "bisector"])
def test_relu_on_data_of_any_size(size, law):
    X, y = size * np.array([[1.0, 1.0], [2.0, 1.0], [0.5, 0.3], [0.9, 1.1]]), np.array([0, 1, 0, 1])
    made = adaptive_width(X, y, Options(activation="relu", target="all", hyperplanes=law), random_state=0)
    assert interpolates(made, X, y)
    assert made.trace.n_fallback_cuts == 0 or size < 1e-299  # where the allowance for underflow is no longer small


def test_the_ends_of_float64():
    X, y = np.array([[0.0], [5e-324], [-5e-324], [8e307], [-8e307]]), np.array([0, 1, 1, 0, 1])
    assert interpolates(adaptive_width(X, y, Options(target="all"), random_state=0), X, y)


# ---- Widths ----------------------------------------------------------------------------------------------


def hard_problem():
    """Random labels: some hundreds of hyperplanes are needed, the last few for few pairs."""
    rng = np.random.default_rng(4)
    return rng.standard_normal((60, 2)), rng.integers(0, 2, 60)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", [1, "all"])
def test_the_width_is_where_the_last_pair_is_separated(seed, target):
    X, y = hard_problem()
    made = adaptive_width(X, y, Options(target=target), random_state=seed)
    width = made.network.widths[0]
    assert (made.trace.n_drawn, made.trace.n_fallback_cuts) == (width, 0)
    bits = made.network.layers[0](X).to_bool()
    pairs = [(a, b) for a in range(60) for b in range(60) if y[a] != y[b] and target in ("all", y[a])]
    needed = max(int(np.argmax(~bits[a] & bits[b])) + 1 for a, b in pairs)
    assert all((~bits[a] & bits[b]).any() for a, b in pairs)
    assert width == needed


def test_min_width_draws_on_and_changes_nothing_before():
    X, y = hard_problem()
    needed = adaptive_width(X, y, random_state=0).network.widths[0]
    for min_width in (1, needed - 1, needed, needed + 1, needed + 200):
        made = adaptive_width(X, y, options=Options(min_width=min_width), random_state=0)
        assert made.network.widths[0] == max(needed, min_width)
        same = fixed_width(X, y, max(needed, min_width), random_state=0)
        assert made.network.digest == same.network.digest


def test_max_width_allows_what_is_needed_and_nothing_less():
    X, y = hard_problem()
    made = adaptive_width(X, y, random_state=0)
    needed = made.network.widths[0]
    assert needed > 64
    assert needed % 64
    assert adaptive_width(X, y, options=Options(max_width=needed), random_state=0).network.digest == made.network.digest
    with pytest.raises(WidthLimitError, match=f"max_width={needed - 1} .*still unseparated. Raise max_width"):
        adaptive_width(X, y, options=Options(max_width=needed - 1), random_state=0)


def test_the_error_counts_the_open_pairs_of_groups():
    X, y = hard_problem()
    bits = fixed_width(X, y, 64, Options(target=1), random_state=0).network.layers[0](X).to_bool()
    open_pairs = {
        (bits[a].tobytes(), bits[b].tobytes())
        for a in range(60)
        for b in range(60)
        if y[a] == 1 and y[b] == 0 and not (~bits[a] & bits[b]).any()
    }
    assert open_pairs
    with pytest.raises(WidthLimitError) as caught:
        adaptive_width(X, y, Options(target=1, max_width=64), random_state=0)
    message = str(caught.value)
    assert (
        f"with 64 hyperplanes, max_width=64 leaves no room, and {len(open_pairs)} pairs of groups of points" in message
    )
    assert "Raise max_width, use fallback_cuts=True, or scale features" in message
    assert isinstance(caught.value, ConstructionError)


def test_memory_bounds_the_width_where_nobody_else_does(monkeypatch):
    X, y = hard_problem()
    monkeypatch.setattr(Memory, "largest_width", lambda _self: 64)
    with pytest.raises(WidthLimitError, match=r"max_width=64 \(what memory allows\)"):
        adaptive_width(X, y, random_state=0)


@pytest.mark.parametrize("max_width", [64, 100, 1500, 2000])
def test_without_rescue_close_pairs_reach_the_limit(max_width):
    X, y = PROBLEMS["close pairs"]()
    at_least_the_close_ones = "1[2-9]" if max_width < 1000 else "12"
    message = f"max_width={max_width} leaves no room, and {at_least_the_close_ones} pairs of groups of points"
    with pytest.raises(WidthLimitError, match=message):
        adaptive_width(X, y, options=Options(fallback_cuts=False, max_width=max_width), random_state=0)


def test_without_rescue_the_loop_is_the_papers():
    X, y = hard_problem()
    assert (
        adaptive_width(X, y, options=Options(fallback_cuts=False), random_state=0).network.digest
        == adaptive_width(X, y, random_state=0).network.digest
    )


# ---- Rescue ----------------------------------------------------------------------------------------------


def test_rescue_begins_when_draws_stall_and_not_before():
    X, y = PROBLEMS["close pairs"]()
    made = adaptive_width(X, y, random_state=0)
    assert (made.trace.n_drawn, made.trace.n_fallback_cuts) == (1024, 12)
    assert made.network.widths[0] == 1036
    weights, bias = made.network.layers[0].weights.values[1024:], made.network.layers[0].bias[1024:]
    assert (np.count_nonzero(weights, axis=1) == 1).all()
    # Each goes through a target point, one float64 above its neighbour: on is what lies below it.
    assert weights[:, 1].tolist() == [-1.0] * 12
    assert sorted(bias.tolist()) == sorted(X[y == 1, 1].tolist())
    assert interpolates(made, X, y)


@pytest.mark.parametrize(("min_width", "drawn"), [(1000, 1024), (1025, 1536), (1536, 1536), (1537, 2048)])
def test_rescue_waits_for_min_width(min_width, drawn):
    X, y = PROBLEMS["close pairs"]()
    made = adaptive_width(X, y, options=Options(min_width=min_width), random_state=0)
    assert made.trace.n_drawn == drawn


def test_draws_go_on_while_they_halve_the_open_pairs():
    """512 more hyperplanes keep separating the wide pairs; the narrow one is rescued when they are done."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0.5, 1, (400, 2))
    near = X + 0.005
    near[0] = np.nextafter(X[0], 2)
    X, y = np.concatenate([X, near]), np.repeat([0, 1], 400)
    made = adaptive_width(X, y, Options(target=1), random_state=0)
    assert made.trace.n_drawn > 1024
    assert made.trace.n_drawn % 512 == 0
    opened = {}
    bits = made.network.layers[0](X).to_bool()
    for n in range(512, made.trace.n_drawn + 1, 512):
        b = bits[:, :n]
        off, on = (~b[400:]).astype(np.float32), b[:400].astype(np.float32)
        opened[n] = int(((off @ on.T) == 0).sum())
    stalls = [n for n in opened if n >= 1024 and 2 * opened[n] > opened[n - 512]]
    assert stalls == [made.trace.n_drawn]
    assert interpolates(made, X, y)


def test_cuts_have_to_fit_below_max_width_too():
    X, y = PROBLEMS["close pairs"]()
    assert adaptive_width(X, y, options=Options(max_width=1036), random_state=0).trace.n_fallback_cuts == 12
    with pytest.raises(WidthLimitError, match="with 1024 hyperplanes, max_width=1035 leaves no room"):
        adaptive_width(X, y, options=Options(max_width=1035), random_state=0)


def test_cuts_of_real_values_are_scaled_by_powers_of_two():
    X, y = PROBLEMS["close pairs"]()
    made = adaptive_width(X, y, Options(activation="relu"), random_state=0)
    weights = made.network.layers[0].weights.values[1024:]
    scales = weights[weights != 0].astype(np.float64)
    assert len(scales) == made.trace.n_fallback_cuts == 12
    assert (np.frexp(np.abs(scales))[0] == 0.5).all()
    assert (np.abs(scales) > 1).all()


def test_where_rounding_leaves_no_gap_cuts_widen_it():
    """All pairs are separated by random draws, but by less than the rounding errors of their values."""
    n_widened = 0
    for seed in range(30):
        X = np.array([[1.0, 1.0], [1.0 + 2.0**-48, 1.0], [0.3, 0.2], [0.1, 0.9]])
        y = np.array([0, 1, 0, 1])
        recipe = Options(activation="relu", target="all", max_bias=0.0, hyperplanes="bisector")
        made = adaptive_width(X, y, recipe, random_state=seed)
        assert interpolates(made, X, y)
        if made.trace.n_fallback_cuts and made.trace.n_drawn < 1024:
            n_widened += 1
            naive.assert_same(made, naive.algorithm_1(X, y, recipe, seed))
            with pytest.raises(NoGapError, match=r"no room for a limit at rows .*use activation=\"threshold\""):
                adaptive_width(X, y, replace(recipe, fallback_cuts=False), random_state=seed)
    assert n_widened > 3


# ---- What every network does -----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
def test_it_always_interpolates(problem, activation):
    X, y = PROBLEMS[problem]()
    for target in (None, "all"):
        made = adaptive_width(X, y, Options(activation=activation, target=target), random_state=6)
        assert interpolates(made, X, y)
        assert made.trace.n_rejected == 0
        assert made.trace.coverage.sum() == np.isin(y, made.trace.detector_classes).sum()


@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize("seed", range(5))
def test_alternating_points_need_a_detector_for_every_centre(activation, seed):
    along = np.arange(15) / 14
    X, y = along[:, None] * [3.0, -4.0] + 0.1, (np.arange(15) + 1) % 2
    made = adaptive_width(X, y, Options(activation=activation, target=1), random_state=seed)
    assert interpolates(made, X, y)
    assert len(made.trace.anchors) == 8


def test_contradictory_labels_are_refused_with_their_pairs():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [-0.0, 0.0], [0.0, -0.0]])
    with pytest.raises(ContradictoryLabelsError) as caught:
        adaptive_width(X, np.array([0, 1, 1, 0, 1]), random_state=0)
    assert caught.value.pairs == ((0, 2), (3, 4))


def test_labels_at_random_far_from_the_origin():
    """Gaussian hyperplanes around the origin would need tens of thousands; around the mean they do not."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(100, 1, (60, 5)), rng.integers(0, 2, 60)
    made = adaptive_width(X, y, random_state=0)
    assert interpolates(made, X, y)
    assert made.network.widths[0] < 2000


def test_progress_is_told():
    told = []
    X, y = hard_problem()
    made = adaptive_width(X, y, random_state=0, progress=lambda *step: told.append(step))
    drawn = [done for what, done, total in told if what == "hyperplanes" and total is None]
    last = -(-made.network.widths[0] // 64) * 64
    assert drawn == sorted({*range(256, last, 256), last}), "every fourth block, and the last"
    n = int((y == made.trace.detector_classes[0]).sum())
    assert told[-1] == ("detectors", n, n)


widths = st.integers(1, 140)


def fires(made, X):
    """Which detector (column) fires on which point (row)."""
    first, detectors, _ = made.network.layers
    fired = detectors(first(X))
    return fired.to_bool() if made.network.layers[1].activation.is_threshold else np.asarray(fired) > 0


# ---- Against the twin ------------------------------------------------------------------------------------


@given(problems(), some_options(), widths, seeds)
def test_threshold_networks_are_the_twins_of_given_width(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(), some_options(), widths, seeds)
def test_so_they_are_with_candidates_in_blocks(problem, recipe, width, seed):
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cover, "SMALL", 0)
        made = fixed_width(X, y, width, recipe, seed)
    naive.assert_same(made, naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(kinds=FOR_VALUES), some_options(activation="relu"), widths, seeds)
def test_relu_networks_are_the_twins_of_given_width(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@given(problems(kinds=("interval", "grid", "any")), some_options(activation=OWN), widths, seeds)
def test_networks_of_ones_own_activation_are_the_twins_of_given_width(problem, recipe, width, seed):
    X, y = problem
    naive.assert_same(fixed_width(X, y, width, recipe, seed), naive.algorithm_2(X, y, width, recipe, seed))


@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize("d", [17, 40])
@pytest.mark.parametrize("options", [{}, {"hyperplanes": "bisector"}, {"center": False}])
def test_fewer_points_than_features_of_given_width(activation, d, options):
    rng = np.random.default_rng(d)
    X, y = rng.integers(-1, 2, (9, d)) / 2 + 1e4 * np.eye(9, d), np.arange(9) % 3
    recipe = Options(activation=activation, **options)
    naive.assert_same(fixed_width(X, y, 70, recipe, 1), naive.algorithm_2(X, y, 70, recipe, 1))


@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("d", [2, 30])
def test_threads_tiles_and_layout_give_the_same_network_of_given_width(monkeypatch, activation, d):
    rng = np.random.default_rng(d)
    X = rng.integers(-40, 40, (1500, d)) / 8
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 3)

    def digest(points, n_jobs):
        recipe = Options(activation=activation, n_jobs=n_jobs)
        made = fixed_width(points, y, 130, recipe, random_state=5)
        return made.network.digest, made.trace.witnesses.tolist(), made.trace.coverage.tolist()

    expected = digest(X, 1)
    assert digest(X, 2) == expected
    assert digest(sp.csr_array(X), 3) == expected
    monkeypatch.setattr(_sides._LowDimension, "row_tile", 100)
    monkeypatch.setattr(_sides._HighDimension, "row_tile", 100)
    monkeypatch.setattr(_sides, "TILE_ENTRIES", 900)
    monkeypatch.setattr(cover, "WORTH_A_THREAD", 0)
    assert digest(np.asfortranarray(X), 2) == expected
    assert digest(X.astype(np.float32), 1) == expected


def test_two_fits_at_once_do_not_disturb_each_other():
    X, y = PROBLEMS["three classes"]()
    recipe = Options(n_jobs=2)
    alone = [fixed_width(X, y, 300, recipe, seed).network.digest for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: fixed_width(X, y, 300, recipe, seed).network.digest, range(8)))
    assert together == alone


# ---- What every network does -----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("activation", ["threshold", "relu", OWN], ids=["threshold", "relu", "own"])
@pytest.mark.parametrize("width", [1, 20, 300])
def test_detectors_fire_on_their_anchors_and_never_on_the_rest(problem, activation, width):
    X, y = PROBLEMS[problem]()
    made = fixed_width(X, y, width, Options(activation=activation, target="all"), random_state=2)
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
    assert (trace.n_drawn, trace.n_fallback_cuts, made.network.widths[0]) == (width, 0, width)


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
    made = fixed_width(X, y, 300, Options(target=0), random_state=0)
    assert set(made.trace.detector_classes.tolist()) == {0}
    assert ((made.network(X)[:, 0] < 0) == (y == 0)).all()


def test_a_network_without_detectors_says_so():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    made = fixed_width(
        X, y, 1, Options(max_bias=0.0, center=False), random_state=0
    )  # one ray: nothing can be told apart
    assert made.network.widths == (1, 0, 1)
    assert made.outcome is Outcome.POINTS_MISSED
    assert made.trace.uncovered.tolist() == [1]
    assert made.network.decide(X).tolist() == [0, 0, 0]


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_progress_is_told_of_given_width(detectors):
    told = []
    X, y = PROBLEMS["two moons"]()
    recipe = Options(target="all", detectors=detectors)
    fixed_width(X, y, 100, recipe, random_state=0, progress=lambda *step: told.append(step))
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
@pytest.mark.parametrize("d", [1, 3])
def test_alternating_points_need_a_detector_for_every_centre_of_given_width(activation, d):
    n_interpolated = 0
    for seed in range(6):
        for width in (50, 300, 1500):
            X, y = alternating_line(6, 3, d, seed)
            made = fixed_width(X, y, width, Options(activation=activation, target=1), random_state=seed)
            if made.outcome.interpolates:
                n_interpolated += 1
                assert len(made.trace.anchors) >= 6
    assert n_interpolated >= 6


def test_parallel_lines_need_every_point_as_an_anchor():
    """But for an end point now and then: there the draws are sparse enough to err on it."""
    along = np.linspace(-1, 1, 10)
    X = np.concatenate([np.column_stack([along, np.full(10, height)]) for height in (0.05, -0.05)])
    recipe = Options(max_bias=1.0, center=False, target=1)
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
    made = fixed_width(X, y, 100000, Options(max_bias=5 * far, center=False), random_state=1)
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
    recipe = Options(max_bias=max_bias, center=False, target=1)
    made = [fixed_width(X, y, width, recipe, random_state=seed) for seed in range(RUNS)]
    rate = np.mean([one.outcome.interpolates for one in made])
    counts = np.array([len(one.trace.anchors) for one in made])
    pooled = (rate * RUNS + probability * PUBLISHED_RUNS) / (RUNS + PUBLISHED_RUNS)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / RUNS + 1 / PUBLISHED_RUNS))
    assert abs(rate - probability) <= 3.5 * spread
    spread = counts.std(ddof=1) * math.sqrt(1 / RUNS + 1 / PUBLISHED_RUNS)
    assert abs(counts.mean() - detectors) <= 3.5 * spread
