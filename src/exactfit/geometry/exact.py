"""The last word on which pair is closest: exact arithmetic on the numbers as given."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import clean_dots, first_closest
from ..data import Matrix, Rows
from ..network.sides import dense_rows

PAIRS_AT_ONCE = 2**22


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
    >>> from exactfit.geometry.exact import exact_distance
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
    >>> from exactfit.geometry.exact import exact_angle
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
