"""Validated points, their bits and patterns; and the first layer as it grows, until every pair is separated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._support.console import Progress
from .._support.threads import Threads
from ..data import Codes, Matrix, Rows
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError, WidthLimitError
from ..options import Options
from .cover import cover_unique
from .fallback_cuts import STALL_FROM, STALL_STEP, Cuts, Stall, coordinate_cuts
from .hyperplanes import BISECTORS, Hyperplanes, HyperplaneSampler, stream
from .margins import claim_without_margin, open_bisectors
from .memory import Widths
from .patterns import FORMATS, BlockBits, Patterns, are_exact, patterns_of
from .separation import OpenPairs, SurePairs
from .unique_patterns import CandidateOrder, ClassOrder, Cover, UniquePatterns, candidates_of
from .values import Values

# With a margin drawing on is judged early: a block of bisectors closes 64 open pairs at least.
MARGIN_STEP = 128  # hyperplanes
BATCH_BLOCKS = 4  # whose sides are decided at a time: points are read once for 256 hyperplanes
LARGEST_BATCH = 16  # blocks at a time, where the least width asks for so many anyway
GAP_ROUNDS = 4  # of cuts that widen gaps; one is enough unless rounding is as large as the gaps


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Validated points and class codes, with what a fit of them needs.

    X is rounded to ``options.exact_in``; equal points have equal labels; the margin is a distance.
    """

    X: Matrix
    y: Codes
    classes: NDArray[np.int64]  # for which the codes stand
    targets: tuple[int, ...]  # codes of classes that get detectors
    candidate_order: np.random.SeedSequence | Rows  # the seed of the candidates' order, or all rows in that order
    options: Options
    threads: Threads
    progress: Progress

    @cached_property
    def order(self) -> ClassOrder:
        """The rows sorted by class: the columns of all patterns."""
        return ClassOrder.of(self.y)

    @cached_property
    def candidates(self) -> CandidateOrder:
        """The columns of every target class in the order in which they become candidates."""
        return candidates_of(self.order, self.targets, self.candidate_order)

    @cached_property
    def widths(self) -> Widths:
        """The widths that options and memory allow."""
        return Widths.of(self.X, self.options)

    def first_layer(self, sampler: HyperplaneSampler) -> FirstLayer:
        """Return a layer without hyperplanes, which is to grow."""
        return FirstLayer(self, sampler)

    def patterns(self, planes: Hyperplanes) -> Patterns:
        """Return the bits of all points, by row."""
        return patterns_of(self.X, planes, self.options, self.threads)

    def unique_patterns(self, planes: Hyperplanes, bits: list[BlockBits] | None = None) -> UniquePatterns:
        """Return what covers are made of; ``bits`` are those of all points, if they are known already."""
        bits, rows, options = bits or self.patterns(planes).blocks, self.order.rows, self.options
        if options.s.is_threshold:
            exact = are_exact(bits)
            return UniquePatterns.of_blocks(bits, planes.count, self.order, self.candidates, self.threads, exact=exact)
        maybe = Patterns.from_blocks(bits, planes.count, rows, self.threads).maybe
        values = Values(self.X, rows, planes, maybe, options.s, self.threads, options.exact_in)
        return UniquePatterns.of_evidence(values, self.order, self.candidates)

    def cover(self, planes: Hyperplanes, unique: UniquePatterns) -> list[Cover]:
        """Return a cover of every target class, in columns that are points."""
        covers = []
        for cover in cover_unique(unique, self.options, self.progress):
            if cover.weights is None:
                anchors = np.array(cover.anchors, dtype=np.intp)
                cover.bits = unique.evidence.may_be_on.take(anchors)
            covers.append(unique.in_points(cover))
        if self.options.has_margin and any(len(cover.uncovered) for cover in covers):
            sure, exact = (
                patterns_of(self.X, planes, options, self.threads, self.order.rows)
                for options in (self.options, replace(self.options, margin=0.0))
            )
            by_class = dict(zip(self.targets, covers, strict=True))
            claim_without_margin(sure.on, exact.maybe, self.order, by_class, self.threads)
        return covers


