"""Counts of detectors: masked bits that are on, sums of values, and the slack of each class at a point.

Words are word-major, ``words[w, column]`` (see ``network/bits.py``), and loops run along the
columns, where the compiler finds whole vectors. Arrays are passed whole with a range of
columns, never cut: only then does it know that they are contiguous.

Weighted detectors are a kernel machine over packed patterns, in integers only: two patterns are as similar as they
have bits in common, on or off, agree(a, b) = n - Hamming(a, b).
A half-space of the cube is f(x) = sum_k dual_coef[k] * agree(x, x_k), linear in the bits of x: with
``sums[j]`` the coefficients of those points that have bit j on, it is found from the set bits of x alone,

    f(x) = 2 * sum over set bits j of sums[j]  -  total * ones(x)  -  spread  +  n * total,

where ``total`` sums the coefficients and ``spread`` sums coefficients times set bits. So one coordinate step costs
O(n) whatever the number of points, and nothing is ever rounded: results do not depend on the
order of sums, and the compiler is free to use whole vectors.
"""

from __future__ import annotations

import numpy as np

from .compile import compiled, popcount

COLUMN_TILE = 512  # columns at a time: their counts, 4 KiB, stay in the first cache from word to word
STRIDE = 8  # words at a time: full adders turn seven of them into three, so that four popcounts do for eight
PLANES = 8  # bits of an int8 weight
WORD_BITS = 64  # bits of a word
ONE = np.uint64(1)


