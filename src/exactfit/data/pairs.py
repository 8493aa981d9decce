"""The closest pair of points of different classes, and every point's nearest point of another class: exactly.

Both leave *contenders*, pairs whose computed squares rounding cannot tell from the smallest;
exact arithmetic decides among these, so the answers do not depend on BLAS, tiles or threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import distances as kernels
from .._kernels.distances import TINY
from .._support.threads import Executor, single_threaded_blas
from ..exceptions import DataError
from .cloud import CROWDED, DOUBLE_DIMENSION, Cloud, Floats, ParallelPoints, Side, closest_of_groups, exact_distance
from .equal import conflict_pairs, conflicts, distinct_rows
from .labelled import Codes
from .matrices import ChunkedPoints, Matrix, Rows, dense_rows

LEFT_TILE, RIGHT_TILE = 2048, 1024
BLOCKS_A_PIECE = 16  # blocks of pairs that one thread works through with the left side made ready once
PIECES_A_WAVE = 4  # for each thread, between two signs of progress
MOST_CONTENDERS = 2**22  # pairs kept, 96 MiB; beyond, exact arithmetic decides among them early
TREE_DIMENSION = 6  # up to here SciPy's tree beats all pairs
TREE_CLASSES = 64  # a tree for each class is worth its making up to here
TREE_ROWS = 2**16  # points that ask the tree at a time
TREE_MARGIN = 1e-9  # relative; far beyond the roundings of the tree's own distances
ROWS_AT_ONCE = 4096  # points whose close pairs are listed at a time


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of places with their computed squares."""

    left: Rows
    right: Rows
    squares: Floats

    def take(self, which: Any) -> Pairs:
        """Some of them."""
        return Pairs(self.left[which], self.right[which], self.squares[which])

    @classmethod
    def joined(cls, parts: list[Pairs]) -> Pairs:
        """All of several."""
        none = np.empty(0, dtype=np.int64)
        return cls(
            np.concatenate([none, *(part.left for part in parts)]),
            np.concatenate([none, *(part.right for part in parts)]),
            np.concatenate([np.empty(0), *(part.squares for part in parts)]),
        )


class _Blocks:
    """All blocks of pairs with different classes, places sorted by class."""

    def __init__(self, cloud: Cloud, codes: Codes, order: Rows, contest: _Contest) -> None:
        self.cloud, self.contest = cloud, contest
        self.order, self.codes = order, codes[order]
        self.single = cloud.dimension > DOUBLE_DIMENSION

    def pieces(self) -> Iterator[tuple[tuple[int, int], list[tuple[int, int]]]]:
        """A range of points on the left, and ranges on the right to meet it."""
        n = len(self.order)
        for low in range(0, n, LEFT_TILE):
            left = (low, min(low + LEFT_TILE, n))
            starts = [left, *((at, min(at + RIGHT_TILE, n)) for at in range(left[1], n, RIGHT_TILE))]
            useful = [right for right in starts if self._differ(left, right)]
            for at in range(0, len(useful), BLOCKS_A_PIECE):
                yield left, useful[at : at + BLOCKS_A_PIECE]

    def _differ(self, left: tuple[int, int], right: tuple[int, int]) -> bool:
        return bool(self.codes[left[0]] != self.codes[right[1] - 1])

    def __call__(self, piece: tuple[tuple[int, int], list[tuple[int, int]]]) -> None:
        left, rights = piece
        single = self.single
        side = self._side(left, single)
        for right in rights:
            other = side if right == left else self._side(right, single)
            self._meet(side, other, left, right, single)

    def _side(self, part: tuple[int, int], single: bool) -> Side:
        return self.cloud.side(self.order[slice(*part)], single)

    def _meet(self, left: Side, right: Side, at: tuple[int, int], to: tuple[int, int], single: bool) -> None:
        cloud, contest = self.cloud, self.contest
        size = len(left.lows) * len(right.lows)
        found = kernels.Found(np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), np.empty(size))
        bounds, others = (contest.bounds_of(self.order[slice(*part)]) for part in (at, to))
        if right is left and not contest.shared:
            others = bounds
        count = kernels.scan(
            cloud.products(left, right),
            kernels.BlockSide(left.points, left.lows, left.norms, self.codes[slice(*at)], bounds),
            kernels.BlockSide(
                right.points, right.lows, right.norms * cloud.slope(single), self.codes[slice(*to)], others
            ),
            contest.shared,
            right is left,
            kernels.Errors(cloud.share, cloud.slack),
            found,
        )
        if single and count > CROWDED * size:
            self.single = False  # too coarse for these data; float64 from now on
        here, there = self.order[at[0] + found.left[:count]], self.order[to[0] + found.right[:count]]
        contest.add(Pairs(here, there, found.squares[:count].copy()))


