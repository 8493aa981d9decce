"""Certificates of sparse first layers: those of the same hyperplanes held dense, or sharper, and always true."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.networks import changed, distances_to, small_problem
from helpers.problems import PROBLEMS
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from exactfit import InterpolatingClassifier, Network, certify, load, save
from exactfit.certificate.radius import least_move
from exactfit.network import Decoder, Dense, Sparse
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.detector_network import read_detectors

LAWS = ["gauss", "grid", "mixed", "cuts", "touching"]
SCALES = {"gauss": 1e9, "touching": 1e9, "grid": 2.0**30}  # of one column, where it may have a scale of its own

problems = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(LAWS), st.integers(1, 5), st.booleans())


def problem_of(drawn, activation=THRESHOLD) -> tuple[Network, Network, np.ndarray, np.ndarray]:
    """The same network with its first layer held dense and sparse; most hyperplanes look at few features."""
    seed, law, d, one_sided = drawn
    rng = np.random.default_rng(seed)
    X, y, W, b = small_problem(rng, d=d, classes=2 if one_sided else 3, law=law)
    W *= (rng.random(W.shape) < 0.5) | (rng.random((len(W), 1)) < 0.2)
    if law == "touching":
        b = np.array([-np.dot(w, X[k]) for w, k in zip(W, rng.integers(0, len(X), len(W)), strict=True)])
    X[:, 0] *= SCALES.get(law, 1.0)
    dense = naive.built(X, y, W, b, activation, one_sided=one_sided)
    return dense, held_sparse(dense), X, y


def held_sparse(network: Network) -> Network:
    return changed(network, 0, weights=Sparse(sp.csr_array(network.layers[0].weights.values)))


@given(problems)
def test_errors_slack_and_radius_are_those_of_the_naive_twin(drawn) -> None:
    dense, sparse, X, y = problem_of(drawn)
    certificate = certify(sparse, X, y)
    assert certificate.errors.tolist() == naive.wrong_rows(dense, X, y)
    assert certificate.slack == naive.slack(dense, X, y, Fraction(1, 2))
    assert certificate.method == "counts"
    assert certificate.note == ""
    assert Fraction(certificate.robust_radius) ** 2 <= naive.squared_radius(dense, X)
    assert certificate.robust_radius == pytest.approx(certify(dense, X, y).robust_radius, rel=1e-9, abs=1e-300)


@given(problems, st.sampled_from([np.float32, np.float64]))
def test_more_rows_are_safe_in_a_format_and_no_evaluation_contradicts_one(drawn, form) -> None:
    dense, sparse, X, y = problem_of(drawn)
    rng, unsafe = np.random.default_rng(drawn[0]), set(certify(sparse, X, y, arithmetic=form.__name__).errors.tolist())
    assert unsafe <= set(certify(dense, X, y, arithmetic=form.__name__).errors.tolist())
    with np.errstate(all="ignore"):
        for row in set(range(len(X))) - unsafe:
            for order in naive.ORDERS:
                assert naive.runtime(dense, X[row], form, order, rng) == y[row]
            assert naive.runtime(dense, X[row], form, naive.in_turn, rng, fused=True) == y[row]


@given(problems)
@settings(max_examples=50)
def test_relu_is_proved_as_for_the_same_weights_held_dense(drawn) -> None:
    dense, sparse, X, y = problem_of(drawn, RELU)
    first, second = certify(dense, X, y, radii=True), certify(sparse, X, y, radii=True)
    assert second.errors.tolist() == first.errors.tolist() == naive.wrong_rows(dense, X, y)
    assert first.method != "counts"
    assert second.method != "counts"
    for form in ("float64", "float32"):
        unsafe = set(certify(sparse, X, y, arithmetic=form).errors.tolist())
        assert unsafe <= set(certify(dense, X, y, arithmetic=form).errors.tolist())
    np.testing.assert_allclose(second.radii, first.radii, rtol=1e-6, atol=1e-300)


@given(problems, st.sampled_from(["exact", "float64", "float32"]))
@settings(max_examples=50)
def test_radii_are_at_most_what_random_moves_and_attacks_find(drawn, arithmetic) -> None:
    dense, sparse, X, y = problem_of(drawn)
    found = certify(sparse, X, y, arithmetic=arithmetic, radii=True)
    before = certify(dense, X, y, arithmetic=arithmetic, radii=True)
    assert (found.radii >= before.radii * (1 - 1e-9)).all(), "few features leave more room, not less"
    if arithmetic == "exact":
        np.testing.assert_allclose(found.radii, before.radii, rtol=1e-9, atol=1e-300)
    rng, number = np.random.default_rng(drawn[0]), np.float32 if arithmetic == "float32" else np.float64
    for row in np.flatnonzero((found.radii > 0) & (found.radii < 1e100)):
        away = found.radii[row] * (1 - 1e-9)
        for move in rng.standard_normal((5, X.shape[1])):
            place = X[row] + away * move / np.linalg.norm(move)
            if arithmetic == "exact":
                assert naive.decided(dense, [gap > 0 for gap in naive.gaps(dense, place)]) == y[row]
            else:
                with np.errstate(all="ignore"):
                    assert naive.runtime(dense, place, number, naive.shuffled, rng) == y[row]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_no_attack_finds_a_move_below_the_radius(problem, detectors) -> None:
    X, y = PROBLEMS[problem]()
    options = {"hyperplanes": "sparse", "detectors": detectors, "min_width": 128, "target": "all"}
    model = InterpolatingClassifier(**options, random_state=0).fit(X, y)
    assert isinstance(model.network_.layers[0].weights, Sparse)
    certificate = certify(model, X, y, attack=True)
    assert certificate.holds
    assert certificate.radius_upper is None or certificate.robust_radius <= certificate.radius_upper
    detectors = read_detectors(model.network_)
    same = replace(model.network_, hyperplanes=Dense(detectors.normals.toarray()))
    dense = read_detectors(same)
    for row in range(0, len(X), 7):
        number = int(certificate.radius_detector)
        moves = [least_move(one, X[row], number) for one in (detectors, dense)]
        assert (moves[0] is None) == (moves[1] is None)
        if moves[0] is not None:
            np.testing.assert_allclose(*moves, rtol=1e-6, atol=1e-9)
    away = distances_to(dense, X[0])
    assert certify(model, X, y).robust_radius <= away.min() * (1 + 1e-9)


@pytest.mark.parametrize(("column", "tie"), [(1e9, False), (1.0, True)])
def test_columns_that_a_hyperplane_does_not_look_at_open_nothing(column, tie) -> None:
    """One of 10^9 makes no radius smaller; one of fractions leaves ties among the others exact."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(-8, 9, (50, 3)), column * rng.random(50).astype(np.float32)]
    W, b = np.zeros((9, 4)), rng.choice([-0.5, 0.5], 9) + tie / 2
    W[:, :3] = rng.choice([-1.0, 1.0, 2.0], (9, 3))
    dense = naive.network_of(W, b, rng.random((3, 9)) < 0.5, [1, 2, 3], [[True] * 3], Decoder("sign", (0, 1)))
    y = dense.decide(X)
    first, second = (
        certify(network, X, y, radii=True, arithmetic="float32") for network in (dense, held_sparse(dense))
    )
    assert second.holds
    if tie:
        assert first.n_errors > 0
    else:
        assert (first.radii == 0).all()
        assert (second.radii > 0).all()


