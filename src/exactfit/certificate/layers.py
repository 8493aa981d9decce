"""Layers as the proofs for chains read them: weights in blocks, facts about every unit, how far points may move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.enclosures import INEXACT, LINEAR, RAMP, STEP, Units, nearest_flat, nearest_sphere
from ..exceptions import DataError
from ..network import Dense, Integers, Layer, Masks, Network, Sparse, WeightedMasks
from .error_bounds import facts_of
from .record import RadiusMethod

Floats = NDArray[np.float64]

BLOCK_NUMBERS = 2**21  # weights made dense at a time: 16 MB


@dataclass(frozen=True, eq=False)
class ChainLayer:
    """A layer whose activation is threshold, ReLU or none.

    Attributes
    ----------
    layer : Layer
    source : ndarray, CSR array or Masks
        The weights in float64, rounded where they are integers that float64 does not hold.
    is_rounded : bool
        Whether any weight or bias had to be rounded.
    units : Units
        Bias, sum of absolute weights and quanta of every unit.
    slopes : ndarray
        Upper bounds of the Euclidean norms of the units' weights.
    n_terms : int
        The most weights other than zero that a unit has.
    """

    layer: Layer
    source: Any
    is_rounded: bool
    units: Units
    slopes: Floats
    n_terms: int

    @property
    def n_units(self) -> int:
        """How many units."""
        return self.layer.n_units

    @property
    def n_inputs(self) -> int:
        """How many inputs."""
        return self.layer.weights.shape[1]

    @property
    def kind(self) -> int:
        """Which activation, as kernels know it."""
        activation = self.layer.activation
        if activation is None:
            return LINEAR
        return STEP if activation.is_threshold else RAMP

    @property
    def is_whole(self) -> bool:
        """Whether weights and biases are integers."""
        return isinstance(self.layer.weights, Integers | Masks | WeightedMasks) and self.layer.bias.dtype.kind in "Oiu"

    def products(self, values: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Weights times values, and absolute weights times sizes; both of shape (inputs, points)."""
        if sp.issparse(self.source):
            return self.source @ values, abs(self.source) @ sizes
        sums, totals = np.empty((2, self.n_units, values.shape[1]))
        for part, weights in dense_blocks(self.source):
            np.matmul(weights, values, out=sums[part])
            np.matmul(np.abs(weights), sizes, out=totals[part])
        return sums, totals

    @property
    def last_column(self) -> Floats:
        """The weights of the last input."""
        if sp.issparse(self.source):
            return np.asarray(self.source[:, [-1]].toarray()[:, 0])
        return np.concatenate([np.empty(0), *(weights[:, -1] for _, weights in dense_blocks(self.source))])

    @cached_property
    def compressed(self) -> Any:
        """The weights as a CSR array without zeros."""
        if sp.issparse(self.source):
            return self.source
        return sp.vstack([sp.csr_array(weights) for _, weights in dense_blocks(self.source)], format="csr")

    @cached_property
    def norm(self) -> float:
        """An upper bound of the spectral norm: the smaller of Frobenius and sqrt(largest column sum x row sum)."""
        grow = 1.0 + (self.n_units + self.n_inputs + 32) * 2.0**-52
        columns = np.zeros(self.n_inputs)
        if sp.issparse(self.source):
            columns += abs(self.source).sum(axis=0)
        else:
            for _, weights in dense_blocks(self.source):
                columns += np.abs(weights).sum(axis=0)
        mixed = np.sqrt(columns.max(initial=0.0)) * np.sqrt(self.units.norms.max(initial=0.0))
        frobenius = np.linalg.norm(self.slopes)
        return float(min(frobenius, mixed)) * grow


def read_chain(network: Network) -> tuple[ChainLayer, ...] | None:
    """The layers of a network, None if one of them has an activation that a user brought."""
    activations = [layer.activation for layer in network.layers]
    if any(activation is not None and activation.is_own for activation in activations):
        return None
    return tuple(_read(layer, index) for index, layer in enumerate(network.layers))


def _read(layer: Layer, index: int) -> ChainLayer:
    numbers = [layer.bias, *layer.weights.tensors().values()] if layer.weights.kind != "integers" else [layer.bias]
    if not all(np.isfinite(part).all() for part in numbers if part.dtype.kind == "f"):
        raise DataError(f"the network holds NaN or infinity in layer {index}")
    source, weights_rounded = _source(layer)
    bias, bias_rounded = _numbers(layer.bias)
    sums, slopes, quanta, terms = _unit_facts(source)
    units = Units(
        bias=bias,
        norms=sums * (1.0 + (layer.weights.shape[1] + 8) * 2.0**-52),
        quanta=np.where(weights_rounded, INEXACT, quanta),
        bias_quanta=np.where(bias_rounded, INEXACT, facts_of(bias[:, None]).quanta),
    )
    is_rounded = bool(weights_rounded.any() or bias_rounded.any())
    return ChainLayer(layer, source, is_rounded, units, slopes, int(terms.max(initial=0)))


