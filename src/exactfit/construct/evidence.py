"""What the cover step may ask about a class: limits over the rest, masked counts within the class.

Points are sorted by class, so that a class is a range of columns and the rest are
the ranges before and after it. Both kinds of evidence cut their work into short
pieces of columns and join the pieces in order: the same answers for any number of threads.

All limits at once: what two points x and z have in common serves both: z counts |z| - |x and z| under the mask of
x, and x counts |x| - |x and z| under the mask of z. So all limits cost half as many words as
each by itself, which pays where most points become candidates: when hardly any point claims another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    """Ranges of columns, neighbours made one."""
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
    """What a cover is built from; columns are numbered by :class:`ClassOrder`."""

    threads: Threads

    def cost(self, rest: Pieces) -> int:
        """How much work one candidate's limit is, in words or as much."""
        ...

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[Any], Columns]:
        """For each anchor the exact minimum over the rest, not above 0 if unusable, and the first column attaining it.

        What the column is for an unusable anchor is left open.
        """
        ...

    def select(self, columns: Columns | slice) -> Any:
        """Columns made ready for :meth:`masked_counts`."""
        ...

    def masked_counts(self, anchors: Columns, selected: Any) -> NDArray[Any]:
        """What each anchor's mask counts at each selected column: it claims those below its limit."""
        ...

    def stored_limits(self, limits: NDArray[Any], highest: NDArray[Any]) -> list[Any]:
        """The limits to store, given the greatest height that each has to claim."""
        ...


def masks_of(patterns: BitMatrix, anchors: Columns) -> NDArray[np.uint64]:
    """u = 1[Phi(x*) = 0] for every anchor, one packed row each; of what may be on, the sure zeros."""
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
    """Evidence for the threshold activation: integer counts of packed bits.

    ``patterns`` are the bits that are on; ``maybe`` those that are on or open, if any are (see ``patterns``).
    """

    patterns: BitMatrix
    threads: Threads
    maybe: BitMatrix | None = None

    def __post_init__(self) -> None:
        # What may be on: masks are what is off in it, and claims count it.
        self.highest = self.patterns if self.maybe is None else self.maybe

    def cost(self, rest: Pieces) -> int:
        """Words to count for one candidate's limit."""
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
        """The patterns of some columns: a copy side by side, or a range of them where they are."""
        words = self.highest.words
        if isinstance(columns, slice):
            return Selected(words, columns.start, columns.stop)
        return Selected(words.take(columns, axis=1), 0, len(columns))

    def masked_counts(self, anchors: Columns, selected: Selected) -> NDArray[np.int32]:
        """<u, Phi(x)> for every anchor and selected column."""
        masks = masks_of(self.highest, anchors)
        words, first, stop = selected
        out = np.empty((len(anchors), stop - first), dtype=np.int32)
        pieces = split(first, stop, self.threads.count if masks.size * (stop - first) > SHORT_WORDS else 1)
        self.threads.map(lambda piece: count_all(words, *piece, masks, first, out), pieces)
        return out

    def stored_limits(self, limits: NDArray[np.int64], highest: NDArray[np.int32]) -> list[int]:
        """Counts are exact: the limits are the minima themselves."""
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
class PrecomputedLimits:
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

    def masked_counts(self, anchors: Columns, selected: Selected) -> NDArray[np.int32]:
        """<u, Phi(x)> for every anchor and selected column."""
        return self.counts.masked_counts(anchors, selected)

    def stored_limits(self, limits: NDArray[np.int64], highest: NDArray[np.int32]) -> list[int]:
        """The minima themselves."""
        return self.counts.stored_limits(limits, highest)


def precompute_limits(
    evidence: Evidence, classes: Pieces, tell: Progress, orders: Sequence[Columns] | None = None
) -> Evidence:
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
    widths = worth_precomputing(evidence, classes, orders, [evidence.patterns.n_bits])
    if not widths:
        return evidence
    limits, witnesses = mutual_limits(evidence, classes, widths, tell)
    return PrecomputedLimits(evidence, limits[0], witnesses[0])


def worth_precomputing(
    counts: Counts, classes: Pieces, orders: Sequence[Columns] | None, widths: Sequence[int]
) -> Sequence[int]:
    """For which widths :func:`mutual_limits` is less work than limits one by one: all, the counts' own, or none.

    See :func:`precompute_limits`; ``widths`` are ascending, and the counts' own is one of them.
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
        limits, _ = counts.limits(block, joined_pieces(classes[:k] + classes[k + 1 :]))
        claimed = counts.masked_counts(block, counts.select(slice(start, stop))) < limits[:, None]
        others = np.maximum(claimed.sum(axis=1) - 1, 0)[limits > 0]
        if len(others):
            c = max(float(others.mean()), 1e-9)  # ln(1 + c) / c is 1 to nine digits there, and 0 / 0 at none
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