class _Contest:
    """Contenders so far, and how close a pair has to be to become one.

    With ``shared`` all points have one bound, for the closest pair of all; otherwise each
    point has its own, for its nearest partner.
    """

    def __init__(self, cloud: Cloud, shared: bool) -> None:
        self.cloud, self.shared = cloud, shared
        self.bounds = np.full(1 if shared else len(cloud), np.inf)
        self.parts: list[Pairs] = []
        self.count = 0
        self.lock = threading.Lock()

    def bounds_of(self, places: Rows) -> Floats:
        """A copy of some points' bounds; outdated ones are only less strict."""
        return self.bounds.copy() if self.shared else self.bounds[places]

    def add(self, pairs: Pairs) -> None:
        """Take in new pairs."""
        if not len(pairs.squares):
            return
        with self.lock:
            if self.shared:
                self._keep_closest(pairs)
            else:
                self._keep_nearest(pairs)
                self._keep_nearest(Pairs(pairs.right, pairs.left, pairs.squares))
            if self.count > MOST_CONTENDERS:
                pairs = self.decided()
                self.parts, self.count = [pairs], len(pairs.squares)

    def _keep_closest(self, pairs: Pairs) -> None:
        cloud, smallest = self.cloud, float(pairs.squares.min())
        if cloud.may_be_parallel and smallest <= (4 * cloud.slack) ** 2:
            raise ParallelPoints
        self.bounds[0] = min(self.bounds[0], kernels.reach(smallest, cloud.share, cloud.slack))
        self._append(pairs.take(self._may_win(pairs)))

    def _keep_nearest(self, pairs: Pairs) -> None:
        kept = np.empty(len(pairs.squares), dtype=bool)
        kernels.record(pairs.left, pairs.squares, self.bounds, self.cloud.share, kept)
        self._append(pairs.take(kept))

    def _append(self, pairs: Pairs) -> None:
        self.parts.append(pairs)
        self.count += len(pairs.squares)

    def _may_win(self, pairs: Pairs) -> NDArray[np.bool_]:
        bounds = self.bounds[0] if self.shared else self.bounds[pairs.left]
        return np.asarray(pairs.squares * (1.0 - self.cloud.share) - kernels.TINY <= bounds)

    def decided(self) -> Pairs:
        """The closest pair, or every point's nearest partner, among the pairs so far: exactly."""
        pairs = Pairs.joined(self.parts)
        pairs = pairs.take(self._may_win(pairs))
        return closest_of_all(self.cloud, pairs) if self.shared else closest_of_each(self.cloud, pairs)


def closest_of_all(cloud: Cloud, pairs: Pairs) -> Pairs:
    """The exactly closest pair, that of the lowest rows on a tie."""
    left, right = cloud.rows[pairs.left], cloud.rows[pairs.right]
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((high, low))
    return pairs.take(order[[cloud.winner(low[order], high[order])]])


def closest_of_each(cloud: Cloud, pairs: Pairs) -> Pairs:
    """For every left point its exactly nearest partner, the lowest row on a tie."""
    rows = cloud.rows
    ordered = pairs.take(np.lexsort((rows[pairs.right], rows[pairs.left])))
    winners = closest_of_groups(cloud.X, rows[ordered.left], rows[ordered.left], rows[ordered.right])
    return ordered.take(winners)


