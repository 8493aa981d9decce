"""Radius and separation of the data, and the nearest neighbours of every row.

Blocks of products give squares within a proven margin (see ``data.point_set``). Whatever that leaves open is computed
again by differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._support.console import Progress, Steps, silent
from .._support.parameters import fill_docstring
from .._support.threads import Executor, Threads, open_executor, single_threaded_blas
from ..construct import hyperplanes
from ..data import Codes, Floats, Labelled, Matrix, Rows, as_points, mean
from ..data.matrices import dense_rows, row_tiles
from ..data.pairs import closest_pair
from ..data.point_set import DOUBLE_DIMENSION, PointSet
from ..exceptions import DataError

BLOCK_ENTRIES = 2**23  # squares of one block of rows with all others: 64 MiB a thread
LARGEST_BLOCK = 256  # rows a block: enough for full-speed products
RIGHT_TILE = 2048  # columns of one product: with 256 rows, 4 MiB in float64
PAIRS_AT_ONCE = 2**14  # pairs whose points are gathered at a time
NOBODY = -1  # no such neighbour

# Blocks that docstrings of this folder share.
shared_words = fill_docstring(
    points="X : array, sparse matrix or frame, shape (n_samples, n_features)",
    data="""Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels""",
    some_labels="""y : sequence of n_samples labels, optional
        Without labels: the smallest one between any two points.""",
    max_bias="""max_bias : "radius" or float
        The paper's lambda, at least the radius of the data.""",
    target="""target : label, "all" or None
        The class that gets detectors. None: of two classes the rarer one (the last on a tie), else all.""",
    random_state="random_state : int, Generator, SeedSequence or None",
    work="""n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.""",
)


@shared_words
def radius(X: Any, *, center: bool = True) -> float:
    """Largest distance of a point from the mean, or from the origin (the paper's R).

    Parameters
    ----------
    {points}
    center : bool
        Measure from the mean of the points, around which hyperplanes are drawn by default, not from the origin.

    Returns
    -------
    float

    Examples
    --------
    >>> import exactfit
    >>> exactfit.geometry.radius([[3.0, 4.0], [-3.0, -4.0]])
    5.0
    """
    size = radius_of(as_points(X), center)
    if not np.isfinite(size):
        raise DataError("the data are too large: their radius overflows float64. Scale them down.")
    return size


def radius_of(X: Matrix, center: bool) -> float:
    """Return the largest distance of a row from the mean, or from the origin."""
    return hyperplanes.largest_distance(X, mean(X) if center else np.zeros(X.shape[1]))


@dataclass(frozen=True)
class ClosestPair:
    """A smallest distance or angle, and the rows that attain it.

    Attributes
    ----------
    value : float
        Distance, or angle in radians, of the two points.
    rows : tuple of int
        The pair; of several that attain the value exactly, the one with the lowest rows.
    labels : tuple
        Their labels; empty if labels play no part.

    Examples
    --------
    >>> import exactfit
    >>> pair = exactfit.geometry.separation([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    >>> float(pair), pair.rows, pair.labels
    (2.0, (1, 2), ('a', 'b'))
    """

    value: float
    rows: tuple[int, int]
    labels: tuple[Any, ...] = ()

    def __float__(self) -> float:
        return self.value


@shared_words
def separation(X: Any, y: Any = None, *, n_jobs: int | None = None, verbose: bool = False) -> ClosestPair:
    """Smallest Euclidean distance between points of different labels, exactly.

    Pairs are ruled out by products with a proven error bound (or by a tree in few
    dimensions); what is left is compared in exact arithmetic on the numbers as given.

    Parameters
    ----------
    {points}
    {some_labels}
    {work}

    Returns
    -------
    ClosestPair
        The float64 nearest to the distance, and the pair that attains it. A distance of
        zero means equal points with different labels, which no function can fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> exactfit.geometry.separation(*load_iris(return_X_y=True))
    ClosestPair(value=0.22360679774997896, rows=(70, 138), labels=(1, 2))
    """
    with open_executor(n_jobs, verbose) as work:
        return _closest(closest_pair, X, y, work)


@shared_words
def angular_separation(X: Any, y: Any = None, *, n_jobs: int | None = None, verbose: bool = False) -> ClosestPair:
    """Smallest angle between points of different labels, or between any two points.

    Parameters
    ----------
    {points}
        Points at the origin have no direction and are left out.
    {some_labels}
    {work}

    Returns
    -------
    ClosestPair
        The angle in radians and the pair that attains it, both of directions in float64: good to about 1e-15.

    Examples
    --------
    >>> import exactfit
    >>> X, y = [[1.0, 0.0], [2.0, 2.0], [0.0, 3.0], [0.0, 5.0]], [0, 0, 1, 1]
    >>> exactfit.geometry.angular_separation(X, y)
    ClosestPair(value=0.785398163397448..., rows=(1, 2), labels=(0, 1))
    """
    with open_executor(n_jobs, verbose) as work:
        return _closest(narrowest_pair, X, y, work)


def _closest(
    find: Callable[[Matrix, Codes, Executor], tuple[float, tuple[int, int]]], X: Any, y: Any, work: Executor
) -> ClosestPair:
    """Return the closest pair of different labels, or of any two points without labels."""
    if y is not None:
        problem = Labelled.of(X, y)
        return labelled_pair(problem, *find(problem.X, problem.codes, work))
    matrix = as_points(X)
    if matrix.shape[0] < 2:
        raise DataError("X holds a single point: there is no pair")
    return ClosestPair(*find(matrix, np.arange(matrix.shape[0]), work))


