"""Evidence for covers: limits over the rest, masked counts within the class.

Points are sorted by class, so that a class is a range of columns and the rest are
the ranges before and after it. Both kinds of evidence cut their work into short
pieces of columns and join the pieces in order: the same answers for any number of threads.

All limits at once: what two points x and z have in common serves both: z counts |z| - |x and z| under the mask of
x, and x counts |x| - |x and z| under the mask of z. So all limits cost half as many words as
each by itself, which pays where most points become candidates: when hardly any point claims another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from threading import local
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import COLUMN_BITS, gather_masks, lowest_counts, lowest_mutual_counts
from .._support.console import Progress, Steps
from .._support.threads import Threads, split
from ..network.bits import BitMatrix, last_word, n_words

Columns = NDArray[np.intp]
Pieces = list[tuple[int, int]]

PIECE_WORDS = 2**27  # words counted in one piece of work: short enough that Ctrl-C is answered
SHORT_WORDS = 2**18  # words: fewer are counted faster than they are shared out


def joined_pieces(pieces: Iterable[tuple[int, int]]) -> Pieces:
    """Return ranges of columns, adjacent ones joined."""
    found: Pieces = []
    for start, stop in pieces:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif start < stop:
            found.append((start, stop))
    return found


class BlockSizing(NamedTuple):
    """How many candidates to ask about at once: nothing but speed depends on it."""

    call_words: int  # what asking costs by itself, in words that could have been counted meanwhile
    largest_block: int


HERE = BlockSizing(2**19, 64)  # where the patterns are in this memory


class Evidence(Protocol):
    """Limits over the rest and counts within the class, from which a cover is built; columns are in class order."""

    threads: Threads

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


class Selected(NamedTuple):
    """Columns first..stop of some words."""

    words: NDArray[np.uint64]
    first: int
    stop: int


@dataclass(eq=False)
class Counts:
    """Evidence for the threshold activation: integer counts of packed bits, ``maybe`` those that are on or open."""

    patterns: BitMatrix
    threads: Threads
    maybe: BitMatrix | None = None

    def __post_init__(self) -> None:
        # What may be on: masks are what is off in it, and claims count it.
        self.highest = self.patterns if self.maybe is None else self.maybe

    def cost(self, rest: Pieces) -> int:
        """Return the words to count for one candidate's limit."""
        return len(self.patterns.words) * sum(stop - start for start, stop in rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5: m = min over rest of <u, Phi(x)>."""
        masks, words = masks_of(self.highest, anchors), self.patterns.words
        pieces = list(self._pieces(rest, masks.size))
        bounds = np.full(len(masks), np.iinfo(np.int64).max)

        def work(piece: tuple[int, int]) -> tuple[NDArray[np.int64], Columns]:
            lowest, where = bounds.copy(), np.full(len(masks), -1)
            lowest_counts(words, *piece, masks, lowest, where)
            # Other pieces have to look for ties as well, of which the first wins; but a limit of zero needs no
            # witness. If two threads write at once, nothing but speed is lost.
            np.minimum(bounds, lowest + (lowest > 0), out=bounds)
            return lowest, where

        return first_lowest(self.threads.map(work, pieces))

    def _pieces(self, rest: Pieces, words_a_column: int) -> Iterator[tuple[int, int]]:
        for start, stop in rest:
            n_words = (stop - start) * words_a_column
            parts = max(self.threads.count, n_words // PIECE_WORDS + 1)
            yield from split(start, stop, parts if n_words > SHORT_WORDS else 1)

    def select(self, columns: Columns | slice) -> Selected:
        """Return the patterns of some columns: a copy side by side, or a range of them where they are."""
        words = self.highest.words
        if isinstance(columns, slice):
            return Selected(words, columns.start, columns.stop)
        return Selected(words.take(columns, axis=1), 0, len(columns))

    def masked_counts(self, anchors: Columns, selected: Selected) -> NDArray[np.int32]:
        """Return <u, Phi(x)> for every anchor and selected column."""
        masks = masks_of(self.highest, anchors)
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
WORTHWHILE = 2**30  # words that all limits cost: below, nothing is worth foreseeing
SHARE = 0.6  # of the candidates that must be examined for all limits at once to be less work: half, and overhead
DECLINE = 0.7  # of the share, as widths grow
UPDATE_WORDS = 4  # what it takes to compare a count, in words counted
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

    ``classes`` are the columns of each class, ascending, every class a target; ``orders`` the candidates of each in
    the order in which they will be examined as long as they are uncovered, without it all of them will be.
    """
    if not isinstance(evidence, Counts):
        return evidence
    widths = worth_precomputing(evidence, classes, orders, [evidence.patterns.n_bits])
    if not widths:
        return evidence
    (limits,), (witnesses,) = mutual_limits(evidence, classes, widths, progress)
    parts = evidence.patterns, evidence.threads, evidence.maybe
    return PrecomputedLimits(*parts, all_limits=limits, all_witnesses=witnesses)


def worth_precomputing(
    counts: Counts, classes: Pieces, orders: Sequence[Columns] | None, widths: Sequence[int]
) -> Sequence[int]:
    """Return the ascending ``widths`` for which :func:`mutual_limits` is less work: all, the counts' own, or none."""
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
        limits, _ = counts.limits(block, joined_pieces(classes[:k] + classes[k + 1 :]))
        claimed = counts.masked_counts(block, counts.select(slice(start, stop))) < limits[:, None]
        others = np.maximum(claimed.sum(axis=1) - 1, 0)[limits > 0]
        if len(others):
            c = max(float(others.mean()), 1e-9)  # ln(1 + c) / c is 1 to nine digits there, and 0 / 0 at none
            examined += (stop - start) * len(others) / len(block) * float(np.log1p(c)) / c
    return examined / max(n_columns, 1)


def mutual_limits(
    counts: Counts, classes: Pieces, widths: Sequence[int], progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return Algorithm 2, line 5, for every column and the first bits of the patterns, for each of ascending widths.

    A limit and the first column of another class that attains it, of shape (widths, columns) each, -1 where unknown.
    """
    words = counts.patterns.words[: n_words(widths[-1])]
    sizes = np.stack([_sizes(words, width) for width in widths])
    steps = Steps(progress, "limits", sum(stop - start for start, stop in classes[:-1]))
    after = accumulate(reversed(classes), lambda pieces, piece: joined_pieces([piece, *pieces]), initial=Pieces())
    later = list(after)[::-1]
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
    """Return how many of the first ``width`` bits of every column are on."""
    mask = np.full((1, n_words(width)), np.iinfo(np.uint64).max, dtype=np.uint64)
    mask[0, -1] = last_word(width)
    sizes = np.empty(words.shape[1], dtype=np.int64)
    count_all(words[: n_words(width)], 0, words.shape[1], mask, 0, sizes[None, :])
    return sizes


def _blocks(classes: Pieces, size: int) -> list[tuple[int, int, int]]:
    """Return (class, start, stop): the columns of all classes but the last, cut into short pieces."""
    size = max(1, min(size, LARGEST_BLOCK))
    return [
        (k, low, min(low + size, stop))
        for k, (start, stop) in enumerate(classes[:-1])
        for low in range(start, stop, size)
    ]
