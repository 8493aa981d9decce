"""What the numbers are measured against: a dense form of Algorithm 2 in NumPy, and what this machine can do.

The dense form is a float32 matrix of zeros and ones, and one BLAS matrix-vector product over all rows for
every candidate, without shrinking. Same hyperplanes and same order as exactfit's, so
that the networks must be equal, detector for detector.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exactfit._kernels.compile import compiled, popcount
from exactfit._kernels.limits import lowest_counts
from exactfit._kernels.signs import FilterPlanes, ScaledRows, WordBlock, decide_products

REPEATS = 5  # of which the fastest counts: whatever disturbs makes it slower
ROUNDS = 12  # by turns, so that all see the same machine
PIECE_WORDS = 2**28  # words counted in a round: a quarter of a second or so
ROW_TILE = 4096  # rows of the first layer at a time
LONG, PART = 300.0, 60.0  # seconds: what would take longer than the first is stopped after the second
FIRST = 20  # candidates before anything is stopped


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


def dense_fit(
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


def best_of(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of a few runs."""
    return by_turns([work], repeats)[0]


def by_turns(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """Seconds of the fastest run of each, one after the other in every round, so that all see the same machine."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    return [min(taken) for taken in times]


@compiled
def plain_loop(words, mask, repeats):
    """The best plain loop: and, count, add, on data that stays in the first-level cache."""
    total = 0
    for _ in range(repeats):
        for w in range(words.shape[0]):
            total += popcount(words[w] & mask[w])
    return total


def _on_threads(work: Callable[[int], object], threads: int) -> Callable[[], object]:
    def run() -> object:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, range(threads)))

    return run


def word_rates(threads: int, rows: tuple[int, ...]) -> tuple[float, list[float]]:
    """Words per second of the plain loop, and of the cover kernel for rows of so many words, on so many threads."""
    works = [_plain(threads), *(_cover(n_words, threads) for n_words in rows)]
    for work, _ in works:
        work()
    seconds = by_turns([work for work, _ in works], ROUNDS)
    plain, *kernels = (n_words / taken for (_, n_words), taken in zip(works, seconds, strict=True))
    return plain, kernels


def _plain(threads: int) -> tuple[Callable[[], object], int]:
    """The plain loop as work to be timed, and how many words it counts."""
    words = np.random.default_rng(0).integers(0, 2**63, (threads, 1024), dtype=np.uint64)
    repeats = PIECE_WORDS // words.size
    return _on_threads(lambda k: plain_loop(words[k], words[-1 - k], repeats), threads), repeats * words.size


def _cover(n_words: int, threads: int, columns: int = 63_000, masks: int = 32) -> tuple[Callable[[], object], int]:
    """The cover kernel as work to be timed, and how many words it counts."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, (n_words, columns), dtype=np.uint64)
    given = rng.integers(0, 2**63, (masks, n_words), dtype=np.uint64)
    edges = np.linspace(0, columns, threads + 1).astype(int)
    repeats = -(-PIECE_WORDS // (words.size * masks))

    def work(k: int) -> None:
        for _ in range(repeats):
            lowest = np.full(masks, np.iinfo(np.int64).max)
            lowest_counts(words, edges[k], edges[k + 1], given, lowest, np.zeros(masks, dtype=np.int64))

    return _on_threads(work, threads), repeats * words.size * masks


def gemm_seconds(n_points: int, d: int, width: int) -> float:
    """One float32 GEMM of this shape on all of BLAS's threads; large ones are timed on a part of the rows."""
    rows = min(n_points, max(512, min(int(2e10 / (2 * d * width)), 2**27 // width)))
    rng = np.random.default_rng(0)
    left = rng.standard_normal((rows, d), dtype=np.float32)
    right = rng.standard_normal((d, width), dtype=np.float32)
    out = np.empty((rows, width), dtype=np.float32)
    return best_of(lambda: np.matmul(left, right, out=out), 3) * n_points / rows


def packing_rate(threads: int) -> float:
    """Entries per second of the packing kernel with its exactness test."""
    rng = np.random.default_rng(0)
    products = rng.standard_normal((threads, 512, 1024), dtype=np.float32)
    ones, bounds, zeros = np.ones(512), np.full(1024, 1e-6), np.zeros(1024)
    words, doubts = np.zeros((threads, 16, 512), np.uint64), np.zeros((threads, 16, 512), np.uint64)
    planes, block = FilterPlanes(zeros, bounds, zeros), WordBlock(0, 0, np.uint64(2**64 - 1))
    given = ScaledRows(ones, ones), planes, block

    def work(k: int) -> None:
        for _ in range(20):
            decide_products(products[k], *given, words[k], doubts[k])

    run = _on_threads(work, threads)
    run()
    return threads * 20 * 512 * 1024 / best_of(run)