def labelled_pair(problem: Labelled, value: float, rows: tuple[int, int]) -> ClosestPair:
    """Return the closest pair with its labels."""
    return ClosestPair(value, rows, tuple(problem.classes[problem.codes[list(rows)]].tolist()))


def narrowest_pair(X: Matrix, codes: Codes, work: Executor) -> tuple[float, tuple[int, int]]:
    """Return angle and rows of the pair of different classes with the smallest angle."""
    directed = np.flatnonzero(np.concatenate([dense_rows(X, tile).any(axis=1) for tile in row_tiles(X)]))
    if len(np.unique(codes[directed])) < 2:
        raise DataError("fewer than two points (of different labels) have a direction: all others are at the origin")
    units = X[directed].astype(np.float64)
    # By the largest entry first, so that no square overflows or vanishes; what vanishes then is far below rounding.
    for order in (np.inf, 2):
        norms = np.concatenate([np.linalg.norm(dense_rows(units, tile), order, axis=1) for tile in row_tiles(units)])
        if isinstance(units, np.ndarray):
            units /= norms[:, None]
        else:
            units.data /= np.repeat(norms, np.diff(units.indptr))
    units = as_points(units)  # no zero is negative
    _, pair = closest_pair(units, codes[directed], work)
    x, y = dense_rows(units, np.array(pair))
    # Unlike the arc cosine, this loses nothing near 0 and pi.
    angle = 2.0 * math.atan2(float(np.linalg.norm(x - y)), float(np.linalg.norm(x + y)))
    return angle, (int(directed[pair[0]]), int(directed[pair[1]]))


def nearest_rows(
    X: Any, codes: NDArray[Any], k: int, threads: Threads, progress: Progress = silent
) -> tuple[Rows, Rows, Floats, Floats]:
    """Each row's k nearest of its own label, k nearest of others, and the distances to both, nearest first.

    Where there are fewer, rows are NOBODY and distances infinite.
    """
    # In class order the rows of a class are a range, and a block of rows is compared with its class and with the rest.
    order = np.argsort(codes, kind="stable").astype(np.int64)
    point_set = PointSet(X, order)
    single = point_set.dimension > DOUBLE_DIMENSION
    # All points are made ready on the right side of products once; products need no copy of the points themselves.
    rights = [
        (tile, replace(point_set.side(tile, single), points=np.empty((0, 0)))) for tile in point_set.tiles(RIGHT_TILE)
    ]
    farthest = max(float(right.norms.max()) for _, right in rights)
    size = max(1, min(LARGEST_BLOCK, BLOCK_ENTRIES // len(order)))
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1)).tolist()
    blocks = [
        (np.arange(low, min(low + size, stop)), slice(start, stop))
        for start, stop in pairwise(edges)
        for low in range(start, stop, size)
    ]
    steps = Steps(progress, "neighbours", len(order))

    def search(block: tuple[Rows, slice]) -> tuple[Rows, Floats, Rows, Floats]:
        places, own_class = block
        left = point_set.side(places, single)
        # Computed squares to all points, each off by at most its row's margin.
        squares = np.empty((len(places), len(point_set)))
        for tile, right in rights:
            product = point_set.products(left, right).sum(axis=0, dtype=np.float64)
            squares[:, tile] = left.lows[:, None] + right.lows[None, :] - 2 * product
        norms = left.norms * left.norms + farthest * farthest
        margins = 2 * point_set.slope(single) * left.norms * farthest + 2 * point_set.share_filter * norms + 1e-30
        squares[np.arange(len(places)), places] = np.inf  # no point is its own neighbour
        own = _nearest(point_set, places, squares[:, own_class], margins, k, own_class.start)
        squares[:, own_class] = np.inf
        others = _nearest(point_set, places, squares, margins, k, 0)
        steps.add(len(places))
        return *own, *others

    with single_threaded_blas(threads.count > 1):
        found = threads.map(search, blocks)
    by_row = np.argsort(order)
    own, to_own, others, to_other = (np.concatenate(parts)[by_row] for parts in zip(*found, strict=True))
    return own, others, to_own, to_other


def _nearest(
    point_set: PointSet, block: Rows, squares: Floats, margins: Floats, k: int, start: int
) -> tuple[Rows, Floats]:
    """Return the rows and distances of the k nearest of each point; columns of ``squares`` count from ``start``."""
    most = min(k, squares.shape[1])
    # The k-th computed square may be too small by a margin, and any other too large by one: all up to two margins
    # beyond it are candidates, ranked by distances from differences, then by rows.
    last = np.partition(squares, most - 1, axis=1)[:, most - 1]
    points, places = np.nonzero((squares <= (last + 2 * margins)[:, None]) & np.isfinite(squares))
    places += start
    exact = np.empty(len(places))
    for low in range(0, len(places), PAIRS_AT_ONCE):
        part = slice(low, low + PAIRS_AT_ONCE)
        pair_squares(point_set.take(block[points[part]]), point_set.take(places[part]), exact[part])
    lengths, rows = point_set.lengths(exact), point_set.rows[places]
    order = np.lexsort((rows, lengths, points))
    points, rows, lengths = points[order], rows[order], lengths[order]
    rank = np.arange(len(points)) - np.searchsorted(points, points)
    near, away = np.full((len(block), k), NOBODY), np.full((len(block), k), np.inf)
    first = rank < k
    near[points[first], rank[first]], away[points[first], rank[first]] = rows[first], lengths[first]
    return near, away
