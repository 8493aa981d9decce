"""Algorithm 1: draw hyperplanes until every pair of different labels is separated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Threads
from ..exceptions import NoGapError, ParameterError, WidthLimitError
from ..network.bits import WORD_BITS
from ..network.sides import dense_rows, row_tiles
from .construction import Construction
from .cover import Cover
from .evidence import ClassOrder
from .fixed import hyperplane_source
from .hyperplanes import Hyperplanes, Seed, Source, seed_sequence
from .labels import refuse_conflicts, refuse_not_finite
from .memory import largest_width, refuse_too_large
from .one_vs_rest import assemble, check_data, choose_targets, cover_classes, gather_evidence
from .patterns import FORMATS, Line, Patterns, patterns_of, rounded
from .recipe import Recipe, check_whole
from .rescue import Cuts, Stall, coordinate_cuts
from .separation import OpenPairs
from .sure_pairs import SurePairs
from .values import Values

Matrix = Any
Codes = NDArray[np.int64]

BATCH_BLOCKS = 4
GAP_ROUNDS = 4


def adaptive_width(
    X: Matrix, y: Any, recipe: Recipe | None = None, rng: Seed = None, *,
    min_width: int = 0, max_width: int | None = None, rescue: bool = True, check: bool = True,
) -> Construction:  # fmt: skip
    """Build a network that interpolates, with as many hyperplanes as that takes (Algorithm 1).

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (n_points, d)
    y : array of int, shape (n_points,)
        Class codes 0..K-1.
    recipe : Recipe, optional
    rng : int, Generator, SeedSequence or None
    min_width : int
        Draw at least so many (the paper's n_min).
    max_width : int, optional
        Give up beyond so many; what memory allows by default.
    rescue : bool
        When random draws stall, finish with coordinate cuts; False is the paper's loop.
    check : bool
        Whether to look for NaN, infinity and equal points with different labels first;
        pass False only where that has been done.

    Returns
    -------
    Construction

    Raises
    ------
    WidthLimitError
        If ``max_width`` hyperplanes leave pairs unseparated.
    NoGapError
        If rounding leaves no room for a limit (real-valued activations only).

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> made = adaptive_width(np.array([[1.0], [np.nextafter(1.0, 2.0)]]), np.array([0, 1]), rng=0)
    >>> made.outcome.interpolates
    True
    """
    recipe = recipe or Recipe()
    codes = check_data(X, y)
    limits = _check_widths(X, min_width, max_width, recipe.exact_in)
    targets = choose_targets(codes, recipe.target)
    if check:
        refuse_not_finite(X)
    X = rounded(X, recipe.exact_in)
    if check:
        refuse_conflicts(X, codes, recipe.exact_in)
    root = seed_sequence(rng)
    source = hyperplane_source(X, codes, targets, recipe, root)
    order = ClassOrder.of(codes)
    with Threads(recipe.n_jobs) as threads:
        layer = _FirstLayer(X, recipe, limits, threads)
        layer.separate(codes, targets, source, rescue)  # lines 1-8
        covers = _cover(layer, order, targets, recipe, root, rescue)  # lines 9-14
    patterns = layer.patterns.maybe.take(order.rows)
    return assemble(layer.planes, patterns, order, targets, covers, recipe.s, layer.n_rescued)  # lines 15-16


@dataclass(frozen=True)
class _Widths:
    smallest: int
    largest: int
    asked: bool


def _check_widths(X: Matrix, min_width: int, max_width: int | None, exact_in: str | None) -> _Widths:
    smallest = check_whole("min_width", min_width, at_least=0)
    refuse_too_large(smallest, X, exact_in)
    if max_width is None:
        return _Widths(smallest, max(smallest, largest_width(X, exact_in)), False)
    largest = check_whole("max_width", max_width, at_least=1)
    if largest < smallest:
        raise ParameterError(f"max_width={largest} is below min_width={smallest}")
    return _Widths(smallest, largest, True)


class _FirstLayer:
    """Hyperplanes and patterns (points in row order) as they grow."""

    def __init__(self, X: Matrix, recipe: Recipe, widths: _Widths, threads: Threads) -> None:
        self.X, self.recipe, self.widths, self.threads = X, recipe, widths, threads
        self.planes: Hyperplanes
        self.patterns: Patterns
        self.n_rescued = 0

    def separate(self, y: Codes, targets: tuple[int, ...], source: Source, rescue: bool) -> None:
        """Algorithm 1, lines 3-7: draw until nothing is open and the width is large enough."""
        make = OpenPairs if self.recipe.exact_in is None else SurePairs
        pairs, stall = make(y, targets, threads=self.threads), Stall(self.widths.smallest)
        blocks: list[Hyperplanes] = []
        lines: list[Line] = []
        batches = _Batches(self.X, source, self.recipe.exact_in, self.threads)
        while not (pairs.closed and WORD_BITS * len(lines) >= self.widths.smallest):
            n = WORD_BITS * len(lines)
            if n >= self.widths.largest:
                self._refuse(n, pairs)
            if rescue and stall.due(n) and stall.stalled(n, pairs.n_point_pairs()):
                break
            block, line = batches.take()
            blocks.append(block)
            lines.append(line)
            pairs.add(*line)
            self.recipe.progress("hyperplanes", n + WORD_BITS, None)
        self._keep(blocks, lines, pairs)
        if not pairs.closed:
            self.add_cuts(coordinate_cuts(self.X, pairs.iter_point_pairs()))

    def _keep(self, blocks: list[Hyperplanes], lines: list[Line], pairs: OpenPairs) -> None:
        """Cut off what the last block drew beyond the width (line 8)."""
        n = WORD_BITS * len(lines)
        if pairs.closed:
            n = max(pairs.needed_width(), self.widths.smallest)
            if n > self.widths.largest:
                self._refuse(self.widths.largest, None)
        planes = Hyperplanes(
            np.concatenate([block.weights for block in blocks]), np.concatenate([block.biases for block in blocks])
        )
        self.planes = planes.head(n)
        self.patterns = Patterns.from_lines(lines, n)

    def add_cuts(self, cuts: Cuts) -> None:
        """Append coordinate cuts; for real values scaled so that rounding cannot hide them."""
        if self.planes.count + len(cuts) > self.widths.largest:
            self._refuse(self.planes.count, None)
        scales = np.ones(len(cuts)) if self.recipe.s.is_threshold else self._scales(cuts)
        weights = np.zeros((len(cuts), self.X.shape[1]))
        weights[np.arange(len(cuts)), cuts.feature] = cuts.sign * scales
        with np.errstate(over="ignore", invalid="ignore"):
            short = weights.astype(np.float32)
            added = Hyperplanes(short if (short == weights).all() else weights, -cuts.sign * scales * cuts.threshold)
        largest = np.inf if self.recipe.exact_in is None else FORMATS[self.recipe.exact_in].huge
        if not (max(scales.max(), np.abs(added.biases).max()) < largest):
            raise NoGapError(
                "points lie too close for their size: a scaled cut overflows. "
                'Use activation="threshold", which is exact.'
            )
        n = self.planes.count
        self.patterns = self.patterns.append(patterns_of(self.X, added, self.recipe.exact_in, self.threads))
        self.planes = self.planes.append(added)
        self.n_rescued += self.planes.count - n

    def _scales(self, cuts: Cuts) -> NDArray[np.float64]:
        """Powers of two that lift each cut's smallest positive value well above the rounding errors.

        The errors e(x) of all other hyperplanes are at most ``worst``; a cut's own error is
        a tiny share of its value. So with value 32 * worst no gap can close.
        """
        rows = np.arange(self.X.shape[0])
        evidence = Values(
            self.X, rows, self.planes, self.patterns.maybe, self.recipe.s, self.threads, self.recipe.exact_in
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
            "Raise max_width, use rescue=True, or scale features so that different labels lie further apart."
        )


class _Batches:
    """Blocks of hyperplanes with every point's sides, computed a few at a time."""

    def __init__(self, X: Matrix, source: Source, exact_in: str | None, threads: Threads) -> None:
        self.X, self.source, self.exact_in, self.threads = X, source, exact_in, threads
        self.ready: list[tuple[Hyperplanes, Line]] = []
        self.drawn = 0

    def take(self) -> tuple[Hyperplanes, Line]:
        if not self.ready:
            blocks = [self.source.block(self.drawn + k) for k in range(BATCH_BLOCKS)]
            self.drawn += BATCH_BLOCKS
            weights = np.concatenate([block.weights for block in blocks])
            biases = np.concatenate([block.biases for block in blocks])
            patterns = patterns_of(self.X, Hyperplanes(weights, biases), self.exact_in, self.threads)
            self.ready = list(zip(blocks, patterns.lines, strict=True))[::-1]
        return self.ready.pop()


def _cover(
    layer: _FirstLayer, order: ClassOrder, targets: tuple[int, ...], recipe: Recipe, root: np.random.SeedSequence,
    rescue: bool,
) -> list[Cover]:  # fmt: skip
    """Lines 9-14; where rounding leaves a point without a gap, cuts widen it and the cover is made anew."""
    for _ in range(GAP_ROUNDS):
        patterns = layer.patterns.take(order.rows)
        evidence = gather_evidence(layer.X, order, layer.planes, patterns, recipe, layer.threads)
        covers = cover_classes(evidence, order, targets, recipe, root)
        if not any(len(cover.uncovered) for cover in covers):
            return covers
        if not rescue or not isinstance(evidence, Values):
            break
        layer.add_cuts(_gap_cuts(layer.X, order, targets, evidence, covers))
    rows = np.sort(order.rows[np.concatenate([cover.uncovered for cover in covers])])[:10]
    remedy = 'use activation="threshold", which is exact, rescue=True, or scale the data'
    if recipe.exact_in is not None:
        remedy = f"scale the data up, so that labels differ by more than {recipe.exact_in} rounds, or use exact_in=None"
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
