"""The second layer: for every target class, candidates become detectors until all its points are claimed.

Random selection is the paper's (Algorithm 1 lines 9-14, Algorithm 2 lines 2-10).
Drawing uniformly from the remaining candidates, again and again, has the same law as
walking once through a uniform permutation and skipping what is covered meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.limits import cover_in_turn, take_turns
from .._kernels.limits import gains as count_gains
from .._support.console import Progress, silent
from .._support.threads import SERIAL, Threads
from ..data import Matrix, Rows
from ..exceptions import ParameterError
from ..network.bits import n_words
from .distinct import ClassOrder, Cover, Distinct, Share, Turns, candidates_of
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
    if isinstance(evidence, Counts) and _worth_grouping(evidence, candidates, options):
        return cover_distinct(Distinct.of(evidence, order, candidates), options, progress)
    return cover_distinct(Distinct.alone(evidence, order, candidates), options, progress)


def _worth_grouping(counts: Counts, candidates: Turns, options: Recipe) -> bool:
    """Whether equal patterns are to be one column: not where points are few, nor where greed has a pool of points."""
    if options.detectors == "weighted":
        return True
    return counts.patterns.words.size > SMALL and (
        options.selection == "random" or all_at_once(candidates.values(), options)
    )


def cover_distinct(distinct: Distinct, options: Recipe, progress: Progress = silent) -> list[Cover]:
    """One cover for every target class, in points.

    Covers do not depend on one another. So each thread takes a whole class, the largest
    first, and no thread waits for others within it; those that find no class left help.
    """
    evidence, shares = distinct.evidence, distinct.shares
    sizes = [int(share.sizes.sum()) for share in shares]
    tally = _Tally(progress, evidence.threads, sum(sizes))
    weighted = options.detectors == "weighted"
    cover = weighted_covers(distinct) if weighted else _mask_covers(distinct, options, progress)
    anchors = distinct.order.rows if weighted or options.selection == "greedy" else distinct.leaders
    queue = sorted(range(len(shares)), key=lambda place: -sizes[place])
    heavy = evidence.cost(shares[queue[0]].rest) >= WORTH_A_THREAD
    threads = evidence.threads if heavy else SERIAL
    covers = dict(zip(queue, threads.map(lambda place: cover(shares[place], tally.of(place)), queue), strict=True))
    return [distinct.in_points(covers[place], anchors) for place in range(len(shares))]


def _mask_covers(distinct: Distinct, options: Recipe, progress: Progress) -> Callable[[Share, Progress], Cover]:
    """From a class to its cover with the masks of anchors, whose columns are distinct patterns."""
    evidence, shares = distinct.evidence, distinct.shares
    if len(shares) == len(distinct.order.starts) - 1:
        turns = [share.turns for share in shares]
        orders = None if options.selection == "greedy" and all_at_once(turns, options) else turns
        evidence = foresee(evidence, [share.target for share in shares], progress, orders)

    def cover(share: Share, tell: Progress) -> Cover:
        if options.selection == "greedy":
            return greedy_cover(evidence, *share[:3], options.greedy_memory, tell, share.sizes)
        return random_cover(evidence, *share[:3], tell, share.sizes)

    return cover


def all_at_once(candidates: Iterable[Columns], options: Recipe) -> bool:
    """Whether greed may look at all candidates of every class together."""
    largest = max(map(len, candidates))
    return largest <= pool_capacity(options.greedy_memory, largest)


def refuse_small_pool(candidates: Turns, options: Recipe) -> None:
    """Greed over distinct patterns looks at all points of a class together: its memory must allow that."""
    if options.selection == "greedy" and not all_at_once(candidates.values(), options):
        largest = max(map(len, candidates.values()))
        raise ParameterError(
            f'selection="greedy" takes {largest * 8 * n_words(largest):,} bytes for a class of {largest} points that '
            f'lie in parts: set greedy_memory to as much, or use selection="random"'
        )


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


def pool_capacity(memory: int, total: int) -> int:
    """How many packed coverage rows over a class of ``total`` points fit in ``memory`` bytes; at least one."""
    return max(1, memory // (8 * n_words(total)))


def greedy_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, memory: int, progress: Progress,
    sizes: Sizes | None = None,
) -> Cover:  # fmt: skip
    """Always the candidate that claims most unclaimed points, the lowest column on a tie.

    Candidates are all columns of the class if their packed coverage rows fit in
    ``memory`` bytes; otherwise a pool of as many as fit, taken in the given order and
    refilled from unclaimed untried columns whenever no candidate of it gains anything.
    ``sizes`` says how many points each target column stands for, without it one.
    """
    cover = Cover()
    start, total = target[0], target[1] - target[0]
    worth = np.ones(total, dtype=np.int64) if sizes is None else sizes.copy()
    capacity, n_points = pool_capacity(memory, total), int(worth.sum())
    untried = order
    while worth.any() and len(untried):
        pool, untried = np.sort(untried[:capacity]), untried[capacity:]
        candidates = _Pool.fill(evidence, pool, target, rest, progress)
        cover.n_rejected += int(worth[np.setdiff1d(pool, candidates.anchors) - start].sum())
        _drain(candidates, evidence, cover, worth, start)
        progress("detectors", n_points - int(worth.sum()), n_points)
        untried = untried[worth[untried - start] > 0]
    cover.uncovered = start + np.flatnonzero(worth)
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
        size = max(1, min(getattr(evidence, "pace", HERE).largest_block, HEIGHTS_AT_ONCE // total))
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


def _drain(pool: _Pool, evidence: Evidence, cover: Cover, worth: Sizes, start: int) -> None:
    """Take the best candidate until none gains anything.

    Gains only fall, so an outdated gain is an upper bound: the first candidate that
    keeps the lead after being counted anew is the best, and the lowest such column.
    """
    planes = np.concatenate([_pack((worth >> bit & 1 > 0)[None, :]) for bit in range(int(worth.max()).bit_length())])
    stale = np.empty(len(pool.anchors), dtype=np.int64)
    count_gains(pool.rows, planes, np.arange(len(stale)), stale)
    while len(stale) and stale.max() > 0:
        best = np.array([stale.argmax()])
        before = int(stale[best[0]])
        count_gains(pool.rows, planes, best, fresh := np.empty(1, dtype=np.int64))
        stale[best] = fresh
        if int(fresh[0]) < before:
            continue
        _take(pool, int(best[0]), evidence, cover, worth, start)
        planes &= ~pool.rows[best]
        stale[best] = 0


def _take(pool: _Pool, k: int, evidence: Evidence, cover: Cover, worth: Sizes, start: int) -> None:
    bits = np.unpackbits(pool.rows[k].view(np.uint8), bitorder="little", count=len(worth)).astype(bool)
    places = np.flatnonzero(bits & (worth > 0))
    claimed = worth[places].sum()
    worth[places] = 0
    # The anchor may be covered already; its own detector has to fire on it all the same.
    own = slice(k, k + 1)
    seen = evidence.select(np.append(start + places, pool.anchors[own]))
    exact = getattr(evidence, "exact", False)
    highest = pool.limits[own] if exact else evidence.heights(pool.anchors[own], seen).max(axis=1)
    stored = evidence.stored_limits(pool.limits[own], highest)
    cover.accept(pool.anchors[own], stored, pool.witnesses[own], np.array([claimed]))