def test_a_hyperplane_without_weights_never_turns() -> None:
    dense = naive.network_of(np.zeros((2, 3)), [1.0, -1.0], [[True, True]], [2], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(held_sparse(dense), np.ones((2, 3)), [0, 1], radii=True, arithmetic="float32")
    assert certificate.errors.tolist() == [1]
    assert certificate.radii.tolist() == [np.inf, 0.0]
    one_looks = changed(dense, 0, weights=Sparse(sp.csr_array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])))
    assert certify(one_looks, np.ones((1, 3)), [0], radii=True).radii.tolist() == [np.inf]


def test_zeros_that_are_stored_change_nothing() -> None:
    dense, sparse, X, y = problem_of((3, "gauss", 4, False))
    rows = sparse.layers[0].weights.matrix.copy()
    full = sp.csr_array((dense.layers[0].weights.values.ravel(), np.tile(np.arange(4), len(rows.indptr) - 1),
                         4 * np.arange(len(rows.indptr))), shape=rows.shape)  # fmt: skip
    assert full.nnz > rows.nnz
    for arithmetic in ("exact", "float32"):
        one, other = (
            certify(network, X, y, arithmetic=arithmetic, radii=True).to_dict() | {"network_digest": ""}
            for network in (sparse, changed(sparse, 0, weights=Sparse(full)))
        )
        assert str(one) == str(other)


OPTIONS = [
    {},
    {"margin": "10%"},
    {"margin": "25%", "detectors": "mask"},
    {"exact_in": "float32"},
    {"exact_in": "float32", "margin": "10%"},
    {"exact_in": "float64", "margin": "25%"},
    {"exact_in": "float32", "margin": "10%", "max_features": (3, 9)},
    {"activation": "relu", "detectors": "mask"},
    {"activation": "relu", "detectors": "mask", "exact_in": "float32"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_what_a_construction_promises_is_proved(options, scaled) -> None:
    X, y = load_wine(return_X_y=True)
    if scaled:
        X = X * 10.0 ** np.random.default_rng(0).integers(-8, 9, X.shape[1])
    options = {"hyperplanes": "sparse", "detectors": "weighted", "min_width": 256} | options
    model = InterpolatingClassifier(**options, random_state=0).fit(X, y)
    weights = model.network_.layers[0].weights
    assert isinstance(weights, Sparse)
    certificate = certify(model, X, y, arithmetic=options.get("exact_in", "exact"))
    assert certificate.method is not None
    assert certificate.holds
    if "margin" in options:
        assert len(certificate.narrow) == 0
        assert certificate.margin == model.certificate_.margin > 0
        assert (certificate.radii >= certificate.margin).all()


def test_a_layer_may_mix_few_and_many_features(tmp_path) -> None:
    """With a margin, bisectors of open pairs come after hyperplanes of few features."""
    X, y = load_wine(return_X_y=True)
    model = InterpolatingClassifier(
        hyperplanes="sparse", max_features=2, margin="30%", detectors="weighted", min_width=64,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    lengths = np.diff(model.network_.layers[0].weights.rows.indptr)
    assert lengths[:64].max() <= 2
    assert lengths.max() == X.shape[1]
    save(model, tmp_path / "m")
    certificate = certify(load(tmp_path / "m"), X, y)
    assert certificate.holds
    assert (certificate.radii >= model.certificate_.margin).all()
