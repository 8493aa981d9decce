"""Which training points to give up, if some labels are known to be wrong.

The rule is deterministic. Rows that lose to the majority of their equals go first, by row. Then,
in :data:`ROUNDS` rounds of nearly equal size, those that fewest points of their label claim go,
of these the ones that claim fewest themselves, ties by row; claims and support are counted anew
in every round, since a wrong label that is gone no longer limits the detectors around it. No class
loses more than half of its points in this way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Work
from ..data import conflicts, majority_labels
from ..network.bits import BitMatrix
from .claims import Claims, Codes, Rows, drawn_patterns

Matrix = Any

WIDTH = 2048  # hyperplanes: wide enough that limits tell near rows from far ones
ROUNDS = 8  # fewer would let wrong labels shield one another; more find hardly any others


def points_to_give_up(X: Matrix, y: Codes, noise: float, random_state: Any, work: Work) -> Rows:
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
    work : Work

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.threads import SERIAL, Work
    >>> from exactfit.construct.noise import points_to_give_up
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> points_to_give_up(X, np.array([0, 0, 1, 0, 1, 1, 1, 1]), 0.2, 0, Work(SERIAL))
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


def _give_up_least_claimed(patterns: BitMatrix, y: Codes, budget: int, gone: NDArray[np.bool_], work: Work) -> None:
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
