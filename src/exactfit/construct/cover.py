"""The second layer: for every target class, candidates become detectors until all its points are claimed.

Candidates come in random order (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10). Drawing uniformly from the remaining
candidates, again and again, has the same distribution as walking once through a uniform permutation and skipping what
is covered meanwhile.
"""

from __future__ import annotations

import math
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .._kernels.limits import claim_in_order, cover_in_turn
from .._support.console import Progress, silent
from .._support.threads import SERIAL
from ..data import Rows
from ..options import Options
from .evidence import Columns, Counts, Evidence, Pieces, precompute_limits
from .unique_patterns import ClassOrder, Cover, UniquePatterns, candidates_of
from .weighted import BinaryPatterns, weighted_cover

Sizes = NDArray[np.int64]  # of columns: how many points each stands for

# What asking about a block of candidates costs by itself, in words that could have been counted meanwhile.
CALL_WORDS = 2**19
LARGEST_BLOCK = 64  # candidates
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
    evidence, order, candidates = unique.evidence, unique.order, unique.candidates
    sizes = {k: unique.sizes[slice(*order.target(k))] for k in candidates}
    n_points = sum(int(own.sum()) for own in sizes.values())
    if not options.is_weighted and len(sizes) == len(order.starts) - 1:
        evidence = precompute_limits(evidence, list(map(order.target, sizes)), progress, list(candidates.values()))
    done: dict[str, dict[int, int]] = {}
    lock = Lock()

    def work(k: int) -> Cover:
        def report(what: str, count: int, _total: int | None) -> None:
            evidence.threads.go_on()  # also where threads notice that they may stop
            with lock:
                by_class = done.setdefault(what, {})
                by_class[k] = count
                progress(what, sum(by_class.values()), n_points)

        if options.is_weighted:
            patterns = BinaryPatterns.of(evidence, *order.target(k))
            return weighted_cover(patterns, sizes[k], candidates[k], progress=report)
        return mask_cover(evidence, order.target(k), order.rest(k), candidates[k], report, sizes[k])

    # Covers do not depend on one another. So each thread takes a whole class, the largest first, and no thread waits
    # for others within it; those that find no class left help.
    queue = sorted(sizes, key=lambda k: -int(sizes[k].sum()))
    heavy = evidence.cost(order.rest(queue[0])) >= WORTH_A_THREAD
    covers = dict(zip(queue, (evidence.threads if heavy else SERIAL).map(work, queue), strict=True))
    return [covers[k] for k in sizes]


def mask_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress,
    sizes: Sizes | None = None,
) -> Cover:  # fmt: skip
    """Return the cover of one class by masks, over its candidates in the given order (Algorithm 2, lines 2-10).

    ``sizes`` says how many points each target column stands for, without it one.
    """
    start, total = target[0], target[1] - target[0]
    remaining = np.ones(total, dtype=np.int64) if sizes is None else sizes.copy()  # zero once a column is claimed
    n_points = left = int(remaining.sum())
    cover = Cover()
    if type(evidence) is Counts and evidence.patterns.words.size <= SMALL:
        # All words stay in cache, and blocks would only be overhead: one kernel makes the same cover.
        may_be_on, chosen = evidence.may_be_on, np.empty((total, 4), dtype=np.int64)
        words = evidence.patterns.words, may_be_on.words, may_be_on.n_bits
        accepted, cover.n_rejected = cover_in_turn(*words, target, np.array(rest), order, remaining, chosen)
        progress("detectors", n_points - int(remaining.sum()), n_points)
        cover.anchors, cover.limits, cover.witnesses, cover.coverage = chosen[:accepted].T.tolist()
        cover.uncovered = start + np.flatnonzero(remaining)
        return cover
    open_columns, selected = np.arange(*target), evidence.select(slice(*target))
    cost, position = evidence.cost(rest), 0
    size = max(1, min(CALL_WORDS // max(cost, 1), LARGEST_BLOCK))
    while position < total and left:  # line 3
        # Line 4: candidates are examined in blocks, ahead of knowing which of them an earlier one of the block will
        # cover; the block is kept so short that little is examined in vain. Nothing but speed depends on it.
        ahead = order[position : position + 64 * size]
        unclaimed = np.flatnonzero(remaining[ahead - start])[:size]
        position += int(unclaimed[-1]) + 1 if len(unclaimed) == size else len(ahead)
        block, claimed_now = ahead[unclaimed], 0
        if len(block):
            limits, witnesses = evidence.limits(block, rest)  # line 5
            counts = evidence.masked_counts(block[limits > 0], selected)  # line 6: unusable without a positive limit
            places, open_sizes = np.searchsorted(open_columns, block), remaining[open_columns - start]
            own_sizes, claimed = open_sizes[places], np.empty(len(block), dtype=np.int64)
            highest_counts = np.empty(len(block), dtype=counts.dtype)
            claim_in_order(counts, limits, places, open_sizes, claimed, highest_counts)  # line 7, one after the other
            remaining[open_columns - start] = open_sizes
            won = np.flatnonzero(claimed > 0)  # line 8
            cover.anchors += block[won].tolist()
            cover.limits += evidence.stored_limits(limits[won], highest_counts[won])
            cover.witnesses += witnesses[won].tolist()
            cover.coverage += claimed[won].tolist()
            cover.n_rejected += int(own_sizes[claimed == 0].sum())
            claimed_now = int(claimed[won].sum())
        left -= claimed_now
        still = remaining[open_columns - start] > 0
        # Claimed columns are dropped in bulk, when they are half of all.
        if claimed_now and 2 * int(still.sum()) <= len(open_columns):
            open_columns = open_columns[still]
            selected = evidence.select(open_columns)
        progress("detectors", n_points - left, n_points)
        size = _block_size(cost, left, claimed_now / max(len(block), 1), len(open_columns))
    cover.uncovered = start + np.flatnonzero(remaining)
    return cover


def _block_size(cost: int, left: int, claimed_each: float, columns: int) -> int:
    """Return how many candidates to examine with little waste, or with less of it than a call costs."""
    # Of a block of k, a candidate is examined in vain if another one claims it: k o / 2 left of them, if each claims o
    # others.
    others = max(claimed_each - 1, 1 / LARGEST_BLOCK)
    size = max(WASTE * left / others, math.sqrt(2 * CALL_WORDS / max(cost, 1) * left / others))
    return int(max(1, min(size, LARGEST_BLOCK, COUNTS_AT_ONCE // max(columns, 1))))
