"""Nearest neighbour: the prototypes are Hart's."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import three_labels

from exactfit import TooLargeError
from exactfit._support.parameters import seed_sequence
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.constructions import (
    CondensedNeighbour,
)


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
        CondensedNeighbour(memory=10_000).construct(X, y, random_state=0)
