"""Bits with proved sides, and counts of them: the compiled half of certificates of detectors.

``examine`` holds every product of a matrix multiplication against the error bound that
``certificate/paper_form.py`` proves, and looks closer where that does not decide. Patterns are
point-major here, ``words[row, w]``; bit i is bit i % 64 of word i // 64, as in ``network/bits.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import compiled, popcount
from .enclosures import ANY_QUANTUM, quantum
from .rounding import ENLARGE, FLOAT32, FLOAT64, error_bound, gamma

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
    """Fill the arrays of :class:`Facts`."""
    # A row is scaled by a power of two to largest entry in [1/2, 1). Then d squares, d
    # additions and a root err by less than (d + 4) 2^-52 of the result, and what underflows
    # is far below that.
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
    """Whether every evaluation in the format is exact, because all sums are few multiples of one power of two."""
    # The numbers that the hyperplane looks at are multiples of 2^``grid``, the point has this norm.
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
    """Return the largest q such that all numbers are multiples of 2^q."""
    lowest = ANY_QUANTUM
    for k in range(numbers.shape[0]):
        if numbers[k] != 0.0:
            lowest = min(lowest, quantum(numbers[k]))
    return lowest


@compiled
def absolute_sum(weights, numbers):
    """Return an upper bound of sum |w_j x_j| (but for underflow), and the number of products other than zero."""
    total, terms = 0.0, 0
    for j in range(numbers.shape[0]):
        product = abs(weights[j] * numbers[j])
        total += product
        if numbers[j] != 0.0 and weights[j] != 0.0:
            terms += 1
    return total * (1.0 + (terms + 4) * 2.0**-52), terms


@compiled
def factors_of(planes, j, point):
    """Weights of a hyperplane, and the numbers of a point that they are multiplied with."""
    first, last = planes.starts[j], planes.starts[j + 1]
    if planes.features.shape[0] == 0:
        return planes.weights[first:last], point[: last - first]
    numbers = np.empty(last - first)
    for k in range(first, last):
        numbers[k - first] = point[planes.features[k]]
    return planes.weights[first:last], numbers


@compiled
def examine_closely(value, points, i, rows, planes, j):
    """Whether the bit is on, whether it is open in float64 and in float32, and a lower bound of |<w, x> + b|."""
    # With the sum of the absolute products in place of the norms. The lower bound is NaN where even that leaves the
    # side in doubt.
    weights, numbers = factors_of(planes, j, rows[i])
    is_sparse = planes.features.shape[0] > 0
    grid = common_quantum(numbers) if is_sparse else points.quanta[i]
    total, terms = absolute_sum(weights, numbers)
    size = total + abs(planes.bias[j])
    near64 = error_bound(gamma(terms, FLOAT64.unit), size, points.norms[i], planes.norms[j], FLOAT64)
    near32 = error_bound(gamma(terms, FLOAT32.unit), size, points.norms[i], planes.norms[j], FLOAT32)
    exact32 = sums_exactly(size, grid, points.norms[i], planes, j, FLOAT32)
    if sums_exactly(size, grid, points.norms[i], planes, j, FLOAT64):
        return value > 0, False, not (exact32 or abs(value) > near32), abs(value)
    if abs(value) > near64:
        gap = abs(value) - near64
        return value > 0, not gap > near64, not (exact32 or gap > near32), gap
    return False, True, True, np.nan


@compiled
def padded_norm(norm):
    """Return a norm for the first look: with float32's pad, and infinite where only a closer look decides."""
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
    """Bits of a tile of points and a block of hyperplanes, from the products <w, x>."""
    # Norms decide nearly all of them at once; only the others are looked at feature by feature. Sets the bits from word
    # ``first`` on, and ``gaps``, lower bounds of |<w, x> + b| for every point and hyperplane: NaN where exact
    # arithmetic must have the last word.
    n = planes.bias.shape[0]
    on, open64, open32 = bits
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
                        is_on, is_open64, is_open32, gap = examine_closely(value, points, i, rows, planes, j)
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
def count_masked(bits, masks, counts):
    """counts[i, m] = how many bits of pattern i are on under mask m."""
    for start in range(0, masks.shape[0], DETECTOR_BLOCK):
        for i in range(bits.shape[0]):
            for m in range(start, min(start + DETECTOR_BLOCK, masks.shape[0])):
                count = 0
                for w in range(masks.shape[1]):
                    count += popcount(bits[i, w] & masks[m, w])
                counts[i, m] = count


@compiled
def best_margins(own_margins, other_margins, owners, own, inside, outside):
    """Raise ``inside`` to the greatest margin of the detectors of each point's own class, ``outside`` of all others."""
    for i in range(own.shape[0]):
        for m in range(owners.shape[0]):
            if owners[m] == own[i]:
                inside[i] = max(inside[i], own_margins[i, m])
            else:
                outside[i] = max(outside[i], other_margins[i, m])
