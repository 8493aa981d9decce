"""The first layer as it grows: hyperplanes, the bits of every point, and the pairs of points that are still open."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._support.console import Progress
from .._support.threads import Executor, Threads
from ..data import Codes, Matrix
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError, WidthLimitError
from ..options import Options
from .cover import cover_unique
from .evidence import Counts, Evidence
from .fallback_cuts import STALL_FROM, STALL_STEP, Cuts, Stall, claim_without_margin, coordinate_cuts, open_bisectors
from .hyperplanes import Hyperplanes, HyperplaneSampler, stream
from .memory import Widths
from .patterns import FORMATS, Line, Patterns, are_exact, patterns_of
from .separation import OpenPairs, SurePairs
from .unique_patterns import CandidateOrder, ClassOrder, Cover, UniquePatterns
from .values import Values

# With a margin drawing on is judged early: a block of bisectors closes 64 open pairs at least.
MARGIN_STEP = 128  # hyperplanes
BISECTORS = 2  # purpose of a stream of random numbers, beside those of ``hyperplanes``
BATCH_BLOCKS = 4  # whose sides are decided at a time: points are read once for 256 hyperplanes
LARGEST_BATCH = 16  # blocks at a time, where the least width asks for so many anyway
GAP_ROUNDS = 4  # of cuts that widen gaps; one is enough unless rounding is as large as the gaps


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Validated points and class codes, with what a fit of them goes by.

    X is rounded to ``options.exact_in``; equal points have equal labels; the margin is a distance.
    """

    X: Matrix
    y: Codes
    targets: tuple[int, ...]
    options: Options
    work: Executor

    @cached_property
    def order(self) -> ClassOrder:
        """The rows sorted by class: the columns of all patterns."""
        return ClassOrder.of(self.y)

    @cached_property
    def widths(self) -> Widths:
        """The widths that options and memory allow."""
        return Widths.of(self.X, self.options)

    @property
    def threads(self) -> Threads:
        """The threads of this fit."""
        return self.work.threads

    @property
    def progress(self) -> Progress:
        """The progress callback of this fit."""
        return self.work.progress

    def first_layer(self, sampler: HyperplaneSampler, candidates: CandidateOrder) -> FirstLayer:
        """Return a layer without hyperplanes, which is to grow."""
        return FirstLayer(self, sampler, candidates)

    def patterns(self, planes: Hyperplanes) -> Patterns:
        """Return the bits of all points, by row."""
        return patterns_of(self.X, planes, self.options, self.threads)

    def unique_patterns(
        self, planes: Hyperplanes, candidates: CandidateOrder, lines: list[Line] | None = None
    ) -> UniquePatterns:
        """Return the unique patterns of all points; ``lines`` are their bits by row, if these are known already."""
        rows, options = self.order.rows, self.options
        if lines is None:
            found = patterns_of(self.X, planes, options, self.threads, rows)
        elif options.is_weighted and are_exact(lines):
            exact = [line for line, _ in lines]
            return UniquePatterns.of_lines(exact, planes.count, self.order, candidates, self.threads)
        else:
            found = Patterns.from_lines(lines, planes.count, rows, self.threads)
        evidence: Evidence = Counts(found.on, self.threads, found.maybe)
        if not options.s.is_threshold:
            evidence = Values(self.X, rows, planes, found.maybe, options.s, self.threads, options.exact_in)
        return UniquePatterns.of_evidence(evidence, self.order, candidates, options.is_weighted, found.maybe)

    def claim_without_margin(
        self, planes: Hyperplanes, patterns: UniquePatterns, covers: list[Cover]
    ) -> UniquePatterns:
        """Add detectors for points that none claims with the margin; masks are what is off in what is returned."""
        if not (self.options.has_margin and any(len(cover.uncovered) for cover in covers)):
            return patterns
        rows, exact = self.order.rows, replace(self.options, margin=0.0)
        sure = patterns_of(self.X, planes, self.options, self.threads, rows)
        still = patterns_of(self.X, planes, exact, self.threads, rows).maybe
        evidence = Counts(sure.on, self.threads, still)
        masked = claim_without_margin(evidence, self.order, self.targets, covers, sure.maybe)
        return replace(patterns, masked=masked)


