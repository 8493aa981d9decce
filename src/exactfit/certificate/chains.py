"""Proof for chains of any depth: thresholds, ReLU or none, and weights of every kind.

Points are proved right in three steps, each for what the one before leaves open: float64 with a running
error bound, pairs of float64 numbers, and exact integers, up to a given number of multiplications; what is
still open then counts as not proved. Networks of integers go from the first step to the last.

The first step also says which points are right in every evaluation in float64, and once more
with the constants of float32, in every evaluation in float32.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import ENLARGE, FLOAT32, FLOAT64, Format
from ..data import Floats, Points
from ..network import Decoder, Network
from .arithmetic import Enclosure, ExactLayer, count_terms, enter, run, run_exactly, run_precisely
from .error_bounds import all_rounded_down, rounded_down
from .layers import ChainLayer, Reach, read_chain
from .record import Flags, Method, ProofEffort, Verdict, map_tiles

Codes = NDArray[np.int64]

LARGEST, SMALLEST = sys.float_info.max, sys.float_info.min  # of the normal float64 numbers
TILE_NUMBERS = 2**22  # signals of the widest layer held at a time by each thread: 32 MB
LARGEST_TILE = 4096  # points to a piece of work, where layers are narrow
EXACT_TILE_NUMBERS = 2**21  # the same for exact integers, which are objects of 30 bytes or more
FRACTION_COST = 8  # multiplications of long integers, in units of short ones: a guess, for the budget only

EXACT_SUMS, RUNNING, PAIRS, FRACTIONS, OPEN = range(5)  # what settled a point, the weakest means first
METHODS: tuple[Method, ...] = ("running error bound", "running error bound", "double-double", "rational")
OUT_OF_BUDGET = (
    "{n_open} points were neither proved nor refuted within the budget of exact arithmetic: "
    "pass exact_operations={needed} or more"
)


def prove_chain(
    network: Network, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int
) -> Verdict | None:
    """Verdict on any network without activations of a user's own, None for those.

    Parameters
    ----------
    network : Network
        Layers with threshold, ReLU or no activation; weights dense, sparse, masks or integers;
        points as they are or with their squared norm appended; any decoder.
    points : Points
    codes : ndarray of int64
        Class index of every point.
    effort : ProofEffort
    exact_operations : int
        How many multiplications of exact integers may be spent; points left open then are not
        proved, and the note says how many.

    Returns
    -------
    Verdict or None
        ``right["exact"]`` for exact arithmetic on the stored numbers (and the exact squared norm),
        ``right["float64"]`` and ``right["float32"]`` for every evaluation in that format.
    """
    chain = read_chain(network)
    if chain is None:
        return None
    proof = _Proof(network, chain, codes)
    found = _Findings.join(map_tiles(points, proof.tile_size, effort, proof.judge))
    return proof.conclude(found, points, exact_operations)


@dataclass(frozen=True, eq=False)
class _Findings:
    """What is known of every point of a tile: which step settled it, how clearly, and how far it may move."""

    right: Flags
    right64: Flags
    right32: Flags
    steps: Codes
    slack: Floats
    reach: Floats

    @classmethod
    def blank(cls, n: int) -> _Findings:
        """Nothing is known of n points."""
        right, right64, right32 = np.zeros((3, n), dtype=bool)
        slack, reach = np.zeros((2, n))
        return cls(right, right64, right32, np.full(n, OPEN, dtype=np.int64), slack, reach)

    @classmethod
    def join(cls, tiles: Sequence[_Findings]) -> _Findings:
        """Tiles in order."""
        tiles = [cls.blank(0), *tiles]
        return cls(**{part.name: np.concatenate([getattr(tile, part.name) for tile in tiles]) for part in fields(cls)})

    def settle(self, rows: Codes, decision: Decision, step: int, reach: Floats | None) -> None:
        """Take a decision on some of the points, in place."""
        settled = decision.right | decision.wrong
        self.right[rows] = decision.right
        self.slack[rows] = np.where(settled, decision.slack, 0.0)
        self.steps[rows] = np.where(settled, step, OPEN)
        if reach is not None:
            self.reach[rows] = np.where(decision.right, reach, 0.0)


@dataclass(frozen=True, eq=False)
class _Proof:
    network: Network
    chain: tuple[ChainLayer, ...]
    codes: Codes

    @cached_property
    def reach(self) -> Reach:
        return Reach.of(self.chain, self.squared)

    @property
    def squared(self) -> bool:
        return self.network.input_map == "append_squared_norm"

    @cached_property
    def is_whole(self) -> bool:
        return all(layer.is_whole for layer in self.chain) and not self.squared

    @property
    def widest(self) -> int:
        return max(self.network.n_features + 1, *self.network.widths)

    @property
    def tile_size(self) -> int:
        return max(1, min(LARGEST_TILE, TILE_NUMBERS // self.widest))

    def judge(self, tile: Floats, rows: slice) -> _Findings:
        """Float64, float32, and pairs where these leave a point open."""
        n, codes, decoder = len(tile), self.codes[rows], self.network.decoder
        found = _Findings.blank(n)
        outputs = self._run64(tile, found.reach)
        decision = decide(decoder, outputs.values, outputs.errors, codes, FLOAT64)
        exact = not outputs.errors.any() and self.is_whole
        found.settle(np.arange(n), decision, EXACT_SUMS if exact else RUNNING, self._output_reach(decision))
        found.right64[:] = decision.right
        outputs = run(self.chain, enter(tile, self.squared, FLOAT32), FLOAT32)
        found.right32[:] = decide(decoder, outputs.values, outputs.errors, codes, FLOAT32).right
        still = np.flatnonzero(found.steps == OPEN)
        if len(still) and not self.is_whole and not any(layer.is_rounded for layer in self.chain):
            values, errors = run_precisely(self.chain, tile[still], self.squared)
            decision = decide(decoder, values, errors, codes[still], FLOAT64)
            found.settle(still, decision, PAIRS, self._output_reach(decision))
        return found

    def _run64(self, tile: Floats, reach: Floats) -> Enclosure:
        """Outputs with their radii; where bits bound how far a point may move, that is written to ``reach``."""

        def look(index: int, sums: Enclosure) -> None:
            if index == self.reach.layer and not self.reach.is_output and self.reach.method:
                reach[:] = self.reach.of_sums(self.chain[index], sums.values, sums.errors)

        return run(self.chain, enter(tile, self.squared, FLOAT64), FLOAT64, look)

    def _output_reach(self, decision: Decision) -> Floats | None:
        return self.reach.of_gaps(decision.gaps) if self.reach.is_output and self.reach.method else None

    def conclude(self, found: _Findings, points: Points, exact_operations: int) -> Verdict:
        """The verdict, after exact arithmetic on what is still open."""
        still = np.flatnonzero(found.steps == OPEN)
        cost = count_terms(self.chain) * (1 if self.is_whole else FRACTION_COST)
        affordable = still[: max(0, exact_operations) // max(1, cost)]
        self._settle_exactly(found, points, affordable)
        n_open, step = len(still) - len(affordable), int(np.max(found.steps[found.steps != OPEN], initial=EXACT_SUMS))
        whole = self.is_whole and step in (EXACT_SUMS, FRACTIONS)
        return Verdict(
            right={"exact": found.right, "float64": found.right64, "float32": found.right32},
            slack=rounded_down(found.slack),
            radius=rounded_down(found.reach) if self.reach.method else None,
            method="integer-exact" if whole else METHODS[step],
            radius_method=self.reach.method,
            radii=all_rounded_down(np.where(found.right, found.reach, 0.0)) if self.reach.method else None,
            note=OUT_OF_BUDGET.format(n_open=n_open, needed=cost * len(still)) if n_open else "",
        )

    def _settle_exactly(self, found: _Findings, points: Points, rows: Codes) -> None:
        if not len(rows):
            return
        chain = [ExactLayer.of(layer) for layer in self.chain]
        for start, stop in points.ranges(max(1, EXACT_TILE_NUMBERS // self.widest)):
            own = rows[(rows >= start) & (rows < stop)]
            if len(own):
                outputs, quantum = run_exactly(chain, points.tile(start, stop)[own - start], self.squared)
                decision = decide_exactly(self.network.decoder, outputs, quantum, self.codes[own])
                found.settle(own, decision, FRACTIONS, self._output_reach(decision))


# ---- Decoding ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Decision:
    """Which points are surely right or surely wrong, and how far each output is from changing the answer.

    ``gaps``, of shape (outputs, points), are lower bounds, zero where nothing is sure.
    """

    right: Flags
    wrong: Flags
    gaps: Floats

    @property
    def slack(self) -> Floats:
        """Of every point: the smallest gap, but for outputs that are zero and so say nothing."""
        told = np.where((self.gaps == 0.0) & (self.right | self.wrong), np.inf, self.gaps)
        return np.asarray(np.min(told, axis=0, initial=np.inf), dtype=np.float64)


def decide(decoder: Decoder, values: Floats, errors: Floats, codes: Codes, form: Format) -> Decision:
    """Decision on outputs of shape (outputs, points), with their radii, in every evaluation in the format.

    An answer is sure if it is the same for all outputs within the radii; and, for the nearest
    level, however the distances are rounded: an evaluation of |o - l| in a format with unit
    roundoff u rounds o, l and the difference, and errs by at most 3 u (|o| + |l|) and underflow.
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
    """``high`` and ``low`` say which outputs are surely not negative, and surely negative."""
    first, second = classes[0] == codes, classes[1] == codes
    right = (first | high) & (second | low)
    wrong = (high & ~second) | (low & ~first)
    return Decision(right & (first | second), wrong | ~(first | second), gaps)


