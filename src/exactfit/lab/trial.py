"""One run of an experiment: the same draws for all its cells, and what came out of each cell, batch by batch.

In run r the weights W and the numbers v ~ Unif[-1, 1] are drawn once; a cell with bound lambda on the biases has
b = lambda v, a cell of width n takes the first n rows. They are seeded by a hash of (data digest, law, center, r); the
order in which candidates are examined has its own stream, hashed from (r, n, lambda, N). So a cell's outcome is the
same whatever other cells are run, and every cell alone has the law of the paper's Algorithm 2: averages over runs are
unbiased. Cells of one run depend on each other; the scheme "independent" hashes everything for both streams, and costs
a first layer for every cell.

<w, x> does not depend on the bias. So the filter of ``network.sides`` runs once for all bias vectors, up to the
products; then every bias vector is added and judged by the bound that is proved there. What stays in doubt is settled
exactly, as ever. A worker keeps the first layers that it made last, for the next batch of the same run.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import traceback
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import subtract_products
from .._support.console import silent
from .._support.threads import SERIAL, single_threaded_blas
from ..construct.cover import random_cover
from ..construct.evidence import (
    Columns,
    Counts,
    Pieces,
    PrecomputedLimits,
    joined_pieces,
    mutual_limits,
    worth_precomputing,
)
from ..construct.hyperplanes import ORDER, GaussianSampler, stream
from ..construct.unique_patterns import ClassOrder, Cover, Support, UniquePatterns
from ..construct.weighted import weighted_covers
from ..data import choose_targets, mean
from ..network.bits import BitMatrix, n_words
from ..network.sides import LOW_DIMENSION, TILE_ENTRIES, Floats, Matrix, _HighDimension, sides
from .datasets import Dataset
from .experiment import INDEPENDENT, Cell, Scheme


@dataclass(frozen=True)
class Trial:
    """What came out of one cell of one run."""

    run: int
    cell: Cell
    per_class: tuple[int, ...] = ()  # detectors of each target class
    missed: int = 0  # points that no detector of their class claims
    seconds: float = 0.0  # of one core; work that cells share counts in equal parts
    error: str = ""  # where it failed, empty if it did not

    @property
    def detectors(self) -> int:
        """Width of the second layer."""
        return sum(self.per_class)


@dataclass(frozen=True, eq=False)
class OrderedPoints:
    """Labelled points in class order, of which cells take a beginning."""

    X: Floats
    y: NDArray[np.int64]
    digest: str
    targets: tuple[int, ...]
    order: ClassOrder

    @classmethod
    def of(cls, data: Dataset) -> OrderedPoints:
        """Those of a data set."""
        targets = choose_targets(data.y, data.target)
        return cls(data.X, data.y, data.digest, targets, ClassOrder.of(data.y))

    def columns(self, N: int) -> list[tuple[int, int]]:
        """For each class, the columns of those of its points that are among the first N."""
        starts, stops = self.order.starts[:-1], self.order.starts[1:]
        rows = self.order.rows
        return [
            (int(low), int(low + np.searchsorted(rows[low:high], N))) for low, high in zip(starts, stops, strict=True)
        ]


def stream_seed(*key: Any) -> np.random.SeedSequence:
    """The root of the random streams of one purpose: SHA-256 of the key as JSON.

    Examples
    --------
    >>> from exactfit.lab.trial import stream_seed
    >>> stream_seed("order", 0, 100, 0.5, 1000).entropy % 10**6
    122645
    """
    text = json.dumps(key, separators=(",", ":"))
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


@dataclass(frozen=True)
class Draw:
    """The random numbers of one run: where they come from."""

    digest: str
    scheme: Scheme
    run: int

    def _key(self, cell: Cell) -> tuple[Any, ...]:
        return self.run, cell.n, float(cell.lam), cell.N

    def _everything(self, cell: Cell) -> tuple[Any, ...]:
        return self.digest, self.scheme.law, self.scheme.center, *self._key(cell)

    def hyperplanes(self, cell: Cell) -> np.random.SeedSequence:
        """The stream of W and v."""
        if self.scheme.kind == INDEPENDENT:
            return stream_seed("hyperplanes", *self._everything(cell))
        return stream_seed("hyperplanes", self.digest, self.scheme.law, self.scheme.center, self.run)

    def order(self, cell: Cell) -> np.random.SeedSequence:
        """The stream of the order of candidates."""
        key = self._everything(cell) if self.scheme.kind == INDEPENDENT else self._key(cell)
        return stream_seed("order", *key)


@dataclass(frozen=True, eq=False)
class Ahead:
    """For some widths the limits of all points and their witnesses, worked out together."""

    limits: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
    seconds: float

    @classmethod
    def of(cls, counts: Counts, columns: Pieces, widths: Sequence[int]) -> Ahead:
        """Work them out, on this thread."""
        start = time.thread_time()
        limits, witnesses = mutual_limits(counts, columns, widths, silent)
        pairs = dict(zip(widths, zip(limits, witnesses, strict=True), strict=True))
        return cls(pairs, time.thread_time() - start)


@dataclass(eq=False)
class FirstLayers:
    """First layers of one run, for many lambdas: drawn, projected and packed once.

    With centred draws the biases depend on the points as well, so that each N has its own.
    """

    points: OrderedPoints
    draw: Draw
    cells: Sequence[Cell]
    bits: dict[tuple[float, int], BitMatrix] = field(default_factory=dict)
    ahead: dict[Cell, Ahead] = field(default_factory=dict)
    seconds_ahead: float = 0.0

    def __post_init__(self) -> None:
        self.weights, self.v = draw_hyperplanes(self.points, self.draw, self.cells[0], max(c.n for c in self.cells))
        keys = sorted({self._key(cell) for cell in self.cells})
        biases = np.stack([self._biases(*key) for key in keys])
        every = sides_of_many(self.points.X, self.weights, biases, rows=self.points.order.rows)
        self.bits = dict(zip(keys, every, strict=True))

    def _key(self, cell: Cell) -> tuple[float, int]:
        return cell.lam, cell.N if self.draw.scheme.center else 0

    def _biases(self, lam: float, N: int) -> Floats:
        biases: Floats = lam * self.v
        if self.draw.scheme.center:
            subtract_products(self.weights, mean(self.points.X[:N]), biases)
        return biases

    def patterns(self, cell: Cell) -> BitMatrix:
        """The sides of all points at the first layer of one cell."""
        return self.bits[self._key(cell)].head(cell.n)

    def evidence(self, cell: Cell, orders: Sequence[Columns]) -> Counts | PrecomputedLimits:
        """What the cover step may ask, with all limits known where widths of the same lambda share the counting.

        Patterns are not copied: masks leave out what lies beyond the width.
        """
        counts, columns = self._counts(cell, cell.n), self.points.columns(cell.N)
        if cell not in self.ahead and len(self.points.targets) == len(columns):
            alike = {other.n for other in self.cells if (other.lam, other.N) == (cell.lam, cell.N)}
            widths = worth_precomputing(counts, columns, orders, sorted({cell.n, *alike}))
            if widths:
                found = Ahead.of(self._counts(cell, widths[-1]), columns, widths)
                self.ahead |= {Cell(n, cell.lam, cell.N): found for n in widths}
                self.seconds_ahead += found.seconds
        if cell not in self.ahead:
            return counts
        limits, witnesses = self.ahead[cell].limits[cell.n]
        return PrecomputedLimits(counts.patterns, SERIAL, all_limits=limits, all_witnesses=witnesses)

    def _counts(self, cell: Cell, width: int) -> Counts:
        words = self.bits[self._key(cell)].words[: n_words(width)]
        return Counts(cast("BitMatrix", _Head(words, width)), SERIAL)

    def share_ahead(self, cell: Cell) -> float:
        """What limits ahead have cost for one cell: work that cells share counts in equal parts."""
        found = self.ahead.get(cell)
        return found.seconds / len(found.limits) if found else 0.0


@dataclass(frozen=True, eq=False)
class _Head:
    """The first bits of every row, with those beyond them still in the last word."""

    words: NDArray[np.uint64]
    n_bits: int


def draw_hyperplanes(points: OrderedPoints, draw: Draw, cell: Cell, width: int) -> tuple[NDArray[np.float32], Floats]:
    """W and v: the law of the paper with lambda = 1."""
    planes = GaussianSampler(points.X, draw.hyperplanes(cell), max_bias=1.0, center=False).first(width)
    return planes.weights, planes.biases


def cover_cell(layers: FirstLayers, cell: Cell) -> list[Cover]:
    """Algorithm 2, lines 2-10, for every target class."""
    points, seed = layers.points, layers.draw.order(cell)
    columns = points.columns(cell.N)
    orders = {k: columns[k][0] + stream(seed, ORDER, k).permutation(np.diff(columns[k])[0]) for k in points.targets}
    if layers.draw.scheme.detectors == "weighted":
        return _weighted(layers.patterns(cell), columns, orders)
    evidence = layers.evidence(cell, list(orders.values()))
    return [
        random_cover(evidence, columns[k], joined_pieces([*columns[:k], *columns[k + 1 :]]), orders[k], silent)
        for k in points.targets
    ]


def _weighted(patterns: BitMatrix, columns: Pieces, orders: dict[int, Columns]) -> list[Cover]:
    """The same with weighted detectors, for which the columns of the cell are put side by side, and named again."""
    everyone = np.concatenate([np.arange(*piece) for piece in columns])
    starts = np.concatenate([[0], np.cumsum([stop - start for start, stop in columns])])
    seeds: dict[int, Columns] = {k: orders[k] - columns[k][0] + starts[k] for k in orders}
    unique = UniquePatterns.of_evidence(Counts(patterns.take(everyone), SERIAL), ClassOrder(everyone, starts), seeds)
    cover = weighted_covers(unique)
    covers = [cover(share, silent) for share in unique.slices]
    return [_named(unique.in_points(made), everyone) for made in covers]


def _named(cover: Cover, columns: Columns) -> Cover:
    """A cover of some columns as one of all."""
    supports = [Support(columns[one.columns], one.dual_coef) for one in cover.supports or ()]
    anchors, witnesses = columns[cover.anchors].tolist(), columns[cover.witnesses].tolist()
    return replace(cover, anchors=anchors, witnesses=witnesses, uncovered=columns[cover.uncovered], supports=supports)


def run_cell(layers: FirstLayers, cell: Cell) -> Trial:
    """One cell of one run."""
    start, ahead = time.thread_time(), layers.seconds_ahead
    covers = cover_cell(layers, cell)
    alone = time.thread_time() - start - (layers.seconds_ahead - ahead)
    return Trial(
        run=layers.draw.run,
        cell=cell,
        per_class=tuple(len(cover.anchors) for cover in covers),
        missed=sum(len(cover.uncovered) for cover in covers),
        seconds=alone + layers.share_ahead(cell),
    )


def sides_of_many(
    X: Matrix, weights: NDArray[Any], biases: Floats, *, rows: NDArray[np.intp] | None = None
) -> list[BitMatrix]:
    """Exact sides of points and hyperplanes, packed, for each row of ``biases``.

    The k-th is what :func:`exactfit.network.sides.sides` gives for ``biases[k]``; ``rows`` are the points to take, in
    this order, all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trial import sides_of_many
    >>> points, weights = np.array([[0.1], [0.3]]), np.array([[3.0]])
    >>> [each.to_bool()[:, 0].tolist() for each in sides_of_many(points, weights, np.array([[-0.3], [-0.6]]))]
    [[True, True], [False, True]]
    """
    n_points = X.shape[0] if rows is None else len(rows)
    n, d = weights.shape
    if d <= LOW_DIMENSION or len(biases) < 2 or not (n and n_points):
        return [sides(X, weights, each, rows=rows) for each in biases]
    words = [np.zeros((n_words(n), n_points), dtype=np.uint64) for _ in biases]
    work = _SharedProducts(X, np.ascontiguousarray(weights), np.ascontiguousarray(biases, np.float64), rows, words)
    step = max(16, min(work.row_tile, TILE_ENTRIES // d))
    with single_threaded_blas():
        for start in range(0, n_points, step):
            work((start, min(start + step, n_points)))
    return [BitMatrix(each, n) for each in words]


class _SharedProducts(_HighDimension):
    """The filter in many dimensions, with a copy of itself for every bias vector."""

    def __init__(
        self, X: Matrix, weights: NDArray[Any], biases: Floats, rows: Any, words: list[NDArray[np.uint64]]
    ) -> None:
        super().__init__(X, weights, biases[0], rows, words[0])
        self.judges = [self._judge(*pair) for pair in zip(biases, words, strict=True)]

    def _judge(self, biases: Floats, words: NDArray[np.uint64]) -> _SharedProducts:
        judge = copy(self)
        judge.words = words
        judge.shift(biases)
        return judge

    def decide(self, products: NDArray[Any], *where: Any) -> None:
        """Judge every bias vector by the same products."""
        for judge in self.judges:
            _HighDimension.decide(judge, products, *where)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some cells of one run."""

    part: int  # which data set
    draw: Draw
    spec: tuple[Cell, ...]  # all cells that share first layers with these
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a batch; how long its first layers took, if they had to be made."""

    part: int
    trials: list[Trial]
    setup: float


_kept = threading.local()


def run_batch(data_sets: Sequence[OrderedPoints], batch: Batch) -> Result:
    """Run the cells of a batch; a trial that fails becomes a row with its traceback."""
    points = data_sets[batch.part]
    if batch.draw.scheme.kind == INDEPENDENT:
        return Result(batch.part, [_alone(points, batch.draw, cell) for cell in batch.cells], 0.0)
    start = time.thread_time()
    try:
        fresh = _first_layers(points, batch)
    except Exception:
        error = traceback.format_exc()
        return Result(batch.part, [Trial(batch.draw.run, cell, error=error) for cell in batch.cells], 0.0)
    setup = time.thread_time() - start if fresh else 0.0
    share = setup / len(batch.cells)
    trials = [_guarded(_kept.layers, cell) for cell in batch.cells]
    return Result(batch.part, [replace(trial, seconds=trial.seconds + share) for trial in trials], setup)


def _alone(points: OrderedPoints, draw: Draw, cell: Cell) -> Trial:
    """A cell that shares nothing with others."""
    start = time.thread_time()
    try:
        trial = run_cell(FirstLayers(points, draw, [cell]), cell)
    except Exception:
        return Trial(draw.run, cell, error=traceback.format_exc())
    return replace(trial, seconds=time.thread_time() - start)


def _first_layers(points: OrderedPoints, batch: Batch) -> bool:
    """Have this worker keep the first layers of a batch; whether they had to be made."""
    key = (batch.draw, points.targets, batch.spec)
    if getattr(_kept, "key", None) == key:
        return False
    _kept.key = _kept.layers = None  # before the next ones take their memory
    _kept.layers = FirstLayers(points, batch.draw, batch.spec)
    _kept.key = key
    return True


def _guarded(layers: FirstLayers, cell: Cell) -> Trial:
    try:
        return run_cell(layers, cell)
    except Exception:
        return Trial(layers.draw.run, cell, error=traceback.format_exc())
