"""What is particular to each recipe: its size, its traps, and a slow and obvious twin where there is a choice."""

from __future__ import annotations

import numpy as np
import pytest
from constructors import PROBLEMS
from sklearn.datasets import load_digits, make_moons

from exactfit import AssumptionError, ParameterError, TooLargeError, certify
from exactfit._support.options import seed_sequence
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.constructions import (
    AdaptiveWidth,
    BallCover,
    Caps,
    CondensedNeighbour,
    FixedWidth,
    Huang,
    PolytopeCover,
    Zhang,
)
from exactfit.constructions.ball_cover import ball_cover_size
from exactfit.constructions.base import n_outputs
from exactfit.constructions.caps import caps_size
from exactfit.constructions.huang import huang_size
from exactfit.constructions.nearest_neighbour import condensed_neighbour_size
from exactfit.constructions.own import own_size
from exactfit.constructions.polytopes import polytope_cover_size
from exactfit.constructions.zhang import zhang_size
from exactfit.geometry import limit_cover


def random_labels(n=120, d=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, k, n)


def size(made) -> tuple[int, int]:
    return made.network.n_neurons, made.network.n_parameters


# ---- Sizes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_sizes_are_those_of_the_formulas(k) -> None:
    X, y = random_labels(k=k)
    d, outputs = X.shape[1], n_outputs(k)
    made = Huang().construct(X, y, random_state=0)
    assert size(made) == huang_size(len(made.trace.anchors), d)
    made = Zhang().construct(X, y, random_state=0)
    assert size(made) == zhang_size(2 * len(made.trace.anchors), d)
    assert size(Zhang(ramps=False).construct(X, y, random_state=0)) == zhang_size(len(X), d)
    made = Caps().construct(X, y)
    assert size(made) == caps_size(len(made.trace.anchors), d)
    for order in ("random", "greedy"):
        made = BallCover(order).construct(X, y, random_state=0)
        assert size(made) == ball_cover_size(len(made.trace.anchors), d, outputs)
    made = CondensedNeighbour().construct(X, y, random_state=0)
    assert size(made) == condensed_neighbour_size(tuple(np.bincount(made.trace.detector_classes)), d)
    made = PolytopeCover().construct(X, y, random_state=0)
    assert size(made) == polytope_cover_size(made.network.widths[0], len(made.trace.anchors), d, outputs)
    made = AdaptiveWidth().construct(X, y, random_state=0)
    assert size(made) == own_size(made.trace.n_drawn, len(made.trace.anchors), d, outputs)


def test_lines_need_a_unit_for_each_change_of_label_only() -> None:
    X, y = random_labels(n=400, k=2)
    n_changes = len(Huang(tries=1).construct(X, y, random_state=0).trace.anchors)
    assert 100 < n_changes < 260  # about half of the points
    assert Huang(tries=50).construct(X, y, random_state=0).network.widths[1] < n_changes
    X, y = load_digits(return_X_y=True)
    assert Huang().construct(X, (y == 0).astype(int), random_state=0).network.widths[1] < 30


# ---- Huang and Zhang -------------------------------------------------------------------------------------


def test_a_step_stands_between_the_points_that_it_names() -> None:
    X, y = random_labels()
    made = Huang().construct(X, y, random_state=0)
    line, steps, _ = made.network.layers
    values, trace = line.sums(X)[:, 0], made.trace
    assert (values[trace.witnesses] <= -steps.bias).all()
    assert (values[trace.anchors] > -steps.bias).all()
    assert (y[trace.witnesses] != y[trace.anchors]).all()
    np.testing.assert_array_equal(trace.detector_classes, y[trace.anchors])
    assert trace.coverage.sum() == (values > -steps.bias[0]).sum()


@pytest.mark.parametrize(("ramps", "error"), [(True, 1e-9), (False, 1e-6)])
def test_zhangs_outputs_are_the_labels(ramps, error) -> None:
    X, y = random_labels(n=1000, d=10, k=5)
    outputs = Zhang(ramps=ramps).construct(X, y, random_state=0).network(X)[:, 0]
    assert np.abs(outputs - y).max() < error


def test_slopes_are_the_solution_of_the_triangular_system() -> None:
    X, y = random_labels(n=30)
    made = Zhang(ramps=False).construct(X, y, random_state=0)
    line, relus, output = made.network.layers
    order = made.trace.anchors
    system = np.maximum(line.sums(X)[order] + relus.bias, 0.0)
    assert (np.triu(system, 1) == 0).all()
    assert (np.diag(system) > 0).all()
    np.testing.assert_allclose(output.weights.values[0], np.linalg.solve(system, y[order]), rtol=1e-6, atol=1e-9)


