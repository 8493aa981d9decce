"""How many masked bits are on: the work that every detector is made of.

Words are word-major, ``words[w, column]`` (see ``_bits``), and loops run along the
columns, where the compiler finds whole vectors. Arrays are passed whole with a range of
columns, never cut: only then does it know that they are contiguous.
"""

from __future__ import annotations

import numpy as np

from .compile import compiled, popcount

COLUMN_TILE = 512  # columns at a time: their counts, 4 KiB, stay in the first cache from word to word
STRIDE = 8  # words at a time: full adders turn seven of them into three, so that four popcounts do for eight


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
