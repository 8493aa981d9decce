"""Mutual coverings are what the definition says, and the check against it finds every fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import naive_geometry as naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_moons
from strategies import problems

from exactfit import ContradictoryLabelsError, DataError, ParameterError
from exactfit.geometry import is_mutual_covering, make_alternating_line, mutual_covering, neighbours, radius, separation
from exactfit.geometry.covering import MutualCovering
from exactfit.geometry.covering_build import admissible_radius


def balls_of(pair: Any) -> dict[str, Any]:
    return {side: (cover.centers, cover.radii) for side, cover in (("target", pair.target), ("rest", pair.rest))}


def as_arguments(balls: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{side}_{name}": part for side in balls for name, part in zip(("centers", "radii"), balls[side], strict=True)
    }


@pytest.mark.parametrize("single_from", [0, 32])
@given(problem=problems(max_points=9), constant=st.sampled_from([0.1, 1.0, 3.0]), factor=st.sampled_from([1.0, 4.0]))
def test_coverings_meet_the_definition(single_from: int, problem: Any, constant: float, factor: float) -> None:
    X, y = problem
    max_bias = factor * radius(X, center=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "DOUBLE_DIMENSION", single_from)
        covering = mutual_covering(X, y, max_bias, constant, n_draws=4, center=False)
    check = is_mutual_covering(X, y, covering, center=False)
    assert check, str(check)
    for pair in covering.pairs:
        assert naive.broken_conditions(X, y, pair.label, balls_of(pair), max_bias, constant) == set()
        centers = np.concatenate([pair.target.centers, pair.rest.centers])
        assert pair.separation == separation(X[centers], y[centers] == pair.label).value


@given(data=st.data(), problem=problems(kinds=("grid", "halves", "interval"), max_points=7))
def test_the_check_finds_what_the_naive_one_finds(data: Any, problem: Any) -> None:
    X, y = problem
    target = data.draw(st.sampled_from(sorted(set(y.tolist()))))
    sizes = st.sampled_from([0.0, 0.5, 1.0, 2.0**0.5, 0.25])
    balls = {}
    for side in ("target", "rest"):
        rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=4, unique=True))
        balls[side] = rows, [data.draw(sizes) for _ in rows]
    max_bias = data.draw(st.sampled_from([0.5, 2.0, 5.0]))
    if set(balls["target"][0]) & set(balls["rest"][0]):
        return
    check = is_mutual_covering(
        X, y, target=target, max_bias=max_bias, constant=0.5, center=False, **as_arguments(balls)
    )
    expected = naive.broken_conditions(X, y, target, balls, max_bias, 0.5)
    assert {(failure.condition, failure.side, failure.row) for failure in check.failures} == expected
    assert bool(check) == check.holds == (not expected)


def moons(n: int = 300) -> tuple[Any, Any]:
    return make_moons(n, noise=0.05, random_state=0)


def test_every_condition_is_named_with_its_place() -> None:
    X, y = np.array([[0.0], [0.1], [3.0], [3.2]]), np.array([1, 1, 0, 0])
    balls: dict[str, Any] = {"target": ([0], [0.1]), "rest": ([2], [3.2 - 3.0])}

    def failing(**changes: Any) -> set[tuple[str, str, int]]:
        arguments = as_arguments(balls) | {"target": 1, "max_bias": 3.2, "constant": 1.0, "center": False} | changes
        check = is_mutual_covering(X, y, **arguments)
        assert all(str(failure.row) in failure.detail for failure in check.failures if failure.row >= 0)
        return {(failure.condition, failure.side, failure.row) for failure in check.failures}

    assert failing(rest_radii=[0.2 + 1e-9]) == set()
    assert failing(rest_radii=[0.1]) == {("cover", "rest", 3)}
    assert failing(max_bias=3.0) == {("max_bias", "both", -1)} | failing(max_bias=3.0, target_radii=[0.1]) - set()
    assert ("radius", "target", 0) in failing(target_radii=[3.0])
    assert ("class", "target", 3) in failing(target_centers=[3], target_radii=[0.1])
    assert failing(rest_radii=[0.21], separation=3.5) == {("separation", "both", 0)}
    assert failing(rest_radii=[0.21], separation=3.0) == set()


def test_centers_too_far_apart_for_max_bias_are_refused() -> None:
    check = is_mutual_covering(
        [[-1.0], [2.0]], [0, 1], target=1, max_bias=1.0,
        target_centers=[1], target_radii=[0.0], rest_centers=[0], rest_radii=[0.0],
    )  # fmt: skip
    assert {failure.condition for failure in check.failures} == {"max_bias", "radius"}


def test_the_closest_calls_are_decided_in_more_digits() -> None:
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    arguments: dict[str, Any] = {
        "target": 1, "max_bias": 1.0, "target_centers": [1], "rest_centers": [0], "rest_radii": [0.0],
    }  # fmt: skip
    assert is_mutual_covering(X, y, target_radii=[1.0], **arguments)  # f(1) = 1 exactly
    assert not is_mutual_covering(X, y, target_radii=[np.nextafter(1.0, 2.0)], **arguments)


def test_components_are_all_points_in_the_closed_ball() -> None:
    X, y = moons()
    covering = mutual_covering(X, y)
    for cover in (covering.pairs[0].target, covering.pairs[0].rest):
        own = np.flatnonzero(y == y[cover.centers[0]])
        for index, (center, reach) in enumerate(zip(cover.centers, cover.radii, strict=True)):
            held = own[np.linalg.norm(X[own] - X[center], axis=1) <= reach]
            assert cover.component(index).tolist() == held.tolist()
            assert reach <= admissible_radius(cover.distances[index], covering.max_bias)
    broken = replace(covering.pairs[0].target, members=np.roll(covering.pairs[0].target.members, 1))
    wrong = MutualCovering((replace(covering.pairs[0], target=broken),), covering.max_bias, 1.0)
    assert {failure.condition for failure in is_mutual_covering(X, y, wrong).failures} == {"component"}


def test_few_balls_where_classes_are_apart_and_many_where_they_alternate() -> None:
    X, y = moons()
    assert mutual_covering(X, y).n_target <= 5
    X, y = make_alternating_line(12)
    covering = mutual_covering(X, y, 1.0, target=1)
    assert (covering.n_target, covering.n_rest) == (12, 11)
    assert covering.separation == separation(X, y).value
    assert covering.omega == 0.0  # every component is a single point


def test_omega_is_its_formula() -> None:
    X, y = moons()
    covering = mutual_covering(X, y, n_draws=200)
    pair = covering.pairs[0]
    for cover, omega in ((pair.target, covering.omega_target), (pair.rest, covering.omega_rest)):
        expected = max(w**2 / t**3 for w, t in zip(cover.mean_widths.value, cover.distances, strict=True))
        assert omega == pytest.approx(expected)
    low, high = covering.omega_interval
    assert low <= covering.omega <= high
    assert "omega" in str(covering)


def test_a_small_pool_of_candidates_still_covers() -> None:
    X, y = moons(500)
    covering = mutual_covering(X, y, memory=300, n_draws=4, random_state=5)
    assert is_mutual_covering(X, y, covering)
    assert covering.n_target <= 12


def test_several_classes_each_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    covering = mutual_covering(X, y, n_draws=10)
    assert [pair.label for pair in covering.pairs] == [0, 1, 2]
    assert covering.n_target == sum(pair.target.count for pair in covering.pairs)
    assert covering.n_rest == max(pair.rest.count for pair in covering.pairs)
    assert covering.separation == min(pair.separation for pair in covering.pairs)
    assert is_mutual_covering(X, y, covering)
    alone = mutual_covering(X, y == 1, target=True, n_draws=10)
    np.testing.assert_array_equal(alone.pairs[0].target.centers, covering.pairs[1].target.centers)
    one = mutual_covering(X, y, target=2, n_draws=10)
    np.testing.assert_array_equal(one.pairs[0].rest.radii, covering.pairs[2].rest.radii)


def test_kinds_of_input_and_threads_change_nothing() -> None:
    X, y = load_digits(n_class=2, return_X_y=True)
    covering = mutual_covering(X, y, n_draws=4)
    for same in (X.astype(np.float32), sp.csr_array(X)):
        other = mutual_covering(same, y, n_draws=4, n_jobs=2)
        np.testing.assert_array_equal(other.pairs[0].target.centers, covering.pairs[0].target.centers)
        np.testing.assert_array_equal(other.pairs[0].rest.members, covering.pairs[0].rest.members)


@given(problem=problems(kinds=("grid", "halves"), max_points=8), power=st.integers(-8, 8))
def test_exact_scaling_and_duplicates_change_no_center(problem: Any, power: int) -> None:
    X, y = problem
    reach = radius(X)
    plain = mutual_covering(X, y, reach, n_draws=4)
    scaled = mutual_covering(X * 2.0**power, y, reach * 2.0**power, n_draws=4)
    twice = mutual_covering(np.concatenate([X, X]), np.concatenate([y, y]), reach, n_draws=4)
    assert (scaled.n_target, scaled.n_rest) == (plain.n_target, plain.n_rest)
    assert is_mutual_covering(np.concatenate([X, X]), np.concatenate([y, y]), twice)
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
    assert is_mutual_covering(X, y, covering)


def test_bad_input_is_refused() -> None:
    X, y = moons(20)
    with pytest.raises(ParameterError, match="below the radius"):
        mutual_covering(X, y, 0.5)
    for options in ({"max_bias": "large"}, {"constant": 0.0}, {"target": 7}, {"memory": 0}, {"max_bias": np.inf}):
        with pytest.raises(ParameterError):
            mutual_covering(X, y, **options)
    with pytest.raises(ContradictoryLabelsError):
        mutual_covering([[0.0], [0.0]], [0, 1], 1.0)
    centered = mutual_covering(X + 100, y, radius(X + 100, center=True), center=True, n_draws=4)
    assert centered.n_target >= 1


def test_bad_proposals_are_refused() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    good: dict[str, Any] = {"target_centers": [1], "target_radii": [0.1], "rest_centers": [0], "rest_radii": [0.1]}
    with pytest.raises(DataError, match="no row"):
        is_mutual_covering(X, y, target=1, max_bias=1.0, **good | {"target_centers": [7]})
    for change in ({"target_radii": [-1.0]}, {"target_radii": None}, {"rest_centers": []}, {"rest_radii": [1.0, 2.0]}):
        with pytest.raises(ParameterError):
            is_mutual_covering(X, y, target=1, max_bias=1.0, **good | change)
    with pytest.raises(ParameterError, match="target"):
        is_mutual_covering(X, y, max_bias=1.0, **good)
    with pytest.raises(ParameterError, match="max_bias"):
        is_mutual_covering(X, y, target=1, **good)
    with pytest.raises(ParameterError, match="MutualCovering"):
        is_mutual_covering(X, y, "balls")  # type: ignore[arg-type]
