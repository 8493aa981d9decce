"""ONNX exports, run in onnxruntime: the same labels and scores as in exactfit, of every kind of network."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from helpers.networks import CLASSIFIERS, as_given, points
from helpers.problems import CONSTRUCTORS, PROBLEMS, RIVALS
from helpers.runtimes import DTYPES, about, run_onnx, session
from sklearn.datasets import load_digits, make_moons

import exactfit
from exactfit import InterpolatingClassifier, certify, to_onnx
from exactfit.exceptions import ExactfitError, NoGapError, ParameterError
from exactfit.export import onnx as home

os.environ["ORT_DISABLE_TELEMETRY"] = "1"


SURE = ("adaptive-width", "ball-cover", "huang")  # of these at least, float32 is enough for every point


SINGLES = 10_000


def assert_no_errors(proto, X, y):
    """All rows at once, and at most ``SINGLES`` of them, evenly spread, one by one."""
    runtime = session(proto.SerializeToString())
    assert runtime.run(["label"], {"X": X})[0].tolist() == y.tolist()
    rows = range(0, len(X), -(-len(X) // SINGLES))
    single = [runtime.run(["label"], {"X": X[row : row + 1]})[0][0] for row in rows]
    assert np.array(single).tolist() == y[:: rows.step].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructions(name, problem, dtype):
    X, y = PROBLEMS[problem]()
    try:
        made = CONSTRUCTORS[name](X, y, 0)
    except NoGapError:
        pytest.skip("there is no such network")
    if name.startswith("own"):
        with pytest.raises(ParameterError, match="activation 'squared_relu' is your own, and no runtime knows it"):
            to_onnx(made, dtype)
        return
    label, scores = run_onnx(to_onnx(made, dtype), X.astype(dtype))
    if dtype == "float64" or problem != "close pairs":  # whose points float32 cannot tell apart
        assert label.tolist() == made.network.decide(X).tolist()
        assert scores == pytest.approx(np.asarray(made.network(X), dtype=np.float64), rel=1e-4, abs=1e-4)


def export_or_reason(network, dtype):
    try:
        return to_onnx(network, dtype), ""
    except ParameterError as refusal:
        return None, str(refusal)


@pytest.mark.parametrize("problem", ["two moons", "three classes"])
@pytest.mark.parametrize("name", RIVALS)
def test_published_constructions(name, problem):
    """Right in the runtime wherever that is proved for every evaluation; or refused with the reason."""
    X, y = PROBLEMS[problem]()
    try:
        network = RIVALS[name](X, y, 0).network
    except ExactfitError:
        pytest.skip("this options refuses these points")
    for dtype in DTYPES:
        proto, reason = export_or_reason(network, dtype)
        if proto is None:
            assert "integers beyond 2^53" in reason or "numbers beyond float32" in reason
            continue
        label, _ = run_onnx(proto, X.astype(dtype))
        safe = np.setdiff1d(np.arange(len(y)), certify(network, X, y, arithmetic=dtype).errors)
        assert label[safe].tolist() == y[safe].tolist()
        if name in SURE:
            assert len(safe) == len(y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_and_their_labels(name, dtype):
    model = CLASSIFIERS[name]()
    if name.startswith("own"):
        return
    if name == "wide labels":
        with pytest.raises(ParameterError, match="ONNX holds text in UTF-8, and a label is none"):
            to_onnx(model, dtype)
        return
    X = np.concatenate([points(), points(200, seed=7)])
    label, scores = run_onnx(to_onnx(model, dtype), X.astype(dtype))
    given = as_given(model, X)
    answers, expected = model.predict(given), model.decision_function(given)
    assert label.tolist() == answers.tolist()
    assert label.dtype == (object if answers.dtype.kind in "UO" else answers.dtype.newbyteorder("="))
    assert scores.shape == expected.shape
    if dtype == "float64" and "relu" not in name:
        near = 1e-14 if "networks" in name else 0.0  # a mean, added up in whatever order, may cancel
        np.testing.assert_allclose(scores, expected, rtol=near, atol=near)
    limits = np.finfo(dtype)
    assert scores == pytest.approx(expected.clip(limits.min, limits.max), rel=1e-3, abs=1e-4)


def test_no_rows_and_one_row():
    model = CLASSIFIERS["many classes"]()
    label, scores = run_onnx(to_onnx(model), np.empty((0, 3)))
    assert (label.shape, scores.shape) == ((0,), (0, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_digits(activation, dtype):
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(exact_in=dtype, activation=activation, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_moons(dtype):
    X, y = make_moons(20_000, noise=0.05, random_state=0)
    model = InterpolatingClassifier(exact_in=dtype, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


@pytest.mark.data
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mnist(dtype, count):
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    from exactfit.lab import load_dataset

    data = load_dataset("mnist", folder)
    X, y = data.X[:count], data.y[:count]
    model = InterpolatingClassifier(exact_in=dtype, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


def test_points_of_float64_are_rounded_inside():
    X, y = load_digits(return_X_y=True)
    X = X[:300] + 1e-9 * np.random.default_rng(0).normal(size=(300, 64))
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y[:300])
    label, scores = run_onnx(to_onnx(model, "float64"), X)
    assert label.tolist() == y[:300].tolist()
    assert scores.tolist() == model.decision_function(X).tolist()


def test_without_it_a_certificate_names_the_rows_that_are_not_safe():
    X, y = PROBLEMS["close pairs"]()
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    named = certify(model, X, y, arithmetic="float32")
    label, _ = run_onnx(to_onnx(model, "float32"), X.astype(np.float32))
    wrong = np.flatnonzero(label != y)
    assert len(wrong) > 0
    assert set(wrong) <= set(named.errors)


def test_versions_and_metadata():
    X, y = PROBLEMS["two moons"]()
    model = InterpolatingClassifier(random_state=0, exact_in="float64").fit(X, y)
    proto = to_onnx(model, "float32")
    assert 18 <= proto.opset_import[0].version <= 21
    assert proto.ir_version <= 10
    facts = about(proto)
    assert facts["exactfit.network_sha256"] == model.network_.digest
    assert json.loads(facts["exactfit.classes"]) == [0, 1]
    assert "in float32 nothing is proved" in facts["exactfit.proved"]
    exact = about(to_onnx(model, "float64"))
    assert exact["exactfit.proved"] == (
        "all 60 training points are right in every float64 evaluation (proof: construction)"
    )
    assert exactfit.Certificate.from_dict(json.loads(exact["exactfit.certificate"])).holds


def test_masks_are_packed():
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(2000, detectors="mask", random_state=0).fit(X, y)
    constants = to_onnx(model, "float32").graph.initializer
    masks = max(constants, key=lambda constant: np.prod(constant.dims) if constant.data_type == 2 else 0)
    assert list(masks.dims) == [model.n_detectors_, 250, 1]


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    model = CLASSIFIERS["many classes"]()
    path = tmp_path / "model.onnx"
    proto = to_onnx(model, path=path)
    assert path.read_bytes() == proto.SerializeToString()

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        to_onnx(model, "float32", path=path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == proto.SerializeToString()


def test_files_larger_than_protocol_buffers_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(home, "LARGEST_FILE", 10_000)
    with pytest.raises(ParameterError, match="an ONNX file holds no more than 10,000"):
        to_onnx(CLASSIFIERS["many classes"](), path=tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
