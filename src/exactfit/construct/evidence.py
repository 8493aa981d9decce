"""Evidence for covers: limits over the rest, masked counts within the class.

Points are sorted by class, so that a class is a range of columns and the rest are
the ranges before and after it. Both kinds of evidence cut their work into short
pieces of columns and join the pieces in order: the same answers for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import local
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import COLUMN_BITS, gather_masks, lowest_counts, lowest_mutual_counts
from .._support.console import Progress, Steps
from .._support.threads import Threads, split
from ..network.bits import BitMatrix

Columns = NDArray[np.intp]
Pieces = list[tuple[int, int]]

PIECE_WORDS = 2**27  # words counted in one piece of work: short enough that Ctrl-C is answered
SHORT_WORDS = 2**18  # words: fewer are counted faster than they are shared out


class Evidence(Protocol):
    """Limits over the rest and counts within the class, from which a cover is built; columns are in class order."""

    threads: Threads
    may_be_on: BitMatrix  # bits of the columns: masks are what is off in it

    def cost(self, rest: Pieces) -> int:
        """Return the work of one candidate's limit, in words to count."""
        ...

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[Any], Columns]:
        """Return each anchor's minimum over the rest, not above 0 if unusable, and the first column attaining it."""
        ...

    def select(self, columns: Columns | slice) -> Any:
        """Return columns made ready for :meth:`masked_counts`."""
        ...

    def masked_counts(self, anchors: Columns, selected: Any) -> NDArray[Any]:
        """Return what each anchor's mask counts at each selected column: it claims those below its limit."""
        ...

    def stored_limits(self, limits: NDArray[Any], highest: NDArray[Any]) -> list[Any]:
        """Return the limits to store, given the greatest count that each has to claim."""
        ...


def masks_of(patterns: BitMatrix, anchors: Columns) -> NDArray[np.uint64]:
    """Return u = 1[Phi(x*) = 0] for every anchor, one packed row each; of what may be on, the sure zeros."""
    masks = np.empty((len(anchors), len(patterns.words)), dtype=np.uint64)
    gather_masks(patterns.words, anchors, patterns.n_bits, masks)
    return masks


