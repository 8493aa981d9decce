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

from .._kernels.distances import clean_dots, first_closest
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

    slack = 0.0  # by which a distance between points in scale may be off, beside the roundings of its square
    may_be_parallel = False

    def __init__(self, X: Matrix, rows: Rows) -> None:
        self.X, self.rows = X, rows
        self.exponent = self._largest_exponent()
        self.dimension = int(X.shape[1])
        self.share = 1.01 * (self.dimension + 8) * U64
        self.share_filter = 2.02 * (self.dimension + 24) * U64
        middle = np.linspace(0, len(rows) - 1, min(len(rows), CENTRE_ROWS)).astype(np.int64)
        self.centre: Floats = self.take(middle).mean(axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def _largest_exponent(self) -> int:
        largest = max(float(np.abs(dense_rows(self.X, tile)).max()) for tile in row_tiles(self.X))
        return int(np.frexp(largest)[1])

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

    def winner(self, left: Rows, right: Rows) -> int:
        """Return the place of the first pair of rows that is exactly the closest."""
        return int(closest_of_groups(self.X, np.zeros(len(left), dtype=np.int64), left, right)[0])


class ParallelPoints(Exception):  # noqa: N818  (a finding, not an error)
    """Some pair of points may be parallel, and then there may be very many."""


class Rays(PointSet):
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
        """Return directions."""
        points = self.original(places)
        with np.errstate(under="ignore"):
            points = np.ldexp(points, -np.frexp(np.abs(points).max(axis=1))[1][:, None])
            return np.asarray(points / np.sqrt((points * points).sum(axis=1))[:, None], dtype=np.float64)

    def winner(self, left: Rows, right: Rows) -> int:
        """Return the place of the first pair of rows whose angle is exactly the smallest."""
        kinds, clean = np.empty((len(left), 3)), np.empty(len(left), dtype=bool)
        step = max(1, PAIRS_AT_ONCE // self.dimension)
        for low in range(0, len(left), step):
            part = slice(low, low + step)
            clean_dots(dense_rows(self.X, left[part]), dense_rows(self.X, right[part]), kinds[part], clean[part])
        # Pairs with equal products and norms, all free of rounding, have equal angles: of points with few distinct
        # numbers there are millions of such pairs, and only the first of each kind is compared in exact arithmetic.
        kinds[:, 1:].sort(axis=1)
        plain = np.flatnonzero(clean)
        firsts = plain[np.unique(kinds[plain], axis=0, return_index=True)[1]]
        kept = np.sort(np.append(firsts, np.flatnonzero(~clean))).tolist()
        cosines = [self._signed_cosine(int(left[k]), int(right[k])) for k in kept]
        return int(kept[cosines.index(max(cosines))])

    def _signed_cosine(self, i: int, j: int) -> Fraction:
        """Return the square of the cosine, with the cosine's sign."""
        a, b = map(integers, dense_rows(self.X, np.array([i, j])))
        dot = _dot(a, b)
        return Fraction(dot * abs(dot), _dot(a, a) * _dot(b, b))


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


def integers(x: Floats) -> list[int]:
    """Return a point as integers, all numbers times one power of two."""
    ratios = [value.as_integer_ratio() for value in x.tolist()]
    bits = max(bottom.bit_length() for _, bottom in ratios)
    return [top << (bits - bottom.bit_length()) for top, bottom in ratios]


def _dot(a: list[int], b: list[int]) -> int:
    return sum(map(int.__mul__, a, b))


def _root(square: Fraction) -> float:
    """Return the float64 nearest to the square root of an exact number whose denominator is a power of two."""
    if square == 0:
        return 0.0
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


def exact_angle(x: Floats, y: Floats) -> float:
    """Return the angle of two points other than zero, to the last digit or two."""
    a, b = integers(x), integers(y)
    dot, gram = _dot(a, b), _dot(a, a) * _dot(b, b)
    # Sine and cosine, up to a common factor, are the root of the Gram determinant and the product, both taken from
    # exact numbers: small angles lose nothing.
    size = max(gram.bit_length() // 2, 1)
    sine, cosine = _root(Fraction(gram - dot * dot, 1 << (2 * size))), float(Fraction(dot, 1 << size))
    return math.atan2(sine, cosine)


def ray(x: Floats) -> tuple[int, ...]:
    """Return a point other than zero as the shortest integer point of its ray: equal for parallel points only."""
    point = integers(x)
    common = math.gcd(*point)
    return tuple(value // common for value in point)
