"""Which bits and claims are proved: the compiled half of certificates.

``examine`` holds every product of a matrix multiplication against the error bound that
``certificate/paper_form.py`` proves, and looks closer where that does not decide. Patterns are
point-major here, ``words[row, w]``; bit i is bit i % 64 of word i // 64, as in ``network/bits.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import compiled, popcount
from .enclosures import ANY_QUANTUM, BINS, exact_ramp_gap, exact_side, factors_of, quantum
from .rounding import ENLARGE, FLOAT32, FLOAT64, error_bound, gamma

NOTHING = -(2**62)  # below every limit - count, and so far that further subtractions do not overflow
DETECTOR_BLOCK = 64  # masks held against one point after the other while they stay in the first cache


class Facts(NamedTuple):
    """Of every row of a matrix: what bounds need to know.

    ``norms`` are upper bounds of the Euclidean norms, ``terms`` the numbers of entries
    other than zero; all entries are multiples of 2^``quanta``.
    """

    norms: Any
    terms: Any
    quanta: Any


class Planes(NamedTuple):
    """Hyperplanes: weights, one row after the other, biases, and facts of both.

    Row j of the weights is ``weights[starts[j]:starts[j + 1]]``, for the features of the same places in
    ``features``, or for all features where these are empty. ``columns`` is the only feature that a coordinate cut
    looks at (its weight, a power of two, in ``cuts``), -1 for any other hyperplane.
    """

    weights: Any
    starts: Any
    features: Any
    bias: Any
    norms: Any
    terms: Any
    quanta: Any
    bias_quanta: Any
    columns: Any
    cuts: Any


@compiled
def find_facts(matrix, norms, terms, quanta):
    """Fill the arrays of :class:`Facts`.

    A row is scaled by a power of two to largest entry in [1/2, 1). Then d squares, d
    additions and a root err by less than (d + 4) 2^-52 of the result, and what underflows
    is far below that.
    """
    d = matrix.shape[1]
    for i in range(matrix.shape[0]):
        largest, count, lowest = 0.0, 0, ANY_QUANTUM
        for j in range(d):
            entry = np.float64(matrix[i, j])
            if entry != 0.0:
                largest = max(largest, abs(entry))
                count += 1
                lowest = min(lowest, quantum(entry))
        exponent = math.frexp(largest)[1]
        square = 0.0
        for j in range(d):
            part = math.ldexp(np.float64(matrix[i, j]), -exponent)
            square += part * part
        norm = math.ldexp(math.sqrt(square) * (1.0 + (d + 8) * 2.0**-52), exponent)
        norms[i] = norm if largest == 0.0 else norm + 5e-324
        terms[i], quanta[i] = count, lowest


@compiled
def sums_exactly(size, grid, norm, planes, j, form):
    """Whether every evaluation in the format is exact, because all sums are few multiples of one power of two.

    The numbers that the hyperplane looks at are multiples of 2^``grid``, the point has this norm.
    """
    a, b, c = grid, planes.quanta[j], planes.bias_quanta[j]
    common = min(a + b, c)
    if min(a, b, common) < form.lowest or not max(size, norm, planes.norms[j]) < form.huge:
        return False
    return size * ENLARGE <= math.ldexp(1.0, min(common, 900) + form.digits)


@compiled
def cut_is_open(on, entry, bias, form):
    """Whether entry + bias > 0, evaluated on these numbers in the format, might differ from ``on``."""
    if (entry > -bias) != on:
        return True
    total = abs(entry + bias)
    return 0.0 < abs(entry) < form.tiny or 0.0 < abs(bias) < form.tiny or 0.0 < total < form.tiny


@compiled
def is_plain_cut(rows, i, planes, j):
    """Whether a hyperplane is a coordinate cut, and its product with the point is exact."""
    if planes.columns[j] < 0:
        return False
    x = rows[i, planes.columns[j]]
    size = abs(planes.cuts[j] * x)
    return x == 0.0 or abs(planes.cuts[j]) == 1.0 or FLOAT64.tiny <= size < FLOAT64.huge


@compiled
def examine_cut(points, i, rows, planes, j):
    """As ``examine_closely``, for a coordinate cut: a comparison, no arithmetic."""
    x, bias = rows[i, planes.columns[j]], planes.bias[j]
    entry = planes.cuts[j] * x
    on = entry > -bias
    open64 = cut_is_open(on, entry, bias, FLOAT64)
    open32 = not max(points.norms[i], abs(entry), abs(bias)) < FLOAT32.huge or 0.0 < abs(x) < FLOAT32.tiny
    if not open32:
        open32 = cut_is_open(on, np.float64(np.float32(entry)), np.float64(np.float32(bias)), FLOAT32)
    return on, open64, open32, min(abs(entry + bias), 1.7e308) * (1.0 - 2.0**-50)


@compiled
def common_quantum(numbers):
    """The largest q such that all numbers are multiples of 2^q."""
    lowest = ANY_QUANTUM
    for k in range(numbers.shape[0]):
        if numbers[k] != 0.0:
            lowest = min(lowest, quantum(numbers[k]))
    return lowest


@compiled
def absolute_sum(weights, numbers):
    """An upper bound of sum |w_j x_j| (but for underflow), and how many products are not zero."""
    total, terms = 0.0, 0
    for j in range(numbers.shape[0]):
        product = abs(weights[j] * numbers[j])
        total += product
        if numbers[j] != 0.0 and weights[j] != 0.0:
            terms += 1
    return total * (1.0 + (terms + 4) * 2.0**-52), terms


@compiled
def examine_closely(value, points, i, rows, planes, j, bins):
    """Whether the bit is on, whether it is open in float64 and in float32, and a lower bound of |<w, x> + b|.

    First with the sum of the absolute products in place of the norms; where that does
    not decide and the value is not exact anyway, in exact arithmetic.
    """
    weights, numbers = factors_of(planes, j, rows[i])
    is_sparse = planes.features.shape[0] > 0
    grid = common_quantum(numbers) if is_sparse else points.quanta[i]
    total, terms = absolute_sum(weights, numbers)
    size = total + abs(planes.bias[j])
    near64 = error_bound(gamma(terms, FLOAT64.unit), size, points.norms[i], planes.norms[j], FLOAT64)
    near32 = error_bound(gamma(terms, FLOAT32.unit), size, points.norms[i], planes.norms[j], FLOAT32)
    exact64 = sums_exactly(size, grid, points.norms[i], planes, j, FLOAT64)
    exact32 = sums_exactly(size, grid, points.norms[i], planes, j, FLOAT32)
    if exact64:
        on, gap = value > 0, abs(value)
    elif abs(value) > near64:
        on, gap = value > 0, abs(value) - near64
    else:
        sign, gap = exact_side(weights, numbers, planes.bias[j], bins)
        on = sign > 0
    return on, not (exact64 or gap > near64), not (exact32 or gap > near32), gap


@compiled
def padded_norm(norm):
    """A norm for the first look, which takes float32's pad for all and leaves the huge to the closer one."""
    return norm + FLOAT32.pad if norm < FLOAT32.huge else np.inf


