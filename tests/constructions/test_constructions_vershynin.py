"""Vershynin's construction: units of the sphere that fire rarely and where they should."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import random_labels

from exactfit import AssumptionError, DataError
from exactfit.constructions import Vershynin
from exactfit.constructions.vershynin import RATE, _batches, _Sphere


def test_units_of_the_sphere_fire_rarely_and_where_they_should() -> None:
    X = 3.0 + 2.0 * np.random.default_rng(0).standard_normal((4000, 3))
    sphere = _Sphere.around(X)
    planes = sphere.first(256, np.random.SeedSequence(0), np.arange(len(X)))
    fires = np.column_stack([X, (X * X).sum(axis=1)]) @ planes.weights.T + planes.biases > 0
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
    for batch, limit, coverage in _batches((own @ own.T).astype(np.int32), (own @ other.T).astype(np.int32)):
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
