"""Sizes are those of the formulas, every float64 evaluation is right, options are checked at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from helpers.problems import chain_size, n_outputs, size, three_labels

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


@pytest.mark.parametrize("k", [2, 3])
def test_sizes_are_those_of_the_formulas(k) -> None:
    X, y = three_labels(k=k)
    d, outputs = X.shape[1], n_outputs(k)
    made = Huang().construct(X, y, random_state=0)
    assert size(made.network) == chain_size(d, 1, len(made.trace.anchors), 1)
    made = Zhang().construct(X, y, random_state=0)
    assert size(made.network) == chain_size(d, 1, 2 * len(made.trace.anchors), 1)
    assert size(Zhang(ramps=False).construct(X, y, random_state=0).network) == chain_size(d, 1, len(X), 1)
    made = Caps().construct(X, y)
    assert size(made.network) == chain_size(d, len(made.trace.anchors), 1)
    for order in ("random", "greedy"):
        made = BallCover(order).construct(X, y, random_state=0)
        assert size(made.network) == chain_size(d + 1, len(made.trace.anchors), outputs)
    made = CondensedNeighbour().construct(X, y, random_state=0)
    prototypes = np.bincount(made.trace.detector_classes).tolist()
    bisectors = sum(a * b for a, b in combinations(prototypes, 2))
    assert size(made.network) == chain_size(d, bisectors, sum(prototypes) - max(prototypes), outputs)
    made = PolytopeCover().construct(X, y, random_state=0)
    assert size(made.network) == chain_size(d, made.network.widths[0], len(made.trace.anchors), outputs)
    made = AdaptiveWidth(hyperplanes="bisector").construct(X, y, random_state=0)
    assert size(made.network) == chain_size(d, made.trace.n_drawn, len(made.trace.anchors), outputs)


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
        lambda: PolytopeCover(memory_limit=0),
        lambda: CondensedNeighbour(memory_limit=-1),
        lambda: AdaptiveWidth(detectors="best"),
        lambda: FixedWidth(10, activation="cubic"),
    ],
)
def test_options_are_checked_at_once(make) -> None:
    with pytest.raises(ParameterError):
        make()