@compiled
def factors_in(planes, form):
    """``gamma`` of every hyperplane's number of weights, in a format: for points without zeros."""
    factors = np.empty(planes.terms.shape[0])
    for j in range(factors.shape[0]):
        factors[j] = gamma(planes.terms[j], form.unit)
    return factors


class TileBits(NamedTuple):
    """Patterns of a tile of points: bits that are on, and those open in float64 and in float32."""

    on: Any
    open64: Any
    open32: Any


@compiled
def examine(products, rows, points, planes, first, bits, gaps):
    """Bits of a tile of points and a block of hyperplanes, from the products <w, x>.

    Norms decide nearly all of them at once; only the others are looked at feature by feature, and exact
    arithmetic has the last word. Sets the bits from word ``first`` on, and ``gaps``, lower bounds of
    |<w, x> + b| for every point and hyperplane.
    """
    n = planes.bias.shape[0]
    on, open64, open32 = bits
    bins = np.empty(BINS, np.int64)
    norms, sizes = np.empty(n), np.empty(n)
    planes64, planes32 = factors_in(planes, FLOAT64), factors_in(planes, FLOAT32)
    for j in range(n):
        norms[j] = padded_norm(planes.norms[j]) if planes.columns[j] < 0 else np.inf
        sizes[j] = abs(planes.bias[j]) + FLOAT32.pad
    for i in range(rows.shape[0]):
        norm = padded_norm(points.norms[i])
        point64, point32 = gamma(points.terms[i], FLOAT64.unit), gamma(points.terms[i], FLOAT32.unit)
        for start in range(0, n, 64):
            word, word64, word32 = np.uint64(0), np.uint64(0), np.uint64(0)
            for j in range(start, min(start + 64, n)):
                bit = np.uint64(1) << np.uint64(j - start)
                value = products[i, j] + planes.bias[j]
                size = norm * norms[j] + sizes[j]
                gap = abs(value) - min(point64, planes64[j]) * size
                if gap > min(point32, planes32[j]) * size and size < FLOAT32.huge:
                    if value > 0:
                        word |= bit
                else:
                    if is_plain_cut(rows, i, planes, j):
                        is_on, is_open64, is_open32, gap = examine_cut(points, i, rows, planes, j)
                    else:
                        is_on, is_open64, is_open32, gap = examine_closely(value, points, i, rows, planes, j, bins)
                    if is_on:
                        word |= bit
                    if is_open64:
                        word64 |= bit
                    if is_open32:
                        word32 |= bit
                gaps[i, j] = gap
            k = first + start // 64
            on[i, k], open64[i, k], open32[i, k] = word, word64, word32


