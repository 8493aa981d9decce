"""The nearest rows of the same label and of other labels, for every row.

Blocks of products give squares within a proven margin (see ``points``); whatever may be among the
nearest by that is computed again by differences in float64, and of equal distances the first row wins.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._support.progress import Progress, Steps, silent
from .._support.threads import Threads, single_threaded_blas
from ..data import Rows
from .points import DOUBLE_DIMENSION, Cloud, Floats, Side

BLOCK_ENTRIES = 2**23
LARGEST_BLOCK = 256
RIGHT_TILE = 2048
PAIRS_AT_ONCE = 2**14
NOBODY = -1

Nearest = tuple[Rows, Floats]


def nearest_rows(
    X: Any, codes: NDArray[Any], k: int, threads: Threads, progress: Progress = silent
) -> tuple[Rows, Rows, Floats, Floats]:
    """Each row's k nearest of its own label, k nearest of others, and the distances to both.

    Nearest first; where there are fewer, rows are NOBODY and distances infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.threads import SERIAL
    >>> from exactfit.geometry.neighbours import nearest_rows
    >>> own, others, _, away = nearest_rows(np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1]), 1, SERIAL)
    >>> own.ravel(), others.ravel(), away.ravel()
    (array([ 1,  0, -1]), array([2, 2, 1]), array([3., 2., 2.]))
    """
    order = np.argsort(codes, kind="stable").astype(np.int64)
    search = _Search(Cloud(X, order), k)
    size = max(1, min(LARGEST_BLOCK, BLOCK_ENTRIES // len(order)))
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1)).tolist()
    blocks = [
        (np.arange(low, min(low + size, stop)), slice(start, stop))
        for start, stop in pairwise(edges)
        for low in range(start, stop, size)
    ]
    steps = Steps(progress, "neighbours", len(order))

    def work(block: tuple[Rows, slice]) -> tuple[Rows, Floats, Rows, Floats]:
        found = search(block)
        steps.add(len(block[0]))
        return found

    with single_threaded_blas(threads.count > 1):
        found = threads.map(work, blocks)
    by_row = np.argsort(order)
    own, to_own, others, to_other = (np.concatenate(parts)[by_row] for parts in zip(*found, strict=True))
    return own, others, to_own, to_other


class _Search:
    """All points on the right, made ready once; a block of points on the left at a time."""

    def __init__(self, cloud: Cloud, k: int) -> None:
        self.cloud, self.k = cloud, k
        self.single = cloud.dimension > DOUBLE_DIMENSION
        self.rights = [(tile, self._factors(tile)) for tile in cloud.tiles(RIGHT_TILE)]
        self.reach = max(float(right.norms.max()) for _, right in self.rights)

    def _factors(self, tile: Rows) -> Side:
        """Points on the right without the points themselves, which products do not need."""
        side = self.cloud.side(tile, self.single)
        return replace(side, points=side.points[:0].copy())

    def __call__(self, piece: tuple[Rows, slice]) -> tuple[Rows, Floats, Rows, Floats]:
        block, same = piece  # some places of a class, and all of them
        left = self.cloud.side(block, self.single)
        squares, margins = self._squares(left), self._margins(left)
        squares[np.arange(len(block)), block] = np.inf  # nobody is its own neighbour
        own = self._nearest(block, squares[:, same], margins, same.start)
        squares[:, same] = np.inf
        return *own, *self._nearest(block, squares, margins, 0)

    def _squares(self, left: Side) -> Floats:
        """Computed squares to all points, off by at most the margins."""
        out = np.empty((len(left.lows), len(self.cloud)))
        for tile, right in self.rights:
            product = self.cloud.products(left, right).sum(axis=0, dtype=np.float64)
            out[:, tile] = left.lows[:, None] + right.lows[None, :] - 2 * product
        return out

    def _margins(self, left: Side) -> Floats:
        share, norms = self.cloud.share_filter, left.norms
        most = norms * norms + self.reach * self.reach
        return np.asarray(2 * self.cloud.slope(self.single) * norms * self.reach + 2 * share * most + 1e-30)

    def _nearest(self, block: Rows, squares: Floats, margins: Floats, start: int) -> Nearest:
        """The k nearest of each block row, from all that the margins cannot rule out; columns count from ``start``."""
        k = min(self.k, squares.shape[1])
        last = np.partition(squares, k - 1, axis=1)[:, k - 1]
        points, places = np.nonzero((squares <= (last + 2 * margins)[:, None]) & np.isfinite(squares))
        places += start
        lengths = self._lengths(block[points], places)
        rows = self.cloud.rows[places]
        order = np.lexsort((rows, lengths, points))
        points, rows, lengths = points[order], rows[order], lengths[order]
        rank = np.arange(len(points)) - np.searchsorted(points, points)
        near, away = np.full((len(block), self.k), NOBODY), np.full((len(block), self.k), np.inf)
        first = rank < self.k
        near[points[first], rank[first]], away[points[first], rank[first]] = rows[first], lengths[first]
        return near, away

    def _lengths(self, left: Rows, right: Rows) -> Floats:
        """Distances of pairs, by differences."""
        squares = np.empty(len(left))
        for low in range(0, len(left), PAIRS_AT_ONCE):
            part = slice(low, low + PAIRS_AT_ONCE)
            pair_squares(self.cloud.take(left[part]), self.cloud.take(right[part]), squares[part])
        return self.cloud.lengths(squares)
