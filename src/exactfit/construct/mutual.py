"""The limits of all points of all classes at once.

What two points x and z have in common serves both: z counts |z| - |x and z| under the mask of
x, and x counts |x| - |x and z| under the mask of z. So all limits cost half as many words as
each by itself, which pays where most points become candidates: always in greedy
selection, and in random selection when hardly any point claims another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import local

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.cover import lowest_mutual_counts
from .._support.console import Progress, Steps
from ..network.bits import last_word, n_words
from .evidence import Columns, Counts, Evidence, Pieces, Selected, joined

LARGEST_BLOCK = 64
BLOCK_WORDS = 2**29
SAMPLE = 64
WORTHWHILE = 2**30
SHARE = 0.6
DECLINE = 0.7  # of the share, as widths grow
UPDATE_WORDS = 4  # what it takes to compare a count, in words counted
COLUMN_BITS = 32
UNKNOWN = np.iinfo(np.int64).max


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
    if not isinstance(evidence, Counts):
        return evidence
    widths = worth_foreseeing(evidence, classes, orders, [evidence.patterns.n_bits])
    if not widths:
        return evidence
    limits, witnesses = mutual_limits(evidence, classes, widths, tell)
    return Foreseen(evidence, limits[0], witnesses[0])


def worth_foreseeing(
    counts: Counts, classes: Pieces, orders: Sequence[Columns] | None, widths: Sequence[int]
) -> Sequence[int]:
    """For which widths :func:`mutual_limits` is less work than limits one by one: all, the counts' own, or none.

    See :func:`foresee`; ``widths`` are ascending, and the counts' own is one of them.
    """
    n_columns, n_bits = sum(stop - start for start, stop in classes), counts.patterns.n_bits
    if counts.highest is not counts.patterns or len(classes) < 2 or counts.cost(classes) * n_columns < WORTHWHILE:
        return ()
    if orders is None:
        return widths
    share = _share_examined(counts, classes, orders)
    together = n_words(widths[-1]) + UPDATE_WORDS * len(widths)
    if len(widths) > 1 and DECLINE * share * sum(map(n_words, widths)) >= SHARE * together:
        return widths
    return [n_bits] if share >= SHARE else ()


def _share_examined(counts: Counts, classes: Pieces, orders: Sequence[Columns]) -> float:
    """How many of all candidates will be examined in full, estimated from the first ones of some classes.

    If a detector claims c other points of its class on average, wherever they are, a class of
    N points takes N ln(1 + c) / c detectors. Candidates without a limit are given up early on.
    """
    n_columns = 0
    examined = 0.0
    for k in range(0, len(classes), -(-len(classes) // SAMPLE)):
        (start, stop), block = classes[k], orders[k][: -(-SAMPLE // len(classes))]
        if not len(block):
            continue
        n_columns += stop - start
        limits, _ = counts.limits(block, joined(classes[:k] + classes[k + 1 :]))
        claimed = counts.heights(block, counts.select(slice(start, stop))) < limits[:, None]
        others = np.maximum(claimed.sum(axis=1) - 1, 0)[limits > 0]
        if len(others):
            c = max(float(others.mean()), 1e-9)
            examined += (stop - start) * len(others) / len(block) * float(np.log1p(c)) / c
    return examined / max(n_columns, 1)


def mutual_limits(
    counts: Counts, classes: Pieces, widths: Sequence[int], tell: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Algorithm 2, line 5, for every column and the first bits of the patterns, as many as each of the widths says.

    A limit and the first column of another class to attain it, each of shape (widths, columns);
    widths are ascending. Columns beyond the given ones are left at -1.
    """
    words = counts.patterns.words[: n_words(widths[-1])]
    sizes = np.stack([_sizes(words, width) for width in widths])
    steps = Steps(tell, "limits", sum(stop - start for start, stop in classes[:-1]))
    later = list(accumulate(reversed(classes), lambda pieces, piece: joined([piece, *pieces]), initial=Pieces()))[::-1]
    found = [np.full_like(sizes, UNKNOWN)]
    own = local()

    def work(block: tuple[int, int, int]) -> None:
        counts.threads.go_on()
        if not hasattr(own, "keys"):  # what this thread finds
            own.keys = np.full_like(sizes, UNKNOWN)
            found.append(own.keys)
        k, start, stop = block
        rows = np.ascontiguousarray(words[:, start:stop].T)
        for low, high in later[k + 1]:
            lowest_mutual_counts(words, low, high, rows, start, np.array(widths), sizes, own.keys)
        steps.add(stop - start)

    counts.threads.map(work, _blocks(classes, BLOCK_WORDS // max(counts.cost(classes), 1)))
    keys = np.minimum.reduce(found)
    known = keys < UNKNOWN
    limits, witnesses = keys >> COLUMN_BITS, keys & (2**COLUMN_BITS - 1)
    return np.where(known, limits, -1), np.where(known, witnesses, -1)


def _sizes(words: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """How many of the first ``width`` bits of every column are on."""
    mask = np.full((1, n_words(width)), np.iinfo(np.uint64).max, dtype=np.uint64)
    mask[0, -1] = last_word(width)
    sizes = np.empty(words.shape[1], dtype=np.int64)
    count_all(words[: n_words(width)], 0, words.shape[1], mask, 0, sizes[None, :])
    return sizes


def _blocks(classes: Pieces, size: int) -> list[tuple[int, int, int]]:
    """(class, start, stop): the columns of all classes but the last, cut into short pieces."""
    size = max(1, min(size, LARGEST_BLOCK))
    return [
        (k, low, min(low + size, stop))
        for k, (start, stop) in enumerate(classes[:-1])
        for low in range(start, stop, size)
    ]
