"""Ordered pairs of points that no hyperplane separates yet (Algorithm 1, lines 3-7).

The paper's set S grows by comparing all pairs for every hyperplane. Here hyperplanes
come in blocks of 64, and points that lie on the same side of all of them are one *group*:

- The state is a level: the groups of equal class and equal pattern over the blocks so far,
  and the ordered pairs of groups that are open. At first, every class is one group.
- The words of further blocks are *pending*. Within a group, the distinct pending patterns
  are its *children*, and only children of open pairs of groups are compared.
- If the open pairs of children are few enough to be listed, they are the next level. Otherwise
  the level stays, the words stay pending, and the next block is added to them.

So pairs are never listed while they are many, and points in no open pair leave for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._kernels.open_pairs import TILE, Scan, last_separating_bit, list_open, weigh_open
from .._support.threads import Threads
from ..network.bits import Words

Ints = NDArray[np.int64]
GroupNumbers = NDArray[np.int32]

BUDGET = 2**24  # open pairs that are listed: 128 MiB of runs at worst
SAMPLE = 16  # every so many children are tried before all of them
FEW = 256  # children that are listed at once: a sample of them would cost as much
PIECE = 2**26  # pattern tests in one piece of work: well under 0.3 s
PIECES_PER_WAVE = 4  # and thread, between two looks at the budget
RUNS_PER_CALL = 2**20  # room for the runs that one call of the kernel finds: 8 MiB
CHUNK = 2**20  # point pairs handed out at once
NO_LIMIT = int(np.iinfo(np.int64).max)


class Runs(NamedTuple):
    """Partners of each of a list of children (or groups), as runs of consecutive numbers."""

    runs_of: Ints
    first: GroupNumbers
    last: GroupNumbers
    n_pairs: int


def _offsets(sizes: Ints) -> Ints:
    """Return where each of consecutive ranges begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _cut(weights: Ints, budget: int) -> list[tuple[int, int]]:
    """Cut into ranges whose weight exceeds the budget by less than one item's."""
    bins = np.cumsum(weights) // budget
    edges = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist(), len(weights)]
    return [(lo, hi) for lo, hi in pairwise(edges) if lo < hi]


def _in_runs(runs: Runs, n: int) -> NDArray[np.bool_]:
    """Return which of n numbers are in a run."""
    ends = np.bincount(runs.first, minlength=n + 1) - np.bincount(runs.last, minlength=n + 1)
    return np.asarray(np.cumsum(ends)[:n] > 0)


def _against_rest(own: Ints, n: int, *, apart: bool = False) -> Runs:
    """Return runs that pair classes of ``own`` with the n - 1 others; ``apart`` numbers ``own`` before the n."""
    begin = np.stack([np.zeros(len(own), np.int64), own + 1], axis=1)
    end = np.stack([own, np.full(len(own), n)], axis=1)
    kept, before = begin < end, len(own) if apart else 0
    runs_of = np.zeros(before + n, np.int64)
    runs_of[np.arange(len(own)) if apart else own] = kept.sum(axis=1)
    first, last = (begin[kept] + before).astype(np.int32), (end[kept] + before).astype(np.int32)
    return Runs(runs_of, first, last, int((last - first).sum()))


class PatternMembers(NamedTuple):
    """The rows of groups: how many each has, and a function that looks up those of some groups."""

    sizes: Ints
    # From some groups to all their rows, ascending, and for each row the place of its own among them.
    members: Callable[[Ints], tuple[Ints, Ints]]


