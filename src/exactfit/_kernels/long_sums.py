"""Sums of many float64 numbers without rounding: the same whatever the order, and however they are split.

A sum is an integer over 2^1074, in base 2^32: digit k of a column, in int64 with room for carries, stands for
digits[k] * 2^(32 k - 1074). A float64 number is 53 bits at the place that its exponent names, so that adding
it touches three digits, without a branch on its size; that is what makes it nearly as fast as adding floats.
"""

from __future__ import annotations

import numpy as np

from .compile import compiled

DIGITS = 68  # of 32 bits: 2098 for the numbers themselves, 78 more for as many of them as there may be
DIGIT_BITS = 32
LOW_DIGIT = np.int64(2**32 - 1)
MANTISSA = np.int64(2**52 - 1)
IMPLICIT = np.int64(2**52)  # the leading bit that float64 does not store
EXPONENT = np.int64(2047)


@compiled
def add_exactly(bits, digits):
    """Add every row of finite float64 numbers, given by their bits as int64, to the digits of its columns.

    At most 2^30 rows at a time fit beside digits that :func:`carry` has left.
    """
    for r in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            number = bits[r, j]
            exponent = (number >> 52) & EXPONENT
            amount = number & MANTISSA
            if exponent:
                amount |= IMPLICIT
                exponent -= 1
            elif amount == 0:
                continue
            k, shift = exponent >> 5, exponent & 31
            low = (amount & LOW_DIGIT) << shift
            high = (amount >> DIGIT_BITS) << shift
            sign = 1 - 2 * np.int64(number < 0)
            digits[j, k] += sign * (low & LOW_DIGIT)
            digits[j, k + 1] += sign * ((low >> DIGIT_BITS) + (high & LOW_DIGIT))
            digits[j, k + 2] += sign * (high >> DIGIT_BITS)


@compiled
def carry(digits):
    """Bring every digit but the last into 0 .. 2^32 - 1; the last one has the sign."""
    for j in range(digits.shape[0]):
        for k in range(digits.shape[1] - 1):
            over = digits[j, k] >> DIGIT_BITS
            digits[j, k] -= over << DIGIT_BITS
            digits[j, k + 1] += over
