"""Layers with facts about each unit, as proofs for chains need them; exact integers; and what outputs surely decide."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from ..network import Decoder, Dense, Integers, Layer, Masks, Sparse, WeightedMasks, object_array
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


def find_cuts(rows: Any, terms: Codes) -> tuple[Codes, Floats]:
    """Return the only feature and the weight, a power of two, of hyperplanes that cut a coordinate; -1 for others."""
    columns, cuts = np.full(rows.shape[0], -1, dtype=np.int64), np.zeros(rows.shape[0])
    single = np.flatnonzero(terms == 1)
    if sp.issparse(rows):
        places, entries = rows.indices[rows.indptr[single]], rows.data[rows.indptr[single]]
    else:
        places = np.argmax(rows[single] != 0, axis=1) if len(single) else single
        entries = rows[single, places]
    power = np.abs(np.frexp(entries.astype(np.float64))[0]) == 0.5
    columns[single[power]], cuts[single[power]] = places[power], entries[power]
    return columns, cuts


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
    def cuts(self) -> tuple[Codes, Codes, Floats]:
        """Units that cut a coordinate, with the input and the power of two of each."""
        rows: Any = np.empty((0, self.n_inputs)) if isinstance(self.source, Masks) else self.source
        terms = np.diff(rows.indptr) if sp.issparse(rows) else np.count_nonzero(rows, axis=1)
        columns, weights = find_cuts(rows, terms)
        units = np.flatnonzero(columns >= 0)
        return units, columns[units], weights[units]

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


def read_chain(layers: Sequence[Layer]) -> tuple[ChainLayer, ...] | None:
    """Return layers with facts about their units, None if one of them has an activation that a user brought."""
    if any(layer.activation is not None and layer.activation.is_own for layer in layers):
        return None
    return tuple(_read(layer, index) for index, layer in enumerate(layers))


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


# ---- Exact integers --------------------------------------------------------------------------------------


def as_integers(numbers: NDArray[Any]) -> tuple[NDArray[np.object_], int]:
    """Return finite numbers as Python integers times 2^quantum, quantum <= 0 the same for all."""
    ratios = [number.as_integer_ratio() for number in numbers.ravel().tolist()]
    places = max((denominator.bit_length() for _, denominator in ratios), default=1)
    integers = [numerator << (places - denominator.bit_length()) for numerator, denominator in ratios]
    return object_array(integers, numbers.shape), 1 - places


def round_down(value: int, quantum: int) -> float:
    """Return the float64 number at or below an integer >= 0 times 2^quantum."""
    kept = max(0, value.bit_length() - 53)
    try:
        near = math.ldexp(value >> kept, quantum + kept)
    except OverflowError:
        return LARGEST
    return near if near >= SMALLEST else 0.0  # below the normal numbers ldexp may round up


# ---- Decoding ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claims:
    """Decoder of detectors' margins: a class claims a point where one of its detectors has a positive one."""

    owners: Codes  # class index of each detector
    silent: int  # class that is meant where none fires


@dataclass(frozen=True, eq=False)
class Decision:
    """Points that are surely right or surely wrong."""

    right: Flags
    wrong: Flags
    gaps: Floats  # (outputs, points): lower bounds of how far each output is from changing the answer; zero if unsure
    zeros_count: bool = False  # else an output that is zero says nothing

    @property
    def slack(self) -> Floats:
        """The smallest gap of each point."""
        idle = (self.gaps == 0.0) & (self.right | self.wrong)
        gaps = self.gaps if self.zeros_count else np.where(idle, np.inf, self.gaps)
        return np.asarray(np.min(gaps, axis=0, initial=np.inf), dtype=np.float64)


def decide(
    decoder: Decoder | Claims, values: Floats, errors: Floats, codes: Codes, form: Format, spared: bool = False
) -> Decision:
    """Return what outputs of shape (outputs, points) with their radii decide in every evaluation in the format.

    An answer is sure if it is the same for all outputs within the radii. ``spared`` asks of the decoder "one_hot"
    whether no other class claims a point.
    """
    if not isinstance(decoder, Claims) and decoder.kind in ("argmax", "nearest"):
        if decoder.kind == "argmax":
            # Claim. If the largest output o exceeds another o' by 128 u (1 + |o| + |o'|), then softmax(o) > softmax(o')
            # and log_softmax(o) > log_softmax(o') in every evaluation that subtracts the largest output first, with an
            # exp and a log that are right to 4 u; and so is expit(o) > 1/2 for o' = 0.
            #
            # Proof, of softmax. Let g = o - o' <= 1 (else more is true). An evaluation gives o the number exp(0) >=
            # 1 - 4 u, and o' at most exp(-g (1 - u)) (1 + 4 u) <= (1 - g / 2) (1 + 4 u). Both are divided by one sum,
            # or multiplied by its reciprocal, which may lose 2 u each: the first stays larger if g / 2 > 13 u. Of
            # log_softmax: both lose the same log(sum) <= log(K), and at most 2 u (g + log K) to rounding. Of expit:
            # 1 + exp(-o) < 2 if o > 13 u.
            slop = (errors + 128.0 * form.unit * (0.5 + np.abs(values) + errors)) * ENLARGE
            slop, scores = np.where(np.abs(values) + slop < form.huge, slop, np.inf), values
        else:
            # An evaluation of |o - l| in a format with unit roundoff u rounds o, l and the difference, and so errs by
            # at most 3 u (|o| + |l|) and underflow.
            levels = np.asarray(decoder.levels, dtype=np.float64)[:, None]
            rounding = 4.0 * form.unit * (np.abs(values) + errors + np.abs(levels)) + 4.0 * form.tiny
            slop, scores = (errors + rounding) * ENLARGE, -np.abs(values - levels)
            slop = np.where(slop < form.huge, slop, np.inf)
        return _largest(decoder, scores - slop, scores + slop, codes)
    gaps = np.maximum(np.abs(values) - errors, 0.0)
    if not isinstance(decoder, Claims) and decoder.kind == "sign":
        return _signs(decoder, values >= errors, values < -errors, codes, gaps, spared)
    return _signs(decoder, values > errors, values <= -errors, codes, gaps, spared)


