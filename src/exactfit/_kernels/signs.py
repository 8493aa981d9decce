"""Sides of hyperplanes: filters, and the exact decision where a filter is in doubt.

The filters ``decide_products``, ``decide_low`` and ``decide_sparse`` write two bits per entry: the side, and whether it
is in doubt. ``settle`` then replaces every doubtful bit by the exact one, which ``positive`` finds in up to three
steps: ``_float64_sign``, ``_compensated_sign``, and a long accumulator that adds products as integers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compile import compiled

LARGEST = np.finfo(np.float64).max
SAFE_LOW, SAFE_HIGH = 2.0**-450, 2.0**450  # products of two such numbers, and their remainders, are normal numbers
TINY = 1e-300  # above what underflow may take off a sum of products: d * 2^-1074
PIECE = 256  # points at a time: 2 KiB for each feature, so that up to 16 of them stay in the first cache
GATHERED = 2**18  # numbers that sparse hyperplanes gather at a time: 2 MiB
FINITE_BOUND = 1e250  # bounds are above 1e-16 of what they bound: no entry below this one is infinite
ALL = np.uint64(2**64 - 1)
UNDECIDED = 2  # in place of a sign, -1, 0 or 1, that a step cannot prove
LOW_27 = np.int64(2**27 - 1)  # lower half of a 53-bit integer; products of halves fit in int64
LOW_32 = np.int64(2**32 - 1)  # what a limb of the long accumulator holds once carries are resolved
LIMBS = 144  # of 32 bits: the largest product is below bit 2048 + 2304 = 136 * 32, the others are for carries
LIMB_OFFSET = 2304  # bits below the point: the smallest product is a multiple of 2^-2252


class ScaledRows(NamedTuple):
    """Of every point of a tile: the power of two that it was scaled by, and a bound of its norm in that scale."""

    factors: NDArray[np.float64]
    norms: NDArray[np.float64]


class FilterPlanes(NamedTuple):
    """Of some hyperplanes: biases around the points' origin, and what an entry may err by (see ``decide_products``)."""

    offsets: NDArray[np.float64]
    slopes: NDArray[np.float64]
    doubts: NDArray[np.float64]


class WordBlock(NamedTuple):
    """Where bits go: the first word and the first column, and which bits of the last word are hyperplanes."""

    first_word: int
    start: int
    tail: np.uint64


@compiled
def signs(values):
    """64 numbers to one word: bit i is on iff values[i] > 0."""
    word = np.uint64(0)
    for i in range(64):
        word |= np.uint64(values[i] > 0.0) << np.uint64(i)
    return word


@compiled
def in_doubt(values, scale, slopes, shift, errors):
    """64 numbers to one word: bit i is off iff scale * slopes[i] + shift * errors[i] < |values[i]| < infinity."""
    count = np.int64(0)
    for i in range(64):
        size = abs(values[i])
        sure = (size > scale * slopes[i] + shift * errors[i] + TINY) & (size <= LARGEST)
        count += np.int64(not sure)
    word = np.uint64(0)
    if count:
        for i in range(64):
            size = abs(values[i])
            sure = (size > scale * slopes[i] + shift * errors[i] + TINY) & (size <= LARGEST)
            word |= np.uint64(not sure) << np.uint64(i)
    return word


@compiled
def find_varying(rows, first, columns, varying):
    """Note which of some columns hold anything but their entry of ``first``."""
    for r in range(rows.shape[0]):
        for k in range(columns.shape[0]):
            varying[k] |= rows[r, columns[k]] != first[columns[k]]


@compiled
def scale_rows(rows, origin, columns, scaled, factors, norms):
    """Subtract ``origin``, scale each row by a power of two to largest entry in [1/2, 1), round to float32."""
    # Only ``columns`` are taken. ``factors`` gets the power of two, ``norms`` an upper bound of
    # the scaled row's Euclidean norm; it is infinite where the scaling would leave the range of float64.
    d = columns.shape[0]
    for r in range(rows.shape[0]):
        largest = 0.0
        for k in range(d):
            j = columns[k]
            largest = max(largest, abs(np.float64(rows[r, j]) - origin[j]))
        exponent = math.frexp(largest)[1]
        if not largest <= LARGEST or abs(exponent) > 1000:
            factors[r], norms[r] = 1.0, np.inf
            scaled[r, :] = 0
            continue
        factor = math.ldexp(1.0, -exponent)
        square = 0.0
        for k in range(d):
            j = columns[k]
            value = (np.float64(rows[r, j]) - origin[j]) * factor
            scaled[r, k] = value
            square += value * value
        factors[r], norms[r] = factor, math.sqrt(square) * (1.0 + 1e-9)


