"""Points made ready for distances, with what a filter's error bound needs; and the exact last word on which is closest.

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


def _starts(groups: Rows) -> Rows:
    """Where each run of equal numbers starts, and the end."""
    new = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    return np.concatenate([[0], new, [len(groups)]]).astype(np.int64)


def closest_of_groups(X: Matrix, groups: Rows, left: Rows, right: Rows) -> Rows:
    """Places of the first exactly closest pair of rows (left, right) in every run of one group.

    Pairs are gathered and reduced a chunk at a time, until every group is down to one.
    """
    places = np.arange(len(groups))
    chunk = max(2, PAIRS_AT_ONCE // X.shape[1])
    while len(np.unique(groups[places])) < len(places):
        several = np.zeros(len(places), dtype=bool)
        same = groups[places[1:]] == groups[places[:-1]]
        several[1:] |= same
        several[:-1] |= same
        contested = places[several]
        winners = [
            _reduce(X, groups, left, right, contested[start : start + chunk])
            for start in range(0, len(contested), chunk)
        ]
        places = np.sort(np.concatenate([places[~several], *winners]))
    return places


def _reduce(X: Matrix, groups: Rows, left: Rows, right: Rows, places: Rows) -> Rows:
    starts = _starts(groups[places])
    winners = np.empty(len(starts) - 1, dtype=np.int64)
    first_closest(dense_rows(X, left[places]), dense_rows(X, right[places]), starts, winners)
    return np.asarray(places[winners], dtype=np.int64)


def integers(x: NDArray[np.float64]) -> tuple[list[int], int]:
    """A point as whole numbers times 2^exponent."""
    ratios = [value.as_integer_ratio() for value in x.tolist()]
    exponent = -max(bottom.bit_length() - 1 for _, bottom in ratios)
    return [top << (-exponent - bottom.bit_length() + 1) for top, bottom in ratios], exponent


def _root(square: Fraction) -> float:
    """The float64 nearest to the square root of an exact number whose denominator is a power of two."""
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


def exact_square(x: NDArray[np.float64], y: NDArray[np.float64]) -> Fraction:
    """Squared distance of two points, exactly."""
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), y.tolist(), strict=True)), Fraction(0))


def exact_distance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The float64 nearest to the distance of two points.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.cloud import exact_distance
    >>> exact_distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    5.0
    """
    return _root(exact_square(x, y))


def exact_angle(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The angle of two points other than zero, to the last digit or two.

    Sine and cosine, up to a common factor, are the root of the Gram determinant and the
    product, both taken from exact numbers: small angles lose nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.cloud import exact_angle
    >>> exact_angle(np.array([1.0, 0.0]), np.array([1.0, 1e-200]))
    1e-200
    """
    (a, _), (b, _) = integers(x), integers(y)
    dot, gram = _dot(a, b), _dot(a, a) * _dot(b, b)
    size = max(gram.bit_length() // 2, 1)
    sine, cosine = _root(Fraction(gram - dot * dot, 1 << (2 * size))), float(Fraction(dot, 1 << size))
    return math.atan2(sine, cosine)


def _dot(a: list[int], b: list[int]) -> int:
    return sum(map(int.__mul__, a, b))


def narrowest(X: Matrix, left: Rows, right: Rows) -> int:
    """Place of the first pair of rows whose angle is exactly the smallest.

    Pairs with equal products and norms, all free of rounding, have equal angles: only the
    first of each kind is compared, by the signed square of the cosine in exact arithmetic.
    """
    chunk = max(1, PAIRS_AT_ONCE // X.shape[1])
    kept: list[int] = []
    seen: set[tuple[float, ...]] = set()
    for start in range(0, len(left), chunk):
        a, b = dense_rows(X, left[start : start + chunk]), dense_rows(X, right[start : start + chunk])
        dots, clean = np.empty((len(a), 3)), np.empty(len(a), dtype=bool)
        clean_dots(a, b, dots, clean)
        for k, (numbers, plain) in enumerate(zip(dots.tolist(), clean.tolist(), strict=True)):
            kind = (numbers[0], min(numbers[1:]), max(numbers[1:]))
            if not plain or kind not in seen:
                kept.append(start + k)
            if plain:
                seen.add(kind)
    cosines = [_signed_cosine(X, int(left[k]), int(right[k])) for k in kept]
    return kept[max(range(len(kept)), key=lambda k: (cosines[k], -k))]


def _signed_cosine(X: Matrix, i: int, j: int) -> Fraction:
    x, y = dense_rows(X, np.array([i, j]))
    (a, _), (b, _) = integers(x), integers(y)
    dot = _dot(a, b)
    return Fraction(dot * abs(dot), _dot(a, a) * _dot(b, b))


def ray(x: NDArray[np.float64]) -> tuple[int, ...]:
    """A point other than zero as the shortest whole-number point of its ray: equal for parallel points only."""
    whole, _ = integers(x)
    common = math.gcd(*whole)
    return tuple(value // common for value in whole)
