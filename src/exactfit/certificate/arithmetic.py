"""Chains of layers in three arithmetics, each for points that the one before leaves open.

Float64 with a running error bound (:func:`run`), pairs of float64 numbers (:func:`run_precisely`), and exact
integers (:func:`run_exactly`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import enclosures
from .._kernels.certify import Facts
from .._kernels.enclosures import LINEAR, RAMP, STEP
from .._kernels.rounding import ENLARGE, FLOAT32, FLOAT64, Format
from ..data import Floats
from ..network import Integers
from .layers import ChainLayer, as_integers

Pair = tuple[Floats, Floats, Floats]  # high, low, radius

U = 2.0**-53  # unit roundoff of float64
NEARLY_ONE = 1.0 - 2.0**-50  # a few roundings less than one
LARGEST_GAMMA = 0.25  # gamma_k is bounded while k u is at most this, see paper_form
HUGE = 2.0**990  # beyond it a pair is given up: Dekker's splitting might overflow
UNDERFLOW = 2.0**-1020  # more than a sum of underflowing products loses, for each term


# ---- Float64, with a running error bound -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Centres and radii of shape (units, points), and facts about each point that bounds need."""

    values: Floats
    errors: Floats
    facts: Facts

    @property
    def is_lost(self) -> bool:
        """Whether nothing is known any more: every radius is infinite."""
        return not np.isfinite(self.facts.norms).any() and bool(self.errors.size) and not np.isfinite(self.errors).any()


Look = Callable[[int, Enclosure], None]


def enter(tile: Floats, squared: bool, form: Format) -> Enclosure:
    """Return points of a tile, of shape (points, features), as the first layer receives them."""
    n, d = tile.shape
    values = np.zeros((d + squared, n))
    values[:d] = tile.T
    signal = Enclosure(values, np.zeros_like(values), _no_facts(n))
    enclosures.activate(values[:d], signal.errors[:d], LINEAR, *signal.facts)
    if squared:
        enclosures.append_square(values, signal.errors, signal.facts, form)
    return signal


