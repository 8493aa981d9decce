"""Random ReLU layers, then a linear separator: labels are looked at only in the last layer.

- Two layers: S. Dirksen, M. Genzel, L. Jacques, A. Stollenwerk, *The Separation Capacity of Random Neural Networks*,
  Journal of Machine Learning Research 23 (2022).
- One layer: P. Ghosal, S. Mahankali, Y. Sun, *Randomly Initialized One-Layer Neural Networks Make Data Linearly
  Separable*, arXiv:2205.11716 (2022).

Faithful: Gaussian weights, biases uniform in [-R, R] with R the radius of what comes in, ReLU, a hyperplane in the
space of the features. Ours: what comes into a layer is centred, which its biases absorb, and a layer's weights and
biases are divided by one power of two; widths are not taken from the theorems but doubled until the classes can be
separated, both layers alike; the separator is the minimum of the squared hinge loss with a slight ridge, by Newton's
method, with features of unit variance; several classes share the features, each against the rest.

With layers of width w and o outputs (one for two classes): l w + o neurons in l hidden layers, and
w (d + 1) + (l - 1) w (w + 1) + o (w + 1) parameters of 64 bits, none of them zero as a rule; see
:func:`random_features_size`. Random labels on N points need w of about N / 2 at least.

Float64: a width is accepted only if every output exceeds four times its running error bound, so that bound proves the
network. Points that are too close for that end in an :class:`~exactfit.AssumptionError` with their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas, usable_memory
from ..construct import Construction, Trace
from ..construct.hyperplanes import Source, gaussian, largest_distance
from ..data import mean
from ..exceptions import AssumptionError, ParameterError
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, distinct_points, verified

FIRST_WIDTH, MODEST_WIDTH = 8, 2048
RIDGE = 1e-9  # times the number of points: keeps the quadratic problem regular without moving its answer visibly
ROUNDS = 60  # Newton steps at most; they end when the same points are short twice running
MOST_SCALE = 1000  # powers of two that a Gaussian weight may be multiplied by
U64 = 2.0**-53


def random_features_size(layers: int, width: int, n_features: int, outputs: int) -> tuple[int, int]:
    """Neurons (outputs included) and parameters of the network.

    Examples
    --------
    >>> from exactfit.constructions.random_features import random_features_size
    >>> random_features_size(layers=2, width=128, n_features=64, outputs=10)
    (266, 26122)
    """
    hidden = width * (n_features + 1) + (layers - 1) * width * (width + 1)
    return layers * width + outputs, hidden + outputs * (width + 1)


@dataclass(frozen=True)
class RandomFeatures:
    """Random ReLU features, wide enough that a hyperplane separates each class from the rest.

    Parameters
    ----------
    layers : {1, 2}
        Random layers.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.random_features import RandomFeatures
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> network = RandomFeatures(layers=1).construct(X, y, random_state=0).network
    >>> network.decide(X), network.widths
    (array([0, 1, 0, 1]), (8, 1))
    """

    layers: int = 2

    name: ClassVar[str] = "random-features"
    citation: ClassVar[str] = (
        "Sjoerd Dirksen, Martin Genzel, Laurent Jacques, Alexander Stollenwerk: The Separation Capacity of Random "
        "Neural Networks, JMLR 2022 (two layers); Promit Ghosal, Srinath Mahankali, Yihang Sun: Randomly Initialized "
        "One-Layer Neural Networks Make Data Linearly Separable, arXiv 2022 (one layer)"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "relu"
    labels: ClassVar[tuple[Labels, ...]] = ("binary",)
    assumptions: ClassVar[str] = "points of different labels so far apart that float64 tells their features apart"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.layers not in (1, 2):
            raise ParameterError(f"layers must be 1 or 2, got {self.layers!r}")

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.base.Constructor`."""
        points, root = distinct_points(X, y), seed_sequence(random_state)
        signs = _signs(points)
        unsure = np.ones(len(points), dtype=bool)
        for width in _widths(len(points)):
            hidden, features = _random_layers(points.X, self.layers, width, root)
            with single_threaded_blas():
                weights, bias = _separators(features, signs)
            network = _assemble(hidden, weights, bias)
            unsure = _unsure(network, points.X, signs)
            if not unsure.any():
                return verified(network, points, Trace(n_drawn=self.layers * width))
        raise AssumptionError(
            "that after random layers a hyperplane separates the classes, by more than rounding errors,",
            points.rows[unsure].tolist(),
            "Centre and scale the data, or use a construction that needs less precision.",
        )


