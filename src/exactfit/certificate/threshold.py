"""Proof for threshold networks: bits decided exactly, counts in integers.

Exact arithmetic. Every bit is settled (see ``error_bounds``), and a class claims a point if the
greatest limit - count of its detectors is at least one.

In a format. A bit that some evaluation might turn is open. What every evaluation computes
lies between the pattern with the open bits off and the one with them on; counts grow with
bits, and counts up to 2^22 are exact in float32. So a point is right in every evaluation if
its own class still claims it with the open bits on, and no other does with them off.

Weights. A bit counts its weight, and an open one for the worse: towards more for the point's own
class, towards less for others. Counts are exact in float32 if no partial sum can pass 2^24.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.certify import TileBits, best_margins, best_weighted_margins, examine
from ..data import Floats, Points
from ..network import Network
from ..network.activations import THRESHOLD
from ..network.bits import n_words
from ..network.detectors import Detectors
from .error_bounds import FirstLayer, facts_of
from .record import Arithmetic, Effort, Flags, TileVerdict, Verdict, join_tiles, map_tiles, rounded_down

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]

TILE = 512  # points to a piece of work: their products with 1,024 hyperplanes take 4 MB
EXACT_SUMS = 2**24  # float32 holds every whole number up to this one
EXACT_COUNTS = 2**22  # float32 holds sums of limit and count up to 2^24


def prove_threshold(network: Network, points: Points, codes: Codes, effort: Effort) -> Verdict | None:
    """Verdict on a threshold network of the paper's form, None for any other network."""
    detectors = network.detectors
    if detectors is None or detectors.activation != THRESHOLD:
        return None
    proof = _Proof(detectors, FirstLayer.of(detectors), detectors.positions(codes))
    return join_tiles(map_tiles(points, TILE, effort, proof.judge), "counts", "nearest hyperplane")


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Bits of a tile, and which of them are open in either format."""

    on: Words
    open64: Words
    open32: Words
    nearest: Floats


@dataclass(frozen=True, eq=False)
class _Proof:
    detectors: Detectors
    planes: FirstLayer
    own: Codes

    def judge(self, tile: Floats, rows: slice) -> TileVerdict:
        """Verdict on the points of a tile."""
        patterns, own = self._patterns(tile), self.own[rows]
        inside, outside = self._margins(patterns.on, patterns.on, own)
        right: dict[Arithmetic, Flags] = {
            "exact": self._right(inside, outside, own),
            "float64": self._safe(patterns.on, patterns.open64, own, inside, outside),
            "float32": self._safe(patterns.on, patterns.open32, own, inside, outside) & self._counts_are_small(),
        }
        return TileVerdict(right, _slack(inside, outside), self._radius(patterns.nearest))

    def _patterns(self, tile: Floats) -> _Patterns:
        planes, facts = self.planes, facts_of(tile)
        shape = len(tile), n_words(len(planes))
        bits = TileBits(*(np.zeros(shape, dtype=np.uint64) for _ in range(3)))
        nearest = np.full(len(planes), np.inf)
        for start, stop in planes.ranges():
            block = planes.block(start, stop)
            products = tile @ block.weights.T
            examine(products, tile, facts, block, start // 64, bits, nearest[start:stop])
        return _Patterns(*bits, nearest)

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

    def _radius(self, nearest: Floats) -> float:
        norms = self.planes.norms
        return rounded_down(nearest[norms > 0] / norms[norms > 0])


def _slack(inside: Codes, outside: Codes) -> float:
    """Smallest |limit - 1/2 - count| that decides a point; infinite where there is no detector at all."""
    margins = np.concatenate([inside, outside])
    decided = margins[np.abs(margins) < 2**61]  # beyond is the kernel's mark of "no detector"
    return float(np.min(np.abs(decided - 0.5), initial=np.inf))
