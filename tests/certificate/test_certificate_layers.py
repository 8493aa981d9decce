"""Layers of chains know how far points may move: balls, shared projections, ramps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_networks import line

from exactfit.certificate import certify
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import RELU, THRESHOLD


def test_balls_know_their_distance() -> None:
    rng = np.random.default_rng(0)
    centres, radii, X = rng.normal(size=(6, 3)), rng.uniform(0.5, 1.0, 6), rng.normal(size=(40, 3))
    weights = np.column_stack([2 * centres, -np.ones(6)])
    balls = Layer(Dense(weights), radii**2 - (centres**2).sum(axis=1), THRESHOLD)
    some = Layer(Dense(np.ones((1, 6))), np.array([-0.5]), None)
    network = Network((balls, some), Decoder("sign", (0, 1)), "append_squared_norm")
    distances = np.linalg.norm(X[:, None] - centres[None], axis=2)
    certificate = certify(network, X, (distances < radii).any(axis=1).astype(int))
    assert (certificate.holds, certificate.float64_safe, certificate.radius_method) == (True, True, "nearest sphere")
    assert certificate.robust_radius == pytest.approx(np.abs(distances - radii).min(), rel=1e-6)
    linear = replace(network, layers=(Layer(Dense(weights[:1]), np.zeros(1), None),))
    assert certify(linear, X, np.zeros(40, dtype=int)).robust_radius is None


def test_a_shared_projection_knows_its_distance() -> None:
    rng = np.random.default_rng(1)
    a, X = rng.normal(size=5), rng.normal(size=(30, 5))
    z = X @ a
    t = np.sort(z)[:-1] + np.diff(np.sort(z)) / 2
    network = Network(
        (
            Layer(Dense(a[None]), np.zeros(1), None),
            Layer(Dense(np.ones((29, 1))), -t, THRESHOLD),
            Layer(Dense(np.ones((1, 29))), np.zeros(1), None),
        ),
        Decoder("nearest", tuple(range(30)), tuple(map(float, range(30)))),
    )
    certificate = certify(network, X, np.argsort(np.argsort(z)))
    assert (certificate.holds, certificate.radius_method) == (True, "nearest hyperplane")
    assert certificate.robust_radius == pytest.approx(np.diff(np.sort(z)).min() / 2 / np.linalg.norm(a), rel=1e-9)


def test_ramps_have_a_lipschitz_bound() -> None:
    network = line(RELU, [1, 1], [-1.0, -2.0], [4, -4], -2, Decoder("sign", (0, 1)))
    certificate = certify(network, np.array([[0.0], [1.25], [1.75], [3.0]]), [0, 0, 1, 1])
    assert (certificate.holds, certificate.radius_method) == (True, "Lipschitz bound")
    assert 1 / 8 * (1 - 1e-9) <= certificate.robust_radius <= 1 / 4  # the slope is 4; the bound is 8
