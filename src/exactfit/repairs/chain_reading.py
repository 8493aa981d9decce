"""Trained models that are chains of layers, read number by number: nothing is rounded or fitted anew.

Two classes are two outputs, the first of them zero, and the largest output answers: so expit and softmax, which keep
the order of outputs but for rounding, need not be layers (``certificate.chains`` says what they may round). sign(s) is
two thresholds, [s > 0] - [-s > 0], and so sign(0) is zero, as it is in every runtime.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD

Array = NDArray[Any]


@dataclass
class ChainReader:
    """Layers as they are met from input to output."""

    layers: list[Layer] = field(default_factory=list)
    _pending: tuple[Array, Array] | None = None
    _signs: bool = False  # the units before come in pairs, whose difference is a sign

    def affine(self, weights: Array, bias: Array | None = None) -> None:
        """weights @ signal + bias."""
        self._flush()
        wide = np.concatenate([weights, -weights], axis=1) if self._signs else weights
        self._signs = False
        self._pending = wide, np.zeros(len(wide), dtype=wide.dtype) if bias is None else np.asarray(bias)

    def add(self, bias: Array) -> bool:
        """Signal + bias; whether the bias belongs to weights that have none yet."""
        if self._pending is None or self._pending[1].any():
            return False
        self._pending = self._pending[0], np.broadcast_to(bias, (len(self._pending[0]),)).copy()
        return True

    def relu(self) -> bool:
        """max(signal, 0); whether it follows numbers that it changes."""
        if self._pending is None:
            return bool(self.layers) and self.layers[-1].activation is not None and not self._signs
        self._finish(RELU)
        return True

    def sign(self) -> bool:
        """sign(signal), as two thresholds; whether it follows a sum."""
        if self._pending is None:
            return False
        weights, bias = self._pending
        self._pending = np.concatenate([weights, -weights]), np.concatenate([bias, -bias])
        self._finish(THRESHOLD)
        self._signs = True
        return True

    def network(self) -> Network | None:
        """The chain that ends in a sum; one output stands for the second of two classes."""
        if self._pending is None:
            return None
        weights, bias = self._pending
        if len(weights) == 1:
            self._pending = (
                np.concatenate([np.zeros_like(weights), weights]),
                np.concatenate([np.zeros_like(bias), bias]),
            )
        self._finish(None)
        numbers = (part for layer in self.layers for part in layer.weights.tensors().values())
        if not all(np.isfinite(part).all() for part in (*numbers, *(layer.bias for layer in self.layers))):
            return None
        return Network(tuple(self.layers), Decoder("argmax", tuple(range(len(self.layers[-1].bias)))))

    def _flush(self) -> None:
        """Two sums in a row are two layers."""
        if self._pending is not None:
            self._finish(None)

    def _finish(self, activation: Any) -> None:
        assert self._pending is not None
        weights, bias = self._pending
        self.layers.append(Layer(Dense(np.ascontiguousarray(weights)), np.ascontiguousarray(bias), activation))
        self._pending = None


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
    >>> from exactfit.repairs.chain_reading import chain_of
    >>> chain_of(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    <Network: 1 features, layers of 2 units, <Decoder: 'argmax' for 2 classes>>
    """
    owner = type(model).__module__.split(".")[0]
    if owner == "sklearn":
        return _of_estimator(model)
    if owner == "torch" and type(model).__name__ == "Sequential":
        return _of_modules(model)
    return None


LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier", "Perceptron", "SGDClassifier"}


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


def _numbers(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().numpy())
