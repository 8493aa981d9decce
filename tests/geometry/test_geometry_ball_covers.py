"""How balls become coverings: components, few balls, small pools, exact motions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from helpers.problems import moons, problems
from hypothesis import given
from hypothesis import strategies as st

from exactfit.geometry import (
    is_mutual_covering,
    make_alternating_line,
    mutual_covering,
    radius,
    separation,
)
from exactfit.geometry.ball_covers import admissible_radius
from exactfit.geometry.covering import MutualCovering


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


def test_a_small_pool_of_candidates_still_covers() -> None:
    X, y = moons(500)
    covering = mutual_covering(X, y, memory_limit=300, n_draws=4, random_state=5)
    assert is_mutual_covering(X, y, covering)
    assert covering.n_target <= 12


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