def _signs(points: DistinctPoints) -> Floats:
    """1 for a class and -1 for the rest, a row for each output."""
    positive = np.arange(1, 2) if points.n_classes == 2 else np.arange(points.n_classes)
    return np.where(points.y[None, :] == positive[:, None], 1.0, -1.0)


def _widths(n: int) -> Iterator[int]:
    """Powers of two, as far as memory and sense allow: few points on a line may need many times as many features."""
    most = min(max(4 * n, min(64 * n, MODEST_WIDTH)), usable_memory() // (64 * n))
    width = FIRST_WIDTH
    while width <= most:
        yield width
        width *= 2


def _random_layers(X: Floats, n_layers: int, width: int, root: np.random.SeedSequence) -> tuple[list[Layer], Floats]:
    """Random layers, and what the last one makes of the points."""
    layers, values = [], X
    for index in range(n_layers):
        child = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, index))
        planes = Source(child, gaussian(values, max_bias="radius", center=True)).first(width)
        # Values of size one whatever the data's; a power of two rounds nothing.
        scale = min(-int(np.frexp(largest_distance(values, mean(values)))[1]), MOST_SCALE)
        layer = Layer(Dense(np.ldexp(planes.weights.astype(np.float64), scale)), np.ldexp(planes.biases, scale), RELU)
        layers.append(layer)
        values = np.ascontiguousarray(layer(values))
    return layers, values


def _separators(features: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """A hyperplane for each row of signs, in terms of the features as they are."""
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = 1.0
    table = np.column_stack([(features - centre) / spread, np.ones(len(features))])
    found = np.array([_separator(table, row) for row in signs])
    weights = found[:, :-1] / spread
    return weights, found[:, -1] - weights @ centre


def _separator(table: Floats, signs: Floats) -> Floats:
    """Minimum of the squared hinge loss with a ridge: Newton's method, with steps halved where they overshoot."""
    ridge = RIDGE * len(table)

    def loss(w: Floats) -> float:
        return float(ridge * (w @ w) + (np.maximum(1.0 - signs * (table @ w), 0.0) ** 2).sum())

    w = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        short = signs * (table @ w) < 1.0
        try:
            step = _ridge(table[short], signs[short], ridge) - w
        except LinAlgError:
            return w
        before = loss(w)
        while loss(w + step) > before and np.abs(step).max() > RIDGE * np.abs(w).max():
            step = step / 2
        w = w + step
        if ((signs * (table @ w) < 1.0) == short).all():
            break
    return w


def _ridge(rows: Floats, signs: Floats, ridge: float) -> Floats:
    """Least squares with a ridge, by the smaller of the two Gram matrices."""
    n, width = rows.shape
    if n < width:
        return np.asarray(rows.T @ solve(rows @ rows.T + ridge * np.eye(n), signs, assume_a="pos"))
    return np.asarray(solve(rows.T @ rows + ridge * np.eye(width), rows.T @ signs, assume_a="pos"))


def _assemble(hidden: Sequence[Layer], weights: Floats, bias: Floats) -> Network:
    outputs = len(weights)
    decoder = Decoder("sign", (0, 1)) if outputs == 1 else Decoder("one_hot", tuple(range(outputs)))
    return Network((*hidden, Layer(Dense(weights), bias, None)), decoder)


def _unsure(network: Network, X: Floats, signs: Floats) -> NDArray[np.bool_]:
    """Points whose outputs are wrong, or not right by four times what rounding can do to them."""
    values, errors = X, np.zeros_like(X)
    for layer in network.layers:
        weights = np.abs(layer.weights.tensors()["values"])
        share = 1.01 * (weights.shape[1] + 3) * U64
        errors = errors @ weights.T + share * ((np.abs(values) + errors) @ weights.T + np.abs(layer.bias))
        values = np.asarray(layer(values))
    return np.asarray((signs.T * values <= 4 * errors).any(axis=1))
