"""A change of label on a line is a step (Huang and Huang 1991) or a ramp (Zhang et al. 2017); one hidden layer.

Both project all points onto one direction. Ours in both: the direction is the best of several (see ``line``), and
computed once, by a linear layer of one unit.

**Huang and Huang**, threshold. Faithful: a step between two neighbours on the line adds the difference of their labels,
so N - 1 hidden units fit any N distinct points. Ours: only neighbours of different labels get a step.

Size, with c changes of label along the line: 1, c, 1; c is at most N - 1, and about N (1 - sum of p_k^2) for random
labels of frequencies p_k.

Float64: at any size. A direction is taken only if no rounding can swap neighbours of different labels; integer data
(in any power of two) whose rows sum up to less than 2^37 are projected without rounding. Steps and sums of class
indices are small whole numbers.

**Zhang et al.**, ReLU. Faithful (``ramps=False``, Theorem 1): N ReLUs with interleaved biases make a triangular system,
whose solution fits any labels of N distinct points. With each bias at the point before, it is solved in closed form:
slopes of the piecewise linear interpolation, and their differences. Ours: by default (``ramps=True``) there are two
ReLUs for each change of label only, a ramp across the gap: no slopes accumulate, and the error stays local.

Size, with n = 2 c ReLUs for c changes of label (n = N without ramps): 1, n, 1, of whose parameters n + d (directions
and biases) and n (outputs) are free: the paper's 2 N + d.

Float64: output weights are as large as one over a gap, and gaps shrink like 1 / N^2. With ramps, a bound of the error
below 1/4 is proved at construction for the order of sums that ``Network`` has. Without, the error is measured at all
points, and a direction that leaves more than 1/4 is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..construct import Construction, Trace
from ..data import Floats, Rows
from ..data.cloud import U64
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD, Activation
from ..outcome import Outcome
from .base import DistinctPoints, Published, nearest_level
from .line import TRIES, Line, LineGaps, lines

LARGEST_ERROR = 0.25  # of the distance 1 between levels: half of what would round to another class


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

    def __post_init__(self) -> None:
        self._check_counts("tries")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        line = lines(points, root, tries=self.tries)[0]
        places = line.changes(points.y)
        labels = points.y[line.order].astype(np.float64)
        middles, heights = line.gaps().take(places).middles, np.diff(labels)[places]
        network = _network(points, line, THRESHOLD, middles, heights, labels[0])
        return Construction(network, Outcome.INTERPOLATES, _changes_trace(points, line))


def _network(
    points: DistinctPoints, line: Line, activation: Activation, knots: Floats, weights: Floats, start: float
) -> Network:
    """One unit for each knot on the line; their sum, from ``start``, is the class index."""
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

    def __post_init__(self) -> None:
        self._check_counts("tries")

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
    """A network of ramps, and the points beside the narrowest gap if its error may be too large."""
    places = line.changes(points.y)
    gaps, labels = line.gaps().take(places), points.y[line.order].astype(np.float64)
    with np.errstate(over="ignore"):
        heights = np.diff(labels)[places] / gaps.widths
    knots = np.stack([gaps.low, gaps.high], axis=1).ravel()
    weights = np.stack([heights, -heights], axis=1).ravel()
    network = _network(points, line, RELU, knots, weights, labels[0])
    if _ramp_error(line, gaps, heights, points.n_classes) <= LARGEST_ERROR:
        return network, np.empty(0, dtype=np.int64)
    narrowest = places[gaps.widths.argmin()]
    return network, line.order[narrowest : narrowest + 2]


def _ramp_error(line: Line, gaps: LineGaps, heights: Floats, n_classes: int) -> float:
    """A bound of the output's error, with sums in the order of the ramps.

    Each of a ramp's two terms is at most t = height * span, with three roundings of its own
    (difference, product, and the height itself, which both share); the sums after them are at
    most t + 2 K, with one rounding each. So a ramp adds less than 8 u (t + 2 K).
    """
    span = float((line.values + line.errors).max() - (line.values - line.errors).min())
    with np.errstate(over="ignore", invalid="ignore"):
        total = 8 * U64 * float((np.abs(heights) * span + 2 * n_classes).sum())
    return total if np.isfinite(heights).all() and np.isfinite(gaps.widths).all() else np.inf


def _with_slopes(points: DistinctPoints, line: Line) -> tuple[Network, Rows]:
    """The published network, and the points at which its error is too large."""
    values, labels = line.values[line.order], points.y[line.order].astype(np.float64)
    step = max((values[-1] - values[0]) / len(values), 2 * float(np.spacing(np.abs(values).max())))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = np.diff(labels, prepend=0.0) / np.diff(values, prepend=values[0] - step)
        weights = np.diff(slopes, prepend=0.0)
        knots = np.concatenate([[values[0] - step], values[:-1]])
        network = _network(points, line, RELU, knots, weights, 0.0)
        errors = np.abs(network(points.X, checked=True)[:, 0].astype(np.float64) - points.y)
    return network, np.flatnonzero(~(errors <= LARGEST_ERROR)).astype(np.int64)
