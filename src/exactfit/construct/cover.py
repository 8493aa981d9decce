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
from .distinct import ClassOrder, Cover, Distinct, Share, candidates_of
from .evidence import HERE, Columns, Counts, Evidence, Pace, Pieces, foresee
from .hyperplanes import Hyperplanes
from .patterns import Patterns
from .recipe import Recipe
from .values import Values
from .weighted import weighted_covers

Sizes = NDArray[np.int64]  # of columns: how many points each stands for

WASTE = 0.1  # of a block of candidates that may be claimed by others of it, and so be examined in vain
HEIGHTS_AT_ONCE = 2**24  # counts of a block of candidates: 64 MiB
SMALL = 2**15  # words of all patterns: the cache holds them, and one kernel covers a class in turn
WORTH_A_THREAD = 2**16  # words of the rest: counting fewer takes less time than starting a thread


def cover_classes(
    evidence: Evidence, order: ClassOrder, targets: tuple[int, ...], options: Recipe,
    turns: np.random.SeedSequence | Rows, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """One cover for every target class, over the same first layer (Section 4.4).

    ``turns`` is the seed of the candidates' order, or all rows in that order.
    """
    candidates = candidates_of(order, targets, turns)
    # Equal patterns are one column, except where points are few: then grouping them costs more than it saves.
    if isinstance(evidence, Counts) and (options.is_weighted or evidence.patterns.words.size > SMALL):
        return cover_distinct(Distinct.of(evidence, order, candidates), options, progress)
    return cover_distinct(Distinct.alone(evidence, order, candidates), options, progress)


def cover_distinct(distinct: Distinct, options: Recipe, progress: Progress = silent) -> list[Cover]:
    """One cover for every target class, in points."""
    cover = weighted_covers(distinct) if options.is_weighted else _mask_covers(distinct, progress)
    anchors = distinct.order.rows if options.is_weighted else distinct.leaders
    covers = cover_each(distinct.evidence, distinct.shares, cover, progress)
    return [distinct.in_points(one, anchors) for one in covers]


def cover_each(
    evidence: Evidence, shares: list[Share], cover: Callable[[Share, Progress], Cover], progress: Progress
) -> list[Cover]:
    """One cover for every target class, in columns.

    Covers do not depend on one another. So each thread takes a whole class, the largest
    first, and no thread waits for others within it; those that find no class left help.
    """
    sizes = [int(share.sizes.sum()) for share in shares]
    tally = _Tally(progress, evidence.threads, sum(sizes))
    queue = sorted(range(len(shares)), key=lambda place: -sizes[place])
    heavy = evidence.cost(shares[queue[0]].rest) >= WORTH_A_THREAD
    threads = evidence.threads if heavy else SERIAL
    covers = dict(zip(queue, threads.map(lambda place: cover(shares[place], tally.of(place)), queue), strict=True))
    return [covers[place] for place in range(len(shares))]


def _mask_covers(distinct: Distinct, progress: Progress) -> Callable[[Share, Progress], Cover]:
    """From a class to its cover with the masks of anchors, whose columns are distinct patterns."""
    evidence, shares = distinct.evidence, distinct.shares
    if len(shares) == len(distinct.order.starts) - 1:
        evidence = foresee(evidence, [share.target for share in shares], progress, [share.turns for share in shares])
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
    X: Matrix, order: ClassOrder, planes: Hyperplanes, patterns: Patterns, options: Recipe, threads: Threads
) -> Evidence:
    """Counts for the threshold, values for everything else; columns in class order."""
    if options.s.is_threshold:
        return Counts(patterns.on, threads, patterns.maybe)
    return Values(X, order.rows, planes, patterns.maybe, options.s, threads, options.exact_in)


