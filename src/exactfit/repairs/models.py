"""Models to be repaired: anything that answers points with one of its classes.

A model that is a chain of layers is read as a :class:`~exactfit.Network`, and proved with its patches.
Of any other one the answers are taken as given. An ONNX graph is kept whole, so that files and exports can hold it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

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
SHOWN_CLASSES = 10  # in messages
LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier", "Perceptron", "SGDClassifier"}


class SpotChecks(NamedTuple):
    """Some given points, by which a model that a file does not hold is known again."""

    rows: Rows
    points: Floats


@dataclass(frozen=True, eq=False)
class Model:
    """Model with answers by class index, and the chain or the graph that it may be."""

    classes: NDArray[Any]
    source: Any = None  # the user's model; None if it was loaded from a file, as chain or graph
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
        """Number of features of a point, if the model says so."""
        if self.chain is not None:
            return self.chain.n_features
        return getattr(self.source, "n_features_in_", None) if self.graph is None else self.graph.n_features

    @cached_property
    def has_scores(self) -> bool:
        """Whether there is more than labels."""
        if self.chain is not None or (self.graph is not None and self.graph.scores is not None):
            return True
        return hasattr(self.source, "decision_function") or _is_module(self.source)

    def decide(self, X: Matrix, n_jobs: int | None = None) -> Codes:
        """Return class indices: of a chain as this package evaluates it, else as the model itself answers."""
        if self.chain is not None:
            return self.chain.decide(X, n_jobs=n_jobs, checked=True).astype(np.int64)
        return self.ask(X)

    def ask(self, X: Matrix) -> Codes:
        """Return class indices as the model's own runtime answers, where it is at hand."""
        if self.graph is not None:
            answers = self.graph.answers(X)
            if self.graph.label is None:
                return answers.astype(np.int64)
        elif self.source is None:
            assert self.chain is not None  # any other loaded model is a graph, or came with its source
            return self.chain.decide(X).astype(np.int64)
        elif _is_module(self.source):
            return np.asarray(np.argmax(_module_scores(self.source, X), axis=1), dtype=np.int64)
        else:
            answers = getattr(self.source, "predict", self.source)(_as_fitted(self.source, X))
        return self.codes(_one_each(answers, X.shape[0]), answered=True)

    def scores(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Return the scores behind answers: a column for each class, or (rows,) where scikit-learn has one."""
        if self.chain is not None:
            return np.asarray(self.chain(X, n_jobs=n_jobs, checked=True), dtype=np.float64)
        if self.graph is not None:
            return self.graph.run_scores(X)
        if _is_module(self.source):
            return _module_scores(self.source, X)
        return np.asarray(self.source.decision_function(_as_fitted(self.source, X)), dtype=np.float64)

    def codes(self, labels: NDArray[Any], *, answered: bool = False) -> Codes:
        """Return class indices of given labels, or of those that the model answered; refuse unknown ones."""
        codes = class_indices(labels, self.classes.tolist())
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            label, n_more = labels.tolist()[row], len(self.classes) - SHOWN_CLASSES
            classes = ", ".join(map(repr, self.classes.tolist()[:SHOWN_CLASSES]))
            classes += f" and {n_more} more" if n_more > 0 else ""
            raise DataError(
                f"the model answered {label!r} for row {row}, which is none of its classes {classes}: pass classes=..."
                if answered
                else f"row {row} has the label {label!r}, which is none of the model's classes {classes}"
            )
        return codes

    def spot_checks(self, seen: Matrix) -> SpotChecks | None:
        """Return rows at equal distances; None where a file holds the model itself."""
        if self.kind != "reference":
            return None
        most = max(1, min(N_PROBES, PROBE_NUMBERS // seen.shape[1], seen.shape[0]))
        rows = np.linspace(0, seen.shape[0] - 1, most).astype(np.int64)
        return SpotChecks(rows, dense_rows(seen, rows))


def read_model(model: Any, classes: Any = None, X: Matrix | None = None, labels: Any = None) -> Model:
    """Read a model of any kind; of one that does not name its classes they are its answers to ``X``, and ``labels``."""
    if isinstance(model, Model):
        return model
    suffix = Path(model).suffix.lower() if isinstance(model, str | os.PathLike) else None
    if suffix == ".onnx" or isinstance(model, Graph) or type(model).__name__ == "ModelProto":
        return _read_graph(Graph.of(model), model, classes, X, labels)
    if suffix is not None:
        raise ParameterError(f"{Path(model).name} is no ONNX file: give a file that ends in .onnx, or a fitted model")
    if hasattr(model, "fit") and hasattr(model, "__sklearn_tags__"):
        check_is_fitted(model)
        if is_regressor(model):
            raise ParameterError(f"{type(model).__name__} is a regressor: repair takes classifiers")
    chain, named = chain_of(model), getattr(model, "classes_", None)
    n_outputs = None if chain is None else chain.widths[-1]
    if _is_module(model):
        if chain is None and X is not None:
            n_outputs = int(_module_scores(model, X[:1]).shape[1])
    elif not callable(getattr(model, "predict", model)):
        raise ParameterError(
            "model must be a fitted classifier with predict, a function, a torch module or an ONNX file, "
            f"got {type(model).__name__}"
        )
    elif named is None and classes is None:
        return Model(_answered(model, X, labels), model)
    if isinstance(named, list):
        raise ParameterError("the model answers several labels for a point: repair takes one classifier at a time")
    return Model(_checked_classes(named if classes is None else classes, n_outputs), model, chain)


def _read_graph(graph: Graph, source: Any, classes: Any, X: Matrix | None, labels: Any) -> Model:
    named, n_outputs = graph.classes, graph.n_outputs if graph.label is None else None
    if graph.chain is not None:
        n_outputs = graph.chain.widths[-1]
    elif graph.label is not None and named is None and classes is None:
        return Model(_answered(graph.answers, X, labels), source, None, graph)
    if named is not None and classes is not None and set(classes) != set(named.tolist()):
        raise ParameterError(f"the ONNX model names its classes, {shown(named.tolist())}, and others are given")
    return Model(_checked_classes(classes if named is None else named, n_outputs), source, graph.chain, graph)


def _checked_classes(given: Any, n_outputs: int | None) -> NDArray[Any]:
    """Return labels by class index, without given ones 0, 1, 2, ...; refuse others than the outputs need."""
    classes = np.asarray(range(n_outputs or 0) if given is None else given)
    if classes.ndim != 1 or len(classes) < 2 or len(set(classes.tolist())) != len(classes):
        raise ParameterError(f"classes must be two or more distinct labels, got {shown(classes.tolist())}")
    if n_outputs is not None and len(classes) != n_outputs:
        raise ParameterError(f"the model has {n_outputs} outputs, and {len(classes)} classes are given")
    return classes


def _answered(model: Any, X: Matrix | None, labels: Any) -> NDArray[Any]:
    """Return the classes of a model that names none: its answers, and the labels that it is to answer."""
    if X is None:
        raise ParameterError("the model does not name its classes: pass classes=...")
    answers = _one_each(getattr(model, "predict", model)(_as_fitted(model, X)), X.shape[0])
    # NumPy would join numbers and text as text, and no answer would be right.
    if (answers.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise DataError(
            f"the model answers {answers.dtype} and the labels are {labels.dtype}: they must be of one kind"
        )
    return np.unique(np.concatenate([answers, labels]))


def _one_each(answers: Any, n_rows: int) -> NDArray[Any]:
    """Return the answers of a model, one for each point; refuse any others."""
    labels = np.asarray(answers)
    if labels.shape != (n_rows,):
        raise DataError(f"the model gave answers of shape {labels.shape} for {n_rows} points: one each is needed")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(f"the model answered NaN or infinity, first for row {int(np.argmin(np.isfinite(labels)))}")
    return labels


def _as_fitted(model: Any, X: Matrix) -> Any:
    """Return points as the model knows them: in a frame if it was fitted to one."""
    # scikit-learn warns of points without names where it was fitted with some.
    names = getattr(model, "feature_names_in_", None)
    if names is None or sp.issparse(X) or len(names) != X.shape[1]:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def _is_module(model: Any) -> bool:
    """Return whether this is a PyTorch module, without importing torch for it."""
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in type(model).__mro__)


def _module_scores(module: Any, X: Matrix) -> Floats:
    """Return a module's outputs, in the type of its own numbers, in evaluation mode."""
    import torch

    # Another type would be refused, or rounded in another way than in use.
    numbers = next((part for part in module.parameters()), None)
    dtype = torch.float32 if numbers is None else numbers.dtype
    # Dropout and batch normalisation answer otherwise while training.
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            tiles = [
                module(torch.from_numpy(dense_rows(X, tile)).to(dtype)).to(torch.float64).numpy()
                for tile in row_tiles(X, TILE_ROWS)
            ]
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"the module does not take points of {X.shape[1]} features: {reason}") from error
    finally:
        module.train(was_training)
    outputs = np.concatenate(tiles)
    if outputs.ndim != 2 or len(outputs) != X.shape[0]:
        raise DataError(
            f"the module gave outputs of shape {outputs.shape} for {X.shape[0]} points: one row each is needed"
        )
    return all_finite(outputs, "the module")


