"""Polytopes hold what a ball would, with fewer faces."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import three_labels

from exactfit import TooLargeError
from exactfit.constructions import (
    BallCover,
    PolytopeCover,
)


@pytest.mark.parametrize("activation", ["relu", "threshold"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_polytope_holds_what_a_ball_would_and_has_no_idle_face(activation, k) -> None:
    X, y = three_labels(n=100, k=k)
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


def test_polytopes_need_fewer_than_balls_for_three_labels() -> None:
    X, y = three_labels(n=300, d=10, k=2)
    polytopes = PolytopeCover().construct(X, y, random_state=0).network.widths[1]
    assert 4 * polytopes < BallCover("greedy").construct(X, y, random_state=0).network.widths[0]


def test_too_many_faces_are_refused() -> None:
    X, y = three_labels(n=200, k=2)
    with pytest.raises(TooLargeError, match="polytopes need"):
        PolytopeCover(memory_limit=1000).construct(X, y, random_state=0)


def test_both_activations_give_the_same_polytopes() -> None:
    X, y = three_labels()
    made = [PolytopeCover(activation).construct(X, y, random_state=0) for activation in ("relu", "threshold")]
    np.testing.assert_array_equal(*(each.network.layers[0].weights.values for each in made))
    np.testing.assert_array_equal(*(each.trace.anchors for each in made))
