"""ReLU features in which classes are linearly separable: random layers (Dirksen et al. 2022, Ghosal et al. 2022), caps.

**Random features**: random layers, then a linear separator; labels are looked at only in the last layer. Two layers:
Dirksen, Genzel, Jacques and Stollenwerk. One layer: Ghosal, Mahankali and Sun.

Faithful: Gaussian weights, biases uniform in [-R, R] with R the radius of what comes in, ReLU, a hyperplane in the
space of the features. Ours: what comes into a layer is centred, which its biases absorb, and a layer's weights and
biases are divided by one power of two; widths are not taken from the theorems but doubled until the classes can be
separated, both layers alike; the separator is the minimum of the squared hinge loss with a slight ridge, by Newton's
method, with features of unit variance; several classes share the features, each against the rest.

Size: w, o or w, w, o; random labels need w of about N / 2 at least.

Float64: a width is accepted only if every output exceeds four times its running error bound, so that bound proves the
network. Points that are too close for that end in an :class:`~exactfit.AssumptionError` with their rows.

**Caps** cut off from the ball of all shorter points, one for each point that needs it; one hidden layer. Ours: a
deterministic construction from the idea behind Ghosal et al., not an algorithm of the authors': the halfspace through a
point x_k, orthogonal to it, cuts a cap off the ball of all points that are not longer, and none of these is in the cap.
So ReLUs <x_k, x> - b_k with b_k the maximum of <x_k, x_j> over the points before x_k, in order of norm, make a
triangular system, which any labels can be fitted with. Points that earlier units get right already need no unit.

Size, with n caps: n, 1; n is at most N - 1, since the output's bias fits the first point.

Float64: a cap is at least half as high as the squared distance to the nearest point, while gaps on a line shrink like
1 / N^2. A bound of the error, for sums in any order, is proved below 1/4 at construction. Points of different labels
must be farther apart than about 10^-7 sqrt(d) of their norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from .._support.parameters import is_integer, shown
from .._support.threads import Threads, single_threaded_blas, usable_memory
from ..construct import Construction, Trace
from ..construct.hyperplanes import GaussianSampler, largest_distance
from ..data import Floats, Rows, mean
from ..data.cloud import U64
from ..exceptions import AssumptionError, ParameterError
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU
from ..outcome import Outcome
from .base import APART, REMEDY, DistinctPoints, Published, nearest_level, refuse_large_norms, verified

FIRST_WIDTH, MODEST_WIDTH = 8, 2048
RIDGE = 1e-9  # times the number of points: keeps the quadratic problem regular without moving its answer visibly
ROUNDS = 60  # Newton steps at most; they end when the same points are short twice running
MOST_SCALE = 1000  # powers of two that a Gaussian weight may be multiplied by
BLOCK, COLUMNS = 256, 4096  # points that caps are decided for at a time, and earlier points of one product
SLACK = 0.25  # of the distance 1 between levels: outputs this near their level are rounded to it, with as much to spare


@dataclass(frozen=True)
class RandomFeatures(Published):
    """Random ReLU features, wide enough that a hyperplane separates each class from the rest.

    Parameters
    ----------
    layers : {1, 2}
        Random layers.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.relu_features import RandomFeatures
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> network = RandomFeatures(layers=1).construct(X, y, random_state=0).network
    >>> network.decide(X), network.widths
    (array([0, 1, 0, 1]), (8, 1))
    """

    layers: int = 2

    name = "random-features"
    citation = (
        "Sjoerd Dirksen, Martin Genzel, Laurent Jacques, Alexander Stollenwerk: The Separation Capacity of Random "
        "Neural Networks, JMLR 2022 (two layers); Promit Ghosal, Srinath Mahankali, Yihang Sun: Randomly Initialized "
        "One-Layer Neural Networks Make Data Linearly Separable, arXiv 2022 (one layer)"
    )
    activation = "relu"
    labels = ("binary",)
    assumptions = "points of different labels so far apart that float64 tells their features apart"

    def __post_init__(self) -> None:
        if not is_integer(self.layers) or self.layers not in (1, 2):
            raise ParameterError(f"layers must be 1 or 2, got {shown(self.layers)}")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        classes = np.arange(points.n_classes)[-1 if points.n_classes == 2 else 0 :]  # one output tells two apart
        signs = np.where(points.y[None, :] == classes[:, None], 1.0, -1.0)
        decoder = Decoder("sign", (0, 1)) if len(classes) == 1 else Decoder("one_hot", tuple(classes.tolist()))
        unsure = np.ones(len(points), dtype=bool)
        for width in _widths(len(points)):
            hidden, features = _random_layers(points.X, self.layers, width, root)
            with single_threaded_blas():
                weights, bias = _separators(features, signs)
            network = Network((*hidden, Layer(Dense(weights), bias, None)), decoder)
            unsure = _unsure(network, points.X, signs)
            if not unsure.any():
                return verified(network, points, Trace(n_drawn=self.layers * width))
        raise AssumptionError(
            "that after random layers a hyperplane separates the classes, by more than rounding errors,",
            points.rows[unsure].tolist(),
            "Centre and scale the data, or use a construction that needs less precision.",
        )


def _widths(n: int) -> Iterator[int]:
    """Powers of two to try as widths, as far as memory allows: few points on a line may need many times as many."""
    most = min(max(4 * n, min(64 * n, MODEST_WIDTH)), usable_memory() // (64 * n))
    width = FIRST_WIDTH
    while width <= most:
        yield width
        width *= 2


def _random_layers(X: Floats, n_layers: int, width: int, root: np.random.SeedSequence) -> tuple[list[Layer], Floats]:
    """Random layers, and the outputs of the last one at the points."""
    layers, values = [], X
    for index in range(n_layers):
        child = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, index))
        planes = GaussianSampler(values, child, max_bias="radius", center=True).first(width)
        # Values of about size one, for data of any size; a power of two rounds nothing.
        scale = min(-int(np.frexp(largest_distance(values, mean(values)))[1]), MOST_SCALE)
        layer = Layer(Dense(np.ldexp(planes.weights.astype(np.float64), scale)), np.ldexp(planes.biases, scale), RELU)
        layers.append(layer)
        values = np.ascontiguousarray(layer(values))
    return layers, values


def _separators(features: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Separating hyperplane for each row of signs, in terms of the features as they are."""
    # Features of unit variance, so that the ridge weighs on all alike.
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
        rows, (n, width) = table[short], (int(short.sum()), table.shape[1])
        try:
            # Least squares with a ridge, by the smaller of the two Gram matrices.
            if n < width:
                target = rows.T @ solve(rows @ rows.T + ridge * np.eye(n), signs[short], assume_a="pos")
            else:
                target = solve(rows.T @ rows + ridge * np.eye(width), rows.T @ signs[short], assume_a="pos")
        except LinAlgError:
            return w
        step = np.asarray(target) - w
        # A full Newton step may overshoot where other points come to be short.
        before = loss(w)
        while loss(w + step) > before and np.abs(step).max() > RIDGE * np.abs(w).max():
            step = step / 2
        w = w + step
        if ((signs * (table @ w) < 1.0) == short).all():
            break
    return w


