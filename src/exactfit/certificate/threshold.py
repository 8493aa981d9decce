"""Proof for threshold networks: bits decided exactly, counts in integers.

Exact arithmetic. Every bit is settled (see ``error_bounds``), and a class claims a point if the
greatest limit - count of its detectors is at least one.

In a format. A bit that some evaluation might turn is open. What every evaluation computes
lies between the pattern with the open bits off and the one with them on; counts grow with
bits, and counts up to 2^22 are exact in float32. So a point is right in every evaluation if
its own class still claims it with the open bits on, and no other does with them off.

Radii. Bits sorted by the point's distance to their hyperplanes say how far a point may move before enough of
them can have turned to change an answer (``_kernels.radii``): a lower bound for every point.

Weights. A bit counts its weight, and an open one for the worse: towards more for the point's own
class, towards less for others. Counts are exact in float32 if no partial sum can pass 2^24.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.certify import Facts, TileBits, best_margins, best_weighted_margins, examine
from .._kernels.radii import NOBODY, Crowd, distances_in, radii_of_masks, radii_of_weights
from .._kernels.rounding import FLOAT32, FLOAT64, gamma
from ..data import Floats, Points
from ..network import Network
from ..network.activations import THRESHOLD
from ..network.bits import n_words
from ..network.detectors import Detectors
from .error_bounds import FirstLayer, facts_of, rounded_down
from .record import Arithmetic, Flags, ProofEffort, TileVerdict, Verdict, join_tiles, map_tiles

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]

TILE = 512  # points to a piece of work: their products with 1,024 hyperplanes take 4 MB
EXACT_SUMS = 2**24  # float32 holds every whole number up to this one
EXACT_COUNTS = 2**22  # float32 holds sums of limit and count up to 2^24


def prove_threshold(network: Network, points: Points, codes: Codes, effort: ProofEffort) -> Verdict | None:
    """Verdict on a threshold network of the paper's form, None for any other network."""
    detectors = network.detectors
    if detectors is None or detectors.activation != THRESHOLD:
        return None
    proof = _Proof(detectors, FirstLayer.of(detectors), detectors.positions(codes), effort.radii)
    tiles = map_tiles(points, TILE, effort, proof.judge)
    return join_tiles(tiles, "counts", "nearest hyperplane" if effort.radii is None else "slack of detectors")


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Bits of a tile, and which of them are open in either format."""

    on: Words
    open64: Words
    open32: Words
    gaps: Floats


@dataclass(frozen=True, eq=False)
class _Proof:
    detectors: Detectors
    planes: FirstLayer
    own: Codes
    radii_in: Arithmetic | None = None

    def judge(self, tile: Floats, rows: slice) -> TileVerdict:
        """Verdict on the points of a tile."""
        facts, own = facts_of(tile), self.own[rows]
        patterns = self._patterns(tile, facts)
        inside, outside = self._margins(patterns.on, patterns.on, own)
        right: dict[Arithmetic, Flags] = {
            "exact": self._right(inside, outside, own),
            "float64": self._safe(patterns.on, patterns.open64, own, inside, outside),
            "float32": self._safe(patterns.on, patterns.open32, own, inside, outside) & self._counts_are_small(),
        }
        slack = _slack(inside, outside)
        if self.radii_in is None:
            return TileVerdict(right, slack, self._radius(patterns.gaps))
        radii, setters = self._radii(patterns, facts, own, right[self.radii_in])
        return TileVerdict(right, slack, float(radii.min(initial=np.inf)), radii, setters)

    def _patterns(self, tile: Floats, facts: Facts) -> _Patterns:
        planes = self.planes
        shape = len(tile), n_words(len(planes))
        bits = TileBits(*(np.zeros(shape, dtype=np.uint64) for _ in range(3)))
        gaps = np.empty((len(tile), len(planes)))
        for start, stop in planes.ranges():
            block = planes.block(start, stop)
            products = tile @ block.weights.T
            examine(products, tile, facts, block, start // 64, bits, gaps[:, start:stop])
        return _Patterns(*bits, gaps)

    def _margins(self, low: Words, high: Words, own: Codes) -> tuple[Codes, Codes]:
        inside, outside = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=np.int64)
        limits, counters = self.detectors.limits.astype(np.int64), self.detectors.counters
        if self.detectors.are_weighted:
            best_weighted_margins(low, high, counters, limits, self.detectors.owners, own, inside, outside)
        else:
            best_margins(low, high, counters, limits, self.detectors.owners, own, inside, outside)
        return inside, outside

    def _right(self, inside: Codes, outside: Codes, own: Codes) -> Flags:
        claimed = (inside >= 1) | (own == self.detectors.silent)
        return np.asarray(claimed & (outside <= 0), dtype=bool)

    def _safe(self, on: Words, unsure: Words, own: Codes, inside: Codes, outside: Codes) -> Flags:
        """Right whatever the open bits are; counted anew only where there are enough of them to matter."""
        n_open = np.bitwise_count(unsure).sum(axis=1, dtype=np.int64) * self._largest_weight()
        safe = self._right(inside - n_open, outside + n_open, own)
        doubtful = np.flatnonzero(~safe & self._right(inside, outside, own))
        low, high = on[doubtful] & ~unsure[doubtful], on[doubtful] | unsure[doubtful]
        safe[doubtful] = self._right(*self._margins(low, high, own[doubtful]), own[doubtful])
        return safe

    def _largest_weight(self) -> int:
        if not self.detectors.are_weighted:
            return 1
        return int(np.abs(self.detectors.counters.astype(np.int64)).max(initial=0))

    def _counts_are_small(self) -> bool:
        largest = np.abs(self.detectors.limits).max(initial=0)
        if self.detectors.are_weighted:
            sizes = np.abs(self.detectors.counters.astype(np.int64)).sum(axis=1)
            return bool((sizes + np.abs(self.detectors.limits) <= EXACT_SUMS).all())
        return len(self.planes) <= EXACT_COUNTS and bool(largest <= EXACT_COUNTS)

    def _radius(self, gaps: Floats) -> float:
        norms, nearest = self.planes.norms, gaps.min(axis=0, initial=np.inf)
        return rounded_down(nearest[norms > 0] / norms[norms > 0])

    def _radii(self, patterns: _Patterns, facts: Facts, own: Codes, right: Flags) -> tuple[Floats, Codes]:
        """How far each point may move, and the row of the detector that sets it; zero where it is not right."""
        away, planes, found = np.empty_like(patterns.gaps), self.planes, self.detectors
        form = FLOAT32 if self.radii_in == "float32" else FLOAT64
        factor = 0.0 if self.radii_in == "exact" else gamma(planes.weights.shape[1], form.unit)
        distances_in(patterns.gaps, facts, planes.block(0, len(planes)), factor, form, away)
        orders = np.argsort(away, axis=1, kind="stable")
        radii, setters = np.empty(len(own)), np.empty(len(own), dtype=np.int64)
        crowd = Crowd(found.counters, found.limits.astype(np.int64), found.owners)
        if found.are_weighted:
            radii_of_weights(patterns.on, away, orders, crowd, own, found.silent, radii, setters)
        else:
            radii_of_masks(patterns.on, away, orders, crowd, own, found.silent, radii, setters)
        radii[~right] = 0.0
        numbers = np.append(found.numbers, NOBODY)  # the last one stands for nobody
        return radii, numbers[np.where(right, setters, NOBODY)]


def _slack(inside: Codes, outside: Codes) -> float:
    """Smallest |limit - 1/2 - count| that decides a point; infinite where there is no detector at all."""
    margins = np.concatenate([inside, outside])
    decided = margins[np.abs(margins) < 2**61]  # beyond is the kernel's mark of "no detector"
    return float(np.min(np.abs(decided - 0.5), initial=np.inf))
