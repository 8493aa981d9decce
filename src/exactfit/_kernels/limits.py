"""The second layer's inner loops: limits over the rest, and covers."""

from __future__ import annotations

import numpy as np

from .compile import compiled, popcount
from .counting import COLUMN_TILE, STRIDE, count_words, sum_masked

COLUMN_BITS = 32  # low bits of a key, for the witness's column; the count stands above them
FEW = 32  # once at most one column in so many is left, counting only those beats counting whole vectors
MOST = 2**63 - 1  # above every count: no limit yet


@compiled
def lowest_counts(words, start, stop, masks, lowest, where):
    """For every row of ``masks`` the smallest count over the columns start..stop, and the first to attain it."""
    # ``lowest`` and ``where`` come in with what is known already and go out improved; a mask
    # whose count is down to zero is done with. Counts only grow from word to word, so a column
    # that is not below the lowest is out: where few of a tile are left, only they go on.
    n_words = words.shape[0]
    first = min(n_words, STRIDE - 1 if n_words < 2 * STRIDE else (n_words - 1) % STRIDE + 1)
    counts = np.zeros(COLUMN_TILE, np.int64)
    enough = np.full(masks.shape[0], n_words)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for m in range(masks.shape[0]):
            best, mask = lowest[m], masks[m]
            if best == 0:
                continue
            done = enough[m]
            count_words(words, 0, done, low, high, mask, counts)
            left = n_below(best, counts, high - low)
            while done < n_words and left > (high - low) // FEW:
                more = min(done + STRIDE, n_words)
                count_words(words, done, more, low, high, mask, counts)
                done, left = more, n_below(best, counts, high - low)
            enough[m] = done if done > enough[m] else max(done - STRIDE, first)
            if left == 0:
                continue
            if done < n_words - 1:
                count_below(best, words, done, low, high, mask, counts)
            else:
                count_words(words, done, n_words, low, high, mask, counts)
            smallest = counts[0]
            for c in range(1, high - low):
                smallest = min(smallest, counts[c])
            if smallest < best:
                lowest[m] = smallest
                c = 0
                while counts[c] != smallest:
                    c += 1
                where[m] = low + c


@compiled
def n_below(bound, counts, size):
    """Count those of the first ``size`` counts that are below the bound."""
    below = np.int64(0)
    for c in range(size):
        below += np.int64(counts[c] < bound)
    return below


@compiled
def count_below(bound, words, first, start, stop, mask, counts):
    """Count the words from ``first`` on, but only of those columns that are below the bound."""
    size = stop - start
    for low in range(0, size, 16):
        high = min(low + 16, size)
        if n_below(bound, counts[low:high], high - low) == 0:
            continue
        for c in range(low, high):
            if counts[c] < bound:
                total = counts[c]
                for w in range(first, words.shape[0]):
                    total += popcount(words[w, start + c] & mask[w])
                    if total >= bound:
                        break
                counts[c] = total


@compiled
def lowest_mutual_counts(words, start, stop, rows, place, sizes, keys):
    """Hold rows against the columns start..stop, each under the mask of the other."""
    # ``rows[r]`` is column ``place + r``, ``sizes[c]`` the number of bits that column c has on. ``keys[c]`` goes down
    # to 2^32 times the smallest count under the mask of column c, plus the first column to attain it.
    counts = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        their_sizes, theirs = sizes[low:high], keys[low:high]
        for r in range(rows.shape[0]):
            count_words(words, 0, words.shape[0], low, high, rows[r], counts)
            own, best = sizes[place + r], keys[place + r]
            for c in range(high - low):
                best = min(best, ((their_sizes[c] - counts[c]) << COLUMN_BITS) + low + c)
                theirs[c] = min(theirs[c], ((own - counts[c]) << COLUMN_BITS) + place + r)
            keys[place + r] = best


@compiled
def gather_masks(words, columns, n_bits, out):
    """out[k] = the complement of column columns[k], up to ``n_bits``: those beyond are zero."""
    n_words = words.shape[0]
    last = ~np.uint64(0) >> np.uint64(-n_bits % 64)
    for k in range(columns.shape[0]):
        for w in range(n_words):
            out[k, w] = ~words[w, columns[k]]
        out[k, n_words - 1] &= last


