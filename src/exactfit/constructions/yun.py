"""Yun, Sra, Jadbabaie 2019: two hidden ReLU layers of about sqrt(N) units; any real labels.

The paper has two hidden layers of 2 sqrt(N) ReLUs for N points and one real output in [-1, 1].

Faithful, in kind: points are projected onto a line and cut into p groups of q neighbours. The first layer tells
groups apart, each unit of the second serves one point of every group, and hard tanh functions of two ReLUs each make
all other points of a group cancel.

Ours: the details below meet the published number of units; they are not the authors' proof. Along the line z, let B_0 <
... < B_p be borders between the groups. The second layer's unit k sees a zigzag: a piecewise linear function of z with
kinks at the borders, slope s_g in group g, and value t_g, the label, at the one point of group g that it serves, so

    s_{g+1} (z_{g+1} - B_{g+1}) = t_{g+1} - t_g - s_g (B_{g+1} - z_g).

Only s_0 is free, and s_g = h_g + f_g s_0 is linear in it. It is chosen so large that in every group all other points
are cut off to -1 or 1. Slopes then alternate in sign from group to group. A unit that serves an even place of a group
must serve an odd one of the next, and q must be even: then in every group slopes alternate with places, +, -, +, ...,
and at any point the units that serve the others add up to 1. The output is the sum of all units less 1.

Which odd place follows which even one is free. Mirroring a group's places in the next (a "snake") keeps slopes of
like size on average, but they drift like a random walk; we give the unit that ends a group highest the place farthest
from the border, which holds them together a little better. Neighbouring groups share a border, so the first layer has
p + 1 units where two for each group would be 2 p. Labels are evenly spaced levels from -1 to 1, one for each class.
Of several random directions, the one with the smallest weights is taken.

Size, with q even near sqrt(N) and p = ceil(N / q): p + 1, 2 q, 1.

Float64: an output's error stays far below half the distance of two levels for ten thousand points and more. A
worst-case bound is much larger: large networks may need higher precision for the proof, not for the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..construct import Construction, Trace
from ..data import Floats
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Network
from ..network.activations import RELU
from .base import DistinctPoints, Published, nearest_level, verified
from .line import TRIES, Line, lines

SLACK = 1.5  # others are cut off where they would be beyond 2, not just beyond 1


def _shape(n_points: int) -> tuple[int, int]:
    """Return the number of groups, and of points in each: an even number near the square root."""
    places = 2 * max(1, round(np.sqrt(n_points) / 2))
    return -(-n_points // places), places


@dataclass(frozen=True)
class Yun(Published):
    """Two hidden ReLU layers of about sqrt(N) and 2 sqrt(N) units.

    Parameters
    ----------
    tries : int
        How many random directions to choose from.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Yun
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 5)), rng.integers(0, 3, 100)
    >>> network = Yun().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (11, 20, 1))
    """

    tries: int = TRIES

    name = "yun"
    citation = (
        "C. Yun, S. Sra, A. Jadbabaie, Small ReLU networks are powerful memorizers: a tight analysis of memorization "
        "capacity, NeurIPS 2019, arXiv:1810.07770"
    )
    activation = "relu"
    labels = ("binary", "multiclass", "real")
    assumptions = "a direction along which all points lie apart"
    counts = ("tries",)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        levels = np.linspace(-1.0, 1.0, points.n_classes)
        found = lines(points, root, apart="points", tries=self.tries)
        plans = [(line, _Zigzags.along(line, levels[points.y])) for line in found]
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
            Layer(Dense(np.repeat(zigzags.weights(), 2, axis=0)), biases, RELU),
            Layer(Dense(np.tile([1.0, -1.0], n_units)[None, :]), np.array([-1.0 - n_units]), None),
        )
        network = Network(layers, nearest_level(levels))
        return verified(network, points, Trace(n_drawn=len(found)))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Points on a line in groups of neighbours, one a row: values, labels, borders, and the least slope for each."""

    values: Floats
    targets: Floats
    borders: Floats
    least: Floats

    @classmethod
    def of(cls, values: Floats, targets: Floats) -> _Cells:
        n_groups, places = _shape(len(values))
        n_more = n_groups * places - len(values)
        # A last group that is not full is filled up with points beyond the end, of label 0.
        mean_gap = (values[-1] - values[0]) / (len(values) - 1)
        beyond = values[-1] + mean_gap * np.arange(1, n_more + 1)
        groups = np.concatenate([values, beyond]).reshape(n_groups, places)
        labels = np.concatenate([targets, np.zeros(n_more)]).reshape(n_groups, places)
        gaps = np.diff(groups, axis=1)
        first, last = groups[0, 0] - gaps[0, 0] / 2, groups[-1, -1] + gaps[-1, -1] / 2
        between = groups[:-1, -1] + (groups[1:, 0] - groups[:-1, -1]) / 2
        nowhere = np.full((n_groups, 1), np.inf)
        nearest = np.minimum(np.hstack([nowhere, gaps]), np.hstack([gaps, nowhere]))
        return cls(groups, labels, np.array([first, *between, last]), 2 * SLACK / nearest)

    @property
    def before(self) -> Floats:
        """Distances from each group's first border to its points."""
        return self.values - self.borders[:-1, None]

    @property
    def after(self) -> Floats:
        """Distances from its points to its last border."""
        return self.borders[1:, None] - self.values

    def places(self) -> NDArray[np.intp]:
        """Place of each group (rows) that each unit (columns) serves: even and odd ones in turn."""
        n_groups, n_places = self.values.shape
        served = np.empty((n_groups, n_places), dtype=np.intp)
        served[0] = np.arange(n_places)
        slopes = np.ones(n_places)
        before, after = self.before, self.after
        for group in range(1, n_groups):
            # Of units of the same sign, the one that would end a group highest gets the place farthest from the border
            # in the next.
            heights = slopes * after[group - 1, served[group - 1]]
            for parity in (0, 1):
                units = np.flatnonzero(served[group - 1] % 2 == parity)
                served[group, units[np.argsort(heights[units], kind="stable")]] = np.arange(1 - parity, n_places, 2)
            slopes = heights / before[group, served[group]]
        return served


