"""The closest pair of points of different classes, and every point's nearest point of another class: exactly.

Both searches leave *candidates*, pairs whose computed squares rounding cannot tell from the smallest;
exact arithmetic decides among these, so the answers do not depend on BLAS, tiles or threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances as kernels
from .._kernels.distances import TINY
from .._support.console import Steps
from .._support.threads import Executor, single_threaded_blas
from ..exceptions import DataError
from .equal import conflict_pairs, conflicts, distinct_rows
from .labelled import Codes
from .matrices import ChunkedPoints, Matrix, Rows, dense_rows
from .point_set import CROWDED, DOUBLE_DIMENSION, Floats, PointSet, closest_of_groups, exact_distance

LEFT_TILE, RIGHT_TILE = 2048, 1024
BLOCKS_A_PIECE = 16  # blocks of pairs that one thread works through with the left side made ready once
MOST_CANDIDATES = 2**22  # pairs kept, 96 MiB; beyond, exact arithmetic decides among them early
TREE_DIMENSION = 6  # up to here SciPy's tree beats all pairs
TREE_CLASSES = 64  # a tree for each class is worth its making up to here
TREE_ROWS = 2**16  # points that ask the tree at a time
TREE_MARGIN = 1e-9  # relative; far beyond the roundings of the tree's own distances
ROWS_AT_ONCE = 4096  # points whose close pairs are listed at a time
VANISHING = 1e-250  # squares in scale below this have lost digits to underflow, or vanished


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of places with their computed squares."""

    left: Rows
    right: Rows
    squares: Floats

    def take(self, which: Any) -> Pairs:
        """Return some of them."""
        return Pairs(self.left[which], self.right[which], self.squares[which])


class _Candidates:
    """Pairs that may be the closest so far, and the squares below which further ones may be.

    With ``shared`` all points have one bound, for the closest pair of all; otherwise each
    point has its own, for its nearest partner.
    """

    def __init__(self, point_set: PointSet, shared: bool) -> None:
        self.point_set, self.shared = point_set, shared
        self.bounds = np.full(1 if shared else len(point_set), np.inf)
        self.pairs = Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
        self.added: list[Pairs] = []
        self.lock = threading.Lock()

    def bounds_of(self, places: Rows) -> Floats:
        """Return a copy of some points' bounds; outdated ones are only less strict."""
        # Threads improve their own copies: a bound that another thread changes meanwhile would have to be locked.
        return self.bounds.copy() if self.shared else self.bounds[places]

    def add(self, pairs: Pairs) -> None:
        """Take in new pairs, as far as they may be the closest."""
        if not len(pairs.squares):
            return
        point_set, smallest = self.point_set, float(pairs.squares.min())
        with self.lock:
            # Pairs that only a later bound rules out are dropped when candidates are decided.
            if self.shared:
                self.bounds[0] = min(self.bounds[0], kernels.reach(smallest, point_set.share))
                self.added.append(pairs.take(self._may_win(pairs)))
            else:
                for each in (pairs, Pairs(pairs.right, pairs.left, pairs.squares)):
                    kept = np.empty(len(each.squares), dtype=bool)
                    kernels.record(each.left, each.squares, self.bounds, point_set.share, kept)
                    self.added.append(each.take(kept))
            if sum(len(each.squares) for each in self.added) > MOST_CANDIDATES:
                self.decide()

    def _may_win(self, pairs: Pairs) -> NDArray[np.bool_]:
        bounds = self.bounds[0] if self.shared else self.bounds[pairs.left]
        return np.asarray(pairs.squares * (1.0 - self.point_set.share) - TINY <= bounds)

    def decide(self) -> Pairs:
        """Return the closest pair, or every point's nearest partner, the lowest rows on a tie: exactly."""
        added = [*self.added, self.pairs]
        names = ("left", "right", "squares")
        pairs = Pairs(*(np.concatenate([getattr(part, name) for part in added]) for name in names))
        pairs = pairs.take(self._may_win(pairs))
        left, right = self.point_set.rows[pairs.left], self.point_set.rows[pairs.right]
        if self.shared:
            left, right = np.minimum(left, right), np.maximum(left, right)
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        winners = closest_of_groups(self.point_set.X, np.zeros_like(left) if self.shared else left, left, right)
        self.added, self.pairs = [], pairs.take(order[winners])
        return self.pairs


