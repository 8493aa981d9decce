"""ReLU features in which classes are linearly separable: random layers (Dirksen et al. 2022, Ghosal et al. 2022), caps.

**Random features**: random layers, then a linear separator; labels are looked at only in the last layer. Two layers:
Dirksen, Genzel, Jacques and Stollenwerk. One layer: Ghosal, Mahankali and Sun.

Faithful: Gaussian weights, biases uniform in [-R, R] with R the radius of what comes in, ReLU, a hyperplane in the
space of the features. Ours: what comes into a layer is centred, which its biases absorb, and a layer's weights and
biases are divided by one power of two; widths are not taken from the theorems but doubled until the classes can be
separated, both layers alike; the separator is the minimum of the squared hinge loss with a slight ridge, by Newton's
method, with features of unit variance; several classes share the features, each against the rest.

Size: w, o or w, w, o; random labels need w of about N / 2 at least. Float64: a width is accepted only if every output
exceeds four times its running error bound, so that bound proves the network. Points that are too close for that end in
an :class:`~exactfit.AssumptionError` with their rows.

**Caps** cut off from the ball of all shorter points, one for each point that needs it; one hidden layer. Ours: a
deterministic construction from the idea behind Ghosal et al., not an algorithm of the authors': the halfspace through a
point x_k, orthogonal to it, cuts a cap off the ball of all points that are not longer, and none of these is in the cap.
So ReLUs <x_k, x> - b_k with b_k the maximum of <x_k, x_j> over the points before x_k, in order of norm, make a
triangular system, which any labels can be fitted with. Points that earlier units get right already need no unit.

Size, with n caps: n, 1; n is at most N - 1, since the output's bias fits the first point. Float64: a cap is at least
half as high as the squared distance to the nearest point, while gaps on a line shrink like 1 / N^2. A bound of the
error, for sums in any order, is proved below 1/4 at construction. Points of different labels must be farther apart than
about 10^-7 sqrt(d) of their norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from .._support.parameters import is_integer, shown
from .._support.threads import usable_memory
from ..construct import Trace
from ..construct.hyperplanes import GaussianSampler, largest_distance
from ..data import Floats, mean
from ..data.matrices import row_tiles
from ..data.point_set import U64
from ..exceptions import AssumptionError, ParameterError
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU
from .base import APART, REMEDY, DistinctPoints, Published, nearest_level, refuse_large_norms

FIRST_WIDTH, MODEST_WIDTH = 8, 2048
RIDGE = 1e-9  # times the number of points: keeps the quadratic problem regular without moving its answer visibly
ROUNDS = 60  # Newton steps at most; they end when the same points are short twice running
MOST_SCALE = 1000  # powers of two that a Gaussian weight may be multiplied by
BLOCK, TILE_ROWS = 256, 4096  # points that caps are decided for at a time, and later points of one product
SLACK = 0.25  # of the distance 1 between levels: outputs this near their level are rounded to it, with as much to spare


@dataclass(frozen=True)
class RandomFeatures(Published):
    """Random ReLU features, wide enough that a hyperplane separates each class from the rest; two classes or more.

    Parameters
    ----------
    layers : {1, 2}
        Random layers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import RandomFeatures
    >>> RandomFeatures(layers=1).construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (32, 3)
    """

    layers: int = 2

    name = "random-features"
    citation = (
        "Sjoerd Dirksen, Martin Genzel, Laurent Jacques, Alexander Stollenwerk: The Separation Capacity of Random "
        "Neural Networks, JMLR 2022 (two layers); Promit Ghosal, Srinath Mahankali, Yihang Sun: Randomly Initialized "
        "One-Layer Neural Networks Make Data Linearly Separable, arXiv 2022 (one layer)"
    )

    def __post_init__(self) -> None:
        if not is_integer(self.layers) or self.layers not in (1, 2):
            raise ParameterError(f"layers must be 1 or 2, got {shown(self.layers)}")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        n, classes = len(points), np.arange(points.n_classes)[-1 if points.n_classes == 2 else 0 :]
        signs = np.where(points.y[None, :] == classes[:, None], 1.0, -1.0)  # one output tells two classes apart
        decoder = Decoder("sign", (0, 1)) if len(classes) == 1 else Decoder("one_hot", tuple(classes.tolist()))
        unsure = np.ones(n, dtype=bool)
        # Widths are doubled as far as memory allows: few points on a line may need many times as many.
        most = min(max(4 * n, min(64 * n, MODEST_WIDTH)), usable_memory() // (64 * n))
        width = FIRST_WIDTH
        while width <= most:
            hidden, features = _random_layers(points.X, self.layers, width, root)
            weights, bias = _separators(features, signs)
            network = Network((*hidden, Layer(Dense(weights), bias, None)), decoder)
            unsure = _unsure(network, points.X, signs)
            if not unsure.any():
                return network, Trace(n_drawn=self.layers * width)
            width *= 2
        raise AssumptionError(
            "that after random layers a hyperplane separates the classes, by more than rounding errors,",
            points.rows[unsure].tolist(),
            REMEDY,
        )


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
    return np.asarray(~(signs.T * values > 4 * errors).all(axis=1))


@dataclass(frozen=True)
class Caps(Published):
    """One cap for each point that the caps of shorter points do not get right already; any labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Caps
    >>> Caps().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (14, 1)
    """

    name = "caps"
    citation = (
        "after P. Ghosal, S. Mahankali, Y. Sun, Randomly initialized one-layer neural networks make data linearly "
        "separable, arXiv:2205.11716 (2022)"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        refuse_large_norms(points)
        center = mean(points.X)
        centred = points.X - center
        squares = (centred * centred).sum(axis=1)
        # From here on, points are places in the order of their norm around the mean.
        order = np.argsort(squares, kind="stable").astype(np.int64)
        vectors, rows, levels = centred[order], points.rows[order], points.y[order].astype(np.float64)
        (n, d), top = vectors.shape, points.n_classes - 1
        # A cap's value <w_k, x - mean> - b_k is off by at most e_k = 4.04 (d + 6) u |w_k| (R + |mean|), where R is the
        # largest norm, however it is evaluated here or in the network. So b_k is 2 e_k above the highest product of an
        # earlier point, which then stays at zero for certain, and a cap has to be higher than 8 e_k. An output is off
        # by at most the e_k |a_k| of all caps that may be on (its leak), plus the roundings of its own sum.
        radius = float(np.sqrt((points.X * points.X).sum(axis=1).max()) + np.sqrt(center @ center))
        errors = 4.04 * (d + 6) * U64 * np.sqrt(squares[order]) * radius + d * 5e-324
        limits, weights, n_caps = np.full(n, np.inf), np.zeros(n), 0
        # Of every point, over the caps so far: the output, the sum of the sizes of its terms, the leak; and the highest
        # product with an earlier point.
        outputs, sizes, leaks = np.full(n, levels[0]), np.zeros(n), np.zeros(n)
        highest, where = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)

        def add(caps: slice, places: slice, products: Floats) -> None:
            """Add some caps to the outputs of later points, given their products."""
            above, size = products - limits[caps], np.abs(weights[caps])
            leaks[places] += (above > -2 * errors[caps]) @ (size * errors[caps])
            np.maximum(above, 0.0, out=above)
            outputs[places] += above @ weights[caps]
            sizes[places] += above @ size

        for start in range(0, n, BLOCK):
            block = slice(start, min(start + BLOCK, n))
            products = vectors[block] @ vectors[block].T
            for k in range(block.start, block.stop):
                row = products[k - start]
                earlier = row[: k - start]
                if k > start and earlier.max() > highest[k]:
                    highest[k], where[k] = earlier.max(), start + int(earlier.argmax())
                # The output at point k has to be nearest to its level, by a margin; the end levels reach to infinity.
                level, output = levels[k], outputs[k]
                right = (output >= level - SLACK or level == 0) and (output <= level + SLACK or level == top)
                if k and not right:
                    limit = highest[k] + 2 * errors[k]
                    height = row[k - start] - limit
                    if not height > 8 * errors[k]:
                        raise AssumptionError(APART, np.sort(rows[[int(where[k]), k]]), REMEDY)
                    limits[k], weights[k], n_caps = limit, (level - output) / height, n_caps + 1
                    add(slice(k, k + 1), slice(k, block.stop), products[k - start :, k - start : k - start + 1])
                if not leaks[k] + 2.02 * (n_caps + 4) * U64 * (sizes[k] + points.n_classes) < SLACK:
                    raise AssumptionError("that float64 holds the slopes of all caps", [int(rows[k])], REMEDY)
            for tile in row_tiles(vectors[block.stop :], TILE_ROWS):
                later = slice(tile.start + block.stop, tile.stop + block.stop)
                products = vectors[later] @ vectors[block].T
                found = products.argmax(axis=1)
                high = products[np.arange(len(found)), found]
                higher = high > highest[later]
                highest[later] = np.where(higher, high, highest[later])
                where[later] = np.where(higher, start + found, where[later])
                add(block, later, products)
        kept = np.flatnonzero(np.isfinite(limits))
        caps = Layer(Dense(vectors[kept]), -(vectors[kept] @ center + limits[kept]), RELU)
        network = Network((caps, Layer(Dense(weights[kept][None, :]), levels[:1], None)), nearest_level(range(top + 1)))
        return network, Trace(anchors=rows[kept], detector_classes=points.y[order[kept]])
