"""What certificates compute with: exact sums of products, and chains of layers with bounds.

For certificates alone: the sides that a network is built and run on are decided by
other code, and neither borrows from the other, so that a mistake in one shows.

Exact sums: no rounding, no range to leave. A sum is held as an integer in base 2^32, digit by digit in int64 with room
for carries: digit k stands for bins[k] * 2^(32 k - OFFSET). The smallest product of two float64
numbers is a multiple of 2^-2252, the largest is below 2^2048.

Chains of layers: the compiled half of ``certificate.arithmetic``. Signals are kept unit by unit here: ``values[j, i]``
belongs to unit j and point i.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .compile import compiled, popcount
from .rounding import ENLARGE, FLOAT64, gamma

BINS = 140  # digits of 32 bits: products end below bit 2048 + 2272 = 135 * 32, the others are for carries
OFFSET = 2272  # bits below the point: a multiple of 32 not less than 2252
LOW_HALF = np.int64(2**27 - 1)  # products of such halves, and sums of two of them, fit in int64
LOW_DIGIT = np.int64(2**32 - 1)

LINEAR, STEP, RAMP = 0, 1, 2
ANY_QUANTUM = 4000  # of zeros, multiples of everything: above the exponent of any sum of products
INEXACT = -(2**40)  # a quantum below every format's lowest exponent, also after a few of them are added
LARGEST_EXPONENT = 400  # two such powers and 53 digits multiply without overflow
SMALL_SQUARE = 2.0**-960  # squares above it are right to the last bit: float64 loses digits below 2^-1022 only
SPLIT = 2.0**27 + 1.0  # Dekker's: splits 53 digits into 26 and 26 and a sign


@compiled
def whole(number):
    """The integer m of at most 53 bits, and e, with number = m 2^e."""
    fraction, exponent = math.frexp(number)
    return np.int64(fraction * 2.0**53), exponent - 53


@compiled
def quantum(number):
    """The largest q such that a number other than zero is a multiple of 2^q."""
    digits, exponent = whole(number)
    lowest = digits & -digits
    return exponent + popcount(np.uint64(lowest - 1))


@compiled
def add_integer(bins, amount, place, sign):
    """Add sign * amount * 2^(place - OFFSET); 0 <= amount < 2^55."""
    k, shift = place >> 5, place & 31
    low = (amount & LOW_DIGIT) << shift
    high = (amount >> 32) << shift
    bins[k] += sign * (low & LOW_DIGIT)
    bins[k + 1] += sign * ((low >> 32) + (high & LOW_DIGIT))
    bins[k + 2] += sign * (high >> 32)


@compiled
def add_product(bins, a, b):
    """Add a * b, halves of 27 bits times halves."""
    if a == 0.0 or b == 0.0:
        return
    m, exponent_a = whole(a)
    n, exponent_b = whole(b)
    sign = np.int64(1) if (m < 0) == (n < 0) else np.int64(-1)
    m, n, place = abs(m), abs(n), np.int64(exponent_a + exponent_b + OFFSET)
    m_high, m_low, n_high, n_low = m >> 27, m & LOW_HALF, n >> 27, n & LOW_HALF
    add_integer(bins, m_low * n_low, place, sign)
    add_integer(bins, m_high * n_low + m_low * n_high, place + 27, sign)
    add_integer(bins, m_high * n_high, place + 54, sign)


@compiled
def add_affine(bins, weights, point, bias):
    """Add <weights, point> + bias."""
    for j in range(point.shape[0]):
        add_product(bins, np.float64(weights[j]), point[j])
    add_product(bins, bias, 1.0)


@compiled
def sign_of(bins):
    """Sign of the sum as -1, 0 or 1; carries are moved up, so that all digits but the last are in [0, 2^32)."""
    last = bins.shape[0] - 1
    some = False
    for k in range(last):
        carry = bins[k] >> 32
        bins[k] &= LOW_DIGIT
        bins[k + 1] += carry
        some = some or bins[k] != 0
    if bins[last] < 0:
        return -1
    return 1 if some or bins[last] > 0 else 0


@compiled
def at_least(bins):
    """A float64 number not above the absolute value of the sum, and close to it where that is above 2^-1000."""
    if sign_of(bins) < 0:
        for k in range(bins.shape[0]):
            bins[k] = -bins[k]
        sign_of(bins)
    top = bins.shape[0] - 1
    while top > 2 and bins[top] == 0:
        top -= 1
    leading = (bins[top] * 2.0**32 + bins[top - 1]) * 2.0**32 + bins[top - 2]
    size = math.ldexp(leading * (1.0 - 2.0**-50), 32 * (top - 2) - OFFSET)
    return min(size, 1.7e308) if size > 2.0**-1000 else 0.0


@compiled
def exact_side(weights, point, bias, bins):
    """Sign of <weights, point> + bias, and a lower bound of its absolute value."""
    bins[:] = 0
    add_affine(bins, weights, point, bias)
    sign = sign_of(bins)
    return sign, at_least(bins)


@compiled
def factors_of(planes, j, point):
    """Weights of a hyperplane, and the numbers of a point that they are multiplied with."""
    first, last = planes.starts[j], planes.starts[j + 1]
    if planes.features.shape[0] == 0:
        return planes.weights[first:last], point[: last - first]
    numbers = np.empty(last - first)
    for k in range(first, last):
        numbers[k - first] = point[planes.features[k]]
    return planes.weights[first:last], numbers


@compiled
def exact_ramp_gap(planes, point, mask, limit):
    """Sign of limit - sum over the bits of the mask of max(<w_i, point> + b_i, 0)."""
    gap, value = np.zeros(BINS, np.int64), np.empty(BINS, np.int64)
    add_product(gap, limit, 1.0)
    for i in range(planes.bias.shape[0]):
        if (mask[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
            value[:] = 0
            weights, numbers = factors_of(planes, i, point)
            add_affine(value, weights, numbers, planes.bias[i])
            if sign_of(value) > 0:
                gap -= value
    return sign_of(gap)


class Units(NamedTuple):
    """Of every unit of a layer: bias, sum of absolute weights (rounded up), and what all of them are multiples of.

    All weights of a unit are multiples of 2^``quanta``; INEXACT where they had to be rounded.
    """

    bias: Any
    norms: Any
    quanta: Any
    bias_quanta: Any


@compiled
def sum_facts(values, norms, terms, quanta):
    """What bounds need to know of every point of a signal without errors: see ``Facts``, with sums for norms."""
    norms[:], terms[:], quanta[:] = 0.0, 0, ANY_QUANTUM
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            value = values[j, i]
            if value != 0.0:
                norms[i] += abs(value)
                terms[i] += 1
                quanta[i] = min(quanta[i], quantum(value))
    for i in range(values.shape[1]):
        norms[i] *= 1.0 + (values.shape[0] + 8) * 2.0**-52


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
def spread(values, errors, factors):
    """Replace every error e by e + factor (|value| + e), which the absolute weights carry to the next layer."""
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            error = errors[j, i]
            errors[j, i] = error + factors[i] * (abs(values[j, i]) + error)


@compiled
def power(exponent, form):
    """2^exponent, or less where that would leave the range: zero below the normal numbers of the format."""
    return math.ldexp(1.0, min(exponent, LARGEST_EXPONENT)) if exponent >= form.lowest else 0.0


@compiled
def enclose(values, errors, factors, facts, units, inputs, form):
    """From <w, v> and sum |w_j| spread_j to centre <w, v> + b and the radius that ``certificate.arithmetic`` proves.

    The radius is zero where all sums are few multiples of one power of two: see ``sums_exactly``, which
    this repeats with the powers worked out beforehand.
    """
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
def nearest_flat(values, errors, slopes, reach):
    """Lower ``reach`` to how far a point may move before a unit of this slope changes its sign."""
    for j in range(values.shape[0]):
        if slopes[j] > 0.0:
            for i in range(values.shape[1]):
                gap = abs(values[j, i]) - errors[j, i]
                reach[i] = min(reach[i], gap / slopes[j] if gap > 0.0 else 0.0)


@compiled
def nearest_sphere(values, errors, norms, curvatures, bias, reach):
    """As ``nearest_flat``, for units f(x) = <w, x> + c |x|^2 + b.

    With D = |grad f(x)| / |2 c| the distance to the centre and s = f / c, the sphere f = 0 has
    the squared radius D^2 - s, and is |s| / (D + sqrt(D^2 - s)) away; there is none if D^2 < s. Moreover
    |grad f|^2 = |w|^2 + 4 c (f - b). Everything is rounded to the side that makes the distance smaller.
    """
    for j in range(values.shape[0]):
        c, square = curvatures[j], norms[j] * norms[j]
        for i in range(values.shape[1]):
            value, error = values[j, i], errors[j, i]
            gap = abs(value) - error
            if not gap > 0.0:
                reach[i] = 0.0
                continue
            if c == 0.0:
                away = gap / norms[j] if norms[j] > 0.0 else np.inf
            else:
                slope = square + 4.0 * c * (value - bias[j])
                slope += 2.0**-48 * (square + 4.0 * abs(c) * (abs(value) + abs(bias[j]))) + 4.0 * abs(c) * error
                # The square of a tiny curvature is not right to the last bits, that of a huge one infinite: then
                # nothing is claimed.
                quarter = 4.0 * c * c
                usable = quarter > SMALL_SQUARE and quarter < np.inf and slope < np.inf
                distance = max(slope, 0.0) / quarter if usable else np.inf
                left = distance - value / c + error / abs(c)
                left += 2.0**-48 * (distance + abs(value / c))
                # What overflowed is infinite or NaN here, and then so is what is divided by, or the quotient.
                away = np.inf if left <= 0.0 else gap / abs(c) / (math.sqrt(distance) + math.sqrt(left))
            if not away >= reach[i]:
                reach[i] = away if away > 0.0 else 0.0


@compiled
def precise_sums(high, low, data, indices, indptr, bias, out_high, out_low):
    """Sums <w, high + low> + b of rows of a CSR matrix as unevaluated pairs, all but the last bits right.

    Products and sums are split exactly into what is rounded to and what is left over
    (Dekker, Knuth), and what is left over is added up beside: see ``certificate.arithmetic.run_precisely``.
    """
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


@compiled
def precise_squares(values, high, low):
    """Squared norms of the points as unevaluated pairs; as ``precise_sums``."""
    for i in range(values.shape[1]):
        total, rest = 0.0, 0.0
        for j in range(values.shape[0]):
            a = values[j, i]
            product = a * a
            big = SPLIT * a
            a_high = big - (big - a)
            a_low = a - a_high
            lost = ((a_high * a_high - product) + 2.0 * (a_high * a_low)) + a_low * a_low
            new = total + product
            shift = new - total
            rest += ((total - (new - shift)) + (product - shift)) + lost
            total = new
        new = total + rest
        shift = new - total
        low[i] = (total - (new - shift)) + (rest - shift)
        high[i] = new