@compiled
def claim_in_order(masked_counts, limits, places, remaining, claimed, highest):
    """Let candidates claim points one after the other (Algorithm 2, lines 6-8)."""
    # ``remaining`` says how many points a column stands for, and is zero once it is claimed. A candidate whose own
    # place is claimed by then passes; one without a positive limit is rejected; else it claims every column whose
    # count is below its limit. ``claimed[k]`` gets how many points (-1: passed, 0: rejected), ``highest[k]`` the
    # greatest count among them. ``masked_counts`` has a row for every candidate with a positive limit.
    next_row = 0
    for k in range(places.shape[0]):
        if limits[k] > 0:
            row = masked_counts[next_row]
            next_row += 1
        claimed[k] = -1
        if remaining[places[k]] == 0:
            continue
        claimed[k] = 0
        if limits[k] > 0:
            highest[k] = row[places[k]]
            for c in range(row.shape[0]):
                if remaining[c] > 0 and row[c] < limits[k]:
                    claimed[k] += remaining[c]
                    remaining[c] = 0
                    highest[k] = max(highest[k], row[c])


@compiled
def cover_in_turn(words, may_be_on, n_bits, target, rest, order, remaining, chosen):
    """Algorithm 2, lines 3-10, for one class, a candidate at a time; how many are accepted, and points rejected."""
    # ``words`` are what limits count, ``may_be_on`` what masks leave out and claims count; ``remaining`` is how many
    # points a target column stands for, zero once it is claimed.
    # ``target`` and the rows of ``rest`` are ranges of columns. Row k of ``chosen`` gets the k-th
    # detector: anchor, limit, witness, and how many points it claims.
    start, stop = target
    accepted = rejected = 0
    masks = np.empty((1, words.shape[0]), np.uint64)
    lowest, where = np.empty(1, np.int64), np.empty(1, np.int64)
    counts = np.zeros(COLUMN_TILE, np.int64)
    for k in range(order.shape[0]):
        if remaining[order[k] - start] == 0:
            continue
        gather_masks(may_be_on, order[k : k + 1], n_bits, masks)
        lowest[0] = MOST
        for piece in range(rest.shape[0]):
            lowest_counts(words, rest[piece, 0], rest[piece, 1], masks, lowest, where)
        if lowest[0] == 0:
            rejected += remaining[order[k] - start]
            continue
        claimed = 0
        for low in range(start, stop, COLUMN_TILE):
            high = min(low + COLUMN_TILE, stop)
            count_words(may_be_on, 0, words.shape[0], low, high, masks[0], counts)
            for c in range(high - low):
                if remaining[low - start + c] > 0 and counts[c] < lowest[0]:
                    claimed += remaining[low - start + c]
                    remaining[low - start + c] = 0
        chosen[accepted, 0], chosen[accepted, 1] = order[k], lowest[0]
        chosen[accepted, 2], chosen[accepted, 3] = where[0], claimed
        accepted += 1
    return accepted, rejected


@compiled
def lowest_sums(values, errors, share, masks, offset, lowest, where):
    """As :func:`lowest_counts` for real values: smallest proven lower bound of the masked sums."""
    # ``values[i, c]`` are summed over the set bits of each mask in index order; a sum v
    # stands for at least ``v - share * v - errors[c]``.
    n = values.shape[1]
    sums = np.empty(n)
    for m in range(masks.shape[0]):
        sum_masked(values, masks[m], sums)
        for c in range(n):
            low = sums[c] - share * sums[c] - errors[c]
            if low < lowest[m]:
                lowest[m] = low
                where[m] = offset + c


@compiled
def highest_sums(values, errors, share, masks, out):
    """out[m, c] = proven upper bound of the masked sum of every column."""
    n = values.shape[1]
    sums = np.empty(n)
    for m in range(masks.shape[0]):
        sum_masked(values, masks[m], sums)
        for c in range(n):
            out[m, c] = sums[c] + share * sums[c] + errors[c]
