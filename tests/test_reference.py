"""The algorithms of ``exactfit.reference`` against the fast ones: the same networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from exactfit import Options, adaptive_width, fixed_width
from exactfit.reference import algorithm_1, algorithm_2, mask_detector, weighted_detector

Problem = tuple[NDArray[np.float64], NDArray[np.int64], np.random.Generator]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Few points with integer coordinates: their float64 sums with float32 weights have the exact sign."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = np.unique(rng.integers(-5, 6, (draw(st.integers(4, 40)), draw(st.integers(1, 3)))), axis=0).astype(np.float64)
    n_classes = draw(st.integers(2, 4))
    y = rng.integers(0, n_classes, len(X))
    y[: min(n_classes, len(X))] = np.arange(n_classes)[: len(X)]
    assume(len(X) > 1)  # equal points become one
    return X, np.unique(y, return_inverse=True)[1], rng


def planes_of(network: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return network.layers[0].weights.values.astype(np.float64), network.layers[0].bias


@given(problems(), st.integers(1, 100))
def test_fixed_width_builds_the_network_of_algorithm_2(problem: Problem, width: int) -> None:
    X, y, rng = problem
    planes, order = (
        (rng.normal(size=(width, X.shape[1])).astype(np.float32), rng.normal(size=width)),
        rng.permutation(len(X)),
    )
    made = fixed_width(X, y, hyperplanes=planes, order=order, options=Options(target="all"))
    found = algorithm_2(X, y, planes[0].astype(np.float64), planes[1], rng=rng, order=order)
    detectors = made.network.layers[1]
    np.testing.assert_array_equal(found.anchors, made.trace.anchors)
    np.testing.assert_array_equal(found.counters, detectors.weights.bits.to_bool())
    np.testing.assert_array_equal(found.limits, detectors.bias)
    np.testing.assert_array_equal(found.classes, made.trace.detector_classes)
    np.testing.assert_array_equal(found.uncovered, made.trace.uncovered)
    np.testing.assert_array_equal(found.predict(X), made.network.decide(X))


@given(problems(), st.integers(0, 100), st.integers(0, 2**32))
def test_adaptive_width_stops_where_algorithm_1_does(problem: Problem, min_width: int, seed: int) -> None:
    X, y, rng = problem
    options = Options(target="all", center=False, fallback_cuts=False, min_width=min_width)
    made = adaptive_width(X, y, options, random_state=seed)
    # Those that became detectors come first; whoever they cover is passed over, wherever it is in the order.
    order = np.concatenate([made.trace.anchors, np.setdiff1d(np.arange(len(X)), made.trace.anchors)])
    planes = zip(*planes_of(made.network), strict=True)
    found = algorithm_1(X, y, rng=rng, min_width=min_width, hyperplanes=planes, order=order)
    assert len(found.biases) == made.network.widths[0]
    np.testing.assert_array_equal(found.anchors, made.trace.anchors)
    np.testing.assert_array_equal(found.limits, made.network.layers[1].bias)
    np.testing.assert_array_equal(found.predict(X), y)


@pytest.mark.parametrize("make", [mask_detector, weighted_detector])
@given(problem=problems())
def test_algorithm_1_interpolates(make: Any, problem: Problem) -> None:
    X, y, rng = problem
    network = algorithm_1(X, y, rng=rng, make=make)
    assert len(network.uncovered) == 0
    fires = network.fires(X)
    np.testing.assert_array_equal(network.predict(X), y)
    assert not fires[y[:, None] != network.classes].any()


@given(problems(), st.integers(1, 30))
def test_detectors_over_few_hyperplanes_fire_on_no_point_of_another_class(problem: Problem, width: int) -> None:
    X, y, rng = problem
    network = algorithm_2(X, y, rng.normal(size=(width, X.shape[1])), rng.normal(size=width), rng=rng)
    fires = network.fires(X)
    assert not fires[y[:, None] != network.classes].any()
    claimed = (fires & (y[:, None] == network.classes)).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~claimed), network.uncovered)


def test_one_target_of_two_classes_leaves_silence_to_the_other() -> None:
    X, y = make_moons(100, noise=0.1, random_state=0)
    network = algorithm_1(X, y, rng=np.random.default_rng(0), targets=[1])
    assert set(network.classes.tolist()) == {1}
    np.testing.assert_array_equal(network.predict(X), y)


def test_weights_need_fewer_detectors_than_masks() -> None:
    X, y = make_moons(200, noise=0.1, random_state=0)
    masks, weights = (
        algorithm_1(X, y, rng=np.random.default_rng(0), min_width=200, make=make)
        for make in (mask_detector, weighted_detector)
    )
    assert 2 * len(weights.limits) < len(masks.limits)
