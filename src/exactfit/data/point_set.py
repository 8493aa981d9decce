"""Points made ready for distances, with what a filter's error bound needs; and exact comparisons.

All points are scaled by one power of two into [-1, 1], which is exact but for underflow far
below everything that is compared. Let m be the mean of some of them, x' = fl(x - m), and
s = |x'| + |y'|. The filter's square |x'|^2 + |y'|^2 - 2 <x', y'> differs from |x - y|^2 by

- at most 2.1 u s^2 because x' and y' are rounded (u = 2^-53, relative to their entries),
- at most 1.01 (d + 3) u s^2 from squares, product and their sum in float64,

in all less than 1.01 (d + 24) u s^2 <= 2.02 (d + 24) u (|x'|^2 + |y'|^2). A float32 product
over blocks of K = 256 features, added up in float64, errs by another 2.02 (K + 3) 2^-24 |x'| |y'|
(see ``network.sides`` for the same bound) and d 2^-140 where float32 underflows.

What the filter leaves open is decided by exact arithmetic on the numbers as given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import first_closest
from .._kernels.rows import FEATURE_BLOCK
from .matrices import Matrix, Rows, dense_rows, row_tiles

Floats = NDArray[np.float64]

U32, U64 = 2.0**-24, 2.0**-53  # unit roundoffs
CENTRE_ROWS = 256  # points that the filter's centre is the mean of: any centre is right, one near the middle is sharp
PAIRS_AT_ONCE = 2**22  # coordinates gathered for exact comparison: 32 MiB
DOUBLE_DIMENSION = 32  # up to here float64 products cost little more
CROWDED = 0.02  # fraction of doubtful entries beyond which float32 is too coarse


@dataclass(frozen=True, eq=False)
class Side:
    """Points of one side of a product, with lower bounds of their squared norms and upper bounds of their norms."""

    points: Floats
    factors: NDArray[Any]
    lows: Floats
    norms: Floats


class PointSet:
    """Points of a matrix, in the scale in which they are compared."""

    def __init__(self, X: Matrix, rows: Rows) -> None:
        self.X, self.rows = X, rows
        self.exponent = int(np.frexp(max(float(np.abs(dense_rows(X, tile)).max()) for tile in row_tiles(X)))[1])
        self.dimension = int(X.shape[1])
        self.share = 1.01 * (self.dimension + 8) * U64
        self.share_filter = 2.02 * (self.dimension + 24) * U64
        # A centre near the points makes norms, and with them the filter's error bound, small.
        middle = np.linspace(0, len(rows) - 1, min(len(rows), CENTRE_ROWS)).astype(np.int64)
        self.centre: Floats = self.take(middle).mean(axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def original(self, places: Rows) -> Floats:
        """Return points as given."""
        return dense_rows(self.X, self.rows[places])

    def take(self, places: Rows) -> Floats:
        """Return points in scale."""
        with np.errstate(under="ignore"):
            return np.ldexp(self.original(places), -self.exponent)

    def side(self, places: Rows, single: bool) -> Side:
        """Return points ready for a product in float32 or float64."""
        points = self.take(places)
        centred = points - self.centre
        with np.errstate(under="ignore"):
            squares = (centred * centred).sum(axis=1)
            norms = np.sqrt(squares) * (1.0 + 1e-12)
            factors = np.ascontiguousarray(centred.astype(np.float32)) if single else centred
        lows = squares - self.share_filter * norms * norms - (self.dimension * 2.0**-140 if single else 0.0)
        return Side(points, factors, lows, norms)

    def slope(self, single: bool) -> float:
        """Return the bound of a product's error as a multiple of the norms' product."""
        return 2.02 * (min(self.dimension, FEATURE_BLOCK) + 3) * U32 if single else 0.0

    def products(self, left: Side, right: Side) -> NDArray[Any]:
        """Return the products of all pairs, one matrix for every block of features."""
        size = FEATURE_BLOCK if left.factors.dtype == np.float32 else self.dimension
        lows = range(0, self.dimension, size)
        out = np.empty((len(lows), len(left.lows), len(right.lows)), dtype=left.factors.dtype)
        with np.errstate(under="ignore"):
            for product, low in zip(out, lows, strict=True):
                np.matmul(left.factors[:, low : low + size], right.factors[:, low : low + size].T, out=product)
        return out

    def tiles(self, size: int) -> Iterator[Rows]:
        """Yield all places, in order, a tile at a time."""
        for start in range(0, len(self), size):
            yield np.arange(start, min(start + size, len(self)))

    def lengths(self, squares: Floats) -> Floats:
        """Return computed squares in scale as distances between the points as given."""
        return np.asarray(np.ldexp(np.sqrt(squares), self.exponent), dtype=np.float64)


def closest_of_groups(X: Matrix, groups: Rows, left: Rows, right: Rows) -> Rows:
    """Return places of the first exactly closest pair of rows (left, right) in every run of one group."""
    winners = np.empty(0, dtype=np.int64)
    step = max(1, PAIRS_AT_ONCE // X.shape[1])
    for low in range(0, len(groups), step):
        # The winner of a group that chunks cut in two meets the rest of its group in the next one.
        places = np.append(winners[-1:], np.arange(low, min(low + step, len(groups))))
        starts = np.flatnonzero(np.diff(groups[places], prepend=-1, append=-1))
        found = np.empty(len(starts) - 1, dtype=np.int64)
        first_closest(dense_rows(X, left[places]), dense_rows(X, right[places]), starts, found)
        winners = np.concatenate([winners[:-1], places[found]])
    return winners


def _root(square: Fraction) -> float:
    """Return the float64 nearest to the square root of an exact number whose denominator is a power of two."""
    if square == 0:
        return 0.0
    # An integer square root of so many bits that float64 is one rounding away.
    top, shift = square.numerator, square.denominator.bit_length() - 1
    extra = max(0, 160 - top.bit_length())
    extra += (shift + extra) % 2
    scaled = top << extra
    root = math.isqrt(scaled)
    # One more binary digit that says "and a little more" makes the one rounding at the end right.
    root = 2 * root + (root * root != scaled)
    return float(Fraction(root, 2) / Fraction(2) ** ((shift + extra) // 2))


def exact_square(x: Floats, y: Floats) -> Fraction:
    """Return the squared distance of two points, exactly."""
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), y.tolist(), strict=True)), Fraction(0))


def exact_distance(x: Floats, y: Floats) -> float:
    """Return the float64 nearest to the distance of two points."""
    return _root(exact_square(x, y))
