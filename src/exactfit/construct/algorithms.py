"""Algorithm 1: hyperplanes until every pair of different labels is separated. Algorithm 2: as many as are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._support.threads import Executor, Threads
from ..data import ChunkedPoints, Codes, Matrix
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError, WidthLimitError
from ..network.bits import BitMatrix
from ..options import Options
from .construction import Construction, assemble
from .cover import cover_classes, cover_distinct, gather_evidence
from .evidence import Counts
from .fallback_cuts import STALL_FROM, STALL_STEP, Cuts, Stall, claim_without_margin, coordinate_cuts, open_bisectors
from .hyperplanes import FixedFirstLayer, Hyperplanes, HyperplaneSampler, Source, make_sampler, stream
from .memory import Widths
from .patterns import FORMATS, Line, Patterns, SurePairs, are_exact, patterns_of
from .separation import OpenPairs
from .unique_patterns import ClassOrder, Cover, UniquePatterns, candidates_of
from .values import Values

BLOCKS_AT_ONCE = 8  # that wait for rows of points in parts: more would not make the way to them shorter


@dataclass(frozen=True, eq=False)
class Setup:
    """What a fit starts from.

    X has passed the gate and is rounded to ``options.exact_in``; equal points have equal labels.
    """

    X: Matrix
    y: Codes
    targets: tuple[int, ...]
    options: Options
    order: ClassOrder
    widths: Widths
    sampler: HyperplaneSampler | None  # None: the hyperplanes are given

    @classmethod
    def of(
        cls, X: Matrix, y: Codes, targets: tuple[int, ...], options: Options, given: FixedFirstLayer | None = None
    ) -> Setup:
        """Look at the points as far as options and sampler of hyperplanes ask for it."""
        sampler = None if given and given.planes else make_sampler(X, y, targets, options)
        return cls(X, y, targets, options, ClassOrder.of(y), Widths.of(X, options), sampler)

    def source(self, root: np.random.SeedSequence) -> Source:
        """The supply of hyperplanes that the options ask for."""
        assert self.sampler is not None
        waits = isinstance(self.X, ChunkedPoints) and self.options.hyperplanes != "gaussian"
        return Source(root, self.sampler, self.options.exact_in, BLOCKS_AT_ONCE if waits else 1)

    @property
    def is_chunked(self) -> bool:
        """Whether points lie in parts, and the options ask for nothing that needs them in one place."""
        return isinstance(self.X, ChunkedPoints) and not self.options.has_open_bits


def algorithm_2(
    setup: Setup, root: np.random.SeedSequence, work: Executor, given: FixedFirstLayer | None = None
) -> Construction:
    """Draw ``options.width`` hyperplanes, if they are not given, and cover each target class as far as they allow."""
    X, targets, options, order = setup.X, setup.targets, setup.options, setup.order
    given = given or FixedFirstLayer()
    planes = given.planes or setup.source(root).first(setup.widths.largest)  # line 1
    candidate_order = root if given.order is None else given.order
    if setup.is_chunked:
        candidates = candidates_of(order, targets, candidate_order)
        unique = X.unique_patterns(planes, order, candidates, work.threads)
        covers = cover_distinct(unique, options, work.progress)
        return assemble(planes, unique, order, targets, covers, options.s)
    patterns = patterns_of(X, planes, options, work.threads, order.rows)
    evidence = gather_evidence(X, order, planes, patterns, options, work.threads)
    covers = cover_classes(evidence, order, targets, options, candidate_order, work.progress)  # lines 2-10
    masked = patterns.maybe
    if options.has_margin and any(len(cover.uncovered) for cover in covers):
        still = patterns_of(X, planes, replace(options, margin=0.0), work.threads, order.rows).maybe
        masked = claim_without_margin(Counts(patterns.on, work.threads, still), order, targets, covers, masked)
    return assemble(planes, masked, order, targets, covers, options.s)  # lines 11-12


Take = Callable[[], tuple[Hyperplanes, Line]]

# With a margin drawing on is judged early: a block of bisectors closes 64 open pairs at least.
MARGIN_STEP = 128  # hyperplanes
BISECTORS = 2  # purpose of a stream of random numbers, beside those of ``hyperplanes``
BATCH_BLOCKS = 4  # whose sides are decided at a time: points are read once for 256 hyperplanes
LARGEST_BATCH = 16  # blocks at a time, where the least width asks for so many anyway
GAP_ROUNDS = 4  # of cuts that widen gaps; one is enough unless rounding is as large as the gaps


def algorithm_1(setup: Setup, root: np.random.SeedSequence, work: Executor) -> Construction:
    """Draw hyperplanes until no pair is open, and cover each target class."""
    layer = GrowingLayer(setup, work)
    layer.separate(setup.source(root))  # lines 1-8
    covers, patterns = _cover(layer, root)  # lines 9-14
    return assemble(
        layer.planes, patterns, setup.order, setup.targets, covers, setup.options.s, layer.n_fallback_cuts
    )  # lines 15-16


class GrowingLayer:
    """Hyperplanes and the sides of all points, line by line, as they grow."""

    def __init__(self, setup: Setup, work: Executor) -> None:
        self.setup, self.X, self.options, self.widths = setup, setup.X, setup.options, setup.widths
        self.threads, self.progress = work.threads, work.progress
        self.planes: Hyperplanes
        self.lines: list[Line]  # points in row order; no bit beyond the hyperplanes is ever looked at
        self.n_fallback_cuts = 0

    def separate(self, source: Source) -> None:
        """Algorithm 1, lines 3-7: draw until nothing is open and the width is large enough."""
        make = SurePairs if self.options.has_open_bits else OpenPairs
        pairs = make(self.setup.y, self.setup.targets, threads=self.threads)
        batches = Batches(self.setup, source, self.threads)
        blocks, lines = self._draw(pairs, batches.take)
        n_drawn = WORD_BITS * len(lines)
        if self.options.has_margin:
            self._bisect(blocks, lines, pairs, stream(source.root, BISECTORS))
        self._keep(blocks, lines, pairs)
        if self.options.has_margin:
            self.n_fallback_cuts = max(0, self.planes.count - n_drawn)
        if not pairs.closed:
            self.add_cuts(coordinate_cuts(self.X, pairs.iter_point_pairs()))

    def _draw(self, pairs: OpenPairs, take: Take) -> tuple[list[Hyperplanes], list[Line]]:
        """Blocks until nothing is open and the width is large enough, or drawing on is no use."""
        stall = Stall(self.widths.smallest, *self._patience)
        blocks: list[Hyperplanes] = []
        lines: list[Line] = []
        while not pairs.closed:
            n = WORD_BITS * len(lines)
            if n >= self.widths.largest:
                self._refuse(n, pairs)
            if self.options.fallback_cuts and stall.due(n) and stall.stalled(n, pairs.n_point_pairs()):
                break
            block, line = take()
            blocks.append(block)
            lines.append(line)
            pairs.add(*line)
            if len(lines) % BATCH_BLOCKS == 0:
                self.progress("hyperplanes", n + WORD_BITS, None)
        while WORD_BITS * len(lines) < self.widths.smallest:  # nothing is open any more
            block, line = take()
            blocks.append(block)
            lines.append(line)
            if len(lines) % LARGEST_BATCH == 0:
                self.progress("hyperplanes", WORD_BITS * len(lines), None)
        self.progress("hyperplanes", WORD_BITS * len(lines), None)
        return blocks, lines

    @property
    def _patience(self) -> tuple[int, int]:
        """After how many draws a stall is looked for, and from when on."""
        return (MARGIN_STEP, MARGIN_STEP) if self.options.has_margin else (STALL_STEP, STALL_FROM)

    def _bisect(self, blocks: list[Hyperplanes], lines: list[Line], pairs: OpenPairs, rng: np.random.Generator) -> None:
        """Close what is open with bisectors: each closes its own pair at least, unless rounding is in the way."""
        while not pairs.closed:
            n, n_open = WORD_BITS * len(lines), pairs.n_point_pairs()
            if n >= self.widths.largest:
                self._refuse(n, pairs)
            blocks.append(open_bisectors(self.X, pairs, self.options, rng))
            lines += patterns_of(self.X, blocks[-1], self.options, self.threads).lines
            pairs.add(*lines[-1])
            if not pairs.closed and pairs.n_point_pairs() == n_open:
                a, b = (int(rows[0]) for rows in next(pairs.iter_point_pairs()))
                raise NoGapError(
                    f"rounding errors leave no room for the margin between rows {a} and {b}: "
                    "use a smaller margin, center the data, or use exact_in=None"
                )
            self.progress("hyperplanes", n + WORD_BITS, None)

    def _keep(self, blocks: list[Hyperplanes], lines: list[Line], pairs: OpenPairs) -> None:
        """Cut off what the last block drew beyond the width (line 8)."""
        n = self._width(len(lines), pairs)
        self.planes, self.lines = Hyperplanes.joined(blocks).head(n), lines

    def patterns(self, rows: NDArray[np.intp] | None = None) -> Patterns:
        """The patterns of all points, or of the given ones, in order."""
        return Patterns.from_lines(self.lines, self.planes.count, rows, self.threads)

    def _width(self, n_blocks: int, pairs: OpenPairs) -> int:
        """How many of the hyperplanes drawn are needed."""
        if not pairs.closed:
            return WORD_BITS * n_blocks
        n = max(pairs.needed_width(), self.widths.smallest)
        if n > self.widths.largest:
            self._refuse(self.widths.largest, None)
        return n

    def add_cuts(self, cuts: Cuts) -> None:
        """Append coordinate cuts; for real values scaled so that rounding cannot hide them."""
        if self.planes.count + len(cuts) > self.widths.largest:
            self._refuse(self.planes.count, None)
        scales = np.ones(len(cuts)) if self.options.s.is_threshold else self._scales(cuts)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers, biases = cuts.sign * scales, -cuts.sign * scales * cuts.threshold
            short = numbers.astype(np.float32)
        entries = short if (short == numbers).all() else numbers, (np.arange(len(cuts)), cuts.feature)
        weights = sp.csr_array(entries, shape=(len(cuts), self.X.shape[1]))
        added = Hyperplanes(weights if sp.issparse(self.planes.weights) else weights.toarray(), biases)
        largest = np.inf if self.options.exact_in is None else FORMATS[self.options.exact_in].huge
        if not (max(scales.max(), np.abs(added.biases).max()) < largest):
            remedy = 'use activation="threshold", which is exact'
            if self.options.s.is_threshold:
                remedy = f"scale the data so that {self.options.exact_in} holds them, or use exact_in=None"
            raise NoGapError(f"points lie too close for their size: a cut overflows: {remedy}")
        self.n_fallback_cuts += added.count
        self._add(added)

    def _add(self, planes: Hyperplanes) -> None:
        self.lines = self.patterns().append(patterns_of(self.X, planes, self.options, self.threads)).lines
        self.planes = self.planes.append(planes)

    def _scales(self, cuts: Cuts) -> NDArray[np.float64]:
        """Powers of two that lift each cut's smallest positive value well above the rounding errors.

        The errors e(x) of all other hyperplanes are at most ``worst``; a cut's own error is
        a tiny share of its value. So with value 32 * worst no gap can close.
        """
        rows = np.arange(self.X.shape[0])
        evidence = Values(
            self.X, rows, self.planes, self.patterns().maybe, self.options.s, self.threads, self.options.exact_in
        )
        worst, gaps = 0.0, np.full(len(cuts), np.inf)
        for tile in row_tiles(self.X):
            points = dense_rows(self.X, tile)
            worst = max(worst, float(evidence.errors(points).max()))
            with np.errstate(over="ignore"):
                ahead = cuts.sign * (points[:, cuts.feature] - cuts.threshold)
            gaps = np.minimum(gaps, np.where(ahead > 0, ahead, np.inf).min(axis=0))
        if not 0 < worst < np.inf:
            return np.full(len(cuts), np.inf if worst else 1.0)
        exponents = math.frexp(32 * worst)[1] - np.frexp(np.minimum(gaps, np.finfo(np.float64).max))[1] + 1
        with np.errstate(over="ignore"):
            scales: NDArray[np.float64] = np.ldexp(1.0, np.maximum(exponents, 0))
        return scales

    def _refuse(self, n: int, pairs: OpenPairs | None) -> None:
        reason = "" if self.widths.asked else " (what memory allows)"
        state = "pairs of points were still unseparated"
        if pairs is not None:
            count, exact = pairs.n_group_pairs()
            state = f"{'' if exact else 'at least '}{count} pairs of groups of points were still unseparated"
        raise WidthLimitError(
            f"with {n} hyperplanes, max_width={self.widths.largest}{reason} leaves no room, and {state}. "
            f"{'Raise max_width' if self.widths.asked else 'Use a fixed width, which may miss points'}, "
            "use fallback_cuts=True, or scale features so that different labels lie further apart."
        )


class Batches:
    """Blocks of hyperplanes with every point's sides, computed a few at a time: more where many are drawn anyway."""

    def __init__(self, setup: Setup, source: Source, threads: Threads) -> None:
        self.X, self.source, self.options, self.threads = setup.X, source, setup.options, threads
        self.least = -(-setup.widths.smallest // WORD_BITS)
        self.ready: list[tuple[Hyperplanes, Line]] = []
        self.drawn = 0

    def take(self) -> tuple[Hyperplanes, Line]:
        """The next block."""
        if not self.ready:
            ahead = max(BATCH_BLOCKS, min(self.least - self.drawn, LARGEST_BATCH))
            planes = self.source.blocks(self.drawn, self.drawn + ahead)
            blocks, lines = planes.blocks(), patterns_of(self.X, planes, self.options, self.threads).lines
            self.ready = list(zip(blocks, lines, strict=True))[::-1]
            self.drawn += ahead
        return self.ready.pop()


def _cover(layer: GrowingLayer, root: np.random.SeedSequence) -> tuple[list[Cover], BitMatrix | UniquePatterns]:
    """Lines 9-14, and the patterns in class order that they go by.

    Where rounding leaves a point without a gap, cuts widen it and the cover is made anew.
    """
    options, order, targets = layer.options, layer.setup.order, layer.setup.targets
    if options.is_weighted and are_exact(layer.lines):
        lines = [line for line, _ in layer.lines]
        candidates = candidates_of(order, targets, root)
        unique = UniquePatterns.of_lines(lines, layer.planes.count, order, candidates, layer.threads)
        return cover_distinct(unique, options, layer.progress), unique
    for _ in range(GAP_ROUNDS):
        patterns = layer.patterns(order.rows)
        evidence = gather_evidence(layer.X, order, layer.planes, patterns, options, layer.threads)
        covers = cover_classes(evidence, order, targets, options, root, layer.progress)
        if not any(len(cover.uncovered) for cover in covers):
            return covers, patterns.maybe
        if not options.fallback_cuts or not isinstance(evidence, Values):
            break
        layer.add_cuts(_gap_cuts(layer.X, order, targets, evidence, covers))
    rows = np.sort(order.rows[np.concatenate([cover.uncovered for cover in covers])])[:10]
    remedy = 'use activation="threshold", which is exact, fallback_cuts=True, or scale the data'
    if options.exact_in is not None:
        remedy = (
            f"scale the data up, so that labels differ by more than {options.exact_in} rounds, or use exact_in=None"
        )
    raise NoGapError(f"rounding errors leave no room for a limit at rows {', '.join(map(str, rows))}: {remedy}")


def _gap_cuts(X: Matrix, order: ClassOrder, targets: tuple[int, ...], evidence: Values, covers: list[Cover]) -> Cuts:
    """Cuts for every uncovered point and the points of other classes that crowd it."""
    a, b = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for k, cover in zip(targets, covers, strict=True):
        for column in cover.uncovered:
            close = evidence.crowding(column, order.rest(k))
            a.append(np.full(len(close), order.rows[column]))
            b.append(order.rows[close])
    rows_a, rows_b = np.concatenate(a), np.concatenate(b)
    first = np.lexsort((rows_b, rows_a))
    return coordinate_cuts(X, [(rows_a[first].astype(np.int64), rows_b[first].astype(np.int64))])
