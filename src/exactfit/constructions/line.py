"""A change of label on a line is a step (Huang and Huang 1991) or a ramp (Zhang et al. 2017); one hidden layer.

Both project all points onto one direction. Ours in both: the direction is the best of several, and computed once, by a
linear layer of one unit.

**Huang and Huang**, threshold. Faithful: a step between two neighbours on the line adds the difference of their labels,
so N - 1 hidden units fit any N distinct points. Ours: only neighbours of different labels get a step.

Size, with c changes of label along the line: 1, c, 1; c is at most N - 1, and about N (1 - sum of p_k^2) for random
labels of frequencies p_k.

Float64: at any size. A direction is taken only if no rounding can swap neighbours of different labels. Steps and sums
of class indices are small integers.

**Zhang et al.**, ReLU. Faithful (``ramps=False``, Theorem 1): N ReLUs with interleaved biases make a triangular system,
whose solution fits any labels of N distinct points. With each bias at the point before, it is solved in closed form:
slopes of the piecewise linear interpolation, and their differences. Ours: by default (``ramps=True``) there are two
ReLUs for each change of label only, a ramp across the gap: no slopes accumulate, and the error stays local.

Size, with n = 2 c ReLUs for c changes of label (n = N without ramps): 1, n, 1, of whose parameters n + d (directions
and biases) and n (outputs) are free: the paper's 2 N + d.

Float64: output weights are as large as one over a gap, and gaps shrink like 1 / N^2. With ramps, a bound of the error
below 1/4 is proved at construction for the order of sums that ``Network`` has. Without, the error is measured at all
points, and a direction that leaves more than 1/4 is not taken.

**Lines.** The projection must keep points apart not only on paper but as computed. A :class:`Line` holds the values
that the network itself will compute (``Layer.sums``, one fixed order), and for each how far any other float64
evaluation may be from it; two points count as apart only if no rounding can swap them. Integers, in any power of two,
get directions of integer weights so small that every partial sum stays below 2^53: their values are exact, whatever the
order of the sum. A direction along one feature is always exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import stream
from ..data import Codes, Floats, Rows
from ..data.cloud import U64
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD, Activation
from ..network.weights import odd_parts
from ..outcome import Outcome
from .base import DistinctPoints, Published, nearest_level

Apart = Literal["labels", "points"]

TRIES = 8  # random directions by default; more find a line with fewer changes of label, at the cost of a sort each
DIRECTIONS = 2  # the random stream; 0 and 1 are the paper's hyperplanes and orders
MOST_BITS, FEWEST_BITS = 32, 16
LEAST = 5e-324  # the smallest positive number
SAMPLE_ROWS, SAMPLE_DIMENSION = 8192, 1024
NO_EXPONENT = 2000  # above every exponent of float64: of columns that hold zeros only
LARGEST_ERROR = 0.25  # of the distance 1 between levels: half of what would round to another class


@dataclass(frozen=True, eq=False)
class Line:
    """Points projected onto a direction, with bounds of the rounding errors."""

    direction: Floats
    values: Floats  # <direction, x> of every point, as ``layer`` computes it
    errors: Floats  # how far the exact value, and any float64 evaluation of it, may be from ``values``
    order: Rows  # points by increasing value

    @classmethod
    def through(cls, X: Floats, direction: Floats, exact: bool) -> Line:
        """Project points; ``exact`` if no sum can be rounded."""
        layer = Layer(Dense(direction[None, :]), np.zeros(1), None)
        values, errors = np.empty(len(X)), np.zeros(len(X))
        # A sum of k products is off by at most (k + 1) u of the sum of their sizes; twice that between two evaluations.
        rel_error = 2.02 * (np.count_nonzero(direction) + 2) * U64
        with np.errstate(all="ignore"):
            for tile in row_tiles(X):
                points = dense_rows(X, tile)
                values[tile] = np.asarray(layer.sums(points))[:, 0]
                if not exact:
                    errors[tile] = rel_error * (np.abs(points) @ np.abs(direction)) + 2 * X.shape[1] * LEAST
        return cls(direction, values, errors, np.argsort(values, kind="stable").astype(np.int64))

    def layer(self) -> Layer:
        """Projection as a linear layer of one unit."""
        return Layer(Dense(self.direction[None, :]), np.zeros(1), None)

    def changes(self, y: Codes) -> Rows:
        """Places i in ``order`` such that the labels of points i and i + 1 differ."""
        labels = y[self.order]
        return np.flatnonzero(labels[1:] != labels[:-1]).astype(np.int64)

    def gaps(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the gaps between neighbours; a gap is empty where rounding may swap them."""
        # However they are evaluated, values before a gap are at most its lower end, those after it at least its upper.
        values, errors = self.values[self.order], self.errors[self.order]
        with np.errstate(all="ignore"):
            low = np.maximum.accumulate(values + errors)[:-1]
            high = np.minimum.accumulate((values - errors)[::-1])[::-1][1:]
        return low, high


