"""Values of real-valued activations: sums in one fixed order."""

from __future__ import annotations

import numpy as np

from .compile import compiled


@compiled
def affine(columns, weights, bias, out):
    """out[i, c] = sum_j weights[i, j] * columns[j, c] + bias[i], in float64.

    The order of the sum is fixed: features in index order, then the bias. Products
    are rounded before they are added (no fused multiply-add), so the result does
    not depend on tiles, threads or the machine's BLAS.
    """
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
