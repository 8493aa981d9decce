"""Exact sums of products of float64 numbers: no rounding, no range to leave.

For certificates alone: the sides that a network is built and run on are decided by
other code, and neither borrows from the other, so that a mistake in one shows.

A sum is held as an integer in base 2^32, digit by digit in int64 with room for carries:
digit k stands for bins[k] * 2^(32 k - OFFSET). The smallest product of two float64
numbers is a multiple of 2^-2252, the largest is below 2^2048.
"""

from __future__ import annotations

import math

import numpy as np

from .compile import compiled, popcount

BINS = 140  # digits of 32 bits: products end below bit 2048 + 2272 = 135 * 32, the others are for carries
OFFSET = 2272  # bits below the point: a multiple of 32 not less than 2252
LOW_HALF = np.int64(2**27 - 1)  # products of such halves, and sums of two of them, fit in int64
LOW_DIGIT = np.int64(2**32 - 1)


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
def exact_ramp_gap(weights, bias, point, mask, limit):
    """Sign of limit - sum over the bits of the mask of max(<w_i, point> + b_i, 0)."""
    gap, value = np.zeros(BINS, np.int64), np.empty(BINS, np.int64)
    add_product(gap, limit, 1.0)
    for i in range(bias.shape[0]):
        if (mask[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
            value[:] = 0
            add_affine(value, weights[i], point, bias[i])
            if sign_of(value) > 0:
                gap -= value
    return sign_of(gap)
