"""Repaired models in real runtimes: one graph, every given point right, scores that agree with labels."""

from __future__ import annotations

import os
import warnings
from functools import cache

import numpy as np
import pytest
from helpers.networks import two_layers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from exactfit import ParameterError, repair, to_onnx, to_torch

onnx = pytest.importorskip("onnx")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
onnxruntime = pytest.importorskip("onnxruntime")

KINDS = ["ball", "mask", "weighted"]
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}
LETTERS = np.array(list("abcdefghij"))


def run(proto, X) -> dict[str, np.ndarray]:
    onnx.checker.check_model(proto)
    assert proto.ir_version <= 10
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    points = X.astype(TYPES[given.type]).reshape(-1, *given.shape[1:])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, {given.name: points}), strict=True))


LABELS = {"int": lambda y: y, "text": lambda y: LETTERS[y], "bool": lambda y: y > 4}


@cache
def repaired_digits(labels: str, kind: str, reach=0.5, model=None):
    X, y = load_digits(return_X_y=True)
    X, labels = X[:300] / 16, LABELS[labels](y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (model or MLPClassifier(12, max_iter=15, random_state=0)).fit(X[:200], labels[:200])
    return X, labels, repair(model, X, labels, patches=kind, reach=reach, exact_in="float32", random_state=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_with_patches_is_one_graph(kind, labels, dtype) -> None:
    X, labels, repaired = repaired_digits(labels, kind)
    proto = to_onnx(repaired, dtype)
    found = run(proto, X)
    assert (found["label"] == labels).all()
    np.testing.assert_allclose(found["scores"], repaired.decision_function(X), rtol=1e-4, atol=1e-4)
    about = {part.key: part.value for part in proto.metadata_props}
    assert about["exactfit.proved"].startswith(f"all 300 training points are right in every {dtype}")
    assert about["exactfit.network_sha256"] == repaired.network_.digest


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_with_patches_is_one_module(kind, labels, dtype) -> None:
    torch = pytest.importorskip("torch")
    X, labels, repaired = repaired_digits(labels, kind)
    module = to_torch(repaired, dtype)
    found, scores = module(torch.from_numpy(X))
    answers = np.array(module.classes)[found.numpy()] if labels.dtype.kind == "U" else found.numpy()
    assert (answers == labels).all()
    np.testing.assert_allclose(scores.numpy(), repaired.decision_function(X), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.torch
def test_a_module_of_a_repaired_model_can_be_exported_on() -> None:
    torch = pytest.importorskip("torch")
    X, _, repaired = repaired_digits("int", "ball")
    module, points = to_torch(repaired, "float32"), torch.from_numpy(X[:5])
    whole = torch.export.export(module, (points,))
    assert torch.equal(whole.module()(points)[0], module(points)[0])


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "ball"),
        ({}, "mask"),
        ({}, "weighted"),
        ({"middle": "Sign"}, "ball"),
        ({"middle": "Tanh"}, "mask"),
        ({"opset": 13}, "weighted"),
        ({"opset": 21}, "mask"),
        ({"shape": (2, 3)}, "ball"),
        ({"last": "Softmax"}, "weighted"),
        ({"last": "ArgMax"}, "ball"),
        ({"last": "ArgMax", "labels": ["a", "b", "c", "d"]}, "mask"),
        ({"dtype": np.float64}, "ball"),
    ],
    ids=str,
)
def test_a_graph_keeps_its_inputs_and_outputs(options, kind) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)).astype(np.float32).astype(float)
    before = two_layers(6, 4, **options)
    names = np.array(options["labels"]) if "labels" in options else np.arange(4)
    y = names[rng.integers(0, 4, 80)]
    repaired = repair(before, X, y, patches=kind, reach=0.5, exact_in="float32", random_state=0)
    after = to_onnx(repaired, "float32")
    assert [part.name for part in after.graph.input] == [part.name for part in before.graph.input]
    kept = [part.name for part in before.graph.output]
    assert [part.name for part in after.graph.output][: len(kept)] == kept
    found, was = run(after, X), run(before, X)
    label = next(value for name, value in found.items() if value.ndim == 1)
    assert (label == y).all()
    scores = found[kept[0]]
    assert (names[scores.argmax(axis=1)] == y).all()
    free = ~np.isin(np.arange(80), [row for patch in repaired.report().patches for row in patch.rows])
    np.testing.assert_array_equal(scores[free], was[kept[0]][free])
    fresh = rng.normal(size=(50, 6)).astype(np.float32).astype(float)
    assert (next(value for value in run(after, fresh).values() if value.ndim == 1) == repaired.predict(fresh)).all()


def test_a_graph_that_onnx_cannot_convert_is_refused_in_a_line() -> None:
    before = two_layers(2, 2, opset=13)
    before.opset_import.add(domain="", version=14)  # one of them is wrong, and onnx does not say which it takes
    repaired = repair(before, np.eye(2), [0, 1], exact_in="float32", random_state=0)
    with pytest.raises(ParameterError, match="to operator set 18: export it so"):
        to_onnx(repaired, "float32")


def test_nothing_to_repair_still_exports() -> None:
    X = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    proto = two_layers(6, 4, middle="Tanh")
    y = run(proto, X)["z"].argmax(axis=1)
    repaired = repair(proto, X, y)
    assert repaired.n_patches_ == 0
    assert (run(to_onnx(repaired, "float32"), X)["label"] == y).all()
    model = LogisticRegression().fit(X, y)
    repaired = repair(model, X, model.predict(X))
    assert (run(to_onnx(repaired), X)["label"] == model.predict(X)).all()


@pytest.mark.parametrize("export", [to_onnx, pytest.param(to_torch, marks=pytest.mark.torch)])
def test_other_models_cannot_be_exported(export) -> None:
    if export is to_torch:
        pytest.importorskip("torch")
    _, _, repaired = repaired_digits("int", "ball", model=DecisionTreeClassifier(max_depth=3))
    with pytest.raises(ParameterError, match="convert the model to ONNX"):
        export(repaired)


@pytest.mark.torch
def test_a_graph_that_is_no_chain_is_no_module() -> None:
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(20, 6))
    chain = repair(two_layers(6, 4), X, np.arange(20) % 4, exact_in="float32")
    assert (to_torch(chain, "float32")(torch.from_numpy(X))[0].numpy() == np.arange(20) % 4).all()
    repaired = repair(two_layers(6, 4, middle="Tanh"), X, np.arange(20) % 4)
    with pytest.raises(ParameterError, match="export to ONNX"):
        to_torch(repaired)
