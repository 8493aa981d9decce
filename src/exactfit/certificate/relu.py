"""Proof for ReLU networks: values with proved bounds, exact sums where these do not decide.

A detector fires on x when V = sum over its mask of z_i, z_i = max(<w_i, x> + b_i, 0), is
below its limit. max(., 0) does not increase errors, so each z_i errs by no more than the
bound of ``error_bounds``, and by nothing where <w_i, x> + b_i is proved negative. Let e be the sum of
these over all n hyperplanes (enough for every mask), u = 2^-53 and V' the evaluated value.
Adding up to n numbers >= 0 in any order errs by gamma_n times their sum, which is at most
V' / (1 - gamma_n), so |V' - V| <= e + gamma_2n V'; subtracting from the limit rounds once more.

In a format, with its own e and u: limit and up to n terms, added in any order, give
limit - V up to e + gamma_(n+2) (V + e + |limit|), and underflow costs less than ``pad``. (Of the
five units that ``gamma`` adds, two pay for the rounding of masked coordinate cuts, which is a
share of their values and not in e.) So
the sign of limit - V is that of every evaluation if |limit - V'| exceeds both bounds
together. The output only adds up what fires, which is positive: no rounding can hide it.

V has Lipschitz constant at most the sum of |w_i| over the mask, hence a proved gap over
that is how far a point may move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.certify import Gaps, RampDetectors, best_gaps, exact_claims, ramp
from ..data import Floats, Points
from ..network import Masks, Network
from ..network.activations import RELU
from ..network.detectors import Detectors
from .error_bounds import FirstLayer, all_rounded_down, facts_of, rounded_down
from .record import Arithmetic, Flags, ProofEffort, TileVerdict, Verdict, join_tiles, map_tiles

Codes = NDArray[np.int64]

TILE_NUMBERS = 2**22  # values held at a time by each thread: 32 MB
DETECTOR_BLOCK = 512  # masks made numbers at a time: 8 MB for 2,000 hyperplanes


def prove_relu(network: Network, points: Points, codes: Codes, effort: ProofEffort) -> Verdict | None:
    """Verdict on a ReLU network of the paper's form, None for any other network."""
    detectors = network.detectors
    if detectors is None or detectors.activation != RELU:
        return None
    planes = FirstLayer.of(detectors)
    proof = _Proof(detectors, planes, detectors.positions(codes), _slopes(detectors, planes.norms))
    numbers = len(planes) + len(detectors.limits) + 1
    tiles = map_tiles(points, max(1, min(512, TILE_NUMBERS // numbers)), effort, proof.judge)
    return join_tiles(tiles, "running error bound", "Lipschitz bound")


def _mask_block(detectors: Detectors, start: int) -> Floats:
    """Some masks as numbers, shape (detectors, hyperplanes)."""
    assert isinstance(detectors.weights, Masks)  # weights count bits
    return detectors.weights.bits.take(slice(start, start + DETECTOR_BLOCK)).to_bool().astype(np.float64)


def _slopes(detectors: Detectors, norms: Floats) -> Floats:
    """An upper bound of every detector's Lipschitz constant."""
    sums = [_mask_block(detectors, start) @ norms for start in range(0, len(detectors.limits), DETECTOR_BLOCK)]
    return np.concatenate([np.empty(0), *sums]) * (1.0 + (len(norms) + 8) * 2.0**-52)


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of all detectors on a tile, and how far each point's hyperplanes may err together."""

    values: Floats
    error64: Floats
    error32: Floats


@dataclass(frozen=True, eq=False)
class _Proof:
    detectors: Detectors
    planes: FirstLayer
    own: Codes
    slopes: Floats

    def judge(self, tile: Floats, rows: slice) -> TileVerdict:
        """Verdict on the points of a tile."""
        own, evaluated = self.own[rows], self._evaluate(tile)
        gaps = self._gaps(evaluated, own)
        silent = own == self.detectors.silent
        right = (silent | (gaps.own_low > 0)) & (gaps.other_high <= 0)
        reach = np.where(right, np.minimum(np.where(silent, np.inf, gaps.reach_own), gaps.reach_other), 0.0)
        wrong = (~silent & (gaps.own_high <= 0)) | (gaps.other_low > 0)
        for row in np.flatnonzero(~right & ~wrong):
            claimed, disputed = self._exact_claims(evaluated, tile, int(row), int(own[row]))
            right[row] = (claimed or silent[row]) and not disputed
        safe = (silent | gaps.safe_own) & gaps.safe_other
        verdicts: dict[Arithmetic, Flags] = {"exact": right, "float64": safe[0], "float32": safe[1]}
        return TileVerdict(verdicts, _slack(gaps), rounded_down(reach), all_rounded_down(np.where(right, reach, 0.0)))

    def _evaluate(self, tile: Floats) -> _Values:
        planes, facts = self.planes, facts_of(tile)
        heights = np.empty((len(tile), len(planes)))
        errors = np.zeros((2, len(tile)))
        for start, stop in planes.ranges():
            block = planes.block(start, stop)
            products = tile @ block.weights.T
            ramp(products, tile, facts, block, *errors)
            heights[:, start:stop] = products
        errors *= 1.0 + (len(planes) + 8) * 2.0**-52
        starts = range(0, len(self.detectors.limits), DETECTOR_BLOCK)
        sums = [heights @ _mask_block(self.detectors, start).T for start in starts]
        return _Values(np.concatenate([np.empty((len(tile), 0)), *sums], axis=1), *errors)

    def _gaps(self, evaluated: _Values, own: Codes) -> Gaps:
        gaps = _no_gaps(len(own))
        of_points = evaluated.values, evaluated.error64, evaluated.error32, len(self.planes)
        best_gaps(*of_points, self._detectors(), own, gaps)
        return gaps

    def _exact_claims(self, evaluated: _Values, tile: Floats, row: int, own: int) -> tuple[bool, bool]:
        planes = self.planes
        of_point = evaluated.values[row], evaluated.error64[row], len(planes)
        claimed, disputed = exact_claims(*of_point, self._detectors(), own, tile[row], planes.weights, planes.bias)
        return claimed, disputed

    def _detectors(self) -> RampDetectors:
        found = self.detectors
        return RampDetectors(found.limits, found.owners, self.slopes, found.counters)


def _no_gaps(n: int) -> Gaps:
    """As if there were no detector yet."""
    own_low, own_high, other_low, other_high = np.full((4, n), -np.inf)
    safe_own, safe_other = np.zeros((2, n), dtype=bool), np.ones((2, n), dtype=bool)
    return Gaps(own_low, own_high, other_low, other_high, safe_own, safe_other, np.zeros(n), np.full(n, np.inf))


def _slack(gaps: Gaps) -> float:
    """Smallest proved distance from zero of what decides a point."""
    own = np.maximum(gaps.own_low, -gaps.own_high)
    other = np.maximum(gaps.other_low, -gaps.other_high)
    return rounded_down(np.concatenate([own, other]))