@dataclass(frozen=True, eq=False)
class _Zigzags:
    """Second-layer units as functions on the line: slopes (groups, units), and values at the first border."""

    borders: Floats
    slopes: Floats
    start: Floats

    @classmethod
    def along(cls, line: Line, targets: Floats) -> _Zigzags:
        """Zigzags for points on a line and their labels."""
        # Slopes are linear in the first, s_g = f_g s_0 + h_g; s_0 is so large that all other points are cut off.
        # Numbers that overflow have infinite size, and another direction is taken.
        with np.errstate(all="ignore"):
            cells = _Cells.of(line.values[line.order], targets[line.order])
            served = cells.places()
            before, after, labels, least = (
                np.take_along_axis(each, served, axis=1)
                for each in (cells.before, cells.after, cells.targets, cells.least)
            )
            steps = np.diff(labels, axis=0)
            factors = _run(np.ones(len(served[0])), before, after, np.zeros_like(steps))
            offsets = _run(np.zeros(len(served[0])), before, after, steps)
            signs = np.where(served[0] % 2 == 0, 1.0, -1.0)
            first = signs * ((least + np.abs(offsets)) / np.abs(factors)).max(axis=0)
            slopes = _run(first, before, after, steps)
            return cls(cells.borders, slopes, labels[0] - first * before[0])

    @property
    def size(self) -> float:
        """Largest sum of sizes that a unit of the second layer may meet; infinite if something is not finite."""
        with np.errstate(all="ignore"):
            sizes = np.abs(self.weights()) @ (self.borders[-1] - self.borders) + np.abs(self.start)
        return float(np.nan_to_num(sizes, nan=np.inf, posinf=np.inf).max())

    def weights(self) -> Floats:
        """Return the changes of slope at the borders: one row for each unit."""
        return np.diff(self.slopes, axis=0, prepend=0.0, append=0.0).T


def _run(first: Floats, before: Floats, after: Floats, steps: Floats) -> Floats:
    """Slopes of zigzags, group by group, from those of the first group."""
    slopes = np.empty_like(before)
    slopes[0] = first
    for group in range(1, len(slopes)):
        slopes[group] = (steps[group - 1] - slopes[group - 1] * after[group - 1]) / before[group]
    return slopes
