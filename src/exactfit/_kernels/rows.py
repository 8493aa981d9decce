"""Rows of numbers: sums in one fixed order or without rounding, hashes, and products of rows that are mostly zeros.

Without rounding: a sum is an integer over 2^1074, in base 2^32. Digit k of a column, in int64 with room for carries,
stands for digits[k] * 2^(32 k - 1074). A float64 number is 53 bits at the place that its exponent names, so that adding
it touches three digits, without a branch on its size; that is what makes it nearly as fast as adding floats.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled

# Features to a float32 sum: longer sums would have a wider error bound, and leave more in doubt.
FEATURE_BLOCK = 256
# Odd constants of splitmix64, which spread every bit of a word over the upper half of its product.
MIX_A, MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@compiled
def norm(row, origin):
    """Euclidean norm of a row around ``origin``, features in index order."""
    # The row is scaled by a power of two first, so that squares neither overflow nor vanish.
    largest = 0.0
    for j in range(row.shape[0]):
        largest = max(largest, abs(row[j] - origin[j]))
    if largest in (0.0, np.inf):
        return largest
    exponent = math.frexp(largest)[1]
    half = math.ldexp(1.0, -(exponent // 2))
    other = math.ldexp(1.0, -(exponent - exponent // 2))
    square = 0.0
    for j in range(row.shape[0]):
        value = (row[j] - origin[j]) * half * other
        square += value * value
    return math.ldexp(math.sqrt(square), exponent)


@compiled
def norms_of(rows, norms):
    """norms[r] = Euclidean norm of row r."""
    origin = np.zeros(rows.shape[1])
    for r in range(rows.shape[0]):
        norms[r] = norm(rows[r], origin)


@compiled
def line_facts(numbers, starts, norms, terms, firsts):
    """Norm, number of nonzeros and place of the first nonzero of each line numbers[starts[r]:starts[r + 1]]."""
    # The first of a line of zeros is at 0.
    longest = np.int64(0)
    for r in range(norms.shape[0]):
        longest = max(longest, starts[r + 1] - starts[r])
    origin = np.zeros(longest)
    for r in range(norms.shape[0]):
        low, high = starts[r], starts[r + 1]
        norms[r] = norm(numbers[low:high], origin[: high - low])
        terms[r], firsts[r] = 0, 0
        for k in range(low, high):
            if numbers[k] != 0.0:
                terms[r] += 1
                if terms[r] == 1:
                    firsts[r] = k


@compiled
def squared_norms(rows, squares):
    """squares[r] = squared Euclidean norm of row r, features in index order."""
    for r in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[r, j] * rows[r, j]
        squares[r] = square


@compiled
def largest_norm(rows, origin):
    """Largest Euclidean norm of the rows around ``origin``."""
    best = 0.0
    for r in range(rows.shape[0]):
        best = max(best, norm(rows[r], origin))
    return best


@compiled
def subtract_products(weights, points, biases):
    """biases[i] -= <weights[i], points[i]>, the product summed in index order."""
    for i in range(weights.shape[0]):
        total = 0.0
        for j in range(weights.shape[1]):
            total += np.float64(weights[i, j]) * points[i, j]
        biases[i] -= total


@compiled
def mix(state, word):
    """One step of a hash."""
    state = (state ^ word) * MIX_B
    return state ^ (state >> np.uint64(29))


@compiled
def mix_float(state, value, word):
    """One step of a hash over a float64 given twice, as value and as bits; -0.0 counts as 0.0."""
    return mix(state, np.uint64(0) if value == 0.0 else word)


@compiled
def hash_rows(rows, hashes):
    """Hash every row to 64 bits; equal rows (-0.0 equals 0.0) have equal hashes."""
    # Four states take turns, so that no step waits for the one before it.
    d, bits = rows.shape[1], rows.view(np.uint64)
    whole = d - d % 4
    for r in range(rows.shape[0]):
        row, words = rows[r], bits[r]
        a, b, c, state = MIX_A, MIX_A + np.uint64(2), MIX_A + np.uint64(4), MIX_A + np.uint64(6)
        for j in range(0, whole, 4):
            a = mix_float(a, row[j], words[j])
            b = mix_float(b, row[j + 1], words[j + 1])
            c = mix_float(c, row[j + 2], words[j + 2])
            state = mix_float(state, row[j + 3], words[j + 3])
        for j in range(whole, d):
            state = mix_float(state, row[j], words[j])
        hashes[r] = mix(mix(mix(state, a), b), c)


DIGITS = 68  # of 32 bits: 2098 for the numbers themselves, 78 more for as many of them as there may be
DIGIT_BITS = 32
LOW_DIGIT = np.int64(2**32 - 1)
MANTISSA = np.int64(2**52 - 1)
IMPLICIT = np.int64(2**52)  # the leading bit that float64 does not store
EXPONENT = np.int64(2047)


@compiled
def add_exactly(bits, digits):
    """Add every row of finite float64 numbers, given by their bits as int64, to the digits of its columns."""
    # At most 2^30 rows at a time fit beside digits that :func:`carry` has left.
    for r in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            number = bits[r, j]
            exponent = (number >> 52) & EXPONENT
            amount = number & MANTISSA
            if exponent:
                amount |= IMPLICIT
                exponent -= 1
            elif amount == 0:
                continue
            k, shift = exponent >> 5, exponent & 31
            low = (amount & LOW_DIGIT) << shift
            high = (amount >> DIGIT_BITS) << shift
            sign = 1 - 2 * np.int64(number < 0)
            digits[j, k] += sign * (low & LOW_DIGIT)
            digits[j, k + 1] += sign * ((low >> DIGIT_BITS) + (high & LOW_DIGIT))
            digits[j, k + 2] += sign * (high >> DIGIT_BITS)


@compiled
def carry(digits):
    """Bring every digit but the last into 0 .. 2^32 - 1; the last one has the sign."""
    for j in range(digits.shape[0]):
        for k in range(digits.shape[1] - 1):
            over = digits[j, k] >> DIGIT_BITS
            digits[j, k] -= over << DIGIT_BITS
            digits[j, k + 1] += over


@compiled
def find_nonzeros(rows, starts, features, values):
    """Write rows as a CSR matrix: ``starts`` is its indptr, ``features`` its indices, ``values`` its data."""
    k = 0
    for r in range(rows.shape[0]):
        starts[r] = k
        for j in range(rows.shape[1]):
            if rows[r, j] != 0.0:
                features[k], values[k] = j, rows[r, j]
                k += 1
    starts[rows.shape[0]] = k


@compiled
def multiply_nonzeros(starts, features, values, lines, block, total):
    """Products of points, rows of a CSR matrix, with hyperplanes, added to ``total`` for every ``block`` features."""
    # ``lines[j]`` holds weight j of all hyperplanes: so the inner loop runs along hyperplanes, in whole vectors,
    # and eight features at a time spare seven of eight passes over the sums.
    part = np.empty(lines.shape[1], np.float32)
    for r in range(total.shape[0]):
        for low in range(starts[r], starts[r + 1], block):
            high = min(low + block, starts[r + 1])
            part[:] = 0.0
            eights = high - (high - low) % 8
            for k in range(low, eights, 8):
                add_eight(lines, features[k : k + 8], values[k : k + 8], part)
            for k in range(eights, high):
                x, line = values[k], lines[features[k]]
                for i in range(part.shape[0]):
                    part[i] += x * line[i]
            for i in range(part.shape[0]):
                total[r, i] += part[i]


@compiled
def add_eight(lines, features, values, out):
    """Add eight features of a point, times their weights."""
    x0, x1, x2, x3 = values[0], values[1], values[2], values[3]
    x4, x5, x6, x7 = values[4], values[5], values[6], values[7]
    w0, w1, w2, w3 = lines[features[0]], lines[features[1]], lines[features[2]], lines[features[3]]
    w4, w5, w6, w7 = lines[features[4]], lines[features[5]], lines[features[6]], lines[features[7]]
    for i in range(out.shape[0]):
        first = (x0 * w0[i] + x1 * w1[i]) + (x2 * w2[i] + x3 * w3[i])
        second = (x4 * w4[i] + x5 * w5[i]) + (x6 * w6[i] + x7 * w7[i])
        out[i] += first + second