@compiled
def masked_count(line, mask):
    """How many bits of the line are on under the mask."""
    count = 0
    for w in range(mask.shape[0]):
        count += popcount(line[w] & mask[w])
    return count


@compiled
def best_margins(low, high, masks, limits, owners, own, inside, outside):
    """Greatest limit - count of a point's own class, counted in ``high``, and of all other classes, in ``low``.

    NOTHING where there is no detector.
    """
    n = masks.shape[0]
    inside[:] = NOTHING
    outside[:] = NOTHING
    for start in range(0, n, DETECTOR_BLOCK):
        for i in range(low.shape[0]):
            for m in range(start, min(start + DETECTOR_BLOCK, n)):
                if owners[m] == own[i]:
                    inside[i] = max(inside[i], limits[m] - masked_count(high[i], masks[m]))
                else:
                    outside[i] = max(outside[i], limits[m] - masked_count(low[i], masks[m]))


@compiled
def extreme_count(low, high, weights, sign):
    """The largest (sign = 1) or smallest (sign = -1) weighted count of patterns between ``low`` and ``high``.

    Bit by bit, unlike the construction, which counts by bit planes.
    """
    count = np.int64(0)
    for j in range(weights.shape[0]):
        weight = np.int64(weights[j])
        line = high if sign * weight > 0 else low
        if (line[j // 64] >> np.uint64(j % 64)) & np.uint64(1):
            count += weight
    return count


@compiled
def best_weighted_margins(low, high, weights, limits, owners, own, inside, outside):
    """As ``best_margins``, for weighted detectors; bits between ``low`` and ``high`` count for the worse."""
    inside[:] = NOTHING
    outside[:] = NOTHING
    for i in range(low.shape[0]):
        for m in range(weights.shape[0]):
            if owners[m] == own[i]:
                inside[i] = max(inside[i], limits[m] - extreme_count(low[i], high[i], weights[m], 1))
            else:
                outside[i] = max(outside[i], limits[m] - extreme_count(low[i], high[i], weights[m], -1))


@compiled
def holds(number):
    """Whether float32 holds the number."""
    return np.float64(np.float32(number)) == number


@compiled
def cut_error(weight, entry, bias, form):
    """What the value of a coordinate cut may err by in a format that holds its entry and bias.

    Not counting 2 u of the value itself: ``value_error`` and ``runtime_error`` have room for that
    in what they take of the masked sum, so that a cut outside the mask costs nothing.
    """
    if not max(abs(weight), abs(entry), abs(bias)) < form.huge:
        return np.inf
    return 4.0 * form.tiny * (abs(weight) + 1.0)


@compiled
def ramp(products, rows, points, planes, error64, error32):
    """Replace the products <w, x> by max(<w, x> + b, 0); add what each may err by to its row's sums.

    A hyperplane whose value is proved negative gives zero in every evaluation, and errs by nothing.
    """
    planes64, planes32 = factors_in(planes, FLOAT64), factors_in(planes, FLOAT32)
    for i in range(products.shape[0]):
        norm, terms = points.norms[i], points.terms[i]
        point64, point32 = gamma(terms, FLOAT64.unit), gamma(terms, FLOAT32.unit)
        for j in range(products.shape[1]):
            value = products[i, j] + planes.bias[j]
            size = norm * planes.norms[j] + abs(planes.bias[j])
            near64 = error_bound(min(point64, planes64[j]), size, norm, planes.norms[j], FLOAT64)
            near32 = error_bound(min(point32, planes32[j]), size, norm, planes.norms[j], FLOAT32)
            if is_plain_cut(rows, i, planes, j):
                weight, x, bias = planes.cuts[j], rows[i, planes.columns[j]], planes.bias[j]
                near64 = min(near64, cut_error(weight, weight * x, bias, FLOAT64))
                if holds(x) and holds(bias):
                    near32 = min(near32, cut_error(weight, weight * x, bias, FLOAT32))
            products[i, j] = value if value > 0 else 0.0
            if not value < -2.0 * near64:
                error64[i] += near64
            if not value < -(near64 + near32):
                error32[i] += near32


class Gaps(NamedTuple):
    """Of every point: proved intervals of the greatest limit - value, of its own class and of all others.

    ``safe_own`` and ``safe_other`` say for float64 and float32 that the signs hold in
    every evaluation; ``reach_own`` and ``reach_other`` how far the point may move.
    """

    own_low: Any
    own_high: Any
    other_low: Any
    other_high: Any
    safe_own: Any
    safe_other: Any
    reach_own: Any
    reach_other: Any


@compiled
def value_error(value, limit, error, width):
    """What limit - value, as evaluated here, may err by."""
    bound = error + gamma(2 * width, FLOAT64.unit) * (value + abs(limit)) + FLOAT64.pad
    return bound * ENLARGE if bound < FLOAT64.huge else np.inf


@compiled
def runtime_error(value, limit, near, error, width, form):
    """What limit - value may err by in every evaluation in the format, seen from here, which is off by ``near``."""
    factor = gamma(width, form.unit)
    bound = near + error * (1.0 + factor) + factor * (value + near + abs(limit)) + form.pad
    return bound * ENLARGE if value + near + abs(limit) + error < form.huge else np.inf


class RampDetectors(NamedTuple):
    """Detectors over ramps: limits, the classes that they claim for, how steep their values are, and masks."""

    limits: Any
    owners: Any
    slopes: Any
    masks: Any


@compiled
def best_gaps(values, error64, error32, width, detectors, own, gaps):
    """Fill :class:`Gaps` from the detectors' values, of shape (points, detectors)."""
    limits, owners, slopes, _ = detectors
    for i in range(values.shape[0]):
        for m in range(values.shape[1]):
            near = value_error(values[i, m], limits[m], error64[i], width)
            far64 = runtime_error(values[i, m], limits[m], near, error64[i], width, FLOAT64)
            far32 = runtime_error(values[i, m], limits[m], near, error32[i], width, FLOAT32)
            gap = limits[m] - values[i, m] if near < np.inf else 0.0
            if owners[m] == own[i]:
                gaps.own_low[i] = max(gaps.own_low[i], gap - near)
                gaps.own_high[i] = max(gaps.own_high[i], gap + near)
                gaps.safe_own[0, i] |= gap > far64
                gaps.safe_own[1, i] |= gap > far32
                reach = (gap - near) / slopes[m] if slopes[m] > 0.0 else (np.inf if gap > near else 0.0)
                gaps.reach_own[i] = max(gaps.reach_own[i], reach)
            else:
                gaps.other_low[i] = max(gaps.other_low[i], gap - near)
                gaps.other_high[i] = max(gaps.other_high[i], gap + near)
                gaps.safe_other[0, i] &= gap < -far64
                gaps.safe_other[1, i] &= gap < -far32
                reach = (-gap - near) / slopes[m] if slopes[m] > 0.0 else np.inf
                gaps.reach_other[i] = min(gaps.reach_other[i], reach)


@compiled
def exact_claims(values, error, width, detectors, own, point, planes):
    """Whether a detector of the point's own class fires, and whether one of another class does.

    As proved from the values, or in exact arithmetic for those in doubt.
    """
    limits, owners = detectors.limits, detectors.owners
    claimed, disputed = False, False
    for m in range(values.shape[0]):
        if claimed if owners[m] == own else disputed:
            continue
        near = value_error(values[m], limits[m], error, width)
        gap = limits[m] - values[m] if near < np.inf else 0.0
        fires = gap > near
        if not fires and gap > -near:
            fires = exact_ramp_gap(planes, point, detectors.masks[m], limits[m]) > 0
        if owners[m] == own:
            claimed = claimed or fires
        else:
            disputed = disputed or fires
    return claimed, disputed
