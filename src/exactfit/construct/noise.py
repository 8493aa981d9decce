"""Labels that look wrong: claims among the rows of a class, and the rows that ``noise`` gives up.

A point that no other point of its label claims is an anchor in every cover over this layer; one whose own detector
claims no other point serves none. Wrong labels show in both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from .._support.parameters import seed_sequence
from .._support.threads import Executor, Threads
from ..data import Codes, Rows, conflicts, majority_labels
from ..network.bits import BitMatrix
from ..network.sides import sides
from .evidence import Counts, precompute_limits
from .hyperplanes import GaussianSampler
from .memory import Memory
from .unique_patterns import ClassOrder

MOST_ANCHORS = 256  # held against a class at a time: enough for the threads
COUNTS_AT_ONCE = 2**22  # 16 MiB of counts
WIDTH = 2048  # hyperplanes: wide enough that limits tell near rows from far ones
ROUNDS = 8  # fewer would let wrong labels shield one another; more find hardly any others


def drawn_patterns(X: Any, width: int, random_state: Any, threads: Threads) -> BitMatrix:
    """Return the bits of all points over ``width`` of the paper's hyperplanes, around the mean."""
    Memory.for_layer(X).refuse_too_large(width)
    planes = GaussianSampler(X, seed_sequence(random_state), max_bias="radius", center=True).first(width)
    return sides(X, planes.weights, planes.biases, threads=threads)


@dataclass(frozen=True, eq=False)
class Claims:
    """For every row the number of others of its label that claim it, and the number that it claims.

    A row that some row of another label equals, in its pattern at least, has neither: a detector that claimed it would
    claim that other row too.
    """

    claims: Rows
    support: Rows

    @classmethod
    def over(cls, patterns: BitMatrix, y: Codes, threads: Threads, progress: Progress = silent) -> Claims:
        """Count for patterns in the order of the rows; y may leave class codes out."""
        order, present = ClassOrder.of(y), np.unique(y).tolist()
        classes = [order.target(k) for k in present]
        evidence = precompute_limits(Counts(patterns.take(order.rows), threads), classes, progress)
        found = cls(np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int64))
        for k, (start, stop) in zip(present, classes, strict=True):
            selected, rows = evidence.select(slice(start, stop)), order.rows[start:stop]
            size = max(1, min(MOST_ANCHORS, COUNTS_AT_ONCE // (stop - start)))
            for low in range(start, stop, size):
                block = np.arange(low, min(low + size, stop))
                limits, _ = evidence.limits(block, order.rest(k))
                claimed = evidence.masked_counts(block, selected) < limits[:, None]
                claimed[np.arange(len(block)), block - start] = False  # itself
                found.claims[rows] += claimed.sum(axis=0)
                found.support[order.rows[block]] = claimed.sum(axis=1)
            progress("claims", stop, len(y))
        return found


def points_to_give_up(X: Any, y: Codes, noise: float, random_state: Any, work: Executor) -> Rows:
    """Return rows to give up, ascending: floor(noise * n_points) of them, fewer if classes are too small for that.

    Rows that lose to the majority of their equals go first, by row. Then, in rounds of nearly equal size, those that
    fewest points of their label claim go, of these the ones that claim fewest themselves, ties by row. No class loses
    more than half of its points in this way.
    """
    budget, gone = math.floor(noise * len(y)), np.zeros(len(y), dtype=bool)
    gone[np.flatnonzero(majority_labels(conflicts(X, y), y) != y)[:budget] if budget else []] = True
    before = int(gone.sum())
    if before < budget:
        patterns = drawn_patterns(X, WIDTH, random_state, work.threads)
        for number in range(1, ROUNDS + 1):
            # Counted anew in every round: a wrong label that is gone no longer limits the detectors around it.
            kept = np.flatnonzero(~gone)
            found = Claims.over(patterns.take(kept), y[kept], work.threads, work.progress)
            order = _spared(kept[np.lexsort((kept, found.support, found.claims))], y, gone)
            goal = before + (budget - before) * number // ROUNDS
            gone[order[: goal - int(gone.sum())]] = True
            work.progress("points given up", int(gone.sum()), budget)
    return np.flatnonzero(gone).astype(np.int64)


def _spared(order: NDArray[np.intp], y: Codes, gone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows in order, without those that would leave less than half of a class."""
    allowed = np.bincount(y) // 2 - np.bincount(y[gone], minlength=int(y.max()) + 1)
    place = np.empty(len(order), dtype=np.intp)
    for k in np.unique(y[order]):
        own = y[order] == k
        place[own] = np.arange(np.count_nonzero(own))
    return order[place < allowed[y[order]]]
