"""Constructions over whole numbers: keys, registers, codes; Vardi and Park."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import naive_layers
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_problems import nonzero, random_problem, widest
from strategies import problems

from exactfit import ParameterError, certify
from exactfit.constructions import Park, Vardi
from exactfit.constructions.base import distant_keys, distinct_points, whole_keys
from exactfit.constructions.bit_extraction import label_bits
from exactfit.constructions.vardi import vardi_size


@pytest.mark.parametrize(("find", "gap"), [(whole_keys, 1), (distant_keys, 2)])
@given(data=problems(), seed=st.integers(0, 2))
def test_keys_are_exact_and_apart(find, gap, data, seed):
    points = distinct_points(*data)
    found = find(points, seed)
    values = [
        sum(w * Fraction(v) for w, v in zip(found.weights, x, strict=True)) + found.bias for x in points.X.tolist()
    ]
    assert [values[i] // 1 for i in found.order] == found.keys
    assert all(b - a >= gap for a, b in pairwise(found.keys))
    assert found.keys[0] == 0
    assert gap == 2 or all(value.denominator == 1 for value in values)


def test_keys_are_hardly_longer_than_a_random_direction_asks_for():
    """Gaps of N values on a line are about 1 / N^2 of their range: some 2 log2 N bits, and a few."""
    for whole in (False, True):
        points = distinct_points(*random_problem(1000, 10, 2, whole=whole))
        assert distant_keys(points, 0).n_bits <= 2 * np.log2(1000) + 6
    assert whole_keys(points, 0).n_bits <= 2 * np.log2(1000) + 5


@pytest.mark.parametrize(
    ("n", "n_classes", "group"), [(2, 2, None), (20, 2, 1), (23, 3, 5), (30, 5, 30), (120, 9, None)]
)
def test_vardi_has_the_size_that_it_says(n, n_classes, group):
    X, y = random_problem(n, 4, n_classes)
    network = Vardi(group).construct(X, y, random_state=1).network
    found, c = distant_keys(distinct_points(X, y), 1), label_bits(n_classes)
    sizes = [group] if group else range(1, n + 1)
    predicted = {k: vardi_size(-(-n // k), k, found.n_bits, c) for k in sizes}
    k = min(predicted, key=predicted.get)  # the shallowest is taken
    assert (len(network.layers) - 1, network.n_neurons) == predicted[k]
    assert max(network.widths) <= 10
    assert nonzero(network) <= 4 * network.n_neurons + X.shape[1]
    assert widest(network) <= max(k * found.n_bits, *(w.bit_length() for w in found.weights))


@pytest.mark.parametrize("group", [2, 3, 4, 7, 50])
def test_vardi_counts_a_padded_key_once(group):
    """The last group repeats its last key; were its label repeated, too, the output would be a multiple of it."""
    X, y = random_problem(9, 2, 4)
    found = distant_keys(distinct_points(X, y), 0)
    y[found.order[-1]] = 3
    y[found.order[:4]] = range(4)
    network = Vardi(group).construct(X, y, random_state=0).network
    assert network(X)[:, 0].tolist() == y.tolist()


def test_vardi_hits_a_key_and_nothing_beside_it():
    """A point belongs to a key on [key, key + 1] and no longer from a distance of one on, whatever the label."""
    X, y = np.array([[0.0], [4.0], [11.0], [30.0]]), np.array([2, 1, 3, 0])
    found = distant_keys(distinct_points(X, y), 0)
    (weight,), bias = found.weights, found.bias
    network = Vardi(2).construct(X, y, random_state=0).network
    label = dict(zip(found.keys, y[found.order].tolist(), strict=True))
    for z in range(found.keys[-1] + 4):
        x = Fraction(z - bias, weight)
        if Fraction(float(x)) == x:
            expected = label.get(z, label.get(z - 1, 0))
            assert network(np.array([[float(x)]]))[0, 0] == expected


both = pytest.mark.parametrize("constructor", [Vardi(), Park()], ids=["vardi", "park"])


@both
def test_outputs_are_labels_exactly_and_nothing_is_rounded_anywhere(constructor):
    X, y = random_problem(12, 3, 3)
    network = constructor.construct(X, y, random_state=0).network
    assert network(X)[:, 0].tolist() == y.tolist()
    strangers = np.random.default_rng(1).standard_normal((4, 3)) * [[1.0], [1e-3], [1e5], [1e300]]
    near = np.nextafter(X[:3], np.inf)
    for x in np.concatenate([strangers, near, X[:2]]):
        assert network(x[None, :])[0].tolist() == naive_layers.outputs(network, x.tolist())


@both
@pytest.mark.parametrize(
    "x",
    [
        1.0 + np.arange(9) * 2.0**-52,
        np.array([-1e300, -1.0, 0.0, 5e-324, 1e-300, 1.0, 1e300]),
        np.arange(8) * 2.0**600,
    ],
    ids=["neighbours", "all sizes", "far apart"],
)
def test_points_may_be_as_close_and_as_far_as_floats_can_be(constructor, x):
    y = np.arange(len(x)) % 3
    network = constructor.construct(x[:, None], y, random_state=0).network
    assert network(x[:, None])[:, 0].tolist() == y.tolist()


@both
@given(data=problems(), seed=st.integers(0, 3))
def test_whatever_the_points_they_are_fitted(constructor, data, seed):
    X, y = data
    network = constructor.construct(X, y, random_state=seed).network
    assert network(X)[:, 0].tolist() == list(y)


@both
def test_the_certificate_is_one_of_whole_numbers(constructor):
    X, y = random_problem(15, 2, 3)
    network = constructor.construct(X, y, random_state=0).network
    assert certify(network, X, y).holds
    y[4] = (y[4] + 1) % 3
    assert certify(network, X, y).errors.tolist() == [4]


def test_options_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match="group must be at least 1, got 0"):
        Vardi(group=0)
    with pytest.raises(ParameterError, match="cell must be at least 1, got -1"):
        Park(cell=-1)
