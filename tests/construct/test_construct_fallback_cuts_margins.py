"""Margins: every training point keeps its answer wherever it moves by at most r."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.attacks import moves_towards
from helpers.problems import plain
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

from exactfit import InterpolatingClassifier, Options, adaptive_width, certify, fixed_width, load, save
from exactfit._support.threads import SERIAL
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.patterns import patterns_of
from exactfit.exceptions import AssumptionError, InterpolationWarning, ParameterError, WidthLimitError
from exactfit.geometry import separation
from exactfit.outcome import Outcome


def clouds(seed: int = 0, n: int = 40, d: int = 3, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])


WIDE = 800  # enough for all points, not for the margin
KINDS = [
    (law, det, target) for law in ("gaussian", "bisector") for det in ("mask", "weighted") for target in (None, "all")
]


@pytest.mark.parametrize(("law", "detectors", "target"), KINDS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("margin", ["10%", "99%"])
def test_adaptive_width_reaches_the_margin(law: str, detectors: str, target: str, classes: int, margin: str) -> None:
    X, y = clouds(1, classes=classes)
    options = Options(hyperplanes=law, detectors=detectors, target=target, margin=margin)
    made = adaptive_width(X, y, options, random_state=0)
    assert made.outcome is Outcome.INTERPOLATES
    assert made.trace.margin == separation(X, y).value / 2 * (float(margin[:-1]) / 100)
    certificate = certify(made, X, y)
    assert certificate.holds
    assert certificate.margin == made.trace.margin
    assert len(certificate.narrow) == 0
    assert certificate.robust_radius >= made.trace.margin
    for moved in moves_towards(made.network, X, y, made.trace.margin, np.random.default_rng(0)):
        assert (made.network.decide(moved) == y).all()


@pytest.mark.parametrize("exact_in", ["float64", "float32"])
@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_a_margin_in_a_format_holds_in_that_format(exact_in: str, detectors: str) -> None:
    X, y = clouds(2, classes=3)
    model = InterpolatingClassifier(exact_in=exact_in, detectors=detectors, margin="50%", random_state=0).fit(X, y)
    certificate = certify(model, X, y, arithmetic=exact_in)
    assert certificate.holds
    assert certificate.margin == model.certificate_.margin == model.trace_.margin > 0
    assert len(certificate.narrow) == 0
    for moved in moves_towards(model.network_, X.astype(exact_in), y, model.trace_.margin, np.random.default_rng(0)):
        assert (model.predict(moved) == y).all()


def test_the_network_for_no_margin_is_what_it_was() -> None:
    X, y = clouds(3)
    for none in (0, 0.0, "0%"):
        made = adaptive_width(X, y, Options(margin=none), random_state=0)
        assert made.network.digest == adaptive_width(X, y, random_state=0).network.digest
        assert made.certificate(len(X), "", None).margin is None


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
@pytest.mark.parametrize("target", [None, "all"])
def test_a_fixed_width_lists_the_rows_that_are_right_without_the_margin(detectors: str, target: str) -> None:
    X, y = clouds(4, n=60)
    model = plain(WIDE, margin="95%", detectors=detectors, target=target, random_state=0)
    with pytest.warns(InterpolationWarning, match="right without the margin"):
        model.fit(X, y)
    certificate, trace = certify(model, X, y), model.trace_
    assert model.outcome_ is Outcome.MARGIN_MISSED
    assert model.interpolates_
    assert (model.predict(X) == y).all()
    assert not len(trace.uncovered)
    assert certificate.holds
    assert len(trace.without_margin)
    assert set(certificate.narrow) <= set(trace.without_margin)
    kept = np.setdiff1d(np.arange(len(X)), trace.without_margin)
    for moved in moves_towards(model.network_, X, y, trace.margin, np.random.default_rng(0)):
        assert (model.predict(moved)[kept] == y[kept]).all()


def test_a_fixed_width_that_misses_points_says_so() -> None:
    X, y = clouds(4, n=60)
    made = fixed_width(X, y, 10, Options(margin="60%"), random_state=0)
    assert made.outcome is Outcome.POINTS_MISSED
    assert certify(made, X, y).errors.tolist() == made.errors.tolist() == made.trace.uncovered.tolist()


def test_a_margin_that_is_too_large_names_two_rows() -> None:
    X, y = np.array([[0.0], [5.0], [6.0], [20.0]]), np.array([0, 0, 1, 1])
    for margin in (0.5, 7.0, "100%"):
        with pytest.raises(AssumptionError, match="rows 1, 2") as error:
            adaptive_width(X, y, Options(margin=margin), random_state=0)
        assert error.value.rows == (1, 2)
    assert adaptive_width(X, y, Options(margin=0.49), random_state=0).outcome.interpolates


def test_rows_are_named_as_in_the_data_where_some_are_given_up() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 20])
    y = np.repeat([0, 1], 40)
    y[3] = 1  # a wrong label
    model = InterpolatingClassifier(noise=0.05, margin="20%", random_state=0).fit(X, y)
    assert model.certificate_.given_up.tolist() == [3]
    certificate = certify(model, X, y, given_up=[3])
    assert certificate.holds
    assert not len(certificate.narrow)
    with pytest.raises(AssumptionError) as error:
        InterpolatingClassifier(noise=0.05, margin=30.0, random_state=0).fit(X, y)
    assert 3 not in error.value.rows
    a, b = error.value.rows
    assert y[a] != y[b]


@pytest.mark.parametrize("margin", [-1, np.nan, np.inf, "101%", "-1%", "nan%", "a", "5", None, True, "%"])
def test_what_is_no_margin_is_refused(margin: object) -> None:
    with pytest.raises(ParameterError, match="margin must be"):
        Options(margin=margin)


def test_real_valued_activations_have_no_margin() -> None:
    with pytest.raises(ParameterError, match="a margin is proved for bits only"):
        Options(activation="relu", margin=0.1)
    Options(activation="relu", margin="0%")


def test_max_width_ends_it() -> None:
    X, y = clouds(5, n=60)
    with pytest.raises(WidthLimitError, match="max_width=70"):
        adaptive_width(X, y, Options(margin="95%", max_width=70), random_state=0)


def test_a_margin_survives_its_file(tmp_path) -> None:
    X, y = clouds(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        model = InterpolatingClassifier(30, margin="40%", random_state=0).fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.margin == "40%"
    assert again.trace_.margin == model.trace_.margin == again.certificate_.margin
    assert (
        again.trace_.without_margin.tolist()
        == model.trace_.without_margin.tolist()
        == again.certificate_.narrow.tolist()
    )


@given(st.integers(0, 10**6), st.sampled_from([None, "float64", "float32"]), st.floats(1e-6, 1.0))
def test_bits_that_are_not_open_hold_wherever_the_point_moves(seed: int, exact_in: str | None, margin: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 3)).astype(np.float32).astype(np.float64)
    W = rng.normal(size=(20, 3)).astype(np.float32)
    b = rng.normal(size=20).astype(np.float32).astype(np.float64)
    options = Options(exact_in=exact_in, margin=margin)
    patterns = patterns_of(X, Hyperplanes(W, b), options, SERIAL)
    on, maybe = patterns.on.to_bool(), patterns.maybe.to_bool()
    assert (on <= maybe).all()
    away = (X @ W.T.astype(float) + b) / np.linalg.norm(W.astype(float), axis=1)
    assert not (on & (away <= margin)).any()
    assert not (~maybe & (away >= -margin)).any()
    clear = margin * (1 + 1e-4) + (1e-4 if exact_in == "float32" else 0)
    assert on[away > clear].all()
    assert not maybe[away < -clear].any()


@pytest.mark.parametrize("name", ["moons", "breast cancer", "digits"])
def test_no_attack_within_the_margin_changes_an_answer(name: str) -> None:
    if name == "moons":
        X, y = make_moons(200, noise=0.1, random_state=0)
    else:
        X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
        X, y = X[:300], y[:300]
    model = InterpolatingClassifier(margin="30%", hyperplanes="bisector", random_state=0).fit(X, y)
    for moved in moves_towards(model.network_, X, y, model.trace_.margin, np.random.default_rng(0)):
        assert (model.predict(moved) == y).all()
        assert (model.network_.decide(moved) == y).all()
