"""The second layer: for every target class, candidates become detectors until all its points are claimed.

Candidates come in random order (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10). Drawing uniformly from the remaining
candidates, again and again, has the same distribution as walking once through a uniform permutation and skipping what
is covered meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.limits import cover_in_turn, take_turns
from .._support.console import Progress, silent
from .._support.threads import SERIAL
from ..data import Rows
from ..options import Options
from .evidence import HERE, BlockSizing, Columns, Counts, Evidence, Pieces, PrecomputedLimits, precompute_limits
from .unique_patterns import ClassOrder, ClassSlice, Cover, UniquePatterns, candidates_of
from .weighted import weighted_covers

Sizes = NDArray[np.int64]  # of columns: how many points each stands for

WASTE = 0.1  # of a block of candidates that may be claimed by others of it, and so be examined in vain
COUNTS_AT_ONCE = 2**24  # counts of a block of candidates: 64 MiB
SMALL = 2**15  # words of all patterns: the cache holds them, and one kernel covers a class in turn
WORTH_A_THREAD = 2**16  # words of the rest: counting fewer takes less time than starting a thread


def cover_classes(
    evidence: Evidence, order: ClassOrder, targets: tuple[int, ...], options: Options,
    candidate_order: np.random.SeedSequence | Rows, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """Return one cover for every target class, over the same first layer (Section 4.4).

    ``candidate_order`` is the seed of the candidates' order, or all rows in that order.
    """
    unique = UniquePatterns.of_evidence(evidence, order, candidates_of(order, targets, candidate_order))
    return [unique.in_points(one) for one in cover_unique(unique, options, progress)]


def cover_unique(unique: UniquePatterns, options: Options, progress: Progress = silent) -> list[Cover]:
    """Return one cover for every target class, in columns."""
    if options.is_weighted:
        return cover_each(unique.evidence, unique.slices, weighted_covers(unique), progress)
    evidence, slices = unique.evidence, unique.slices
    if len(slices) == len(unique.order.starts) - 1:
        evidence = precompute_limits(
            evidence, [own.target for own in slices], progress, [own.candidates for own in slices]
        )

    def cover(own: ClassSlice, report: Progress) -> Cover:
        return random_cover(evidence, own.target, own.rest, own.candidates, report, own.sizes)

    return cover_each(evidence, slices, cover, progress)


def cover_each(
    evidence: Evidence, slices: list[ClassSlice], cover: Callable[[ClassSlice, Progress], Cover], progress: Progress
) -> list[Cover]:
    """Return one cover for every target class, in columns."""
    sizes = [int(own.sizes.sum()) for own in slices]
    done: dict[str, dict[int, int]] = {}
    lock = Lock()

    def work(place: int) -> Cover:
        def report(what: str, count: int, _total: int | None) -> None:
            evidence.threads.go_on()  # also where threads notice that they may stop
            with lock:
                by_class = done.setdefault(what, {})
                by_class[place] = count
                progress(what, sum(by_class.values()), sum(sizes))

        return cover(slices[place], report)

    # Covers do not depend on one another. So each thread takes a whole class, the largest first, and no thread waits
    # for others within it; those that find no class left help.
    queue = sorted(range(len(slices)), key=lambda place: -sizes[place])
    heavy = evidence.cost(slices[queue[0]].rest) >= WORTH_A_THREAD
    covers = dict(zip(queue, (evidence.threads if heavy else SERIAL).map(work, queue), strict=True))
    return [covers[place] for place in range(len(slices))]


def random_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress,
    sizes: Sizes | None = None,
) -> Cover:  # fmt: skip
    """Algorithm 2, lines 2-10, over the candidates in the given order.

    ``sizes`` says how many points each target column stands for, without it one.
    """
    start, total = target[0], target[1] - target[0]
    remaining = np.ones(total, dtype=np.int64) if sizes is None else sizes.copy()  # zero once a column is claimed
    n_points = left = int(remaining.sum())
    is_known = isinstance(evidence, PrecomputedLimits)
    if isinstance(evidence, Counts) and not is_known and evidence.patterns.words.size <= SMALL:
        return _cover_in_one_call(evidence, target, rest, order, progress, remaining)
    cover, open_columns = Cover(), np.arange(*target)
    selected = evidence.select(slice(*target))
    # Candidates are examined in blocks, ahead of knowing which of them an earlier one of the block will cover; the
    # block is kept so short that little is examined in vain. Nothing but speed depends on it.
    cost, position = evidence.cost(rest), 0
    sizing = getattr(evidence, "block_sizing", HERE)
    size = max(1, min(sizing.call_words // max(cost, 1), sizing.largest_block))
    while position < total and left:  # line 3
        block, position = _next_block(order, position, remaining, start, size)  # line 4
        claimed = _examine(evidence, block, rest, cover, open_columns, selected, remaining, start)
        left -= claimed
        still = remaining[open_columns - start] > 0
        # Claimed columns are dropped in bulk, when they are half of all.
        if claimed and 2 * int(still.sum()) <= len(open_columns):
            open_columns = open_columns[still]
            selected = evidence.select(open_columns)
        progress("detectors", n_points - left, n_points)
        size = _block_size(cost, left, claimed / max(len(block), 1), len(open_columns), sizing)
    cover.uncovered = start + np.flatnonzero(remaining)
    return cover


def _cover_in_one_call(
    counts: Counts, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress, remaining: Sizes
) -> Cover:
    """Return the same cover from one kernel, where all words stay in cache and blocks would only be overhead."""
    chosen, n_points = np.empty((len(remaining), 4), dtype=np.int64), int(remaining.sum())
    words, highest, n_bits = counts.patterns.words, counts.highest.words, counts.highest.n_bits
    accepted, rejected = cover_in_turn(words, highest, n_bits, target, np.array(rest), order, remaining, chosen)
    progress("detectors", n_points - int(remaining.sum()), n_points)
    anchors, limits, witnesses, coverage = chosen[:accepted].T.tolist()
    return Cover(anchors, limits, witnesses, coverage, target[0] + np.flatnonzero(remaining), rejected)


def _next_block(order: Columns, position: int, remaining: Sizes, start: int, size: int) -> tuple[Columns, int]:
    """Return the next ``size`` candidates that are still unclaimed, and where to go on after them."""
    ahead = order[position : position + 64 * size]
    open_places = np.flatnonzero(remaining[ahead - start])[:size]
    passed = int(open_places[-1]) + 1 if len(open_places) == size else len(ahead)
    return ahead[open_places], position + passed


def _block_size(cost: int, left: int, claimed_each: float, columns: int, sizing: BlockSizing = HERE) -> int:
    """Return how many candidates to examine with little waste, or with less of it than a call costs."""
    # Of a block of k, a candidate is examined in vain if another one claims it: k o / 2 left of them, if each claims o
    # others.
    others = max(claimed_each - 1, 1 / sizing.largest_block)
    size = max(WASTE * left / others, math.sqrt(2 * sizing.call_words / max(cost, 1) * left / others))
    return int(max(1, min(size, sizing.largest_block, COUNTS_AT_ONCE // max(columns, 1))))


def _examine(
    evidence: Evidence, block: Columns, rest: Pieces, cover: Cover, open_columns: Columns, selected: Any,
    remaining: Sizes, start: int,
) -> int:  # fmt: skip
    """Algorithm 2, lines 5-8, for a block of candidates; return how many points they claim."""
    if not len(block):
        return 0
    limits, witnesses = evidence.limits(block, rest)  # line 5
    counts = evidence.masked_counts(block[limits > 0], selected)  # line 6: unusable without a positive limit
    places, open_sizes = np.searchsorted(open_columns, block), remaining[open_columns - start]
    sizes = open_sizes[places]
    claimed, highest = np.empty(len(block), dtype=np.int64), np.empty(len(block), dtype=counts.dtype)
    take_turns(counts, limits, places, open_sizes, claimed, highest)  # line 7, one candidate after the other
    remaining[open_columns - start] = open_sizes
    won = np.flatnonzero(claimed > 0)  # line 8
    cover.accept(block[won], evidence.stored_limits(limits[won], highest[won]), witnesses[won], claimed[won])
    cover.n_rejected += int(sizes[claimed == 0].sum())
    return int(claimed[won].sum())
