"""Proofs for the paper's form: how far <w, x> + b can err; then bits decided exactly and counts, or values with bounds.

**Error bounds.** Let u be the unit roundoff of a format (2^-53, 2^-24), eta its smallest normal number, and K the
number of products w_j x_j other than zero.

Claim. Round w, x and b to the format, multiply, and add all up in any order, with or without fused multiply-adds,
with underflow gradual or flushed to zero. If nothing overflows, the result differs from <w, x> + b by at most

    gamma_(K+5) (S + pad (|w| + |x| + 1)),   S = sum_j |w_j x_j| + |b|,

where gamma_k = k u / (1 - k u) and pad = 4 eta / u.

Proof. Adding zero is exact, so a product passes through at most its own rounding, those of w_j and x_j, and K
additions (K products and the bias): K + 3 factors 1 + delta with |delta| <= u, less with fused operations; the bias
passes through K + 1. Together they are within gamma_(K+3) of 1. Each rounding may moreover add up to eta where it
underflows: to w_j and x_j, which costs at most eta (|x_j| + |w_j| + eta) in the product, to the product, to each of
the K sums and to b. Over K terms, K >= 1, that is at most 1.01 eta (K |x| + K |w| + 3 K + 1) <= (K + 4) u pad (|x| +
|w| + 1), as long as gamma_(K+3) is small; the code calls anything beyond k u = 1/4 unbounded. The two units left over
between K + 3 and K + 5, and a factor 1 + 2^-40, pay for the rounding of the bound itself.

By Cauchy and Schwarz S <= |w| |x| + |b|, which is enough for a first look at all entries at once; norms are rounded
up. Overflow cannot occur while S and both norms are below a quarter of the format's range; beyond, the bound counts
as infinite.

Let the entries of w be multiples of 2^r, those of x of 2^s, the products and b of 2^q with q <= r + s, none of these
powers below eta, and S <= 2^(q + digits). Then every partial sum is a multiple of 2^q that the format holds, and so
are w_j and x_j where their product is not zero, since |x_j| <= S / |w_j| <= 2^(s + digits): each evaluation is exact.
That settles points on hyperplanes for data and weights on a grid.

A coordinate cut (weights zero but for one power of two) adds two numbers and otherwise zeros. One rounded addition
has the sign of the exact one, so only rounding the entry and the bias themselves, or flushing to zero, can turn its
bit. Its value v errs by no more than 2 u |v| and what four numbers flushed to zero come to, if the format holds entry
and bias.

This evaluation here is one of those that the claim speaks of, in float64 and without rounding of w, x, b. So with v
its result and B its bound, the exact number is at least |v| - B in size; and a bit is settled in every evaluation in
a format if that exceeds the format's own bound.

**Thresholds.** Exact arithmetic. Every bit is settled (see above), and a class claims a point if the greatest limit -
count of its detectors is at least one.

In a format. A bit that some evaluation might turn is open. What every evaluation computes is between the pattern
with the open bits off and the one with them on; counts grow with bits, and counts up to 2^22 are exact in float32. So
a point is right in every evaluation if its own class still claims it with the open bits on, and no other does with
them off.

Radii. Bits sorted by the point's distance to their hyperplanes say how far a point may move before enough of them can
have turned to change an answer (``_kernels.radii``): a lower bound for every point.

Weights. A bit counts its weight, and an open one for the worse: towards more for the point's own class, towards less
for others. Counts are exact in float32 if no partial sum can pass 2^24.

**ReLU.** A detector fires on x when V = sum over its mask of z_i, z_i = max(<w_i, x> + b_i, 0), is below its limit.
max(., 0) does not increase errors, so each z_i errs by no more than the bound above, and by nothing
where <w_i, x> + b_i is proved negative. Let e be the sum of these over all n hyperplanes (enough for every mask), u =
2^-53 and V' the evaluated value. Adding up to n numbers >= 0 in any order errs by gamma_n times their sum, which is
at most V' / (1 - gamma_n), so |V' - V| <= e + gamma_2n V'; subtracting from the limit rounds once more.

In a format, with its own e and u: limit and up to n terms, added in any order, give limit - V up to e + gamma_(n+2)
(V + e + |limit|), and underflow costs less than ``pad``. (Of the five units that ``gamma`` adds, two pay for the
rounding of masked coordinate cuts, which is a fraction of their values and not in e.) So the sign of limit - V is that
of every evaluation if |limit - V'| exceeds both bounds together. The output only adds up what fires, which is
positive: no rounding can hide it.

V has Lipschitz constant at most the sum of |w_i| over the mask, hence a proved gap over that is how far a point may
move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import certify as kernels
from .._kernels.certify import Facts, Gaps, Planes, RampDetectors, TileBits
from .._kernels.radii import NO_DETECTOR, DetectorBatch, distances_in, radii_of_masks, radii_of_weights
from .._kernels.rounding import EXACT, FLOAT32, FLOAT64
from ..data import Codes, Floats, Points
from ..exceptions import DataError
from ..network import Masks, Network
from ..network.activations import RELU, THRESHOLD
from ..network.bits import BitMatrix, n_words
from .layers import facts_of
from .record import Arithmetic, Flags, ProofEffort, Verdict, all_rounded_down, join_tiles, map_tiles, rounded_down

Words = NDArray[np.uint64]

PLANE_BLOCK = 1024  # hyperplanes to a matrix product; a multiple of 64, so that blocks fill whole words of bits
TILE = 512  # points to a piece of work: their products with 1,024 hyperplanes take 4 MB
TILE_NUMBERS = 2**22  # values held at a time by each thread: 32 MB
DETECTOR_BLOCK = 512  # masks made numbers at a time: 8 MB for 2,000 hyperplanes
EXACT_SUMS = 2**24  # float32 holds every integer up to this one
EXACT_COUNTS = 2**22  # float32 holds sums of limit and count up to 2^24
FORMATS = {"exact": EXACT, "float64": FLOAT64, "float32": FLOAT32}


class FirstLayer:
    """Hyperplanes, from an array or CSR array of weights, with the facts that bounds need."""

    def __init__(self, weights: Any, bias: NDArray[Any]) -> None:
        self.n_features, bias = weights.shape[1], bias.astype(np.float64)
        rows: Any = sp.csr_array(weights, copy=True) if sp.issparse(weights) else np.ascontiguousarray(weights)
        starts, features, numbers = self.n_features * np.arange(len(bias) + 1), np.arange(0), rows
        if sp.issparse(rows):
            rows.eliminate_zeros()
            starts, features, numbers = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        if not (np.isfinite(numbers).all() and np.isfinite(bias).all()):
            raise DataError("the network holds NaN or infinity in its first layer")
        own, of_bias = facts_of(rows), facts_of(bias[:, None])
        self.is_sparse = bool(sp.issparse(rows))
        self.planes = Planes(
            numbers.ravel(), starts, features, bias, own.norms, own.terms, own.quanta, of_bias.quanta,
            *_cuts(rows, own),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.planes.bias)

    def block(self, start: int, stop: int) -> Planes:
        """Return some of the hyperplanes, in float64."""
        weights, starts, features, *facts = self.planes
        entries = slice(starts[start], starts[stop])
        own = weights[entries].astype(np.float64, copy=False), starts[start : stop + 1] - entries.start
        return Planes(*own, features[entries], *(numbers[start:stop] for numbers in facts))

    def products(self, tile: Floats) -> Iterator[tuple[slice, Planes, Floats]]:
        """Yield hyperplanes, some at a time: their places, and their products with the points of a tile."""
        columns = np.ascontiguousarray(tile.T) if self.is_sparse else tile.T
        for start in range(0, len(self), PLANE_BLOCK):
            stop = min(start + PLANE_BLOCK, len(self))
            block = self.block(start, stop)
            if self.is_sparse:
                parts = block.weights, block.features, block.starts
                rows = sp.csr_array(parts, shape=(stop - start, self.n_features))
                yield slice(start, stop), block, np.ascontiguousarray((rows @ columns).T)
            else:
                yield slice(start, stop), block, tile @ block.weights.reshape(stop - start, -1).T


def _cuts(rows: Any, facts: Facts) -> tuple[NDArray[np.int64], Floats]:
    """Return column and weight of coordinate cuts; -1 for other hyperplanes."""
    columns, cuts = np.full(rows.shape[0], -1, dtype=np.int64), np.zeros(rows.shape[0])
    single = np.flatnonzero(facts.terms == 1)
    if sp.issparse(rows):
        places, entries = rows.indices[rows.indptr[single]], rows.data[rows.indptr[single]]
    else:
        places = np.argmax(rows[single] != 0, axis=1) if len(single) else single
        entries = rows[single, places]
    power = np.abs(np.frexp(entries.astype(np.float64))[0]) == 0.5
    columns[single[power]], cuts[single[power]] = places[power], entries[power]
    return columns, cuts


# ---- Thresholds ----------------------------------------------------------------------------------------


def prove_threshold(network: Network, points: Points, codes: Codes, effort: ProofEffort) -> Verdict | None:
    """Prove a threshold network of the paper's form; None for any other network."""
    found = network.detectors
    if found is None or found.activation != THRESHOLD:
        return None
    proof = _CountProof(
        FirstLayer(found.normals, found.biases), found.positions(codes), found.silent, found.numbers,
        DetectorBatch(found.counter_rows, found.limits.astype(np.int64), found.outputs), found.are_weighted,
        effort.radii,
    )  # fmt: skip
    tiles = map_tiles(points, TILE, effort, proof.judge)
    return join_tiles(tiles, "counts", "nearest hyperplane" if effort.radii is None else "slack of detectors")


