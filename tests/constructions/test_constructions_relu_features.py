"""Random layers and a separator: fitted beyond all rounding, or refused with rows. Caps: zero at all shorter points."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import chain_size, n_outputs, problems, three_labels
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons

from exactfit import AssumptionError, ParameterError
from exactfit.constructions import (
    BallCover,
    Caps,
    CondensedNeighbour,
    PolytopeCover,
    RandomFeatures,
)

each_depth = pytest.mark.parametrize("layers", [1, 2])


def random_problem(n, d, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = range(n_classes)
    return rng.standard_normal((n, d)), y


@each_depth
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_size_is_the_one_that_it_says(layers, n_classes):
    X, y = random_problem(50, 4, n_classes)
    network = RandomFeatures(layers).construct(X, y, random_state=0).network
    width, outputs = network.widths[0], n_outputs(n_classes)
    assert network.widths == (*[width] * layers, outputs)
    assert (network.n_neurons, network.n_parameters) == chain_size(4, *[width] * layers, outputs)


@each_depth
def test_no_order_of_summation_changes_an_answer(layers):
    """Every sum backwards, and in float64 products of BLAS: the signs stay."""
    X, y = random_problem(120, 5, 3)
    network = RandomFeatures(layers).construct(X, y, random_state=1).network
    for turn in (1, -1):
        values = X
        for layer in network.layers:
            values = values[:, ::turn] @ layer.weights.values[:, ::turn].T + layer.bias
            if layer.activation is not None:
                values = np.maximum(values, 0.0)
        np.testing.assert_array_equal(values > 0, y[:, None] == np.arange(3))


@each_depth
@pytest.mark.parametrize("power", [-600, 500])
def test_the_scale_of_the_data_does_not_matter(layers, power):
    """Times a power of two: the first weights are divided by it, and all else is the same, bit for bit."""
    X, y = random_problem(40, 3, 2)
    one, other = (
        RandomFeatures(layers).construct(given, y, random_state=0).network for given in (X, np.ldexp(X, power))
    )
    np.testing.assert_array_equal(np.ldexp(other.layers[0].weights.values, power), one.layers[0].weights.values)
    np.testing.assert_array_equal(other.layers[0].bias, one.layers[0].bias)
    for before, after in zip(one.layers[1:], other.layers[1:], strict=True):
        np.testing.assert_array_equal(before.weights.values, after.weights.values)
        np.testing.assert_array_equal(before.bias, after.bias)


@each_depth
def test_widths_grow_with_the_work(layers):
    """Random labels ask for about N / 2 features; separated clouds for a few."""
    X, y = random_problem(200, 6, 2)
    clouds = X + 20.0 * y[:, None]
    easy = RandomFeatures(layers).construct(clouds, y, random_state=0).network.widths[0]
    hard = RandomFeatures(layers).construct(X, y, random_state=0).network.widths[0]
    assert easy == 8
    assert 64 < hard <= 512


@each_depth
def test_alternating_labels_on_a_line_need_a_kink_in_every_gap(layers):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    network = RandomFeatures(layers).construct(X, y, random_state=0).network
    np.testing.assert_array_equal(network.decide(X), y)
    assert network.widths[0] > 18


@each_depth
def test_points_that_float64_cannot_tell_apart_are_named(layers):
    x = np.array([0.0, 1.0, np.nextafter(1.0, 2.0), 3.0])
    with pytest.raises(AssumptionError, match="more than rounding errors") as refusal:
        RandomFeatures(layers).construct(x[:, None], np.array([0, 0, 1, 1]), random_state=0)
    assert set(refusal.value.rows) & {1, 2}


@each_depth
@settings(max_examples=15)  # a refusal comes after many widths
@given(data=problems(), seed=st.integers(0, 3))
def test_fitted_or_refused_with_a_reason(layers, data, seed):
    X, y = data
    wrong = np.ones(len(X), dtype=bool)
    try:
        wrong = RandomFeatures(layers).construct(X, y, random_state=seed).network.decide(X) != y
    except AssumptionError as refusal:
        wrong[list(refusal.rows)] = False  # at least one point, and no other rows than those of X
        assert not wrong.all()
    else:
        assert not wrong.any()


def test_other_depths_are_refused():
    with pytest.raises(ParameterError, match="layers must be 1 or 2, got 3"):
        RandomFeatures(3)


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
