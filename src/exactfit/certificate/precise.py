"""Chains of layers in pairs of float64 numbers: twice the digits, for points that float64 leaves open.

A signal is a pair high + low, |low| <= u |high|, with a radius e around it that holds the exact one.

Claim. Let a unit have n weights w other than zero and a bias b, S = sum_j |w_j| |high_j| + |b| and u = 2^-53.
The pair that ``precise_sums`` computes is within sum_j |w_j| e_j + 2 (n + 4)^2 u^2 S of the exact sum.

Proof. The kernel adds b and the products p_j = fl(w_j high_j) in turn, to total; what a product or an
addition loses, lost_j and missed_j, it computes exactly (Dekker, Knuth). So the sum over the pairs is
total + R exactly, R = sum_j (missed_j + lost_j + w_j low_j), and the kernel's only errors are those in adding up R:
at most n + 3 roundings for each term. |lost_j| and |w_j low_j| are at most u |w_j high_j|, and |missed_j| <= u |total|
<= 1.01 u S, together at most 1.01 u (n + 2) S; hence the error is at most
gamma_(n+3) 1.01 u (n + 2) S <= 1.1 (n + 3)^2 u^2 S. The last step splits the result into a pair again, exactly.
Products below 2^-968 may lose what underflows, less than 2^-1060 each; beyond 2^990 the radius is infinite.

All weights must be float64 numbers. Squared norms are such sums with w = high.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._kernels.chains import LINEAR, STEP, precise_squares, precise_sums
from .layers import ChainLayer

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats, Floats]

LARGEST = 2.0**990
UNDERFLOW = 2.0**-1020
NEARLY_ONE = 1.0 - 2.0**-50
U = 2.0**-53


def run_precisely(chain: Sequence[ChainLayer], tile: Floats, squared: bool) -> tuple[Floats, Floats]:
    """Outputs for the points of a tile, and radii that hold the exact ones; both of shape (outputs, points)."""
    pair = _enter(tile, squared)
    for layer in chain:
        pair = _pass_on(layer, *pair)
    high, low, errors = pair
    return high, (errors + np.abs(low)) / NEARLY_ONE


def _enter(tile: Floats, squared: bool) -> Pair:
    high = np.zeros((tile.shape[1] + squared, len(tile)))
    high[: tile.shape[1]] = tile.T
    low, errors = np.zeros_like(high), np.zeros_like(high)
    if squared:
        precise_squares(high[:-1], high[-1], low[-1])
        errors[-1] = _share(tile.shape[1]) * high[-1] / NEARLY_ONE + UNDERFLOW * len(high)
        _forget_huge(high[-1], low[-1], errors[-1])
    return high, low, errors


def _pass_on(layer: ChainLayer, high: Floats, low: Floats, errors: Floats) -> Pair:
    matrix, share = layer.compressed, _share(layer.n_terms)
    sums, rests = np.empty((2, layer.n_units, high.shape[1]))
    precise_sums(high, low, matrix.data, matrix.indices, matrix.indptr, layer.units.bias, sums, rests)
    grow = 1.0 + (layer.n_inputs + 32) * 2.0**-52
    bounds = abs(matrix) @ (errors + share * np.abs(high))
    bounds = (bounds + share * np.abs(layer.units.bias)[:, None]) * grow + UNDERFLOW * (layer.n_terms + 2)
    _forget_huge(sums, rests, bounds)
    return _respond(layer.kind, sums, rests, bounds)


def _share(n: int) -> float:
    """The factor of S in the claim, rounded up."""
    return 2.0 * (n + 4) ** 2 * U * U / NEARLY_ONE


def _forget_huge(high: Floats, low: Floats, errors: Floats) -> None:
    known = (errors < LARGEST) & (np.abs(high) < LARGEST)
    high[~known], low[~known], errors[~known] = 0.0, 0.0, np.inf


def _respond(kind: int, high: Floats, low: Floats, errors: Floats) -> Pair:
    """What a layer makes of its sums; the sign of a pair is that of ``high``."""
    if kind == LINEAR:
        return high, low, errors
    size = np.abs(high) * NEARLY_ONE
    off = (high <= 0.0) & (size >= errors)
    if kind == STEP:
        on = (high > 0.0) & (size > errors)
        half = np.where(on | off, 0.0, 0.5)
        return np.where(on, 1.0, half), np.zeros_like(low), half
    positive = high > 0.0
    return np.where(positive, high, 0.0), np.where(positive, low, 0.0), np.where(off, 0.0, errors)
