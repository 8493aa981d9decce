"""ONE list of ready-made constructions: certificate, persistence, export and clone tests all run over it.

``CONSTRUCTORS`` maps a name to a callable ``(X, y, rng) -> Construction``; every option appears with every other
at least once. ``RIVALS`` does the same for published constructions. ``PROBLEMS`` maps a name to a callable
``() -> (X, y)``. With two classes "one" builds detectors for the rarer class only, "all" for both; with more classes
both mean all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier
from exactfit import constructions as rivals
from exactfit.construct import Construction, Options, adaptive_width, fixed_width
from exactfit.constructions import Constructor
from exactfit.network.activations import Activation

Build = Callable[[NDArray[Any], NDArray[Any], Any], Construction]
Problem = Callable[[], tuple[NDArray[np.float64], NDArray[np.int64]]]


def plain(*args: Any, **options: Any) -> InterpolatingClassifier:
    """A classifier whose defaults are those of a recipe: as few hyperplanes as it takes, masks."""
    defaults = {"min_width": 0, "hyperplanes": "gaussian", "target": None, "detectors": "mask"}
    return InterpolatingClassifier(*args, **defaults | options)


def squared_relu(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """An activation of one's own."""
    return np.maximum(t, 0.0) ** 2


OWN = Activation("squared_relu", squared_relu)
WIDTH = 200


def _fixed(recipe: Options, width: int, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return fixed_width(X, y, width, recipe, rng)


def _adaptive(recipe: Options, min_width: int, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return adaptive_width(X, y, replace(recipe, min_width=min_width), rng)


def _make(activation: str | Activation, width: str, law: str, target: str) -> tuple[str, Build]:
    name = activation if isinstance(activation, str) else "own"
    one_or_all: Any = "all" if target == "all" else None
    recipe = Options(activation=activation, hyperplanes=law, target=one_or_all)
    build = partial(_fixed, recipe, WIDTH) if width == "fixed" else partial(_adaptive, recipe, 0)
    return f"{name}-{width}-{law}-{target}", build


CONSTRUCTORS: dict[str, Build] = dict(
    [
        _make("threshold", "fixed", "gaussian", "one"),
        _make("threshold", "fixed", "bisector", "all"),
        _make("threshold", "adaptive", "gaussian", "all"),
        _make("threshold", "adaptive", "bisector", "one"),
        _make("relu", "fixed", "bisector", "all"),
        _make("relu", "fixed", "gaussian", "one"),
        _make("relu", "adaptive", "bisector", "one"),
        _make("relu", "adaptive", "gaussian", "all"),
        _make(OWN, "fixed", "gaussian", "all"),
        _make(OWN, "fixed", "bisector", "one"),
        _make(OWN, "adaptive", "gaussian", "one"),
        _make(OWN, "adaptive", "bisector", "all"),
        _make("threshold", "fixed", "sparse", "one"),
        _make("threshold", "adaptive", "sparse", "all"),
        _make("relu", "fixed", "sparse", "all"),
        _make(OWN, "adaptive", "sparse", "one"),
    ]
)
CONSTRUCTORS["weighted-fixed"] = partial(_fixed, Options(detectors="weighted", target="all"), WIDTH)
CONSTRUCTORS["weighted-adaptive"] = partial(_adaptive, Options(detectors="weighted", hyperplanes="bisector"), 0)
CONSTRUCTORS["weighted-sparse"] = partial(_fixed, Options(detectors="weighted", hyperplanes="sparse"), WIDTH)
CONSTRUCTORS["weighted-too-narrow"] = partial(_fixed, Options(detectors="weighted"), 2)
CONSTRUCTORS["threshold-wide"] = partial(_adaptive, Options(), 3 * WIDTH)
CONSTRUCTORS["threshold-paper"] = partial(_fixed, Options(center=False, max_bias=1.0), WIDTH)
# Too few hyperplanes: some points are missed, or all of them, and there may be no detector at all.
CONSTRUCTORS["threshold-too-narrow"] = partial(_fixed, Options(), 2)
CONSTRUCTORS["relu-too-narrow"] = partial(_fixed, Options(activation="relu", target="all"), 2)


def _rival(constructor: Constructor, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return constructor.construct(X, y, rng)


# Published constructions; unlike those above they may refuse points too close together ("close pairs").
RIVALS: dict[str, Build] = {name: partial(_rival, constructor) for name, constructor in rivals.CONSTRUCTORS.items()}


def two_moons() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two classes in the plane."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    return X, y.astype(np.int64)


def three_classes() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three classes in twenty dimensions, more than there are points of a class."""
    rng = np.random.default_rng(1)
    y = np.arange(45) % 3
    return rng.standard_normal((45, 20)) + y[:, None], y


def close_pairs() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of different labels one float64 apart: nothing but coordinate cuts separates them."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.5, 1.0, (12, 3))
    near = X.copy()
    near[:, 1] = np.nextafter(near[:, 1], 2.0)
    return np.concatenate([X, near]), np.repeat([0, 1], 12)


def grid() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A chessboard, with some squares twice."""
    X = np.array([[i, j] for i in range(5) for j in range(4)] + [[0, 0], [4, 3], [0, 0]], dtype=np.float64)
    return X, X.sum(axis=1).astype(np.int64) % 2


PROBLEMS: dict[str, Problem] = {
    "two moons": two_moons,
    "three classes": three_classes,
    "close pairs": close_pairs,
    "grid": grid,
}
