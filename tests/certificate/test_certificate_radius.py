"""Chains know how far points may move: balls, projections, ramps. An attack never finds less than the exact radius."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.networks import answer, distances_to, line

from exactfit import certify
from exactfit.certificate.radius import Reach, least_distance
from exactfit.construct import Options, fixed_width
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.detector_network import read_detectors

SEEDS = range(200)


def exact_radius(detectors, x: np.ndarray, code: int) -> float:
    """The least distance to a closed cell with another answer."""
    W, b = detectors.normals.astype(float), detectors.biases
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
    made = fixed_width(X, y, width, Options(detectors=detectors, target=target), random_state=seed)
    return made.network, X, y


def test_a_singular_matrix_within_scipy_ends_no_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Matrix is singular.")  # as nnls of SciPy 1.13 and 1.14 does

    monkeypatch.setattr("scipy.optimize.nnls", singular)
    assert least_distance(np.eye(2), np.ones(2)) is None


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


def test_a_reach_beyond_float64_is_its_largest_number():
    """A gap over a tiny slope overflows, which is no infinite radius and no warning either."""
    reach = Reach(layer=1, is_output=True, method="Lipschitz bound", slopes=np.array([1e-9, 2.0]))
    largest = np.finfo(np.float64).max
    np.testing.assert_array_equal(reach.of_gaps(np.array([[largest, 1.0], [largest, 8.0]])), [largest / 2, 4.0])
    np.testing.assert_array_equal(replace(reach, slopes=np.array([1e-9])).of_gaps(np.array([[largest]])), [largest])
    np.testing.assert_array_equal(replace(reach, slopes=np.array([0.0])).of_gaps(np.array([[largest]])), [np.inf])
