"""Chains of layers in exact arithmetic: integers, times one power of two for each layer.

Float64 numbers are integers times powers of two, and so are sums of products of them. A
signal is one array of integers for each unit, in int64 where all sums provably fit, in Python
integers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.chains import RAMP, STEP
from ..network import Integers
from ..network.dyadic import object_array
from .bounds import facts_of
from .layers import ChainLayer

Floats = NDArray[np.float64]
Row = tuple[list[int], list[int]]

FITS = 2**62


@dataclass(frozen=True, eq=False)
class Column:
    """The numbers of one unit, one for each point, and the largest of their absolute values.

    In int64 if that is below 2^62, else Python integers.
    """

    values: NDArray[Any]
    largest: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Column:
        """A column of integers, in the narrower type that holds them."""
        if values.dtype != object:
            return cls(values, int(np.abs(values).max(initial=0)))
        largest = max(map(abs, values.tolist()), default=0)
        return cls(values.astype(np.int64) if largest < FITS else values, largest)


@dataclass(frozen=True, eq=False)
class ExactLayer:
    """A layer with its power of two, and its biases as integers times another."""

    layer: ChainLayer
    quantum: int
    biases: list[int]
    bias_quantum: int

    @classmethod
    def of(cls, layer: ChainLayer) -> ExactLayer:
        """The exact numbers of a layer."""
        whole = isinstance(layer.layer.weights, Integers)
        quantum = 0 if whole else min(0, int(layer.units.quanta.min(initial=0)))
        return cls(layer, quantum, *as_integers(layer.layer.bias.tolist()))

    def rows(self) -> Iterable[Row]:
        """Of every unit: weights other than zero as integers times 2^quantum, and their inputs."""
        if isinstance(self.layer.layer.weights, Integers):
            return self._integer_rows
        matrix = self.layer.compressed
        return (
            (self._scaled(matrix.data[start:stop]), matrix.indices[start:stop].tolist())
            for start, stop in pairwise(matrix.indptr.tolist())
        )

    @cached_property
    def _integer_rows(self) -> list[Row]:
        values = cast(Integers, self.layer.layer.weights).values
        places = [np.flatnonzero(row).tolist() for row in values]
        return [([int(row[j]) for j in own], own) for row, own in zip(values, places, strict=True)]

    def _scaled(self, weights: Floats) -> list[int]:
        ratios = [weight.as_integer_ratio() for weight in weights.tolist()]
        return [numerator << (1 - self.quantum - denominator.bit_length()) for numerator, denominator in ratios]


def count_terms(chain: Sequence[ChainLayer]) -> int:
    """Multiplications that a point costs."""
    return sum(layer.layer.weights.n_nonzero for layer in chain)


def run_exactly(chain: Sequence[ExactLayer], tile: Floats, squared: bool) -> tuple[list[NDArray[Any]], int]:
    """Outputs for the points of a tile: arrays of integers, one for each output, times 2^quantum."""
    columns, quantum = _enter(tile, squared)
    for layer in chain:
        columns, quantum = _pass_on(layer, columns, quantum, len(tile))
    return [column.values.astype(object) for column in columns], quantum


def as_integers(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Numbers as integers times 2^quantum, quantum <= 0 the same for all."""
    ratios = [number.as_integer_ratio() for number in numbers]
    places = max((denominator.bit_length() for _, denominator in ratios), default=1)
    return [numerator << (places - denominator.bit_length()) for numerator, denominator in ratios], 1 - places


def _enter(tile: Floats, squared: bool) -> tuple[list[Column], int]:
    table, quantum = _as_table(tile)
    if squared:
        table = table.astype(object)
        table = np.column_stack([table * 2**-quantum, (table * table).sum(axis=1)])
        quantum *= 2
    return [Column.of(table[:, j]) for j in range(table.shape[1])], quantum


def _as_table(tile: Floats) -> tuple[NDArray[Any], int]:
    """Points as integers times 2^quantum, in int64 if it holds them."""
    quantum = min(0, int(facts_of(tile).quanta.min(initial=0)))
    with np.errstate(over="ignore"):
        scaled = np.ldexp(tile, -quantum)
    if np.abs(scaled).max(initial=0.0) < FITS:
        return scaled.astype(np.int64), quantum
    numbers, quantum = as_integers(tile.ravel().tolist())
    return object_array(numbers, tile.shape), quantum


def _pass_on(layer: ExactLayer, columns: list[Column], quantum: int, n: int) -> tuple[list[Column], int]:
    common = min(quantum + layer.quantum, layer.bias_quantum)
    scale, bias_scale = 2 ** (quantum + layer.quantum - common), 2 ** (layer.bias_quantum - common)
    made = []
    kind = layer.layer.kind
    for (weights, inputs), bias in zip(layer.rows(), layer.biases, strict=True):
        terms = [(w * scale, columns[j]) for w, j in zip(weights, inputs, strict=True) if columns[j].largest]
        made.append(_respond(_add_up(terms, bias * bias_scale, n), kind))
    return made, 0 if kind == STEP else common


def _add_up(terms: list[tuple[int, Column]], bias: int, n: int) -> NDArray[Any]:
    """bias + sum of w * column, in int64 if no partial sum can leave it."""
    fits = abs(bias) + sum(abs(w) * column.largest for w, column in terms) < FITS
    total = np.full(n, bias, dtype=np.int64) if fits else np.array([bias] * n, dtype=object)
    for w, column in terms:
        values = column.values if fits else column.values.astype(object)
        total = total + values if w == 1 else total - values if w == -1 else total + w * values
    return total


def _respond(total: NDArray[Any], kind: int) -> Column:
    if kind == STEP:
        return Column.of(np.asarray(total > 0, dtype=np.int64))
    return Column.of(np.where(total > 0, total, 0) if kind == RAMP else total)
