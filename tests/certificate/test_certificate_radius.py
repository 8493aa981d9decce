"""Chains know how far points may move: balls, projections, ramps. An attack never finds less than the exact radius."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.networks import answer, distances_to, line
from hypothesis import given
from hypothesis import strategies as st

from exactfit import certify
from exactfit.certificate.layers import read_chain
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


def reach_of(W: np.ndarray, b: np.ndarray, values: np.ndarray, errors: np.ndarray, squared: bool) -> np.ndarray:
    """How far points may move before a threshold unit turns, from the units' values at them."""
    (layer,) = read_chain([Layer(Dense(W), b, THRESHOLD)])
    return Reach.of((layer,), squared).of_sums(layer, values, errors)


@given(st.integers(0, 10**6))
def test_no_unit_changes_its_sign_within_reach(seed: int) -> None:
    """A flat unit at its distance, a sphere at the nearest of many points of it."""
    rng = np.random.default_rng(seed)
    W, b, c = rng.standard_normal((3, 2)), rng.standard_normal(3), rng.choice([0.0, 0.5, -0.5], 3)
    X = rng.standard_normal((4, 2))
    flat, none = W @ X.T + b[:, None], np.full((3, 4), 1e-12)
    away = (np.abs(flat) / np.linalg.norm(W, axis=1)[:, None]).min(axis=0)
    reach = reach_of(W, b, flat, none, squared=False)
    np.testing.assert_allclose(reach, away, rtol=1e-6)
    assert (reach <= away).all()

    def unit(points: np.ndarray) -> np.ndarray:
        return points @ W.T + c * (points**2).sum(axis=-1)[..., None] + b

    reach = reach_of(np.column_stack([W, c]), b, unit(X).T, none, squared=True)
    angles = np.linspace(0, 2 * np.pi, 721)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for x, radius, signs in zip(X, reach, unit(X) > 0, strict=True):
        if np.isfinite(radius):
            for share, changes in ((0.999, False), (1.02, True)):
                moved = unit(x + share * radius * around) > 0
                assert (moved != signs).any() == changes


@pytest.mark.parametrize("c", [5e-324, -5e-324, 1e-200, -1e-200, 1e160, -1e160])
@pytest.mark.parametrize("value", [1e-300, 1.0, -1.0, 1e308, -1e308])
def test_nothing_is_claimed_of_a_sphere_whose_numbers_leave_the_range(c: float, value: float) -> None:
    with np.errstate(all="ignore"):
        W = np.array([[1e154, c]])
        assert reach_of(W, np.array([-value]), np.array([[value]]), np.zeros((1, 1)), squared=True) == 0.0


def test_a_flat_unit_without_slope_never_changes() -> None:
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    assert reach_of(np.zeros((1, 2)), np.ones(1), one, none, squared=True) == np.inf
    assert reach_of(np.zeros((1, 2)), np.ones(1), one, none, squared=False) == np.inf
    assert reach_of(one, np.ones(1), one, 2 * one, squared=False) == 0.0
