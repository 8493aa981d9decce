"""Layers with facts about each unit, as proofs for chains need them; and what outputs surely decide."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.certify import Facts, find_facts
from .._kernels.enclosures import INEXACT, LINEAR, RAMP, STEP, Units
from .._kernels.rounding import ENLARGE, Format
from ..data import Codes, Floats
from ..exceptions import DataError
from ..network import Decoder, Dense, Integers, Layer, Masks, Network, Sparse, WeightedMasks
from .record import Flags

BLOCK_NUMBERS = 2**21  # weights made dense at a time: 16 MB
LARGEST, SMALLEST = sys.float_info.max, sys.float_info.min  # of the normal float64 numbers


def facts_of(matrix: Any) -> Facts:
    """Return norm, number of terms and power of two of each row of an array or a CSR array."""
    n = matrix.shape[0]
    facts = Facts(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    for part, rows in _packed_blocks(matrix) if sp.issparse(matrix) else [(slice(n), matrix)]:
        find_facts(rows, *(numbers[part] for numbers in facts))
    return facts


@dataclass(frozen=True, eq=False)
class ChainLayer:
    """A layer whose activation is threshold, ReLU or none, with bounds for its units."""

    layer: Layer
    source: Any  # an array, CSR array or masks: weights in float64, rounded where they are integers beyond it
    is_rounded: bool  # whether any weight or bias had to be
    units: Units  # bias, sum of absolute weights and quanta of every unit
    slopes: Floats  # upper bounds of the Euclidean norms of the units' weights
    n_terms: int  # the most weights other than zero that a unit has

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.layer.n_units

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.layer.weights.shape[1]

    @property
    def kind(self) -> int:
        """Activation, as kernels know it."""
        activation = self.layer.activation
        if activation is None:
            return LINEAR
        return STEP if activation.is_threshold else RAMP

    @property
    def is_integer(self) -> bool:
        """Whether weights and biases are integers."""
        return isinstance(self.layer.weights, Integers | Masks | WeightedMasks) and self.layer.bias.dtype.kind in "Oiu"

    def products(self, values: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return weights times values, and absolute weights times sizes; both of shape (inputs, points)."""
        if sp.issparse(self.source):
            return self.source @ values, abs(self.source) @ sizes
        sums, totals = np.empty((2, self.n_units, values.shape[1]))
        for part, weights in dense_blocks(self.source):
            np.matmul(weights, values, out=sums[part])
            np.matmul(np.abs(weights), sizes, out=totals[part])
        return sums, totals

    @property
    def last_column(self) -> Floats:
        """Weights of the last input."""
        if sp.issparse(self.source):
            return np.asarray(self.source[:, [-1]].toarray()[:, 0])
        return np.concatenate([np.empty(0), *(weights[:, -1] for _, weights in dense_blocks(self.source))])

    @cached_property
    def compressed(self) -> Any:
        """Weights as a CSR array without zeros."""
        if sp.issparse(self.source):
            return self.source
        none = sp.csr_array((0, self.n_inputs))  # a layer without units has no blocks
        return sp.vstack([none, *(sp.csr_array(weights) for _, weights in dense_blocks(self.source))], format="csr")

    @cached_property
    def norm(self) -> float:
        """Upper bound of the spectral norm: the smaller of Frobenius and sqrt(largest column sum x row sum)."""
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
    """Return the layers of a network, None if one of them has an activation that a user brought."""
    activations = [layer.activation for layer in network.layers]
    if any(activation is not None and activation.is_own for activation in activations):
        return None
    return tuple(_read(layer, index) for index, layer in enumerate(network.layers))


