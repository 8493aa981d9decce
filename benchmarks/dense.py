"""Algorithm 2 as one would write it in NumPy: the yardstick.

A float32 matrix of zeros and ones, and one BLAS matrix-vector product over all rows for
every candidate, without shrinking. Same hyperplanes and same order as exactfit's, so
that the networks must be equal, detector for detector.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROW_TILE = 4096
LONG, PART = 300.0, 60.0
FIRST = 20


@dataclass
class DenseResult:
    """Detectors as (row, limit), and how far the candidates got."""

    detectors: list[tuple[int, int]] = field(default_factory=list)
    missed: int = 0
    examined: int = 0
    rejected: int = 0
    first_layer_seconds: float = 0.0
    cover_seconds: float = 0.0
    complete: bool = True


def first_layer(X: Any, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Phi as a dense float32 matrix of 0 and 1."""
    columns = np.ascontiguousarray(weights.astype(np.float64).T)
    phi = np.empty((X.shape[0], len(biases)), dtype=np.float32)
    for start in range(0, X.shape[0], ROW_TILE):
        np.greater(X[start : start + ROW_TILE] @ columns + biases, 0, out=phi[start : start + ROW_TILE])
    return phi


def fit(
    X: Any, y: np.ndarray, targets: tuple[int, ...], weights: np.ndarray, biases: np.ndarray, orders: list[np.ndarray],
    n_candidates: int,
) -> DenseResult:  # fmt: skip
    """Lines 2-10 for every target class; ``orders`` holds each class's rows in the order of candidates.

    If the first of ``n_candidates`` show that all of them would take over five minutes, it stops
    after one minute and says so.
    """
    result = DenseResult()
    began = time.perf_counter()
    phi = first_layer(X, weights, biases)
    result.first_layer_seconds = time.perf_counter() - began
    began = time.perf_counter()
    for k, order in zip(targets, orders, strict=True):
        rest = y != k
        uncovered = y == k
        for row in order:
            if not uncovered[row]:
                continue
            spent = time.perf_counter() - began
            if result.examined >= FIRST and spent > PART and spent / result.examined * n_candidates > LONG:
                result.complete, result.cover_seconds = False, spent
                return result
            result.examined += 1
            counts = phi @ (1 - phi[row])
            limit = counts[rest].min()
            if limit > 0:
                uncovered &= ~(counts < limit)
                result.detectors.append((int(row), int(limit)))
            else:
                result.rejected += 1
        result.missed += int(uncovered.sum())
    result.cover_seconds = time.perf_counter() - began
    return result
