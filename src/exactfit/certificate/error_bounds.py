"""How far an evaluation of <w, x> + b can be from the exact number, and lower bounds that stay such when rounded.

Let u be the unit roundoff of a format (2^-53, 2^-24), eta its smallest normal number,
and K the number of products w_j x_j other than zero.

Claim. Round w, x and b to the format, multiply, and add all up in any order, with or
without fused multiply-adds, with underflow gradual or flushed to zero. If nothing
overflows, the result differs from <w, x> + b by at most

    gamma_(K+5) (S + pad (|w| + |x| + 1)),   S = sum_j |w_j x_j| + |b|,

where gamma_k = k u / (1 - k u) and pad = 4 eta / u.

Proof. Adding zero is exact, so a product passes through at most its own rounding, those of
w_j and x_j, and K additions (K products and the bias): K + 3 factors 1 + delta with
|delta| <= u, less with fused operations; the bias passes through K + 1. Together they are
within gamma_(K+3) of 1. Each rounding may moreover add up to eta where it underflows:
to w_j and x_j, which costs at most eta (|x_j| + |w_j| + eta) in the product, to the product,
to each of the K sums and to b. Over K terms, K >= 1, that is at most
1.01 eta (K |x| + K |w| + 3 K + 1) <= (K + 4) u pad (|x| + |w| + 1), as long as gamma_(K+3) is small;
the code calls anything beyond k u = 1/4 unbounded. The two units left over between K + 3
and K + 5, and a factor 1 + 2^-40, pay for the rounding of the bound itself.

By Cauchy and Schwarz S <= |w| |x| + |b|, which is enough for a first look at all entries
at once; norms are rounded up. Overflow cannot occur while S and both norms are below a
quarter of the format's range; beyond, the bound counts as infinite.

Let the entries of w be multiples of 2^r, those of x of 2^s, the products and b of 2^q with
q <= r + s, none of these powers below eta, and S <= 2^(q + digits). Then every partial sum is a
multiple of 2^q that the format holds, and so are w_j and x_j where their product is not zero,
since |x_j| <= S / |w_j| <= 2^(s + digits): each evaluation is exact. That settles points on
hyperplanes for data and weights on a grid.

A coordinate cut (weights zero but for one power of two) adds two numbers and otherwise zeros.
One rounded addition has the sign of the exact one, so only rounding the entry and the bias
themselves, or flushing to zero, can turn its bit. Its value v errs by no more than 2 u |v| and
what four numbers flushed to zero come to, if the format holds entry and bias.

This evaluation here is one of those that the claim speaks of, in float64 and without
rounding of w, x, b. So with v its result and B its bound, the exact number is at least
|v| - B in size; and a bit is settled in every evaluation in a format if that exceeds
the format's own bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.certify import Facts, Planes, find_facts
from ..data import Floats
from ..exceptions import DataError
from ..network.detectors import Detectors

PLANE_BLOCK = 1024  # hyperplanes to a matrix product; a multiple of 64, so that blocks fill whole words of bits


def facts_of(matrix: NDArray[Any]) -> Facts:
    """What bounds need to know of each row."""
    n = matrix.shape[0]
    facts = Facts(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))
    find_facts(matrix, *facts)
    return facts


class FirstLayer:
    """The hyperplanes of a network, with what bounds need to know of them."""

    def __init__(self, weights: NDArray[Any], bias: NDArray[Any]) -> None:
        self.weights, self.bias = np.ascontiguousarray(weights), bias.astype(np.float64)
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias).all()):
            raise DataError("the network holds NaN or infinity in its first layer")
        own, of_bias = facts_of(self.weights), facts_of(self.bias[:, None])
        self.columns, self.cuts = _cuts(self.weights, own)
        self.norms, self.quanta, self.bias_quanta = own.norms, own.quanta, of_bias.quanta

    @classmethod
    def of(cls, detectors: Detectors) -> FirstLayer:
        """The hyperplanes under some detectors."""
        return cls(detectors.planes, detectors.first.bias)

    def __len__(self) -> int:
        return len(self.bias)

    def block(self, start: int, stop: int) -> Planes:
        """Some of the hyperplanes."""
        part = slice(start, stop)
        return Planes(
            weights=self.weights[part].astype(np.float64, copy=False),
            bias=self.bias[part],
            norms=self.norms[part],
            quanta=self.quanta[part],
            bias_quanta=self.bias_quanta[part],
            columns=self.columns[part],
            cuts=self.cuts[part],
        )

    def ranges(self) -> list[tuple[int, int]]:
        """All hyperplanes, as ranges of blocks."""
        return [(start, min(start + PLANE_BLOCK, len(self))) for start in range(0, len(self), PLANE_BLOCK)]


def _cuts(weights: NDArray[Any], facts: Facts) -> tuple[NDArray[np.int64], Floats]:
    """The column and the weight of coordinate cuts; -1 for other hyperplanes."""
    columns, cuts = np.full(len(weights), -1, dtype=np.int64), np.zeros(len(weights))
    single = np.flatnonzero(facts.terms == 1)
    places = np.argmax(weights[single] != 0, axis=1) if len(single) else single
    entries = weights[single, places].astype(np.float64)
    power = np.abs(np.frexp(entries)[0]) == 0.5
    columns[single[power]], cuts[single[power]] = places[power], entries[power]
    return columns, cuts


def rounded_down(values: Floats) -> float:
    """The smallest of some numbers that carry a few roundings, made a lower bound again."""
    smallest = max(0.0, float(np.min(values, initial=np.inf)))
    return smallest if np.isinf(smallest) else float(np.nextafter(smallest * (1.0 - 2.0**-50), 0.0))


def all_rounded_down(values: Floats) -> Floats:
    """The same for each of them."""
    lower = np.where(np.isinf(values), values, np.nextafter(values * (1.0 - 2.0**-50), 0.0))
    return np.maximum(lower, 0.0)