def _read(layer: Layer, index: int) -> ChainLayer:
    """Return a layer with the facts about its units; refuse numbers that are not finite."""
    numbers = [layer.bias, *layer.weights.tensors().values()] if layer.weights.kind != "integers" else [layer.bias]
    if not all(np.isfinite(part).all() for part in numbers if part.dtype.kind == "f"):
        raise DataError(f"the network holds NaN or infinity in layer {index}")
    source, weights_rounded = _source(layer)
    bias, bias_rounded = _numbers(layer.bias)
    sums, slopes = np.empty((2, source.shape[0]))
    quanta, terms = np.empty((2, source.shape[0]), dtype=np.int64)
    for part, weights in _packed_blocks(source) if sp.issparse(source) else dense_blocks(source):
        sums[part] = np.abs(weights).sum(axis=1)
        slopes[part], terms[part], quanta[part] = facts_of(weights)
    units = Units(
        bias=bias,
        norms=sums * (1.0 + (layer.weights.shape[1] + 8) * 2.0**-52),
        quanta=np.where(weights_rounded, INEXACT, quanta),
        bias_quanta=np.where(bias_rounded, INEXACT, facts_of(bias[:, None]).quanta),
    )
    is_rounded = bool(weights_rounded.any() or bias_rounded.any())
    slopes = np.where(np.isfinite(sums), slopes, np.inf)
    return ChainLayer(layer, source, is_rounded, units, slopes, int(terms.max(initial=0)))


def _packed_blocks(rows: Any) -> Iterator[tuple[slice, Floats]]:
    """Yield weights of sparse rows, some rows at a time, moved to the left: facts do not depend on their places."""
    lengths = np.diff(rows.indptr)
    for part in _parts((rows.shape[0], int(lengths.max(initial=1)))):
        own = lengths[part]
        block = np.zeros((len(own), int(own.max(initial=0))))
        block[np.arange(block.shape[1]) < own[:, None]] = rows.data[rows.indptr[part.start] : rows.indptr[part.stop]]
        yield part, block


def _source(layer: Layer) -> tuple[Any, NDArray[np.bool_]]:
    """Return the weights, and the units in which some of them had to be rounded."""
    weights, exact = layer.weights, np.zeros(layer.n_units, dtype=bool)
    match weights:
        case Dense():
            return weights.values, exact
        case Sparse():
            return weights.rows.astype(np.float64), exact
        case WeightedMasks():
            return weights.sign * weights.values.astype(np.float64), exact
        case Integers():
            values, rounded = _numbers(weights.values)
            return values, np.asarray(rounded.any(axis=1), dtype=bool)
        case _:
            return weights, exact