class FirstLayer:
    """A first layer that grows until every pair of a target and a rest point is separated."""

    planes: Hyperplanes  # once the layer is finished

    def __init__(self, data: TrainingSet, sampler: HyperplaneSampler, candidates: CandidateOrder) -> None:
        self.data, self.sampler, self.candidates, self.options = data, sampler, candidates, data.options
        self.pairs = self._open_pairs()
        self.blocks: list[Hyperplanes] = []
        self.lines: list[Line] = []  # by row; no bit beyond the hyperplanes is ever looked at
        self.n_fallback_cuts = 0
        self._drawn: list[tuple[Hyperplanes, Line]] = []  # blocks that are drawn already, the next one last
        step, first = (MARGIN_STEP, MARGIN_STEP) if data.options.has_margin else (STALL_STEP, STALL_FROM)
        self._stall = Stall(data.widths.smallest, step, first)

    def _open_pairs(self) -> OpenPairs:
        make = SurePairs if self.options.has_open_bits else OpenPairs
        return make(self.data.y, self.data.targets, threads=self.data.threads)

    @property
    def width(self) -> int:
        """The number of hyperplanes drawn so far."""
        return WORD_BITS * len(self.lines)

    def has_stalled(self) -> bool:
        """Return whether drawing on would separate hardly any further pair."""
        if self.pairs.closed or not self.options.fallback_cuts or not self._stall.due(self.width):
            return False
        return self._stall.stalled(self.width, self.pairs.n_point_pairs())

    def draw(self) -> Line:
        """Add the next block of hyperplanes, and return its bits at all points."""
        if self.width >= self.data.widths.largest:
            self._refuse(self.width, self.pairs)
        if not self._drawn:
            # Sides are decided for several blocks at a time, and for more of them where many are drawn anyway.
            drawn, least = len(self.lines), -(-self.data.widths.smallest // WORD_BITS)
            planes = self.sampler.blocks(drawn, drawn + max(BATCH_BLOCKS, min(least - drawn, LARGEST_BATCH)))
            self._drawn = list(zip(planes.blocks(), self.data.patterns(planes).lines, strict=True))[::-1]
        self._keep(*self._drawn.pop())
        return self.lines[-1]

    def _keep(self, block: Hyperplanes, line: Line) -> None:
        self.blocks.append(block)
        self.lines.append(line)
        if len(self.lines) % BATCH_BLOCKS == 0:
            self.data.progress("hyperplanes", self.width, None)

    def finish(self) -> None:
        """Close the pairs that are still open, and leave off hyperplanes that are not needed."""
        n_drawn = self.width
        if self.options.has_margin:
            self._bisect()
        self.data.progress("hyperplanes", self.width, None)
        n = self._needed_width()
        self.planes = Hyperplanes.joined(self.blocks).head(n)
        self.n_fallback_cuts = max(0, n - n_drawn)
        if not self.pairs.closed:
            self._add_cuts(coordinate_cuts(self.data.X, self.pairs.iter_point_pairs()))

    def _needed_width(self) -> int:
        """Return the number of hyperplanes after which no pair was open, and at least the smallest width."""
        if not self.pairs.closed:
            return self.width
        n = max(self.pairs.needed_width(), self.data.widths.smallest)
        if n > self.data.widths.largest:
            self._refuse(self.data.widths.largest, None)
        return n

    def _bisect(self) -> None:
        """Close what is open with bisectors: each closes its own pair at least, unless rounding is in the way."""
        rng = stream(self.sampler.root, BISECTORS)
        while not self.pairs.closed:
            n_open = self.pairs.n_point_pairs()
            if self.width >= self.data.widths.largest:
                self._refuse(self.width, self.pairs)
            block = open_bisectors(self.data.X, self.pairs, self.options, rng)
            self._keep(block, self.data.patterns(block).lines[0])
            self.pairs.add(*self.lines[-1])
            if not self.pairs.closed and self.pairs.n_point_pairs() == n_open:
                a, b = (int(rows[0]) for rows in next(self.pairs.iter_point_pairs()))
                raise NoGapError(
                    f"rounding errors leave no room for the margin between rows {a} and {b}: "
                    "use a smaller margin, center the data, or use exact_in=None"
                )

    def cover(self) -> tuple[UniquePatterns, list[Cover]]:
        """Return covers of all target classes, and the patterns that they are made of.

        Where rounding leaves a point without a gap, cuts widen it and the cover is made anew.
        """
        data, options = self.data, self.options
        for _ in range(GAP_ROUNDS):
            patterns = self._unique_patterns()
            covers = cover_unique(patterns, options, data.progress)
            if not any(len(cover.uncovered) for cover in covers):
                return patterns, covers
            if not options.fallback_cuts or not isinstance(patterns.evidence, Values):
                break
            self._add_cuts(self._gap_cuts(patterns.evidence, covers))
        rows = np.sort(data.order.rows[np.concatenate([cover.uncovered for cover in covers])])[:10]
        remedy = 'use activation="threshold", which is exact, fallback_cuts=True, or scale the data'
        if options.exact_in is not None:
            remedy = (
                f"scale the data up, so that labels differ by more than {options.exact_in} rounds, or use exact_in=None"
            )
        raise NoGapError(f"rounding errors leave no room for a limit at rows {', '.join(map(str, rows))}: {remedy}")

    def _unique_patterns(self) -> UniquePatterns:
        return self.data.unique_patterns(self.planes, self.candidates, self.lines)

    def _gap_cuts(self, values: Values, covers: list[Cover]) -> Cuts:
        """Return cuts between each uncovered point and the points of other classes that its mask cannot exclude."""
        order = self.data.order
        a, b = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for k, cover in zip(self.data.targets, covers, strict=True):
            for column in cover.uncovered:
                close = values.confusable(column, order.rest(k))
                a.append(np.full(len(close), order.rows[column]))
                b.append(order.rows[close])
        rows_a, rows_b = np.concatenate(a), np.concatenate(b)
        first = np.lexsort((rows_b, rows_a))
        return coordinate_cuts(self.data.X, [(rows_a[first].astype(np.int64), rows_b[first].astype(np.int64))])

    def _add_cuts(self, cuts: Cuts) -> None:
        """Append coordinate cuts; for real values scaled so that rounding cannot hide them."""
        if self.planes.count + len(cuts) > self.data.widths.largest:
            self._refuse(self.planes.count, None)
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
        known = Patterns.from_lines(self.lines, self.planes.count)
        self.lines = known.append(self.data.patterns(planes)).lines
        self.planes = self.planes.append(planes)

    def _scales(self, cuts: Cuts) -> NDArray[np.float64]:
        """Return powers of two that lift each cut's smallest positive value well above the rounding errors."""
        # The errors e(x) of all other hyperplanes are at most ``worst``; a cut's own error is a tiny part of its value.
        # So with value 32 * worst no gap can close.
        X, s, exact_in = self.data.X, self.options.s, self.options.exact_in
        known = Patterns.from_lines(self.lines, self.planes.count).maybe
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

    def _refuse(self, n: int, pairs: OpenPairs | None) -> None:
        widths = self.data.widths
        state = "pairs of points were still unseparated"
        if pairs is not None:
            count, exact = pairs.n_group_pairs()
            state = f"{'' if exact else 'at least '}{count} pairs of groups of points were still unseparated"
        raise WidthLimitError(
            f"with {n} hyperplanes, max_width={widths.largest}{'' if widths.asked else ' (what memory allows)'} "
            f"leaves no room, and {state}. "
            f"{'Raise max_width' if widths.asked else 'Use a fixed width, which may miss points'}, "
            "use fallback_cuts=True, or scale features so that different labels lie further apart."
        )
