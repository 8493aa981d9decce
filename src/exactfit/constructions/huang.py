"""Huang and Huang 1991: one threshold unit between neighbours on a line; threshold, one hidden layer.

S.-C. Huang and Y.-F. Huang, *Bounds on the number of hidden neurons in multilayer perceptrons*, IEEE Transactions on
Neural Networks 2 (1991), 47-55.

Faithful: all points are projected onto one direction, and a step between two neighbours on the line adds the difference
of their labels, so N - 1 hidden units fit any N distinct points.

Ours: the code is a reconstruction, not the authors'. Only neighbours of different labels get a step; the direction is
the best of several (see ``line``); and since all units share it, it is computed once, by a linear layer of one unit.

Size, with c changes of label along the line: 1 + c + 1 units and (d + 1) + 2 c + (c + 1) parameters
(:func:`huang_size`); c is at most N - 1, and about N (1 - sum of p_k^2) for random labels of frequencies p_k.

Float64: at any size. A direction is taken only if no rounding can swap neighbours of different labels; integer data
(in any power of two) whose rows sum up to less than 2^37 are projected without rounding. Steps and sums of class
indices are small whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._support.parameters import Seed, check_whole
from ..construct import Construction, Trace
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..outcome import Outcome
from .base import Codes, DistinctPoints, Labels, Matrix, distinct_points
from .line import TRIES, Line, best_line


def huang_size(n_changes: int, n_features: int) -> tuple[int, int]:
    """Units (outputs included) and parameters for so many changes of label.

    Examples
    --------
    >>> from exactfit.constructions.huang import huang_size
    >>> huang_size(n_changes=3, n_features=10)
    (5, 21)
    """
    return n_changes + 2, n_features + 1 + 2 * n_changes + n_changes + 1


def index_levels(n_classes: int) -> Decoder:
    """One output, whose nearest whole number is the class index."""
    return Decoder("nearest", tuple(range(n_classes)), tuple(float(code) for code in range(n_classes)))


def changes_trace(points: DistinctPoints, line: Line) -> Trace:
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
class Huang:
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

    name: ClassVar[str] = "huang"
    citation: ClassVar[str] = (
        "S.-C. Huang, Y.-F. Huang, Bounds on the number of hidden neurons in multilayer perceptrons, "
        "IEEE Transactions on Neural Networks 2 (1991), 47-55"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass", "real")
    assumptions: ClassVar[str] = "points of different labels lie apart on some line, as float64 computes it"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("tries", self.tries, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        line = best_line(points, random_state, tries=self.tries)
        places = line.changes(points.y)
        labels = points.y[line.order].astype(np.float64)
        steps = Layer(Dense(np.ones((len(places), 1))), -line.gaps().take(places).middles, THRESHOLD)
        output = Layer(Dense((labels[places + 1] - labels[places])[None, :]), labels[:1], None)
        network = Network((line.layer(), steps, output), index_levels(points.n_classes))
        return Construction(network, Outcome.INTERPOLATES, changes_trace(points, line))