def by_blocks(cloud: Cloud, codes: Codes, shared: bool, work: Executor) -> Pairs:
    """The closest pair, or every point's nearest partner, from products of all pairs of different classes."""
    contest = _Contest(cloud, shared)
    blocks = _Blocks(cloud, codes, np.argsort(codes, kind="stable"), contest)
    pieces = list(blocks.pieces())
    wave = PIECES_A_WAVE * work.threads.count
    with single_threaded_blas():
        for at in range(0, len(pieces), wave):
            work.progress("distances", at, len(pieces))
            work.threads.map(blocks, pieces[at : at + wave])
    work.progress("distances", len(pieces), len(pieces))
    return contest.decided()


def in_few_dimensions(cloud: Cloud, codes: Codes) -> bool:
    """Whether a tree is the faster way."""
    n_classes = len(np.unique(codes))
    return cloud.dimension <= TREE_DIMENSION and (n_classes <= TREE_CLASSES or n_classes == len(codes))


class _Tree:
    """Points of other classes, for the points of one class; or all points, each of a class of its own.

    SciPy's tree may be off by some roundings when it leaves out a branch: a margin far beyond
    these, around the distance it finds, brings back every pair that matters.
    """

    def __init__(self, points: Floats, own: Rows, others: Rows, alone: bool, threads: int) -> None:
        from scipy.spatial import cKDTree

        self.points, self.own, self.others, self.alone, self.workers = points, own, others, alone, threads
        self.tree = cKDTree(points[others])

    def nearest_two(self, part: slice) -> tuple[Floats, Rows]:
        """Distances to the two nearest, and the nearest."""
        own = self.own[part]
        distances, places = self.tree.query(self.points[own], k=3 if self.alone else 2, workers=self.workers)
        if self.alone:
            itself = places == own[:, None]
            itself[~itself.any(axis=1), -1] = True
            distances, places = distances[~itself].reshape(-1, 2), places[~itself].reshape(-1, 2)
        return distances, self.others[places[:, 0]]

    def within(self, own: Rows, radii: Floats) -> tuple[Rows, Rows]:
        """All pairs of some points and the others not farther than each point's radius."""
        lists = self.tree.query_ball_point(self.points[own], radii, workers=self.workers)
        left = np.repeat(own, [len(found) for found in lists])
        right = self.others[np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, lists)]).astype(np.int64)]
        apart = left != right
        return left[apart], right[apart]


def by_tree(cloud: Cloud, codes: Codes, shared: bool, work: Executor) -> Pairs:
    """The same in few dimensions."""
    points = np.concatenate([cloud.take(tile) for tile in cloud.tiles(TREE_ROWS)])
    trees = _trees(points, codes, work.threads.count)
    return _closest(cloud, list(trees), work) if shared else _nearest(cloud, trees, codes, work)


def _trees(points: Floats, codes: Codes, threads: int) -> Iterator[_Tree]:
    everyone = np.arange(len(codes))
    if len(np.unique(codes)) == len(codes) > TREE_CLASSES:
        yield _Tree(points, everyone, everyone, True, threads)
        return
    for k in np.unique(codes):
        yield _Tree(points, np.flatnonzero(codes == k), np.flatnonzero(codes != k), False, threads)


def _parts(tree: _Tree) -> list[slice]:
    return [slice(low, low + TREE_ROWS) for low in range(0, len(tree.own), TREE_ROWS)]


def _measured(left: Rows, right: Rows, points: Floats) -> Pairs:
    squares = np.empty(len(left))
    kernels.pair_squares(points[left], points[right], squares)
    return Pairs(left, right, squares)


def _nearest(cloud: Cloud, trees: Iterator[_Tree], codes: Codes, work: Executor) -> Pairs:
    """Each point's nearest partner; a second one within the margin calls for all of them and an exact choice."""
    found: list[Pairs] = []
    done = 0
    for tree in trees:
        for part in _parts(tree):
            distances, partners = tree.nearest_two(part)
            own = tree.own[part]
            close = distances[:, 1] <= distances[:, 0] * (1.0 + 2 * TREE_MARGIN) + 1e-140
            found.append(_measured(own[~close], partners[~close], tree.points))
            radii = distances[close, 0] * (1.0 + TREE_MARGIN) + 1e-140
            for at in range(0, len(radii), ROWS_AT_ONCE):
                here = slice(at, at + ROWS_AT_ONCE)
                pairs = _measured(*tree.within(own[close][here], radii[here]), tree.points)
                found.append(closest_of_each(cloud, pairs))
            done += len(own)
            work.progress("distances", done, len(codes))
    return Pairs.joined(found)