def _unsure(network: Network, X: Floats, signs: Floats) -> NDArray[np.bool_]:
    """Mask of points whose outputs are wrong, or right by less than four times their rounding error."""
    values, errors = X, np.zeros_like(X)
    for layer in network.layers:
        weights = np.abs(layer.weights.tensors()["values"])
        rel_error = 1.01 * (weights.shape[1] + 3) * U64
        errors = errors @ weights.T + rel_error * ((np.abs(values) + errors) @ weights.T + np.abs(layer.bias))
        values = np.asarray(layer(values))
    return np.asarray((signs.T * values <= 4 * errors).any(axis=1))


@dataclass(frozen=True)
class Caps(Published):
    """One cap for each point that the caps of shorter points do not get right already.

    Parameters
    ----------
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Caps
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 10)), rng.integers(0, 2, 100)
    >>> network = Caps().construct(X, y).network
    >>> bool((network.decide(X) == y).all()), network.widths[0] < 80
    (True, True)
    """

    n_jobs: int | None = None

    name = "caps"
    citation = (
        "after P. Ghosal, S. Mahankali, Y. Sun, Randomly initialized one-layer neural networks make data linearly "
        "separable, arXiv:2205.11716 (2022)"
    )
    activation = "relu"
    labels = ("binary", "multiclass", "real")
    assumptions = APART
    randomized = False

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        refuse_large_norms(points)
        sweep = _Sweep(points)
        with Threads(self.n_jobs) as threads, single_threaded_blas():
            for start in range(0, len(points), BLOCK):
                sweep.advance(start, min(start + BLOCK, len(points)), threads)
        return sweep.construction()


@dataclass(eq=False)
class _State:
    """Outputs of some points over the caps so far, with what is needed to bound their errors."""

    outputs: Floats
    sizes: Floats  # sums of the sizes of the terms
    leaks: Floats  # what rounding of the caps' values may add
    highest: Floats  # product with an earlier point
    where: Rows  # that point

    def add(self, other: _State) -> None:
        """Add the effect of further caps."""
        self.outputs += other.outputs
        self.sizes += other.sizes
        self.leaks += other.leaks
        higher = other.highest > self.highest
        self.highest[higher], self.where[higher] = other.highest[higher], other.where[higher]


