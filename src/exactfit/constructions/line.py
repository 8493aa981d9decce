"""Points on a line: steps (Huang and Huang 1991), ramps (Zhang et al. 2017), zigzags (Yun et al. 2019).

All three project the points onto one direction, the best of several, and fit any real labels, of which class indices
are one kind. Huang and Zhang have a linear layer of one unit for the projection, then one hidden layer.

**Huang and Huang**, threshold. Faithful: a step between two neighbours on the line adds the difference of their labels,
so N - 1 hidden units fit any N distinct points. Ours: only neighbours of different labels get a step.
Size, with c changes of label along the line: 1, c, 1; c is at most N - 1, and about N (1 - sum of p_k^2) for random
labels of frequencies p_k. Float64: at any size; steps and sums of class indices are small integers.

**Zhang et al.**, ReLU. Faithful (``ramps=False``, Theorem 1): N ReLUs with interleaved biases make a triangular system,
whose solution fits any labels of N distinct points. With each bias at the point before, it is solved in closed form:
slopes of the piecewise linear interpolation, and their differences. Ours: by default (``ramps=True``) there are two
ReLUs for each change of label only, a ramp across the gap: no slopes accumulate, and the error stays local.
Size, with n = 2 c ReLUs for c changes of label (n = N without ramps): 1, n, 1. Float64: output weights are as large as
one over a gap, and gaps shrink like 1 / N^2. With ramps, a bound of the error below 1/4 is proved at construction for
the order of sums that ``Network`` has. Without, the error is measured at all points, and a direction that leaves more
than 1/4 is not taken.

**Yun, Sra and Jadbabaie**, ReLU, two hidden layers of 2 sqrt(N) units for labels in [-1, 1]. Faithful, in kind: points
on a line are cut into p groups of q neighbours. The first layer tells groups apart, each unit of the second serves one
point of every group, and hard tanh functions of two ReLUs each make all other points of a group cancel.

Ours: the details, which meet the published number of units. Along the line z, let B_0 < ... < B_p be borders between
the groups. The second layer's unit k sees a zigzag: a piecewise linear function of z with kinks at the borders, slope
s_g in group g, and value t_g, the label, at the one point of group g that it serves, so

    s_{g+1} (z_{g+1} - B_{g+1}) = t_{g+1} - t_g - s_g (B_{g+1} - z_g).

Only s_0 is free, and s_g = h_g + f_g s_0 is linear in it. It is chosen so large that in every group all other points
are cut off to -1 or 1. Slopes then alternate in sign from group to group. A unit that serves an even place of a group
must serve an odd one of the next, and q must be even: then in every group slopes alternate with places, +, -, +, ...,
and at any point the units that serve the others add up to 1. The output is the sum of all units less 1.

Which odd place follows which even one is free. Mirroring a group's places in the next (a "snake") keeps slopes of
like size on average, but they drift like a random walk; we give the unit that ends a group highest the place farthest
from the border, which holds them together a little better. Neighbouring groups share a border, so the first layer has
p + 1 units where two for each group would be 2 p. Labels are evenly spaced levels from -1 to 1, one for each class.
Size, with q even near sqrt(N) and p = ceil(N / q): p + 1, 2 q, 1. Float64: an output's error stays far below half the
distance of two levels for ten thousand points and more; the proof may need more precision than the network.

**Lines.** The projection must keep points apart not only on paper but as computed. A :class:`Line` holds the values
that the network itself will compute (``Layer.sums``, one fixed order), and for each how far any other float64
evaluation may be from it; two points count as apart only if no rounding can swap them. Integers, in any power of two,
get directions of integer weights so small that every partial sum stays below 2^53: their values are exact, whatever the
order of the sum. A direction along one feature is always exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from .._kernels.rounding import EXACT_INTEGERS
from ..construct import Trace
from ..construct.hyperplanes import stream
from ..data import Codes, Floats, Rows
from ..data.matrices import row_tiles
from ..data.point_set import U64
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD, Activation
from ..network.weights import odd_parts
from .base import DistinctPoints, Published, nearest_level, verified

Apart = Literal["labels", "points"]

TRIES = 8  # random directions: more find a line with fewer changes of label, at the cost of a sort each
DIRECTIONS = 2  # the random stream; 0 and 1 are the paper's hyperplanes and orders
MOST_BITS, FEWEST_BITS = 32, 16
LEAST = 5e-324  # the smallest positive number
SAMPLE_ROWS, SAMPLE_DIMENSION = 8192, 1024
NO_EXPONENT = 2000  # above every exponent of float64: of columns that hold zeros only
LARGEST_ERROR = 0.25  # of the distance 1 between levels: half of what would round to another class
SLACK = 1.5  # other points of a group are cut off where they would be beyond 2, not just beyond 1


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
                values[tile] = np.asarray(layer.sums(X[tile]))[:, 0]
                if not exact:
                    errors[tile] = rel_error * (np.abs(X[tile]) @ np.abs(direction)) + 2 * X.shape[1] * LEAST
        return cls(direction, values, errors, np.argsort(values, kind="stable").astype(np.int64))

    def changes(self, y: Codes) -> Rows:
        """Return the places i in ``order`` such that the labels of points i and i + 1 differ."""
        return np.flatnonzero(np.diff(y[self.order])).astype(np.int64)

    @cached_property
    def gaps(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the gaps between neighbours; a gap is empty where rounding may swap them."""
        # However they are evaluated, values before a gap are at most its lower end, those after it at least its upper.
        values, errors = self.values[self.order], self.errors[self.order]
        with np.errstate(all="ignore"):
            low = np.maximum.accumulate(values + errors)[:-1]
            high = np.minimum.accumulate((values - errors)[::-1])[::-1][1:]
        return low, high

    def middles(self) -> Floats:
        """Return numbers t in [low, high) of the gaps: a value is on the upper side if it is greater than t."""
        low, high = self.gaps
        middle = low + (high - low) / 2
        return np.where(middle < high, middle, low)

    def network(
        self, points: DistinctPoints, activation: Activation, knots: Floats, weights: Floats, start: float
    ) -> Network:
        """Return the network of one unit for each knot on the line, whose sum, from ``start``, is the class index."""
        projection = Layer(Dense(self.direction[None, :]), np.zeros(1), None)
        units = Layer(Dense(np.ones((len(knots), 1))), -knots, activation)
        output = Layer(Dense(weights[None, :]), np.array([start]), None)
        return Network((projection, units, output), nearest_level(range(points.n_classes)))

    def trace(self, points: DistinctPoints) -> Trace:
        """Return each change of label as a unit: its anchor is the point after it, its witness the point before it."""
        places = self.changes(points.y)
        before, after = self.order[places], self.order[places + 1]
        return Trace(
            anchors=points.rows[after],
            witnesses=points.rows[before],
            coverage=np.diff(np.append(places, len(points) - 1)).astype(np.int64),
            detector_classes=points.y[after],
        )