def _integer_bits(X: Floats) -> int:
    """Size of integer weights, as a power of two, such that no sum with a row of X is rounded; 0 for none."""
    # All entries are multiples of a power of two. In units of it, a sum is an integer and at most the largest weight
    # times the largest sum of a row's sizes: exact below 2^53.
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


def _directions(points: DistinctPoints, random_state: Seed, apart: Apart, tries: int) -> Iterator[tuple[Floats, bool]]:
    """Candidate directions, each with whether projections along it are exact."""
    root, d, bits = seed_sequence(random_state), points.X.shape[1], _integer_bits(points.X)
    exact = bits >= FEWEST_BITS
    for index in range(tries):
        rng = stream(root, DIRECTIONS, index)  # a child of the seed for each: more tries keep the first ones
        if exact:
            yield rng.integers(-(2**bits), 2**bits + 1, d).astype(np.float64), True
        else:
            yield np.asarray(rng.standard_normal(d)).astype(np.float32).astype(np.float64), False
    if apart == "labels" and 1 < d <= SAMPLE_DIMENSION:
        for direction in _discriminants(points):
            scaled = direction / np.abs(direction).max()
            if exact:
                yield np.round(scaled * 2.0**bits), True
            else:
                yield scaled.astype(np.float32).astype(np.float64), False


def _discriminants(points: DistinctPoints) -> Iterator[Floats]:
    """First directions of LDA (classes' means apart) and PCA (largest spread), from a sample of the points."""
    from scipy.linalg import eigh

    chosen = np.unique(np.linspace(0, len(points) - 1, SAMPLE_ROWS).astype(np.int64))
    X, y = points.X[chosen], points.y[chosen]
    # With one BLAS thread, to be reproducible.
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
        last = [len(total) - 1, len(total) - 1]
        for _, vectors in (eigh(between, ridge, subset_by_index=last), eigh(total, subset_by_index=last)):
            direction = vectors[:, 0]
            yield direction * np.sign(direction[np.abs(direction).argmax()])


def lines(points: DistinctPoints, random_state: Seed, *, apart: Apart = "labels", tries: int = TRIES) -> list[Line]:
    """Lines along which no rounding can swap points (of different labels, or any two), the best first."""

    def places(line: Line) -> Rows:
        return line.changes(points.y) if apart == "labels" else np.arange(len(points) - 1)

    def shut(line: Line) -> Rows:
        (low, high), apart_at = line.gaps(), places(line)
        return apart_at[~(low < high)[apart_at]]

    # The best line has the fewest changes of label, then the largest smallest gap; for "points" only the gap counts.
    def rank(line: Line) -> tuple[float, float]:
        low, high = line.gaps()
        span = line.values[line.order[-1]] - line.values[line.order[0]]
        return float(len(places(line))), -float((high - low)[places(line)].min() / span)

    found = [Line.through(points.X, *each) for each in _directions(points, random_state, apart, tries)]
    usable = [line for line in found if not len(shut(line))]
    if not usable:
        # Projections onto single features are exact, and may separate what no sum does.
        d = points.X.shape[1]
        along = (Line.through(points.X, np.eye(1, d, feature)[0], exact=True) for feature in range(d))
        usable = list(islice((line for line in along if not len(shut(line))), 1))
    if not usable:
        meeting = [np.unique(np.concatenate([line.order[shut(line)], line.order[shut(line) + 1]])) for line in found]
        kind = "points of different labels" if apart == "labels" else "points"
        raise AssumptionError(
            f"that all {kind} lie apart on some line, as float64 computes it,",
            np.sort(points.rows[min(reversed(meeting), key=len)]),
            "They are too close for their size: round or scale the features, or use a construction in the full space.",
        )
    return sorted(usable, key=rank)


@dataclass(frozen=True)
class Huang(Published):
    """A step at every change of label along a line.

    Parameters
    ----------
    tries : int
        How many random directions to try, besides two informed ones; that with the fewest changes is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Huang
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 10)), rng.integers(0, 2, 100)
    >>> network = Huang().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (1, 40, 1))
    """

    tries: int = TRIES

    name = "huang"
    citation = (
        "S.-C. Huang, Y.-F. Huang, Bounds on the number of hidden neurons in multilayer perceptrons, "
        "IEEE Transactions on Neural Networks 2 (1991), 47-55"
    )
    activation = "threshold"
    labels = ("binary", "multiclass", "real")
    assumptions = "points of different labels lie apart on some line, as float64 computes it"
    counts = ("tries",)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        line = lines(points, root, tries=self.tries)[0]
        places, labels = line.changes(points.y), points.y[line.order].astype(np.float64)
        network = _network(points, line, THRESHOLD, middles(line)[places], np.diff(labels)[places], labels[0])
        return Construction(network, Outcome.INTERPOLATES, _changes_trace(points, line))


