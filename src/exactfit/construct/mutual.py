"""The limits of all points of all classes at once.

What two points x and z have in common serves both: z counts |z| - |x and z| under the mask of
x, and x counts |x| - |x and z| under the mask of z. So all limits cost half as many words as
each by itself, which pays where most points become candidates: always in greedy
selection, and in random selection when hardly any point claims another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .._bits import last_word
from .._kernels.counting import count_all
from .._kernels.cover import lowest_mutual_counts
from .._progress import Progress, Steps
from .evidence import Columns, Counts, Evidence, Pieces, Selected

LARGEST_BLOCK = 64
BLOCK_WORDS = 2**29
SAMPLE = 64
WORTHWHILE = 2**30
SHARE = 0.6
COLUMN_BITS = 32


@dataclass(eq=False)
class Foreseen:
    """Counts whose limits are all known. ``rest`` always means all columns of other classes."""

    counts: Counts
    all_limits: NDArray[np.int64]
    all_witnesses: Columns

    def __post_init__(self) -> None:
        self.threads = self.counts.threads

    def cost(self, rest: Pieces) -> int:
        """As if limits had to be counted: candidates still have to be held against their class."""
        return self.counts.cost(rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5, looked up."""
        return self.all_limits[anchors], self.all_witnesses[anchors]

    def select(self, columns: Columns | slice) -> Selected:
        """The patterns of some columns."""
        return self.counts.select(columns)

    def heights(self, anchors: Columns, selected: Selected) -> NDArray[np.int32]:
        """<u, Phi(x)> for every anchor and selected column."""
        return self.counts.heights(anchors, selected)

    def stored_limits(self, limits: NDArray[np.int64], highest: NDArray[np.int32]) -> list[int]:
        """The minima themselves."""
        return self.counts.stored_limits(limits, highest)


def foresee(evidence: Evidence, classes: Pieces, tell: Progress, orders: Sequence[Columns] | None = None) -> Evidence:
    """The evidence with all limits known, if that is less work than asking for them one by one.

    Parameters
    ----------
    evidence : Evidence
    classes : list of (int, int)
        The columns of each class, ascending; every class is a target.
    tell : Progress
    orders : sequence of arrays, optional
        The candidates of each class in the order in which they will be examined, as long as
        they are uncovered; without it all of them will be.
    """
    n_columns = sum(stop - start for start, stop in classes)
    if not isinstance(evidence, Counts) or evidence.highest is not evidence.patterns:
        return evidence
    if len(classes) < 2 or evidence.cost(classes) * n_columns < WORTHWHILE:
        return evidence
    if orders is not None and _share_examined(evidence, classes, orders) < SHARE:
        return evidence
    return Foreseen(evidence, *mutual_limits(evidence, classes, tell))


def _share_examined(counts: Counts, classes: Pieces, orders: Sequence[Columns]) -> float:
    """How many of all candidates will be examined in full, estimated from the first ones of each class.

    If a detector claims c other points of its class on average, wherever they are, a class of
    N points takes N ln(1 + c) / c detectors. Candidates without a limit are given up early on.
    """
    n_columns = sum(stop - start for start, stop in classes)
    examined = 0.0
    for k, (start, stop) in enumerate(classes):
        block = orders[k][: -(-SAMPLE // len(classes))]
        if not len(block):
            continue
        limits, _ = counts.limits(block, classes[:k] + classes[k + 1 :])
        claimed = counts.heights(block, counts.select(slice(start, stop))) < limits[:, None]
        others = np.maximum(claimed.sum(axis=1) - 1, 0)[limits > 0]
        if len(others):
            c = max(float(others.mean()), 1e-9)
            examined += (stop - start) * len(others) / len(block) * float(np.log1p(c)) / c
    return examined / n_columns


def mutual_limits(counts: Counts, classes: Pieces, tell: Progress) -> tuple[NDArray[np.int64], Columns]:
    """Algorithm 2, line 5, for every column: its limit, and the first column of another class to attain it.

    Columns beyond the given ones are left at -1.
    """
    words, n_bits = counts.patterns.words, counts.patterns.n_bits
    in_use = np.full((1, len(words)), np.iinfo(np.uint64).max, dtype=np.uint64)
    in_use[0, -1] = last_word(n_bits)
    sizes = np.empty((1, words.shape[1]), dtype=np.int64)
    count_all(words, 0, words.shape[1], in_use, 0, sizes)
    keys = np.full(words.shape[1], np.iinfo(np.int64).max)
    lock, steps = Lock(), Steps(tell, "limits", sum(stop - start for start, stop in classes[:-1]))

    def work(block: tuple[int, int, int]) -> None:
        counts.threads.go_on()
        k, start, stop = block
        rows = np.ascontiguousarray(words[:, start:stop].T)
        rows[:, -1] &= in_use[0, -1]
        found = np.full_like(keys, np.iinfo(np.int64).max)
        for low, high in classes[k + 1 :]:
            lowest_mutual_counts(words, low, high, rows, start, sizes[0], found)
        with lock:
            np.minimum(keys, found, out=keys)
        steps.add(stop - start)

    counts.threads.map(work, _blocks(classes, BLOCK_WORDS // max(counts.cost(classes), 1)))
    known = keys < np.iinfo(np.int64).max
    limits, witnesses = keys >> COLUMN_BITS, keys & (2**COLUMN_BITS - 1)
    return np.where(known, limits, -1), np.where(known, witnesses, -1)


def _blocks(classes: Pieces, size: int) -> list[tuple[int, int, int]]:
    """(class, start, stop): the columns of all classes but the last, cut into short pieces."""
    size = max(1, min(size, LARGEST_BLOCK))
    return [
        (k, low, min(low + size, stop))
        for k, (start, stop) in enumerate(classes[:-1])
        for low in range(start, stop, size)
    ]
