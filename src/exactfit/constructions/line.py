"""Points on a line: directions along which no two points of different labels meet.

Constructions that first project all points onto one direction need a projection that keeps
points apart not only on paper but as computed. A :class:`Line` holds the values that the
network itself will compute (``Layer.sums``, one fixed order), and for each how far any other
float64 evaluation may be from it. Two points count as apart only if no rounding can swap them.

Whole numbers (images, counts; any data that are integers after scaling by a power of two) get
directions of integer weights so small that every partial sum stays below 2^53: then values are
exact, whatever the order of the sum. A direction along one feature is always exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct.hyperplanes import stream
from ..data import Codes, Floats, Rows
from ..data.cloud import U64
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import AssumptionError
from ..network import Dense, Layer
from ..network.weights import odd_parts
from .base import DistinctPoints

Apart = Literal["labels", "points"]

TRIES = 8  # random directions by default; more find a line with fewer changes of label, at the cost of a sort each
DIRECTIONS = 2  # the random stream; 0 and 1 are the paper's hyperplanes and orders
MOST_BITS, FEWEST_BITS = 32, 16
LEAST = 5e-324  # the smallest positive number
SAMPLE_ROWS, SAMPLE_DIMENSION = 8192, 1024
NO_EXPONENT = 2000  # above every exponent of float64: of columns that hold zeros only


@dataclass(frozen=True, eq=False)
class Line:
    """Points projected onto a direction.

    Attributes
    ----------
    direction : ndarray of float64, shape (n_features,)
    values : ndarray of float64, shape (n_points,)
        <direction, x> for every point, as :meth:`layer` computes it.
    errors : ndarray of float64, shape (n_points,)
        How far the exact value, and any float64 evaluation of it, may be from ``values``.
    order : ndarray of int64
        Points by increasing value.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> from exactfit.constructions.line import lines
    >>> points = distinct_points(np.array([[3.0], [1.0], [2.0]]), np.array([0, 0, 1]))
    >>> line = lines(points, 0)[0]
    >>> points.y[line.order], line.errors
    (array([0, 1, 0]), array([0., 0., 0.]))
    """

    direction: Floats
    values: Floats
    errors: Floats
    order: Rows

    @classmethod
    def through(cls, X: Floats, direction: Floats, exact: bool) -> Line:
        """Project points; ``exact`` if no sum can be rounded."""
        layer = _projection(direction)
        values, errors = np.empty(len(X)), np.zeros(len(X))
        # A sum of k products is off by at most (k + 1) u of the sum of their sizes; twice that between two evaluations.
        share = 2.02 * (np.count_nonzero(direction) + 2) * U64
        with np.errstate(all="ignore"):
            for tile in row_tiles(X):
                points = dense_rows(X, tile)
                values[tile] = np.asarray(layer.sums(points))[:, 0]
                if not exact:
                    errors[tile] = share * (np.abs(points) @ np.abs(direction)) + 2 * X.shape[1] * LEAST
        return cls(direction, values, errors, np.argsort(values, kind="stable").astype(np.int64))

    def layer(self) -> Layer:
        """The projection as a linear layer of one unit."""
        return _projection(self.direction)

    def gaps(self) -> LineGaps:
        """What is left, after all roundings, between every point and the next."""
        values, errors = self.values[self.order], self.errors[self.order]
        with np.errstate(all="ignore"):
            low = np.maximum.accumulate(values + errors)[:-1]
            high = np.minimum.accumulate((values - errors)[::-1])[::-1][1:]
        return LineGaps(low, high)

    def changes(self, y: Codes) -> Rows:
        """Places i in ``order`` such that the labels of points i and i + 1 differ."""
        labels = y[self.order]
        return np.flatnonzero(labels[1:] != labels[:-1]).astype(np.int64)


def _projection(direction: Floats) -> Layer:
    return Layer(Dense(direction[None, :]), np.zeros(1), None)


@dataclass(frozen=True, eq=False)
class LineGaps:
    """Intervals (low, high), the i-th between the i-th point by value and the next; empty where rounding may swap them.

    Whoever evaluates them, all values before the gap are at most ``low``, all after it at least ``high``.
    """

    low: Floats
    high: Floats

    def take(self, places: Rows) -> LineGaps:
        """Some of them."""
        return LineGaps(self.low[places], self.high[places])

    @property
    def open(self) -> NDArray[np.bool_]:
        """Whether there is a gap."""
        return np.asarray(self.low < self.high)

    @property
    def widths(self) -> Floats:
        """Their lengths."""
        return self.high - self.low

    @property
    def middles(self) -> Floats:
        """Numbers t in [low, high): a value is on the upper side if it is greater than t."""
        middle = self.low + (self.high - self.low) / 2
        return np.asarray(np.where(middle < self.high, middle, self.low))


def _integer_bits(X: Floats) -> int:
    """How large integer weights may be such that no sum with a row of X is rounded, as a power of two; 0 for none.

    All entries are multiples of a power of two. In units of it, a sum is a whole number and at
    most the largest weight times the largest sum of a row's sizes: exact below 2^53.
    """
    finest, largest = NO_EXPONENT, 0.0
    with np.errstate(over="ignore"):
        for tile in row_tiles(X):
            points = dense_rows(X, tile)
            finest = odd_parts(points[points != 0])[1].min(initial=finest)
            largest = max(largest, float(np.abs(points).sum(axis=1).max()))
            reach = float(np.ldexp(largest * (1.0 + 1e-12), -finest))
            if not reach < 2.0**52:
                return 0
    return min(MOST_BITS, int(np.floor(np.log2(EXACT_INTEGERS / reach)))) if reach > 0 else 0


class _Directions:
    """Candidate directions for some points, each with whether projections along it are exact."""

    def __init__(self, points: DistinctPoints, random_state: Seed) -> None:
        self.points, self.root = points, seed_sequence(random_state)
        self.bits = _integer_bits(points.X)
        self.exact = self.bits >= FEWEST_BITS

    def random(self) -> Iterator[tuple[Floats, bool]]:
        """Directions without end, each from its own child of the seed."""
        d = self.points.X.shape[1]
        for index in count():
            rng = stream(self.root, DIRECTIONS, index)
            if self.exact:
                yield rng.integers(-(2**self.bits), 2**self.bits + 1, d).astype(np.float64), True
            else:
                yield _short(np.asarray(rng.standard_normal(d))), False

    def informed(self) -> Iterator[tuple[Floats, bool]]:
        """The directions that best tell the classes' means apart (LDA), and of the largest spread (PCA)."""
        if not 1 < self.points.X.shape[1] <= SAMPLE_DIMENSION:
            return
        for direction in _discriminants(self.points):
            scaled = direction / np.abs(direction).max()
            if self.exact:
                yield np.round(scaled * 2.0**self.bits), True
            else:
                yield _short(scaled), False


