"""Greedy covers by balls: always the ball that claims most of what no other claims yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.limits import gains as count_gains
from .._support.console import Progress, silent
from ..construct import Recipe
from ..construct.cover import HEIGHTS_AT_ONCE, cover_classes, cover_each
from ..construct.distinct import ClassOrder, Cover, Share, candidates_of
from ..construct.evidence import HERE, Columns, Evidence, Pieces
from ..network.bits import n_words


def cover_by_balls(
    balls: Evidence, order: ClassOrder, targets: tuple[int, ...], selection: str, memory: int,
    root: np.random.SeedSequence, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """One cover for every target class: anchors in the order of candidates, or greedily (``selection="greedy"``)."""
    if selection == "random":
        return cover_classes(balls, order, targets, Recipe(), root, progress)
    shares = Share.of_each(order, candidates_of(order, targets, root), np.ones(int(order.starts[-1]), dtype=np.int64))
    return cover_each(balls, shares, lambda share, tell: greedy_cover(balls, *share[:3], memory, tell), progress)


def greedy_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, memory: int, progress: Progress
) -> Cover:
    """Always the candidate that claims most unclaimed points, the lowest column on a tie.

    Candidates are all columns of the class if their packed coverage rows fit in
    ``memory`` bytes; otherwise a pool of as many as fit, taken in the given order and
    refilled from unclaimed untried columns whenever no candidate of it gains anything.
    """
    cover = Cover()
    start, total = target[0], target[1] - target[0]
    capacity = max(1, memory // (8 * n_words(total)))
    unclaimed, untried = np.ones(total, dtype=bool), order
    while unclaimed.any() and len(untried):
        pool, untried = np.sort(untried[:capacity]), untried[capacity:]
        candidates = _Pool.fill(evidence, pool, target, rest, progress)
        cover.n_rejected += int(unclaimed[np.setdiff1d(pool, candidates.anchors) - start].sum())
        _drain(candidates, evidence, cover, unclaimed, start)
        progress("detectors", total - int(unclaimed.sum()), total)
        untried = untried[unclaimed[untried - start]]
    cover.uncovered = start + np.flatnonzero(unclaimed)
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
        size = max(1, min(HERE.largest_block, HEIGHTS_AT_ONCE // (target[1] - target[0])))
        parts = []
        everyone = evidence.select(slice(*target))
        for low in range(0, len(anchors), size):
            block = anchors[low : low + size]
            limits, witnesses = evidence.limits(block, rest)
            usable = limits > 0
            heights = evidence.heights(block[usable], everyone)
            parts.append((block[usable], limits[usable], witnesses[usable], _pack(heights < limits[usable, None])))
            tell("candidates", low + len(block), len(anchors))
        # Blocks of one row each would be joined column by column: rows have to be contiguous.
        return cls(*(np.ascontiguousarray(np.concatenate(column)) for column in zip(*parts, strict=True)))


def _pack(claims: NDArray[np.bool_]) -> NDArray[np.uint64]:
    padded = np.zeros((len(claims), -(-claims.shape[1] // 64) * 64), dtype=bool)
    padded[:, : claims.shape[1]] = claims
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _drain(pool: _Pool, evidence: Evidence, cover: Cover, unclaimed: NDArray[np.bool_], start: int) -> None:
    """Take the best candidate until none gains anything.

    Gains only fall, so an outdated gain is an upper bound: the first candidate that
    keeps the lead after being counted anew is the best, and the lowest such column.
    """
    left = _pack(unclaimed[None, :])[0]
    stale = np.empty(len(pool.anchors), dtype=np.int64)
    count_gains(pool.rows, left, np.arange(len(stale)), stale)
    while len(stale) and stale.max() > 0:
        best = np.array([stale.argmax()])
        before = int(stale[best[0]])
        count_gains(pool.rows, left, best, fresh := np.empty(1, dtype=np.int64))
        stale[best] = fresh
        if int(fresh[0]) < before:
            continue
        _take(pool, int(best[0]), evidence, cover, unclaimed, start)
        left &= ~pool.rows[best[0]]
        stale[best] = 0


def _take(pool: _Pool, k: int, evidence: Evidence, cover: Cover, unclaimed: NDArray[np.bool_], start: int) -> None:
    bits = np.unpackbits(pool.rows[k].view(np.uint8), bitorder="little", count=len(unclaimed)).astype(bool)
    places = np.flatnonzero(bits & unclaimed)
    unclaimed[places] = False
    # The anchor may be covered already; its own detector has to fire on it all the same.
    own = slice(k, k + 1)
    seen = evidence.select(np.append(start + places, pool.anchors[own]))
    highest = evidence.heights(pool.anchors[own], seen).max(axis=1)
    stored = evidence.stored_limits(pool.limits[own], highest)
    cover.accept(pool.anchors[own], stored, pool.witnesses[own], np.array([len(places)]))
