"""Models for the persistence tests: every kind of label, parameter, weight and decoder, once at least."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from constructors import OWN, squared_relu
from numpy.typing import NDArray

import exactfit
from exactfit import InterpolatingClassifier, Network
from exactfit.network import Decoder, Dense, Integers, Layer, Masks, Sparse, WeightedMasks, object_array
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix


def points(n: int = 40, d: int = 3, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


def labels(*names: Any, dtype: Any = None) -> NDArray[Any]:
    """One for each of forty points, from at least the first two of the given ones."""
    return np.array([names[k * k % 7 % len(names)] for k in range(40)], dtype=dtype)


def fitted(X: Any, y: Any, **options: Any) -> InterpolatingClassifier:
    options = {"random_state": 0, "detectors": "mask"} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exactfit.ExactfitWarning)
        return InterpolatingClassifier(**options).fit(X, y)


def as_given(model: InterpolatingClassifier, X: NDArray[Any]) -> Any:
    """Points for a model as it was fitted to them: in a frame, if its features have names."""
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pytest.importorskip("pandas").DataFrame(X, columns=names)


def fitted_to_frame() -> InterpolatingClassifier:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(points(), columns=["größe", 'quo"te\\', "🦀 crab"])
    return fitted(frame, pd.Series(labels("x", "y")))


FIVEFOLD = np.repeat(points(8), 5, axis=0)
CLASSIFIERS: dict[str, Callable[[], InterpolatingClassifier]] = {
    "one-sided": lambda: fitted(points(), labels(0, 1), target=None),
    "target": lambda: fitted(points(), labels("no", "yes"), target="no"),
    "numpy target": lambda: fitted(points(), labels(3, 5), target=np.int64(3), min_width=np.int32(100)),
    "both classes": lambda: fitted(points(), labels(0, 1), target="all"),
    "many classes": lambda: fitted(points(), labels("a", "bc", "d"), max_bias=0.1 + 0.2, n_jobs=2),
    "relu": lambda: fitted(points(), labels(0, 1, 2), activation="relu"),
    "relu one-sided": lambda: fitted(points(), labels(0, 1), activation=RELU, hyperplanes="bisector"),
    "sparse hyperplanes": lambda: fitted(points(), labels(0, 1, 2), hyperplanes="sparse", detectors="weighted"),
    "sparse images": lambda: fitted(points(), labels(0, 1), hyperplanes="sparse", image_shape=(3, 1), max_features=2),
    "sparse relu": lambda: fitted(points(), labels(0, 1, 2), hyperplanes="sparse", activation="relu", width=400),
    "weighted bisectors": lambda: fitted(points(), labels(0, 1), hyperplanes="bisector", detectors="weighted"),
    "weighted": lambda: fitted(points(), labels(0, 1, 2), detectors="weighted"),
    "sparse masks": lambda: fitted(points(), labels("a", "b"), hyperplanes="sparse", max_features=(2, 3)),
    "images": lambda: fitted(points(), labels(0, 1), hyperplanes="sparse", image_shape=(1, 3), detectors="weighted"),
    "sparse and bisectors": lambda: fitted(
        points(), labels(0, 1), hyperplanes="sparse", detectors="weighted", margin=0.02, min_width=0
    ),
    "own function": lambda: fitted(points(), labels(0, 1), activation=squared_relu),
    "own activation": lambda: fitted(points(), labels(0, 1, 2), activation=OWN),
    "bool labels": lambda: fitted(points(), labels(True, False)),
    "float labels": lambda: fitted(points(), labels(-1.0, 2.0, 1e15)),
    "half labels": lambda: fitted(points(), labels(1, 2, dtype=np.float16)),
    "small labels": lambda: fitted(points(), labels(1, 255, dtype=np.uint8)),
    "big-endian labels": lambda: fitted(points(), labels(1, -2, dtype=">i2")),
    "wide labels": lambda: fitted(points(), labels("é", "\ud800", dtype="U30")),
    "object labels": lambda: fitted(points(), labels("x", "y", "", dtype=object)),
    "frame": fitted_to_frame,
    "sparse": lambda: fitted(sp.csr_array(points() * (points(seed=1) > -1)), labels(0, 1)),
    "float32": lambda: fitted(points().astype(np.float32), labels(0, 1)),
    "points missed": lambda: fitted(points(), labels(0, 1), width=2),
    "conflicts": lambda: fitted(FIVEFOLD, np.r_[1, 0, np.repeat(np.arange(8) % 3, 5)[2:]], conflicts="majority"),
    "class without points": lambda: fitted(
        FIVEFOLD, np.r_[2, np.repeat([0, 1, 3, 1] * 2, 5)[1:]], conflicts="majority"
    ),
    "points given up": lambda: fitted(points(), labels(0, 1), noise=0.3),
    "random state": lambda: fitted(points(), labels(0, 1), random_state=np.random.RandomState(0)),
    "generator": lambda: fitted(points(), labels(0, 1), random_state=np.random.default_rng(0)),
}


def output(*signs: int) -> Layer:
    return Layer(Dense(np.array([[float(sign)] for sign in signs])), np.zeros(len(signs)), None)


def network(first: Layer, last: Layer | None = None, decoder: Decoder | None = None, **options: Any) -> Network:
    return Network((first, last or output(-1)), decoder or Decoder("sign", (1, 0)), **options)


HUGE = object_array([3**200, -5, 0], (1, 3))
NETWORKS: dict[str, Callable[[], Network]] = {
    "dense": lambda: network(Layer(Dense(points(1)), np.array([0.1]), RELU)),
    "big-endian": lambda: network(Layer(Dense(points(1).astype(">f8")), np.array([0.1]).astype(">f8"), THRESHOLD)),
    "column-major": lambda: network(
        Layer(Dense(np.asfortranarray(points(4))), np.zeros(4), RELU), Layer(Dense(points(1, 4)), np.zeros(1), None)
    ),
    "sparse": lambda: network(Layer(Sparse(sp.csr_array([[0.0, 2.5, 0.0]])), np.array([0.1]), THRESHOLD)),
    "whole sparse": lambda: network(
        Layer(Sparse(sp.csr_array(np.float32([[1, 0, -1], [0, 300, 0], [0, 0, 0]]))), np.ones(3), THRESHOLD),
        Layer(Dense(-np.ones((1, 3))), np.zeros(1), None),
    ),
    "three sparse": lambda: network(
        Layer(Sparse(sp.csr_array(np.eye(3) * 1.5)), np.array([0.1, 0.2, 0.3]), THRESHOLD),
        Layer(Dense(-np.ones((1, 3))), np.zeros(1), None),
    ),
    "weighted": lambda: network(
        Layer(Dense(points(3)), np.zeros(3), THRESHOLD),
        Layer(WeightedMasks(np.array([[3, -127, 0]], dtype=np.int8), -1), np.array([2]), THRESHOLD),
    ),
    "integers": lambda: network(
        Layer(Integers(HUGE), object_array([-(7**99)], (1,)), RELU),
        Layer(Integers(object_array([-1], (1, 1))), object_array([0], (1,)), None),
    ),
    "masks": lambda: network(Layer(Masks(BitMatrix.from_bool(np.eye(1, 3, dtype=bool)), 1), np.array([-1]), RELU)),
    "squared norm": lambda: network(
        Layer(Dense(points(1, 4)), np.array([-2.0]), THRESHOLD), input_map="append_squared_norm"
    ),
    "nearest": lambda: network(
        Layer(Dense(points(1)), np.array([0.5]), RELU), output(1), Decoder("nearest", (np.int64(2), 0), (0.1, 1 / 3))
    ),
    "numpy classes": lambda: network(
        Layer(Dense(points(1)), np.zeros(1), RELU), output(1, -1), Decoder("one_hot", tuple(np.arange(2)))
    ),
    "own": lambda: network(Layer(Dense(points(1)), np.zeros(1), OWN)),
}