def _by_blocks(point_set: PointSet, codes: Codes, found: _Candidates, work: Executor) -> None:
    """Find candidates by products of all pairs of different classes."""
    # In class order, blocks within one class are left out.
    order = np.argsort(codes, kind="stable")
    codes, n = codes[order], len(order)
    single = point_set.dimension > DOUBLE_DIMENSION
    pieces = []
    for low in range(0, n, LEFT_TILE):
        left = slice(low, min(low + LEFT_TILE, n))
        rights = [left, *(slice(at, min(at + RIGHT_TILE, n)) for at in range(left.stop, n, RIGHT_TILE))]
        rights = [right for right in rights if codes[low] != codes[right.stop - 1]]
        pieces += [(left, rights[at : at + BLOCKS_A_PIECE]) for at in range(0, len(rights), BLOCKS_A_PIECE)]
    steps = Steps(work.progress, "distances", len(pieces))

    def scan(piece: tuple[slice, list[slice]]) -> None:
        nonlocal single
        at, tos = piece
        is_single = single  # another thread may change it meanwhile
        side, slope = point_set.side(order[at], is_single), point_set.slope(is_single)
        for to in tos:
            other = side if to == at else point_set.side(order[to], is_single)
            size = len(side.lows) * len(other.lows)
            room = kernels.Found(np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), np.empty(size))
            bounds = found.bounds_of(order[at])
            # A block that meets itself improves one bound of each point, not two.
            others = bounds if to == at and not found.shared else found.bounds_of(order[to])
            count = kernels.scan(
                point_set.products(side, other),
                kernels.BlockSide(side.points, side.lows, side.norms, codes[at], bounds),
                kernels.BlockSide(other.points, other.lows, other.norms * slope, codes[to], others),
                found.shared,
                to == at,
                point_set.share,
                room,
            )
            if is_single and count > CROWDED * size:
                single = False  # too coarse for these data; float64 from the next piece on
            here, there = order[at.start + room.left[:count]], order[to.start + room.right[:count]]
            found.add(Pairs(here, there, room.squares[:count].copy()))
        steps.add(1)

    # Threads work on pieces of their own; BLAS would add threads to each of them.
    with single_threaded_blas():
        work.threads.map(scan, pieces)


def _by_trees(point_set: PointSet, codes: Codes, found: _Candidates, work: Executor) -> None:
    """Find candidates by SciPy's tree, in few dimensions: of all points if all classes differ, else one for each class.

    The tree may be off by some roundings when it leaves out a branch: a margin far beyond these, around the distance
    it finds, brings back every pair that matters.
    """
    from scipy.spatial import cKDTree

    points = np.concatenate([point_set.take(tile) for tile in point_set.tiles(TREE_ROWS)])
    n, n_workers, smallest = len(codes), work.threads.count, np.inf
    classes = np.unique(codes)
    alone = len(classes) == n
    steps = Steps(work.progress, "distances", n)

    def add(left: Rows, right: Rows) -> None:
        squares = np.empty(len(left))
        kernels.pair_squares(points[left], points[right], squares)
        found.add(Pairs(left, right, squares))

    for k in classes[:1] if alone else classes:
        own = np.arange(n) if alone else np.flatnonzero(codes == k)
        others = own if alone else np.flatnonzero(codes != k)
        tree = cKDTree(points[others])
        for low in range(0, len(own), TREE_ROWS):
            part = own[low : low + TREE_ROWS]
            distances, places = tree.query(points[part], k=3 if alone else 2, workers=n_workers)
            if alone:  # a point is among its nearest, if not behind two that are equal to it after rounding
                itself = places == part[:, None]
                itself[~itself.any(axis=1), -1] = True
                distances, places = distances[~itself].reshape(-1, 2), places[~itself].reshape(-1, 2)
            smallest = min(smallest, float(distances[:, 0].min()))
            limits = np.full(len(part), smallest) if found.shared else distances[:, 0]
            radii = limits * (1.0 + TREE_MARGIN) + 1e-140
            near = distances[:, 0] <= radii
            # Where a second point is within the margin, all that are have to be listed.
            several = near & (distances[:, 1] <= radii * (1.0 + TREE_MARGIN))
            add(part[near & ~several], others[places[near & ~several, 0]])
            crowded = np.flatnonzero(several)
            for start in range(0, len(crowded), ROWS_AT_ONCE):
                few = crowded[start : start + ROWS_AT_ONCE]
                lists = tree.query_ball_point(points[part[few]], radii[few], workers=n_workers)
                left = np.repeat(part[few], [len(each) for each in lists])
                right = others[np.concatenate([np.asarray(each, dtype=np.int64) for each in lists])]
                add(left[left != right], right[left != right])
            steps.add(len(part))


