"""Networks side by side in one are each of them again when they are parted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit.construct import Recipe, fixed_width
from exactfit.network.parts import are_apart, parts_of, side_by_side, starts_of


def some_networks(count: int, detectors: str, seed: int = 0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    recipe = Recipe(detectors=detectors)
    return X, [fixed_width(X, y, 20 + 7 * k, recipe, random_state=seed + k).network for k in range(count)]


def places(networks):
    return starts_of([one.widths[0] for one in networks]), starts_of([one.widths[1] for one in networks])


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
@given(count=st.integers(1, 4), seed=st.integers(0, 5))
def test_parted_they_are_what_they_were(detectors, count, seed) -> None:
    _, networks = some_networks(count, detectors, seed)
    found = parts_of(side_by_side(networks), *places(networks))
    assert [one.digest for one in found] == [one.digest for one in networks]


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_the_one_network_adds_up_what_fires_in_any(detectors) -> None:
    X, networks = some_networks(3, detectors)
    np.testing.assert_array_equal(side_by_side(networks)(X), sum(one(X) for one in networks))


def test_detectors_that_reach_into_another_part_are_seen() -> None:
    _, networks = some_networks(2, "mask")
    joint, (planes, detectors) = side_by_side(networks), places(networks)
    assert are_apart(joint, planes, detectors)
    moved = planes.copy()
    moved[1] -= 5
    assert not are_apart(joint, moved, detectors)
