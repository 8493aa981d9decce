"""Distinct patterns that stay where they are: masks and limits travel, and candidates go in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import lowest_counts
from .._support.threads import SERIAL
from ..construct.distinct import Groups
from ..construct.evidence import Columns, Pace, Pieces, masks_of
from ..network.bits import BitMatrix, Words, n_words
from .runner import Runner, shared, task

# A round trip takes some 50 ms, in which a core counts as many words; a block of 256 candidates shares it.
THERE = Pace(2**26, 256)
PART = 2**26  # bytes of patterns in one part, about: several for a worker, each of which it can hold
MOST_PARTS = 256
NOT_CLAIMED = int(np.iinfo(np.int32).max)


def split_groups(groups: Groups, n_parts: int) -> list[Groups]:
    """Groups by the first of their words: equal patterns of all chunks meet in one part."""
    mixed = np.bitwise_xor.reduce(groups.words, axis=0) * np.uint64(0x9E3779B97F4A7C15)
    part = (mixed >> np.uint64(40)) % np.uint64(n_parts)
    return [groups.take(np.flatnonzero(part == k)) for k in range(n_parts)]


def part_of(split: list[Groups], part: int) -> Groups:
    """One part."""
    return split[part]


def join_parts(*parts: Groups) -> Groups:
    """The part of all chunks, equal patterns once."""
    return Groups.joined(parts)


def without_words(groups: Groups) -> Groups:
    """What the client has to know."""
    return replace(groups, words=groups.words[:0])


def words_of_part(groups: Groups, places: Columns) -> Words:
    """Some patterns."""
    return np.ascontiguousarray(groups.words[:, places])


def lowest_of_part(groups: Groups, masks: Words, pieces: Pieces) -> tuple[NDArray[np.int64], Columns]:
    """The limits of masks over ranges of a part, and where they are attained first; -1 where there is nobody."""
    lowest, where = np.full(len(masks), np.iinfo(np.int64).max), np.full(len(masks), -1)
    for piece in pieces:
        lowest_counts(groups.words, *piece, masks, lowest, where)
    return lowest, where


def claims_of_part(groups: Groups, masks: Words, limits: NDArray[np.int64], places: Columns) -> NDArray[np.uint8]:
    """Whom of some places each detector claims, packed."""
    words = np.ascontiguousarray(groups.words[:, places])
    heights = np.empty((len(masks), len(places)), dtype=np.int32)
    count_all(words, 0, len(places), masks, 0, heights)
    return np.packbits(heights < limits[:, None], axis=1)


class KeptCounts:
    """Evidence for the cover step from patterns in parts elsewhere; see ``exactfit.construct.evidence``.

    Parameters
    ----------
    parts : list of handles
        Each a :class:`Groups`, sorted by class and first row.
    n_bits : int
    runner : Runner
    """

    exact, pace, threads = True, THERE, SERIAL

    def __init__(self, parts: Sequence[Any], n_bits: int, runner: Runner) -> None:
        self.parts, self.n_bits, self.runner = parts, n_bits, runner
        known = runner.run([task(without_words)(part) for part in parts], "parts")
        names = ("words", "codes", "sizes", "firsts", "ranks")
        every = Groups(*(np.concatenate([getattr(one, name) for one in known], axis=-1) for name in names))
        order = np.lexsort((every.firsts, every.codes))
        self.groups = every.take(order)  # all but their words
        self.homes = np.repeat(np.arange(len(parts)), [len(one) for one in known])[order]
        self.columns = [np.flatnonzero(self.homes == part) for part in range(len(parts))]  # of parts, ascending
        self.masks = np.empty((0, n_words(n_bits)), dtype=np.uint64)  # of the candidates asked for last
        self.asked, self.limited = (np.empty(0, dtype=np.int64) for _ in range(2))

    @property
    def highest(self) -> KeptCounts:
        """Bits are exact: what may be on is what is on."""
        return self

    def take(self, columns: Columns) -> BitMatrix:
        """The patterns of some columns."""
        words = np.empty((n_words(self.n_bits), len(columns)), dtype=np.uint64)
        homes = self.homes[columns]
        there = np.unique(homes).tolist()
        where = [np.flatnonzero(homes == part) for part in there]
        places = [np.searchsorted(self.columns[k], columns[own]) for k, own in zip(there, where, strict=True)]
        tasks = [task(words_of_part)(self.parts[k], own) for k, own in zip(there, places, strict=True)]
        for own, found in zip(where, self.runner.run(tasks, "candidates"), strict=True):
            words[:, own] = found
        return BitMatrix(words, self.n_bits)

    def cost(self, rest: Pieces) -> int:
        """Words to count for one candidate's limit."""
        return n_words(self.n_bits) * sum(stop - start for start, stop in rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5: the least of all parts' least, the first column on a tie."""
        self.asked, self.masks = anchors, masks_of(self.take(anchors), np.arange(len(anchors)))
        masks = shared(self.masks)
        pieces = [[tuple(np.searchsorted(own, piece).tolist()) for piece in rest] for own in self.columns]
        tasks = [task(lowest_of_part)(part, masks, own) for part, own in zip(self.parts, pieces, strict=True)]
        lowest, where = (np.stack(found) for found in zip(*self.runner.run(tasks, "limits"), strict=True))
        columns = np.stack([np.append(own, 2**62)[at] for own, at in zip(self.columns, where, strict=True)])
        best = np.lexsort((columns, lowest), axis=0)[0]
        everyone = np.arange(len(anchors))
        self.limited = lowest[best, everyone]
        return self.limited, columns[best, everyone]

    def select(self, columns: Columns | slice) -> Columns:
        """The columns themselves."""
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def heights(self, anchors: Columns, selected: Columns) -> NDArray[np.int32]:
        """Zero where a detector claims a column, and beyond every limit elsewhere; limits were asked for before."""
        out = np.full((len(anchors), len(selected)), NOT_CLAIMED, dtype=np.int32)
        if not len(anchors):
            return out
        known = np.flatnonzero(np.isin(self.asked, anchors))
        masks, limits, homes = shared(self.masks[known]), shared(self.limited[known]), self.homes[selected]
        where = [np.flatnonzero(homes == part) for part in range(len(self.parts))]
        places = [np.searchsorted(own, selected[at]) for own, at in zip(self.columns, where, strict=True)]
        tasks = [task(claims_of_part)(part, masks, limits, at) for part, at in zip(self.parts, places, strict=True)]
        for at, found in self.runner.stream(tasks, "claims"):
            claimed = np.unpackbits(found, axis=1, count=len(where[at])).astype(bool)
            out[:, where[at]] = np.where(claimed, 0, NOT_CLAIMED)
        return out

    def stored_limits(self, limits: NDArray[np.int64], _highest: NDArray[np.int32]) -> list[int]:
        """Counts are exact: the limits are the minima themselves."""
        return [int(limit) for limit in limits]
