"""Open balls in the limit: which points are near which."""

from __future__ import annotations

from typing import Any

import naive_geometry as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from exactfit import Recipe, fixed_width
from exactfit.geometry import (
    limit_cover,
)


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
    made = fixed_width(X, y, 200_000, Recipe(max_bias=8 * np.abs(X).max(), center=False, target=1), seed)
    np.testing.assert_array_equal(made.trace.anchors, limit.anchors)
    np.testing.assert_array_equal(made.trace.coverage, limit.coverage)
    np.testing.assert_array_equal(made.trace.witnesses, limit.witnesses)