class _Sweep:
    """Points in order of their norm around the mean, and their caps; places in that order, not rows."""

    # A cap's value <w_k, x - mean> - b_k is off by at most e_k = 4.04 (d + 6) u |w_k| (R + |mean|), where R is the
    # largest norm, however it is evaluated here or in the network. So b_k is 2 e_k above the highest product of an
    # earlier point, which then stays at zero for certain, and a cap has to be higher than 8 e_k. An output is off by at
    # most the e_k |a_k| of all caps that may be on, plus the roundings of its own sum.

    def __init__(self, points: DistinctPoints) -> None:
        self.points, self.mean = points, mean(points.X)
        centred = points.X - self.mean
        squares = (centred * centred).sum(axis=1)
        self.order = np.argsort(squares, kind="stable").astype(np.int64)
        self.vectors, self.squares = centred[self.order], squares[self.order]
        self.levels = points.y[self.order].astype(np.float64)
        radius = float(np.sqrt((points.X * points.X).sum(axis=1).max()) + np.sqrt(self.mean @ self.mean))
        n, d = centred.shape
        self.errors = 4.04 * (d + 6) * U64 * np.sqrt(self.squares) * radius + d * 5e-324
        self.limits, self.weights = np.full(n, np.inf), np.zeros(n)

    def advance(self, start: int, stop: int, threads: Threads) -> None:
        """Decide a block of points, given all caps before it."""
        state = self._before(start, stop, threads)
        block = self.vectors[start:stop]
        products = block @ block.T
        for i in range(stop - start):
            row, k = products[i], start + i
            if i and row[:i].max() > state.highest[i]:
                state.highest[i], state.where[i] = row[:i].max(), start + int(row[:i].argmax())
            # The output at point k has to be nearest to its level, by a margin; the end levels reach to infinity.
            level, top, output = self.levels[k], self.points.n_classes - 1, state.outputs[i]
            right = (output >= level - SLACK or level == 0) and (output <= level + SLACK or level == top)
            if k and not right:
                limit = state.highest[i] + 2 * self.errors[k]
                if not row[i] - limit > 8 * self.errors[k]:
                    rows = np.sort(self.points.rows[self.order[[int(state.where[i]), k]]])
                    raise AssumptionError(f"that {APART}", rows, REMEDY)
                self.limits[k], self.weights[k] = limit, (level - output) / (row[i] - limit)
                state.add(self._effect(products[:, i], k))
            n_caps = int(np.count_nonzero(self.weights[: k + 1]))
            rounded = 2.02 * (n_caps + 4) * U64 * (state.sizes[i] + self.points.n_classes)
            if not state.leaks[i] + rounded < SLACK:
                row_of_k = int(self.points.rows[self.order[k]])
                raise AssumptionError("that float64 holds the slopes of all caps", [row_of_k], REMEDY)

    def _before(self, start: int, stop: int, threads: Threads) -> _State:
        """Effect of all caps before the block on its points."""
        block, n = self.vectors[start:stop], stop - start
        total = _State(np.full(n, self.levels[0]), np.zeros(n), np.zeros(n), np.full(n, -np.inf), np.zeros(n, np.int64))
        tiles = [slice(low, min(low + COLUMNS, start)) for low in range(0, start, COLUMNS)]
        for part in threads.map(lambda tile: self._tile(block, tile), tiles):
            total.add(part)
        return total

    def _tile(self, block: Floats, tile: slice) -> _State:
        """Effect of the caps of a tile of points on a block."""
        products = block @ self.vectors[tile].T
        where = products.argmax(axis=1)
        highest = products[np.arange(len(block)), where]
        products -= self.limits[tile]
        errors, sizes = self.errors[tile], np.abs(self.weights[tile])
        leaks = (products > -2 * errors) @ (sizes * errors)
        np.maximum(products, 0.0, out=products)
        return _State(products @ self.weights[tile], products @ sizes, leaks, highest, tile.start + where)

    def _effect(self, products: Floats, k: int) -> _State:
        """Effect of the cap of point k on the points of its block; none on those before it."""
        above, weight, error = products - self.limits[k], self.weights[k], self.errors[k]
        values = np.maximum(above, 0.0)
        leaks = np.where(above > -2 * error, abs(weight) * error, 0.0)
        nowhere = np.full(len(products), -np.inf)
        return _State(weight * values, abs(weight) * values, leaks, nowhere, np.zeros(len(products), np.int64))

    def construction(self) -> Construction:
        """Return the network of all caps."""
        places = np.flatnonzero(np.isfinite(self.limits))
        vectors = self.vectors[places]
        caps = Layer(Dense(vectors), -(vectors @ self.mean + self.limits[places]), RELU)
        output = Layer(Dense(self.weights[places][None, :]), self.levels[:1], None)
        network = Network((caps, output), nearest_level(range(self.points.n_classes)))
        anchors = self.order[places]
        trace = Trace(anchors=self.points.rows[anchors], detector_classes=self.points.y[anchors])
        return Construction(network, Outcome.INTERPOLATES, trace)