def lines(points: DistinctPoints, root: np.random.SeedSequence, apart: Apart = "labels") -> list[Line]:
    """Lines along which no rounding can swap points (of different labels, or any two), the best first."""

    def places(line: Line) -> Rows:
        return line.changes(points.y) if apart == "labels" else np.arange(len(points) - 1)

    def shut(line: Line) -> Rows:
        (low, high), apart_at = line.gaps, places(line)
        return apart_at[~(low < high)[apart_at]]

    # The best line has the fewest changes of label, then the largest smallest gap; for "points" only the gap counts.
    def rank(line: Line) -> tuple[float, float]:
        low, high = line.gaps
        span = line.values[line.order[-1]] - line.values[line.order[0]]
        return float(len(places(line))), -float((high - low)[places(line)].min() / span)

    found = [Line.through(points.X, *each) for each in _directions(points, root, apart)]
    usable = [line for line in found if not len(shut(line))]
    if not usable:
        # Projections onto single features are exact, and may separate what no sum does.
        axes = (Line.through(points.X, axis, exact=True) for axis in np.eye(points.X.shape[1]))
        usable = list(islice((line for line in axes if not len(shut(line))), 1))
    if not usable:
        meeting = [np.unique(np.concatenate([line.order[shut(line)], line.order[shut(line) + 1]])) for line in found]
        kind = "points of different labels" if apart == "labels" else "points"
        raise AssumptionError(
            f"that all {kind} lie apart on some line, as float64 computes it,",
            np.sort(points.rows[min(reversed(meeting), key=len)]),
            "They are too close for their size: round or scale the features, or use a construction in the full space.",
        )
    return sorted(usable, key=rank)


