"""What a decoder makes of outputs that are known up to a radius, or exactly.

An answer is sure if it is the same for all outputs within the radii; and, for the nearest
level, however the distances are rounded: an evaluation of |o - l| in a format with unit
roundoff u rounds o, l and the difference, and errs by at most 3 u (|o| + |l|) and underflow.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import ENLARGE, Format
from ..network import Decoder

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]

LARGEST, SMALLEST = sys.float_info.max, sys.float_info.min


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
    """Decision on outputs of shape (outputs, points), with their radii, in every evaluation in the format."""
    if decoder.kind == "nearest":
        return _nearest(decoder, values[0], errors[0], codes, form)
    classes = np.asarray(decoder.classes, dtype=np.int64)
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