class _Focus:
    """The unclaimed columns of a class, dropped from sight in bulk when half of them are claimed.

    ``worth`` says how many points each of them stands for, and is zero once it is claimed.
    """

    def __init__(self, evidence: Evidence, target: tuple[int, int], sizes: Sizes) -> None:
        self._evidence = evidence
        self._turn_to(np.arange(*target), slice(*target), sizes.copy())

    def _turn_to(self, columns: Columns, where: Columns | slice, worth: Sizes) -> None:
        self.columns, self.selected, self.worth = columns, self._evidence.select(where), worth

    def shrink(self) -> None:
        open_ones = self.worth > 0
        if 2 * int(open_ones.sum()) <= len(self.columns):
            left = self.columns[open_ones]
            self._turn_to(left, left, self.worth[open_ones])


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
    worth, n_points = sizes.copy(), int(sizes.sum())
    left, position = n_points, 0
    cost = evidence.cost(rest)
    pace = getattr(evidence, "pace", HERE)
    size = max(1, min(pace.call_words // max(cost, 1), pace.largest_block))
    while position < total and left:
        block, position = _next_block(order, position, worth, start, size)
        claimed = _examine(evidence, block, rest, cover, focus)
        if claimed:
            worth[focus.columns - start] = focus.worth
            focus.shrink()
            left -= claimed
        progress("detectors", n_points - left, n_points)
        size = _block_size(cost, left, claimed / max(len(block), 1), len(focus.columns), pace)
    cover.uncovered = start + np.flatnonzero(worth)
    return cover


def _in_turn(
    counts: Counts, target: tuple[int, int], rest: Pieces, order: Columns, progress: Progress, sizes: Sizes
) -> Cover:
    """The same in one call, where all words stay in cache and blocks would only be overhead."""
    worth, chosen = sizes.copy(), np.empty((len(sizes), 4), dtype=np.int64)
    words, highest, n_bits = counts.patterns.words, counts.highest.words, counts.highest.n_bits
    accepted, rejected = cover_in_turn(words, highest, n_bits, target, np.array(rest), order, worth, chosen)
    n_points = int(sizes.sum())
    progress("detectors", n_points - int(worth.sum()), n_points)
    anchors, limits, witnesses, coverage = chosen[:accepted].T.tolist()
    return Cover(anchors, limits, witnesses, coverage, target[0] + np.flatnonzero(worth), rejected)


def _next_block(order: Columns, position: int, worth: Sizes, start: int, size: int) -> tuple[Columns, int]:
    """The next ``size`` candidates that are still unclaimed, and where to go on after them."""
    ahead = order[position : position + 64 * size]
    open_places = np.flatnonzero(worth[ahead - start])[:size]
    passed = int(open_places[-1]) + 1 if len(open_places) == size else len(ahead)
    return ahead[open_places], position + passed


def _block_size(cost: int, left: int, claimed_each: float, columns: int, pace: Pace = HERE) -> int:
    """As many candidates as are expected to be examined with little waste, or with less of it than a call costs.

    Of a block of k, a candidate is examined in vain if another one claims it: k o / 2 left of them,
    if each claims o others.
    """
    others = max(claimed_each - 1, 1 / pace.largest_block)
    size = max(WASTE * left / others, math.sqrt(2 * pace.call_words / max(cost, 1) * left / others))
    return int(max(1, min(size, pace.largest_block, HEIGHTS_AT_ONCE // max(columns, 1))))


def _examine(evidence: Evidence, block: Columns, rest: Pieces, cover: Cover, focus: _Focus) -> int:
    """Algorithm 2, lines 5-8, for a block of candidates; how many points they claim."""
    if not len(block):
        return 0
    limits, witnesses = evidence.limits(block, rest)
    heights = evidence.heights(block[limits > 0], focus.selected)
    places = np.searchsorted(focus.columns, block)
    claimed, highest = np.empty(len(block), dtype=np.int64), np.empty(len(block), dtype=heights.dtype)
    worth = focus.worth[places]
    take_turns(heights, limits, places, focus.worth, claimed, highest)
    won = np.flatnonzero(claimed > 0)
    stored = evidence.stored_limits(limits[won], highest[won])
    cover.accept(block[won], stored, witnesses[won], claimed[won])
    cover.n_rejected += int(worth[claimed == 0].sum())
    return int(claimed[won].sum())
