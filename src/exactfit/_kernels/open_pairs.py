"""Open ordered pairs of patterns, and the fallback cuts that close them.

A pair (a, b) of patterns is *open* when no bit is off in a and on in b, that is
when ``b & ~a`` is zero in every word. The scans run over b, tile by tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compile import compiled, popcount

TILE = 128  # children a tile: 1 KiB of words; large enough for whole vectors, small enough to be skipped whole


class Scan(NamedTuple):
    """Input of a scan: children (distinct patterns) of groups, and the groups to compare.

    Children are sorted by group, then by pattern. Group ``g`` is to be compared with
    the groups ``first[r]..last[r]`` of its runs ``r`` in ``indptr[g]..indptr[g + 1]``,
    which ascend. ``common`` holds, for each tile of children, the bits on in all of them.
    """

    words: NDArray[np.uint64]
    common: NDArray[np.uint64]
    group: NDArray[np.int64]
    start: NDArray[np.int64]
    indptr: NDArray[np.int64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]


@compiled
def off_bits(words, child, off):
    """off[w] = the bits that are off in word w of the child."""
    for w in range(words.shape[0]):
        off[w] = ~words[w, child]


@compiled
def off_bits_until(words, child, index, off):
    """As `off_bits`, but only the bits 0..index of the whole pattern."""
    for w in range(words.shape[0]):
        n = min(max(index + 1 - 64 * w, 0), 64)
        mask = ~np.uint64(0)
        if n < 64:
            mask = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
        off[w] = ~words[w, child] & mask


@compiled
def later_word_separates(common, tile, off):
    """Whether a bit of a word after the first is off in a and on in all children of the tile."""
    for w in range(1, common.shape[0]):
        if common[w, tile] & off[w]:
            return True
    return False


@compiled
def count_open(line, mask):
    """Count the words of the line that have none of the bits of the mask."""
    # Small enough to be inlined, with the count in vector registers: 7 G pairs/s on one AVX2 core.
    found = 0
    for c in range(line.shape[0]):
        found += (line[c] & mask) == np.uint64(0)
    return found


@compiled
def mark_open(words, lo, hi, off, left):
    """Set left[c] = 0 for the open ones of the children lo..hi; returns how many."""
    found = hi - lo
    for c in range(hi - lo):
        left[c] = np.uint64(0)
    for w in range(words.shape[0]):
        line, mask = words[w, lo:hi], off[w]
        found = 0
        for c in range(hi - lo):
            word = left[c] | (line[c] & mask)
            left[c] = word
            found += word == np.uint64(0)
        if found == 0:
            break
    return found


@compiled
def seek(scan, off, run, end, at, left):
    """Find the next tile with open children, from child ``at`` on, marked in ``left``: (its run, lo, hi)."""
    # Goes through the runs ``run..end``; the run returned is ``end`` when none is left.
    line, common, mask = scan.words[0], scan.common[0], off[0]
    while run < end:
        stop = scan.start[scan.last[run]]
        lo = max(at, scan.start[scan.first[run]])
        while lo < stop:
            tile = lo // TILE
            hi = min(stop, (tile + 1) * TILE)
            # Sorted children share their leading bits, so one bit separates most tiles whole;
            # and counting on the first word is much faster than marking.
            if (
                (common[tile] & mask) == np.uint64(0)
                and not later_word_separates(scan.common, tile, off)
                and count_open(line[lo:hi], mask) > 0
                and mark_open(scan.words, lo, hi, off, left) > 0
            ):
                return run, lo, hi
            lo = hi
        run += 1
    return run, 0, 0


@compiled
def runs_for(scan, child, off):
    """Return the runs to compare a child with; its off bits go to ``off``."""
    off_bits(scan.words, child, off)
    return scan.indptr[scan.group[child]], scan.indptr[scan.group[child] + 1]


@compiled
def append_runs(left, lo, hi, begin, n_runs, first, last):
    """Append the children marked in ``left`` as runs, extending the last one if it began after ``begin``."""
    # Returns the new number of runs and of children, or (-1, 0) when the runs do not fit.
    n_children = 0
    for c in range(hi - lo):
        if left[c] == np.uint64(0):
            child = lo + c
            if n_runs > begin and last[n_runs - 1] == child:
                last[n_runs - 1] = child + 1
            elif n_runs < first.shape[0]:
                first[n_runs] = child
                last[n_runs] = child + 1
                n_runs += 1
            else:
                return -1, 0
            n_children += 1
    return n_runs, n_children


@compiled
def list_open(scan, ids, limit, runs_of, first, last):
    """List, as runs, the children open against each child in ``ids``."""
    # ``runs_of[i]`` is set to how many runs belong to ``ids[i]``. Stops after the child
    # that takes the number of pairs above ``limit``, or before the one whose runs do
    # not fit. Returns how many of ``ids`` are done, the runs and the pairs.
    off = np.empty(scan.words.shape[0], np.uint64)
    left = np.empty(TILE, np.uint64)
    n_runs, n_pairs = 0, 0
    for i in range(ids.shape[0]):
        begin, before, at = n_runs, n_pairs, 0
        run, end = runs_for(scan, ids[i], off)
        while True:
            run, lo, at = seek(scan, off, run, end, at, left)
            if run == end:
                break
            n_runs, n_children = append_runs(left, lo, at, begin, n_runs, first, last)
            if n_runs < 0:
                return i, begin, before
            n_pairs += n_children
        runs_of[i] = n_runs - begin
        if n_pairs > limit:
            return i + 1, n_runs, n_pairs
    return ids.shape[0], n_runs, n_pairs


@compiled
def weigh_open(scan, ids, sizes, out):
    """out[i] = how many points, ``sizes`` per child, are open against child ``ids[i]``."""
    off = np.empty(scan.words.shape[0], np.uint64)
    left = np.empty(TILE, np.uint64)
    for i in range(ids.shape[0]):
        total, at = 0, 0
        run, end = runs_for(scan, ids[i], off)
        while True:
            run, lo, at = seek(scan, off, run, end, at, left)
            if run == end:
                break
            weights = sizes[lo:at]
            for c in range(at - lo):
                total += weights[c] if left[c] == np.uint64(0) else 0
        out[i] = total


@compiled
def separating_bit(words, a, b):
    """Return the lowest bit that is off in child a and on in child b; one past the last if none."""
    for w in range(words.shape[0]):
        word = words[w, b] & ~words[w, a]
        if word:
            return 64 * w + popcount(~word & (word - np.uint64(1)))
    return 64 * words.shape[0]


@compiled
def last_separating_bit(scan, ids, best):
    """Return the largest `separating_bit` over all pairs of ``ids``, or ``best`` if that is larger."""
    # Only pairs that the bits 0..best leave open can raise it, and they are found as
    # open pairs are: the further it has risen, the fewer there are.
    off = np.empty(scan.words.shape[0], np.uint64)
    left = np.empty(TILE, np.uint64)
    for i in range(ids.shape[0]):
        at = 0
        off_bits_until(scan.words, ids[i], best, off)
        run, end = scan.indptr[scan.group[ids[i]]], scan.indptr[scan.group[ids[i]] + 1]
        while True:
            run, lo, at = seek(scan, off, run, end, at, left)
            if run == end:
                break
            for c in range(at - lo):
                if left[c] == np.uint64(0):
                    best = max(best, separating_bit(scan.words, ids[i], lo + c))
            off_bits_until(scan.words, ids[i], best, off)
    return best


@compiled
def tightest_cuts(row, thresholds, offsets, above, below):
    """Of the cuts that have the row on their off side, the nearest one per feature and sign."""
    # Any point beyond ``above[j]``, or short of ``below[j]``, is separated from the row. The
    # thresholds of feature j's cuts are sorted: those of sign -1 begin at ``offsets[2 * j]``,
    # those of sign 1 at ``offsets[2 * j + 1]``.
    for j in range(row.shape[0]):
        begin, middle, end = offsets[2 * j], offsets[2 * j + 1], offsets[2 * j + 2]
        above[j], below[j] = np.inf, -np.inf
        if begin < middle:
            at = begin + np.searchsorted(thresholds[begin:middle], row[j], side="right")
            if at > begin:
                below[j] = thresholds[at - 1]
        if middle < end:
            at = middle + np.searchsorted(thresholds[middle:end], row[j], side="left")
            if at < end:
                above[j] = thresholds[at]


@compiled
def tighten(row, n_new, feature, sign, threshold, above, below):
    """Tighten the nearest cuts by further ones, in any order."""
    for c in range(n_new):
        j, t = feature[c], threshold[c]
        if sign[c] > 0 and row[j] <= t:
            above[j] = min(above[j], t)
        elif sign[c] < 0 and row[j] >= t:
            below[j] = max(below[j], t)


@compiled
def beyond(row, above, below):
    """Whether some coordinate lies above ``above`` or below ``below``."""
    for start in range(0, row.shape[0], TILE):
        stop = min(start + TILE, row.shape[0])
        x, high, low = row[start:stop], above[start:stop], below[start:stop]
        n = 0
        for j in range(stop - start):
            n += (x[j] > high[j]) | (x[j] < low[j])
        if n > 0:
            return True
    return False


@compiled
def widest_feature(a, b):
    """Return the lowest feature in which a and b differ most, and by how much."""
    # Unequal numbers have a difference other than zero (gradual underflow), and one
    # that overflows counts as infinite, which is largest.
    best, widest = 0, -1.0
    for j in range(a.shape[0]):
        width = abs(b[j] - a[j])
        if width > widest:
            best, widest = j, width
    return best, widest


@compiled
def cut_pairs(values, a, b, before, new):
    """Make a new cut for every pair (row a[p], row b[p]) of values that no cut before it separates."""
    # ``before`` are the cuts so far: thresholds and offsets, as in `tightest_cuts`. New ones go to the four arrays of
    # ``new``: feature, sign, threshold, and the row of values. Stops when these are full, or at a
    # pair of equal rows. Returns how many pairs are done and how many cuts are new.
    (thresholds, offsets), (feature, sign, threshold, origin) = before, new
    above, below = np.empty(values.shape[1]), np.empty(values.shape[1])
    n_new = 0
    for p in range(a.shape[0]):
        here, there = values[a[p]], values[b[p]]
        if p == 0 or a[p] != a[p - 1]:
            tightest_cuts(here, thresholds, offsets, above, below)
            tighten(here, n_new, feature, sign, threshold, above, below)
        if beyond(there, above, below):
            continue
        j, width = widest_feature(here, there)
        if n_new == feature.shape[0] or not width > 0.0:
            return p, n_new
        feature[n_new], threshold[n_new], origin[n_new] = j, here[j], a[p]
        if there[j] > here[j]:
            sign[n_new], above[j] = 1, here[j]
        else:
            sign[n_new], below[j] = -1, here[j]
        n_new += 1
    return a.shape[0], n_new