def run(
    chain: Sequence[ChainLayer], signal: Enclosure, form: Format, look: Look = lambda index, sums: None
) -> Enclosure:
    """Return enclosures of all outputs; stop where nothing is known any more. ``look`` sees the sums of each layer."""
    # For a format with unit roundoff u and smallest normal number eta (see ``paper_form``), every signal a of every
    # point is enclosed: a centre v and a radius e such that |v - a| <= e and |v - a'| <= e for the exact signal a and
    # for the signal a' of every evaluation in the format (after rounding points and weights to it; in any order; fused
    # or not; underflow gradual or flushed). All points enter with e = 0: rounding them is paid for below.
    #
    # Claim. Let a unit have weights w and bias b, let at most K of its products be other than zero, gamma = gamma_(K+5)
    # of the format plus that of float64, and v' = <w, v> + b as evaluated here, in float64. Then v' is a centre for the
    # unit's sum with the radius
    #
    #     sum_j |w_j| (e_j + gamma (|v_j| + e_j)) + gamma |b| + 8 eta (sum_j (|v_j| + e_j) + sum_j |w_j| + 2 K + 2).
    #
    # Proof. The exact sum is within sum |w_j| e_j of <w, v> + b. An evaluation adds up products of a'_j, |a'_j| <=
    # |v_j| + e_j and |a'_j - v_j| <= e_j: by ``paper_form`` the K products and the bias pass through at most K + 3
    # roundings each, hence it is within sum |w_j| e_j + gamma_(K+3) (sum |w_j| |a'_j| + |b|) of <w, v> + b, but for
    # underflow. Each rounding may add up to eta where it underflows: to w_j, which costs eta |a'_j|; to a'_j, eta
    # |w_j|; to K products, K sums and b. All that grows by less than 4/3, so it is less than 2 eta times the last
    # bracket. The evaluation here obeys the same with the constants of float64, and adding the two is what the claim
    # does, with a factor of two to spare for underflow.
    #
    # The two units left over between K + 3 and K + 5 and a factor 1 + (inputs + 32) 2^-52 pay for the rounding of the
    # bound itself: a sum of that many numbers >= 0. Since the radius is at least gamma (sum |w_j| (|v_j| + e_j) + |b|),
    # dividing it by gamma bounds all sums, and below a quarter of the format's range nothing overflows; beyond, the
    # radius is infinite.
    #
    # Where a point's signals are free of errors (e = 0) and all of them, the weights and the bias are few multiples of
    # powers of two, each evaluation is exact (``paper_form`` again), and the radius is zero: integers below 2^53
    # (2^24), 0/1 signals under integer weights, data on a grid.
    #
    # A threshold unit is on, or off, wherever its enclosure is on one side; otherwise its signal is enclosed by 1/2
    # and 1/2, that is [0, 1], and the chain goes on: it may not matter. max(., 0) does not enlarge distances. A squared
    # norm is a sum of d products of a point with itself.
    #
    # A coordinate cut of the first layer adds two numbers. If its product is exact and the format holds all that goes
    # in, it rounds once in either evaluation, and loses to underflow no more than four numbers flushed to zero.
    dtype = np.float32 if form == FLOAT32 else np.float64
    for index, layer in enumerate(chain):
        facts, terms = signal.facts, np.minimum(signal.facts.terms, layer.n_terms)
        factors = _gammas(terms, form.unit) + _gammas(terms, FLOAT64.unit)
        # Every error e becomes e + factor (|value| + e), which the absolute weights carry on.
        spread = signal.errors + factors * (np.abs(signal.values) + signal.errors)
        sums = Enclosure(*layer.products(signal.values, spread), facts)
        idle = (sums.errors == 0.0) & (layer.units.bias == 0.0)[:, None]
        enclosures.enclose(sums.values, sums.errors, factors, facts, layer.units, layer.n_inputs, form)
        if index and chain[index - 1].kind == STEP and layer.is_integer:
            sums.errors[idle] = 0.0  # integer weights of units that are surely off add up to nothing
        if index == 0:
            units, columns, weights = layer.cuts
            inputs, powers, biases = signal.values[columns], weights[:, None], layer.units.bias[units, None]
            size = np.maximum(np.maximum(np.abs(powers), np.abs(biases)), np.abs(powers * inputs))
            is_exact = (np.abs(powers) == 1.0) | (inputs == 0.0) | (np.abs(powers * inputs) >= FLOAT64.tiny)
            held = [number == number.astype(dtype) for number in (inputs, biases, powers)]
            bound = 4.0 * form.unit * np.abs(sums.values[units]) + 4.0 * form.tiny * (np.abs(powers) + 1.0)
            plain = is_exact & (size < form.huge) & (signal.errors[columns] == 0.0) & held[0] & held[1] & held[2]
            sums.errors[units] = np.where(plain, np.minimum(sums.errors[units], bound), sums.errors[units])
        look(index, sums)
        signal = replace(sums, facts=_no_facts(sums.values.shape[1]))
        enclosures.activate(signal.values, signal.errors, layer.kind, *signal.facts)
        if signal.is_lost:
            shape = chain[-1].n_units, signal.values.shape[1]
            return Enclosure(np.zeros(shape), np.full(shape, np.inf), signal.facts)
    return signal


def _no_facts(n: int) -> Facts:
    return Facts(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))


def _gammas(terms: NDArray[np.int64], unit: float) -> Floats:
    """Return what the kernel ``gamma`` does, for many numbers of terms."""
    part = (terms + 5) * unit
    return np.where(part < LARGEST_GAMMA, part / (1.0 - part) * ENLARGE, np.inf)


# ---- Pairs of float64 numbers ----------------------------------------------------------------------------