def _directions(points: DistinctPoints, root: np.random.SeedSequence, apart: Apart) -> Iterator[tuple[Floats, bool]]:
    """Candidate directions, each with whether projections along it are exact."""
    d, bits = points.X.shape[1], _integer_bits(points.X)
    exact = bits >= FEWEST_BITS
    for index in range(TRIES):
        rng = stream(root, DIRECTIONS, index)
        if exact:
            yield rng.integers(-(2**bits), 2**bits + 1, d).astype(np.float64), True
        else:
            yield np.asarray(rng.standard_normal(d)).astype(np.float32).astype(np.float64), False
    if apart == "labels" and 1 < d <= SAMPLE_DIMENSION:
        for direction in _discriminants(points):
            scaled = direction / np.abs(direction).max()
            yield np.round(scaled * 2.0**bits) if exact else scaled.astype(np.float32).astype(np.float64), exact


def _integer_bits(X: Floats) -> int:
    """Size of integer weights, as a power of two, such that no sum with a row of X is rounded; 0 for none."""
    # All entries are multiples of a power of two. In units of it, a sum is an integer and at most the largest weight
    # times the largest sum of a row's sizes: exact below 2^53.
    finest, largest = NO_EXPONENT, 0.0
    with np.errstate(over="ignore"):
        for tile in row_tiles(X):
            points = X[tile]
            finest = odd_parts(points[points != 0])[1].min(initial=finest)
            largest = max(largest, float(np.abs(points).sum(axis=1).max()))
            reach = float(np.ldexp(largest * (1.0 + 1e-12), -finest))
            if not reach < 2.0**52:
                return 0
    return min(MOST_BITS, int(np.floor(np.log2(EXACT_INTEGERS / reach)))) if reach > 0 else 0


def _discriminants(points: DistinctPoints) -> Iterator[Floats]:
    """First directions of LDA (classes' means apart) and PCA (largest spread), from a sample of the points."""
    chosen = np.unique(np.linspace(0, len(points) - 1, SAMPLE_ROWS).astype(np.int64))
    X, y = points.X[chosen], points.y[chosen]
    with np.errstate(under="ignore"):
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


