"""The second layer: candidates become detectors until every point of a class is claimed.

Random selection is the paper's (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10).
Drawing uniformly from the remaining candidates, again and again, has the same law as
walking once through a uniform permutation and skipping what is covered meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.cover import cover_in_turn, take_turns
from .._kernels.cover import gains as count_gains
from .._support.console import Progress
from ..network.bits import last_word, n_words
from .evidence import Columns, Counts, Evidence, Pieces
from .halfspaces import Support

LARGEST_BLOCK = 64
WASTE = 0.1
CALL_WORDS = 2**19
HEIGHTS_AT_ONCE = 2**24
SMALL = 2**15


@dataclass
class Cover:
    """Detectors of one class, in the order in which they were accepted; columns, not rows."""

    anchors: list[int] = field(default_factory=list)
    limits: list[Any] = field(default_factory=list)
    witnesses: list[int] = field(default_factory=list)
    coverage: list[int] = field(default_factory=list)
    uncovered: Columns = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_rejected: int = 0
    weights: list[NDArray[np.int8]] | None = None  # None: masks of the anchors
    supports: list[Support] | None = None

    def accept(self, anchors: Columns, limits: list[Any], witnesses: Columns, claimed: NDArray[np.int64]) -> None:
        """Algorithm 2, line 8: add the detectors."""
        self.anchors += anchors.tolist()
        self.limits += limits
        self.witnesses += witnesses.tolist()
        self.coverage += claimed.tolist()


class _Focus:
    """The uncovered columns of a class, dropped from sight in bulk when half of them are covered."""

    def __init__(self, evidence: Evidence, target: tuple[int, int]) -> None:
        self._evidence = evidence
        self._turn_to(np.arange(*target), slice(*target))

    def _turn_to(self, columns: Columns, where: Columns | slice) -> None:
        self.columns, self.selected = columns, self._evidence.select(where)
        self.uncovered = np.ones(len(columns), dtype=bool)

    def shrink(self) -> None:
        if 2 * int(self.uncovered.sum()) <= len(self.columns):
            left = self.columns[self.uncovered]
            self._turn_to(left, left)


def random_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress
) -> Cover:
    """Algorithm 2, lines 2-10, over the candidates in the given order.

    Candidates are examined in blocks, ahead of knowing which of them an earlier one of
    the block will cover; the block is kept so short that little is examined in vain.
    Nothing but speed depends on it.
    """
    if isinstance(evidence, Counts) and evidence.cost([target, *rest]) <= SMALL:
        return _in_turn(evidence, target, rest, order, progress)
    cover, focus = Cover(), _Focus(evidence, target)
    start, total = target[0], target[1] - target[0]
    waiting = np.ones(total, dtype=bool)
    left, position = total, 0
    cost = evidence.cost(rest)
    size = max(1, min(CALL_WORDS // max(cost, 1), LARGEST_BLOCK))
    while position < total and left:
        block, position = _next_block(order, position, waiting, start, size)
        claimed = _examine(evidence, block, rest, cover, focus)
        if claimed:
            waiting[focus.columns - start] = focus.uncovered
            focus.shrink()
            left -= claimed
        progress("detectors", total - left, total)
        size = _block_size(cost, left, claimed / max(len(block), 1), len(focus.columns))
    cover.uncovered = start + np.flatnonzero(waiting)
    return cover


def _in_turn(counts: Counts, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress) -> Cover:
    """The same in one call, where all words stay in cache and blocks would only be overhead."""
    total = target[1] - target[0]
    uncovered, chosen = np.ones(total, dtype=bool), np.empty((total, 4), dtype=np.int64)
    words, highest, last = counts.patterns.words, counts.highest.words, last_word(counts.highest.n_bits)
    accepted, rejected = cover_in_turn(words, highest, last, target, np.array(rest), order, uncovered, chosen)
    left = target[0] + np.flatnonzero(uncovered)
    progress("detectors", total - len(left), total)
    anchors, limits, witnesses, coverage = chosen[:accepted].T.tolist()
    return Cover(anchors, limits, witnesses, coverage, left, rejected)


def _next_block(
    order: Columns, position: int, waiting: NDArray[np.bool_], start: int, size: int
) -> tuple[Columns, int]:
    """The next ``size`` candidates that are still uncovered, and where to go on after them."""
    ahead = order[position : position + 64 * size]
    open_places = np.flatnonzero(waiting[ahead - start])[:size]
    passed = int(open_places[-1]) + 1 if len(open_places) == size else len(ahead)
    return ahead[open_places], position + passed


def _block_size(cost: int, left: int, claimed_each: float, columns: int) -> int:
    """As many candidates as are expected to be examined with little waste, or with less of it than a call costs.

    Of a block of k, a candidate is examined in vain if another one claims it: k o / 2 left of them,
    if each claims o others.
    """
    others = max(claimed_each - 1, 1 / LARGEST_BLOCK)
    size = max(WASTE * left / others, math.sqrt(2 * CALL_WORDS / max(cost, 1) * left / others))
    return int(max(1, min(size, LARGEST_BLOCK, HEIGHTS_AT_ONCE // max(columns, 1))))


def _examine(evidence: Evidence, block: Columns, rest: Pieces, cover: Cover, focus: _Focus) -> int:
    """Algorithm 2, lines 5-8, for a block of candidates; how many points they claim."""
    if not len(block):
        return 0
    limits, witnesses = evidence.limits(block, rest)
    heights = evidence.heights(block[limits > 0], focus.selected)
    places = np.searchsorted(focus.columns, block)
    claimed, highest = np.empty(len(block), dtype=np.int64), np.empty(len(block), dtype=heights.dtype)
    take_turns(heights, limits, places, focus.uncovered, claimed, highest)
    won = np.flatnonzero(claimed > 0)
    stored = evidence.stored_limits(limits[won], highest[won])
    cover.accept(block[won], stored, witnesses[won], claimed[won])
    cover.n_rejected += int(np.count_nonzero(claimed == 0))
    return int(claimed[won].sum())


def pool_capacity(memory: int, total: int) -> int:
    """How many packed coverage rows over a class of ``total`` points fit in ``memory`` bytes; at least one."""
    return max(1, memory // (8 * n_words(total)))


def greedy_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, memory: int, progress: Progress
) -> Cover:
    """Always the candidate that claims most uncovered points, the lowest column on a tie.

    Candidates are all points of the class if their packed coverage rows fit in
    ``memory`` bytes; otherwise a pool of as many as fit, taken in the given order and
    refilled from uncovered untried points whenever no candidate of it gains anything.
    """
    cover = Cover()
    start, total = target[0], target[1] - target[0]
    waiting = np.ones(total, dtype=bool)
    capacity = pool_capacity(memory, total)
    untried = order
    while waiting.any() and len(untried):
        pool, untried = np.sort(untried[:capacity]), untried[capacity:]
        candidates = _Pool.fill(evidence, pool, target, rest, progress)
        cover.n_rejected += len(pool) - len(candidates.anchors)
        _drain(candidates, evidence, cover, waiting, start)
        progress("detectors", total - int(waiting.sum()), total)
        untried = untried[waiting[untried - start]]
    cover.uncovered = start + np.flatnonzero(waiting)
    return cover


@dataclass(eq=False)
class _Pool:
    """Candidates with limits and packed coverage rows (bit t: it claims the t-th point of the class)."""

    anchors: Columns
    limits: NDArray[Any]
    witnesses: Columns
    rows: NDArray[np.uint64]

    @classmethod
    def fill(cls, evidence: Evidence, anchors: Columns, target: tuple[int, int], rest: Pieces, tell: Progress) -> _Pool:
        """Examine all candidates; those without a positive limit are left out."""
        total = target[1] - target[0]
        size = max(1, min(LARGEST_BLOCK, HEIGHTS_AT_ONCE // total))
        parts = []
        everyone = evidence.select(slice(*target))
        for low in range(0, len(anchors), size):
            block = anchors[low : low + size]
            limits, witnesses = evidence.limits(block, rest)
            usable = limits > 0
            heights = evidence.heights(block[usable], everyone)
            parts.append((block[usable], limits[usable], witnesses[usable], _pack(heights < limits[usable, None])))
            tell("candidates", low + len(block), len(anchors))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pack(claims: NDArray[np.bool_]) -> NDArray[np.uint64]:
    padded = np.zeros((len(claims), -(-claims.shape[1] // 64) * 64), dtype=bool)
    padded[:, : claims.shape[1]] = claims
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _drain(pool: _Pool, evidence: Evidence, cover: Cover, waiting: NDArray[np.bool_], start: int) -> None:
    """Take the best candidate until none gains anything.

    Gains only fall, so an outdated gain is an upper bound: the first candidate that
    keeps the lead after being counted anew is the best, and the lowest such column.
    """
    uncovered = _pack(waiting[None, :])[0]
    stale = np.empty(len(pool.anchors), dtype=np.int64)
    count_gains(pool.rows, uncovered, np.arange(len(stale)), stale)
    while len(stale) and stale.max() > 0:
        best = np.array([stale.argmax()])
        before = int(stale[best[0]])
        count_gains(pool.rows, uncovered, best, fresh := np.empty(1, dtype=np.int64))
        stale[best] = fresh
        if int(fresh[0]) < before:
            continue
        _take(pool, int(best[0]), evidence, cover, waiting, start)
        uncovered &= ~pool.rows[best[0]]
        stale[best] = 0


def _take(pool: _Pool, k: int, evidence: Evidence, cover: Cover, waiting: NDArray[np.bool_], start: int) -> None:
    bits = np.unpackbits(pool.rows[k].view(np.uint8), bitorder="little", count=len(waiting)).astype(bool)
    columns = start + np.flatnonzero(bits & waiting)
    waiting[columns - start] = False
    # The anchor may be covered already; its own detector has to fire on it all the same.
    own = slice(k, k + 1)
    highest = evidence.heights(pool.anchors[own], evidence.select(np.append(columns, pool.anchors[own]))).max(axis=1)
    stored = evidence.stored_limits(pool.limits[own], highest)
    cover.accept(pool.anchors[own], stored, pool.witnesses[own], np.array([len(columns)]))