def middles(line: Line) -> Floats:
    """Numbers t in [low, high) of the gaps: a value is on the upper side if it is greater than t."""
    low, high = line.gaps()
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def _network(
    points: DistinctPoints, line: Line, activation: Activation, knots: Floats, weights: Floats, start: float
) -> Network:
    """Network of one unit for each knot on the line, whose sum, from ``start``, is the class index."""
    units = Layer(Dense(np.ones((len(knots), 1))), -knots, activation)
    output = Layer(Dense(weights[None, :]), np.array([start]), None)
    return Network((line.layer(), units, output), nearest_level(range(points.n_classes)))


def _changes_trace(points: DistinctPoints, line: Line) -> Trace:
    """Each change of label as a unit: its anchor is the point after it, its witness the point before it."""
    places = line.changes(points.y)
    before, after = line.order[places], line.order[places + 1]
    return Trace(
        anchors=points.rows[after],
        witnesses=points.rows[before],
        coverage=np.diff(np.append(places, len(points) - 1)).astype(np.int64),
        detector_classes=points.y[after],
    )


@dataclass(frozen=True)
class Zhang(Published):
    """Ramps at the changes of label along a line, or a linear piece from each point to the next.

    Parameters
    ----------
    ramps : bool
        Two ReLUs for each change of label; False: one for each point, as published.
    tries : int
        How many random directions to try.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Zhang
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 10)), rng.integers(0, 2, 100)
    >>> for constructor in (Zhang(), Zhang(ramps=False)):
    ...     network = constructor.construct(X, y, random_state=0).network
    ...     print((network.decide(X) == y).all(), network.widths)
    True (1, 80, 1)
    True (1, 100, 1)
    """

    ramps: bool = True
    tries: int = TRIES

    name = "zhang"
    citation = (
        "C. Zhang, S. Bengio, M. Hardt, B. Recht, O. Vinyals, Understanding deep learning requires rethinking "
        "generalization, ICLR 2017"
    )
    activation = "relu"
    labels = ("binary", "multiclass", "real")
    assumptions = "points (with ramps: of different labels) lie apart on some line, as float64 computes it"
    counts = ("tries",)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        build = _with_ramps if self.ramps else _with_slopes
        rows: list[int] = []
        for line in lines(points, root, apart="labels" if self.ramps else "points", tries=self.tries):
            network, wrong = build(points, line)
            if not len(wrong):
                trace = _changes_trace(points, line) if self.ramps else Trace(anchors=points.rows[line.order])
                return Construction(network, Outcome.INTERPOLATES, trace)
            rows = rows or np.sort(points.rows[wrong]).tolist()
        raise AssumptionError(
            "that points lie so far apart on some line that float64 holds the slopes between them",
            rows,
            "Round or scale the features, or use Huang, whose steps have no slopes.",
        )


def _with_ramps(points: DistinctPoints, line: Line) -> tuple[Network, Rows]:
    """Build the network of ramps; return it with the points at the narrowest gap if its error may be too large."""
    places, labels = line.changes(points.y), points.y[line.order].astype(np.float64)
    low, high = (ends[places] for ends in line.gaps())
    with np.errstate(over="ignore", invalid="ignore"):
        widths = high - low
        slopes = np.diff(labels)[places] / widths
        span = float((line.values + line.errors).max() - (line.values - line.errors).min())
        # Each of a ramp's two terms is at most t = slope * span, with three roundings of its own (difference, product,
        # and the slope itself, which both share); the sums after them are at most t + 2 K, with one rounding each. So,
        # with sums in the order of the ramps, a ramp adds less than 8 u (t + 2 K).
        error = 8 * U64 * float((np.abs(slopes) * span + 2 * points.n_classes).sum())
    knots = np.stack([low, high], axis=1).ravel()
    network = _network(points, line, RELU, knots, np.stack([slopes, -slopes], axis=1).ravel(), labels[0])
    if error <= LARGEST_ERROR and np.isfinite(slopes).all() and np.isfinite(widths).all():
        return network, np.empty(0, dtype=np.int64)
    narrowest = places[widths.argmin()]
    return network, line.order[narrowest : narrowest + 2]


def _with_slopes(points: DistinctPoints, line: Line) -> tuple[Network, Rows]:
    """Build the published network; return it with the points at which its error is too large."""
    values, labels = line.values[line.order], points.y[line.order].astype(np.float64)
    step = max((values[-1] - values[0]) / len(values), 2 * float(np.spacing(np.abs(values).max())))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = np.diff(labels, prepend=0.0) / np.diff(values, prepend=values[0] - step)
        weights = np.diff(slopes, prepend=0.0)
        knots = np.concatenate([[values[0] - step], values[:-1]])
        network = _network(points, line, RELU, knots, weights, 0.0)
        errors = np.abs(network(points.X, checked=True)[:, 0].astype(np.float64) - points.y)
    return network, np.flatnonzero(~(errors <= LARGEST_ERROR)).astype(np.int64)
