"""Sizes are those of the formulas, every float64 evaluation is right, options are checked at once."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import three_labels

from exactfit import ParameterError, certify
from exactfit.constructions import (
    AdaptiveWidth,
    BallCover,
    Caps,
    CondensedNeighbour,
    FixedWidth,
    Huang,
    PolytopeCover,
    Zhang,
)
from exactfit.constructions.ball_cover import ball_cover_size
from exactfit.constructions.base import n_outputs
from exactfit.constructions.caps import caps_size
from exactfit.constructions.huang import huang_size
from exactfit.constructions.nearest_neighbour import condensed_neighbour_size
from exactfit.constructions.own import own_size
from exactfit.constructions.polytopes import polytope_cover_size
from exactfit.constructions.zhang import zhang_size


def size(made) -> tuple[int, int]:
    return made.network.n_neurons, made.network.n_parameters


@pytest.mark.parametrize("k", [2, 3])
def test_sizes_are_those_of_the_formulas(k) -> None:
    X, y = three_labels(k=k)
    d, outputs = X.shape[1], n_outputs(k)
    made = Huang().construct(X, y, random_state=0)
    assert size(made) == huang_size(len(made.trace.anchors), d)
    made = Zhang().construct(X, y, random_state=0)
    assert size(made) == zhang_size(2 * len(made.trace.anchors), d)
    assert size(Zhang(ramps=False).construct(X, y, random_state=0)) == zhang_size(len(X), d)
    made = Caps().construct(X, y)
    assert size(made) == caps_size(len(made.trace.anchors), d)
    for order in ("random", "greedy"):
        made = BallCover(order).construct(X, y, random_state=0)
        assert size(made) == ball_cover_size(len(made.trace.anchors), d, outputs)
    made = CondensedNeighbour().construct(X, y, random_state=0)
    assert size(made) == condensed_neighbour_size(tuple(np.bincount(made.trace.detector_classes)), d)
    made = PolytopeCover().construct(X, y, random_state=0)
    assert size(made) == polytope_cover_size(made.network.widths[0], len(made.trace.anchors), d, outputs)
    made = AdaptiveWidth().construct(X, y, random_state=0)
    assert size(made) == own_size(made.trace.n_drawn, len(made.trace.anchors), d, outputs)


@pytest.mark.parametrize(
    "constructor",
    [
        BallCover(),
        BallCover("greedy"),
        Huang(),
        CondensedNeighbour(),
        PolytopeCover(),
        PolytopeCover("threshold"),
        Caps(),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_every_float64_evaluation_is_right(constructor, k) -> None:
    X, y = three_labels(k=k)
    for offset in (0.0, 100.0):
        network = constructor.construct(X + offset, y, random_state=0).network
        assert certify(network, X + offset, y, arithmetic="float64").holds


@pytest.mark.parametrize(
    "make",
    [
        lambda: BallCover("best"),
        lambda: PolytopeCover("sigmoid"),
        lambda: Huang(tries=0),
        lambda: Zhang(tries=1.5),
        lambda: CondensedNeighbour(memory=-1),
        lambda: AdaptiveWidth(selection="best"),
        lambda: FixedWidth(10, activation="cubic"),
    ],
)
def test_options_are_checked_at_once(make) -> None:
    with pytest.raises(ParameterError):
        make()
