"""Rows of numbers: sums in one fixed order or without rounding, hashes, and products of rows that are mostly zeros.

Without rounding: a sum is an integer over 2^1074, in base 2^32. Digit k of a column, in int64 with room for carries,
stands for digits[k] * 2^(32 k - 1074). A float64 number is 53 bits at the place that its exponent names, so that adding
it touches three digits, without a branch on its size; that is what makes it nearly as fast as adding floats.

SHA-256 of many short messages of one length, where a call for each of them would take longer than its hash: messages
go side by side, a lane each, and inner loops run along the lanes, where the compiler finds whole vectors.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled, inlined

# Features to a float32 sum: longer sums would have a wider error bound, and leave more in doubt.
FEATURE_BLOCK = 256
# Odd constants of splitmix64, which spread every bit of a word over the upper half of its product.
MIX_A, MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@compiled
def norm(row, origin):
    """Euclidean norm of a row around ``origin``, features in index order.

    The row is scaled by a power of two first, so that squares neither overflow nor vanish.
    """
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
    """Of each line numbers[starts[r]:starts[r + 1]]: norm, how many numbers are not zero, and the place of the first.

    The first of a line of zeros is at 0.
    """
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
def subtract_products(weights, point, biases):
    """biases[i] -= <weights[i], point>, the product summed in index order."""
    for i in range(weights.shape[0]):
        total = 0.0
        for j in range(weights.shape[1]):
            total += np.float64(weights[i, j]) * point[j]
        biases[i] -= total


@compiled
def subtract_own_products(weights, points, biases):
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
    """A 64-bit hash of every row; equal rows (-0.0 equals 0.0) have equal hashes.

    Four states take turns, so that no step waits for the one before it.
    """
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
    """Add every row of finite float64 numbers, given by their bits as int64, to the digits of its columns.

    At most 2^30 rows at a time fit beside digits that :func:`carry` has left.
    """
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
    """The rows as a CSR matrix: ``starts`` is its indptr, ``features`` its indices, ``values`` its data."""
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
    """Products of points, rows of a CSR matrix, with hyperplanes, added to ``total`` for every ``block`` features.

    ``lines[j]`` holds weight j of all hyperplanes: so the inner loop runs along hyperplanes, in whole vectors,
    and eight features at a time spare seven of eight passes over the sums.
    """
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


# FIPS 180-4: the first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube
# roots of the first 64.
START = np.array(
    [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32
)
ROUNDS = np.array(
    [
        0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
        0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
        0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
        0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
        0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
        0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
        0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
        0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
    ],
    np.uint32,
)  # fmt: skip
LANES = 32  # messages side by side: four AVX2 vectors hide one another's latency


@inlined
def turned(word, by):
    """A 32-bit word rotated to the right."""
    return np.uint32(np.uint32(word >> np.uint32(by)) | np.uint32(word << np.uint32(32 - by)))


@compiled
def read_block(messages, first, count, low, words):
    """The 16 big-endian words of a block of so many messages."""
    for lane in range(count):
        row = messages[first + lane]
        for t in range(16):
            word = np.uint32(0)
            for k in range(4):
                word = np.uint32(np.uint32(word << np.uint32(8)) | np.uint32(row[low + 4 * t + k]))
            words[t, lane] = word


@compiled
def expand(words):
    """The message schedule: 48 words after the first 16."""
    for t in range(16, 64):
        far, early, middle, late, out = words[t - 16], words[t - 15], words[t - 7], words[t - 2], words[t]
        for lane in range(LANES):
            a, b = early[lane], late[lane]
            s0 = np.uint32(turned(a, 7) ^ turned(a, 18) ^ np.uint32(a >> np.uint32(3)))
            s1 = np.uint32(turned(b, 17) ^ turned(b, 19) ^ np.uint32(b >> np.uint32(10)))
            out[lane] = np.uint32(far[lane] + s0 + middle[lane] + s1)


@inlined
def one_round(constant, words, v, first):
    """A round: what the standard moves along its eight variables stays in place; they are named from ``first`` on."""
    va, vb, vc, vd = v[first], v[(first + 1) % 8], v[(first + 2) % 8], v[(first + 3) % 8]
    ve, vf, vg, vh = v[(first + 4) % 8], v[(first + 5) % 8], v[(first + 6) % 8], v[(first + 7) % 8]
    for lane in range(LANES):
        a, b, c, e = va[lane], vb[lane], vc[lane], ve[lane]
        s1 = np.uint32(turned(e, 6) ^ turned(e, 11) ^ turned(e, 25))
        new = np.uint32(vh[lane] + s1 + np.uint32((e & vf[lane]) ^ (~e & vg[lane])) + constant + words[lane])
        s0 = np.uint32(turned(a, 2) ^ turned(a, 13) ^ turned(a, 22))
        vd[lane] = np.uint32(vd[lane] + new)
        vh[lane] = np.uint32(new + s0 + np.uint32((a & b) ^ (a & c) ^ (b & c)))


@compiled
def compress(state, words, v):
    """One block of every lane into the state; ``v`` is room for eight variables."""
    expand(words)
    v[:] = state
    for t in range(64):
        one_round(ROUNDS[t], words[t], v, -t % 8)
    for k in range(8):
        for lane in range(LANES):
            state[k, lane] = np.uint32(state[k, lane] + v[k, lane])


@compiled
def sha256_rows(messages, out):
    """out[r] = SHA-256 of the bytes of row r; ``messages`` are padded to whole blocks of 64 bytes."""
    words, state, room = (
        np.zeros((64, LANES), np.uint32),
        np.empty((8, LANES), np.uint32),
        np.empty((8, LANES), np.uint32),
    )
    for first in range(0, messages.shape[0], LANES):
        count = min(LANES, messages.shape[0] - first)
        for k in range(8):
            state[k] = START[k]
        for low in range(0, messages.shape[1], 64):
            read_block(messages, first, count, low, words)
            compress(state, words, room)
        for lane in range(count):
            for t in range(8):
                for k in range(4):
                    out[first + lane, 4 * t + k] = np.uint8((state[t, lane] >> np.uint32(24 - 8 * k)) & np.uint32(255))
