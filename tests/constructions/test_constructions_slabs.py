"""Slabs around hyperplanes through groups of points: Baum and Bubeck et al., and the repairs of general position."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import twins as naive
from helpers.problems import DEGENERATE, simplex, wide_labels

from exactfit.constructions import Baum, Bubeck
from exactfit.constructions.slabs import ScaledPoints, slab_through


def position(slab, cloud, x) -> Fraction:
    """How far x lies from the middle of a slab, in exact arithmetic, less the slab's half-width."""
    value = naive.exact(cloud.weights(slab.normal[None, :])[0], x, -slab.center)
    return abs(Fraction(value)) - Fraction(slab.half_width)


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("most", [1, 3, 50])
def test_a_slab_holds_what_it_says_and_nothing_it_must_avoid(case, most) -> None:
    X, y = DEGENERATE[case]()
    cloud = ScaledPoints.of(X)
    own = np.flatnonzero(y == 1)
    free = (y == 1) & (np.arange(len(X)) % 2 == 0)
    slab = slab_through(cloud, own[:most], free, np.random.default_rng(0))
    assert own[0] in slab.inside
    assert set(slab.inside) <= set(own)
    places = [position(slab, cloud, x) for x in X]
    np.testing.assert_array_equal(np.flatnonzero([place < 0 for place in places]), slab.inside)
    assert min(abs(place) for place in places) > Fraction(slab.clearance) / 2


def test_points_in_general_position_all_go_on_one_hyperplane() -> None:
    X, _ = wide_labels()
    slab = slab_through(ScaledPoints.of(X), np.arange(10), np.zeros(len(X), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal(slab.inside, np.arange(10))


def test_a_group_on_which_another_point_lies_shrinks() -> None:
    """Linearly independent but affinely dependent: on the simplex, d points span all the others."""
    X, _ = simplex()
    cloud = ScaledPoints.of(X)
    assert cloud.rank == X.shape[1] - 1
    slab = slab_through(cloud, np.arange(6), np.zeros(len(X), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal(slab.inside, np.arange(5))


def test_scales_of_features_do_not_matter() -> None:
    X, y = wide_labels(d=5)
    scaled = X * 2.0 ** np.array([900, -900, 0, 300, -300])
    for constructor in (Baum(), Bubeck()):
        made, other = (constructor.construct(data, y, random_state=0).network for data in (X, scaled))
        np.testing.assert_array_equal(other.decide(scaled), y)
        assert made.widths == other.widths
        np.testing.assert_array_equal(made.layers[0].bias, other.layers[0].bias)