@compiled
def decide_products(products, rows, planes, block, words, doubtful):
    """Side and doubt from float32 products."""
    # The value of an entry is its product plus ``planes.offsets[j] * rows.factors[r]``; it is in doubt
    # unless its size exceeds ``rows.norms[r] * planes.slopes[j] + rows.factors[r] * planes.doubts[j]``.
    # 64 entries at a time, so that both words come from loops without branches, in vector registers.
    n_rows, n_columns = products.shape
    values = np.empty(64)
    for r in range(n_rows):
        factor, norm = rows.factors[r], rows.norms[r]
        for w in range(n_columns // 64):
            low = 64 * w
            offset, slope = planes.offsets[low : low + 64], planes.slopes[low : low + 64]
            product = products[r, low : low + 64]
            for i in range(64):
                values[i] = offset[i] * factor + np.float64(product[i])
            used = block.tail if low + 64 == n_columns else ALL
            words[block.first_word + w, block.start + r] = signs(values) & used
            doubtful[w, r] = in_doubt(values, norm, slope, factor, planes.doubts[low : low + 64]) & used


@compiled
def project(points, n_points, weights, bias, values):
    """values[r] = bias + <weights, point r>, term by term in the order of the features."""
    x = points[0]
    for r in range(n_points):
        values[r] = bias + x[r] * weights[0]
    for j in range(1, points.shape[0]):
        x, w = points[j], weights[j]
        for r in range(n_points):
            values[r] += x[r] * w


@compiled
def decide_low(rows, weights, biases, slopes, doubts, start, words, doubtful):
    """Side and doubt in few dimensions: project, test and pack in one go, in float64."""
    # An entry is in doubt unless its size exceeds ``max_j |x_j| * slopes[i] + doubts[i]``. Piece by
    # piece of the points, a hyperplane's entries are first held against the largest bound among them,
    # and one by one only where one does not exceed that. Bits are added to words that hold none.
    n_rows, d = rows.shape
    points, sizes, values = np.empty((d, PIECE)), np.empty(PIECE), np.empty(PIECE)
    for low in range(0, n_rows, PIECE):
        count = min(PIECE, n_rows - low)
        sizes[:] = 0.0
        for r in range(count):
            for j in range(d):
                points[j, r] = rows[low + r, j]
                sizes[r] = max(sizes[r], abs(points[j, r]))
        largest = sizes.max()
        for i in range(biases.shape[0]):
            project(points, count, weights[i], biases[i], values)
            bound = largest * slopes[i] + doubts[i] + TINY
            bit = np.uint64(i & 63)
            on = words[i >> 6, start + low : start + low + count]
            unsure = np.int64(0)
            for r in range(count):
                on[r] |= np.uint64(values[r] > 0.0) << bit
                unsure += np.int64(not abs(values[r]) > bound)
            if unsure or not bound < FINITE_BOUND:
                doubt = doubtful[i >> 6, low : low + count]
                for r in range(count):
                    size = abs(values[r])
                    sure = (size > sizes[r] * slopes[i] + doubts[i] + TINY) & (size <= LARGEST)
                    doubt[r] |= np.uint64(not sure) << bit


class SparsePlanes(NamedTuple):
    """Hyperplanes as the rows of a CSR matrix over the columns that are gathered; dense if ``features`` is empty."""

    starts: NDArray[np.int64]
    features: NDArray[np.int64]
    weights: NDArray[Any]
    biases: NDArray[np.float64]


@compiled
def gather(rows, columns, points, sizes):
    """Columns of some rows, one after the other, and the largest size in each row."""
    for r in range(rows.shape[0]):
        largest = 0.0
        for j in range(columns.shape[0]):
            value = rows[r, columns[j]]
            points[j, r] = value
            largest = max(largest, abs(value))
        sizes[r] = largest


@compiled
def decide_sparse_few(rows, columns, planes, start, words, doubtful):
    """As ``decide_sparse``, point by point: faster where there are too few of them to fill vectors."""
    for r in range(rows.shape[0]):
        x, largest = rows[r], 0.0
        for j in range(columns.shape[0]):
            largest = max(largest, abs(x[columns[j]]))
        for i in range(planes.biases.shape[0]):
            first, last = planes.starts[i], planes.starts[i + 1]
            value, weight = planes.biases[i], 0.0
            for k in range(first, last):
                value += x[columns[planes.features[k]]] * planes.weights[k]
                weight += abs(planes.weights[k])
            bound = sparse_rel_error(last - first) * (largest * weight + abs(planes.biases[i])) + TINY
            bit = np.uint64(1) << np.uint64(i & 63)
            if value > 0.0:
                words[i >> 6, start + r] |= bit
            if not (abs(value) > bound and abs(value) <= LARGEST):
                doubtful[i >> 6, r] |= bit


@compiled
def sparse_rel_error(n_terms):
    """Error of a bias and ``n_terms`` products, relative to max |x_j| sum |w_j| + |b|, rounded up."""
    return (n_terms + 3) * 1.13e-16


@compiled
def sum_terms(points, planes, first, last, bias, count, values):
    """values[r] = bias + the terms first..last of a hyperplane at point r, one after the other."""
    values[:count] = bias
    for k in range(first, last):
        x, w = points[planes.features[k]], planes.weights[k]
        for r in range(count):
            values[r] += x[r] * w


@compiled
def decide_sparse(rows, columns, planes, start, words, doubtful):
    """Side and doubt for hyperplanes with few weights: gather, add, test and pack in float64."""
    # Works as ``decide_low`` does, but adds up only the k features that a hyperplane looks at: so with k products and
    # k additions an entry errs by at most (k + 2) 2^-53 (max |x_j| sum |w_j| + |b|). The last two terms are added where
    # the sum is tested, so that most sums are never written down.
    n_rows, n_columns, n = rows.shape[0], columns.shape[0], planes.biases.shape[0]
    # The gathered columns of a piece stay within the second cache, however many there are.
    piece = max(16, min(PIECE, GATHERED // max(n_columns, 1)))
    points, sizes, values = np.empty((n_columns, piece)), np.empty(piece), np.empty(piece)
    line, off = np.zeros(piece, np.uint64), np.uint64(0)
    for low in range(0, n_rows, piece):
        count = min(piece, n_rows - low)
        gather(rows[low : low + count], columns, points, sizes)
        largest = sizes[:count].max()
        for i in range(n):
            first, last = planes.starts[i], planes.starts[i + 1]
            bias, weight = planes.biases[i], 0.0
            for k in range(first, last):
                weight += abs(planes.weights[k])
            rel_error = sparse_rel_error(last - first)
            # A product may underflow; the least number on top makes it an upper bound again.
            slope, doubt_of_bias = rel_error * weight + 5e-324, rel_error * abs(bias)
            bound = largest * slope + doubt_of_bias + TINY
            on, unsure = np.uint64(1) << np.uint64(i & 63), np.int64(0)
            if last - first == 2:
                x, w = points[planes.features[first]], planes.weights[first]
                z, v = points[planes.features[first + 1]], planes.weights[first + 1]
                for r in range(count):
                    value = bias + x[r] * w + z[r] * v
                    line[r] |= on if value > 0.0 else off
                    unsure += np.int64(not abs(value) > bound)
            elif last - first == 1:
                x, w = points[planes.features[first]], planes.weights[first]
                for r in range(count):
                    value = bias + x[r] * w
                    line[r] |= on if value > 0.0 else off
                    unsure += np.int64(not abs(value) > bound)
            elif last - first > 2:
                sum_terms(points, planes, first, last - 2, bias, count, values)
                x, w = points[planes.features[last - 2]], planes.weights[last - 2]
                z, v = points[planes.features[last - 1]], planes.weights[last - 1]
                for r in range(count):
                    value = values[r] + x[r] * w + z[r] * v
                    line[r] |= on if value > 0.0 else off
                    unsure += np.int64(not abs(value) > bound)
            else:
                for r in range(count):
                    line[r] |= on if bias > 0.0 else off
                    unsure += np.int64(not abs(bias) > bound)
            if unsure or not bound < FINITE_BOUND:
                sum_terms(points, planes, first, last, bias, count, values)
                doubt, bit = doubtful[i >> 6, low : low + count], np.uint64(i & 63)
                for r in range(count):
                    size = abs(values[r])
                    sure = (size > sizes[r] * slope + doubt_of_bias + TINY) & (size <= LARGEST)
                    doubt[r] |= np.uint64(not sure) << bit
            if i & 63 == 63 or i == n - 1:
                words[i >> 6, start + low : start + low + count] = line[:count]
                line[:] = off


@compiled
def settle(rows, columns, planes, lone, first_word, start, words, doubtful):
    """Replace every doubtful bit by the exact side; clears ``doubtful``."""
    # ``lone[i]`` is the place of the only weight of hyperplane i among those that are stored, -1 if there are more.
    limbs, one, longest = np.zeros(LIMBS, np.int64), np.uint64(1), np.int64(0)
    for i in range(planes.biases.shape[0]):
        longest = max(longest, planes.starts[i + 1] - planes.starts[i])
    gathered, is_dense = np.empty(longest), planes.features.shape[0] == 0
    for w in range(doubtful.shape[0]):
        for r in range(doubtful.shape[1]):
            left = doubtful[w, r]
            if left == np.uint64(0):
                continue
            doubtful[w, r] = np.uint64(0)
            word = words[first_word + w, start + r]
            for bit in range(64):
                here = one << np.uint64(bit)
                if left & here:
                    i = 64 * (first_word + w) + bit
                    first, last = planes.starts[i], planes.starts[i + 1]
                    # A dense hyperplane looks at the row as it is, a sparse one at a few of its columns.
                    x = rows[r, : last - first] if is_dense else gathered[: last - first]
                    for k in range(first, first if is_dense else last):
                        x[k - first] = rows[r, columns[planes.features[k]]]
                    if positive(x, planes.weights[first:last], planes.biases[i], lone[i], limbs):
                        word |= here
                    else:
                        word &= ~here
            words[first_word + w, start + r] = word


@compiled
def positive(x, w, b, lone, limbs):
    """Whether <w, x> + b > 0, exactly."""
    # Each step is tried only where the one before it has proved nothing; the last one always decides.
    if lone >= 0:
        sign = _lone_sign(x[lone], np.float64(w[lone]), b)
    else:
        sign = _float64_sign(x, w, b)
        if sign == UNDECIDED:
            sign = _compensated_sign(x, w, b)
    if sign == UNDECIDED:
        _add_affine(limbs, x, w, b)
        sign = sign_of_limbs(limbs)
    return sign == 1


@compiled
def _safe(value):
    """Whether products of this number with another such one are split exactly."""
    size = abs(value)
    return size == 0.0 or (size >= SAFE_LOW and size <= SAFE_HIGH)


@compiled
def _two_product(a, b):
    """Return a * b as rounded product and exact remainder (Dekker), for safe sizes."""
    p = a * b
    t = 134217729.0 * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0 * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


@compiled
def _lone_sign(x, w, b):
    """Sign of w x + b where the product is exact, as it is for a power of two; else UNDECIDED."""
    if not (_safe(x) and _safe(w)):
        return UNDECIDED
    p, remainder = _two_product(w, x)
    if remainder != 0.0:
        return UNDECIDED
    return 1 if p > -b else (0 if p == -b else -1)


@compiled
def _float64_sign(x, w, b):
    """Sign of <w, x> + b in float64; UNDECIDED where rounding might have turned it."""
    # Each of the d products and d + 1 additions errs by at most 2^-53 of the sum of
    # the absolute values, in every order of summation.
    total, size = b, abs(b)
    d = x.shape[0]
    for j in range(d):
        p = np.float64(w[j]) * x[j]
        total += p
        size += abs(p)
    bound = (2 * d + 4) * 1.2e-16 * size + 1e-300
    if not size <= LARGEST or abs(total) <= bound:
        return UNDECIDED
    return 1 if total > 0.0 else -1


@compiled
def _compensated_sign(x, w, b):
    """Sign by products and sums with remainders; UNDECIDED in the closest cases."""
    # After Ogita, Rump and Oishi: with s the running sum and e the sum of all
    # remainders, |s + e - exact| is at most u |s + e| + (2 (d + 1) u)^2 sum |w_j x_j|
    # (taken generously below). Where every remainder is zero, s itself is exact: so
    # ties on integer-like data end here.
    s, e, size = b, 0.0, abs(b)
    d = x.shape[0]
    clean = True
    for j in range(d):
        a = np.float64(w[j])
        if not (_safe(a) and _safe(x[j])):
            return UNDECIDED
        p, remainder = _two_product(a, x[j])
        t = s + p
        z = t - s
        rest = ((s - (t - z)) + (p - z)) + remainder
        if remainder != 0.0 or rest != 0.0:
            clean = False
        s = t
        e += rest
        size += abs(p)
    total = s + e
    bound = (2 * d + 6) * 1.2e-16 * ((2 * d + 6) * 1.2e-16) * size + 3e-16 * abs(e)
    if not size <= SAFE_HIGH * SAFE_HIGH or (not clean and abs(total) <= bound):
        return UNDECIDED
    return 1 if total > 0.0 else (0 if total == 0.0 else -1)


@compiled
def _add_affine(limbs, x, w, b):
    """Fill a long accumulator with <w, x> + b: every product is added as an integer, none is rounded."""
    # A product of two float64 is an integer of at most 106 bits times a power of two between 2^-2252 and 2^1942.
    # ``limbs`` holds 32 bits each in int64, wide enough for 2^28 additions before carries are resolved.
    limbs[:] = 0
    for j in range(x.shape[0]):
        a = np.float64(w[j])
        if a != 0.0 and x[j] != 0.0:
            _add_product(limbs, a, x[j])
    if b != 0.0:
        _add_product(limbs, b, 1.0)


@compiled
def settle_ramps(points, weights, biases, masks, limits, rows, places, fires):
    """fires[k]: whether the sum of max(<w_i, x> + b_i, 0) over a mask is below its limit, exactly."""
    # The mask and its limit are those of rows[k], x is the point at places[k].
    value, left = np.zeros(LIMBS, np.int64), np.zeros(LIMBS, np.int64)
    for k in range(rows.shape[0]):
        x, mask = points[places[k]], masks[rows[k]]
        left[:] = 0
        if limits[rows[k]] != 0.0:
            _add_product(left, limits[rows[k]], 1.0)
        for i in range(biases.shape[0]):
            if (mask[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                _add_affine(value, x, weights[i], biases[i])
                if sign_of_limbs(value) > 0:
                    # Carries are resolved on the way, so that any number of units can be taken off.
                    carry = np.int64(0)
                    for j in range(LIMBS):
                        t = value[j] + carry
                        left[j] -= t & LOW_32
                        carry = t >> np.int64(32)
        fires[k] = sign_of_limbs(left) > 0


@compiled
def sign_of_limbs(limbs):
    """Sign of a long accumulator: carries resolved from the lowest limb up."""
    carry = np.int64(0)
    nonzero = False
    for k in range(LIMBS):
        t = limbs[k] + carry
        nonzero = nonzero or (t & LOW_32) != 0
        carry = t >> np.int64(32)
    if carry < 0:
        return -1
    return 1 if nonzero or carry > 0 else 0


@compiled
def _add_product(limbs, a, b):
    """Add a * b: integers of 53 bits, multiplied in halves."""
    a_part, a_exponent = math.frexp(a)
    b_part, b_exponent = math.frexp(b)
    negative = (a_part < 0.0) != (b_part < 0.0)
    m = np.int64(abs(a_part) * 9007199254740992.0)
    n = np.int64(abs(b_part) * 9007199254740992.0)
    m_high, m_low = m >> np.int64(27), m & LOW_27
    n_high, n_low = n >> np.int64(27), n & LOW_27
    place = np.int64(a_exponent + b_exponent - 106 + LIMB_OFFSET)
    _add_at(limbs, m_high * n_high, place + 54, negative)
    _add_at(limbs, m_high * n_low + m_low * n_high, place + 27, negative)
    _add_at(limbs, m_low * n_low, place, negative)


@compiled
def _add_at(limbs, value, place, negative):
    """Add or subtract value * 2^place, for 0 <= value < 2^55."""
    k, shift = place >> np.int64(5), place & np.int64(31)
    low = (value & LOW_32) << shift
    high = (value >> np.int64(32)) << shift
    sign = np.int64(-1) if negative else np.int64(1)
    limbs[k] += sign * (low & LOW_32)
    limbs[k + 1] += sign * ((low >> np.int64(32)) + (high & LOW_32))
    limbs[k + 2] += sign * (high >> np.int64(32))


@compiled
def shift_biases(weights, biases, origin, shifted, errors):
    """b_i + <w_i, origin> with compensated rounding, and a bound of its error."""
    d = weights.shape[1]
    for i in range(weights.shape[0]):
        s, e, size = biases[i], 0.0, abs(biases[i])
        usable = True
        for j in range(d):
            a = np.float64(weights[i, j])
            usable = usable and _safe(a) and _safe(origin[j])
            p, remainder = _two_product(a, origin[j])
            t = s + p
            z = t - s
            e += ((s - (t - z)) + (p - z)) + remainder
            s = t
            size += abs(p)
        shifted[i] = s + e
        slack = (2 * d + 6) * 1.2e-16
        errors[i] = slack * slack * size + 3e-16 * abs(s + e) if usable and size <= SAFE_HIGH else np.inf
