"""How far an evaluation of a chain of layers can be from the exact numbers: a running error bound.

For a format with unit roundoff u and smallest normal number eta (see ``bounds``), every
signal a of every point is enclosed: a centre v and a radius e such that |v - a| <= e and
|v - a'| <= e for the exact signal a and for the signal a' of every evaluation in the format
(after rounding points and weights to it; in any order; fused or not; underflow gradual or
flushed). All points enter with e = 0: rounding them is paid for below.

Claim. Let a unit have weights w and bias b, let at most K of its products be other than zero,
gamma = gamma_(K+5) of the format plus that of float64, and v' = <w, v> + b as evaluated here, in
float64. Then v' is a centre for the unit's sum with the radius

    sum_j |w_j| (e_j + gamma (|v_j| + e_j)) + gamma |b| + 8 eta (sum_j (|v_j| + e_j) + sum_j |w_j| + 2 K + 2).

Proof. The exact sum is within sum |w_j| e_j of <w, v> + b. An evaluation adds up products of
a'_j, |a'_j| <= |v_j| + e_j and |a'_j - v_j| <= e_j: by ``bounds`` the K products and the bias pass through
at most K + 3 roundings each, hence it is within sum |w_j| e_j + gamma_(K+3) (sum |w_j| |a'_j| + |b|) of
<w, v> + b, but for underflow. Each rounding may add up to eta where it underflows: to w_j, which
costs eta |a'_j|; to a'_j, eta |w_j|; to K products, K sums and b. All that grows by less than 4/3, so it is
less than 2 eta times the last bracket. The evaluation here obeys the same with the constants of
float64, and adding the two is what the claim does, with a factor of two to spare for underflow.

The two units left over between K + 3 and K + 5 and a factor 1 + (inputs + 32) 2^-52 pay for the
rounding of the bound itself: a sum of that many numbers >= 0. Since the radius is at least
gamma (sum |w_j| (|v_j| + e_j) + |b|), dividing it by gamma bounds all sums, and below a quarter of the
format's range nothing overflows; beyond, the radius is infinite.

Where a point's signals are free of errors (e = 0) and all of them, the weights and the bias are
few multiples of powers of two, each evaluation is exact (``bounds`` again), and the radius is
zero: whole numbers below 2^53 (2^24), 0/1 signals under integer weights, data on a grid.

A threshold unit is on, or off, wherever its enclosure lies on one side; otherwise its signal is
enclosed by 1/2 and 1/2, that is [0, 1], and the chain goes on: it may not matter. max(., 0) does not
enlarge distances. A squared norm is a sum of d products of a point with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.certify import Facts
from .._kernels.chains import activate, append_square, enclose, spread, sum_facts
from .._kernels.rounding import ENLARGE, FLOAT64, Format
from .layers import ChainLayer

Floats = NDArray[np.float64]

LARGEST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Signal:
    """Centres and radii of shape (units, points), and what bounds need to know of every point."""

    values: Floats
    errors: Floats
    facts: Facts

    @property
    def is_lost(self) -> bool:
        """Whether nothing is known any more."""
        return not np.isfinite(self.facts.norms).any() and bool(self.errors.size) and not np.isfinite(self.errors).any()


Look = Callable[[int, Signal], None]


def enter(tile: Floats, squared: bool, form: Format) -> Signal:
    """Points of a tile, of shape (points, features), as the first layer receives them."""
    n, d = tile.shape
    values = np.zeros((d + squared, n))
    values[:d] = tile.T
    signal = Signal(values, np.zeros_like(values), _no_facts(n))
    sum_facts(values[:d], *signal.facts)
    if squared:
        append_square(values, signal.errors, signal.facts, form)
    return signal


def pass_on(layer: ChainLayer, signal: Signal, form: Format) -> Signal:
    """Sums of a layer, before its activation; the facts are still those of its inputs. Uses up the signal's errors."""
    terms = np.minimum(signal.facts.terms, layer.n_terms)
    factors = _gammas(terms, form.unit) + _gammas(terms, FLOAT64.unit)
    spread(signal.values, signal.errors, factors)
    values, errors = layer.products(signal.values, signal.errors)
    enclose(values, errors, factors, signal.facts, layer.units, layer.n_inputs, form)
    return Signal(values, errors, signal.facts)


def respond(layer: ChainLayer, sums: Signal) -> Signal:
    """What the layer makes of its sums, in place."""
    signal = Signal(sums.values, sums.errors, _no_facts(sums.values.shape[1]))
    activate(signal.values, signal.errors, layer.kind, *signal.facts)
    return signal


def run(chain: Sequence[ChainLayer], signal: Signal, form: Format, look: Look = lambda index, sums: None) -> Signal:
    """All layers; stops early where nothing is known any more. ``look`` sees every layer's sums."""
    for index, layer in enumerate(chain):
        sums = pass_on(layer, signal, form)
        look(index, sums)
        signal = respond(layer, sums)
        if signal.is_lost:
            return lost(chain[-1].n_units, signal.values.shape[1])
    return signal


def lost(n_units: int, n_points: int) -> Signal:
    """Signals of which nothing is known."""
    return Signal(np.zeros((n_units, n_points)), np.full((n_units, n_points), np.inf), _no_facts(n_points))


def _no_facts(n: int) -> Facts:
    return Facts(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))


def _gammas(terms: NDArray[np.int64], unit: float) -> Floats:
    """As the kernel ``gamma``, for many numbers of terms."""
    part = (terms + 5) * unit
    return np.where(part < LARGEST_SHARE, part / (1.0 - part) * ENLARGE, np.inf)