class FirstLayer:
    """A first layer that grows until every pair of a target and a rest point is separated."""

    planes: Hyperplanes  # once the layer is finished

    def __init__(self, data: TrainingSet, sampler: HyperplaneSampler) -> None:
        self.data, self.sampler, self.options = data, sampler, data.options
        self.pairs = self._open_pairs()
        self.blocks: list[Hyperplanes] = []
        self.bits: list[BlockBits] = []  # of each block, by row; no bit beyond the hyperplanes is ever looked at
        self.n_fallback_cuts = 0
        self._drawn: list[tuple[Hyperplanes, BlockBits]] = []  # blocks that are drawn already, the next one last
        step, first = (MARGIN_STEP, MARGIN_STEP) if data.options.has_margin else (STALL_STEP, STALL_FROM)
        self._stall = Stall(data.widths.smallest, step, first)

    def _open_pairs(self) -> OpenPairs:
        make = SurePairs if self.options.has_open_bits else OpenPairs
        return make(self.data.y, self.data.targets, threads=self.data.threads)

    @property
    def width(self) -> int:
        """The number of hyperplanes drawn so far."""
        return WORD_BITS * len(self.bits)

    def has_stalled(self) -> bool:
        """Return whether drawing on would separate hardly any further pair."""
        if self.pairs.closed or not self.options.fallback_cuts or not self._stall.due(self.width):
            return False
        return self._stall.stalled(self.width, self.pairs.n_point_pairs())

    def draw(self) -> BlockBits:
        """Add the next block of hyperplanes, and return its bits at all points."""
        if self.width >= self.data.widths.largest:
            self._refuse(self.width)
        if not self._drawn:
            # Sides are decided for several blocks at a time, and for more of them where many are drawn anyway.
            drawn, least = len(self.bits), -(-self.data.widths.smallest // WORD_BITS)
            planes = self.sampler.blocks(drawn, drawn + max(BATCH_BLOCKS, min(least - drawn, LARGEST_BATCH)))
            self._drawn = list(zip(planes.blocks(), self.data.patterns(planes).blocks, strict=True))[::-1]
        self._keep(*self._drawn.pop())
        return self.bits[-1]

    def _keep(self, block: Hyperplanes, bits: BlockBits) -> None:
        self.blocks.append(block)
        self.bits.append(bits)
        if len(self.bits) % BATCH_BLOCKS == 0:
            self.data.progress("hyperplanes", self.width, None)

    def finish(self) -> None:
        """Close the pairs that are still open, and leave off hyperplanes that are not needed."""
        n_drawn = self.width
        if self.options.has_margin:
            self._bisect()
        self.data.progress("hyperplanes", self.width, None)
        n = self.width
        if self.pairs.closed:
            # The hyperplane that separated the last pair need not be the last one of its block.
            n = max(self.pairs.needed_width(), self.data.widths.smallest)
            if n > self.data.widths.largest:
                self._refuse(self.data.widths.largest)
        self.planes = Hyperplanes.joined(self.blocks).first(n)
        self.n_fallback_cuts = max(0, n - n_drawn)  # bisectors, so far
        if not self.pairs.closed:  # after a stall without a margin
            self._add_cuts(coordinate_cuts(self.data.X, self.pairs.iter_point_pairs()))

    def _bisect(self) -> None:
        """Close what is open with bisectors: each closes its own pair at least, unless rounding is in the way."""
        rng = stream(self.sampler.root, BISECTORS)
        while not self.pairs.closed:
            n_open = self.pairs.n_point_pairs()
            if self.width >= self.data.widths.largest:
                self._refuse(self.width)
            block = open_bisectors(self.data.X, self.pairs, self.options, rng)
            self._keep(block, self.data.patterns(block).blocks[0])
            self.pairs.add(*self.bits[-1])
            if not self.pairs.closed and self.pairs.n_point_pairs() == n_open:
                a, b = (int(rows[0]) for rows in next(self.pairs.iter_point_pairs()))
                raise NoGapError(
                    f"rounding errors leave no room for the margin between rows {a} and {b}: "
                    "use a smaller margin, center the data, or use exact_in=None"
                )

    def cover(self) -> list[Cover]:
        """Return covers of all target classes; where rounding leaves points without a gap, cuts widen it first."""
        for _ in range(GAP_ROUNDS):
            unique = self._unique_patterns()
            covers = self.data.cover(self.planes, unique)
            if not any(len(cover.uncovered) for cover in covers):
                return covers
            if not self.options.fallback_cuts or not isinstance(unique.evidence, Values):
                break
            self._widen_gaps(unique.evidence, covers)
        rows = np.sort(self.data.order.rows[np.concatenate([cover.uncovered for cover in covers])])[:10]
        remedy = 'use activation="threshold", which is exact, fallback_cuts=True, or scale the data'
        if self.options.exact_in is not None:
            exact_in = self.options.exact_in
            remedy = f"scale the data up, so that labels differ by more than {exact_in} rounds, or use exact_in=None"
        raise NoGapError(f"rounding errors leave no room for a limit at rows {', '.join(map(str, rows))}: {remedy}")

    def _widen_gaps(self, values: Values, covers: list[Cover]) -> None:
        """Cut between each uncovered point and the points of other classes that its mask cannot exclude."""
        order, pairs = self.data.order, []
        for k, cover in zip(self.data.targets, covers, strict=True):
            for column in cover.uncovered:
                close = order.rows[values.confusable(column, order.rest(k))]
                pairs.append(np.column_stack([np.full(len(close), order.rows[column]), close]))
        a, b = np.unique(np.concatenate(pairs), axis=0).T
        self._add_cuts(coordinate_cuts(self.data.X, [(a, b)]))

    def _unique_patterns(self) -> UniquePatterns:
        return self.data.unique_patterns(self.planes, self.bits)

    def _add_cuts(self, cuts: Cuts) -> None:
        """Append coordinate cuts; for real values scaled so that rounding cannot hide them."""
        if self.planes.count + len(cuts) > self.data.widths.largest:
            self._refuse(self.planes.count)
        is_threshold = self.options.s.is_threshold
        scales = np.ones(len(cuts)) if is_threshold else self._scales(cuts)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers, biases = cuts.sign * scales, -cuts.sign * scales * cuts.threshold
            short = numbers.astype(np.float32)
        entries = short if (short == numbers).all() else numbers, (np.arange(len(cuts)), cuts.feature)
        weights = sp.csr_array(entries, shape=(len(cuts), self.data.X.shape[1]))
        added = Hyperplanes(weights if sp.issparse(self.planes.weights) else weights.toarray(), biases)
        largest = np.inf if self.options.exact_in is None else FORMATS[self.options.exact_in].huge
        if not (max(scales.max(), np.abs(added.biases).max()) < largest):
            remedy = 'use activation="threshold", which is exact'
            if is_threshold:
                remedy = f"scale the data so that {self.options.exact_in} holds them, or use exact_in=None"
            raise NoGapError(f"points lie too close for their size: a cut overflows: {remedy}")
        self.n_fallback_cuts += added.count
        self._append(added)

    def _append(self, planes: Hyperplanes) -> None:
        known = Patterns.from_blocks(self.bits, self.planes.count)
        self.bits = known.append(self.data.patterns(planes)).blocks
        self.planes = self.planes.append(planes)

    def _scales(self, cuts: Cuts) -> NDArray[np.float64]:
        """Return powers of two that lift each cut's smallest positive value well above the rounding errors."""
        # The errors e(x) of all other hyperplanes are at most ``worst``; a cut's own error is a tiny part of its value.
        # So with value 32 * worst no gap can close.
        X, s, exact_in = self.data.X, self.options.s, self.options.exact_in
        known = Patterns.from_blocks(self.bits, self.planes.count).maybe
        values = Values(X, np.arange(X.shape[0]), self.planes, known, s, self.data.threads, exact_in)
        worst, gaps = 0.0, np.full(len(cuts), np.inf)
        for tile in row_tiles(X):
            points = dense_rows(X, tile)
            worst = max(worst, float(values.errors(points).max()))
            with np.errstate(over="ignore"):
                ahead = cuts.sign * (points[:, cuts.feature] - cuts.threshold)
            gaps = np.minimum(gaps, np.where(ahead > 0, ahead, np.inf).min(axis=0))
        if not 0 < worst < np.inf:
            return np.full(len(cuts), np.inf if worst else 1.0)
        exponents = math.frexp(32 * worst)[1] - np.frexp(np.minimum(gaps, np.finfo(np.float64).max))[1] + 1
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(1.0, np.maximum(exponents, 0)))

    def _refuse(self, n: int) -> None:
        asked, state = self.data.widths.asked, "pairs of points were still unseparated"
        if not self.pairs.closed:
            count, exact = self.pairs.n_group_pairs()
            state = f"{'' if exact else 'at least '}{count} pairs of groups of points were still unseparated"
        raise WidthLimitError(
            f"with {n} hyperplanes, max_width={self.data.widths.largest}{'' if asked else ' (what memory allows)'} "
            f"leaves no room, and {state}. "
            f"{'Raise max_width' if asked else 'Use a fixed width, which may miss points'}, "
            "use fallback_cuts=True, or scale features so that different labels lie further apart."
        )
