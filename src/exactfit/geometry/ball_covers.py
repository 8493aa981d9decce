"""Balls around points, covers of classes by few of them, and the cover that infinitely many hyperplanes would give.

Blocks of products give squared distances within a proven margin (see ``data.point_set``). Whatever that leaves open is
computed again by differences, and then decided exactly.

As the width and then max_bias grow, the fraction of hyperplanes that separate two points becomes proportional to their
distance, so an anchor's detector fires on the open ball around it that reaches to the nearest point of the rest.
Covering a class by such balls is the limit of Algorithm 2, and costs no hyperplane at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import TINY, Centres, Margins, compare_pairs, settle_squares
from .._support.console import Progress, silent
from .._support.parameters import Seed, check_choice, check_integer, seed_sequence
from .._support.threads import Executor, Threads, open_executor, single_threaded_blas
from ..construct.unique_patterns import ClassOrder, candidates_of
from ..data import Floats, Labelled, Matrix, Rows, refuse_conflicts
from ..data.pairs import Nearest, nearest_other
from ..data.point_set import DOUBLE_DIMENSION, PointSet, Side, exact_square
from .neighbours import shared_words

Columns = NDArray[np.intp]  # places in class order
Tiles = list[tuple[Columns, Side | None]]  # columns, with their side of products where it is kept
Table = NDArray[np.bool_]

BLOCK = 64  # balls at a time
TILE = 1024  # columns of one product
DOUBTS = 4096  # close calls of a product that are expected, for they are few; counted again where there are more
KEPT_BYTES = 2**29  # sides of products are kept up to half a GiB, and made again beyond


class Balls:
    """Balls around the places of a point set, given by squared radii in its scale."""

    def __init__(self, point_set: PointSet, squares: Floats, threads: Threads) -> None:
        self.point_set, self.squares, self.threads = point_set, squares, threads
        self.single = point_set.dimension > DOUBLE_DIMENSION

    def tiles(self, columns: Columns) -> Tiles:
        """Return columns in tiles, made ready for products as far as memory allows."""
        parts = [columns[start : start + TILE] for start in range(0, len(columns), TILE)]
        kept = 16 * len(columns) * self.point_set.dimension <= KEPT_BYTES
        sides = self.threads.map(lambda part: self.point_set.side(part, self.single) if kept else None, parts)
        return list(zip(parts, sides, strict=True))

    def table(self, centres: Columns, tiles: Tiles) -> Table:
        """Return which columns of the tiles are in the ball of each centre."""
        stops = np.cumsum([0, *(len(columns) for columns, _ in tiles)])
        out = np.empty((len(centres), stops[-1]), dtype=bool)
        left = self.point_set.side(centres, self.single)

        def fill(index: int) -> None:
            columns, right = tiles[index]
            right = right or self.point_set.side(columns, self.single)
            out[:, stops[index] : stops[index + 1]] = self._block(centres, left, columns, right)

        with single_threaded_blas():
            self.threads.map(fill, range(len(tiles)))
        return out

    def _block(self, centres: Columns, left: Side, columns: Columns, right: Side) -> Table:
        point_set, limits = self.point_set, self.squares[centres]
        squares: Floats = point_set.products(left, right).sum(axis=0, dtype=np.float64)
        squares *= -2.0
        squares += left.lows[:, None] + right.lows[None, :]
        # So wide that whatever is too close to tell directly is in doubt here: no answer depends on the filter.
        margins = Margins(6 * point_set.share_filter, 2 * point_set.slope(self.single), point_set.share)
        sides = Centres(left.points, left.norms), Centres(right.points, right.norms)
        count = DOUBTS
        rows = places = np.empty(0, dtype=np.int64)
        while count > len(rows):
            rows, places = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
            count, _ = settle_squares(squares, limits, *sides, margins, rows, places)
        inside = np.asarray(squares < limits[:, None])
        rows, places = rows[:count], places[:count]
        inside[rows, places] = self._holds(centres[rows], columns[places])
        return inside

    def _holds(self, centres: Columns, columns: Columns) -> Table:
        """Decide close calls, one column for each centre: out, unless a subclass knows exactly."""
        return np.zeros(len(centres), dtype=bool)


class OpenBalls(Balls):
    """Open balls that reach to a witness: decided exactly."""

    def __init__(self, point_set: PointSet, squares: Floats, witnesses: Columns, threads: Threads) -> None:
        # A square that vanishes in scale still is that of a ball; so small, all is decided exactly.
        super().__init__(point_set, np.maximum(squares, TINY / 2), threads)
        self.witnesses = witnesses

    def _holds(self, centres: Columns, columns: Columns) -> Table:
        signs = np.empty(len(centres), dtype=np.int64)
        for start in range(0, len(centres), DOUBTS):
            part = slice(start, start + DOUBTS)
            centre, witness = (
                self.point_set.original(centres[part]),
                self.point_set.original(self.witnesses[centres[part]]),
            )
            compare_pairs(centre, self.point_set.original(columns[part]), centre, witness, signs[part])
        return np.asarray(signs < 0)


class ClosedBalls(Balls):
    """Closed balls of given radii, in the scale of the data: decided exactly."""

    def __init__(self, point_set: PointSet, radii: Floats, threads: Threads) -> None:
        with np.errstate(under="ignore", over="ignore"):
            super().__init__(point_set, np.square(np.ldexp(radii, -point_set.exponent)), threads)
        self.radii = radii

    def _holds(self, centres: Columns, columns: Columns) -> Table:
        inside = centres == columns
        for k in np.flatnonzero(~inside):
            x, y = self.point_set.original(np.array([centres[k], columns[k]]))
            inside[k] = exact_square(x, y) <= Fraction(float(self.radii[centres[k]])) ** 2
        return np.asarray(inside)


class Cover(NamedTuple):
    """Centres of balls as they were chosen, how many points each was first to hold, and the points in none."""

    centres: Columns
    coverage: Rows
    uncovered: Columns


def reaching(X: Matrix, classes: ClassOrder, nearest: Nearest) -> tuple[PointSet, Floats]:
    """Return the points in class order, and the squares of balls that reach to the nearest point of another class."""
    return PointSet(X, classes.rows), nearest.squares[classes.rows]


def cover_by_balls(
    balls: Balls, classes: ClassOrder, targets: tuple[int, ...], selection: str, memory: int,
    root: np.random.SeedSequence, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """Return one cover for every target class: centres in the order of candidates, or greedily."""
    orders = candidates_of(classes, targets, root)
    done, total, covers = 0, sum(map(len, orders.values())), []
    for k in targets:

        def log(what: str, count: int, _: int | None, before: int = done) -> None:
            progress(what, before + count, total)

        order = orders[k]
        covers.append(
            greedy_cover(balls, order, memory, log) if selection == "greedy" else ordered_cover(balls, order, log)
        )
        done += len(order)
    return covers


def ordered_cover(balls: Balls, order: Columns, progress: Progress) -> Cover:
    """Take candidates in turn, skipping those that a ball before holds (Algorithm 2, lines 2-10)."""
    start, n = int(order.min()), len(order)
    columns, uncovered = start + np.arange(n), np.ones(n, dtype=bool)
    tiles, size = balls.tiles(columns), 1
    centres: list[int] = []
    coverage: list[int] = []
    while len(order):
        # Blocks are looked at ahead of knowing which of their balls will be needed: short ones first, for the first
        # balls hold most points.
        block, order, size = order[:size], order[size:], min(2 * size, BLOCK)
        for centre, row in zip(block.tolist(), balls.table(block, tiles), strict=True):
            held = columns[row] - start
            # A ball that is too small for its own centre is none: a later one may hold that point.
            if uncovered[centre - start] and len(held):
                centres.append(centre)
                coverage.append(int(uncovered[held].sum()))
                uncovered[held] = False
        order = order[uncovered[order - start]]
        # Covered columns are left out in bulk, for to make the others ready again costs a pass over them.
        if 2 * (left := int(uncovered.sum())) < len(columns):
            columns = start + np.flatnonzero(uncovered)
            tiles = balls.tiles(columns)
        progress("detectors", n - left, n)
    return Cover(np.array(centres, dtype=np.intp), np.array(coverage), start + np.flatnonzero(uncovered))


def greedy_cover(balls: Balls, order: Columns, memory: int, progress: Progress) -> Cover:
    """Take the ball that holds most uncovered points, again and again, the lowest column on a tie."""
    start, n = int(order.min()), len(order)
    tiles, uncovered = balls.tiles(start + np.arange(n)), np.ones(n, dtype=bool)
    # All candidates are compared if their packed rows of the table fit in memory; otherwise pools of as many as fit, in
    # the given order, each filled with uncovered candidates once no ball of the one before holds any uncovered point.
    capacity = max(1, memory // -(-n // 8))
    centres: list[int] = []
    coverage: list[int] = []
    while len(order):
        pool, order = np.sort(order[:capacity]), order[capacity:]
        packed, gains = np.empty((len(pool), -(-n // 8)), dtype=np.uint8), np.empty(len(pool), dtype=np.int64)
        for low in range(0, len(pool), BLOCK):
            table = balls.table(pool[low : low + BLOCK], tiles)
            packed[low : low + BLOCK] = np.packbits(table, axis=1)
            gains[low : low + BLOCK] = (table & uncovered).sum(axis=1)
            progress("candidates", min(low + BLOCK, len(pool)), len(pool))
        left = np.packbits(uncovered)
        # Gains only fall, so an outdated one is an upper bound: the first candidate that still leads after it was
        # counted anew is the best, and the lowest of the best.
        while gains.max() > 0:
            best = int(gains.argmax())
            gain = int(np.bitwise_count(packed[best] & left).sum())
            if gain == gains[best]:
                centres.append(int(pool[best]))
                coverage.append(gain)
                left &= ~packed[best]
                gain = 0
            gains[best] = gain
        uncovered = np.unpackbits(left, count=n).astype(bool)
        order = order[uncovered[order - start]]
        progress("detectors", n - int(uncovered.sum()), n)
    return Cover(np.array(centres, dtype=np.intp), np.array(coverage), start + np.flatnonzero(uncovered))


@dataclass(frozen=True, eq=False)
class LimitCover:
    """The limit's detectors: open balls that reach to the nearest point of another class.

    Attributes
    ----------
    anchors : ndarray of int64, shape (n_detectors,)
        The row in the middle of each ball.
    radii : ndarray of float64, shape (n_detectors,)
        Its distance to the nearest point of another class.
    witnesses : ndarray of int64, shape (n_detectors,)
        That point's row.
    coverage : ndarray of int64, shape (n_detectors,)
        How many points of its class each ball claimed first.
    classes : ndarray, shape (n_detectors,)
        The label of each ball's class.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.1)
    >>> exactfit.geometry.limit_cover(X, y).n_detectors
    10
    """

    anchors: Rows
    radii: Floats
    witnesses: Rows
    coverage: Rows
    classes: NDArray[Any]

    def __repr__(self) -> str:
        return f"<LimitCover: {self.n_detectors:,} detectors>"

    @property
    def n_detectors(self) -> int:
        """Number of balls: a forecast of the number of detectors at great width and max_bias."""
        return len(self.anchors)


@shared_words
def limit_cover(
    X: Any, y: Any, selection: str = "random", *, target: Any = None, random_state: Seed = 0, memory_limit: int = 2**28,
    n_jobs: int | None = None, verbose: bool = False,
) -> LimitCover:  # fmt: skip
    """Cover each class as infinitely many hyperplanes would: by exact Euclidean balls.

    With the seed of a ``fixed_width`` construction, anchors are tried in the same order; at
    great width and max_bias, and without ties in distance, its detectors have the same
    anchors and claim the same points. So the number of balls is a cheap forecast.

    {data}
    selection : {"random", "greedy"}
        Anchors in the paper's random order, or always the one that claims most.
    {target}
    {random_state}
    memory_limit : int
        Bytes for greedy selection's coverage rows.
    {work}

    Returns
    -------
    LimitCover

    Raises
    ------
    ContradictoryLabelsError
        If equal points carry different labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import exactfit
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> exactfit.geometry.limit_cover(X, y, "greedy").n_detectors
    5
    """
    check_choice("selection", selection, ("random", "greedy"))
    memory_limit = check_integer("memory_limit", memory_limit, at_least=1)
    problem = Labelled.of(X, y)
    targets = problem.targets(target, one_of_many=True)
    # A ball around a point that occurs with another label would be empty.
    refuse_conflicts(problem.X, problem.codes)
    with open_executor(n_jobs, verbose) as work:
        nearest = nearest_other(problem.X, problem.codes, work)
        return cover_in_the_limit(problem, targets, nearest, seed_sequence(random_state), work, selection, memory_limit)


def cover_in_the_limit(
    problem: Labelled, targets: tuple[int, ...], nearest: Nearest, root: np.random.SeedSequence, work: Executor,
    selection: str = "random", memory_limit: int = 2**28,
) -> LimitCover:  # fmt: skip
    """Cover in the limit, given every point's nearest point of another class."""
    classes = ClassOrder.of(problem.codes)
    witnesses = np.argsort(classes.rows)[nearest.rows[classes.rows]]
    point_set, squares = reaching(problem.X, classes, nearest)
    balls = OpenBalls(point_set, squares, witnesses, work.threads)
    covers = cover_by_balls(balls, classes, targets, selection, memory_limit, root, work.progress)
    anchors = classes.rows[np.concatenate([cover.centres for cover in covers])].astype(np.int64)
    return LimitCover(
        anchors=anchors,
        radii=nearest.distances[anchors],
        witnesses=nearest.rows[anchors],
        coverage=np.concatenate([cover.coverage for cover in covers]),
        classes=problem.classes[problem.codes[anchors]],
    )
