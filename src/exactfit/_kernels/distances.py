"""Distances between points: a filter's survivors, close calls around a limit, and the exact last word.

Points come scaled by a power of two into [-1, 1]. ``direct`` sums squared differences in
float64, so its error is a share of its own value: d differences, d squares and d additions,
all of one sign, give at most (d + 2) 2^-53 of it, plus what underflows, far below TINY.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compile import compiled
from .signs import LIMBS, _add_product, _safe, _two_product, sign_of_limbs

TINY = 1e-290  # above what underflow may take off a square: d * 2^-1074
CHUNK = 64  # lower bounds at a time: 512 bytes, which stay in the first cache

Floats = NDArray[np.float64]


class BlockSide(NamedTuple):
    """One side of a block of pairs: points, what the filter's bound needs of each, classes, and bounds of squares.

    The filter takes ``left.norms[i] * right.norms[j]`` off a square; the error of its products is in one of them.
    """

    points: Floats
    lows: Floats
    norms: Floats
    classes: NDArray[np.int64]
    bounds: Floats


class Found(NamedTuple):
    """Arrays for pairs: places on the left and on the right, and computed squares."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    squares: Floats


class Centres(NamedTuple):
    """Points, and upper bounds of their norms around the filter's centre."""

    points: Floats
    norms: Floats


class Margins(NamedTuple):
    """Errors of squares: the filter's are share (a^2 + b^2) + slope a b of the norms a, b, others relative."""

    filter_share: float
    filter_slope: float
    share: float


@compiled
def direct(x, y):
    """Squared distance of two points, by differences; four sums side by side, for speed."""
    d = x.shape[0]
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= d:
        p, q, r, s = x[j] - y[j], x[j + 1] - y[j + 1], x[j + 2] - y[j + 2], x[j + 3] - y[j + 3]
        a += p * p
        b += q * q
        c += r * r
        e += s * s
        j += 4
    while j < d:
        p = x[j] - y[j]
        a += p * p
        j += 1
    return (a + b) + (c + e)


@compiled
def reach(value, share):
    """Return the largest other computed square whose pair may be as close as this one."""
    return value * (1.0 + 2.0 * share) + TINY


@compiled
def scan(products, left, right, shared, triangle, share, found):
    """Pairs of different classes in a block that may be as close as the bounds ask; returns how many are found."""
    # The products of centred points give a lower bound of every square,
    # ``left.lows[i] + right.lows[j] - left.norms[i] * right.norms[j] - 2 <i, j>`` (what it may err by is in the lows
    # and norms already). A chunk at a time and without branches, so in whole vectors, nearly all pairs are ruled out.
    # Squares of others are computed directly, and the bounds improve on the way, which rules out more. With ``shared``
    # there is one bound for all, the first of each side. With ``triangle`` the block meets itself: only j > i.
    n_blocks, n_left, n_right = products.shape
    bounds, others = left.bounds, right.bounds
    lows = np.empty(CHUNK)
    count = 0
    for i in range(n_left):
        for start in range(i + 1 if triangle else 0, n_right, CHUNK):
            size = min(CHUNK, n_right - start)
            line, norms = right.lows[start : start + size], right.norms[start : start + size]
            for c in range(size):
                lows[c] = left.lows[i] + line[c] - left.norms[i] * norms[c]
            for k in range(n_blocks):
                block = products[k, i, start : start + size]
                for c in range(size):
                    lows[c] -= 2.0 * np.float64(block[c])
            hits = 0
            if shared:
                for c in range(size):
                    hits += lows[c] <= bounds[0]
            else:
                theirs = others[start : start + size]
                for c in range(size):
                    hits += (lows[c] <= bounds[i]) | (lows[c] <= theirs[c])
            for c in range(size if hits else 0):
                j = start + c
                a, b = (0, 0) if shared else (i, j)
                if left.classes[i] == right.classes[j] or (lows[c] > bounds[a] and lows[c] > others[b]):
                    continue
                square = direct(left.points[i], right.points[j])
                low = square * (1.0 - share) - TINY
                if low <= bounds[a] or low <= others[b]:
                    found.left[count], found.right[count], found.squares[count] = i, j, square
                    count += 1
                    high = reach(square, share)
                    bounds[a], others[b] = min(bounds[a], high), min(others[b], high)
    return count


@compiled
def record(points, squares, bounds, share, kept):
    """Improve every point's bound by its pairs; ``kept`` flags pairs that may still matter."""
    for k in range(points.shape[0]):
        kept[k] = squares[k] * (1.0 - share) - TINY <= bounds[points[k]]
        bounds[points[k]] = min(bounds[points[k]], reach(squares[k], share))


