"""Balls around points that reach to the nearest point of another class; threshold units on [x, |x|^2].

Greedy: C. E. Priebe, J. G. DeVinney, D. J. Marchette, D. A. Socolinsky, *Classification using class cover catch
digraphs*, Journal of Classification 20 (2003), 3-23. Random order: R. Younsi, A. Bagnall, *Ensembles of random sphere
cover classifiers*, Pattern Recognition 49 (2016), 213-225 (without pruning).

Faithful: each ball is open and as large as the other classes allow; balls are chosen until they cover the class,
always the one that covers most (greedy) or in random order, skipping covered centres. The random order is the limit of
the paper's own construction as its width and then max_bias grow: the same detectors, at no cost for a first layer.

Ours: the code is a reconstruction, not the authors'; as classifiers, both compare distances to balls of all classes.
Here a point belongs to the class that has a ball around it; of two classes only the rarer one has balls. A ball's
radius is stored halfway between the farthest point of its class inside and the nearest of another class.

Size, with m balls and o outputs (1 for two classes, else K): m + o units and m (d + 2) + o (m + 1) parameters
(:func:`ball_cover_size`).

Float64: a point is covered only if the ball's edge is farther away, in squares, than twice all roundings can reach:
about 5 d 10^-15 (|centre|^2 + radius^2). So points of different labels must be farther apart than about
10^-7 sqrt(d) of their norm. Centre the data if they are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._support.parameters import Seed, check_choice, seed_sequence
from .._support.threads import Threads, Work, at_work
from ..construct import Construction, Recipe, Trace
from ..construct.construction import output_layer
from ..construct.cover import cover_classes
from ..construct.distinct import ClassOrder, Cover
from ..construct.evidence import Columns, Pieces
from ..data import Rows, choose_targets
from ..data.cloud import U64, Cloud
from ..data.pairs import nearest_other
from ..exceptions import AssumptionError
from ..geometry.neighbours import Balls
from ..network import Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..outcome import Outcome
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, distinct_points

ANCHORS_AT_ONCE, TILE_ROWS = 64, 2048
REMEDY = "Centre the data, scale the features, or use a construction that needs less precision."


def ball_cover_size(n_balls: int, n_features: int, n_outputs: int) -> tuple[int, int]:
    """Units (outputs included) and parameters for so many balls.

    Examples
    --------
    >>> from exactfit.constructions.ball_cover import ball_cover_size
    >>> ball_cover_size(n_balls=5, n_features=10, n_outputs=1)
    (6, 66)
    """
    return n_balls + n_outputs, n_balls * (n_features + 2) + n_outputs * (n_balls + 1)


@dataclass(frozen=True)
class BallCover:
    """Balls of each class that reach to the nearest point of another class.

    Parameters
    ----------
    order : {"random", "greedy"}
        Centres in random order, skipping covered ones, or always the one that covers most.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit.constructions import BallCover
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> network = BallCover("greedy").construct(X, y).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (5, 1))
    """

    order: Literal["random", "greedy"] = "random"
    n_jobs: int | None = None

    name: ClassVar[str] = "ball-cover"
    citation: ClassVar[str] = (
        "C. E. Priebe, J. G. DeVinney, D. J. Marchette, D. A. Socolinsky, Classification using class cover catch "
        "digraphs, Journal of Classification 20 (2003), 3-23; R. Younsi, A. Bagnall, Ensembles of random sphere cover "
        "classifiers, Pattern Recognition 49 (2016), 213-225"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "points of different labels are farther apart than squared norms are rounded"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("order", self.order, ("random", "greedy"))

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        refuse_large_norms(points)
        classes = ClassOrder.of(points.y)
        targets = choose_targets(points.y, None)
        with at_work(self.n_jobs, False) as work:
            balls = _clear_balls(points, classes, work)
            covers = cover_classes(balls, classes, targets, Recipe(selection=self.order), seed_sequence(random_state))
            _refuse_uncovered(covers, points, classes)
            radii = [balls.stored_squares(cover, classes.target(k)) for k, cover in zip(targets, covers, strict=True)]
        return _assemble(points, classes, targets, covers, np.concatenate(radii))


def refuse_large_norms(points: DistinctPoints) -> None:
    """Raise :class:`AssumptionError` where squared norms overflow."""
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(4 * (points.X * points.X).sum(axis=1))
    if wrong.any():
        raise AssumptionError("that squared norms are finite in float64", points.rows[wrong], REMEDY)


class ClearBalls(Balls):
    """Balls that claim a point only if no rounding in the network can put it outside.

    With centre c and squared radius t the network's unit is 2 <c, x> - s + b, where s is the
    rounded |x|^2 and b the rounded t - |c|^2. Whoever evaluates it is off from t - |x - c|^2 by at most

        1.01 (d + 3) u (3 |x|^2 + 3 |c|^2 + 2 t),    u = 2^-53.

    With r the distance of the nearest point of another class and t < r^2, this is less than
    m = 1.01 (d + 8) u 10 (|c|^2 + r^2) for x within r of c; and since |x|^2 <= 2 |c|^2 + 2 |x - c|^2,
    farther points are right if those at distance r are. So it is enough that claimed
    points are within r^2 - 4 m and t is 2 m away from both, which leaves a second m for the
    roundings of r^2 itself and of the distances that are compared with it.
    """

    def __init__(self, cloud: Cloud, squares: Floats, witnesses: Columns, threads: Threads) -> None:
        with np.errstate(under="ignore"):
            tiles = map(cloud.take, cloud.tiles(TILE_ROWS))
            norms = np.concatenate([(tile * tile).sum(axis=1) for tile in tiles])
        vanishing = 8.0 * (cloud.dimension + 4) * 5e-324
        with np.errstate(over="ignore", under="ignore"):
            lost = float(np.ldexp(vanishing, -2 * cloud.exponent)) if cloud.exponent > -500 else np.inf
            self.margins = 10.1 * (cloud.dimension + 8) * U64 * (norms + squares) + lost
        self.reach, self.witnesses = squares, witnesses
        super().__init__(cloud, squares - 4 * self.margins, threads)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[Floats, Columns]:
        """What an anchor's ball may claim, as a square, and the column that set it."""
        return self.squares[anchors], self.witnesses[anchors]

    def stored_squares(self, cover: Cover, target: tuple[int, int]) -> Floats:
        """Squared radii halfway between the farthest claimed point of the class and the nearest of another."""
        anchors = np.array(cover.anchors, dtype=np.int64)
        everyone = self.select(slice(*target))
        farthest: list[float] = []
        for start in range(0, len(anchors), ANCHORS_AT_ONCE):
            some = anchors[start : start + ANCHORS_AT_ONCE]
            inside = self.heights(some, everyone) < self.squares[some, None]
            farthest += [self._farthest(*pair) for pair in zip(some, _places(inside, target[0]), strict=True)]
        return np.asarray(np.ldexp((np.array(farthest) + self.reach[anchors]) / 2, 2 * self.cloud.exponent))

    def _farthest(self, anchor: np.int64, inside: Rows) -> float:
        """Largest squared distance of some columns, summed in one fixed order, unlike heights."""
        squares = np.empty(len(inside))
        pair_squares(self.cloud.take(np.repeat(anchor, len(inside))), self.cloud.take(inside), squares)
        return float(squares.max())