def run_precisely(chain: Sequence[ChainLayer], tile: Floats) -> tuple[Floats, Floats]:
    """Return outputs for the points of a tile, and radii that hold the exact ones, both of shape (outputs, points)."""
    # A signal is a pair high + low, |low| <= u |high|, with a radius e around it that holds the exact one.
    #
    # Claim. Let a unit have n weights w other than zero and a bias b, S = sum_j |w_j| |high_j| + |b| and u = 2^-53. The
    # pair that ``precise_sums`` computes is within sum_j |w_j| e_j + 2 (n + 4)^2 u^2 S of the exact sum.
    #
    # Proof. The kernel adds b and the products p_j = fl(w_j high_j) in turn, to total; what a product or an addition
    # loses, lost_j and missed_j, it computes exactly (Dekker, Knuth). So the sum over the pairs is total + R exactly, R
    # = sum_j (missed_j + lost_j + w_j low_j), and the kernel's only errors are those in adding up R: at most n + 3
    # roundings for each term. |lost_j| and |w_j low_j| are at most u |w_j high_j|, and |missed_j| <= u |total| <= 1.01
    # u S, together at most 1.01 u (n + 2) S; hence the error is at most gamma_(n+3) 1.01 u (n + 2) S <= 1.1 (n + 3)^2
    # u^2 S. The last step splits the result into a pair again, exactly. Products below 2^-968 may lose what underflows,
    # less than 2^-1060 each; beyond 2^990 the radius is infinite.
    #
    # All weights must be float64 numbers.
    high = np.ascontiguousarray(tile.T)
    low, errors = np.zeros_like(high), np.zeros_like(high)
    for layer in chain:
        matrix, bias = layer.compressed, layer.units.bias
        error = 2.0 * (layer.n_terms + 4) ** 2 * U * U / NEARLY_ONE  # the factor of S in the claim, rounded up
        sums, rests = np.empty((2, layer.n_units, high.shape[1]))
        enclosures.precise_sums(high, low, matrix.data, matrix.indices, matrix.indptr, bias, sums, rests)
        bounds = abs(matrix) @ (errors + error * np.abs(high)) + error * np.abs(bias)[:, None]
        bounds = bounds * (1.0 + (layer.n_inputs + 32) * 2.0**-52) + UNDERFLOW * (layer.n_terms + 2)
        # Beyond, the kernel's splitting may overflow: nothing is known.
        known = (bounds < HUGE) & (np.abs(sums) < HUGE)
        sums[~known], rests[~known], bounds[~known] = 0.0, 0.0, np.inf
        high, low, errors = _activated(layer.kind, sums, rests, bounds)
    return high, (errors + np.abs(low)) / NEARLY_ONE


def _activated(kind: int, high: Floats, low: Floats, errors: Floats) -> Pair:
    """Return pairs after an activation; the sign of a pair is that of ``high``."""
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


# ---- Exact integers --------------------------------------------------------------------------------------


def run_exactly(chain: Sequence[ChainLayer], tile: Floats, squared: bool) -> tuple[NDArray[np.object_], int]:
    """Return outputs for the points of a tile, shape (outputs, points), as Python integers times 2^quantum."""
    # Float64 numbers are integers times powers of two, and so are sums of products of them.
    signal, quantum = as_integers(tile.T)
    if squared:
        signal = np.vstack([signal * 2**-quantum, (signal * signal).sum(axis=0)])
        quantum *= 2
    for layer in chain:
        biases, bias_quantum = as_integers(layer.layer.bias)
        is_integer = isinstance(layer.layer.weights, Integers)
        lowest = 0 if is_integer else min(0, int(layer.units.quanta.min(initial=0)))
        common = min(quantum + lowest, bias_quantum)
        sums = np.empty((layer.n_units, len(tile)), dtype=object)
        for unit, (weights, inputs, weight_quantum) in enumerate(_integer_rows(layer)):
            scale = 2 ** (quantum + weight_quantum - common)
            total = (weights * scale) @ signal[inputs] if len(inputs) else 0
            sums[unit] = total + biases[unit] * 2 ** (bias_quantum - common)
        if layer.kind == STEP:
            signal, quantum = (sums > 0).astype(np.int64).astype(object), 0
        else:
            signal, quantum = np.maximum(sums, 0) if layer.kind == RAMP else sums, common
    return signal, quantum


def _integer_rows(layer: ChainLayer) -> Iterator[tuple[NDArray[np.object_], NDArray[Any], int]]:
    """Yield for every unit its weights other than zero, as integers times a power of two, and their inputs."""
    weights = layer.layer.weights
    if isinstance(weights, Integers):
        for row in weights.values:
            inputs = np.flatnonzero(row)
            yield row[inputs], inputs, 0
    else:
        matrix = layer.compressed
        for start, stop in pairwise(matrix.indptr.tolist()):
            integers, quantum = as_integers(matrix.data[start:stop])
            yield integers, matrix.indices[start:stop], quantum
