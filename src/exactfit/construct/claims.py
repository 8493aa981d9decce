"""Every point as an anchor over one first layer: who claims whom within a class.

A point that no other point of its label claims is an anchor in every cover over this layer; one
whose own detector claims nobody serves nobody else. Wrong labels show in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from .._support.options import seed_sequence
from .._support.threads import Threads
from ..network.bits import BitMatrix
from ..network.sides import sides
from .evidence import ClassOrder, Counts, Evidence
from .hyperplanes import Source, gaussian, refuse_too_large
from .mutual import foresee

Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

MOST_ANCHORS = 256
HEIGHTS_AT_ONCE = 2**22


def drawn_patterns(X: Any, width: int, random_state: Any, threads: Threads) -> BitMatrix:
    """Bits of all points over ``width`` hyperplanes of the paper's law, around the mean."""
    refuse_too_large(width, X)
    planes = Source(seed_sequence(random_state), gaussian(X, max_bias="radius", center=True)).first(width)
    return sides(X, planes.weights, planes.biases, threads=threads)


@dataclass(frozen=True, eq=False)
class Claims:
    """For every row how many others of its label claim it, and how many of them it claims.

    A row that some row of another label equals, in its pattern at least, has neither: a detector
    that claimed it would claim that other row too.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.bits import BitMatrix
    >>> from exactfit._support.threads import SERIAL
    >>> from exactfit.construct.claims import Claims
    >>> bits = BitMatrix.from_bool(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=bool))
    >>> found = Claims.over(bits, np.array([0, 0, 1, 1]), SERIAL)
    >>> found.claims, found.support
    (array([1, 1, 0, 0]), array([1, 1, 0, 0]))
    """

    claims: Rows
    support: Rows

    @classmethod
    def over(cls, patterns: BitMatrix, y: Codes, threads: Threads, progress: Progress = silent) -> Claims:
        """Count for patterns in the order of the rows; y may leave class codes out."""
        order = ClassOrder.of(y)
        classes = [order.target(k) for k in np.unique(y).tolist()]
        evidence = foresee(Counts(patterns.take(order.rows), threads), classes, progress)
        claims, support = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int64)
        for k in np.unique(y).tolist():
            _count_class(evidence, order, k, claims, support)
            progress("claims", order.target(k)[1], len(y))
        by_row = np.empty_like(order.rows)
        by_row[order.rows] = np.arange(len(y))
        return cls(claims[by_row], support[by_row])


def _count_class(evidence: Evidence, order: ClassOrder, k: int, claims: Rows, support: Rows) -> None:
    """Both counts for the columns of one class, a block of anchors at a time."""
    start, stop = order.target(k)
    everyone = evidence.select(slice(start, stop))
    size = max(1, min(MOST_ANCHORS, HEIGHTS_AT_ONCE // (stop - start)))
    for low in range(start, stop, size):
        anchors = np.arange(low, min(low + size, stop))
        limits, _ = evidence.limits(anchors, order.rest(k))
        claimed = evidence.heights(anchors, everyone) < limits[:, None]
        claimed[np.arange(len(anchors)), anchors - start] = False
        claims[start:stop] += claimed.sum(axis=0)
        support[anchors] = claimed.sum(axis=1)