def _signs(decoder: Decoder | Claims, on: Flags, off: Flags, codes: Codes, gaps: Floats, spared: bool) -> Decision:
    """Decide by outputs that are surely on and surely off; for "sign" on means not negative."""
    if isinstance(decoder, Claims):
        own, silent = decoder.owners[:, None] == codes, (codes == decoder.silent) | spared
        right = (silent | (on & own).any(axis=0)) & (off | own).all(axis=0)
        wrong = (~silent & (off | ~own).all(axis=0)) | (on & ~own).any(axis=0)
        # Of a class that is right, the clearest detector is enough.
        best, clear = np.where(on & own, gaps, -1.0), np.where(own & right, np.inf, gaps)
        claimed = np.flatnonzero(right & ~silent)
        places = best[:, claimed].argmax(axis=0) if len(claimed) else claimed
        clear[places, claimed] = gaps[places, claimed]
        return Decision(right, wrong, clear, zeros_count=True)
    classes = np.asarray(decoder.classes, dtype=np.int64)
    if decoder.kind == "sign":
        first, second, high, low = classes[0] == codes, classes[1] == codes, on[0], off[0]
        right = (first | high) & (second | low)
        wrong = (high & ~second) | (low & ~first)
        return Decision(right & (first | second), wrong | ~(first | second), gaps)
    own = classes[:, None] == codes
    if spared:
        return Decision((off | own).all(axis=0), (on & ~own).any(axis=0), np.where(own, np.inf, gaps))
    claimed = (on & own).sum(axis=0) == 1
    right = claimed & (off.sum(axis=0) == len(classes) - 1)
    wrong = (on & ~own).any(axis=0) | (off | ~own).all(axis=0) | ((on & own).sum(axis=0) > 1)
    return Decision(right, wrong, gaps)


def _largest(decoder: Decoder, low: Floats, high: Floats, codes: Codes) -> Decision:
    """Decide by the largest score, from lower and upper bounds of all of them."""
    own = np.asarray(decoder.classes, dtype=np.int64)[:, None] == codes
    first, rival = (np.max(np.where(part, side, -np.inf), axis=0) for part, side in ((own, low), (~own, high)))
    most, least = (np.max(np.where(part, side, -np.inf), axis=0) for part, side in ((own, high), (~own, low)))
    right, wrong = first > rival, least > most
    with np.errstate(invalid="ignore"):
        if decoder.kind == "nearest":  # one output decides all scores
            gaps = np.where(right, first - rival, np.where(wrong, least - most, 0.0))[None, :] / 2.0
        else:
            gaps = np.where(right, np.where(own, first - rival, first - high) / 2.0, 0.0)
    return Decision(right, wrong, np.maximum(gaps, 0.0))


def decide_exactly(
    decoder: Decoder | Claims, outputs: NDArray[np.object_], quantum: int, codes: Codes, spared: bool = False
) -> Decision:
    """Return what outputs of shape (outputs, points) decide, Python integers times 2^quantum."""
    if not isinstance(decoder, Claims) and decoder.kind in ("argmax", "nearest"):
        scores = outputs
        if decoder.kind == "nearest":
            levels, level_quantum = as_integers(np.asarray(decoder.levels, dtype=np.float64)[:, None])
            common = min(quantum, level_quantum)
            scores = -abs(outputs * 2 ** (quantum - common) - levels * 2 ** (level_quantum - common))
            quantum = common
        classes = np.asarray(decoder.classes, dtype=np.int64)
        decided = classes[scores.argmax(axis=0)]
        others = classes[:, None] != decided
        away = np.where(others, _sizes(scores.max(axis=0) - scores, quantum - 1), np.inf)
        least = away.min(axis=0, initial=np.inf)
        gaps = least[None, :] if decoder.kind == "nearest" else np.where(others, away, least)
        return Decision(decided == codes, decided != codes, gaps)
    is_sign = not isinstance(decoder, Claims) and decoder.kind == "sign"
    on = np.asarray(outputs >= 0 if is_sign else outputs > 0, dtype=bool)
    return _signs(decoder, on, ~on, codes, _sizes(outputs, quantum), spared)


def _sizes(integers: NDArray[np.object_], quantum: int) -> Floats:
    """Return absolute values of integers times 2^quantum, rounded down."""
    sizes = [round_down(abs(value), quantum) for value in integers.ravel().tolist()]
    return np.array(sizes, dtype=np.float64).reshape(integers.shape)
