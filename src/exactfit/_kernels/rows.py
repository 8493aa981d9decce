"""Sums over rows in one fixed order, so that tiles and threads cannot change them."""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled

MIX_A, MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@compiled
def add_rows(rows, totals):
    """Add every row to ``totals``, in row order."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            totals[j] += rows[r, j]


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
def hash_rows(rows, hashes):
    """A 64-bit hash of every row; equal rows (-0.0 equals 0.0) have equal hashes."""
    bits = rows.view(np.uint64)
    for r in range(rows.shape[0]):
        state = MIX_A
        for j in range(rows.shape[1]):
            word = np.uint64(0) if rows[r, j] == 0.0 else bits[r, j]
            state = (state ^ word) * MIX_B
            state ^= state >> np.uint64(29)
        hashes[r] = state
