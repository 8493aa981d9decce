"""Which labels look wrong, by who claims whom over one first layer; and which points to give up if some are wrong.

A point that no other point of its label claims is an anchor in every cover over this layer; one
whose own detector claims nobody serves nobody else. Wrong labels show in both.

Points are given up by a deterministic rule. Rows that lose to the majority of their equals go first, by row. Then,
in :data:`ROUNDS` rounds of nearly equal size, those that fewest points of their label claim go,
of these the ones that claim fewest themselves, ties by row; claims and support are counted anew
in every round, since a wrong label that is gone no longer limits the detectors around it. No class
loses more than half of its points in this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from .._support.parameters import seed_sequence
from .._support.threads import Executor, Threads
from ..data import conflicts, majority_labels
from ..network.bits import BitMatrix
from ..network.sides import sides
from .evidence import Columns, Counts, Evidence, precompute_limits
from .hyperplanes import GaussianSampler
from .memory import Memory
from .unique_patterns import ClassOrder

Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

MOST_ANCHORS = 256  # held against a class at a time: enough for the threads
COUNTS_AT_ONCE = 2**22  # 16 MiB of counts


def drawn_patterns(X: Any, width: int, random_state: Any, threads: Threads) -> BitMatrix:
    """Bits of all points over ``width`` hyperplanes of the paper's law, around the mean."""
    Memory.for_layer(X).refuse_too_large(width)
    planes = GaussianSampler(X, seed_sequence(random_state), max_bias="radius", center=True).first(width)
    return sides(X, planes.weights, planes.biases, threads=threads)


@dataclass(frozen=True, eq=False)
class Claims:
    """For every row how many others of its label claim it, and how many of them it claims.

    A row that some row of another label equals, in its pattern at least, has neither: a detector
    that claimed it would claim that other row too. ``limits`` and ``witnesses`` (rows) are those of the
    detectors anchored at each row.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.bits import BitMatrix
    >>> from exactfit._support.threads import SERIAL
    >>> from exactfit.construct.noise import Claims
    >>> bits = BitMatrix.from_bool(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=bool))
    >>> found = Claims.over(bits, np.array([0, 0, 1, 1]), SERIAL)
    >>> found.claims, found.support
    (array([1, 1, 0, 0]), array([1, 1, 0, 0]))
    """

    claims: Rows
    support: Rows
    limits: Rows
    witnesses: Rows

    @classmethod
    def over(cls, patterns: BitMatrix, y: Codes, threads: Threads, progress: Progress = silent) -> Claims:
        """Count for patterns in the order of the rows; y may leave class codes out."""
        order = ClassOrder.of(y)
        present = np.unique(y).tolist()
        evidence = precompute_limits(
            Counts(patterns.take(order.rows), threads), [order.target(k) for k in present], progress
        )
        found = cls(*(np.zeros(len(y), dtype=np.int64) for _ in range(4)))
        for k in present:
            own = np.arange(*order.target(k))
            rows = order.rows[own]
            for block, masked_counts in _masked_counts(evidence, own, own):
                limits, witnesses = evidence.limits(own[block], order.rest(k))
                found.limits[rows[block]], found.witnesses[rows[block]] = limits, order.rows[witnesses]
                claimed = masked_counts < limits[:, None]
                found.claims[rows] += claimed.sum(axis=0)
                found.support[rows[block]] = claimed.sum(axis=1)
            progress("claims", order.target(k)[1], len(y))
        return found

    def without(self, gone: NDArray[np.bool_], patterns: BitMatrix, y: Codes, threads: Threads) -> Claims:
        """The counts of the rows that stay, when some go; ``patterns`` and ``y`` are those of all rows before.

        Limits change only where the witness went, and every other count only by the rows that went: that is far less
        work than to count anew. Every class keeps a row.
        """
        left = self._less(gone, patterns, y, threads)
        patterns, y = patterns.take(np.flatnonzero(~gone)), y[~gone]
        order = ClassOrder.of(y)
        evidence = Counts(patterns.take(order.rows), threads)
        for k in np.unique(y).tolist():
            own = np.arange(*order.target(k))
            rows = order.rows[own]
            # An unusable anchor has no witness to go by.
            again = own[(left.witnesses[rows] < 0) | (left.limits[rows] <= 0)]
            for block, masked_counts in _masked_counts(evidence, again, own):
                limits, witnesses = evidence.limits(again[block], order.rest(k))
                anchors = order.rows[again[block]]
                claimed = masked_counts < limits[:, None]
                left.claims[rows] += claimed.sum(axis=0) - (masked_counts < left.limits[anchors, None]).sum(axis=0)
                left.support[anchors] = claimed.sum(axis=1)
                left.limits[anchors], left.witnesses[anchors] = limits, order.rows[witnesses]
        return left

    def _less(self, gone: NDArray[np.bool_], patterns: BitMatrix, y: Codes, threads: Threads) -> Claims:
        """The rows that stay, less what those that go claimed and were claimed by; -1 for a witness that went."""
        order = ClassOrder.of(y)
        evidence = Counts(patterns.take(order.rows), threads)
        claims, support = self.claims.copy(), self.support.copy()
        for k in np.unique(y).tolist():
            own = np.arange(*order.target(k))
            leaving, staying = own[gone[order.rows[own]]], own[~gone[order.rows[own]]]
            for block, masked_counts in _masked_counts(evidence, leaving, staying):
                limits = self.limits[order.rows[leaving[block]], None]
                claims[order.rows[staying]] -= (masked_counts < limits).sum(axis=0)
            for block, masked_counts in _masked_counts(evidence, staying, leaving):
                anchors = order.rows[staying[block]]
                support[anchors] -= (masked_counts < self.limits[anchors, None]).sum(axis=1)
        number = np.where(gone, -1, np.cumsum(~gone) - 1)
        return Claims(claims[~gone], support[~gone], self.limits[~gone], number[self.witnesses[~gone]])


