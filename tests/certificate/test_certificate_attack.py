"""An attack finds an upper bound: never below the exact radius."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from small_networks import answer, distances_to

from exactfit import certify
from exactfit.certificate.attack import least_distance
from exactfit.construct import Recipe, fixed_width
from exactfit.network.detectors import read_detectors

SEEDS = range(200)


def exact_radius(detectors, x: np.ndarray, code: int) -> float:
    """The least distance to a closed cell with another answer."""
    W, b = detectors.planes.astype(float), detectors.first.bias
    values, away = W @ x + b, distances_to(detectors, x)
    on = (values > 0).astype(np.int64)
    if answer(detectors, on) != code:
        return 0.0
    best = np.inf
    for pattern in itertools.product((0, 1), repeat=len(b)):
        bits = np.array(pattern)
        if away[bits != on].max(initial=0.0) >= best or answer(detectors, bits) == code:
            continue
        signs = np.where(bits == 1, 1.0, -1.0)
        move = least_distance(signs[:, None] * W, -signs * values)
        if move is not None and (signs * (W @ (x + move) + b) >= -1e-7).all():
            best = min(best, float(np.linalg.norm(move)))
    return best


def small_network(seed: int):
    """A network of at most ten hyperplanes in at most three dimensions, of every kind of detector and decoder."""
    rng = np.random.default_rng(seed)
    d, classes = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X = rng.normal(size=(8, d))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 8 - classes)])
    width = int(rng.integers(3, 11 if seed % 10 == 0 else 8))
    detectors, target = ("weighted", "mask")[seed % 2], ("all", None)[seed // 2 % 2]
    made = fixed_width(X, y, width, Recipe(detectors=detectors, target=target), random_state=seed)
    return made.network, X, y


@pytest.mark.parametrize("block", range(10))
def test_radii_are_below_the_exact_ones_and_those_below_what_an_attack_finds(block: int) -> None:
    for seed in SEEDS[20 * block : 20 * (block + 1)]:
        network, X, y = small_network(seed)
        certificate = certify(network, X, y, attack=True)
        detectors = read_detectors(network)
        exact = np.array([exact_radius(detectors, x, code) for x, code in zip(X, y, strict=True)])
        assert (certificate.radii <= exact * (1 + 1e-9)).all()
        assert ((certificate.radii == 0) == (exact == 0)).all()
        assert certificate.robust_radius == certificate.radii.min() == certificate.radii[certificate.radius_row]
        assert (exact[certificate.errors] == 0).all()
        if certificate.radius_upper is not None:
            assert exact[exact > 0].min() <= certificate.radius_upper * (1 + 1e-9)
