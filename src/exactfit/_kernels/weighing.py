"""Inner loops of weighted detectors: a kernel machine over packed patterns, in integers only.

Two patterns are as similar as they have bits in common, on or off: agree(a, b) = n - Hamming(a, b).
A half-space of the cube is f(x) = sum_k shares[k] * agree(x, x_k), linear in the bits of x: with
``sums[j]`` the shares of those points that have bit j on, it is found from the set bits of x alone,

    f(x) = 2 * sum over set bits j of sums[j]  -  total * ones(x)  -  spread  +  n * total,

where ``total`` sums the shares and ``spread`` sums shares times set bits. So one coordinate step costs
O(n) whatever the number of points, and nothing is ever rounded: results do not depend on the
order of sums, and the compiler is free to use whole vectors.
"""

from __future__ import annotations

import numpy as np

from .compile import compiled, popcount

COLUMN_TILE = 512  # columns whose sums stay in the first cache while all words pass
PLANES = 8  # bits of an int8 weight
WORD_BITS = 64  # bits of a word
ONE = np.uint64(1)


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
def descend(rows, ones, caps, shares, visit, sums, totals, effort):
    """Dual coordinate descent for the widest margin between target (caps > 0) and rest (caps < 0).

    Point i wants caps[i] * f(x_i) > 0 with |f(x_i)| >= goal; its share lies between 0 and caps[i]. A step
    solves for one share exactly, but for the integer division: agree(x, x) = n. Points of the rest that are
    far on their own side without a share, and points of the target that are beyond hope with a full one,
    are not visited again in this call. ``totals`` is (total, spread), ``effort`` is (n, goal,
    epochs, tolerance); returns the largest step of the last epoch.
    """
    n, goal, epochs, tolerance = effort
    total, spread, left = totals[0], totals[1], visit.shape[0]
    largest = np.int64(0)
    for _ in range(epochs):
        largest, kept = np.int64(0), 0
        for t in range(left):
            i = visit[t]
            cap, old = caps[i], shares[i]
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
                shares[i] = new
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
    """out[c - start] = <v, Phi(x_c)> for the columns start..stop.

    Eight planes of the weights, the last of them worth -128, turn the product into popcounts, which run
    along the columns as those of masks do: eight of them for a word instead of 64 additions.
    """
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
def hash_columns(words, start, stop, out):
    """A hash of every column: equal columns have equal ones, and others nearly never."""
    for c in range(start, stop):
        found = np.uint64(0)
        for w in range(words.shape[0]):
            found = (found ^ words[w, c]) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
        out[c - start] = found


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