# ---- Chains in models of scikit-learn and torch ----------------------------------------------------------


def chain_of(model: Any) -> Network | None:
    """Read the chain that a fitted model is; None if it is none, or of a kind that is not read here.

    Read are MLPClassifier with ReLU or no activation, linear classifiers of scikit-learn that decide by ``coef_`` and
    ``intercept_``, and torch's Sequential of Linear, ReLU, Threshold(0, 0), Flatten, Identity and Dropout, with a
    softmax at the end.
    """
    package, kind, reader = type(model).__module__.split(".")[0], type(model).__name__, ChainReader()
    if package == "torch" and kind == "Sequential":
        is_read = _read_modules(list(model), reader)
    elif package == "sklearn" and kind == "MLPClassifier":
        # An activation other than ReLU and none, or several labels for a point, make no chain of ours.
        is_read = model.activation in ("relu", "identity") and model.out_activation_ in ("softmax", "logistic")
        is_read = is_read and not model._label_binarizer.y_type_.startswith("multilabel")
        for index, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
            if index and model.activation == "relu":
                reader.relu()
            reader.affine(weights.T, bias)
    elif package == "sklearn" and kind in LINEAR:
        weights = np.atleast_2d(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_)
        bias = np.broadcast_to(np.asarray(model.intercept_, dtype=weights.dtype), (len(weights),))
        is_read = reader.affine(weights, bias)
    else:
        is_read = False
    return reader.network() if is_read else None


def _read_modules(parts: list[Any], reader: ChainReader) -> bool:
    """Read torch's modules, as long as they are known."""
    # A softmax at the end keeps the order of outputs.
    while parts and type(parts[-1]).__name__ in ("Softmax", "LogSoftmax", "Identity"):
        parts.pop()
    for part in parts:
        kind = type(part).__name__
        # A user's own subclass may compute anything.
        if not type(part).__module__.startswith("torch.nn.modules"):
            return False
        if kind == "Linear":
            bias = None if part.bias is None else part.bias.detach().cpu().numpy()
            reader.affine(part.weight.detach().cpu().numpy(), bias)
        elif kind == "ReLU" or (kind == "Threshold" and part.threshold == 0 and part.value == 0):
            if not reader.relu():
                return False
        elif not (kind in ("Identity", "Dropout") or (kind == "Flatten" and part.start_dim == 1)):
            return False
    return True
