"""ONNX exports, run in onnxruntime: the same labels and scores as in exactfit, of every kind of network."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from constructors import CONSTRUCTORS, PROBLEMS, RIVALS
from saved_models import CLASSIFIERS, NETWORKS, as_given, points
from sklearn.datasets import load_digits, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import InterpolatingClassifier, certify, to_onnx
from exactfit.exceptions import ExactfitError, MissingDependencyError, NoGapError, ParameterError
from exactfit.export import onnx as home

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

DTYPES = ("float64", "float32")
SURE = ("adaptive-width", "ball-cover", "huang")  # of these at least, float32 is enough for every point


def session(source):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # others would spin while they wait for work
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(proto, X):
    onnx.checker.check_model(proto, full_check=True)
    return session(proto.SerializeToString()).run(["label", "scores"], {"X": X})


def assert_no_errors(proto, X, y):
    """All rows at once, and one by one."""
    runtime = session(proto.SerializeToString())
    assert runtime.run(["label"], {"X": X})[0].tolist() == y.tolist()
    single = [runtime.run(["label"], {"X": X[row : row + 1]})[0][0] for row in range(len(X))]
    assert np.array(single).tolist() == y.tolist()


# ---- Every form ------------------------------------------------------------------------------------------


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
    label, scores = run(to_onnx(made, dtype), X.astype(dtype))
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
        pytest.skip("this recipe refuses these points")
    for dtype in DTYPES:
        proto, reason = export_or_reason(network, dtype)
        if proto is None:
            assert "integers beyond 2^53" in reason or "numbers beyond float32" in reason
            continue
        label, _ = run(proto, X.astype(dtype))
        safe = np.setdiff1d(np.arange(len(y)), certify(network, X, y, arithmetic=dtype).errors)
        assert label[safe].tolist() == y[safe].tolist()
        if name in SURE:
            assert len(safe) == len(y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_every_kind(name, dtype):
    network = NETWORKS[name]()
    if name in ("integers", "own"):
        reason = "integers beyond 2\\^53, which no runtime's numbers hold" if name == "integers" else "is your own"
        with pytest.raises(ParameterError, match=reason):
            to_onnx(network, dtype)
        return
    X = points(20, network.n_features, seed=3)
    label, scores = run(to_onnx(network, dtype), X.astype(dtype))
    assert label.tolist() == network.decide(X).tolist()
    assert scores == pytest.approx(np.asarray(network(X), dtype=np.float64), rel=1e-4, abs=1e-5)


def test_small_integers_are_exact():
    from exactfit.network import Decoder, Dense, Integers, Layer, Network, object_array
    from exactfit.network.activations import RELU, THRESHOLD

    first = Layer(Dense(points(4, 3)), np.zeros(4), THRESHOLD)
    second = Layer(
        Integers(object_array([2**50, -3, 5, 2**51, 1, 1, 1, 1], (2, 4))), object_array([1, -(2**40)], (2,)), RELU
    )
    last = Layer(Integers(object_array([1, -1], (1, 2))), object_array([-(2**50)], (1,)), None)
    network = Network((first, second, last), Decoder("nearest", (0, 1, 2), (-(2.0**50), 0.0, 2.0**51)))
    X = points(50)
    label, scores = run(to_onnx(network), X)
    assert label.tolist() == network.decide(X).tolist()
    assert scores[:, 0].tolist() == [float(value) for value in np.asarray(network(X), dtype=object)[:, 0]]
    too_large = Layer(Integers(object_array([2**52] * 4, (1, 4))), object_array([0], (1,)), None)
    with pytest.raises(ParameterError, match="layer 1 needs integers beyond"):
        to_onnx(Network((first, too_large), Decoder("sign", (0, 1))))


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
    label, scores = run(to_onnx(model, dtype), X.astype(dtype))
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
    label, scores = run(to_onnx(model), np.empty((0, 3)))
    assert (label.shape, scores.shape) == ((0,), (0, 3))


# ---- Exact after export ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_digits(activation, dtype):
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(exact_in=dtype, activation=activation, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_moons(dtype):
    X, y = make_moons(100_000, noise=0.05, random_state=0)
    model = InterpolatingClassifier(exact_in=dtype, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


@pytest.mark.data
@pytest.mark.parametrize("dtype", DTYPES)
def test_mnist(dtype):
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    from exactfit.lab import load_dataset

    data = load_dataset("mnist", folder)
    X, y = data.X[:10_000], data.y[:10_000]
    model = InterpolatingClassifier(exact_in=dtype, random_state=0).fit(X, y)
    assert_no_errors(to_onnx(model, dtype), X.astype(dtype), y)


def test_points_of_float64_are_rounded_inside():
    X, y = load_digits(return_X_y=True)
    X = X[:300] + 1e-9 * np.random.default_rng(0).normal(size=(300, 64))
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y[:300])
    label, scores = run(to_onnx(model, "float64"), X)
    assert label.tolist() == y[:300].tolist()
    assert scores.tolist() == model.decision_function(X).tolist()


def test_without_it_a_certificate_names_the_rows_that_are_not_safe():
    X, y = PROBLEMS["close pairs"]()
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    named = certify(model, X, y, arithmetic="float32")
    label, _ = run(to_onnx(model, "float32"), X.astype(np.float32))
    wrong = np.flatnonzero(label != y)
    assert len(wrong) > 0
    assert set(wrong) <= set(named.errors)


# ---- What the file says ----------------------------------------------------------------------------------


def about(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


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
    model = InterpolatingClassifier(2000, random_state=0).fit(X, y)
    constants = to_onnx(model, "float32").graph.initializer
    masks = max(constants, key=lambda constant: np.prod(constant.dims) if constant.data_type == 2 else 0)
    assert list(masks.dims) == [model.n_detectors_, 250, 1]


@pytest.mark.parametrize("large", [False, True])
def test_written_whole_or_not_at_all(tmp_path, monkeypatch, large):
    model = CLASSIFIERS["many classes"]()
    path = tmp_path / "model.onnx"
    proto = to_onnx(model, path=path)
    assert path.read_bytes() == proto.SerializeToString()
    monkeypatch.setattr(home, "EXTERNAL_FROM", 10 if large else 2**40)

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        to_onnx(model, "float32", path=path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == proto.SerializeToString()


def test_large_files_keep_their_numbers_beside_them(tmp_path, monkeypatch):
    monkeypatch.setattr(home, "EXTERNAL_FROM", 10_000)
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    for _ in range(2):  # the second takes the place of the first
        to_onnx(model, path=tmp_path / "model.onnx")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert (tmp_path / "model.onnx").stat().st_size < 20_000
    label = session(tmp_path / "model.onnx").run(["label"], {"X": X})[0]
    assert label.tolist() == y.tolist()


# ---- Pipelines and tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", [np.array(["no", "yes", "maybe"]), np.array([3, 5, 8]), np.array([False, True])])
def test_pipelines(labels, dtype):
    X, y = PROBLEMS["three classes"]()
    y = labels[y % len(labels)]
    pipeline = make_pipeline(StandardScaler(), InterpolatingClassifier(random_state=0)).fit(X, y)
    proto = to_onnx(pipeline, dtype)
    assert 18 <= next(opset.version for opset in proto.opset_import if opset.domain == "") <= 21
    assert proto.ir_version <= 10
    label, scores = run(proto, X.astype(dtype))
    assert label.tolist() == y.tolist()
    assert scores == pytest.approx(pipeline.decision_function(X), abs=0.1)
    assert about(proto)["exactfit.dtype"] == dtype


def test_skl2onnx_by_itself():
    from skl2onnx import to_onnx as convert

    X, y = PROBLEMS["two moons"]()
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    exactfit.register_onnx_converter()
    exactfit.register_onnx_converter()  # again is fine
    proto = convert(model, X[:1], target_opset=18)
    label, scores = session(proto.SerializeToString()).run(["label", "scores"], {"X": X})
    assert label.tolist() == y.tolist()
    assert scores.tolist() == model.decision_function(X).tolist()


def test_tables(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{a!r},{c},{b},{'left' if b % 2 else 'right'}"
        for a, b, c in zip(
            rng.normal(5e6, 1e-3, 40).tolist(),
            rng.integers(-9, 9, 40).tolist(),
            rng.choice(["x", "y", "z"], 40),
            strict=True,
        )
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["size,kind,count,side", *rows]))
    for exact_in in (None, *DTYPES):
        model = exactfit.TableModel(InterpolatingClassifier(exact_in=exact_in, random_state=0)).fit(path, label="side")
        for dtype in DTYPES:
            proto = to_onnx(model, dtype)
            label, _ = run(proto, model.encoding_.raw(model.read(path)))
            if exact_in in ("float32", dtype):
                assert label.tolist() == model.predict(path).tolist() == [row.rsplit(",")[-1] for row in rows]
        facts = about(proto)
        assert json.loads(facts["exactfit.feature_names"]) == ["size", "kind=x", "kind=y", "kind=z", "count"]
        assert [column["name"] for column in json.loads(facts["exactfit.columns"])["columns"]] == [
            "size",
            "kind",
            "count",
        ]
        assert json.loads(facts["exactfit.columns"])["columns"][1]["categories"] == ["x", "y", "z"]


# ---- Refusals --------------------------------------------------------------------------------------------


def test_what_cannot_be_exported(monkeypatch):
    X, y = PROBLEMS["two moons"]()
    with pytest.raises(NotFittedError):
        to_onnx(InterpolatingClassifier())
    with pytest.raises(NotFittedError):
        to_onnx(exactfit.TableModel())
    with pytest.raises(ParameterError, match="exports take a fitted InterpolatingClassifier"):
        to_onnx(RandomForestClassifier(2).fit(X, y))
    with pytest.raises(ParameterError, match="the pipeline must end in an InterpolatingClassifier"):
        to_onnx(make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X, y))
    with pytest.raises(ParameterError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        to_onnx(CLASSIFIERS["one-sided"](), "float16")
    large = InterpolatingClassifier(random_state=0).fit(X * 1e200, y)
    with pytest.raises(ParameterError, match="numbers beyond float32: export it with dtype"):
        to_onnx(large, "float32")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match="pip install onnx"):
        to_onnx(large)
