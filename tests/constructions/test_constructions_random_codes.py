"""Random codes first: slabs of codes (LiftedBaum) and batches of sparse codes (Vershynin)."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive_certificate
from helpers.problems import chain_size, n_outputs, random_labels, size
from sklearn.datasets import load_digits

from exactfit import AssumptionError, DataError, certify
from exactfit.constructions import LiftedBaum, Vershynin
from exactfit.constructions.random_codes import RATE, Sphere, batches


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
    sphere = Sphere.around(X, inputs)
    planes = sphere.first(256, np.random.SeedSequence(0), np.arange(len(X)))
    fires = inputs @ planes.weights.T + planes.biases > 0
    assert 0.5 * RATE < fires.mean() < 1.5 * RATE
    z = (X - sphere.center) / sphere.scale
    squared = (z * z).sum(axis=1)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(0, spawn_key=(0, 0))))
    normals = np.column_stack([rng.standard_normal((64, 3)), rng.standard_normal(64)])
    on_sphere = np.column_stack([2 * z, squared - 1]) / (squared + 1)[:, None]
    np.testing.assert_allclose((on_sphere**2).sum(axis=1), 1.0)
    np.testing.assert_array_equal(fires[:, :64], on_sphere @ normals.T > 1.6448536269514722)


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
