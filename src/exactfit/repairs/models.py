"""Models as they are to be repaired: whatever answers points with one of its classes.

A model that is a chain of layers is read as a :class:`~exactfit.Network` (``chains``), and proved with its patches.
Of any other one the answers are taken as given. An ONNX graph is kept whole, so that files and exports can hold it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ..data import Codes, Floats, Matrix, class_indices
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network import Network
from .chain_reading import chain_of
from .graphs import Graph, is_graph

TILE_ROWS = 4096  # points that a model is asked about at a time, where it takes arrays of floats


@dataclass(frozen=True, eq=False)
class Model:
    """Something that answers: labels by class index, and perhaps the chain or the graph that it is.

    Attributes
    ----------
    classes : ndarray
    source : object or None
        What a user handed over; None if it was loaded from a file, as chain or graph.
    chain : Network or None
        The model as a chain of layers, if it is one: with the decoder ``argmax``.
    graph : Graph or None
        The ONNX graph, if it is one.
    """

    classes: NDArray[Any]
    source: Any = None
    chain: Network | None = None
    graph: Graph | None = None

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
            return self.chain.decide(X, n_jobs=n_jobs).astype(np.int64)
        return self.ask(X)

    def ask(self, X: Matrix) -> Codes:
        """The class index of every row in the model's own runtime, where it is at hand."""
        if self.graph is not None:
            return self._indices(self.graph.answers(X), X.shape[0])
        if self.source is None:
            assert self.chain is not None  # whatever else was loaded is a graph, or came with its source
            return self.chain.decide(X).astype(np.int64)
        if _is_module(self.source):
            return self._indices(np.argmax(_module_scores(self.source, X), axis=1), X.shape[0])
        predict = getattr(self.source, "predict", self.source)
        return self._named(predict(_as_fitted(self.source, X)), X.shape[0])

    def scores(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """What the model's answers are taken from: a column for each class, or (rows,) where scikit-learn has one."""
        if self.chain is not None:
            scores = np.asarray(self.chain(X, n_jobs=n_jobs), dtype=np.float64)
        elif self.graph is not None:
            scores = self.graph.run_scores(X)
        elif _is_module(self.source):
            scores = _module_scores(self.source, X)
        else:
            scores = np.asarray(self.source.decision_function(_as_fitted(self.source, X)), dtype=np.float64)
        return scores

    def _indices(self, answers: NDArray[Any], n_rows: int) -> Codes:
        """Answers of a graph: class indices where it gives numbers to be compared, else labels."""
        if self.graph is None or self.graph.label is None:
            return np.asarray(answers, dtype=np.int64)
        return self._named(answers, n_rows)

    def _named(self, answers: Any, n_rows: int) -> Codes:
        labels = np.asarray(answers)
        if labels.shape != (n_rows,):
            raise DataError(f"the model gave answers of shape {labels.shape} for {n_rows} points: one each is needed")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError(f"the model answered NaN or infinity, first for row {int(np.argmin(np.isfinite(labels)))}")
        codes = class_indices(labels, self.classes.tolist())
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise DataError(
                f"the model answered {labels.tolist()[row]!r} for row {row}, which is none of its classes "
                f"{self.shown}: pass classes=..."
            )
        return codes

    @property
    def shown(self) -> str:
        """The first classes, as text."""
        few = ", ".join(map(repr, self.classes.tolist()[:10]))
        return few + (f" and {len(self.classes) - 10} more" if len(self.classes) > 10 else "")


def read_model(model: Any, classes: Any = None, X: Matrix | None = None, labels: Any = None) -> Model:
    """A model of any kind; ``X`` and ``labels`` tell the classes of one that does not name them.

    Parameters
    ----------
    model : fitted classifier, function, torch.nn.Module, ONNX file or Model
    classes : sequence, optional
        Labels by class index, for models that do not name them: by default what they answer to X, and ``labels``.
    X : array or CSR matrix, optional
    labels : ndarray, optional

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
    if is_graph(model):
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
        raise ParameterError(f"the ONNX model names its classes, {named.tolist()!r}, and others are given")
    return _classes(None, named, n_outputs)


def _classes(given: Any, named: Any, n_outputs: int | None) -> NDArray[Any]:
    if isinstance(named, list):
        raise ParameterError("the model answers several labels for a point: repair takes one classifier at a time")
    classes = np.asarray(
        named if given is None and named is not None else given if given is not None else range(n_outputs or 0)
    )
    if classes.ndim != 1 or len(classes) < 2 or len(set(classes.tolist())) != len(classes):
        raise ParameterError(f"classes must be two or more distinct labels, got {classes.tolist()!r}")
    if n_outputs is not None and len(classes) != n_outputs:
        raise ParameterError(f"the model has {n_outputs} outputs, and {len(classes)} classes are given")
    return classes


def _answered(model: Any, X: Matrix | None, labels: Any) -> NDArray[Any]:
    """The classes of a model that names none: whatever it answers, and the labels that it is to answer."""
    if X is None:
        raise ParameterError("the model does not name its classes: pass classes=...")
    answers = np.asarray(getattr(model, "predict", model)(_as_fitted(model, X)))
    if answers.ndim != 1:
        raise DataError(f"the model gave answers of shape {answers.shape} for {X.shape[0]} points: one each is needed")
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        raise DataError(f"the model answered NaN or infinity, first for row {int(np.argmin(np.isfinite(answers)))}")
    if (answers.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise DataError(
            f"the model answers {answers.dtype} and the labels are {labels.dtype}: they must be of one kind"
        )
    return np.unique(np.concatenate([answers, labels]))


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
    if not np.isfinite(outputs).all():
        raise DataError(
            f"the module gave NaN or infinity, first for row {int(np.argmin(np.isfinite(outputs).all(axis=1)))}"
        )
    return outputs
