"""Coverings: the limit's balls are exact, mutual ones are what the definition says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.problems import moons, problems
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_moons

from exactfit import ContradictoryLabelsError, Options, ParameterError, fixed_width
from exactfit._support.parameters import seed_sequence
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.geometry import (
    ball_covers,
    limit_cover,
    make_alternating_line,
    make_parallel_lines,
    mutual_covering,
    radius,
    separation,
)
from exactfit.geometry.theorem import make_disc_moons


def in_order(y: Any, k: int, seed: int) -> Any:
    """Rows of class k in the order in which a construction of this seed tries them."""
    rows = np.flatnonzero(y == k)
    return rows[stream(seed_sequence(seed), ORDER, k).permutation(len(rows))]


@pytest.mark.parametrize("path", [{}, {"DOUBLE_DIMENSION": 0}, {"DOUBLE_DIMENSION": 0, "KEPT_BYTES": 0, "DOUBTS": 1}])
@given(problem=problems(), seed=st.integers(0, 3))
def test_anchors_are_those_of_the_naive_twin(path: dict[str, int], problem: Any, seed: int) -> None:
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in path.items():
            patch.setattr(ball_covers, constant, value)
        found = limit_cover(X, y, target="all", random_state=seed)
    expected = [row for k in range(y.max() + 1) for row in naive.limit_cover(X, y, k, in_order(y, k, seed))]
    assert found.anchors.tolist() == expected
    assert found.witnesses.tolist() == [naive.nearest_rows(X, y)[row] for row in expected]
    assert found.coverage.sum() == len(X)


@given(problem=problems(), seed=st.integers(0, 3), at_once=st.sampled_from([1, 2, 4, 100]))
def test_greedy_anchors_are_those_of_the_naive_twin(problem: Any, seed: int, at_once: int) -> None:
    X, y = problem
    k = int(y.max())
    memory = at_once * -(-int((y == k).sum()) // 8)
    found = limit_cover(X, y, "greedy", target=k if y.max() == 1 else "all", random_state=seed, memory_limit=memory)
    expected = naive.greedy_limit_cover(X, y, k, in_order(y, k, seed), at_once)
    assert found.anchors[found.classes == k].tolist() == expected


def test_the_forecast_is_near_what_wide_networks_have() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1).max()
    forecast = limit_cover(X, y, random_state=0).n_detectors
    wide = fixed_width(X, y, 4000, Options(max_bias=1.0, center=False), 0)
    narrow = fixed_width(X, y, 400, Options(max_bias=1.0, center=False), 0)
    assert abs(len(wide.trace.anchors) - forecast) < 0.15 * forecast
    assert len(narrow.trace.anchors) > 1.5 * forecast


def test_greedy_needs_fewer_and_a_small_pool_still_covers() -> None:
    X, y = load_digits(return_X_y=True)
    random, greedy = limit_cover(X, y), limit_cover(X, y, "greedy")
    assert greedy.n_detectors < random.n_detectors
    pooled = limit_cover(X, y, "greedy", memory_limit=500)
    assert pooled.coverage.sum() == len(X)
    assert set(random.classes) == set(range(10))


def test_kinds_of_input_labels_and_threads_change_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    plain = limit_cover(X, y, random_state=3)
    for same, labels in ((X.astype(np.float32).astype(float), y), (sp.csr_array(X), names)):
        other = limit_cover(same, labels, random_state=3, n_jobs=2)
        assert other.n_detectors == pytest.approx(plain.n_detectors, abs=0 if labels is names else 3)
    assert set(limit_cover(X, names).classes) == {"a", "b", "c"}
    np.testing.assert_allclose(plain.radii, np.linalg.norm(X[plain.anchors] - X[plain.witnesses], axis=1))


@given(problem=problems(kinds=("grid", "halves")), power=st.integers(-9, 9), shift=st.integers(-5, 5))
def test_exact_motions_change_no_anchor(problem: Any, power: int, shift: int) -> None:
    X, y = problem
    moved = (X[:, ::-1] + shift) * 2.0**power
    np.testing.assert_array_equal(
        limit_cover(moved, y, random_state=1).anchors, limit_cover(X, y, random_state=1).anchors
    )


def test_duplicates_add_no_greedy_ball() -> None:
    X, y = make_moons(100, noise=0.1, random_state=0)
    twice = limit_cover(np.concatenate([X, X]), np.concatenate([y, y]), "greedy")
    assert twice.n_detectors == limit_cover(X, y, "greedy").n_detectors


def test_bad_input_of_a_limit_is_refused() -> None:
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ParameterError, match="selection"):
        limit_cover(X, y, "best")
    with pytest.raises(ParameterError, match="memory_limit"):
        limit_cover(X, y, memory_limit=0)
    with pytest.raises(ContradictoryLabelsError):
        limit_cover([[0.0], [0.0]], [0, 1])


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_an_alternating_line_needs_a_detector_for_every_centre(activation: str) -> None:
    X, y = make_alternating_line(6, dimension=4)
    assert X.shape == (11, 4)
    assert not X[:, 1:].any()
    assert limit_cover(X, y, target=1).n_detectors >= 6
    for seed in range(3):
        made = fixed_width(X, y, 3000, Options(target=1, activation=activation), seed)
        assert made.outcome.interpolates
        assert len(made.trace.anchors) >= 6


def test_the_alternating_line_is_the_published_one() -> None:
    X, y = make_alternating_line(5)
    assert X[y == 1].ravel().tolist() == [(k - 1) / 4 for k in range(1, 6)]
    assert X[y == 0].ravel().tolist() == [(j - 0.5) / 4 for j in range(1, 5)]


def test_parallel_lines_make_every_target_point_an_anchor() -> None:
    X, y = make_parallel_lines(10, distance=0.1, dimension=3)
    assert X.shape == (20, 3)
    assert separation(X, y).value == 0.1
    assert limit_cover(X, y, target=1).n_detectors == 10
    made = fixed_width(X, y, 2000, Options(max_bias=1.0, center=False, target=1), 0)
    assert len(made.trace.anchors) == 10


def test_disc_moons_are_apart_as_promised() -> None:
    X, y = make_disc_moons(20_000, noise=0.2, random_state=1)
    assert 0.1 <= separation(X, y).value < 0.15
    np.testing.assert_array_equal(X, make_disc_moons(20_000, noise=0.2, random_state=1)[0])
    assert separation(*make_disc_moons(20_000, noise=0.0)).value == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (make_alternating_line, {"n_centers": 1}),
        (make_alternating_line, {"n_centers": 3, "dimension": 0}),
        (make_parallel_lines, {"n_points": 1}),
        (make_parallel_lines, {"distance": 0.0}),
        (make_parallel_lines, {"dimension": 1}),
        (make_disc_moons, {"n_samples": 10, "noise": 0.25}),
    ],
)
def test_worst_cases_refuse_bad_options(make: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        make(**options)


def broken(X: Any, y: Any, covering: Any) -> set[Any]:
    """The conditions of the definition that a covering breaks, by exact numbers."""
    found = set()
    for pair in covering.pairs:
        balls = {side: (cover.centers, cover.radii) for side, cover in (("target", pair.target), ("rest", pair.rest))}
        found |= naive.broken_conditions(X, y, pair.label, balls, covering.max_bias, covering.constant)
    return found


@pytest.mark.parametrize("single_from", [0, 32])
@given(problem=problems(max_points=9), constant=st.sampled_from([0.1, 1.0, 3.0]), factor=st.sampled_from([1.0, 4.0]))
def test_coverings_meet_the_definition(single_from: int, problem: Any, constant: float, factor: float) -> None:
    X, y = problem
    max_bias = factor * radius(X, center=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ball_covers, "DOUBLE_DIMENSION", single_from)
        covering = mutual_covering(X, y, max_bias, constant, n_draws=4, center=False)
    assert broken(X, y, covering) == set()
    for pair in covering.pairs:
        centers = np.concatenate([pair.target.centers, pair.rest.centers])
        assert pair.separation == separation(X[centers], y[centers] == pair.label).value


def test_omega_is_its_formula() -> None:
    X, y = moons()
    covering = mutual_covering(X, y, n_draws=200)
    pair = covering.pairs[0]
    for cover in (pair.target, pair.rest):
        expected = max(w**2 / t**3 for w, t in zip(cover.mean_widths.value, cover.distances, strict=True))
        assert cover.complexity() == pytest.approx(expected)
    assert covering.omega == max(pair.target.complexity(), pair.rest.complexity())
    low, high = covering.omega_interval
    assert low <= covering.omega <= high
    assert "omega" in str(covering)


def test_several_classes_each_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    covering = mutual_covering(X, y, n_draws=10, center=False)
    assert [pair.label for pair in covering.pairs] == [0, 1, 2]
    assert covering.n_target == sum(pair.target.count for pair in covering.pairs)
    assert covering.n_rest == max(pair.rest.count for pair in covering.pairs)
    assert covering.separation == min(pair.separation for pair in covering.pairs)
    assert not broken(X, y, covering)
    alone = mutual_covering(X, y == 1, target=True, n_draws=10, center=False)
    np.testing.assert_array_equal(alone.pairs[0].target.centers, covering.pairs[1].target.centers)
    one = mutual_covering(X, y, target=2, n_draws=10, center=False)
    np.testing.assert_array_equal(one.pairs[0].rest.radii, covering.pairs[2].rest.radii)


def test_kinds_of_input_and_threads_change_nothing() -> None:
    X, y = load_digits(n_class=2, return_X_y=True)
    covering = mutual_covering(X, y, n_draws=4)
    for same in (X.astype(np.float32), sp.csr_array(X)):
        other = mutual_covering(same, y, n_draws=4, n_jobs=2)
        np.testing.assert_array_equal(other.pairs[0].target.centers, covering.pairs[0].target.centers)
        np.testing.assert_array_equal(other.pairs[0].rest.members, covering.pairs[0].rest.members)


def test_bad_input_is_refused() -> None:
    X, y = moons(20)
    with pytest.raises(ParameterError, match="below the radius"):
        mutual_covering(X, y, 0.5)
    for options in ({"max_bias": "large"}, {"constant": 0.0}, {"target": 7}, {"memory_limit": 0}, {"max_bias": np.inf}):
        with pytest.raises(ParameterError):
            mutual_covering(X, y, **options)
    with pytest.raises(ContradictoryLabelsError):
        mutual_covering([[0.0], [0.0]], [0, 1], 1.0)
    centered = mutual_covering(X + 100, y, radius(X + 100, center=True), center=True, n_draws=4)
    assert centered.n_target >= 1


@given(problem=problems(), order=st.sampled_from(["random", "greedy"]))
def test_every_point_is_covered_and_none_of_another_class(problem: Any, order: str) -> None:
    X, y = problem
    found = limit_cover(X, y, order, target="all")
    for row in range(len(X)):
        held = [
            naive.square(X[row], X[anchor]) < naive.square(X[anchor], X[witness])
            for anchor, witness in zip(found.anchors, found.witnesses, strict=True)
        ]
        own = found.classes == y[row]
        assert np.array(held)[own].any()
        assert not np.array(held)[~own].any()


def without_close_calls(seed: int) -> tuple[Any, Any]:
    """Points for which a ball that ends a few per cent earlier or later would hold the same ones."""
    rng, y = np.random.default_rng(seed), np.arange(16) % 2
    while True:
        X = rng.normal(size=(16, 2)) + np.column_stack([2.0 * y, 0 * y])
        distances = np.linalg.norm(X[:, None] - X[None], axis=2)
        reach = np.where(y[:, None] != y[None], distances, np.inf).min(axis=1)
        if np.abs(distances[y == 1][:, y == 1] / reach[y == 1][:, None] - 1).min() > 0.04:
            return X, y


@pytest.mark.parametrize("seed", range(3))
def test_a_very_wide_network_has_the_same_detectors(seed: int) -> None:
    X, y = without_close_calls(seed)
    limit = limit_cover(X, y, target=1, random_state=seed)
    made = fixed_width(X, y, 200_000, Options(max_bias=8 * np.abs(X).max(), center=False, target=1), seed)
    np.testing.assert_array_equal(made.trace.anchors, limit.anchors)
    np.testing.assert_array_equal(made.trace.coverage, limit.coverage)
    np.testing.assert_array_equal(made.trace.witnesses, limit.witnesses)


def test_components_are_all_points_in_the_closed_ball() -> None:
    X, y = moons()
    covering = mutual_covering(X, y)
    for cover in (covering.pairs[0].target, covering.pairs[0].rest):
        own = np.flatnonzero(y == y[cover.centers[0]])
        for index, (center, reach) in enumerate(zip(cover.centers, cover.radii, strict=True)):
            held = own[np.linalg.norm(X[own] - X[center], axis=1) <= reach]
            assert cover.component(index).tolist() == held.tolist()
            gap = cover.distances[index]
            assert reach <= gap / np.sqrt(1 + np.log(covering.max_bias / gap))


def test_few_balls_where_classes_are_apart_and_many_where_they_alternate() -> None:
    X, y = moons()
    assert mutual_covering(X, y).n_target <= 5
    X, y = make_alternating_line(12)
    covering = mutual_covering(X, y, 1.0, target=1)
    assert (covering.n_target, covering.n_rest) == (12, 11)
    assert covering.separation == separation(X, y).value
    assert covering.omega == 0.0  # every component is a single point


def test_a_small_pool_of_candidates_still_covers() -> None:
    X, y = moons(500)
    covering = mutual_covering(X, y, memory_limit=300, n_draws=4, random_state=5, center=False)
    assert not broken(X, y, covering)
    assert covering.n_target <= 12


@given(problem=problems(kinds=("grid", "halves"), max_points=8), power=st.integers(-8, 8))
def test_exact_scaling_and_duplicates_change_no_center(problem: Any, power: int) -> None:
    X, y = problem
    reach = 2 * radius(X, center=False)
    plain = mutual_covering(X, y, reach, n_draws=4)
    scaled = mutual_covering(X * 2.0**power, y, reach * 2.0**power, n_draws=4)
    twice = mutual_covering(np.concatenate([X, X]), np.concatenate([y, y]), reach, n_draws=4)
    assert (scaled.n_target, scaled.n_rest) == (plain.n_target, plain.n_rest)
    assert not broken(np.concatenate([X, X]), np.concatenate([y, y]), twice)
    for one, two in zip(plain.pairs, scaled.pairs, strict=True):
        np.testing.assert_array_equal(one.target.centers, two.target.centers)
        np.testing.assert_allclose(two.target.radii, one.target.radii * 2.0**power, rtol=1e-12)


@given(problem=problems(kinds=("grid", "halves"), max_points=8), shift=st.integers(-4, 4))
def test_exact_motions_change_no_center(problem: Any, shift: int) -> None:
    X, y = problem
    plain, moved = (mutual_covering(data, y, 64.0, n_draws=4) for data in (X, shift - X[:, ::-1]))
    for one, two in zip(plain.pairs, moved.pairs, strict=True):
        np.testing.assert_array_equal(one.target.centers, two.target.centers)
        np.testing.assert_array_equal(one.rest.members, two.rest.members)
        assert one.separation == two.separation


def test_points_one_last_digit_apart() -> None:
    X, y = np.array([[1.0], [np.nextafter(1.0, 2.0)], [5e-324], [0.0]]), np.array([0, 1, 0, 1])
    covering = mutual_covering(X, y, 2.0, n_draws=4)
    assert (covering.n_target, covering.n_rest) == (2, 2)
    assert not broken(X, y, covering)