def _search(point_set: PointSet, codes: Codes, shared: bool, work: Executor) -> Pairs:
    """Return the closest pair of all with ``shared``, else every point's nearest partner."""
    found, n_classes = _Candidates(point_set, shared), len(np.unique(codes))
    few_trees = n_classes <= TREE_CLASSES or n_classes == len(codes)
    search = _by_trees if point_set.dimension <= TREE_DIMENSION and few_trees else _by_blocks
    search(point_set, codes, found, work)
    return found.decide()


def closest_pair(X: Matrix, codes: Codes, work: Executor) -> tuple[float, tuple[int, int]]:
    """Return distance and rows of the closest pair of different classes."""
    if isinstance(X, ChunkedPoints):
        return X.closest_pair(codes)
    equal = conflicts(X, codes)
    if equal:
        return 0.0, min(conflict_pairs(equal, codes))
    # Of equal points one stands for all: the data may hold very many of them.
    firsts, _ = distinct_rows(X, codes)
    pair = _search(PointSet(X, firsts), codes[firsts], True, work)
    a, b = int(firsts[pair.left[0]]), int(firsts[pair.right[0]])
    try:
        return exact_distance(*dense_rows(X, np.array([a, b]))), (min(a, b), max(a, b))
    except OverflowError as error:
        raise DataError("the data are too large: a distance overflows float64. Scale them down.") from error


@dataclass(frozen=True, eq=False)
class Nearest:
    """Every point's nearest point of another class.

    ``squares`` are in the point_set's scale, as computed; ``rows`` are exact.
    """

    point_set: PointSet
    squares: Floats
    rows: Rows

    @cached_property
    def distances(self) -> Floats:
        """Distances, to within some roundings; exact where squares in scale vanish."""
        lengths = self.point_set.lengths(self.squares)
        for row in np.flatnonzero(self.squares < VANISHING):
            lengths[row] = exact_distance(*dense_rows(self.point_set.X, np.array([row, self.rows[row]])))
        return lengths

    def closest(self) -> tuple[float, tuple[int, int]]:
        """Return distance and rows of the closest pair of all: the lowest of the rows that may attain it, exactly."""
        # Computed squares cannot tell which of these is the smallest.
        near = np.flatnonzero(self.squares <= self.squares.min() * (1.0 + 4.0 * self.point_set.share) + TINY)
        one_group = np.zeros(len(near), dtype=np.int64)
        a = int(near[closest_of_groups(self.point_set.X, one_group, near, self.rows[near])[0]])
        b = int(self.rows[a])
        return exact_distance(*dense_rows(self.point_set.X, np.array([a, b]))), (min(a, b), max(a, b))


def nearest_other(X: Matrix, codes: Codes, work: Executor) -> Nearest:
    """Find for every point the exactly nearest one of another class, the lowest row on a tie."""
    firsts, place = distinct_rows(X, codes)
    point_set = PointSet(X, firsts)
    pairs = _search(point_set, codes[firsts], False, work)
    pairs = pairs.take(np.argsort(pairs.left))
    return Nearest(point_set, pairs.squares[place], firsts[pairs.right][place])