def _one_hot(classes: Codes, on: Flags, off: Flags, codes: Codes, gaps: Floats) -> Decision:
    own = classes[:, None] == codes[None, :]
    claimed = (on & own).sum(axis=0) == 1
    right = claimed & (off.sum(axis=0) == len(classes) - 1)
    wrong = (on & ~own).any(axis=0) | (off | ~own).all(axis=0) | ((on & own).sum(axis=0) > 1)
    return Decision(right, wrong, gaps)


def _argmax(classes: Codes, values: Floats, errors: Floats, codes: Codes, form: Format) -> Decision:
    """An answer is sure if the own output is the largest by more than what a softmax may lose before it is compared.

    Claim. If the largest output o exceeds another o' by 128 u (1 + |o| + |o'|), then softmax(o) > softmax(o') and
    log_softmax(o) > log_softmax(o') in every evaluation that subtracts the largest output first, with an exp and a log
    that are right to 4 u; and so is expit(o) > 1/2 for o' = 0.

    Proof, of softmax. Let g = o - o' <= 1 (else more is true). An evaluation gives o the number exp(0) >= 1 - 4 u, and
    o' at most exp(-g (1 - u)) (1 + 4 u) <= (1 - g / 2) (1 + 4 u). Both are divided by one sum, or multiplied by its
    reciprocal, which may lose 2 u each: the first stays larger if g / 2 > 13 u. Of log_softmax: both lose the same
    log(sum) <= log(K), and at most 2 u (g + log K) to rounding. Of expit: 1 + exp(-o) < 2 if o > 13 u.
    """
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
    """Decision on outputs, one array of integers each, that stand for multiples of 2^quantum."""
    classes = np.asarray(decoder.classes, dtype=np.int64)
    zero = np.zeros((len(outputs), len(codes)))
    if decoder.kind == "nearest":
        return _nearest_exactly(decoder, outputs[0], quantum, codes)
    if decoder.kind == "argmax":
        return _argmax_exactly(classes, outputs, quantum, codes)
    if decoder.kind == "sign":
        high = np.asarray(outputs[0] >= 0, dtype=bool)
        decision = _sign(classes, high, ~high, codes, zero)
    else:
        on = np.array([np.asarray(column > 0, dtype=bool) for column in outputs])
        decision = _one_hot(classes, on, ~on, codes, zero)
    gaps = np.array([_sizes(column, quantum) for column in outputs])
    return Decision(decision.right, decision.wrong, gaps)


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
    """Absolute values, rounded down."""
    return np.array([_rounded_down(abs(value), quantum) for value in column.tolist()], dtype=np.float64)


def _rounded_down(value: int, quantum: int) -> float:
    kept = max(0, value.bit_length() - 53)
    try:
        near = math.ldexp(value >> kept, quantum + kept)
    except OverflowError:
        return LARGEST
    return near if near >= SMALLEST else 0.0  # below the normal numbers ldexp may round up
