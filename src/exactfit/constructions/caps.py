"""Caps cut off from the ball of all shorter points, one for each point that needs it; ReLU, one hidden layer.

After P. Ghosal, S. Mahankali, Y. Sun, *Randomly initialized one-layer neural networks make data linearly separable*,
arXiv:2205.11716 (2022).

Ours: that paper shows that one random layer of ReLUs makes classes linearly separable. This is a deterministic
construction that we reconstruct from the idea behind it, not an algorithm of the authors': the halfspace through a
point x_k, orthogonal to it, cuts a cap off the ball of all points that are not longer, and none of these is in the cap.
So ReLUs <x_k, x> - b_k with b_k the maximum of <x_k, x_j> over the points before x_k, in order of norm, make a
triangular system, which any labels can be fitted with. Points that earlier units get right already need no unit.

Size, with n caps: n + 1 units and n (d + 1) + (n + 1) parameters (:func:`caps_size`); n is at most N - 1, since the
output's bias fits the first point.

Float64: a cap is at least half as high as the squared distance to the nearest point, while gaps on a line shrink like
1 / N^2. A bound of the error, for sums in any order, is proved below 1/4 at construction. Points of different labels
must be farther apart than about 10^-7 sqrt(d) of their norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import Seed
from .._support.threads import Threads, single_threaded_blas
from ..construct import Construction, Trace
from ..data import mean
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Network
from ..network.activations import RELU
from ..outcome import Outcome
from .ball_cover import REMEDY, refuse_large_norms
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, distinct_points
from .huang import index_levels
from .line import U64

Rows = NDArray[np.int64]

BLOCK, COLUMNS = 256, 4096
SLACK = 0.25  # of the distance 1 between levels: outputs this near their level are rounded to it, with as much to spare


def caps_size(n_caps: int, n_features: int) -> tuple[int, int]:
    """Units (outputs included) and parameters for so many caps.

    Examples
    --------
    >>> from exactfit.constructions.caps import caps_size
    >>> caps_size(n_caps=5, n_features=10)
    (6, 61)
    """
    return n_caps + 1, n_caps * (n_features + 1) + n_caps + 1


@dataclass(frozen=True)
class Caps:
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

    name: ClassVar[str] = "caps"
    citation: ClassVar[str] = (
        "after P. Ghosal, S. Mahankali, Y. Sun, Randomly initialized one-layer neural networks make data linearly "
        "separable, arXiv:2205.11716 (2022)"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "relu"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass", "real")
    assumptions: ClassVar[str] = "points of different labels are farther apart than squared norms are rounded"
    randomized: ClassVar[bool] = False

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        refuse_large_norms(points)
        sweep = _Sweep(points)
        with Threads(self.n_jobs) as threads, single_threaded_blas():
            for start in range(0, len(points), BLOCK):
                sweep.advance(start, min(start + BLOCK, len(points)), threads)
        return sweep.construction()


@dataclass(eq=False)
class _State:
    """Some points' outputs over the caps so far, the sum of sizes in them, what rounding may add, highest products."""

    outputs: Floats
    sizes: Floats
    leaks: Floats
    highest: Floats
    where: Rows

    def add(self, other: _State) -> None:
        self.outputs += other.outputs
        self.sizes += other.sizes
        self.leaks += other.leaks
        higher = other.highest > self.highest
        self.highest[higher], self.where[higher] = other.highest[higher], other.where[higher]


class _Sweep:
    """Points in order of their norm around the mean; places, not rows.

    A cap's value <w_k, x - mean> - b_k is off by at most e_k = 4.04 (d + 6) u |w_k| (R + |mean|),
    where R is the largest norm, however it is evaluated here or in the network. So b_k is 2 e_k
    above the highest product of an earlier point, which then stays at zero for certain, and a cap
    has to be higher than 8 e_k. An output is off by at most the e_k |a_k| of all caps that may be
    on, plus the roundings of its own sum.
    """

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
            if k and not self._right(k, state.outputs[i]):
                self._cut(k, state.highest[i], int(state.where[i]), float(row[i]), float(state.outputs[i]))
                state.add(self._effect(products[:, i], k))
            self._refuse_imprecise(k, float(state.leaks[i]), float(state.sizes[i]))

    def _before(self, start: int, stop: int, threads: Threads) -> _State:
        """What all caps before the block do to its points."""
        block, n = self.vectors[start:stop], stop - start
        total = _State(np.full(n, self.levels[0]), np.zeros(n), np.zeros(n), np.full(n, -np.inf), np.zeros(n, np.int64))
        tiles = [slice(low, min(low + COLUMNS, start)) for low in range(0, start, COLUMNS)]
        for part in threads.map(lambda tile: self._tile(block, tile), tiles):
            total.add(part)
        return total

    def _tile(self, block: Floats, tile: slice) -> _State:
        products = block @ self.vectors[tile].T
        where = products.argmax(axis=1)
        highest = products[np.arange(len(block)), where]
        products -= self.limits[tile]
        errors, sizes = self.errors[tile], np.abs(self.weights[tile])
        leaks = (products > -2 * errors) @ (sizes * errors)
        np.maximum(products, 0.0, out=products)
        return _State(products @ self.weights[tile], products @ sizes, leaks, highest, tile.start + where)

    def _effect(self, products: Floats, k: int) -> _State:
        """What the cap of point k does to the points of its block; nothing to those before it."""
        above, weight, error = products - self.limits[k], self.weights[k], self.errors[k]
        values = np.maximum(above, 0.0)
        leaks = np.where(above > -2 * error, abs(weight) * error, 0.0)
        nowhere = np.full(len(products), -np.inf)
        return _State(weight * values, abs(weight) * values, leaks, nowhere, np.zeros(len(products), np.int64))

    def _right(self, k: int, output: float) -> bool:
        """Whether the output at point k is nearest to its level, with room to spare; the ends reach to infinity."""
        level, top = self.levels[k], self.points.n_classes - 1
        return bool((output >= level - SLACK or level == 0) and (output <= level + SLACK or level == top))

    def _cut(self, k: int, highest: float, where: int, own: float, output: float) -> None:
        """Give point k a cap that sets its output right."""
        limit = highest + 2 * self.errors[k]
        if not own - limit > 8 * self.errors[k]:
            rows = np.sort(self.points.rows[self.order[[where, k]]])
            raise AssumptionError(f"that {Caps.assumptions}", rows, REMEDY)
        self.limits[k], self.weights[k] = limit, (self.levels[k] - output) / (own - limit)

    def _refuse_imprecise(self, k: int, leaks: float, sizes: float) -> None:
        n_caps = int(np.count_nonzero(self.weights[: k + 1]))
        if not leaks + 2.02 * (n_caps + 4) * U64 * (sizes + self.points.n_classes) < SLACK:
            row = int(self.points.rows[self.order[k]])
            raise AssumptionError("that float64 holds the slopes of all caps", [row], REMEDY)

    def construction(self) -> Construction:
        """The network of all caps."""
        places = np.flatnonzero(np.isfinite(self.limits))
        vectors = self.vectors[places]
        caps = Layer(Dense(vectors), -(vectors @ self.mean + self.limits[places]), RELU)
        output = Layer(Dense(self.weights[places][None, :]), self.levels[:1], None)
        network = Network((caps, output), index_levels(self.points.n_classes))
        anchors = self.order[places]
        trace = Trace(anchors=self.points.rows[anchors], detector_classes=self.points.y[anchors])
        return Construction(network, Outcome.INTERPOLATES, trace)
