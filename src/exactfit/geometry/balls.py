"""Which points lie in which balls: distances held against a limit, decided as exactly as asked.

:class:`Balls` answers what the cover step asks (see ``construct.evidence``), with squared
distances in place of counts: so the same cover, over the same order, gives balls in place
of detectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import TINY, Centres, Margins, compare_pairs, settle_squares
from .._support.threads import Threads, single_threaded_blas
from ..construct.evidence import Columns, Pieces
from .exact import exact_square
from .points import CROWDED, DOUBLE_DIMENSION, Cloud, Floats, Side

COLUMN_TILE = 2048
DOUBTS = 4096
KEPT_BYTES = 2**29


@dataclass(frozen=True, eq=False)
class Selected:
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

    def select(self, columns: Columns | slice) -> Selected:
        """Columns in tiles, made ready for products as far as memory allows."""
        wanted = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
        tiles = [wanted[start : start + COLUMN_TILE] for start in range(0, len(wanted), COLUMN_TILE)]
        kept = 16 * len(wanted) * self.cloud.dimension <= KEPT_BYTES
        single = self.single
        sides = self.threads.map(lambda tile: self.cloud.side(tile, single) if kept else None, tiles)
        return Selected(tiles, sides, single)

    def heights(self, anchors: Columns, selected: Selected) -> Floats:
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

    def holds(self, anchors: Columns, selected: Selected) -> NDArray[np.bool_]:
        """Which selected columns lie in which anchor's ball."""
        return np.asarray(self.heights(anchors, selected) <= self.squares[anchors][:, None])

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        inside = anchors == columns
        for k in np.flatnonzero(~inside):
            x, y = self.cloud.original(np.array([anchors[k], columns[k]]))
            inside[k] = exact_square(x, y) <= Fraction(float(self.radii[anchors[k]])) ** 2
        return np.asarray(inside)