@dataclass(frozen=True)
class Huang(Published):
    """A threshold unit for every change of label along a line; any labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Huang
    >>> Huang().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (1, 6, 1)
    """

    name = "huang"
    citation = (
        "S.-C. Huang, Y.-F. Huang, Bounds on the number of hidden neurons in multilayer perceptrons, "
        "IEEE Transactions on Neural Networks 2 (1991), 47-55"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        line = lines(points, root)[0]
        places, labels = line.changes(points.y), points.y[line.order].astype(np.float64)
        steps = np.diff(labels)[places]
        return line.network(points, THRESHOLD, line.middles()[places], steps, labels[0]), line.trace(points)


@dataclass(frozen=True)
class Zhang(Published):
    """Ramps at the changes of label along a line, or a linear piece from each point to the next; any labels.

    Parameters
    ----------
    ramps : bool
        Two ReLUs for each change of label; False: one for each point, as published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Zhang
    >>> Zhang().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (1, 12, 1)
    >>> Zhang(ramps=False).construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (1, 149, 1)
    """

    ramps: bool = True

    name = "zhang"
    citation = (
        "C. Zhang, S. Bengio, M. Hardt, B. Recht, O. Vinyals, Understanding deep learning requires rethinking "
        "generalization, ICLR 2017"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        rows: list[int] = []
        for line in lines(points, root, apart="labels" if self.ramps else "points"):
            network, wrong = (_with_ramps if self.ramps else _with_slopes)(points, line)
            if not len(wrong):
                return network, line.trace(points) if self.ramps else Trace(anchors=points.rows[line.order])
            rows = rows or np.sort(points.rows[wrong]).tolist()
        raise AssumptionError(
            "that points lie so far apart on some line that float64 holds the slopes between them",
            rows,
            "Round or scale the features, or use Huang, whose steps have no slopes.",
        )


def _with_ramps(points: DistinctPoints, line: Line) -> tuple[Network, Rows]:
    """Build the network of ramps; return it with the points at the narrowest gap if its error may be too large."""
    places, labels = line.changes(points.y), points.y[line.order].astype(np.float64)
    low, high = (ends[places] for ends in line.gaps)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = high - low
        slopes = np.diff(labels)[places] / widths
        span = float((line.values + line.errors).max() - (line.values - line.errors).min())
        # Each of a ramp's two terms is at most t = slope * span, with three roundings of its own (difference, product,
        # and the slope itself, which both share); the sums after them are at most t + 2 K, with one rounding each. So,
        # with sums in the order of the ramps, a ramp adds less than 8 u (t + 2 K).
        error = 8 * U64 * float((np.abs(slopes) * span + 2 * points.n_classes).sum())
    knots = np.stack([low, high], axis=1).ravel()
    network = line.network(points, RELU, knots, np.stack([slopes, -slopes], axis=1).ravel(), labels[0])
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
        network = line.network(points, RELU, knots, weights, 0.0)
        errors = np.abs(network(points.X, checked=True)[:, 0].astype(np.float64) - points.y)
    return network, np.flatnonzero(~(errors <= LARGEST_ERROR)).astype(np.int64)


@dataclass(frozen=True)
class Yun(Published):
    """Two hidden ReLU layers of about sqrt(N) and 2 sqrt(N) units; any labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Yun
    >>> Yun().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (14, 24, 1)
    """

    name = "yun"
    citation = (
        "C. Yun, S. Sra, A. Jadbabaie, Small ReLU networks are powerful memorizers: a tight analysis of memorization "
        "capacity, NeurIPS 2019, arXiv:1810.07770"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        levels = np.linspace(-1.0, 1.0, points.n_classes)
        found = lines(points, root, apart="points")
        plans = [(line, zigzags_through(line.values[line.order], levels[points.y[line.order]])) for line in found]
        line, zigzags = min(plans, key=lambda plan: plan[1].size)
        if not np.isfinite(zigzags.size):
            raise AssumptionError(
                "that there is room between neighbours on a line, as float64 computes it,",
                points.rows,
                "Centre and scale the data.",
            )
        # Distances beyond borders; zigzags cut off at -1 and 1, as two ReLUs each; their sum less 1.
        n_units = len(zigzags.start)
        biases = (zigzags.start[:, None] + np.array([1.0, -1.0])).ravel()
        layers = (
            Layer(Dense(np.tile(line.direction, (len(zigzags.borders), 1))), -zigzags.borders, RELU),
            Layer(Dense(np.repeat(zigzags.weights, 2, axis=0)), biases, RELU),
            Layer(Dense(np.tile([1.0, -1.0], n_units)[None, :]), np.array([-1.0 - n_units]), None),
        )
        return verified(Network(layers, nearest_level(levels)), points), Trace(n_drawn=len(found))


class Zigzags(NamedTuple):
    """Second-layer units of Yun's network as functions on the line."""

    borders: Floats
    weights: Floats  # changes of slope at the borders: one row for each unit
    start: Floats  # values at the first border
    size: float  # largest sum of sizes that a unit may meet; infinite if something is not finite


def zigzags_through(values: Floats, labels: Floats) -> Zigzags:
    """Zigzags for points on a line, given in increasing order, and their labels."""
    # Numbers that overflow have infinite size, and another direction is taken.
    with np.errstate(all="ignore"):
        n_places = 2 * max(1, round(np.sqrt(len(values)) / 2))
        n_groups = -(-len(values) // n_places)
        # A last group that is not full is filled up with points beyond the end, of label 0.
        n_more = n_groups * n_places - len(values)
        mean_gap = (values[-1] - values[0]) / (len(values) - 1)
        beyond = values[-1] + mean_gap * np.arange(1, n_more + 1)
        groups = np.concatenate([values, beyond]).reshape(n_groups, n_places)
        targets = np.concatenate([labels, np.zeros(n_more)]).reshape(n_groups, n_places)
        gaps = np.diff(groups, axis=1)
        first, last = groups[0, 0] - gaps[0, 0] / 2, groups[-1, -1] + gaps[-1, -1] / 2
        borders = np.array([first, *(groups[:-1, -1] + (groups[1:, 0] - groups[:-1, -1]) / 2), last])
        nowhere = np.full((n_groups, 1), np.inf)
        nearest = np.minimum(np.hstack([nowhere, gaps]), np.hstack([gaps, nowhere]))
        before, after = groups - borders[:-1, None], borders[1:, None] - groups
        served = served_places(before, after)
        before, after, targets, least = (
            np.take_along_axis(each, served, axis=1) for each in (before, after, targets, 2 * SLACK / nearest)
        )
        # Slopes are linear in the first, s_g = f_g s_0 + h_g; s_0 is so large that all other points are cut off.
        slopes = partial(_slopes, before, after)
        steps, one = np.diff(targets, axis=0), np.ones(n_places)
        factors, offsets = slopes(0 * steps, one), slopes(steps, 0 * one)
        signs = np.where(served[0] % 2 == 0, 1.0, -1.0)
        steepest = signs * ((least + np.abs(offsets)) / np.abs(factors)).max(axis=0)
        weights = np.diff(slopes(steps, steepest), axis=0, prepend=0.0, append=0.0).T
        start = targets[0] - steepest * before[0]
        sizes = np.abs(weights) @ (borders[-1] - borders) + np.abs(start)
        return Zigzags(borders, weights, start, float(np.nan_to_num(sizes, nan=np.inf, posinf=np.inf).max()))


def served_places(before: Floats, after: Floats) -> NDArray[np.intp]:
    """Return the place of each group (rows) that each unit (columns) serves: even and odd ones in turn."""
    n_groups, n_places = before.shape
    served = np.empty((n_groups, n_places), dtype=np.intp)
    served[0] = np.arange(n_places)
    slopes = np.ones(n_places)
    for group in range(1, n_groups):
        # Of units of the same sign, the one that would end a group highest gets the place farthest from the border
        # in the next.
        heights = slopes * after[group - 1, served[group - 1]]
        for parity in (0, 1):
            units = np.flatnonzero(served[group - 1] % 2 == parity)
            served[group, units[np.argsort(heights[units], kind="stable")]] = np.arange(1 - parity, n_places, 2)
        slopes = heights / before[group, served[group]]
    return served


def _slopes(before: Floats, after: Floats, steps: Floats, first: Floats) -> Floats:
    """Slopes of zigzags, group by group, from those of the first group."""
    slopes = np.empty_like(before)
    slopes[0] = first
    for group in range(1, len(slopes)):
        slopes[group] = (steps[group - 1] - slopes[group - 1] * after[group - 1]) / before[group]
    return slopes