def _places(inside: NDArray[np.bool_], start: int) -> Iterator[Rows]:
    """Of each row, the columns that are true."""
    for row in inside:
        yield start + np.flatnonzero(row)


def _clear_balls(points: DistinctPoints, classes: ClassOrder, work: Work) -> ClearBalls:
    nearest = nearest_other(points.X, points.y, work)
    cloud = Cloud(points.X, classes.rows.astype(np.int64))
    place = np.empty(len(points), dtype=np.intp)
    place[classes.rows] = np.arange(len(points))
    witnesses = place[nearest.rows[classes.rows]]
    return ClearBalls(cloud, nearest.squares[classes.rows], witnesses, work.threads)


def _refuse_uncovered(covers: list[Cover], points: DistinctPoints, classes: ClassOrder) -> None:
    uncovered = np.concatenate([cover.uncovered for cover in covers])
    if len(uncovered):
        rows = np.sort(points.rows[classes.rows[uncovered]])
        raise AssumptionError(f"that {BallCover.assumptions}", rows, REMEDY)


def _assemble(
    points: DistinctPoints, classes: ClassOrder, targets: tuple[int, ...], covers: list[Cover], squares: Floats
) -> Construction:
    """Units 2 <c, x> - |x|^2 + (t - |c|^2), and who speaks for which class."""
    columns, witnesses, coverage = (
        np.array([value for cover in covers for value in getattr(cover, name)], dtype=np.int64)
        for name in ("anchors", "witnesses", "coverage")
    )
    speaks_for = np.repeat(np.asarray(targets, dtype=np.int64), [len(cover.anchors) for cover in covers])
    centres = points.X[classes.rows[columns]]
    weights = np.column_stack([2 * centres, np.full(len(centres), -1.0)])
    first = Layer(Dense(weights), squares - (centres * centres).sum(axis=1), THRESHOLD)
    output, decoder = output_layer(speaks_for, targets, points.n_classes)
    trace = Trace(
        anchors=points.rows[classes.rows[columns]],
        witnesses=points.rows[classes.rows[witnesses]],
        coverage=coverage,
        detector_classes=speaks_for,
        n_rejected=sum(cover.n_rejected for cover in covers),
    )
    return Construction(Network((first, output), decoder, "append_squared_norm"), Outcome.INTERPOLATES, trace)