@compiled
def pair_squares(left, right, out):
    """Squared distance of every row to the row beside it."""
    for k in range(out.shape[0]):
        out[k] = direct(left[k], right[k])


@compiled
def settle_squares(values, limits, left, right, margins, rows, columns):
    """Replace the filter's squares by direct ones where they are too close to the row's limit."""
    # So only close calls cost d operations. Returns how many even then are too close to tell, whose places go to
    # ``rows`` and ``columns`` as far as these hold them, and how many were computed directly.
    count, n_direct = 0, 0
    for i in range(values.shape[0]):
        limit, a = limits[i], left.norms[i]
        for j in range(values.shape[1]):
            b = right.norms[j]
            error = margins.filter_share * (a * a + b * b) + margins.filter_slope * (a * b) + TINY
            if abs(values[i, j] - limit) > error:
                continue
            square = direct(left.points[i], right.points[j])
            n_direct += 1
            values[i, j] = square
            if abs(square - limit) <= margins.share * (square + limit) + TINY:
                if count < rows.shape[0]:
                    rows[count], columns[count] = i, j
                count += 1
    return count, n_direct


@compiled
def _add_clean(total, x, y):
    """total + x y, and whether neither the product nor the sum was rounded."""
    if not (_safe(x) and _safe(y)):
        return total, False
    product, remainder = _two_product(x, y)
    longer = total + product
    z = longer - total
    return longer, remainder == 0.0 and (total - (longer - z)) + (product - z) == 0.0


@compiled
def _clean_square(x, y):
    """Squared distance, and whether no operation on the way was rounded."""
    # Every difference, product and sum is checked by its exact remainder (Knuth, Dekker): on data
    # of few digits all are zero, and then this cheap square is the exact one.
    total = 0.0
    for j in range(x.shape[0]):
        h = x[j] - y[j]
        z = h - x[j]
        total, clean = _add_clean(total, h, h)
        if not clean or (x[j] - (h - z)) - (y[j] + z) != 0.0:
            return total, False
    return total, True


@compiled
def _add_square(limbs, x, y, sign):
    """Add sign * |x - y|^2 to a long accumulator, as x x - x y - x y + y y."""
    for j in range(x.shape[0]):
        a, b = x[j], y[j]
        if a == b:
            continue
        if a != 0.0:
            _add_product(limbs, sign * a, a)
        if b != 0.0:
            _add_product(limbs, sign * b, b)
        if a != 0.0 and b != 0.0:
            _add_product(limbs, -sign * a, b)
            _add_product(limbs, -sign * a, b)


@compiled
def compare_distances(a, b, c, d, limbs):
    """Sign of |a - b| - |c - d|, exactly, for points as given: by clean squares, else by a long accumulator."""
    first, clean = _clean_square(a, b)
    if clean:
        second, clean = _clean_square(c, d)
        if clean:
            return 1 if first > second else (-1 if first < second else 0)
    limbs[:] = 0
    _add_square(limbs, a, b, 1.0)
    _add_square(limbs, c, d, -1.0)
    return sign_of_limbs(limbs)


@compiled
def first_closest(left, right, starts, winners):
    """In every group of pairs (left[k], right[k]) the first that is exactly closest."""
    limbs = np.zeros(LIMBS, np.int64)
    for g in range(winners.shape[0]):
        best = starts[g]
        for k in range(starts[g] + 1, starts[g + 1]):
            if compare_distances(left[k], right[k], left[best], right[best], limbs) < 0:
                best = k
        winners[g] = best


@compiled
def compare_pairs(a, b, c, d, signs):
    """Sign of |a[k] - b[k]| - |c[k] - d[k]| for every k, exactly."""
    limbs = np.zeros(LIMBS, np.int64)
    for k in range(signs.shape[0]):
        signs[k] = compare_distances(a[k], b[k], c[k], d[k], limbs)


@compiled
def largest_of_components(projections, centres, indptr, members, out):
    """out[c, k] = max over the members x of component c of |projections[x, k] - projections[centre, k]|."""
    # Components are rows of a CSR matrix, ``members`` its indices. A centre of -1 stands for the origin.
    n_draws = projections.shape[1]
    for c in range(out.shape[0]):
        best = out[c]
        best[:] = 0.0
        for m in range(indptr[c], indptr[c + 1]):
            line = projections[members[m]]
            if centres[c] < 0:
                for k in range(n_draws):
                    size = abs(line[k])
                    best[k] = size if size > best[k] else best[k]
            else:
                origin = projections[centres[c]]
                for k in range(n_draws):
                    size = abs(line[k] - origin[k])
                    best[k] = size if size > best[k] else best[k]
