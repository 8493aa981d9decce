"""Proofs for detectors over bits: how far <w, x> + b can err, bits decided exactly, and counts of them.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.certify import Facts, Planes, TileBits, best_margins, count_masked, examine, factors_of
from .._kernels.radii import NO_DETECTOR, DetectorBatch, distances_in, find_radii
from .._kernels.rounding import EXACT, FLOAT32, FLOAT64
from ..data import Codes, Floats, Points
from ..exceptions import DataError
from ..network import Network
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix, n_words
from .layers import as_integers, facts_of, find_cuts, round_down
from .record import Arithmetic, Flags, ProofEffort, Verdict, join_tiles, map_tiles, rounded_down

Words = NDArray[np.uint64]

PLANE_BLOCK = 1024  # hyperplanes to a matrix product; a multiple of 64, so that blocks fill whole words of bits
TILE = 512  # points to a piece of work: their products with 1,024 hyperplanes take 4 MB
EXACT_SUMS = 2**24  # float32 holds every integer up to this one
EXACT_COUNTS = 2**22  # float32 holds sums of limit and count up to 2^24
NOTHING = -(2**61)  # the margin of no detector: below every limit - count
FORMATS = {"exact": EXACT, "float64": FLOAT64, "float32": FLOAT32}


class FirstLayer:
    """Hyperplanes, from an array or CSR array of weights, with the facts that bounds need."""

    def __init__(self, weights: Any, bias: NDArray[Any]) -> None:
        self.rows: Any = sp.csr_array(weights, copy=True) if sp.issparse(weights) else weights
        if sp.issparse(weights):
            self.rows.eliminate_zeros()
        numbers, bias = _flat(self.rows), bias.astype(np.float64)
        if not (np.isfinite(numbers[0]).all() and np.isfinite(bias).all()):
            raise DataError("the network holds NaN or infinity in its first layer")
        own, of_bias = facts_of(self.rows), facts_of(bias[:, None])
        self.planes = Planes(*numbers, bias, *own, of_bias.quanta, *find_cuts(self.rows, own.terms))

    def __len__(self) -> int:
        return len(self.planes.bias)

    def products(self, tile: Floats) -> Iterator[tuple[slice, Planes, Floats]]:
        """Yield hyperplanes, some at a time: their places, and their products with the points of a tile."""
        columns = np.ascontiguousarray(tile.T)
        for start in range(0, len(self), PLANE_BLOCK):
            part = slice(start, min(start + PLANE_BLOCK, len(self)))
            rows = self.rows[part].astype(np.float64)
            block = Planes(*_flat(rows), *(numbers[part] for numbers in self.planes[3:]))
            yield part, block, np.ascontiguousarray((rows @ columns).T)


def _flat(rows: Any) -> tuple[NDArray[Any], Codes, Codes]:
    """Return weights one row after the other, where each row starts, and the features of sparse rows."""
    if sp.issparse(rows):
        return rows.data, rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return rows.ravel(), rows.shape[1] * np.arange(len(rows) + 1), np.arange(0)


def decide_bits(first: FirstLayer, tile: Floats, facts: Facts) -> tuple[TileBits, Floats]:
    """Return the bits of a tile of points, exactly, and lower bounds of |<w, x> + b| of every point and hyperplane."""
    bits = TileBits(*(np.zeros((len(tile), n_words(len(first))), dtype=np.uint64) for _ in range(3)))
    gaps = np.empty((len(tile), len(first)))
    for part, block, products in first.products(tile):
        examine(products, tile, facts, block, part.start // 64, bits, gaps[:, part])
    # What bounds leave in doubt is a matter of integers: here, in Python's, which nothing else shares.
    for i, j in np.argwhere(np.isnan(gaps)).tolist():
        factors, quanta = zip(*map(as_integers, factors_of(first.planes, j, tile[i])), strict=True)
        (bias,), bias_quantum = as_integers(first.planes.bias[[j]])
        common = min(sum(quanta), bias_quantum)
        total = (sum(map(mul, *factors)) << (sum(quanta) - common)) + (bias << (bias_quantum - common))
        bits.on[i, j // 64] |= np.uint64((total > 0) << j % 64)
        gaps[i, j] = round_down(abs(total), common)
    return bits, gaps


def prove_threshold(
    network: Network, points: Points, codes: Codes, effort: ProofEffort, spared: bool = False
) -> Verdict | None:
    """Prove a threshold network of the paper's form; None for any other network.

    ``spared`` asks of a network of patches whether points are claimed for no other class.
    """
    found = network.detectors
    if found is None or found.activation != THRESHOLD:
        return None
    batch = DetectorBatch(found.counter_rows, found.limits.astype(np.int64), found.outputs)
    first = FirstLayer(found.normals, found.biases)
    own = found.positions(codes)
    proof = _CountProof(first, own, (own == found.silent) | spared, batch, effort.radii)
    tiles = map_tiles(points, TILE, effort, proof.judge)
    return join_tiles(tiles, "counts", "nearest hyperplane" if effort.radii is None else "slack of detectors")


@dataclass(frozen=True, eq=False)
class _CountProof:
    """Hyperplanes and detectors as kernels take them, and the classes of all points."""

    first: FirstLayer
    own: Codes
    silent: Flags  # points that no detector need claim
    batch: DetectorBatch
    radii_in: Arithmetic | None

    def judge(self, tile: Floats, rows: slice) -> Verdict:
        """Return the verdict on the points of a tile."""
        facts, own, silent = facts_of(tile), self.own[rows], self.silent[rows]
        bits, gaps = decide_bits(self.first, tile, facts)
        margins = self.batch.limits - self._counts(bits.on)
        inside, outside = self._best(margins, margins, own, silent)
        right: dict[Arithmetic, Flags] = {
            "exact": _right(inside, outside),
            "float64": self._safe(bits.on, bits.open64, own, silent, inside, outside),
            "float32": self._safe(bits.on, bits.open32, own, silent, inside, outside) & self.counts_are_small,
        }
        both = np.concatenate([inside, outside])
        slack = float(np.min(np.abs(both[np.abs(both) < -NOTHING] - 0.5), initial=np.inf))
        if self.radii_in is None:
            norms, nearest = self.first.planes.norms, gaps.min(axis=0, initial=np.inf)
            return Verdict(right, slack, rounded_down(nearest[norms > 0] / norms[norms > 0]))
        # A point moves until enough bits can have turned; those that are wrong have no radius.
        away = np.empty_like(gaps)
        distances_in(gaps, tile, facts, self.first.planes, FORMATS[self.radii_in], away)
        orders = np.argsort(away, axis=1, kind="stable")
        radii, setters = np.empty(len(own)), np.empty(len(own), dtype=np.int64)
        largest = 0 if self.signed is None else self.largest_weight
        find_radii(bits.on, away, orders, margins, self.batch, largest, own, silent, radii, setters)
        radii[~right[self.radii_in]] = 0.0
        setters[~right[self.radii_in]] = NO_DETECTOR
        return Verdict(right, slack, float(radii.min(initial=np.inf)), radii=radii, setters=setters)

    @cached_property
    def signed(self) -> tuple[Floats, Floats] | None:
        """Positive and negative weights, one column for each detector, in a format that adds them up exactly."""
        if self.batch.counters.dtype == np.uint64:
            return None
        form = np.float32 if 128 * len(self.first) <= EXACT_SUMS else np.float64
        weights: Any = self.batch.counters.T.astype(form)
        return np.maximum(weights, 0), np.minimum(weights, 0)

    def _counts(self, low: Words, high: Words | None = None) -> Codes:
        """Return counts of patterns, shape (points, detectors): the largest between two if ``high`` is given."""
        if self.signed is None:
            counts = np.empty((len(low), len(self.batch.limits)), dtype=np.int64)
            count_masked(low if high is None else high, self.batch.counters, counts)
            return counts
        positive, negative = self.signed
        few, many = (
            _as_numbers(words, len(self.first), positive.dtype) for words in (low, low if high is None else high)
        )
        return np.asarray(many @ positive + few @ negative).astype(np.int64)

    def _best(self, own_margins: Codes, other_margins: Codes, own: Codes, silent: Flags) -> tuple[Codes, Codes]:
        """Return the greatest limit - count of each point's own class and of all others, NOTHING without detectors."""
        inside, outside = np.full((2, len(own)), NOTHING)
        best_margins(own_margins, other_margins, self.batch.owners, own, inside, outside)
        inside[silent] = -NOTHING  # no detector need claim them
        return inside, outside

    def _safe(self, on: Words, unsure: Words, own: Codes, silent: Flags, inside: Codes, outside: Codes) -> Flags:
        """Return whether points are right whatever the open bits are."""
        # Each open bit moves a count by the largest weight at most: points are counted anew only where that matters.
        n_open = np.bitwise_count(unsure).sum(axis=1, dtype=np.int64) * self.largest_weight
        safe = _right(inside - n_open, outside + n_open)
        doubtful = np.flatnonzero(~safe & _right(inside, outside))
        if len(doubtful):
            low, high = on[doubtful] & ~unsure[doubtful], on[doubtful] | unsure[doubtful]
            # Open bits count for the worse.
            least, most = (self.batch.limits - counts for counts in (self._counts(low, high), self._counts(high, low)))
            safe[doubtful] = _right(*self._best(least, most, own[doubtful], silent[doubtful]))
        return safe

    @cached_property
    def largest_weight(self) -> int:
        """Largest change of a count by one bit."""
        return 1 if self.signed is None else int(max(np.abs(part).max(initial=0) for part in self.signed))

    @cached_property
    def counts_are_small(self) -> bool:
        """Whether float32 holds every partial sum."""
        limits = np.abs(self.batch.limits)
        if self.signed is None:
            return len(self.first) <= EXACT_COUNTS and bool(limits.max(initial=0) <= EXACT_COUNTS)
        sizes = np.abs(self.batch.counters.astype(np.int64)).sum(axis=1)
        return bool((sizes + limits <= EXACT_SUMS).all())


def _right(inside: Codes, outside: Codes) -> Flags:
    return np.asarray((inside >= 1) & (outside <= 0), dtype=bool)


def _as_numbers(words: Words, n: int, dtype: Any) -> Floats:
    """Return patterns as numbers 0 and 1, shape (points, hyperplanes)."""
    return np.asarray(BitMatrix(words.T, n).to_bool().astype(dtype))