# ---- Ball cover ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["random", "greedy"])
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_balls_are_those_of_the_papers_limit(problem, order) -> None:
    X, y = PROBLEMS[problem]()
    firsts = np.unique(X, axis=0, return_index=True)[1]
    X, y = X[np.sort(firsts)], y[np.sort(firsts)]
    made, limit = BallCover(order).construct(X, y, random_state=7), limit_cover(X, y, order, random_state=7)
    np.testing.assert_array_equal(made.trace.anchors, limit.anchors)
    np.testing.assert_array_equal(made.trace.coverage, limit.coverage)
    np.testing.assert_array_equal(made.trace.witnesses, limit.witnesses)


def test_balls_are_open() -> None:
    X, y = np.array([[0.0], [1.0], [-1.0], [5.0]]), np.array([0, 1, 0, 1])
    for order in ("random", "greedy"):
        made = BallCover(order).construct(X, y, random_state=0)
        np.testing.assert_array_equal(made.network.decide(X), y)
    # The ball around 0 reaches to 1, and -1 is as far away: covering it would claim 1 as well.
    made = BallCover().construct(np.array([[0.0], [1.0], [-1.0]]), np.array([0, 1, 0]), random_state=0)
    assert made.network.widths == (1, 1)
    made = BallCover().construct(
        np.array([[0.0], [1.0], [-1.0], [9.0], [8.5]]), np.array([0, 1, 0, 1, 1]), random_state=0
    )
    assert made.trace.coverage.sum() == 2


def test_a_balls_edge_is_halfway_between_its_farthest_point_and_the_nearest_other() -> None:
    X, y = random_labels(k=3)
    made = BallCover().construct(X, y, random_state=0)
    centres = X[made.trace.anchors]
    squares = made.network.layers[0].bias + (centres**2).sum(axis=1)
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    same = y[:, None] == made.trace.detector_classes
    nearest = np.where(same, np.inf, distances).min(axis=0)
    farthest = np.where(same & (distances < nearest), distances, 0.0).max(axis=0)
    np.testing.assert_allclose(squares, (farthest + nearest) / 2, rtol=1e-6)


def test_a_ball_leaves_out_what_rounding_might_swap() -> None:
    # From 0, the points 1 and -1 - 1e-15 cannot be told apart by their squares.
    X, y = np.array([[0.0], [1.0], [-1.0 - 1e-15], [9.0], [9.5]]), np.array([0, 0, 1, 1, 1])
    made = BallCover().construct(X, y, random_state=0)
    np.testing.assert_array_equal(made.network.decide(X), y)
    assert certify(made.network, X, y, arithmetic="float64").holds


# ---- Caps ------------------------------------------------------------------------------------------------


def test_a_cap_is_zero_at_all_shorter_points() -> None:
    X, y = random_labels(n=600, d=8)
    made = Caps().construct(X, y)
    values = np.asarray(made.network.layers[0](X))
    norms = np.linalg.norm(X - X.mean(axis=0), axis=1)
    for cap, anchor in enumerate(made.trace.anchors):
        assert values[anchor, cap] > 0
        assert (values[norms < norms[anchor] * (1 - 1e-12), cap] == 0).all()
    assert len(made.trace.anchors) < 600


def test_points_that_are_right_already_get_no_cap() -> None:
    X, y = make_moons(300, noise=0.05, random_state=0)
    assert Caps().construct(X, y).network.widths[0] < 100
    separated = np.array([[0.1], [1.0], [2.0], [3.0], [-1.0], [-4.0]])
    assert Caps().construct(separated, (separated[:, 0] > 2.5).astype(int)).network.widths == (1, 1)


# ---- Condensed nearest neighbour -------------------------------------------------------------------------


def condensed(X, y, order) -> list[int]:
    """Hart's rule, word for word."""
    store: list[int] = []
    changed = True
    while changed:
        changed = False
        for i in order:
            nearest = min(store, key=lambda j: ((X[i] - X[j]) ** 2).sum(), default=None)
            if nearest is None or y[nearest] != y[i]:
                store.append(int(i))
                changed = True
    return store


@pytest.mark.parametrize("k", [2, 4])
def test_prototypes_are_harts(k) -> None:
    X, y = random_labels(n=80, k=k)
    made = CondensedNeighbour().construct(X, y, random_state=3)
    order = stream(seed_sequence(3), ORDER).permutation(len(X))
    assert made.trace.anchors.tolist() == condensed(X, y, order)
    points = np.random.default_rng(1).standard_normal((500, X.shape[1]))
    distances = ((points[:, None] - X[made.trace.anchors]) ** 2).sum(axis=2)
    expected = y[made.trace.anchors][distances.argmin(axis=1)]
    np.testing.assert_array_equal(made.network.decide(points), expected)


