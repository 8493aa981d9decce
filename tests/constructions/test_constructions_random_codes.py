"""Random codes: batches of sparse codes (Vershynin), slabs of codes (LiftedBaum), stored codes (Rajput)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive_certificate
from helpers import twins as naive_layers
from helpers.problems import chain_size, n_outputs, problems, random_labels, size
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from exactfit import AssumptionError, DataError, certify
from exactfit.constructions import LiftedBaum, Rajput, Vershynin
from exactfit.constructions.random_codes import RATE, batches, sphere_units


def close_pair():
    X, y = random_labels(20)
    return np.concatenate([X, X[:1] + np.array([1e-14, 0, 0, 0, 0, 0])]), np.append(y, 1 - y[0])


@pytest.mark.parametrize("k", [2, 3])
def test_sizes_are_those_of_the_formulas(k) -> None:
    X, y = random_labels(k=k)
    made = LiftedBaum().construct(X, y, random_state=0)
    n_slabs = len(made.trace.coverage)
    assert size(made.network) == chain_size(6, made.trace.n_drawn, 2 * n_slabs, n_outputs(k))
    made = Vershynin().construct(X, y, random_state=0)
    n_batches = len(made.trace.coverage)
    assert size(made.network) == chain_size(6 + 1, made.trace.n_drawn, n_batches, n_outputs(k))
    assert made.trace.coverage.sum() == np.sort(np.bincount(y))[:-1].sum()


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin()])
def test_codes_and_answers_in_exact_arithmetic(constructor) -> None:
    X, y = random_labels(24, d=3, k=3)
    network = constructor.construct(X, y, random_state=0).network
    assert [naive_certificate.chain_answer(network, x) for x in X] == y.tolist()


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin()])
def test_points_that_random_hyperplanes_do_not_part_get_a_cut(constructor) -> None:
    X, y = close_pair()
    made = constructor.construct(X, y, random_state=0)
    assert made.trace.n_fallback_cuts == 1
    assert made.network.widths[0] == made.trace.n_drawn + 1
    np.testing.assert_array_equal(made.network.decide(X), y)


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin()])
def test_digits_are_certified(constructor) -> None:
    X, y = load_digits(return_X_y=True)
    network = constructor.construct(X, y, random_state=0).network
    assert certify(network, X, y).holds


def test_units_of_the_sphere_fire_rarely_and_where_they_should() -> None:
    X = 3.0 + 2.0 * np.random.default_rng(0).standard_normal((4000, 3))
    inputs = np.column_stack([X, (X * X).sum(axis=1)])
    center, scale = X.mean(axis=0), np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    planes = sphere_units(center, scale, inputs, np.random.default_rng(0))
    fires = inputs @ planes.weights.T + planes.biases > 0
    assert 0.5 * RATE < fires.mean() < 1.5 * RATE
    z = (X - center) / scale
    squared = (z * z).sum(axis=1)
    rng = np.random.default_rng(0)
    normals = np.column_stack([rng.standard_normal((64, 3)), rng.standard_normal(64)])
    on_sphere = np.column_stack([2 * z, squared - 1]) / (squared + 1)[:, None]
    np.testing.assert_allclose((on_sphere**2).sum(axis=1), 1.0)
    np.testing.assert_array_equal(fires, on_sphere @ normals.T > 1.6448536269514722)


def test_batches_fire_on_their_class_alone() -> None:
    rng = np.random.default_rng(0)
    code = rng.random((60, 80)) < 0.2
    own, other = code[:25].astype(int), code[25:].astype(int)
    covered = np.zeros(25, dtype=bool)
    for batch, limit, coverage in batches((own @ own.T).astype(np.int32), (own @ other.T).astype(np.int32)):
        weights = own[batch].sum(axis=0)
        assert (other @ weights).max() == limit
        fires = own @ weights > limit
        assert fires[batch].all()
        assert coverage == (fires & ~covered).sum() > 0
        covered |= fires
    assert covered.all()


def test_what_the_sphere_cannot_hold_is_refused() -> None:
    X, y = random_labels(50)
    with pytest.raises(AssumptionError, match="Centre the data") as refusal:
        Vershynin().construct(X + 1e9, y, random_state=0)
    assert refusal.value.rows == tuple(range(50))
    for scale in (1e200, 1e-200):
        with pytest.raises(DataError, match="Scale them"):
            Vershynin().construct(X * scale, y, random_state=0)


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
