"""Chains of layers with bounds of their errors: the compiled half of ``certificate/arithmetic.py``, which proves them.

For certificates alone: the sides that a network is built and run on are decided by other code, and neither borrows from
the other, so that a mistake in one shows. Signals are kept unit by unit: ``values[j, i]`` is of unit j and point i.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import compiled, popcount
from .rounding import ENLARGE, FLOAT64, gamma

LINEAR, STEP, RAMP = 0, 1, 2
ANY_QUANTUM = 4000  # of zeros, multiples of everything: above the exponent of any sum of products
INEXACT = -(2**40)  # a quantum below every format's lowest exponent, also after a few of them are added
LARGEST_EXPONENT = 400  # two such powers and 53 digits multiply without overflow
SPLIT = 2.0**27 + 1.0  # Dekker's: splits 53 digits into 26 and 26 and a sign


@compiled
def whole(number):
    """Split a number into m 2^e, with an integer m of at most 53 bits."""
    fraction, exponent = math.frexp(number)
    return np.int64(fraction * 2.0**53), exponent - 53


@compiled
def quantum(number):
    """Return the largest q such that a number other than zero is a multiple of 2^q."""
    digits, exponent = whole(number)
    lowest = digits & -digits
    return exponent + popcount(np.uint64(lowest - 1))


class Units(NamedTuple):
    """Of every unit of a layer: bias, sum of absolute weights (rounded up), and what all of them are multiples of.

    All weights of a unit are multiples of 2^``quanta``; INEXACT where they had to be rounded.
    """

    bias: Any
    norms: Any
    quanta: Any
    bias_quanta: Any


@compiled
def append_square(values, errors, facts, form):
    """Fill the last row with the squared norms of the points in the rows above, and with their bounds."""
    d = values.shape[0] - 1
    for i in range(values.shape[1]):
        total = 0.0
        for j in range(d):
            total += values[j, i] * values[j, i]
        factor = gamma(facts.terms[i], form.unit) + gamma(facts.terms[i], FLOAT64.unit)
        bound = factor * total * ENLARGE + 8.0 * form.tiny * (2.0 * facts.norms[i] + 2.0 * d + 2.0)
        common = 2 * facts.quanta[i]
        if not (total < form.huge and facts.norms[i] < form.huge and bound < form.huge):
            total, bound = 0.0, np.inf
        elif common >= form.lowest and total * ENLARGE <= math.ldexp(1.0, min(common, 900) + form.digits):
            bound = 0.0
        values[d, i], errors[d, i] = total, bound
        if total != 0.0 or bound != 0.0:
            facts.norms[i] += (total + bound) * ENLARGE
            facts.terms[i] += 1
            facts.quanta[i] = INEXACT if bound != 0.0 else min(facts.quanta[i], quantum(total))


@compiled
def power(exponent, form):
    """2^exponent, or less where that would leave the range: zero below the normal numbers of the format."""
    return math.ldexp(1.0, min(exponent, LARGEST_EXPONENT)) if exponent >= form.lowest else 0.0


@compiled
def enclose(values, errors, factors, facts, units, inputs, form):
    """From <w, v> and sum |w_j| spread_j to centre <w, v> + b and the radius that ``certificate.arithmetic`` proves."""
    # The radius is zero where all sums are few multiples of one power of two: see ``sums_exactly``, which this repeats
    # with the powers worked out beforehand.
    n = values.shape[1]
    grow, digits = 1.0 + (inputs + 32) * 2.0**-52, math.ldexp(1.0 / ENLARGE, form.digits)
    inverses, powers = np.empty(n), np.empty(n)
    for i in range(n):
        inverses[i] = ENLARGE / factors[i]
        powers[i] = power(facts.quanta[i], form) * digits
    for j in range(values.shape[0]):
        bias, norm, quanta = units.bias[j], units.norms[j], units.quanta[j]
        unit_power, bias_power = power(quanta, form), power(units.bias_quanta[j], form) * digits
        lowest = max(form.lowest, form.lowest - quanta)
        for i in range(n):
            factor, reach = factors[i], facts.norms[i] + norm
            bound = (errors[j, i] + factor * abs(bias)) * grow
            bound += 8.0 * form.tiny * (reach + 2.0 * facts.terms[i] + 2.0)
            size = bound * inverses[i]
            if not (size < form.huge and reach < form.huge):
                values[j, i], errors[j, i] = 0.0, np.inf
                continue
            values[j, i] += bias
            if facts.quanta[i] >= lowest and size <= min(powers[i] * unit_power, bias_power):
                bound = 0.0
            errors[j, i] = bound


@compiled
def activate(values, errors, kind, norms, terms, quanta):
    """Apply an activation to values and their radii, and find what bounds need to know of the result."""
    norms[:], terms[:], quanta[:] = 0.0, 0, ANY_QUANTUM
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            value, error = values[j, i], errors[j, i]
            if kind == STEP:
                if value > error:
                    value, error = 1.0, 0.0
                elif value <= -error:
                    value, error = 0.0, 0.0
                else:
                    value, error = 0.5, 0.5
            elif kind == RAMP:
                if value <= -error:
                    value, error = 0.0, 0.0
                elif value < 0.0:
                    value = 0.0
            values[j, i], errors[j, i] = value, error
            if value != 0.0 or error != 0.0:
                norms[i] += abs(value) + error
                terms[i] += 1
                if error != 0.0:
                    quanta[i] = INEXACT
                elif quanta[i] != INEXACT:
                    quanta[i] = min(quanta[i], 0 if value == 1.0 else quantum(value))
    for i in range(values.shape[1]):
        norms[i] *= 1.0 + (values.shape[0] + 8) * 2.0**-52


@compiled
def precise_sums(high, low, data, indices, indptr, bias, out_high, out_low):
    """Add up <w, high + low> + b for rows of a CSR matrix as unevaluated pairs, all but the last bits right."""
    # Products and sums are split exactly into what is rounded to and what is left over (Dekker, Knuth), and what is
    # left over is added up beside: see ``certificate.arithmetic.run_precisely``.
    n = high.shape[1]
    for j in range(bias.shape[0]):
        total, rest = out_high[j], out_low[j]
        total[:], rest[:] = bias[j], 0.0
        for k in range(indptr[j], indptr[j + 1]):
            w = data[k]
            big = SPLIT * w
            w_high = big - (big - w)
            w_low = w - w_high
            top, tail = high[indices[k]], low[indices[k]]
            for i in range(n):
                a = top[i]
                product = w * a
                big = SPLIT * a
                a_high = big - (big - a)
                a_low = a - a_high
                lost = ((w_high * a_high - product) + w_high * a_low + w_low * a_high) + w_low * a_low
                new = total[i] + product
                shift = new - total[i]
                missed = (total[i] - (new - shift)) + (product - shift)
                total[i] = new
                rest[i] += missed + (lost + w * tail[i])
        for i in range(n):
            new = total[i] + rest[i]
            shift = new - total[i]
            rest[i] = (total[i] - (new - shift)) + (rest[i] - shift)
            total[i] = new
