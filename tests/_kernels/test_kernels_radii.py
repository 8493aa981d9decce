"""A radius for every point: below the exact one, which is below what an attack finds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.networks import answer, distances_to, weights_of
from helpers.problems import masks_of, random_bits
from hypothesis import given
from hypothesis import strategies as st

from exactfit import InterpolatingClassifier, certify
from exactfit._kernels.radii import NO_DETECTOR, DetectorBatch, distances_in, find_radii
from exactfit._kernels.rounding import EXACT, FLOAT32, FLOAT64, Format
from exactfit.certificate import Certificate
from exactfit.certificate.layers import facts_of
from exactfit.certificate.paper_form import FirstLayer
from exactfit.construct import Options, adaptive_width, fixed_width
from exactfit.exceptions import ParameterError
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import THRESHOLD
from exactfit.network.detector_network import read_detectors


def plain_radius(detectors, x: np.ndarray, own: int) -> float:
    """The definition, in one loop after the other."""
    bits = (detectors.normals @ x + detectors.biases > 0).astype(np.int64)
    batch = DetectorBatch(weights_of(detectors), detectors.limits, detectors.outputs)
    return first_of(turns(bits, distances_to(detectors, x), batch, own), detectors.outputs, own, detectors.silent)


def turns(bits: np.ndarray, away: np.ndarray, batch: DetectorBatch, own: int) -> list[float]:
    """How far a point may move until each detector may fall silent (those of its own class) or fire (all others)."""
    order, found = np.argsort(away, kind="stable"), []
    for v, limit, owner in zip(*batch, strict=True):
        count = int(v @ bits)
        change = np.where(bits == 1, -v, v)  # of the count, when a bit flips
        need, gain = (limit - count, change) if owner == own else (count - limit + 1, -change)
        reached = np.flatnonzero(np.cumsum(np.maximum(gain, 0)[order]) >= need)
        found.append(0.0 if need <= 0 else away[order[reached[0]]] if len(reached) else np.inf)
    return found


def first_of(found: list[float], owners: np.ndarray, own: int, silent: int) -> float:
    """Until the last of the own detectors falls silent or the first of the others fires."""
    last = max((t for t, owner in zip(found, owners, strict=True) if owner == own), default=0.0)
    first = min((t for t, owner in zip(found, owners, strict=True) if owner != own), default=np.inf)
    return first if own == silent else min(last, first)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 64, 70]))
def test_radii_of_patterns_and_who_sets_them(seed: int, weighted: bool, n_bits: int) -> None:
    rng = np.random.default_rng(seed)
    bits, away = random_bits(seed, 8, n_bits), rng.integers(1, 20, (8, n_bits)) / 8  # ties among them
    rows = rng.integers(-127, 128, (5, n_bits)).astype(np.int8) if weighted else rng.random((5, n_bits)) < 0.5
    batch = DetectorBatch(rows.astype(np.int64), rng.integers(-20, n_bits, 5), rng.integers(0, 3, 5))
    own, orders = rng.integers(0, 3, 8), np.argsort(away, axis=1, kind="stable")
    radii, setters = np.empty(8), np.empty(8, dtype=np.int64)
    margins = batch.limits - bits.astype(np.int64) @ batch.counters.T
    packed = batch._replace(counters=rows if weighted else masks_of(rows))
    find_radii(masks_of(bits), away, orders, margins, packed, 127 if weighted else 0, own, own == 2, radii, setters)
    for i, (radius, setter) in enumerate(zip(radii, setters, strict=True)):
        found = turns(bits[i].astype(np.int64), away[i], batch, own[i])
        assert radius == first_of(found, batch.owners, own[i], 2)
        assert radius == found[setter] if setter != NO_DETECTOR else radius in (0.0, np.inf)


@pytest.mark.parametrize("held", [np.array, sp.csr_array])
@pytest.mark.parametrize("form", [EXACT, FLOAT32, FLOAT64])
@given(seed=st.integers(0, 10**6))
def test_nothing_turns_a_bit_within_its_distance(held: Callable[..., Any], form: Format, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, bias = rng.normal(size=(4, 7)) * 10.0 ** rng.integers(-3, 9, 7), rng.normal(size=(5, 7)), rng.normal(size=5)
    W *= rng.random((5, 7)) < rng.choice([0.3, 1.0])
    W[0] = 0.0
    gaps, out = rng.exponential(size=(4, 5)) * rng.choice([0.0, 1e-6, 1.0, 1e3], (4, 5)), np.empty((4, 5))
    points, planes = facts_of(X), FirstLayer(held(W), bias).planes
    distances_in(gaps, X, points, planes, form, out)
    for (i, j), t in np.ndenumerate(out):
        x, w = Fraction(float(points.norms[i])), Fraction(float(planes.norms[j]))
        size = w * x  # as points move, by |w| t more at most
        if held is sp.csr_array:
            size = sum(abs(Fraction(float(a)) * Fraction(float(c))) for a, c in zip(W[j], X[i], strict=True))
        if t == np.inf:
            assert w == 0
            continue
        units = (int((W[j] != 0).sum()) + 5) * Fraction(form.unit)
        share, gap, far, b = units / (1 - units), *(Fraction(float(v)) for v in (gaps[i, j], t, abs(bias[j])))
        error = share * (size + w * far + b + Fraction(form.pad) * (w + x + far + 1))
        assert t == 0 or gap - far * w - error > 0
        assert gap - far * w - error <= gap / 2**30, "it could be further"


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 3]), st.sampled_from([30, 130]))
def test_radii_are_what_the_definition_says(seed: int, weighted: bool, classes: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.concatenate([np.arange(classes), rng.integers(0, classes, 30 - classes)])
    target = "all" if seed % 2 else None
    options = Options(detectors="weighted" if weighted else "mask", target=target)
    network = fixed_width(X, y, width, options, random_state=seed).network
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
    network = adaptive_width(X, y, Options(exact_in="float32", target="all"), random_state=0).network
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
    network = adaptive_width(X, y, Options(activation="relu"), random_state=0).network
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
