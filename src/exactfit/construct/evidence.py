"""What the cover step may ask about a class: limits over the rest, heights within the class.

Points are sorted by class, so that a class is a range of columns and the rest are
the ranges before and after it. Both kinds of evidence cut their work into short
pieces of columns and join the pieces in order: the same answers for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.cover import gather_masks, lowest_counts
from .._support.threads import Threads, split
from ..network.bits import BitMatrix, last_word

Columns = NDArray[np.intp]
Pieces = list[tuple[int, int]]

PIECE_WORDS = 2**27
SHORT_WORDS = 2**18


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """Rows sorted by class, rows of a class ascending."""

    rows: Columns
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, y: NDArray[np.int64]) -> ClassOrder:
        """The order for class codes 0..K-1."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(y))])
        return cls(np.argsort(y, kind="stable"), starts)

    def target(self, k: int) -> tuple[int, int]:
        """The columns of class k."""
        return int(self.starts[k]), int(self.starts[k + 1])

    def rest(self, k: int) -> Pieces:
        """The columns of all other classes."""
        start, stop = self.target(k)
        ends = int(self.starts[-1])
        return [piece for piece in ((0, start), (stop, ends)) if piece[0] < piece[1]]


def joined(pieces: Iterable[tuple[int, int]]) -> Pieces:
    """Ranges of columns, neighbours made one."""
    found: Pieces = []
    for start, stop in pieces:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif start < stop:
            found.append((start, stop))
    return found


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
        """Columns made ready for :meth:`heights`."""
        ...

    def heights(self, anchors: Columns, selected: Any) -> NDArray[Any]:
        """What each anchor's mask counts at each selected column: it claims those below its limit."""
        ...

    def stored_limits(self, limits: NDArray[Any], highest: NDArray[Any]) -> list[Any]:
        """The limits to store, given the greatest height that each has to claim."""
        ...


def masks_of(patterns: BitMatrix, anchors: Columns) -> NDArray[np.uint64]:
    """u = 1[Phi(x*) = 0] for every anchor, one packed row each; of what may be on, the sure zeros."""
    masks = np.empty((len(anchors), len(patterns.words)), dtype=np.uint64)
    gather_masks(patterns.words, anchors, last_word(patterns.n_bits), masks)
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

    @property
    def highest(self) -> BitMatrix:
        """What may be on: masks are what is off in it, and claims count it."""
        return self.patterns if self.maybe is None else self.maybe

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

    def heights(self, anchors: Columns, selected: Selected) -> NDArray[np.int32]:
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
