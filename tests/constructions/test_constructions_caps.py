"""Caps: zero at all shorter points."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import three_labels
from sklearn.datasets import make_moons

from exactfit import AssumptionError
from exactfit.constructions import (
    BallCover,
    Caps,
    CondensedNeighbour,
    PolytopeCover,
)


def test_a_cap_is_zero_at_all_shorter_points() -> None:
    X, y = three_labels(n=600, d=8)
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


@pytest.mark.parametrize("constructor", [BallCover(), Caps(), CondensedNeighbour(), PolytopeCover()])
def test_norms_that_overflow_are_refused(constructor) -> None:
    X, y = three_labels(n=20)
    X[7] *= 1e200
    with pytest.raises(AssumptionError, match=r"squared norms .* rows 7\."):
        constructor.construct(X, y, random_state=0)
