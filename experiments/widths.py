"""Sweeps over widths, biases and sample sizes: the paper's networks of fixed width, and how many points they miss.

In run r the weights W and numbers v ~ Unif[-1, 1] are drawn from a seed that is a hash of (data digest, law, center,
r); a cell with bound lambda on the biases has b = lambda v, a cell of width n takes the first n rows. The order of
candidates has its own seed, a hash of (r, n, lambda, N). So the outcome of a cell is the same whatever other cells are
run, and every cell alone has the law of the paper's Algorithm 2: averages over runs are unbiased. But cells of one run
depend on each other.

This is the one file here that uses more of exactfit than its public functions, and only what they are made of:
``GaussianSampler`` draws, ``sides`` decides bits, ``mask_cover`` and ``cover_classes`` choose detectors. A trial of
Two Moons takes 0.2 ms so, where ``fixed_width`` takes milliseconds, most of them for what nobody reads here.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from exactfit import DataError, ParameterError
from exactfit._support.console import silent
from exactfit._support.threads import SERIAL
from exactfit.construct import Options
from exactfit.construct.cover import cover_classes, mask_cover
from exactfit.construct.evidence import Counts, precompute_limits
from exactfit.construct.hyperplanes import GaussianSampler
from exactfit.construct.unique_patterns import ClassOrder, Cover, candidates_of
from exactfit.data import choose_targets
from exactfit.lab import Dataset
from exactfit.network.bits import BitMatrix
from exactfit.network.sides import sides

Row = dict[str, Any]  # of a store: run, axes, measures and seconds; or run, axes and the error

DETECTORS = ("mask", "weighted")
LAW = "gaussian"


class Cell(NamedTuple):
    """A place in a grid: n hyperplanes, biases up to lambda, the first N points."""

    n: int
    lam: float
    N: int


def seed_of(*key: Any) -> np.random.SeedSequence:
    """Return the root of the random streams of one purpose: SHA-256 of the key as JSON.

    Examples
    --------
    >>> from experiments.widths import seed_of
    >>> seed_of("order", 0, 100, 0.5, 1000).entropy % 10**6
    122645
    """
    text = json.dumps(key, separators=(",", ":"))
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


@dataclass(frozen=True)
class WidthGrid:
    """Grids of widths, maximal biases and sample sizes; hyperplanes around the mean of the points, or the origin."""

    grids: tuple[Mapping[str, tuple[Any, ...]], ...]
    center: bool = True
    detectors: str = DETECTORS[0]
    axes: ClassVar[tuple[str, ...]] = ("n", "lambda", "N")

    def count(self) -> int:
        """Return the number of cells, those in several grids counted several times."""
        return sum(prod(map(len, grid.values())) for grid in self.grids)

    def facts(self, data: Dataset) -> Row:
        """Return what the outcome of a cell depends on, beside its data, as headers of stores have it."""
        target = None if data.target is None else data.classes[data.target]
        facts = {"target": target, "scheme": "shared", "law": LAW, "center": self.center}
        # Headers of older stores do not name the detectors, which were masks.
        return facts if self.detectors == "mask" else facts | {"detectors": self.detectors}

    def cells(self, n_points: int) -> list[Cell]:
        """Return all cells for data of so many points, each once, in order."""
        found: dict[Cell, None] = {}
        for grid in self.grids:
            sizes = grid.get("points") or tuple(round(part * n_points) for part in grid.get("share", (Decimal(1),)))
            for N in sizes:
                if not 2 <= N <= n_points:
                    raise ParameterError(f"the grid asks for N = {N} points, the data have {n_points}")
            for n, lam, N in product(grid["width"], grid["max_bias"], sizes):
                found[Cell(int(n), float(lam), int(N))] = None
        return list(found)

    def groups(self, data: Dataset) -> list[list[Cell]]:
        """Return all cells, those together that share a first layer."""
        cells = self.cells(len(data.y))
        for N in sorted({cell.N for cell in cells}):
            if len(np.unique(data.y[:N])) < 2:
                raise DataError(f'the first {N} points of {data.name} are of one class: set order = "stratified"')
        layers: dict[Any, list[Cell]] = {}
        for cell in sorted(cells, key=lambda cell: (cell.lam, cell.N, cell.n)):
            # The mean of the points depends on how many they are, and so do the biases around it.
            layers.setdefault((cell.lam, cell.N if self.center else None), []).append(cell)
        return list(layers.values())

    def run(self, data: Dataset, run: int, cells: list[Cell]) -> Iterator[Row]:
        """Yield a row for each cell of a group; seconds are those of one core, with an equal part of what is shared."""
        start = time.thread_time()
        targets, whole = choose_targets(data.y, data.target), ClassOrder.of(data.y)
        lam, most = cells[0].lam, max(cell.N for cell in cells)
        seed = seed_of("hyperplanes", data.digest, LAW, self.center, run)
        # As a block of hyperplanes has a stream of its own, the first n are those of any other width and bias.
        sampler = GaussianSampler(data.X[:most], seed, max_bias=lam, center=self.center)
        planes = sampler.first(max(cell.n for cell in cells))
        rows = whole.rows[whole.rows < most]
        bits = sides(data.X, planes.weights, planes.biases, rows=rows)
        shared = (time.thread_time() - start) / len(cells)
        N = most
        for cell in cells:
            start = time.thread_time()
            if cell.N != N or cell is cells[0]:
                N = cell.N
                columns = np.flatnonzero(rows < N)
                own = bits if most == N else bits.take(columns)
                sizes = np.bincount(data.y[:N], minlength=len(whole.starts) - 1)
                order = ClassOrder(rows[columns], np.concatenate([[0], np.cumsum(sizes)]))
            patterns = own if cell.n == own.n_bits else own.head(cell.n)
            covers = self._covers(patterns, order, targets, seed_of("order", run, cell.n, lam, N))
            counts = [len(cover.anchors) for cover in covers]
            yield {
                "run": run, "n": cell.n, "lambda": lam, "N": N, "detectors": sum(counts), "per_class": counts,
                "missed": sum(len(cover.uncovered) for cover in covers),
                "seconds": shared + time.thread_time() - start,
            }  # fmt: skip

    def _covers(
        self, patterns: BitMatrix, order: ClassOrder, targets: tuple[int, ...], seed: np.random.SeedSequence
    ) -> list[Cover]:
        """Algorithm 2, lines 2-10, for every target class."""
        counts = Counts(patterns, SERIAL)
        if self.detectors == "weighted":
            return cover_classes(counts, order, targets, Options(detectors="weighted"), seed)
        # Without looking for equal patterns first, as a fit does: on a million points of the plane that takes longer
        # than the covers.
        candidates = candidates_of(order, targets, seed)
        classes = [order.target(k) for k in range(len(order.starts) - 1)]
        every = len(targets) == len(classes)
        evidence = precompute_limits(counts, classes, silent, list(candidates.values())) if every else counts
        return [mask_cover(evidence, order.target(k), order.rest(k), candidates[k], silent) for k in targets]
