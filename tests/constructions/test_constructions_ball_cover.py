"""Balls: open, those of the limit, with edges halfway."""

from __future__ import annotations

import numpy as np
import pytest
from constructors import PROBLEMS
from random_problems import three_labels

from exactfit import certify
from exactfit.constructions import (
    BallCover,
)
from exactfit.geometry import limit_cover


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
    X, y = three_labels(k=3)
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
