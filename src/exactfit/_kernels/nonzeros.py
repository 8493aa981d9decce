"""Products of points that are mostly zeros: rows as a CSR matrix, multiplied a feature at a time."""

from __future__ import annotations

import numpy as np

from .compile import compiled


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