@dataclass(frozen=True, eq=False)
class _CountProof:
    """Proof for bits: hyperplanes and detectors as kernels take them, and the classes of all points."""

    first: FirstLayer
    own: Codes
    silent: int
    numbers: Codes
    batch: DetectorBatch
    weighted: bool
    radii_in: Arithmetic | None

    def judge(self, tile: Floats, rows: slice) -> Verdict:
        """Return the verdict on the points of a tile."""
        facts, own, shape = facts_of(tile), self.own[rows], (len(tile), n_words(len(self.first)))
        bits = TileBits(*(np.zeros(shape, dtype=np.uint64) for _ in range(3)))  # on, and open in either format
        gaps = np.empty((len(tile), len(self.first)))  # how far each bit is surely from turning
        for part, block, products in self.first.products(tile):
            kernels.examine(products, tile, facts, block, part.start // 64, bits, gaps[:, part])
        inside, outside = self._margins(bits.on, bits.on, own)
        right: dict[Arithmetic, Flags] = {
            "exact": self._right(inside, outside, own),
            "float64": self._safe(bits.on, bits.open64, own, inside, outside),
            "float32": self._safe(bits.on, bits.open32, own, inside, outside) & self.counts_are_small,
        }
        margins = np.concatenate([inside, outside])
        decided = margins[np.abs(margins) < 2**61]  # beyond is the kernel's mark of "no detector"
        slack = float(np.min(np.abs(decided - 0.5), initial=np.inf))
        if self.radii_in is None:
            norms, nearest = self.first.planes.norms, gaps.min(axis=0, initial=np.inf)
            return Verdict(right, slack, rounded_down(nearest[norms > 0] / norms[norms > 0]))
        radii, setters = self._radii(bits.on, gaps, tile, own, right[self.radii_in])
        return Verdict(right, slack, float(radii.min(initial=np.inf)), radii=radii, setters=setters)

    def _margins(self, low: Words, high: Words, own: Codes) -> tuple[Codes, Codes]:
        """Return the greatest limit - count of each point's own class, open bits on, and of all others, off."""
        inside, outside = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=np.int64)
        best: Callable[..., None] = kernels.best_weighted_margins if self.weighted else kernels.best_margins
        best(low, high, *self.batch, own, inside, outside)
        return inside, outside

    def _right(self, inside: Codes, outside: Codes, own: Codes) -> Flags:
        claimed = (inside >= 1) | (own == self.silent)
        return np.asarray(claimed & (outside <= 0), dtype=bool)

    def _safe(self, on: Words, unsure: Words, own: Codes, inside: Codes, outside: Codes) -> Flags:
        """Return whether points are right whatever the open bits are."""
        # Each open bit moves a count by the largest weight at most: points are counted anew only where that matters.
        n_open = np.bitwise_count(unsure).sum(axis=1, dtype=np.int64) * self.largest_weight
        safe = self._right(inside - n_open, outside + n_open, own)
        doubtful = np.flatnonzero(~safe & self._right(inside, outside, own))
        if len(doubtful):
            low, high = on[doubtful] & ~unsure[doubtful], on[doubtful] | unsure[doubtful]
            safe[doubtful] = self._right(*self._margins(low, high, own[doubtful]), own[doubtful])
        return safe

    @cached_property
    def largest_weight(self) -> int:
        return int(np.abs(self.batch.counters.astype(np.int64)).max(initial=0)) if self.weighted else 1

    @cached_property
    def counts_are_small(self) -> bool:
        """Whether float32 holds every partial sum."""
        limits = np.abs(self.batch.limits)
        if self.weighted:
            sizes = np.abs(self.batch.counters.astype(np.int64)).sum(axis=1)
            return bool((sizes + limits <= EXACT_SUMS).all())
        return len(self.first) <= EXACT_COUNTS and bool(limits.max(initial=0) <= EXACT_COUNTS)

    def _radii(self, on: Words, gaps: Floats, tile: Floats, own: Codes, right: Flags) -> tuple[Floats, Codes]:
        """Return the radius of each point and the detector that sets it; zero where the point is not right."""
        away, form = np.empty_like(gaps), FORMATS[self.radii_in or "exact"]
        distances_in(gaps, tile, facts_of(tile), self.first.planes, form, away)
        orders = np.argsort(away, axis=1, kind="stable")
        radii, setters = np.empty(len(own)), np.empty(len(own), dtype=np.int64)
        radii_of: Callable[..., None] = radii_of_weights if self.weighted else radii_of_masks
        radii_of(on, away, orders, self.batch, own, self.silent, radii, setters)
        radii[~right] = 0.0
        numbers = np.append(self.numbers, NO_DETECTOR)  # the last one stands for no detector
        return radii, numbers[np.where(right, setters, NO_DETECTOR)]