def _numbers(values: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return numbers in float64, infinite beyond its range, and which of them it does not hold."""
    if values.dtype.kind == "f":
        return values.astype(np.float64), np.zeros(values.shape, dtype=bool)
    given = values.ravel().tolist()
    floats = [_as_float(value) for value in given]
    rounded = [not (math.isfinite(near) and int(near) == value) for near, value in zip(floats, given, strict=True)]
    return np.array(floats).reshape(values.shape), np.array(rounded, dtype=bool).reshape(values.shape)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # Python's integers have no end
        return math.inf if value > 0 else -math.inf


def dense_blocks(source: Any) -> Iterator[tuple[slice, Floats]]:
    """Yield units of an array or of masks as float64, some at a time."""
    for part in _parts(source.shape):
        if isinstance(source, Masks):
            yield part, source.sign * source.bits.take(part).to_bool().astype(np.float64)
        else:
            yield part, source[part].astype(np.float64, copy=False)


def _parts(shape: tuple[int, ...]) -> list[slice]:
    step = max(1, BLOCK_NUMBERS // max(1, shape[1]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


# ---- Decoding ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Decision:
    """Points that are surely right or surely wrong."""

    right: Flags
    wrong: Flags
    gaps: Floats  # (outputs, points): lower bounds of how far each output is from changing the answer; zero if unsure

    @property
    def slack(self) -> Floats:
        """The smallest gap of each point, but for outputs that are zero and so say nothing."""
        gaps = np.where((self.gaps == 0.0) & (self.right | self.wrong), np.inf, self.gaps)
        return np.asarray(np.min(gaps, axis=0, initial=np.inf), dtype=np.float64)


def decide(decoder: Decoder, values: Floats, errors: Floats, codes: Codes, form: Format) -> Decision:
    """Return what outputs of shape (outputs, points) with their radii decide in every evaluation in the format.

    An answer is sure if it is the same for all outputs within the radii.
    """
    if decoder.kind == "nearest":
        return _nearest(decoder, values[0], errors[0], codes, form)
    classes = np.asarray(decoder.classes, dtype=np.int64)
    if decoder.kind == "argmax":
        return _argmax(classes, values, errors, codes, form)
    gaps = np.maximum(np.abs(values) - errors, 0.0)
    if decoder.kind == "sign":
        return _sign(classes, values[0] >= errors[0], values[0] < -errors[0], codes, gaps)
    return _one_hot(classes, values > errors, values <= -errors, codes, gaps)


def _sign(classes: Codes, high: Flags, low: Flags, codes: Codes, gaps: Floats) -> Decision:
    """Decide by the sign: ``high`` are outputs that are surely not negative, ``low`` those that surely are."""
    first, second = classes[0] == codes, classes[1] == codes
    right = (first | high) & (second | low)
    wrong = (high & ~second) | (low & ~first)
    return Decision(right & (first | second), wrong | ~(first | second), gaps)


def _one_hot(classes: Codes, on: Flags, off: Flags, codes: Codes, gaps: Floats) -> Decision:
    """Decide by the outputs that are surely positive (``on``) and those that surely are not (``off``)."""
    own = classes[:, None] == codes[None, :]
    claimed = (on & own).sum(axis=0) == 1
    right = claimed & (off.sum(axis=0) == len(classes) - 1)
    wrong = (on & ~own).any(axis=0) | (off | ~own).all(axis=0) | ((on & own).sum(axis=0) > 1)
    return Decision(right, wrong, gaps)


def _argmax(classes: Codes, values: Floats, errors: Floats, codes: Codes, form: Format) -> Decision:
    """Decide by the largest output, if it is so by more than what a softmax may lose before it is compared."""
    # Claim. If the largest output o exceeds another o' by 128 u (1 + |o| + |o'|), then softmax(o) > softmax(o') and
    # log_softmax(o) > log_softmax(o') in every evaluation that subtracts the largest output first, with an exp and a
    # log that are right to 4 u; and so is expit(o) > 1/2 for o' = 0.
    #
    # Proof, of softmax. Let g = o - o' <= 1 (else more is true). An evaluation gives o the number exp(0) >= 1 - 4 u,
    # and o' at most exp(-g (1 - u)) (1 + 4 u) <= (1 - g / 2) (1 + 4 u). Both are divided by one sum, or multiplied by
    # its reciprocal, which may lose 2 u each: the first stays larger if g / 2 > 13 u. Of log_softmax: both lose the
    # same log(sum) <= log(K), and at most 2 u (g + log K) to rounding. Of expit: 1 + exp(-o) < 2 if o > 13 u.
    own = classes[:, None] == codes[None, :]
    slop = (errors + 128.0 * form.unit * (0.5 + np.abs(values) + errors)) * ENLARGE
    slop = np.where(np.abs(values) + slop < form.huge, slop, np.inf)
    low, high = values - slop, values + slop
    first, rival = (np.max(np.where(part, side, -np.inf), axis=0) for part, side in ((own, low), (~own, high)))
    most, least = (np.max(np.where(part, side, -np.inf), axis=0) for part, side in ((own, high), (~own, low)))
    right, wrong = first > rival, least > most
    with np.errstate(invalid="ignore"):
        gaps = np.where(right, np.where(own, first - rival, first - high) / 2.0, 0.0)
    return Decision(right, wrong, np.maximum(gaps, 0.0))


def _nearest(decoder: Decoder, values: Floats, errors: Floats, codes: Codes, form: Format) -> Decision:
    """Decide by the nearest level, however the distances are rounded."""
    # An evaluation of |o - l| in a format with unit roundoff u rounds o, l and the difference, and so errs by at most
    # 3 u (|o| + |l|) and underflow.
    levels = np.asarray(decoder.levels, dtype=np.float64)[:, None]
    own = np.asarray(decoder.classes, dtype=np.int64)[:, None] == codes[None, :]
    away = np.abs(values - levels)
    rounding = 4.0 * form.unit * (np.abs(values) + errors + np.abs(levels)) + 4.0 * form.tiny
    slop = (errors + rounding) * ENLARGE
    slop = np.where(slop < form.huge, slop, np.inf)
    best = np.min(np.where(own, away + slop, np.inf), axis=0, initial=np.inf)
    other = np.min(np.where(own, np.inf, away - slop), axis=0, initial=np.inf)
    best_low = np.min(np.where(own, away - slop, np.inf), axis=0, initial=np.inf)
    other_high = np.min(np.where(own, np.inf, away + slop), axis=0, initial=np.inf)
    right, wrong = best < other, other_high < best_low
    gaps = np.where(right, other - best, np.where(wrong, best_low - other_high, 0.0)) / 2.0
    return Decision(right, wrong, gaps[None, :])


def decide_exactly(decoder: Decoder, outputs: list[NDArray[np.object_]], quantum: int, codes: Codes) -> Decision:
    """Return what outputs decide, one array of integers each, which are multiples of 2^quantum."""
    classes = np.asarray(decoder.classes, dtype=np.int64)
    if decoder.kind == "nearest":
        return _nearest_exactly(decoder, outputs[0], quantum, codes)
    if decoder.kind == "argmax":
        return _argmax_exactly(classes, outputs, quantum, codes)
    gaps = np.array([_sizes(column, quantum) for column in outputs])
    if decoder.kind == "sign":
        high = np.asarray(outputs[0] >= 0, dtype=bool)
        return _sign(classes, high, ~high, codes, gaps)
    on = np.array([np.asarray(column > 0, dtype=bool) for column in outputs])
    return _one_hot(classes, on, ~on, codes, gaps)


def _nearest_exactly(decoder: Decoder, outputs: NDArray[np.object_], quantum: int, codes: Codes) -> Decision:
    levels = [Fraction(level) for level in decoder.levels]
    common = min(quantum, *(1 - level.denominator.bit_length() for level in levels))
    marks = [int(level / Fraction(2) ** common) for level in levels]
    scaled = outputs.astype(object) * 2 ** (quantum - common)
    away = np.array([abs(scaled - mark) for mark in marks], dtype=object).reshape(len(marks), len(codes))
    classes = np.asarray(decoder.classes, dtype=np.int64)
    decided = classes[np.argmin(away, axis=0)]
    rest = np.where(classes[:, None] == decided[None, :], 2 * away.max(initial=0) + 1, away)
    gaps = _sizes(np.asarray(rest.min(axis=0) - away.min(axis=0)), common - 1)
    return Decision(decided == codes, decided != codes, gaps[None, :])


def _argmax_exactly(classes: Codes, outputs: list[NDArray[np.object_]], quantum: int, codes: Codes) -> Decision:
    values, points = np.array(outputs, dtype=object).reshape(len(classes), len(codes)), np.arange(len(codes))
    places = np.argmax(values, axis=0)
    gaps = np.array([_sizes(values[places, points] - column, quantum - 1) for column in values])
    gaps[places, points] = np.inf
    gaps[places, points] = gaps.min(axis=0)
    return Decision(classes[places] == codes, classes[places] != codes, gaps)


def _sizes(column: NDArray[np.object_], quantum: int) -> Floats:
    """Return absolute values of integers times 2^quantum, rounded down."""
    return np.array([_rounded_down(abs(value), quantum) for value in column.tolist()], dtype=np.float64)


def _rounded_down(value: int, quantum: int) -> float:
    kept = max(0, value.bit_length() - 53)
    try:
        near = math.ldexp(value >> kept, quantum + kept)
    except OverflowError:
        return LARGEST
    return near if near >= SMALLEST else 0.0  # below the normal numbers ldexp may round up
