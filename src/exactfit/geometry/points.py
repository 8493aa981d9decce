"""Points made ready for distances: scaled, centred, and with what a filter's error bound needs.

All points are scaled by one power of two into [-1, 1], which is exact but for underflow far
below everything that is compared. Let m be the mean of some of them, x' = fl(x - m), and
s = |x'| + |y'|. The filter's square |x'|^2 + |y'|^2 - 2 <x', y'> differs from |x - y|^2 by

- at most 2.1 u s^2 because x' and y' are rounded (u = 2^-53, relative to their entries),
- at most 1.01 (d + 3) u s^2 from squares, product and their sum in float64,

in all less than 1.01 (d + 24) u s^2 <= 2.02 (d + 24) u (|x'|^2 + |y'|^2). A float32 product
over blocks of K = 256 features, added up in float64, errs by another 2.02 (K + 3) 2^-24 |x'| |y'|
(see ``_sides`` for the same bound) and d 2^-140 where float32 underflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Matrix, Rows
from ..network.sides import FEATURE_BLOCK, dense_rows, row_tiles
from .exact import closest_of_groups, narrowest

Floats = NDArray[np.float64]

U32, U64 = 2.0**-24, 2.0**-53
CENTRE_ROWS = 256
DOUBLE_DIMENSION = 32  # up to here float64 products cost little more
CROWDED = 0.02  # share of doubtful entries beyond which float32 is too coarse


@dataclass(frozen=True, eq=False)
class Side:
    """Some points, ready for one side of a product."""

    points: Floats
    factors: NDArray[Any]
    lows: Floats
    norms: Floats


class Cloud:
    """Points of a matrix, in the scale in which they are compared."""

    slack = 0.0
    may_be_parallel = False

    def __init__(self, X: Matrix, rows: Rows) -> None:
        self.X, self.rows = X, rows
        self.exponent = self._largest_exponent()
        self.dimension = int(X.shape[1])
        self.share = 1.01 * (self.dimension + 8) * U64
        self.share_filter = 2.02 * (self.dimension + 24) * U64
        self.blocks = [slice(low, low + FEATURE_BLOCK) for low in range(0, self.dimension, FEATURE_BLOCK)]
        middle = np.linspace(0, len(rows) - 1, min(len(rows), CENTRE_ROWS)).astype(np.int64)
        self.centre: Floats = self.take(middle).mean(axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def _largest_exponent(self) -> int:
        largest = max(float(np.abs(dense_rows(self.X, tile)).max()) for tile in row_tiles(self.X))
        return int(np.frexp(largest)[1])

    def original(self, places: Rows) -> Floats:
        """Points as given."""
        return dense_rows(self.X, self.rows[places])

    def take(self, places: Rows) -> Floats:
        """Points in scale."""
        with np.errstate(under="ignore"):
            return np.ldexp(self.original(places), -self.exponent)

    def side(self, places: Rows, single: bool) -> Side:
        """Points ready for a product in float32 or float64."""
        points = self.take(places)
        centred = points - self.centre
        with np.errstate(under="ignore"):
            squares = (centred * centred).sum(axis=1)
            norms = np.sqrt(squares) * (1.0 + 1e-12)
            factors = np.ascontiguousarray(centred.astype(np.float32)) if single else centred
        lows = squares - self.share_filter * norms * norms - (self.dimension * 2.0**-140 if single else 0.0)
        return Side(points, factors, lows, norms)

    def slope(self, single: bool) -> float:
        """What a product's error is at most, as a share of the norms' product."""
        return 2.02 * (min(self.dimension, FEATURE_BLOCK) + 3) * U32 if single else 0.0

    def products(self, left: Side, right: Side) -> NDArray[Any]:
        """Products of all pairs, one matrix for every block of features."""
        single = left.factors.dtype == np.float32
        blocks = self.blocks if single else [slice(None)]
        out = np.empty((len(blocks), len(left.lows), len(right.lows)), dtype=left.factors.dtype)
        with np.errstate(under="ignore"):
            for product, block in zip(out, blocks, strict=True):
                np.matmul(left.factors[:, block], right.factors[:, block].T, out=product)
        return out

    def tiles(self, size: int) -> Iterator[Rows]:
        """All places, in order, a tile at a time."""
        for start in range(0, len(self), size):
            yield np.arange(start, min(start + size, len(self)))

    def lengths(self, squares: Floats) -> Floats:
        """Computed squares in scale, as distances between the points as given."""
        return np.asarray(np.ldexp(np.sqrt(squares), self.exponent), dtype=np.float64)

    def winner(self, left: Rows, right: Rows) -> int:
        """Place of the first pair of rows that is exactly the closest."""
        return int(closest_of_groups(self.X, np.zeros(len(left), dtype=np.int64), left, right)[0])


class ParallelPoints(Exception):  # noqa: N818  (a finding, not an error)
    """Some pair of points may be parallel, and then there may be very many."""


class Rays(Cloud):
    """Directions of points other than zero; distances are chords of the unit sphere.

    A direction is the point, scaled by a power of two of its own, over its computed norm. That
    norm is off by at most (d + 4) u of itself and each quotient by another u, so the direction
    lies within (d + 6) u of the true one, and a chord is off by at most twice that.
    """

    def __init__(self, X: Matrix, rows: Rows, *, may_be_parallel: bool) -> None:
        super().__init__(X, rows)
        self.slack = 2.1 * (self.dimension + 8) * U64
        self.may_be_parallel = may_be_parallel

    def _largest_exponent(self) -> int:
        return 0

    def take(self, places: Rows) -> Floats:
        """Directions."""
        points = self.original(places)
        with np.errstate(under="ignore"):
            points = np.ldexp(points, -np.frexp(np.abs(points).max(axis=1))[1][:, None])
            return np.asarray(points / np.sqrt((points * points).sum(axis=1))[:, None], dtype=np.float64)

    def winner(self, left: Rows, right: Rows) -> int:
        """Place of the first pair of rows whose angle is exactly the smallest."""
        return narrowest(self.X, left, right)
