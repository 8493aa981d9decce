"""Which points are near which: the nearest rows of every row, and the points in given balls.

Blocks of products give squares within a proven margin (see ``cloud``). Whatever that does not decide is computed
again by differences, and then, for balls, exactly. :class:`Balls` answers what the cover step asks (see
``construct.evidence``), with squared distances in place of counts: so the same cover, over the same order, gives
balls in place of detectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import TINY, Centres, Margins, compare_pairs, pair_squares, settle_squares
from .._support.console import Progress, Steps, silent
from .._support.threads import Threads, single_threaded_blas
from ..construct.evidence import Columns, Pieces
from ..data import Rows
from ..data.cloud import CROWDED, DOUBLE_DIMENSION, Cloud, Floats, Side, exact_square

BLOCK_ENTRIES = 2**23  # squares of one block of rows with all others: 64 MiB a thread
LARGEST_BLOCK = 256  # rows a block: enough for full-speed products
RIGHT_TILE = 2048  # columns of one product: with 256 rows, 4 MiB in float64
PAIRS_AT_ONCE = 2**14  # pairs whose points are gathered at a time
NOBODY = -1  # no such neighbour
COLUMN_TILE = 2048  # columns of one product of balls
DOUBTS = 4096  # room for close calls of a block, which are few; counted again where there are more
KEPT_BYTES = 2**29  # points made ready are kept up to half a GiB, and made again beyond

Ranked = tuple[Rows, Floats]


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

    def _nearest(self, block: Rows, squares: Floats, margins: Floats, start: int) -> Ranked:
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


@dataclass(frozen=True, eq=False)
class ReadyColumns:
    """Columns in tiles, with their sides of products where these are kept, in float32 or float64."""

    tiles: list[Columns]
    sides: list[Side | None]
    single: bool


class Balls:
    """Balls around points, one for every column (a place of the cloud), given by squared radii in its scale.

    A point within rounding of the limit counts as outside; subclasses know better.
    """

    def __init__(self, cloud: Cloud, squares: Floats, threads: Threads) -> None:
        self.cloud, self.squares, self.threads = cloud, squares, threads
        self.single = cloud.dimension > DOUBLE_DIMENSION

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[Floats, Columns]:
        """Squared radius of every anchor's ball, and the column that set it if one did."""
        return self.squares[anchors], np.full(len(anchors), -1)

    def stored_limits(self, limits: Floats, highest: Floats) -> list[float]:
        """The squared radii themselves."""
        return cast("list[float]", limits.tolist())

    def cost(self, rest: Pieces) -> int:
        """Limits are known beforehand; what one candidate costs are the distances within its class."""
        return max(1, self.cloud.dimension * len(self.cloud) // 8)

    def select(self, columns: Columns | slice) -> ReadyColumns:
        """Columns in tiles, made ready for products as far as memory allows."""
        wanted = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
        tiles = [wanted[start : start + COLUMN_TILE] for start in range(0, len(wanted), COLUMN_TILE)]
        kept = 16 * len(wanted) * self.cloud.dimension <= KEPT_BYTES
        single = self.single
        sides = self.threads.map(lambda tile: self.cloud.side(tile, single) if kept else None, tiles)
        return ReadyColumns(tiles, sides, single)

    def heights(self, anchors: Columns, selected: ReadyColumns) -> Floats:
        """Squared distances, right about on which side of the anchor's limit they lie."""
        stops = np.cumsum([0, *(len(tile) for tile in selected.tiles)])
        out = np.empty((len(anchors), stops[-1]))
        if not out.size:
            return out
        left = self.cloud.side(anchors, selected.single)

        def fill(index: int) -> None:
            columns, side = selected.tiles[index], selected.sides[index]
            right = side or self.cloud.side(columns, selected.single)
            out[:, stops[index] : stops[index + 1]] = self._block(anchors, left, columns, right)

        with single_threaded_blas():
            self.threads.map(fill, range(len(selected.tiles)))
        return out

    def _block(self, anchors: Columns, left: Side, columns: Columns, right: Side) -> Floats:
        cloud, single = self.cloud, left.factors.dtype == np.float32
        values: Floats = cloud.products(left, right).sum(axis=0, dtype=np.float64)
        values *= -2.0
        values += left.lows[:, None] + right.lows[None, :]
        # So wide that whatever is too close to tell directly is in doubt here: no answer depends on the filter.
        margins = Margins(6 * cloud.share_filter, 2 * cloud.slope(single), cloud.share)
        given = values, self.squares[anchors], Centres(left.points, left.norms), Centres(right.points, right.norms)
        rows, places = np.empty(DOUBTS, dtype=np.int64), np.empty(DOUBTS, dtype=np.int64)
        count, n_direct = settle_squares(*given, margins, rows, places)
        if count > DOUBTS:
            rows, places = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
            settle_squares(*given, margins, rows, places)
        if single and n_direct > CROWDED * values.size:
            self.single = False  # too coarse for these data; float64 from now on
        inside = self._inside(anchors[rows[:count]], columns[places[:count]])
        values[rows[:count], places[:count]] = np.where(inside, 0.0, np.inf)
        return values

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        """Which columns lie in their anchor's ball, where rounding cannot tell."""
        return np.zeros(len(anchors), dtype=bool)


class OpenBalls(Balls):
    """Open balls that reach to a witness: decided exactly."""

    def __init__(self, cloud: Cloud, squares: Floats, witnesses: Columns, threads: Threads) -> None:
        # A square that vanishes in scale still is that of a ball; so small, all is decided exactly.
        super().__init__(cloud, np.maximum(squares, TINY / 2), threads)
        self.witnesses = witnesses

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[Floats, Columns]:
        """Squared radius of every anchor's ball, and the column that set it."""
        return self.squares[anchors], self.witnesses[anchors]

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        inside = np.zeros(len(anchors), dtype=bool)
        for start in range(0, len(anchors), DOUBTS):
            part = slice(start, start + DOUBTS)
            signs = np.empty(len(anchors[part]), dtype=np.int64)
            centre, other = self.cloud.original(anchors[part]), self.cloud.original(self.witnesses[anchors[part]])
            compare_pairs(centre, self.cloud.original(columns[part]), centre, other, signs)
            inside[part] = signs < 0
        return inside


class ClosedBalls(Balls):
    """Closed balls of given radii, in the scale of the data: decided exactly."""

    def __init__(self, cloud: Cloud, radii: Floats, threads: Threads) -> None:
        with np.errstate(under="ignore", over="ignore"):
            super().__init__(cloud, np.square(np.ldexp(radii, -cloud.exponent)), threads)
        self.radii = radii

    def holds(self, anchors: Columns, selected: ReadyColumns) -> NDArray[np.bool_]:
        """Which selected columns lie in which anchor's ball."""
        return np.asarray(self.heights(anchors, selected) <= self.squares[anchors][:, None])

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        inside = anchors == columns
        for k in np.flatnonzero(~inside):
            x, y = self.cloud.original(np.array([anchors[k], columns[k]]))
            inside[k] = exact_square(x, y) <= Fraction(float(self.radii[anchors[k]])) ** 2
        return np.asarray(inside)
