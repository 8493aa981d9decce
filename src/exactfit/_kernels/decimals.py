"""Numbers written in decimal, from octets to float64."""

from __future__ import annotations

import numpy as np

from .compile import compiled

NEWLINE, PLUS, MINUS, POINT = ord("\n"), ord("+"), ord("-"), ord(".")
ZERO, NINE, UPPER_E, LOWER_E = ord("0"), ord("9"), ord("E"), ord("e")
EXACT = 2**53
MOST_DIGITS = 18  # as many as int64 surely holds
POWERS = np.array([float(f"1e{k}") for k in range(23)])  # all powers of ten that float64 holds exactly


@compiled
def parse_decimals(octets, mark, width, numbers, hard):
    """Numbers of a block of lines, each of ``width`` cells between octets ``mark``, each line ended by a newline.

    A number m * 10^e with m < 2^53 and abs(e) <= 22 is one product or quotient of two numbers that
    float64 holds exactly, so it is rounded once, as it should be. All others are left to the
    caller: their cells become NaN, and ``hard`` gets where they begin and end, in order.

    Parameters
    ----------
    octets : ndarray of uint8
    mark : int
    width : int
    numbers : ndarray of float64, one for each cell
    hard : ndarray of int64, shape (2, n_cells)

    Returns
    -------
    int
        How many cells are hard; -1 if the block holds anything but such numbers.
    """
    cell = column = count = 0
    position, end = 0, len(octets)
    while position < end:
        start = position
        negative = octets[position] == MINUS
        if negative or octets[position] == PLUS:
            position += 1
        mantissa, exponent = np.int64(0), np.int64(0)
        digits = seen = 0
        after_point = False
        while position < end:
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
        if seen == 0 or position >= end:
            return -1
        easy = digits <= MOST_DIGITS and mantissa < EXACT
        if octets[position] == LOWER_E or octets[position] == UPPER_E:
            position += 1
            backwards = position < end and octets[position] == MINUS
            if position < end and (backwards or octets[position] == PLUS):
                position += 1
            power, seen = np.int64(0), 0
            while position < end and ZERO <= octets[position] <= NINE:
                seen += 1
                if power < EXACT // 100:
                    power = 10 * power + (np.int64(octets[position]) - ZERO)
                position += 1
            if seen == 0 or position >= end:
                return -1
            exponent += -power if backwards else power
        if cell >= len(numbers):
            return -1
        if easy and mantissa == 0:
            value = 0.0
        elif easy and 0 <= exponent <= 22:
            value = mantissa * POWERS[exponent]
        elif easy and -22 <= exponent < 0:
            value = mantissa / POWERS[-exponent]
        else:
            value = np.nan
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
