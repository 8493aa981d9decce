"""The second layer's inner loops: limits over the rest, and gains of candidates."""

from __future__ import annotations

import numpy as np

from .compile import compiled, popcount
from .counting import COLUMN_TILE, count_tile
from .values import sum_masked


@compiled
def lowest_counts(words, start, stop, masks, lowest, where):
    """For every row of ``masks`` the smallest count over the columns start..stop, and the first to attain it.

    ``lowest`` and ``where`` come in with what is known already and go out improved;
    a mask whose count is down to zero is done with.
    """
    counts = np.zeros(COLUMN_TILE, np.int64)
    for low in range(start, stop, COLUMN_TILE):
        high = min(low + COLUMN_TILE, stop)
        for m in range(masks.shape[0]):
            best = lowest[m]
            if best == 0:
                continue
            count_tile(words, low, high, masks[m], counts)
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
def gather_masks(words, columns, last, out):
    """out[k] = the complement of column columns[k]; ``last`` has the bits in use in the last word."""
    n_words = words.shape[0]
    for k in range(columns.shape[0]):
        for w in range(n_words):
            out[k, w] = ~words[w, columns[k]]
        out[k, n_words - 1] &= last


@compiled
def take_turns(heights, limits, places, uncovered, claimed, highest):
    """Let candidates claim points one after the other (Algorithm 2, lines 6-8).

    A candidate whose own place is covered by then passes; one without a positive limit is
    rejected; else it claims every uncovered column whose height is below its limit.
    ``claimed[k]`` gets how many (-1: passed, 0: rejected), ``highest[k]`` the greatest
    height among them. ``heights`` has a row for every candidate with a positive limit.
    """
    next_row = 0
    for k in range(places.shape[0]):
        if limits[k] > 0:
            row = heights[next_row]
            next_row += 1
        claimed[k] = -1
        if not uncovered[places[k]]:
            continue
        claimed[k] = 0
        if limits[k] > 0:
            highest[k] = row[places[k]]
            for c in range(row.shape[0]):
                if uncovered[c] and row[c] < limits[k]:
                    uncovered[c] = False
                    claimed[k] += 1
                    highest[k] = max(highest[k], row[c])


@compiled
def gains(rows, uncovered, candidates, out):
    """out[k] = how many uncovered points the packed coverage row candidates[k] holds."""
    for k in range(candidates.shape[0]):
        row = rows[candidates[k]]
        total = np.int64(0)
        for w in range(row.shape[0]):
            total += popcount(row[w] & uncovered[w])
        out[k] = total


@compiled
def lowest_sums(values, errors, share, masks, offset, lowest, where):
    """As :func:`lowest_counts` for real values: smallest proven lower bound of the masked sums.

    ``values[i, c]`` are summed over the set bits of each mask in index order; a sum v
    stands for at least ``v - share * v - errors[c]``.
    """
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