@dataclass(eq=False)
class Counts:
    """Evidence for the threshold activation: integer counts of packed bits, of which ``patterns`` has the sure ones."""

    patterns: BitMatrix
    threads: Threads
    maybe: BitMatrix | None = None

    def __post_init__(self) -> None:
        # Limits count bits that are surely on; masks are what is surely off, and claims count what may be on.
        self.may_be_on = self.patterns if self.maybe is None else self.maybe

    def cost(self, rest: Pieces) -> int:
        """Return the words to count for one candidate's limit."""
        return len(self.patterns.words) * sum(stop - start for start, stop in rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5: m = min over rest of <u, Phi(x)>."""
        masks, words = masks_of(self.may_be_on, anchors), self.patterns.words
        pieces: Pieces = []
        for start, stop in rest:
            size = (stop - start) * masks.size
            pieces += split(start, stop, max(self.threads.count, size // PIECE_WORDS + 1) if size > SHORT_WORDS else 1)
        bounds = np.full(len(masks), np.iinfo(np.int64).max)

        def work(piece: tuple[int, int]) -> tuple[NDArray[np.int64], Columns]:
            lowest, where = bounds.copy(), np.full(len(masks), -1)
            lowest_counts(words, *piece, masks, lowest, where)
            # Other pieces have to look for ties as well, of which the first wins; but a limit of zero needs no
            # witness. If two threads write at once, nothing but speed is lost.
            np.minimum(bounds, lowest + (lowest > 0), out=bounds)
            return lowest, where

        return first_lowest(self.threads.map(work, pieces))

    def select(self, columns: Columns | slice) -> tuple[NDArray[np.uint64], int, int]:
        """Return the patterns of some columns, as first..stop of words: copied side by side, or where they are."""
        words = self.may_be_on.words
        if isinstance(columns, slice):
            return words, columns.start, columns.stop
        return words.take(columns, axis=1), 0, len(columns)

    def masked_counts(self, anchors: Columns, selected: tuple[NDArray[np.uint64], int, int]) -> NDArray[np.int32]:
        """Return <u, Phi(x)> for every anchor and selected column."""
        masks = masks_of(self.may_be_on, anchors)
        words, first, stop = selected
        out = np.empty((len(anchors), stop - first), dtype=np.int32)
        pieces = split(first, stop, self.threads.count if masks.size * (stop - first) > SHORT_WORDS else 1)
        self.threads.map(lambda piece: count_all(words, *piece, masks, first, out), pieces)
        return out

    def stored_limits(self, limits: NDArray[np.int64], highest: NDArray[np.int32]) -> list[int]:
        """Return the limits: counts are exact."""
        return cast("list[int]", limits.tolist())


def first_lowest(parts: list[tuple[NDArray[Any], Columns]]) -> tuple[NDArray[Any], Columns]:
    """Join pieces: the smallest value, and the place of the first piece that has it."""
    if len(parts) == 1:
        return parts[0]
    lows = np.stack([low for low, _ in parts])
    best = lows.argmin(axis=0)
    at = np.arange(lows.shape[1])
    return lows[best, at], np.stack([where for _, where in parts])[best, at]


LARGEST_BLOCK = 64  # candidates: their masks stay in the cache while all columns pass
BLOCK_WORDS = 2**29  # words counted in one piece of work: short enough that Ctrl-C is answered
SAMPLE = 64  # candidates that are tried to see how many will be examined
WORTHWHILE = 2**30  # words that all limits cost: below, no time is worth saving
SHARE = 0.6  # of the candidates that must be examined for all limits at once to be less work: half, and overhead
UNKNOWN = np.iinfo(np.int64).max


@dataclass(eq=False)
class PrecomputedLimits(Counts):
    """Counts whose limits are all known; ``rest`` always means all columns of other classes."""

    all_limits: NDArray[np.int64] = field(kw_only=True)
    all_witnesses: Columns = field(kw_only=True)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5, looked up."""
        return self.all_limits[anchors], self.all_witnesses[anchors]


def precompute_limits(
    evidence: Evidence, classes: Pieces, progress: Progress, orders: Sequence[Columns] | None = None
) -> Evidence:
    """Return the evidence with all limits known, if that is less work than asking for them one by one.

    ``classes`` are the columns of each class, one after the other, every class a target; ``orders`` the candidates of
    each in the order in which they will be examined as long as they are uncovered, without it all of them will be.
    """
    # What two points x and z have in common serves both: z counts |z| - |x and z| under the mask of x, and x counts
    # |x| - |x and z| under the mask of z. So all limits cost half as many words as each by itself, which pays where
    # most points become candidates: when hardly any point claims another.
    if not isinstance(evidence, Counts) or evidence.may_be_on is not evidence.patterns or len(classes) < 2:
        return evidence
    if evidence.cost(classes) * classes[-1][1] < WORTHWHILE:
        return evidence
    if orders is not None and _fraction_examined(evidence, classes, orders) < SHARE:
        return evidence
    limits, witnesses = mutual_limits(evidence, classes, progress)
    return PrecomputedLimits(evidence.patterns, evidence.threads, all_limits=limits, all_witnesses=witnesses)


def _fraction_examined(counts: Counts, classes: Pieces, orders: Sequence[Columns]) -> float:
    """Return the fraction of candidates that will be examined in full, estimated from the first of some classes."""
    # If a detector claims c other points of its class on average, wherever they are, a class of N points takes
    # N ln(1 + c) / c detectors. Candidates without a limit are given up early on.
    n_columns = 0
    examined = 0.0
    for k in range(0, len(classes), -(-len(classes) // SAMPLE)):
        (start, stop), block = classes[k], orders[k][: -(-SAMPLE // len(classes))]
        if not len(block):
            continue
        n_columns += stop - start
        limits, _ = counts.limits(block, [(0, start), (stop, classes[-1][1])])
        claimed = counts.masked_counts(block, counts.select(slice(start, stop))) < limits[:, None]
        others = np.maximum(claimed.sum(axis=1) - 1, 0)[limits > 0]
        if len(others):
            c = max(float(others.mean()), 1e-9)  # ln(1 + c) / c is 1 to nine digits there, and 0 / 0 at none
            examined += (stop - start) * len(others) / len(block) * float(np.log1p(c)) / c
    return examined / max(n_columns, 1)


def mutual_limits(counts: Counts, classes: Pieces, progress: Progress) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return Algorithm 2, line 5, for every column: its limit and the first column that attains it, or -1 and -1."""
    words, n_columns = counts.patterns.words, classes[-1][1]
    sizes = np.bitwise_count(words).sum(axis=0, dtype=np.int64)
    steps = Steps(progress, "limits", classes[-1][0])
    size = max(1, min(BLOCK_WORDS // max(counts.cost(classes), 1), LARGEST_BLOCK))
    found = [np.full_like(sizes, UNKNOWN)]
    own = local()

    def work(block: tuple[int, int, int]) -> None:
        counts.threads.go_on()
        if not hasattr(own, "keys"):  # what this thread finds
            own.keys = np.full_like(sizes, UNKNOWN)
            found.append(own.keys)
        start, stop, end = block
        rows = np.ascontiguousarray(words[:, start:stop].T)
        lowest_mutual_counts(words, end, n_columns, rows, start, sizes, own.keys)
        steps.add(stop - start)

    # Columns of all classes but the last, cut into short pieces, are held against all classes after their own.
    blocks = [(low, min(low + size, stop), stop) for start, stop in classes[:-1] for low in range(start, stop, size)]
    counts.threads.map(work, blocks)
    keys = np.minimum.reduce(found)
    known = keys < UNKNOWN
    return np.where(known, keys >> COLUMN_BITS, -1), np.where(known, keys & (2**COLUMN_BITS - 1), -1)