def _short(direction: Floats) -> Floats:
    """Rounded to float32-representable numbers."""
    return np.asarray(direction.astype(np.float32), dtype=np.float64)


def _discriminants(points: DistinctPoints) -> Iterator[Floats]:
    """LDA's and PCA's first directions, from a sample of the points; with one BLAS thread, to be reproducible."""
    from scipy.linalg import eigh

    chosen = np.unique(np.linspace(0, len(points) - 1, SAMPLE_ROWS).astype(np.int64))
    X, y = points.X[chosen], points.y[chosen]
    with single_threaded_blas(), np.errstate(under="ignore"):
        X = np.ldexp(X, -int(np.frexp(np.abs(X).max())[1]))
        X = X - X.mean(axis=0)
        total = X.T @ X
        means = np.array([X[y == k].mean(axis=0) * np.sqrt((y == k).sum()) for k in np.unique(y)])
        between = means.T @ means
        size = float(np.trace(total)) / len(total)
        if not size > 0:
            return
        # total = within + between has the same best direction as within alone.
        ridge = total + 1e-6 * size * np.eye(len(total))
        last = len(total) - 1
        for direction in (
            eigh(between, ridge, subset_by_index=[last, last])[1][:, 0],
            eigh(total, subset_by_index=[last, last])[1][:, 0],
        ):
            yield direction * np.sign(direction[np.abs(direction).argmax()])


def lines(points: DistinctPoints, random_state: Seed, *, apart: Apart = "labels", tries: int = TRIES) -> list[Line]:
    """Lines along which no rounding can swap points that must stay apart, the best first.

    Points of different labels must stay apart, or all points. The best line has the fewest changes of label, then the
    largest smallest gap; for "points" only the gap counts. There are ``tries`` random directions, and for "labels" two
    informed ones besides (LDA, PCA). Where none will do, features are tried one by one, and if none of these will, the
    error names rows that meet along every direction tried, as computed.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> from exactfit.constructions.line import lines
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> points = distinct_points(X, np.array([0, 0, 0, 1]))
    >>> len(lines(points, 0)[0].changes(points.y))
    1
    """
    directions = _Directions(points, random_state)
    offered = [*islice(directions.random(), tries)]
    if apart == "labels":
        offered += directions.informed()
    found = [Line.through(points.X, *each) for each in offered]
    usable = [line for line in found if _keeps(line, points, apart)]
    if not usable:
        d = points.X.shape[1]
        along = (Line.through(points.X, np.eye(1, d, feature)[0], exact=True) for feature in range(d))
        usable = list(islice((line for line in along if _keeps(line, points, apart)), 1))
    if not usable:
        raise _meeting(found, points, apart)
    return sorted(usable, key=lambda line: _rank(line, points.y, apart))


def _places(line: Line, y: Codes, apart: Apart) -> Rows:
    return line.changes(y) if apart == "labels" else np.arange(len(y) - 1)


def _keeps(line: Line, points: DistinctPoints, apart: Apart) -> bool:
    return bool(line.gaps().take(_places(line, points.y, apart)).open.all())


def _rank(line: Line, y: Codes, apart: Apart) -> tuple[float, float]:
    places = _places(line, y, apart)
    span = line.values[line.order[-1]] - line.values[line.order[0]]
    narrowest = float(line.gaps().take(places).widths.min() / span)
    return (float(len(places)), -narrowest)


def _meeting(found: list[Line], points: DistinctPoints, apart: Apart) -> AssumptionError:
    """The rows that meet along the line on which fewest do."""
    fewest: Rows = np.arange(len(points))
    for line in found:
        places = _places(line, points.y, apart)
        shut = places[~line.gaps().take(places).open]
        rows = np.unique(np.concatenate([line.order[shut], line.order[shut + 1]]))
        fewest = rows if len(rows) <= len(fewest) else fewest
    kind = "points of different labels" if apart == "labels" else "points"
    return AssumptionError(
        f"that all {kind} lie apart on some line, as float64 computes it,",
        np.sort(points.rows[fewest]),
        "They are too close for their size: round or scale the features, or use a construction in the full space.",
    )