def _closest(cloud: Cloud, trees: list[_Tree], work: Executor) -> Pairs:
    """The closest pairs of all."""
    distances = []
    for at, tree in enumerate(trees):
        distances.append(np.concatenate([tree.nearest_two(part)[0][:, 0] for part in _parts(tree)]))
        work.progress("distances", at + 1, len(trees))
    smallest = min(float(of_tree.min()) for of_tree in distances)
    if cloud.may_be_parallel and smallest <= 4 * cloud.slack:
        raise ParallelPoints
    radius = (smallest + 2 * cloud.slack) * (1.0 + TREE_MARGIN) + 1e-140
    contest = _Contest(cloud, True)
    for tree, of_tree in zip(trees, distances, strict=True):
        near = tree.own[of_tree <= radius]
        for at in range(0, len(near), ROWS_AT_ONCE):
            own = near[at : at + ROWS_AT_ONCE]
            contest.add(_measured(*tree.within(own, np.full(len(own), radius)), tree.points))
    return contest.decided()


VANISHING = 1e-250  # squares in scale below this have lost digits to underflow, or vanished


def closest_pair(X: Matrix, codes: Codes, work: Executor) -> tuple[float, tuple[int, int]]:
    """Distance and rows of the closest pair of different classes."""
    if isinstance(X, ChunkedPoints):
        return X.closest_pair(codes)
    equal = conflicts(X, codes)
    if equal:
        return 0.0, min(conflict_pairs(equal, codes))
    firsts, _ = distinct_rows(X, codes)
    rows = closest_rows(Cloud(X, firsts), codes, work)
    try:
        return exact_distance(*dense_rows(X, np.array(rows))), rows
    except OverflowError as error:
        raise DataError("the data are too large: a distance overflows float64. Scale them down.") from error


def closest_rows(cloud: Cloud, codes: Codes, work: Executor) -> tuple[int, int]:
    """The closest pair of different classes, the lower row first."""
    pairs = _search(cloud, codes[cloud.rows], True, work)
    a, b = int(cloud.rows[pairs.left[0]]), int(cloud.rows[pairs.right[0]])
    return min(a, b), max(a, b)


def _search(cloud: Cloud, codes: Codes, shared: bool, work: Executor) -> Pairs:
    search = by_tree if in_few_dimensions(cloud, codes) else by_blocks
    return search(cloud, codes, shared, work)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Every point's nearest point of another class.

    ``squares`` are in the cloud's scale, as computed; ``rows`` are exact.
    """

    cloud: Cloud
    squares: Floats
    rows: Rows

    @cached_property
    def distances(self) -> Floats:
        """Distances, to within some roundings; exact where squares in scale vanish."""
        lengths = self.cloud.lengths(self.squares)
        for row in np.flatnonzero(self.squares < VANISHING):
            lengths[row] = exact_distance(*dense_rows(self.cloud.X, np.array([row, self.rows[row]])))
        return lengths

    def closest(self) -> tuple[float, tuple[int, int]]:
        """Distance and rows of the closest pair of all: the lowest of the rows that may attain it, exactly."""
        near = np.flatnonzero(self.squares <= self.squares.min() * (1.0 + 4.0 * self.cloud.share) + TINY)
        a = int(near[self.cloud.winner(near, self.rows[near])])
        b = int(self.rows[a])
        return exact_distance(*dense_rows(self.cloud.X, np.array([a, b]))), (min(a, b), max(a, b))


def nearest_other(X: Matrix, codes: Codes, work: Executor) -> Nearest:
    """For every point the exactly nearest one of another class, the lowest row on a tie."""
    firsts, place = distinct_rows(X, codes)
    cloud = Cloud(X, firsts)
    pairs = _search(cloud, codes[firsts], False, work)
    pairs = pairs.take(np.argsort(pairs.left))
    return Nearest(cloud, pairs.squares[place], firsts[pairs.right][place])
