"""Inputs for the tests of kernels: bits at the widths where words begin and end, and close calls."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
from hypothesis import strategies as st

from exactfit.network.bits import BitMatrix

WIDTHS = [1, 63, 64, 65, 127, 128, 129, 192, 193, 255, 256, 257, 320, 449, 511, 512, 513, 768, 769, 1100]
COLUMNS = [1, 511, 512, 513, 1030]
ALL = 2**64 - 1


def random_bits(seed, n_rows, n_bits, share=0.5):
    """Random bits; the first row all on, the last bit of every word (bit 63) on in the second."""
    bits = np.random.default_rng(seed).random((n_rows, n_bits)) < share
    bits[0] = True
    bits[1 % n_rows, 63::64] = True
    return bits


def masks_of(bits):
    return np.ascontiguousarray(BitMatrix.from_bool(bits).words.T)


def count_matrix(masks, points):
    return masks.astype(np.int64) @ points.T.astype(np.int64)


def masked_values(seed, n, n_columns, n_masks=4):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, n_columns)), rng.random(n_columns) * 1e-10, random_bits(seed, n_masks, n)


moderate = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.integers(-4, 4).map(float),
    st.floats(2.0**-440, 2.0**440),
).filter(lambda v: v == 0 or 2.0**-450 <= abs(v) <= 2.0**450)
any_float = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    moderate,
    st.builds(math.ldexp, st.floats(-1, 1), st.sampled_from([-600, -540, -480, -455, -445, 445, 455, 480, 540])),
    st.sampled_from([5e-324, 1.7e308]),
)


@st.composite
def close_calls(draw, numbers):
    """(x, w, b) with <w, x> + b far smaller than its terms, or zero."""
    d = draw(st.integers(1, 6))
    x = draw(st.lists(numbers, min_size=d, max_size=d))
    w = draw(st.lists(numbers, min_size=d, max_size=d))
    kind = draw(st.sampled_from(["plain", "rounded", "mirrored"]))
    b = draw(numbers)
    if kind == "mirrored":
        x, w, b = [*x, *x], [*w, *(-v for v in w)], draw(st.sampled_from([0.0, 5e-324, -5e-324, 1e-30, -1e-30]))
    elif kind == "rounded":
        rounded = naive.exact(w, x, 0.0)
        b = -float(rounded) if abs(rounded) < Fraction(1.7e308) else b
        steps = draw(st.integers(-2, 2))
        for _ in range(abs(steps)):
            b = math.nextafter(b, math.copysign(math.inf, steps))
    return np.array(x), np.array(w), b if math.isfinite(b) else 0.0