@compiled
def full_add(a, b, c):
    """Add three words bit by bit: the sum and the carry of every position."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@compiled
def count_one(words, w, start, stop, mask, fresh, counts):
    """Count one word of every column; ``fresh`` forgets what ``counts`` held."""
    m = mask[w]
    a = words[w, start:stop]
    for c in range(stop - start):
        counts[c] = (0 if fresh else counts[c]) + popcount(a[c] & m)


@compiled
def count_two(words, w, start, stop, mask, fresh, counts):
    """Count two words of every column."""
    m0, m1 = mask[w], mask[w + 1]
    a0, a1 = words[w, start:stop], words[w + 1, start:stop]
    for c in range(stop - start):
        counts[c] = (0 if fresh else counts[c]) + popcount(a0[c] & m0) + popcount(a1[c] & m1)


@compiled
def count_four(words, w, start, stop, mask, fresh, counts):
    """Count four words of every column."""
    m0, m1, m2, m3 = mask[w], mask[w + 1], mask[w + 2], mask[w + 3]
    a0, a1 = words[w, start:stop], words[w + 1, start:stop]
    a2, a3 = words[w + 2, start:stop], words[w + 3, start:stop]
    for c in range(stop - start):
        ones, twos = full_add(a0[c] & m0, a1[c] & m1, a2[c] & m2)
        counts[c] = (0 if fresh else counts[c]) + popcount(ones) + 2 * popcount(twos) + popcount(a3[c] & m3)


@compiled
def full_add_seven(a, b, c, d, e, f, g):
    """Add seven words bit by bit: the ones, twos and fours of every position."""
    s1, c1 = full_add(a, b, c)
    s2, c2 = full_add(d, e, f)
    ones, c3 = full_add(s1, s2, g)
    twos, fours = full_add(c1, c2, c3)
    return ones, twos, fours


@compiled
def count_seven(words, w, start, stop, mask, fresh, counts):
    """Count seven words of every column: full adders turn them into three."""
    m0, m1, m2, m3 = mask[w], mask[w + 1], mask[w + 2], mask[w + 3]
    m4, m5, m6 = mask[w + 4], mask[w + 5], mask[w + 6]
    a0, a1 = words[w, start:stop], words[w + 1, start:stop]
    a2, a3 = words[w + 2, start:stop], words[w + 3, start:stop]
    a4, a5 = words[w + 4, start:stop], words[w + 5, start:stop]
    a6 = words[w + 6, start:stop]
    for c in range(stop - start):
        ones, twos, fours = full_add_seven(
            a0[c] & m0, a1[c] & m1, a2[c] & m2, a3[c] & m3, a4[c] & m4, a5[c] & m5, a6[c] & m6
        )
        counts[c] = (0 if fresh else counts[c]) + popcount(ones) + 2 * popcount(twos) + 4 * popcount(fours)


@compiled
def count_eight(words, w, start, stop, mask, fresh, counts):
    """Count eight words of every column: full adders turn seven of them into three."""
    m0, m1, m2, m3 = mask[w], mask[w + 1], mask[w + 2], mask[w + 3]
    m4, m5, m6, m7 = mask[w + 4], mask[w + 5], mask[w + 6], mask[w + 7]
    a0, a1 = words[w, start:stop], words[w + 1, start:stop]
    a2, a3 = words[w + 2, start:stop], words[w + 3, start:stop]
    a4, a5 = words[w + 4, start:stop], words[w + 5, start:stop]
    a6, a7 = words[w + 6, start:stop], words[w + 7, start:stop]
    for c in range(stop - start):
        ones, twos, fours = full_add_seven(
            a0[c] & m0, a1[c] & m1, a2[c] & m2, a3[c] & m3, a4[c] & m4, a5[c] & m5, a6[c] & m6
        )
        more = popcount(ones) + popcount(a7[c] & m7) + 2 * popcount(twos) + 4 * popcount(fours)
        counts[c] = (0 if fresh else counts[c]) + more


@compiled
def count_words(words, first, last, start, stop, mask, counts):
    """Count the words first..last of every column on top of what those before ``first`` gave."""
    w = first
    if (last - w) % STRIDE == STRIDE - 1:
        count_seven(words, w, start, stop, mask, w == 0, counts)
        w += STRIDE - 1
    if (last - w) & 1:
        count_one(words, w, start, stop, mask, w == 0, counts)
        w += 1
    if (last - w) & 2:
        count_two(words, w, start, stop, mask, w == 0, counts)
        w += 2
    if (last - w) & 4:
        count_four(words, w, start, stop, mask, w == 0, counts)
        w += 4
    while w < last:
        count_eight(words, w, start, stop, mask, w == 0, counts)
        w += STRIDE


@compiled
def count_all(words, start, stop, masks, first, out):
    """out[m, c - first] = popcount(words[:, c] & masks[m]) for all masks and the columns start..stop."""
    counts = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for m in range(masks.shape[0]):
            count_words(words, 0, words.shape[0], low, high, masks[m], counts)
            line = out[m, low - first : high - first]
            for c in range(high - low):
                line[c] = counts[c]


@compiled
def affine(columns, weights, bias, out):
    """out[i, c] = sum_j weights[i, j] * columns[j, c] + bias[i], in float64."""
    # The order of the sum is fixed: features in index order, then the bias. Products
    # are rounded before they are added (no fused multiply-add), so the result does
    # not depend on tiles, threads or the machine's BLAS.
    n = columns.shape[1]
    for i in range(weights.shape[0]):
        line = out[i]
        for c in range(n):
            line[c] = 0.0
        for j in range(weights.shape[1]):
            w = np.float64(weights[i, j])
            if w != 0.0:
                column = columns[j]
                for c in range(n):
                    line[c] += w * column[c]
        for c in range(n):
            line[c] += bias[i]


@compiled
def sparse_affine(columns, data, indices, indptr, bias, out):
    """As ``affine``, for weights in rows of a CSR matrix with sorted indices: the same sums, without the zeros."""
    n = columns.shape[1]
    for i in range(bias.shape[0]):
        line = out[i]
        for c in range(n):
            line[c] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            w = np.float64(data[k])
            if w != 0.0:
                column = columns[indices[k]]
                for c in range(n):
                    line[c] += w * column[c]
        for c in range(n):
            line[c] += bias[i]


@compiled
def sum_masked(values, mask, sums):
    """sums[c] = sum of values[i, c] over the set bits i of the mask, in index order."""
    n = values.shape[1]
    for c in range(n):
        sums[c] = 0.0
    for i in range(values.shape[0]):
        if (mask[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
            row = values[i]
            for c in range(n):
                sums[c] += row[c]


@compiled
def masked_sums(values, masks, out):
    """out[m, c] = masked sum of column c for mask m, a row of ``masks``."""
    for m in range(masks.shape[0]):
        sum_masked(values, masks[m], out[m])


@compiled
def best_slack_counts(words, start, stop, masks, limits, spans, classes, out):
    """out[k, c] = max over the detectors of class k of (limit - 1/2 - count) / span."""
    # Half a unit off, so that no score is zero: it is positive exactly where a detector fires.
    counts = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for m in range(masks.shape[0]):
            count_words(words, 0, words.shape[0], low, high, masks[m], counts)
            limit, span = np.float64(limits[m]), spans[m]
            best = out[classes[m], low:high]
            for c in range(high - low):
                best[c] = max(best[c], (limit - 0.5 - counts[c]) / span)


@compiled
def sum_set(sums, row):
    """Sum of ``sums`` over the set bits of a packed row; a test of one bit becomes a masked vector addition."""
    found = np.int64(0)
    for w in range(row.shape[0]):
        word = row[w]
        for j in range(WORD_BITS):
            if (word >> np.uint64(j)) & ONE:
                found += sums[WORD_BITS * w + j]
    return found


@compiled
def add_to_set(sums, row, amount):
    """Add ``amount`` wherever a packed row has its bit on."""
    for w in range(row.shape[0]):
        word = row[w]
        for j in range(WORD_BITS):
            if (word >> np.uint64(j)) & ONE:
                sums[WORD_BITS * w + j] += amount


@compiled
def descend(rows, ones, caps, dual_coef, visit, sums, totals, effort):
    """Dual coordinate descent for the widest margin between target (caps > 0) and rest (caps < 0)."""
    # Point i wants caps[i] * f(x_i) > 0 with |f(x_i)| >= goal; its share lies between 0 and caps[i]. A step
    # solves for one share exactly, but for the integer division: agree(x, x) = n. Points of the rest that are
    # far on their own side without a share, and points of the target that are beyond hope with a full one,
    # are not visited again in this call. ``totals`` is (total, spread), ``effort`` is (n, goal,
    # epochs, tolerance); returns the largest step of the last epoch.
    n, goal, epochs, tolerance = effort
    total, spread, left = totals[0], totals[1], visit.shape[0]
    largest = np.int64(0)
    for _ in range(epochs):
        largest, kept = np.int64(0), 0
        for t in range(left):
            i = visit[t]
            cap, old = caps[i], dual_coef[i]
            f = 2 * sum_set(sums, rows[i]) - total * ones[i] - spread + n * total
            if cap > 0:
                step = (goal - f) // n
                new = min(max(old + step, 0), cap)
            else:
                step = -((goal + f) // n)
                new = max(min(old + step, 0), cap)
            if new == old and abs(step) > 2 * tolerance:
                continue
            visit[kept] = i
            kept += 1
            if new != old:
                step = new - old
                dual_coef[i] = new
                add_to_set(sums, rows[i], step)
                total += step
                spread += step * ones[i]
                largest = max(largest, abs(step))
        left = kept
        if largest <= tolerance:
            break
    totals[0], totals[1] = total, spread
    return largest


@compiled
def weight_planes(weights, planes):
    """Pack int8 weights bit by bit, in two's complement: planes[p, w] has bit p of the weights of word w."""
    planes[:] = 0
    for j in range(weights.shape[0]):
        bits = np.uint64(weights[j] & 255)
        for p in range(PLANES):
            planes[p, j // WORD_BITS] |= ((bits >> np.uint64(p)) & ONE) << np.uint64(j % WORD_BITS)


@compiled
def weigh(words, start, stop, planes, out):
    """out[c - start] = <v, Phi(x_c)> for the columns start..stop."""
    # Eight planes of the weights, the last of them worth -128, turn the product into popcounts, which run
    # along the columns as those of masks do: eight of them for a word instead of 64 additions.
    sums = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        size = min(low + COLUMN_TILE, stop) - low
        sums[:] = 0
        for w in range(words.shape[0]):
            weigh_word(words, w, low, size, planes, sums)
        for c in range(size):
            out[low - start + c] = sums[c]


@compiled
def weigh_word(words, w, low, size, planes, sums):
    """Add what one word of ``size`` columns from ``low`` on counts."""
    p0, p1, p2, p3 = planes[0, w], planes[1, w], planes[2, w], planes[3, w]
    p4, p5, p6, p7 = planes[4, w], planes[5, w], planes[6, w], planes[7, w]
    line = words[w, low : low + size]
    for c in range(size):
        a = line[c]
        small = popcount(a & p0) + 2 * popcount(a & p1) + 4 * popcount(a & p2) + 8 * popcount(a & p3)
        large = popcount(a & p4) + 2 * popcount(a & p5) + 4 * popcount(a & p6) - 8 * popcount(a & p7)
        sums[c] += small + 16 * large


@compiled
def hamming(words, start, stop, row, out):
    """out[c - start] = how many bits of column c differ from a packed row."""
    out[: stop - start] = 0
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for w in range(words.shape[0]):
            line, other, sums = words[w, low:high], row[w], out[low - start : high - start]
            for c in range(high - low):
                sums[c] += popcount(line[c] ^ other)


@compiled
def hash_line(line, hashes):
    """Take one more word of every column into its hash: equal columns have equal ones, and others nearly never."""
    for c in range(line.shape[0]):
        found = (hashes[c] ^ line[c]) * np.uint64(0x9E3779B97F4A7C15)
        hashes[c] = found ^ (found >> np.uint64(29))


@compiled
def best_slack_weights(words, start, stop, planes, limits, spans, classes, out):
    """out[k, c] = max over the weighted detectors of class k of (limit - 1/2 - count) / span."""
    counts = np.empty(stop - start, np.int64)
    for m in range(planes.shape[0]):
        weigh(words, start, stop, planes[m], counts)
        limit, span = np.float64(limits[m]), spans[m]
        best = out[classes[m], start:stop]
        for c in range(stop - start):
            best[c] = max(best[c], (limit - 0.5 - counts[c]) / span)
