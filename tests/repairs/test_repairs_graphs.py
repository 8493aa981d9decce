"""ONNX graphs: run, read as chains where they are such, and refused in a line where they cannot be asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers.networks import ROWS, two_layers, written
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from exactfit import DataError, MissingDependencyError, ParameterError, repair
from exactfit.repairs.graphs import Graph
from exactfit.repairs.models import read_model


def data(n_classes: int):
    return make_classification(150, 6, n_informative=4, n_classes=n_classes, random_state=0)


@pytest.mark.parametrize("middle", ["Relu", "Sign", None])
@pytest.mark.parametrize("last", [None, "Softmax", "LogSoftmax", "ArgMax"])
@pytest.mark.parametrize("gemm", [True, False])
def test_a_graph_of_known_operations_is_a_chain(middle, last, gemm) -> None:
    X = np.random.default_rng(1).normal(size=(60, 6)).astype(np.float32)
    graph = Graph.of(two_layers(6, 4, middle=middle, last=last, gemm=gemm))
    runs = read_model(graph).ask(X)
    assert (graph.chain.decide(X.astype(float)) == runs).all()


@pytest.mark.parametrize("middle", ["Tanh", "Sigmoid", "LeakyRelu"])
def test_a_graph_of_other_operations_is_run(middle) -> None:
    X = np.random.default_rng(1).normal(size=(60, 6)).astype(np.float32)
    graph = Graph.of(two_layers(6, 4, middle=middle))
    assert graph.chain is None
    assert read_model(graph).decide(X).shape == (60,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": 1}, "has one output"),
        ({"rows": 1}, "exactly 1 rows"),
        ({"inputs": None}, "how many features"),
        ({"dtype": np.float16}, "takes float16"),
        ({"only_sums": True}, "neither labels"),
    ],
)
def test_graphs_that_cannot_be_asked_are_refused(changes, message) -> None:
    with pytest.raises(ParameterError, match=message):
        repair(two_layers(6, 4, **changes), np.zeros((2, 6)), [0, 1])


def test_what_is_no_graph_is_refused(tmp_path) -> None:
    (tmp_path / "text.onnx").write_text("this is no graph")
    with pytest.raises(ParameterError, match="no ONNX model"):
        repair(tmp_path / "text.onnx", np.zeros((2, 6)), [0, 1])
    with pytest.raises(FileNotFoundError):
        repair(tmp_path / "none.onnx", np.zeros((2, 6)), [0, 1])
    with pytest.raises(ParameterError, match="4 outputs, and 2 classes"):
        repair(written(two_layers(6, 4), tmp_path), np.zeros((2, 6)), ["a", "b"], classes=["a", "b"])


def with_other(part: str, values) -> Any:
    """A graph of two layers, one of whose constants is another."""
    from onnx import numpy_helper

    proto = two_layers(6, 4)
    place = [constant.name for constant in proto.graph.initializer].index(part)
    proto.graph.initializer[place].CopyFrom(numpy_helper.from_array(np.asarray(values, dtype=np.float32), part))
    return proto


def of_unknown_numbers() -> Any:
    proto = two_layers(6, 4)
    proto.graph.input[0].type.tensor_type.elem_type = 2**31 - 1
    return proto


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (of_unknown_numbers, "no ONNX model|takes 2147483647|cannot run"),
        (lambda: with_other("c", np.arange(3)), "do not fit together|cannot run"),
        (lambda: with_other("b", np.arange(5)), "do not fit together|cannot run"),
    ],
    ids=["type", "bias of a product", "sum"],
)
def test_forged_graphs_are_refused_and_nothing_is_written(make, message, capfd) -> None:
    with pytest.raises(ParameterError, match=message):
        repair(make(), np.zeros((2, 6)), [0, 1])
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_fails_on_points_says_so() -> None:
    from onnx import helper, numpy_helper

    proto = two_layers(6, 4, middle="Tanh")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([2, 5]), "shape"))
    proto.graph.node.insert(1, helper.make_node("Reshape", ["s", "shape"], ["u"]))
    proto.graph.node[2].input[0] = "u"
    with pytest.raises(ParameterError, match="onnxruntime cannot run this model"):
        repair(proto, np.zeros((2, 6)), [0, 1])


def test_a_missing_runtime_is_named(monkeypatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install onnx"):
        repair(two_layers(6, 4), np.zeros((2, 6)), [0, 1])


def test_images_go_into_a_graph_as_it_takes_them() -> None:
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    flat, shaped = (Graph.of(two_layers(6, 4, shape=shape)) for shape in ((6,), (2, 3)))
    assert shaped.n_features == 6
    np.testing.assert_array_equal(flat.answers(X), shaped.answers(X))
    assert shaped.chain is not None  # Flatten comes first


def test_labels_of_a_graph_are_taken_as_they_are() -> None:
    X = np.random.default_rng(0).normal(size=(ROWS, 6)).astype(np.float32)
    graph = two_layers(6, 3, last="ArgMax", labels=["z", "x", "y"])
    model = read_model(graph, None, X, np.array(["x", "y"]))
    assert model.classes.tolist() == ["z", "x", "y"]
    assert model.kind == "graph"
    assert model.chain is not None
    assert (model.decide(X) == model.ask(X)).all()


@pytest.mark.parametrize(("width", "is_chain"), [(np.float64, True), (np.float16, False)])
def test_scores_that_lose_digits_before_they_are_compared_are_no_chain(width, is_chain) -> None:
    from onnx import helper

    proto = two_layers(6, 3, last="ArgMax")
    wanted = helper.np_dtype_to_tensor_dtype(np.dtype(width))
    best = proto.graph.node.pop()
    best.input[0] = "rounded"
    proto.graph.node.append(helper.make_node("Softmax", ["z"], ["shares"], axis=1))
    proto.graph.node.append(helper.make_node("Cast", ["shares"], ["rounded"], to=wanted))
    proto.graph.node.append(best)
    assert (Graph.of(proto).chain is not None) == is_chain


def test_classes_that_are_given_do_not_rename_those_of_a_graph() -> None:
    graph = two_layers(6, 3, last="ArgMax", labels=["z", "x", "y"])
    assert read_model(graph, ["x", "y", "z"]).classes.tolist() == ["z", "x", "y"]
    with pytest.raises(ParameterError, match="names its classes"):
        read_model(graph, ["a", "b", "c"])


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(
    ("model", "is_chain"),
    [
        (MLPClassifier(5, max_iter=40, random_state=0), True),
        (LogisticRegression(), False),
        (DecisionTreeClassifier(max_depth=3), False),
    ],
    ids=lambda part: type(part).__name__,
)
def test_graphs_of_converted_models_name_their_classes(model, is_chain, text) -> None:
    from skl2onnx import to_onnx

    X, y = data(3)
    X, labels = X.astype(np.float32), np.array(["z", "x", "y"])[y] if text else 3 - y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(X, labels)
    graph = to_onnx(fitted, X[:1], options={id(fitted): {"zipmap": False}})
    found = read_model(graph)
    assert found.classes.tolist() == fitted.classes_.tolist()
    assert (found.chain is not None) == is_chain
    assert (found.classes[found.decide(X)] == fitted.predict(X)).all()
    repaired = repair(graph, X, labels, exact_in="float32")
    assert (repaired.certificate_.note == "") == is_chain
    with pytest.raises(DataError, match="row 0 has the label"):
        repair(graph, X[:2], ["w", "x"] if text else [7, 1])
    with pytest.raises(DataError, match="X has 4 features, the model takes 6"):
        repair(graph, X[:, :4], labels)
