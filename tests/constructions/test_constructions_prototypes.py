"""Balls: open, those of the limit, with edges halfway. Prototypes: those of Hart."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import PROBLEMS, three_labels

from exactfit import TooLargeError, certify
from exactfit._support.parameters import seed_sequence
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.constructions import (
    BallCover,
    CondensedNeighbour,
)
from exactfit.geometry import limit_cover


@pytest.mark.parametrize("selection", ["random", "greedy"])
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_balls_are_those_of_the_papers_limit(problem, selection) -> None:
    X, y = PROBLEMS[problem]()
    firsts = np.unique(X, axis=0, return_index=True)[1]
    X, y = X[np.sort(firsts)], y[np.sort(firsts)]
    made = BallCover(selection=selection).construct(X, y, random_state=7)
    limit = limit_cover(X, y, selection=selection, random_state=7)
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
    X, y = three_labels(n=80, k=k)
    made = CondensedNeighbour().construct(X, y, random_state=3)
    order = stream(seed_sequence(3), ORDER).permutation(len(X))
    assert made.trace.anchors.tolist() == condensed(X, y, order)
    points = np.random.default_rng(1).standard_normal((500, X.shape[1]))
    distances = ((points[:, None] - X[made.trace.anchors]) ** 2).sum(axis=2)
    expected = y[made.trace.anchors][distances.argmin(axis=1)]
    np.testing.assert_array_equal(made.network.decide(points), expected)


def test_too_many_prototypes_are_refused_before_memory_runs_out() -> None:
    X, y = three_labels(n=200, k=2)
    with pytest.raises(TooLargeError, match="prototypes need"):
        CondensedNeighbour(memory_limit=10_000).construct(X, y, random_state=0)
