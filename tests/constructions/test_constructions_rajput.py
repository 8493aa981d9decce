"""Hyperplanes, parities, buckets, products, sets: each layer does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import twins as naive_layers
from helpers.problems import n_outputs, problems
from hypothesis import given
from hypothesis import strategies as st

from exactfit import certify
from exactfit.constructions import Rajput


def random_problem(n, d, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = range(n_classes)
    return rng.standard_normal((n, d)), y


def signals(network, X):
    """Bits after every hidden layer."""
    seen = [X]
    for layer in network.layers[:-1]:
        seen.append(layer(seen[-1]))
    return [bits.to_bool() for bits in seen[1:]]


@pytest.mark.parametrize(("n", "n_classes"), [(2, 2), (40, 2), (150, 4)])
def test_the_size_is_the_one_that_it_says(n, n_classes):
    X, y = random_problem(n, 3, n_classes)
    network = Rajput().construct(X, y, random_state=0).network
    planes, counts, parities, choice, products, sets, _ = network.layers
    subsets = np.diff(parities.weights.matrix.indptr).tolist()
    n_buckets = int((products.bias == 0).sum())
    rest_bits = choice.n_units - n_buckets
    stored = n_buckets + rest_bits + n_buckets * (rest_bits + 1) + sets.n_units
    assert network.n_neurons == planes.n_units + sum(subsets) + len(subsets) + stored + n_outputs(n_classes)
    assert counts.n_units == sum(subsets)
    assert len(subsets) <= max(planes.n_units, 2 * np.log2(n) + 8)


def test_weights_are_small_whole_numbers_after_the_first_layer():
    X, y = random_problem(120, 4, 3)
    layers = Rajput().construct(X, y, random_state=0).network.layers[1:]
    for layer in layers:
        rows = naive_layers.rows_of(layer.weights)
        assert all(weight.denominator == 1 for row in rows for weight in row)
    weights = layers[4].weights.matrix
    r = layers[2].weights.matrix.shape[1]  # no rest is longer than a code
    assert weights.data.min() >= 1 - r
    assert weights.data.max() <= 1


def test_every_layer_does_what_it_says():
    X, y = random_problem(80, 3, 3)
    network = Rajput().construct(X, y, random_state=3).network
    everyone = np.concatenate([X, np.random.default_rng(1).standard_normal((50, 3)) * 3])
    codes, counts, parities, choice, products, sets = signals(network, everyone)
    masks, owners = network.layers[1].weights.bits.to_bool(), network.layers[2].weights.matrix.toarray() != 0
    for parity, owner in zip(parities.T, owners, strict=True):
        on = (codes & masks[owner][0]).sum(axis=1)
        np.testing.assert_array_equal(counts[:, owner], on[:, None] > np.arange(owner.sum()))
        np.testing.assert_array_equal(parity, on % 2 == 1)
    n_buckets = int((network.layers[4].bias == 0).sum())
    buckets, rest = choice[:, :n_buckets], choice[:, n_buckets:]
    np.testing.assert_array_equal(rest, parities[:, -rest.shape[1] :])
    assert (buckets.sum(axis=1) <= 1).all()
    with_bucket = np.column_stack([np.ones(len(rest), dtype=bool), rest])
    expected = (buckets[:, :, None] & with_bucket[:, None, :]).reshape(len(rest), -1)
    np.testing.assert_array_equal(products, expected)
    assert (sets.sum(axis=1) <= 1).all()  # a code is stored once
    np.testing.assert_array_equal(sets[:80].any(axis=1), y != np.bincount(y).argmax())


def test_a_stranger_belongs_to_one_class_always():
    """No code is stored for two classes, and where none is stored the point falls to the largest class."""
    X, y = random_problem(60, 2, 4)
    network = Rajput().construct(X, y, random_state=0).network
    far = np.random.default_rng(2).standard_normal((500, 2)) * 10
    decided = network.decide(far)
    assert set(decided) <= {0, 1, 2, 3}
    nobody = ~signals(network, far)[-1].any(axis=1)
    assert nobody.any()
    assert (decided[nobody] == np.bincount(y).argmax()).all()


def test_points_that_no_random_hyperplane_parts_are_parted_by_cuts():
    x = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1e9, -1e9])
    y = np.array([0, 1, 1, 0, 1])
    made = Rajput().construct(x[:, None], y, random_state=0)
    assert made.trace.n_fallback_cuts > 0
    assert made.trace.n_drawn + made.trace.n_fallback_cuts == made.network.widths[0]
    np.testing.assert_array_equal(made.network.decide(x[:, None]), y)


def test_exact_fractions_say_the_same():
    X, y = random_problem(15, 2, 3)
    network = Rajput().construct(X, y, random_state=0).network
    others = np.random.default_rng(3).standard_normal((10, 2))
    for x in np.concatenate([X, others]):
        assert network(x[None, :])[0].tolist() == naive_layers.outputs(network, x.tolist())


@given(data=problems(), seed=st.integers(0, 3))
def test_whatever_the_points_they_are_fitted(data, seed):
    X, y = data
    network = Rajput().construct(X, y, random_state=seed).network
    np.testing.assert_array_equal(network.decide(X), y)
    assert certify(network, X, y).holds
