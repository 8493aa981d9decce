"""The second layer: for every target class, candidates become detectors until all its points are claimed.

Candidates come in random order (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10).
Drawing uniformly from the remaining candidates, again and again, has the same law as
walking once through a uniform permutation and skipping what is covered meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .._kernels.limits import cover_in_turn, take_turns
from .._support.console import Progress, silent
from .._support.threads import SERIAL, Threads
from ..data import Matrix, Rows
from ..options import Options
from .evidence import HERE, BlockSizing, Columns, Counts, Evidence, Pieces, precompute_limits
from .hyperplanes import Hyperplanes
from .patterns import Patterns
from .unique_patterns import ClassOrder, ClassSlice, Cover, UniquePatterns, candidates_of
from .values import Values
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
    """One cover for every target class, over the same first layer (Section 4.4).

    ``candidate_order`` is the seed of the candidates' order, or all rows in that order.
    """
    candidates = candidates_of(order, targets, candidate_order)
    # Equal patterns are one column, except where points are few: then grouping them costs more than it saves.
    if isinstance(evidence, Counts) and (options.is_weighted or evidence.patterns.words.size > SMALL):
        return cover_distinct(UniquePatterns.of(evidence, order, candidates), options, progress)
    return cover_distinct(UniquePatterns.alone(evidence, order, candidates), options, progress)


def cover_distinct(unique: UniquePatterns, options: Options, progress: Progress = silent) -> list[Cover]:
    """One cover for every target class, in points."""
    cover = weighted_covers(unique) if options.is_weighted else _mask_covers(unique, progress)
    anchors = unique.order.rows if options.is_weighted else unique.leaders
    covers = cover_each(unique.evidence, unique.slices, cover, progress)
    return [unique.in_points(one, anchors) for one in covers]


def cover_each(
    evidence: Evidence, slices: list[ClassSlice], cover: Callable[[ClassSlice, Progress], Cover], progress: Progress
) -> list[Cover]:
    """One cover for every target class, in columns.

    Covers do not depend on one another. So each thread takes a whole class, the largest
    first, and no thread waits for others within it; those that find no class left help.
    """
    sizes = [int(share.sizes.sum()) for share in slices]
    tally = _Tally(progress, evidence.threads, sum(sizes))
    queue = sorted(range(len(slices)), key=lambda place: -sizes[place])
    heavy = evidence.cost(slices[queue[0]].rest) >= WORTH_A_THREAD
    threads = evidence.threads if heavy else SERIAL
    covers = dict(zip(queue, threads.map(lambda place: cover(slices[place], tally.of(place)), queue), strict=True))
    return [covers[place] for place in range(len(slices))]


def _mask_covers(unique: UniquePatterns, progress: Progress) -> Callable[[ClassSlice, Progress], Cover]:
    """From a class to its cover with the masks of anchors, whose columns are distinct patterns."""
    evidence, slices = unique.evidence, unique.slices
    if len(slices) == len(unique.order.starts) - 1:
        evidence = precompute_limits(
            evidence, [share.target for share in slices], progress, [share.candidates for share in slices]
        )
    return lambda share, tell: random_cover(evidence, *share[:3], tell, share.sizes)


class _Tally:
    """Progress over all classes, told from several threads; also where threads notice that they may stop."""

    def __init__(self, progress: Progress, threads: Threads, total: int) -> None:
        self.progress, self._threads, self._total = progress, threads, total
        self._done: dict[str, dict[int, int]] = {}
        self._lock = Lock()

    def of(self, k: int) -> Progress:
        """What class k reports to."""

        def tell(what: str, done: int, _total: int | None) -> None:
            self._threads.go_on()
            with self._lock:
                by_class = self._done.setdefault(what, {})
                by_class[k] = done
                self.progress(what, sum(by_class.values()), self._total)

        return tell


def gather_evidence(
    X: Matrix, order: ClassOrder, planes: Hyperplanes, patterns: Patterns, options: Options, threads: Threads
) -> Evidence:
    """Counts for the threshold, values for everything else; columns in class order."""
    if options.s.is_threshold:
        return Counts(patterns.on, threads, patterns.maybe)
    return Values(X, order.rows, planes, patterns.maybe, options.s, threads, options.exact_in)


class _Focus:
    """The unclaimed columns of a class, dropped from sight in bulk when half of them are claimed.

    ``remaining`` says how many points each of them stands for, and is zero once it is claimed.
    """

    def __init__(self, evidence: Evidence, target: tuple[int, int], sizes: Sizes) -> None:
        self._evidence = evidence
        self._turn_to(np.arange(*target), slice(*target), sizes.copy())

    def _turn_to(self, columns: Columns, where: Columns | slice, remaining: Sizes) -> None:
        self.columns, self.selected, self.remaining = columns, self._evidence.select(where), remaining

    def shrink(self) -> None:
        open_ones = self.remaining > 0
        if 2 * int(open_ones.sum()) <= len(self.columns):
            left = self.columns[open_ones]
            self._turn_to(left, left, self.remaining[open_ones])


def random_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress,
    sizes: Sizes | None = None,
) -> Cover:  # fmt: skip
    """Algorithm 2, lines 2-10, over the candidates in the given order.

    Candidates are examined in blocks, ahead of knowing which of them an earlier one of
    the block will cover; the block is kept so short that little is examined in vain.
    Nothing but speed depends on it. ``sizes`` says how many points each target column stands for, without it one.
    """
    start, total = target[0], target[1] - target[0]
    sizes = np.ones(total, dtype=np.int64) if sizes is None else sizes
    if isinstance(evidence, Counts) and evidence.patterns.words.size <= SMALL:
        return _in_turn(evidence, target, rest, order, progress, sizes)
    cover, focus = Cover(), _Focus(evidence, target, sizes)
    remaining, n_points = sizes.copy(), int(sizes.sum())
    left, position = n_points, 0
    cost = evidence.cost(rest)
    sizing = getattr(evidence, "block_sizing", HERE)
    size = max(1, min(sizing.call_words // max(cost, 1), sizing.largest_block))
    while position < total and left:
        block, position = _next_block(order, position, remaining, start, size)
        claimed = _examine(evidence, block, rest, cover, focus)
        if claimed:
            remaining[focus.columns - start] = focus.remaining
            focus.shrink()
            left -= claimed
        progress("detectors", n_points - left, n_points)
        size = _block_size(cost, left, claimed / max(len(block), 1), len(focus.columns), sizing)
    cover.uncovered = start + np.flatnonzero(remaining)
    return cover


def _in_turn(
    counts: Counts, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress, sizes: Sizes
) -> Cover:
    """The same in one call, where all words stay in cache and blocks would only be overhead."""
    remaining, chosen = sizes.copy(), np.empty((len(sizes), 4), dtype=np.int64)
    words, highest, n_bits = counts.patterns.words, counts.highest.words, counts.highest.n_bits
    accepted, rejected = cover_in_turn(words, highest, n_bits, target, np.array(rest), order, remaining, chosen)
    n_points = int(sizes.sum())
    progress("detectors", n_points - int(remaining.sum()), n_points)
    anchors, limits, witnesses, coverage = chosen[:accepted].T.tolist()
    return Cover(anchors, limits, witnesses, coverage, target[0] + np.flatnonzero(remaining), rejected)


def _next_block(order: Columns, position: int, remaining: Sizes, start: int, size: int) -> tuple[Columns, int]:
    """The next ``size`` candidates that are still unclaimed, and where to go on after them."""
    ahead = order[position : position + 64 * size]
    open_places = np.flatnonzero(remaining[ahead - start])[:size]
    passed = int(open_places[-1]) + 1 if len(open_places) == size else len(ahead)
    return ahead[open_places], position + passed


def _block_size(cost: int, left: int, claimed_each: float, columns: int, sizing: BlockSizing = HERE) -> int:
    """As many candidates as are expected to be examined with little waste, or with less of it than a call costs.

    Of a block of k, a candidate is examined in vain if another one claims it: k o / 2 left of them,
    if each claims o others.
    """
    others = max(claimed_each - 1, 1 / sizing.largest_block)
    size = max(WASTE * left / others, math.sqrt(2 * sizing.call_words / max(cost, 1) * left / others))
    return int(max(1, min(size, sizing.largest_block, COUNTS_AT_ONCE // max(columns, 1))))


def _examine(evidence: Evidence, block: Columns, rest: Pieces, cover: Cover, focus: _Focus) -> int:
    """Algorithm 2, lines 5-8, for a block of candidates; how many points they claim."""
    if not len(block):
        return 0
    limits, witnesses = evidence.limits(block, rest)
    masked_counts = evidence.masked_counts(block[limits > 0], focus.selected)
    places = np.searchsorted(focus.columns, block)
    claimed, highest = np.empty(len(block), dtype=np.int64), np.empty(len(block), dtype=masked_counts.dtype)
    remaining = focus.remaining[places]
    take_turns(masked_counts, limits, places, focus.remaining, claimed, highest)
    won = np.flatnonzero(claimed > 0)
    stored = evidence.stored_limits(limits[won], highest[won])
    cover.accept(block[won], stored, witnesses[won], claimed[won])
    cover.n_rejected += int(remaining[claimed == 0].sum())
    return int(claimed[won].sum())