def test_too_many_prototypes_are_refused_before_memory_runs_out() -> None:
    X, y = random_labels(n=200, k=2)
    with pytest.raises(TooLargeError, match="prototypes need"):
        CondensedNeighbour(memory=10_000).construct(X, y, random_state=0)


# ---- Polytopes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "threshold"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_polytope_holds_what_a_ball_would_and_has_no_idle_face(activation, k) -> None:
    X, y = random_labels(n=100, k=k)
    made = PolytopeCover(activation).construct(X, y, random_state=0)
    faces, detectors, _ = made.network.layers
    crossed = faces.sums(X) > 0
    masks = detectors.weights.bits.to_bool()
    for mask, anchor, code in zip(masks, made.trace.anchors, made.trace.detector_classes, strict=True):
        held = ~crossed[:, mask].any(axis=1)
        distances = np.linalg.norm(X - X[anchor], axis=1)
        ball = distances < distances[y != code].min()
        assert (y[held] == code).all()
        assert (held >= ball).all()
        alone = crossed[:, mask] & (crossed[:, mask].sum(axis=1) == 1)[:, None]
        assert alone[y != code].any(axis=0).all()
    targets = np.unique(made.trace.detector_classes)
    assert made.trace.coverage.sum() == np.isin(y, targets).sum()


def test_polytopes_need_fewer_than_balls_for_random_labels() -> None:
    X, y = random_labels(n=300, d=10, k=2)
    polytopes = PolytopeCover().construct(X, y, random_state=0).network.widths[1]
    assert 4 * polytopes < BallCover("greedy").construct(X, y, random_state=0).network.widths[0]


def test_too_many_faces_are_refused() -> None:
    X, y = random_labels(n=200, k=2)
    with pytest.raises(TooLargeError, match="polytopes need"):
        PolytopeCover(memory=1000).construct(X, y, random_state=0)


def test_both_activations_give_the_same_polytopes() -> None:
    X, y = random_labels()
    made = [PolytopeCover(activation).construct(X, y, random_state=0) for activation in ("relu", "threshold")]
    np.testing.assert_array_equal(*(each.network.layers[0].weights.values for each in made))
    np.testing.assert_array_equal(*(each.trace.anchors for each in made))


# ---- All, in any order of sums ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constructor",
    [
        BallCover(),
        BallCover("greedy"),
        Huang(),
        CondensedNeighbour(),
        PolytopeCover(),
        PolytopeCover("threshold"),
        Caps(),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_every_float64_evaluation_is_right(constructor, k) -> None:
    X, y = random_labels(k=k)
    for offset in (0.0, 100.0):
        network = constructor.construct(X + offset, y, random_state=0).network
        assert certify(network, X + offset, y, arithmetic="float64").holds


# ---- The paper's own, and options ------------------------------------------------------------------------


def test_the_papers_own_is_built_by_the_same_code() -> None:
    from exactfit.construct import Recipe, adaptive_width, fixed_width

    X, y = random_labels()
    recipe = Recipe(selection="greedy", activation="relu")
    made = AdaptiveWidth(selection="greedy", activation="relu").construct(X, y, random_state=0)
    assert made.network.digest == adaptive_width(X, y, recipe, 0).network.digest
    made = FixedWidth(50, target="all").construct(X, y, random_state=0)
    assert made.network.digest == fixed_width(X, y, 50, Recipe(target="all"), 0).network.digest
    assert not FixedWidth(2).construct(X, y, random_state=0).outcome.interpolates


@pytest.mark.parametrize(
    "make",
    [
        lambda: BallCover("best"),
        lambda: PolytopeCover("sigmoid"),
        lambda: Huang(tries=0),
        lambda: Zhang(tries=1.5),
        lambda: CondensedNeighbour(memory=-1),
        lambda: AdaptiveWidth(selection="best"),
        lambda: FixedWidth(10, activation="cubic"),
    ],
)
def test_options_are_checked_at_once(make) -> None:
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("constructor", [BallCover(), Caps(), CondensedNeighbour(), PolytopeCover()])
def test_norms_that_overflow_are_refused(constructor) -> None:
    X, y = random_labels(n=20)
    X[7] *= 1e200
    with pytest.raises(AssumptionError, match=r"squared norms .* rows 7\."):
        constructor.construct(X, y, random_state=0)
