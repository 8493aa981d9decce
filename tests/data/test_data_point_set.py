"""The filter bounds squares from below, whatever the sizes; exact distances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.problems import problems
from hypothesis import given

from exactfit.data.point_set import PointSet, exact_distance
from exactfit.geometry import angular_separation, separation


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e150, 1e300])
def test_extreme_sizes(scale: float) -> None:
    X = scale * np.array([[1.0, 0.0], [0.5, 0.25], [0.0, 1.0], [0.75, 0.5]])
    y = [0, 1, 0, 1]
    assert separation(X, y).rows == naive.closest(X, y)
    assert separation(X, y).value == pytest.approx(scale * 0.3125**0.5)
    assert angular_separation(X, y).value == pytest.approx(naive.angle(*X[list(naive.narrowest(X, y))]))


def test_sizes_that_differ_by_the_whole_range() -> None:
    X = np.array([[0.0], [1e-300], [3e-300], [1e300], [-1e300]])
    assert separation(X, [0, 0, 1, 0, 1]).rows == (1, 2)
    assert separation(X, [0, 0, 1, 0, 1]).value == exact_distance(X[1], X[2])


@given(problem=problems(max_points=8))
def test_the_filter_bounds_the_squares_from_below(problem: Any) -> None:
    X, _ = problem
    point_set = PointSet(X, np.arange(len(X)))
    everyone = np.arange(len(X))
    scale = Fraction(4) ** -point_set.exponent
    for single in (True, False):
        side = point_set.side(everyone, single)
        product = point_set.products(side, side).astype(np.float64).sum(axis=0)
        lows = side.lows[:, None] + side.lows[None, :] - 2 * product
        lows -= side.norms[:, None] * side.norms[None, :] * point_set.slope(single)
        for i in everyone:
            for j in everyone:
                assert Fraction(lows[i, j]) <= naive.square(X[i], X[j]) * scale + Fraction(1e-300)