class OpenPairs:
    """The ordered pairs (a, b) of points, a in target and b in rest, not yet separated.

    A pair is open while no hyperplane is off at a and on at b. Neither the budget (of pairs of groups that are listed)
    nor the number of threads changes what is open or the width. ``pairs`` replaces the pairs of classes, which are
    numbered in ascending order; ``members`` has the rows behind each point, where a point stands for several.
    """

    closed: bool  # whether every pair is separated

    def __init__(
        self, y: Ints, targets: Sequence[int], *, threads: Threads, budget: int = BUDGET, pairs: Runs | None = None,
        members: PatternMembers | None = None,
    ) -> None:  # fmt: skip
        self._threads, self._budget, self._members = threads, budget, members
        self._n_points, self._n_blocks = len(y), 0
        self._rows: Ints = np.arange(len(y))
        self._cached_degrees: Ints | None
        self._n_pairs: int | None  # of groups; None if they are too many to be listed
        classes, child = np.unique(y, return_inverse=True)
        sizes = np.bincount(child, None if members is None else members.sizes).astype(np.int64)
        wanted = np.flatnonzero(np.isin(classes, np.asarray(targets, dtype=np.int64)))
        self._begin_level(child.astype(np.int64), sizes, pairs or _against_rest(wanted, len(classes)))
        self._width = 0 if self.closed else None

    def add(self, words: Words, _maybe: Words | None = None) -> None:
        """Take the next block of 64 hyperplanes: one word per point (lines 4-6); exact bits have one only."""
        if words.shape != (self._n_points,) or words.dtype != np.uint64:
            raise ValueError(f"expected {self._n_points} words, got {words.dtype} of shape {words.shape}")
        if self.closed:
            return
        self._n_blocks += 1
        self._refine(words[self._rows])
        ids = self._candidates()
        found = None
        # A sample shows at a small part of the cost whether the open pairs are few enough to be listed. It may err, but
        # to wait for further blocks is never wrong.
        if len(ids) <= FEW or self._list(ids[::SAMPLE], self._budget // SAMPLE) is not None:
            found = self._list(ids, self._budget)
        self._n_pairs = None if found is None else found.n_pairs
        self.closed = self._n_pairs == 0
        if found is not None and found.n_pairs > 0:
            self._promote(ids, found)

    def needed_width(self) -> int:
        """Return the number of hyperplanes after which nothing was open, once `closed`."""
        if not self.closed:
            raise ValueError("pairs are still open")
        if self._width is None:
            best = -1
            for wave in self._waves(self._candidates()):  # lines 3-7, for the pairs open at the level
                known = best
                found = self._threads.map(lambda ids: int(last_separating_bit(self._scan, ids, known)), wave)  # noqa: B023
                best = max(found)
            self._width = WORD_BITS * self._level_blocks + best + 1
        return self._width

    def n_group_pairs(self) -> tuple[int, bool]:
        """Return the number of open pairs of groups, and whether that is exact; else it is a lower bound."""
        if self._n_pairs is None:
            return self._budget // SAMPLE + 1, False
        return self._n_pairs, True

    def n_point_pairs(self) -> int:
        """Return the exact number of open pairs of points."""
        return int(self._degrees() @ self._sizes)

    def iter_point_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the open pairs of points as rows (a, b), sorted, in chunks of bounded size."""
        rows, child, degrees = self._rows, self._child, self._degrees()
        if self._members is not None:
            used = _in_runs(self._list_all(np.flatnonzero(degrees)), len(self._sizes)) | (degrees > 0)
            active = np.flatnonzero(used[child])
            rows, owner = self._members.members(rows[active])
            child = child[active][owner]
        points = np.flatnonzero(degrees[child])
        by_child = rows[np.argsort(child, kind="stable")]
        offsets, span = _offsets(np.bincount(child, minlength=len(self._sizes))), int(rows.max(initial=0)) + 1
        for lo, hi in _cut(degrees[child[points]], CHUNK):
            some = points[lo:hi]
            found = self._list_all(child[some])
            begin, lengths = offsets[found.first], offsets[found.last] - offsets[found.first]
            partners = np.arange(lengths.sum()) + np.repeat(begin - _offsets(lengths)[:-1], lengths)
            keys = np.repeat(np.repeat(np.arange(hi - lo), found.runs_of), lengths) * span + by_child[partners]
            keys.sort()
            a, b = np.divmod(keys, span)
            yield rows[some][a], b

    def _begin_level(self, child: Ints, sizes: Ints, level: Runs) -> None:
        """Make groups their own only children: nothing is pending."""
        self._level, self._level_blocks = level, self._n_blocks
        self._n_pairs, self.closed = level.n_pairs, level.n_pairs == 0
        self._set_children(child, sizes, np.arange(len(sizes)), np.zeros((1, len(sizes)), np.uint64))

    def _set_children(self, child: Ints, sizes: Ints, group: Ints, words: Words) -> None:
        """Each active point's child, and every child's size, group and pending words."""
        self._child, self._sizes = child, sizes
        self._cached_degrees = None
        level = self._level
        start = np.searchsorted(group, np.arange(len(level.runs_of) + 1))
        common = np.bitwise_and.reduceat(words, np.arange(0, len(sizes), TILE), axis=1)
        self._scan = Scan(words, common, group, start, _offsets(level.runs_of), level.first, level.last)

    def _refine(self, words: Words) -> None:
        """Split the children by one more pending word, keeping them sorted."""
        order = np.lexsort((words, self._child))
        child, word = self._child[order], words[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (child[1:] != child[:-1]) | (word[1:] != word[:-1])
        begin = np.flatnonzero(new)
        parent = child[begin]
        refined = np.empty_like(self._child)
        refined[order] = np.cumsum(new) - 1
        pending = word[None, begin]
        if self._n_blocks > self._level_blocks + 1:
            pending = np.concatenate([self._scan.words[:, parent], pending])
        sizes = np.diff(begin, append=len(order)).astype(np.int64)
        if self._members is not None:
            sizes = np.add.reduceat(self._members.sizes[self._rows[order]], begin).astype(np.int64)
        self._set_children(refined, sizes, self._scan.group[parent], pending)

    def _promote(self, ids: Ints, found: Runs) -> None:
        """Make the children in open pairs the groups; all other points leave."""
        n = len(self._sizes)
        runs_of = np.zeros(n, np.int64)
        runs_of[ids] = found.runs_of
        used = (runs_of > 0) | _in_runs(found, n)
        # Every child of a run is in use, so renumbering leaves the runs in one piece.
        rank = (np.cumsum(used) - 1).astype(np.int32)
        level = Runs(runs_of[used], rank[found.first], rank[found.last - 1] + np.int32(1), found.n_pairs)
        kept = used[self._child]
        self._rows = self._rows[kept]
        self._begin_level(rank[self._child[kept]].astype(np.int64), self._sizes[used], level)

    def _candidates(self) -> Ints:
        """Return the children whose group comes first in an open pair."""
        return np.flatnonzero(self._level.runs_of[self._scan.group])

    def _degrees(self) -> Ints:
        """Return for each child a how many points b are open against it."""
        if self._cached_degrees is None:
            degrees = np.zeros(len(self._sizes), np.int64)

            def weigh(ids: Ints) -> None:
                found = np.empty(len(ids), np.int64)
                weigh_open(self._scan, ids, self._sizes, found)
                degrees[ids] = found

            for wave in self._waves(np.empty(0, np.int64) if self.closed else self._candidates()):
                self._threads.map(weigh, wave)
            self._cached_degrees = degrees
        return self._cached_degrees

    def _list(self, ids: Ints, limit: int) -> Runs | None:
        """Return the children open against each of ``ids``, or None when over ``limit`` pairs."""
        found: list[Runs] = []
        n_pairs, capacity = 0, max(RUNS_PER_CALL, self._scan.words.shape[1])

        def work(some: Ints) -> Runs:  # cut short above the limit
            runs_of, parts, done, here = np.zeros(len(some), np.int64), [], 0, 0
            while done < len(some) and here <= limit - n_pairs:
                first, last = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
                left = limit - n_pairs - here
                step, n_runs, n_new = list_open(self._scan, some[done:], left, runs_of[done:], first, last)
                parts.append((first[:n_runs].copy(), last[:n_runs].copy()))
                done, here = done + step, here + n_new
            firsts, lasts = zip(*parts, strict=True)
            return Runs(runs_of, np.concatenate(firsts), np.concatenate(lasts), here)

        for wave in self._waves(ids):
            found += self._threads.map(work, wave)
            n_pairs = sum(part.n_pairs for part in found)
            if n_pairs > limit:
                return None
        runs_of, first, last = (np.concatenate(parts) for parts in zip(*(run[:3] for run in found), strict=True))
        return Runs(runs_of, first, last, n_pairs)

    def _list_all(self, ids: Ints) -> Runs:
        return cast(Runs, self._list(ids, NO_LIMIT))

    def _waves(self, ids: Ints) -> Iterator[list[Ints]]:
        """Cut children into short pieces of work, some for every thread at a time."""
        scan = self._scan
        tests = _offsets(scan.start[scan.last] - scan.start[scan.first])
        runs = scan.indptr
        # A run costs some tests' time of its own, and so does a child.
        work = (tests[runs[1:]] - tests[runs[:-1]]) + 16 * np.diff(runs) + 64
        pieces = _cut(work[scan.group[ids]] * len(scan.words), PIECE)
        n = PIECES_PER_WAVE * self._threads.count
        for at in range(0, len(pieces), n):
            yield [ids[lo:hi] for lo, hi in pieces[at : at + n]]


class SurePairs(OpenPairs):
    """Open pairs of points whose bits may be open: a bit has to be surely off at the one and surely on at the other."""

    def __init__(self, y: Ints, targets: Sequence[int], *, threads: Threads, budget: int = BUDGET) -> None:
        # A target point is here twice: as a, by what may be on; and, as all other points, as b, by what is surely on.
        classes, codes = np.unique(y, return_inverse=True)
        wanted = np.flatnonzero(np.isin(classes, np.asarray(targets, dtype=np.int64)))
        part = np.full(len(classes), -1)
        part[wanted] = np.arange(len(wanted))
        self._first = np.flatnonzero(part[codes] >= 0)
        parts = np.concatenate([part[codes[self._first]], len(wanted) + codes])
        super().__init__(
            parts, (), threads=threads, budget=budget, pairs=_against_rest(wanted, len(classes), apart=True)
        )

    def add(self, words: Words, maybe: Words | None = None) -> None:
        """Take the next block: what is surely on at every point, and what may be."""
        high = words if maybe is None else maybe
        super().add(np.concatenate([high[self._first], words]))

    def iter_point_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the open pairs of points as rows (a, b), sorted, in chunks of bounded size."""
        for a, b in super().iter_point_pairs():
            yield self._first[a], b - len(self._first)
