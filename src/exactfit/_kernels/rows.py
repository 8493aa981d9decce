"""Sums over rows in one fixed order, so that tiles and threads cannot change them."""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled

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
def squared_norms(rows, squares):
    """squares[r] = squared Euclidean norm of row r, features in index order."""
    for r in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[r, j] * rows[r, j]
        squares[r] = square


@compiled
def squares_from(point, rows, squares):
    """squares[r] = squared distance of row r from a point, features in index order."""
    for r in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            difference = rows[r, j] - point[j]
            square += difference * difference
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
