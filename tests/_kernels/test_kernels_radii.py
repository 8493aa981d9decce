"""A radius for every point: below the exact one, which is below what an attack finds."""

from __future__ import annotations

import naive_certificate as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_networks import answer, distances_to, weights_of

from exactfit import InterpolatingClassifier, certify
from exactfit.certificate import Certificate
from exactfit.construct import Recipe, adaptive_width, fixed_width
from exactfit.exceptions import ParameterError
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import THRESHOLD
from exactfit.network.detectors import read_detectors


def plain_radius(detectors, x: np.ndarray, own: int) -> float:
    """The definition, in one loop after the other."""
    bits = (detectors.planes @ x + detectors.first.bias > 0).astype(np.int64)
    away, weights = distances_to(detectors, x), weights_of(detectors)
    order = np.argsort(away, kind="stable")
    last, first = (np.inf, np.inf) if own == detectors.silent else (0.0, np.inf)
    for v, limit, owner in zip(weights, detectors.limits, detectors.owners, strict=True):
        count = int(v @ bits)
        change = np.where(bits == 1, -v, v)  # of the count, when a bit flips
        need, gain = (limit - count, change) if owner == own else (count - limit + 1, -change)
        if need <= 0:
            if owner != own:
                return 0.0
            continue
        reached = np.flatnonzero(np.cumsum(np.maximum(gain, 0)[order]) >= need)
        t = away[order[reached[0]]] if len(reached) else np.inf
        if owner == own:
            last = max(last, t)
        else:
            first = min(first, t)
    return min(last, first)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 3]), st.sampled_from([30, 130]))
def test_radii_are_what_the_definition_says(seed: int, weighted: bool, classes: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.concatenate([np.arange(classes), rng.integers(0, classes, 30 - classes)])
    target = "all" if seed % 2 else None
    recipe = Recipe(detectors="weighted" if weighted else "mask", target=target)
    network = fixed_width(X, y, width, recipe, random_state=seed).network
    certificate = certify(network, X, y, radii=True)
    detectors = read_detectors(network)
    own = detectors.positions(y)
    expected = np.array([plain_radius(detectors, x, k) for x, k in zip(X, own, strict=True)])
    expected[certificate.errors] = 0.0
    np.testing.assert_allclose(certificate.radii, expected, rtol=1e-9, atol=1e-12)
    assert (certificate.radii <= expected * (1 + 1e-12)).all()


def test_no_random_move_within_the_radius_changes_an_answer() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    network = adaptive_width(X, y, random_state=0).network
    radii = certify(network, X, y, radii=True).radii
    assert (radii > 0).all()
    for _ in range(50):
        moves = rng.normal(size=X.shape)
        moves *= (radii * 0.999999 / np.linalg.norm(moves, axis=1))[:, None]
        assert (network.decide(X + moves) == y).all()


def test_radii_in_a_format_are_smaller_and_hold_there() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    y = rng.integers(0, 2, 40)
    network = adaptive_width(X, y, Recipe(exact_in="float32", target="all"), random_state=0).network
    exact, short = (certify(network, X, y, arithmetic=name, radii=True) for name in ("exact", "float32"))
    assert short.holds
    assert (short.radii <= exact.radii).all()
    assert (short.radii > 0).any()
    W, b = network.layers[0].weights.values.astype(np.float32), network.layers[0].bias.astype(np.float32)
    detectors = read_detectors(network)
    for _ in range(20):
        moves = rng.normal(size=X.shape)
        moves *= (short.radii * 0.999999 / np.linalg.norm(moves, axis=1))[:, None]
        moved = (X + moves).astype(np.float32)
        order = rng.permutation(X.shape[1])
        for row in np.flatnonzero(short.radii > 0):
            total = np.cumsum(W[:, order] * moved[row, order], axis=1, dtype=np.float32)[:, -1] + b
            assert answer(detectors, (total > 0).astype(np.int64)) == y[row]


def test_a_row_that_is_wrong_has_no_radius_and_one_given_up_is_left_open() -> None:
    model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    certificate = certify(model, [[0.0], [1.0], [2.0]], ["a", "a", "a"], given_up=[2], radii=True)
    assert certificate.radii[1] == certificate.robust_radius == 0
    assert certificate.radius_row == 1
    assert np.isnan(certificate.radii[2])
    assert certificate.radius_method == "slack of detectors"
    again = Certificate.from_dict(certificate.to_dict())
    np.testing.assert_array_equal(again.radii, certificate.radii)
    assert "row 1" in str(certificate)


def test_points_without_detectors_may_go_anywhere() -> None:
    network = naive.network_of([[1.0]], [0.0], np.zeros((0, 1)), [], np.zeros((1, 0)), Decoder("sign", (0, 1)))
    certificate = certify(network, [[1.0], [2.0]], [1, 1], radii=True)
    assert np.isinf(certificate.radii).all()
    assert certificate.radius_detector is None


def test_relu_has_radii_by_its_slope_and_other_activations_none() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    network = adaptive_width(X, y, Recipe(activation="relu"), random_state=0).network
    plain, found = certify(network, X, y), certify(network, X, y, attack=True)
    assert found.robust_radius == pytest.approx(plain.robust_radius)
    assert (found.radii > 0).all()
    assert found.radius_method == "Lipschitz bound"
    assert found.robust_radius <= found.radius_upper
    with pytest.raises(ParameterError, match="threshold networks"):
        certify(network, X, y, radii=True, arithmetic="float32")
    with pytest.raises(ParameterError, match="radii must be True or False"):
        certify(network, X, y, radii=1)


def test_networks_of_another_form_have_the_radii_of_their_chain() -> None:
    cut = Layer(Dense(np.array([[1.0]])), np.array([-0.5]), THRESHOLD)
    output = Layer(Dense(np.array([[-1.0]])), np.array([0.5]), None)
    network = Network((cut, output), Decoder("sign", (0, 1)))
    certificate = certify(network, [[0.0], [0.75], [1.0]], [1, 0, 1], radii=True)
    np.testing.assert_allclose(certificate.radii, [0.5, 0.25, 0.0])
