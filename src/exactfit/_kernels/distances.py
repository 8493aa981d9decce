"""Distances between points: a filter's survivors, close calls around a limit, and the exact last word.

Points come scaled by a power of two into [-1, 1]. ``direct`` sums squared differences in
float64, so its error is a share of its own value: d differences, d squares and d additions,
all of one sign, give at most (d + 2) 2^-53 of it, plus what underflows, far below TINY.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled
from .sides import LIMBS, _add_product, _safe, _two_product, sign_of

TINY = 1e-290
CHUNK = 64


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
def reach(value, share, slack):
    """How large another computed square may be if the pair behind it is to be as close as this one.

    ``slack`` is how far a computed distance may be off for other reasons than ``direct``.
    """
    if slack == 0.0:
        return value * (1.0 + 2.0 * share) + TINY
    root = math.sqrt(value * (1.0 + 2.0 * share)) + 2.0 * slack
    return root * root * (1.0 + 1e-15) + TINY


@compiled
def scan(
    products, left, right, low_left, low_right, norm_left, norm_right, class_left, class_right,
    bound_left, bound_right, shared, triangle, share, slack, out_left, out_right, out_square,
):  # fmt: skip
    """Pairs of different classes in a block that may be as close as the bounds ask; returns how many.

    The products of centred points give a lower bound of every square:
    ``low_left[i] + low_right[j] - norm_left[i] * norm_right[j] - 2 <i, j>`` (errors are in the
    lows and norms already). Where that does not exceed the bound of either point, the square is
    computed directly, and the bounds improve on the way. With ``shared`` there is one bound for
    all, ``bound_left[0]``. With ``triangle`` the block meets itself: only j > i.
    """
    n_blocks, n_left, n_right = products.shape
    lows = np.empty(CHUNK)
    count = 0
    for i in range(n_left):
        first = i + 1 if triangle else 0
        for start in range(first, n_right, CHUNK):
            size = min(CHUNK, n_right - start)
            line, norms = low_right[start : start + size], norm_right[start : start + size]
            for c in range(size):
                lows[c] = low_left[i] + line[c] - norm_left[i] * norms[c]
            for k in range(n_blocks):
                block = products[k, i, start : start + size]
                for c in range(size):
                    lows[c] -= 2.0 * np.float64(block[c])
            hits = 0
            if shared:
                bound = bound_left[0]
                for c in range(size):
                    hits += lows[c] <= bound
            else:
                own, theirs = bound_left[i], bound_right[start : start + size]
                for c in range(size):
                    hits += (lows[c] <= own) | (lows[c] <= theirs[c])
            if hits == 0:
                continue
            for c in range(size):
                j = start + c
                if class_left[i] == class_right[j]:
                    continue
                at_left, at_right = (0, 0) if shared else (i, j)
                if lows[c] > bound_left[at_left] and lows[c] > bound_right[at_right]:
                    continue
                square = direct(left[i], right[j])
                low = square * (1.0 - share) - TINY
                if low > bound_left[at_left] and low > bound_right[at_right]:
                    continue
                out_left[count], out_right[count], out_square[count] = i, j, square
                count += 1
                high = reach(square, share, slack)
                bound_left[at_left] = min(bound_left[at_left], high)
                bound_right[at_right] = min(bound_right[at_right], high)
    return count


@compiled
def record(points, squares, bounds, share, kept):
    """Improve every point's bound by its pairs; ``kept`` tells which pairs may still matter."""
    for k in range(points.shape[0]):
        kept[k] = squares[k] * (1.0 - share) - TINY <= bounds[points[k]]
        bounds[points[k]] = min(bounds[points[k]], reach(squares[k], share, 0.0))


@compiled
def pair_squares(left, right, out):
    """Squared distance of every row to the row beside it."""
    for k in range(out.shape[0]):
        out[k] = direct(left[k], right[k])


@compiled
def settle(values, left, right, norm_left, norm_right, share_filter, slope, share, limits, rows, columns):
    """Compute squares directly where the filter cannot tell them from the row's limit.

    Returns how many even then are too close to tell, whose places go to ``rows`` and
    ``columns`` as far as these hold them, and how many were computed directly.
    """
    count, n_direct = 0, 0
    for i in range(values.shape[0]):
        limit = limits[i]
        for j in range(values.shape[1]):
            a, b = norm_left[i], norm_right[j]
            if abs(values[i, j] - limit) > share_filter * (a * a + b * b) + slope * (a * b) + TINY:
                continue
            square = direct(left[i], right[j])
            n_direct += 1
            values[i, j] = square
            if abs(square - limit) <= share * (square + limit) + TINY:
                if count < rows.shape[0]:
                    rows[count], columns[count] = i, j
                count += 1
    return count, n_direct


@compiled
def _add_clean(total, x, y):
    """total + x y, and whether neither the product nor the sum was rounded."""
    product, remainder = _two_product(x, y)
    longer = total + product
    z = longer - total
    return longer, remainder == 0.0 and (total - (longer - z)) + (product - z) == 0.0


@compiled
def _clean_square(x, y):
    """Squared distance, and whether no operation on the way was rounded."""
    total = 0.0
    for j in range(x.shape[0]):
        h = x[j] - y[j]
        z = h - x[j]
        if (x[j] - (h - z)) - (y[j] + z) != 0.0 or not _safe(h):
            return total, False
        total, clean = _add_clean(total, h, h)
        if not clean:
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
def compare(a, b, c, d, limbs):
    """Sign of |a - b| - |c - d|, exactly, for points as given."""
    first, clean = _clean_square(a, b)
    if clean:
        second, clean = _clean_square(c, d)
        if clean:
            return 1 if first > second else (-1 if first < second else 0)
    limbs[:] = 0
    _add_square(limbs, a, b, 1.0)
    _add_square(limbs, c, d, -1.0)
    return sign_of(limbs)


@compiled
def first_closest(left, right, starts, winners):
    """In every group of pairs (left[k], right[k]) the first that is exactly closest."""
    limbs = np.zeros(LIMBS, np.int64)
    for g in range(winners.shape[0]):
        best = starts[g]
        for k in range(starts[g] + 1, starts[g + 1]):
            if compare(left[k], right[k], left[best], right[best], limbs) < 0:
                best = k
        winners[g] = best


@compiled
def compare_pairs(a, b, c, d, signs):
    """Sign of |a[k] - b[k]| - |c[k] - d[k]| for every k, exactly."""
    limbs = np.zeros(LIMBS, np.int64)
    for k in range(signs.shape[0]):
        signs[k] = compare(a[k], b[k], c[k], d[k], limbs)


@compiled
def clean_dot(x, y):
    """<x, y>, and whether no operation on the way was rounded."""
    total = 0.0
    for j in range(x.shape[0]):
        if not (_safe(x[j]) and _safe(y[j])):
            return total, False
        total, clean = _add_clean(total, x[j], y[j])
        if not clean:
            return total, False
    return total, True


@compiled
def clean_dots(left, right, dots, clean):
    """<x, y>, <x, x> and <y, y> for every pair, and whether all three are exact."""
    for k in range(left.shape[0]):
        dots[k, 0], first = clean_dot(left[k], right[k])
        dots[k, 1], second = clean_dot(left[k], left[k])
        dots[k, 2], third = clean_dot(right[k], right[k])
        clean[k] = first and second and third


@compiled
def largest_of_components(projections, centres, indptr, members, out):
    """out[c, k] = max over the members x of component c of |projections[x, k] - projections[centre, k]|.

    A centre of -1 stands for the origin.
    """
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