# ---- ReLU ----------------------------------------------------------------------------------------------


def prove_relu(network: Network, points: Points, codes: Codes, effort: ProofEffort) -> Verdict | None:
    """Prove a ReLU network of the paper's form; None for any other network."""
    found = network.detectors
    if found is None or found.activation != RELU:
        return None
    assert isinstance(found.counters, Masks)  # weights count bits
    first, masks = FirstLayer(found.normals, found.biases), found.counters.bits
    norms = first.planes.norms
    sums = [_as_numbers(masks, start) @ norms for start in range(0, masks.n_rows, DETECTOR_BLOCK)]
    slopes = np.concatenate([np.empty(0), *sums]) * (1.0 + (len(norms) + 8) * 2.0**-52)
    detectors = RampDetectors(found.limits, found.outputs, slopes, found.counter_rows)
    proof = _SumProof(first, masks, detectors, found.silent, found.positions(codes))
    size = max(1, min(512, TILE_NUMBERS // (len(first) + masks.n_rows + 1)))
    return join_tiles(map_tiles(points, size, effort, proof.judge), "running error bound", "Lipschitz bound")


def _as_numbers(masks: BitMatrix, start: int) -> Floats:
    """Return some masks as numbers, shape (detectors, hyperplanes)."""
    return masks.take(slice(start, start + DETECTOR_BLOCK)).to_bool().astype(np.float64)


@dataclass(frozen=True, eq=False)
class _SumProof:
    """Proof for ReLU: hyperplanes, detectors with their Lipschitz constants, and the classes of all points."""

    first: FirstLayer
    masks: BitMatrix
    detectors: RampDetectors
    silent: int
    own: Codes

    def judge(self, tile: Floats, rows: slice) -> Verdict:
        """Return the verdict on the points of a tile."""
        own, (values, errors), n = self.own[rows], self._evaluate(tile), len(tile)
        own_low, own_high, other_low, other_high = np.full((4, n), -np.inf)  # as without detectors
        safe_own, safe_other = np.zeros((2, n), dtype=bool), np.ones((2, n), dtype=bool)
        bounds = own_low, own_high, other_low, other_high
        gaps = Gaps(*bounds, safe_own, safe_other, np.zeros(n), np.full(n, np.inf))
        kernels.best_gaps(values, errors[0], errors[1], len(self.first), self.detectors, own, gaps)
        silent = own == self.silent
        right = (silent | (gaps.own_low > 0)) & (gaps.other_high <= 0)
        reach = np.where(right, np.minimum(np.where(silent, np.inf, gaps.reach_own), gaps.reach_other), 0.0)
        wrong = (~silent & (gaps.own_high <= 0)) | (gaps.other_low > 0)
        for row in np.flatnonzero(~right & ~wrong):
            of_point = values[row], errors[0, row], len(self.first), self.detectors, int(own[row]), tile[row]
            claimed, disputed = kernels.exact_claims(*of_point, self.first.planes)
            right[row] = (claimed or silent[row]) and not disputed
        safe = (silent | gaps.safe_own) & gaps.safe_other
        verdicts: dict[Arithmetic, Flags] = {"exact": right, "float64": safe[0], "float32": safe[1]}
        radii = all_rounded_down(np.where(right, reach, 0.0))
        # The smallest proved distance from zero of what decides a point.
        slack = [np.maximum(own_low, -own_high), np.maximum(other_low, -other_high)]
        return Verdict(verdicts, rounded_down(np.concatenate(slack)), rounded_down(reach), radii=radii)

    def _evaluate(self, tile: Floats) -> tuple[Floats, Floats]:
        """Return values of all detectors, and bounds of each point's errors together, in float64 and float32."""
        facts, ramps = facts_of(tile), np.empty((len(tile), len(self.first)))
        errors = np.zeros((2, len(tile)))
        for part, block, products in self.first.products(tile):
            kernels.ramp(products, tile, facts, block, *errors)
            ramps[:, part] = products
        errors *= 1.0 + (len(self.first) + 8) * 2.0**-52
        starts = range(0, self.masks.n_rows, DETECTOR_BLOCK)
        sums = [ramps @ _as_numbers(self.masks, start).T for start in starts]
        return np.concatenate([np.empty((len(tile), 0)), *sums], axis=1), errors