def _unit_facts(source: Any) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Of every unit: sum of absolute weights, norm (rounded up), common power of two, and how many are not zero."""
    sums, slopes = np.empty((2, source.shape[0]))
    quanta, terms = np.empty((2, source.shape[0]), dtype=np.int64)
    for part, weights in _packed_blocks(source) if sp.issparse(source) else dense_blocks(source):
        sums[part] = np.abs(weights).sum(axis=1)
        facts = facts_of(weights)
        slopes[part], terms[part], quanta[part] = facts
    return sums, np.where(np.isfinite(sums), slopes, np.inf), quanta, terms


def _packed_blocks(rows: Any) -> Iterator[tuple[slice, Floats]]:
    """Weights of sparse rows, some rows at a time, moved to the left: facts do not ask where they stand."""
    lengths = np.diff(rows.indptr)
    for part in _parts((rows.shape[0], int(lengths.max(initial=1)))):
        own = lengths[part]
        block = np.zeros((len(own), int(own.max(initial=0))))
        block[np.arange(block.shape[1]) < own[:, None]] = rows.data[rows.indptr[part.start] : rows.indptr[part.stop]]
        yield part, block


def _source(layer: Layer) -> tuple[Any, NDArray[np.bool_]]:
    """The weights, and the units in which some of them had to be rounded."""
    weights, exact = layer.weights, np.zeros(layer.n_units, dtype=bool)
    match weights:
        case Dense():
            return weights.values, exact
        case Sparse():
            csr = sp.csr_array(weights.matrix, dtype=np.float64, copy=True)
            csr.sum_duplicates()
            return csr, exact
        case WeightedMasks():
            return weights.sign * weights.values.astype(np.float64), exact
        case Integers():
            values, rounded = _numbers(weights.values)
            return values, np.asarray(rounded.any(axis=1), dtype=bool)
        case _:
            return weights, exact


def _numbers(values: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers in float64, infinite beyond its range, and which of them it does not hold."""
    if values.dtype.kind == "f":
        return values.astype(np.float64), np.zeros(values.shape, dtype=bool)
    given = values.ravel().tolist()
    floats = [_as_float(value) for value in given]
    rounded = [not (np.isfinite(near) and int(near) == value) for near, value in zip(floats, given, strict=True)]
    shape = values.shape
    return np.array(floats, dtype=np.float64).reshape(shape), np.array(rounded, dtype=bool).reshape(shape)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def dense_blocks(source: Any) -> Iterator[tuple[slice, Floats]]:
    """Units of an array or of masks as float64, some at a time."""
    for part in _parts(source.shape):
        if isinstance(source, Masks):
            yield part, source.sign * source.bits.take(part).to_bool().astype(np.float64)
        else:
            yield part, source[part].astype(np.float64, copy=False)


def _parts(shape: tuple[int, ...]) -> list[slice]:
    step = max(1, BLOCK_NUMBERS // max(1, shape[1]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


@dataclass(frozen=True, eq=False)
class Reach:
    """How far points may move before an answer can change: which layer's sums bound that, and by which method.

    Layers with no activation or ReLU move their signals by at most the product of their
    spectral norms times as far as the point moves. So no bit of the first threshold layer changes
    while a point moves by less than |<w, a> + b| over that product and |w|, for all of its units; and without a
    threshold layer, no answer while no output moves as far as the answer needs to change.

    With squared norms appended, units of a threshold layer are spheres (or hyperplanes), and the
    distance to each of them is known.

    Attributes
    ----------
    layer : int
        The first threshold layer, or the output.
    is_output : bool
    method : str or None
        None if there is no bound.
    slopes : ndarray
        By how much more than the point each of the layer's sums may move, at most.
    """

    layer: int
    is_output: bool
    method: RadiusMethod | None
    slopes: Floats

    @classmethod
    def of(cls, chain: Sequence[ChainLayer], squared: bool) -> Reach:
        """What bounds the radius of a chain."""
        kinds = [layer.kind for layer in chain]
        is_output = STEP not in kinds
        index = len(chain) - 1 if is_output else kinds.index(STEP)
        slopes = chain[index].slopes * (1.0 + 2.0**-50)
        for layer in chain[:index]:
            slopes = slopes * layer.norm * (1.0 + 2.0**-50)
        return cls(index, is_output, _method(kinds[:index], squared, is_output, slopes), slopes)

    def of_sums(self, layer: ChainLayer, values: Floats, errors: Floats) -> Floats:
        """Of every point: how far it may move before a bit of this layer changes, from its sums and their radii."""
        reach = np.full(values.shape[1], np.inf)
        if self.method == "nearest sphere":
            curvatures = layer.last_column
            rest = np.sqrt(np.maximum(layer.slopes**2 - curvatures**2, 0.0) + 2.0**-50 * layer.slopes**2)
            nearest_sphere(values, errors, rest, curvatures, layer.units.bias, reach)
        else:
            nearest_flat(values, errors, self.slopes, reach)
        return reach

    def of_gaps(self, gaps: Floats) -> Floats:
        """Of every point: how far it may move before an output moves by its gap."""
        flat = self.slopes[:, None] == 0.0
        reach = np.where(flat, np.inf, gaps / np.where(flat, 1.0, self.slopes[:, None]))
        return np.asarray(np.min(reach, axis=0, initial=np.inf), dtype=np.float64)


def _method(before: list[int], squared: bool, is_output: bool, slopes: Floats) -> RadiusMethod | None:
    if squared:
        return "nearest sphere" if not before and not is_output else None
    if not np.isfinite(slopes).all():
        return None
    if is_output or set(before) - {LINEAR}:
        return "Lipschitz bound"
    return "nearest hyperplane"
