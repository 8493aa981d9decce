"""Models as they are to be repaired: whatever answers points with one of its classes.

A model that is a chain of layers is read as a :class:`~exactfit.Network`, and proved with its patches.
Of any other one the answers are taken as given. An ONNX graph is kept whole, so that files and exports can hold it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from .._support.parameters import shown
from ..data import Codes, Floats, Matrix, Rows, class_indices
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network import Network
from .graphs import ChainReader, Graph, all_finite

TILE_ROWS = 4096  # points that a model is asked about at a time, where it takes arrays of floats
N_PROBES = 256  # points by which a model is known again: enough to tell two models apart
PROBE_NUMBERS = 2**21  # numbers of all of them at most: 16 MB
LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier", "Perceptron", "SGDClassifier"}


@dataclass(frozen=True, eq=False)
class SpotChecks:
    """Some given points, by which a model that a file does not hold is known again."""

    rows: Rows
    points: Floats


@dataclass(frozen=True, eq=False)
class Model:
    """Something that answers: labels by class index, and perhaps the chain or the graph that it is."""

    classes: NDArray[Any]
    source: Any = None  # what a user handed over; None if it was loaded from a file, as chain or graph
    chain: Network | None = None  # if it is a chain of layers: with the decoder ``argmax``
    graph: Graph | None = None  # if it is an ONNX graph

    @property
    def kind(self) -> str:
        """Where a file or an export finds it: "chain", "graph", or "reference"."""
        if self.graph is not None:
            return "graph"
        return "reference" if self.chain is None else "chain"

    @property
    def n_features(self) -> int | None:
        """How many features a point has, where the model says so."""
        if self.chain is not None:
            return self.chain.n_features
        given = getattr(self.source, "n_features_in_", None)
        return self.graph.n_features if self.graph is not None else given

    @cached_property
    def has_scores(self) -> bool:
        """Whether there is more than labels."""
        if self.chain is not None or (self.graph is not None and self.graph.scores is not None):
            return True
        return hasattr(self.source, "decision_function") or _is_module(self.source)

    def decide(self, X: Matrix, n_jobs: int | None = None) -> Codes:
        """The class index of every row: of a chain as this package evaluates it, else as the model itself answers."""
        if self.chain is not None:
            return self.chain.decide(X, n_jobs=n_jobs, checked=True).astype(np.int64)
        return self.ask(X)

    def ask(self, X: Matrix) -> Codes:
        """The class index of every row in the model's own runtime, where it is at hand."""
        if self.graph is not None:
            answers = self.graph.answers(X)
            return answers.astype(np.int64) if self.graph.label is None else self._named(answers, X.shape[0])
        if self.source is None:
            assert self.chain is not None  # whatever else was loaded is a graph, or came with its source
            return self.chain.decide(X).astype(np.int64)
        if _is_module(self.source):
            return np.asarray(np.argmax(_module_scores(self.source, X), axis=1), dtype=np.int64)
        predict = getattr(self.source, "predict", self.source)
        return self._named(predict(_as_fitted(self.source, X)), X.shape[0])

    def scores(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """What the model's answers are taken from: a column for each class, or (rows,) where scikit-learn has one."""
        if self.chain is not None:
            return np.asarray(self.chain(X, n_jobs=n_jobs, checked=True), dtype=np.float64)
        if self.graph is not None:
            return self.graph.run_scores(X)
        if _is_module(self.source):
            return _module_scores(self.source, X)
        return np.asarray(self.source.decision_function(_as_fitted(self.source, X)), dtype=np.float64)

    def _named(self, answers: Any, n_rows: int) -> Codes:
        return self.codes(_one_each(answers, n_rows), answered=True)

    def codes(self, labels: NDArray[Any], *, answered: bool = False) -> Codes:
        """Class indices of given labels, or of those that the model answered; refuses any that are none of its own."""
        codes = class_indices(labels, self.classes.tolist())
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            label, few = labels.tolist()[row], ", ".join(map(repr, self.classes.tolist()[:10]))
            classes = few + (f" and {len(self.classes) - 10} more" if len(self.classes) > 10 else "")
            told = (
                f"the model answered {label!r} for row {row}, which is none of its classes {classes}: pass classes=..."
                if answered
                else f"row {row} has the label {label!r}, which is none of the model's classes {classes}"
            )
            raise DataError(told)
        return codes

    def spot_checks(self, seen: Matrix) -> SpotChecks | None:
        """Rows at equal distances; None where a file holds the model itself."""
        if self.kind != "reference":
            return None
        most = max(1, min(N_PROBES, PROBE_NUMBERS // seen.shape[1], seen.shape[0]))
        rows = np.linspace(0, seen.shape[0] - 1, most).astype(np.int64)
        return SpotChecks(rows, dense_rows(seen, rows))


def read_model(model: Any, classes: Any = None, X: Matrix | None = None, labels: Any = None) -> Model:
    """A model of any kind; ``X`` and ``labels`` tell the classes of one that does not name them.

    Parameters
    ----------
    model : fitted classifier, function, torch.nn.Module, ONNX file or Model
    classes : sequence, optional
        Labels by class index, for models that do not name them: by default what they answer to X, and ``labels``.
    X, labels : array or CSR matrix and ndarray, optional

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from exactfit.repairs.models import read_model
    >>> fitted = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    >>> model = read_model(fitted)
    >>> model.kind, model.decide(np.array([[-1.0], [2.0]]))
    ('chain', array([0, 1]))
    """
    if isinstance(model, Model):
        return model
    if _is_graph(model):
        graph = Graph.of(model)
        if graph.label is not None and graph.chain is None and graph.classes is None and classes is None:
            return Model(_answered(graph.answers, X, labels), model, None, graph)
        return Model(_classes_of(graph, classes), model, graph.chain, graph)
    if isinstance(model, str | os.PathLike):
        raise ParameterError(f"{Path(model).name} is no ONNX file: give a file that ends in .onnx, or a fitted model")
    _refuse_estimator(model)
    named = getattr(model, "classes_", None)
    chain = chain_of(model)
    if _is_module(model):
        n_outputs = chain.widths[-1] if chain is not None else _n_outputs(model, X)
        return Model(_classes(classes, named, n_outputs), model, chain)
    if not callable(getattr(model, "predict", model)):
        raise ParameterError(
            "model must be a fitted classifier with predict, a function, a torch module or an ONNX file, "
            f"got {type(model).__name__}"
        )
    if named is None and classes is None:
        return Model(_answered(model, X, labels), model)
    return Model(_classes(classes, named, None if chain is None else chain.widths[-1]), model, chain)


def _is_graph(model: Any) -> bool:
    """Whether this names an ONNX file, or is a graph."""
    named = isinstance(model, str | os.PathLike) and Path(model).suffix.lower() == ".onnx"
    return named or isinstance(model, Graph) or type(model).__name__ == "ModelProto"


def _refuse_estimator(model: Any) -> None:
    """Refuse an estimator of scikit-learn that is not fitted, or answers numbers."""
    if hasattr(model, "fit") and hasattr(model, "__sklearn_tags__"):
        check_is_fitted(model)
        if is_regressor(model):
            raise ParameterError(f"{type(model).__name__} is a regressor: repair takes classifiers")


def _classes_of(graph: Graph, given: Any) -> NDArray[Any]:
    """Labels by class index, as the graph names them; else those given."""
    if graph.chain is not None:
        n_outputs: int | None = graph.chain.widths[-1]
    else:
        n_outputs = graph.n_outputs if graph.label is None else None
    named = graph.classes
    if named is None:
        return _classes(given, None, n_outputs)
    if given is not None and set(given) != set(named.tolist()):
        raise ParameterError(f"the ONNX model names its classes, {shown(named.tolist())}, and others are given")
    return _classes(None, named, n_outputs)


def _classes(given: Any, named: Any, n_outputs: int | None) -> NDArray[Any]:
    if isinstance(named, list):
        raise ParameterError("the model answers several labels for a point: repair takes one classifier at a time")
    classes = np.asarray(
        named if given is None and named is not None else given if given is not None else range(n_outputs or 0)
    )
    if classes.ndim != 1 or len(classes) < 2 or len(set(classes.tolist())) != len(classes):
        raise ParameterError(f"classes must be two or more distinct labels, got {shown(classes.tolist())}")
    if n_outputs is not None and len(classes) != n_outputs:
        raise ParameterError(f"the model has {n_outputs} outputs, and {len(classes)} classes are given")
    return classes


def _answered(model: Any, X: Matrix | None, labels: Any) -> NDArray[Any]:
    """The classes of a model that names none: whatever it answers, and the labels that it is to answer."""
    if X is None:
        raise ParameterError("the model does not name its classes: pass classes=...")
    answers = _one_each(getattr(model, "predict", model)(_as_fitted(model, X)), X.shape[0])
    if (answers.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise DataError(
            f"the model answers {answers.dtype} and the labels are {labels.dtype}: they must be of one kind"
        )
    return np.unique(np.concatenate([answers, labels]))


def _one_each(answers: Any, n_rows: int) -> NDArray[Any]:
    """The answers of a model, one for each point; refuses any others."""
    labels = np.asarray(answers)
    if labels.shape != (n_rows,):
        raise DataError(f"the model gave answers of shape {labels.shape} for {n_rows} points: one each is needed")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(f"the model answered NaN or infinity, first for row {int(np.argmin(np.isfinite(labels)))}")
    return labels


def _as_fitted(model: Any, X: Matrix) -> Any:
    """Points as the model knows them: in a frame if it was fitted to one."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or sp.issparse(X) or len(names) != X.shape[1]:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def _is_module(model: Any) -> bool:
    """Whether this is a PyTorch module, without importing torch for it."""
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in type(model).__mro__)


def _n_outputs(module: Any, X: Matrix | None) -> int | None:
    return None if X is None else int(_module_scores(module, X[:1]).shape[1])


def _module_scores(module: Any, X: Matrix) -> Floats:
    """A module's outputs, in the type of its own numbers, in evaluation mode."""
    import torch

    numbers = next((part for part in module.parameters()), None)
    dtype = torch.float32 if numbers is None else numbers.dtype
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            tiles = [
                module(torch.from_numpy(dense_rows(X, tile)).to(dtype)).to(torch.float64).numpy()
                for tile in row_tiles(X, TILE_ROWS)
            ]
    except RuntimeError as error:
        told = " ".join(str(error).split())[:200]
        raise DataError(f"the module does not take points of {X.shape[1]} features: {told}") from error
    finally:
        module.train(was_training)
    outputs = np.concatenate(tiles)
    if outputs.ndim != 2 or outputs.shape != (X.shape[0], outputs.shape[1]):
        raise DataError(
            f"the module gave outputs of shape {outputs.shape} for {X.shape[0]} points: one row each is needed"
        )
    return all_finite(outputs, "the module")


# ---- Chains in models of scikit-learn and torch ----------------------------------------------------------


def chain_of(model: Any) -> Network | None:
    """The chain that a fitted model is; None if it is none, or of a kind that is not read here.

    Parameters
    ----------
    model : object
        Read are MLPClassifier with ReLU or no activation, LogisticRegression, LinearSVC and other linear classifiers
        of scikit-learn that decide by ``coef_`` and ``intercept_``, and torch's Sequential of Linear, ReLU,
        Threshold(0, 0), Flatten, Identity and Dropout, with a softmax at the end.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from exactfit.repairs.models import chain_of
    >>> chain_of(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    <Network: 1 features, layers of 2 units, <Decoder: 'argmax' for 2 classes>>
    """
    owner = type(model).__module__.split(".")[0]
    if owner == "sklearn":
        return _of_estimator(model)
    if owner == "torch" and type(model).__name__ == "Sequential":
        return _of_modules(model)
    return None


def _of_estimator(model: Any) -> Network | None:
    reader, kind = ChainReader(), type(model).__name__
    if kind == "MLPClassifier":
        if model.activation not in ("relu", "identity") or model.out_activation_ not in ("softmax", "logistic"):
            return None
        if model._label_binarizer.y_type_.startswith("multilabel"):
            return None
        for index, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
            reader.affine(weights.T, bias)
            if index < len(model.coefs_) - 1 and model.activation == "relu":
                reader.relu()
        return reader.network()
    if kind not in LINEAR:
        return None
    weights = np.atleast_2d(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_)
    reader.affine(weights, np.broadcast_to(np.asarray(model.intercept_, dtype=weights.dtype), (len(weights),)))
    return reader.network()


def _of_modules(modules: Iterable[Any]) -> Network | None:
    reader, parts = ChainReader(), list(modules)
    while parts and type(parts[-1]).__name__ in ("Softmax", "LogSoftmax", "Identity"):
        parts.pop()
    for part in parts:
        kind = type(part).__name__
        if not type(part).__module__.startswith("torch.nn.modules"):
            return None
        if kind == "Linear":
            bias = None if part.bias is None else _numbers(part.bias)
            reader.affine(_numbers(part.weight), bias)
        elif kind == "ReLU" or (kind == "Threshold" and part.threshold == 0 and part.value == 0):
            if not reader.relu():
                return None
        elif not (kind in ("Identity", "Dropout") or (kind == "Flatten" and part.start_dim == 1)):
            return None
    return reader.network()


def _numbers(tensor: Any) -> NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())