def _masked_counts(evidence: Evidence, anchors: Columns, columns: Columns) -> Iterator[tuple[slice, NDArray[Any]]]:
    """What anchors count at columns, a block of anchors at a time; at an anchor itself more than any limit."""
    if not len(columns):
        return
    whole = columns[-1] - columns[0] + 1 == len(columns)
    selected = evidence.select(slice(int(columns[0]), int(columns[-1]) + 1) if whole else columns)
    size = max(1, min(MOST_ANCHORS, COUNTS_AT_ONCE // len(columns)))
    for low in range(0, len(anchors), size):
        block = slice(low, min(low + size, len(anchors)))
        masked_counts = evidence.masked_counts(anchors[block], selected)
        place = np.minimum(np.searchsorted(columns, anchors[block]), len(columns) - 1)
        itself = np.flatnonzero(columns[place] == anchors[block])
        masked_counts[itself, place[itself]] = np.iinfo(masked_counts.dtype).max
        yield block, masked_counts


Matrix = Any

WIDTH = 2048  # hyperplanes: wide enough that limits tell near rows from far ones
ROUNDS = 8  # fewer would let wrong labels shield one another; more find hardly any others


def points_to_give_up(X: Matrix, y: Codes, noise: float, random_state: Any, work: Executor) -> Rows:
    """Rows to give up, ascending: floor(noise * n_points) of them, fewer if classes are too small for that.

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (n_points, d)
    y : array of int, shape (n_points,)
        Class codes.
    noise : float
        At least 0 and below 0.5.
    random_state : int, RandomState, Generator, SeedSequence or None
        For the hyperplanes over which claims and support are counted.
    work : Executor

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.threads import SERIAL, Executor
    >>> from exactfit.construct.noise import points_to_give_up
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> points_to_give_up(X, np.array([0, 0, 1, 0, 1, 1, 1, 1]), 0.2, 0, Executor(SERIAL))
    array([2])
    """
    budget = math.floor(noise * len(y))
    if not budget:
        return np.empty(0, dtype=np.int64)
    gone = np.zeros(len(y), dtype=bool)
    gone[_overruled(X, y)[:budget]] = True
    if gone.sum() < budget:
        _give_up_least_claimed(drawn_patterns(X, WIDTH, random_state, work.threads), y, budget, gone, work)
    return np.flatnonzero(gone).astype(np.int64)


def _overruled(X: Matrix, y: Codes) -> NDArray[np.intp]:
    """Rows that equal others of a label that more of their equals have."""
    return np.flatnonzero(majority_labels(conflicts(X, y), y) != y)


def _give_up_least_claimed(patterns: BitMatrix, y: Codes, budget: int, gone: NDArray[np.bool_], work: Executor) -> None:
    before = int(gone.sum())
    kept = np.flatnonzero(~gone)
    patterns = patterns.take(kept)
    found = Claims.over(patterns, y[kept], work.threads, work.progress)
    for number in range(1, ROUNDS + 1):
        goal = before + (budget - before) * number // ROUNDS
        order = kept[np.lexsort((kept, found.support, found.claims))]
        gone[_spared(order, y, gone)[: goal - int(gone.sum())]] = True
        work.progress("points given up", int(gone.sum()), budget)
        if number < ROUNDS:
            found = found.without(gone[kept], patterns, y[kept], work.threads)
            patterns, kept = patterns.take(np.flatnonzero(~gone[kept])), kept[~gone[kept]]


def _spared(order: NDArray[np.intp], y: Codes, gone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The rows in order, without those that would leave less than half of a class."""
    allowed = np.bincount(y) // 2 - np.bincount(y[gone], minlength=int(y.max()) + 1)
    place = np.empty(len(order), dtype=np.intp)
    for k in np.unique(y[order]):
        own = y[order] == k
        place[own] = np.arange(np.count_nonzero(own))
    return order[place < allowed[y[order]]]
