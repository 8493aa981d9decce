"""Numbers written in decimal, from octets to float64."""

from __future__ import annotations

import numpy as np

from .compile import compiled, inlined
from .rounding import EXACT_INTEGERS

NEWLINE, PLUS, MINUS, POINT = ord("\n"), ord("+"), ord("-"), ord(".")
ZERO, NINE, UPPER_E, LOWER_E = ord("0"), ord("9"), ord("E"), ord("e")
MOST_DIGITS = 18  # as many as int64 surely holds
MOST_POWER = 10**13  # an exponent that grew beyond this is out of range anyway; int64 holds ten times it
POWERS = np.array([float(f"1e{k}") for k in range(23)])  # all powers of ten that float64 holds exactly


@compiled
def parse_decimals(octets, mark, width, numbers, hard):
    """Numbers of a block of lines, each of ``width`` cells between octets ``mark``, each line ended by a newline.

    A number m * 10^e with m < 2^53 and abs(e) <= 22 is one product or quotient of two numbers that
    float64 holds exactly, so it is rounded once, as it should be. All others are left to the
    caller: their cells become NaN, and ``hard``, of shape (2, n_cells), gets where they begin and end, in order.
    Returns how many cells are hard; -1 if the block holds anything but such numbers.
    """
    cell = column = count = 0
    position, end = 0, len(octets)
    while position < end:
        start = position
        negative = octets[position] == MINUS
        if negative or octets[position] == PLUS:
            position += 1
        position, mantissa, digits, exponent = read_mantissa(octets, position)
        if position < end and (octets[position] == LOWER_E or octets[position] == UPPER_E):
            position, power = read_power(octets, position + 1)
            exponent += power
        if position >= end or cell >= len(numbers):
            return -1
        easy = digits <= MOST_DIGITS and mantissa < EXACT_INTEGERS and (mantissa == 0 or abs(exponent) < len(POWERS))
        value = scaled(mantissa, exponent) if easy else np.nan
        if not easy:
            hard[0, count], hard[1, count] = start, position
            count += 1
        numbers[cell] = -value if negative else value
        cell += 1
        column += 1
        if octets[position] == NEWLINE:
            if column != width:
                return -1
            column = 0
        elif octets[position] != mark:
            return -1
        position += 1
    return count if column == 0 and cell == len(numbers) else -1


@inlined
def read_mantissa(octets, position):
    """Digits with at most one point: where they end, as a whole number, how many count, and the power of ten.

    They end at the last octet if there are none.
    """
    mantissa, exponent = np.int64(0), np.int64(0)
    digits = seen = 0
    after_point = False
    while position < len(octets):
        octet = octets[position]
        if ZERO <= octet <= NINE:
            seen += 1
            if digits > 0 or octet != ZERO:
                digits += 1
            if digits <= MOST_DIGITS:
                mantissa = 10 * mantissa + (np.int64(octet) - ZERO)
            if after_point:
                exponent -= 1
        elif octet == POINT and not after_point:
            after_point = True
        else:
            break
        position += 1
    return position if seen else len(octets), mantissa, digits, exponent


@inlined
def read_power(octets, position):
    """A whole number with or without a sign, and where it ends: at the last octet if there is none."""
    backwards = position < len(octets) and octets[position] == MINUS
    if position < len(octets) and (backwards or octets[position] == PLUS):
        position += 1
    power, seen = np.int64(0), 0
    while position < len(octets) and ZERO <= octets[position] <= NINE:
        seen += 1
        if power < MOST_POWER:
            power = 10 * power + (np.int64(octets[position]) - ZERO)
        position += 1
    return position if seen else len(octets), -power if backwards else power


@inlined
def scaled(mantissa, exponent):
    """mantissa * 10^exponent by one rounded operation; zero has every exponent."""
    if mantissa == 0:
        return 0.0
    return mantissa * POWERS[exponent] if exponent >= 0 else mantissa / POWERS[-exponent]
