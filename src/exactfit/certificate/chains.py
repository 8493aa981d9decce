"""Proof for chains of any depth: thresholds, ReLU or none, and weights of every kind.

Points are proved right in three steps, each for what the one before leaves open: float64 with a
running error bound (``running``), pairs of float64 numbers (``precise``), and exact integers (``exact``),
up to a given number of multiplications; what is still open then counts as not proved. Networks
of integers go from the first step to the last.

The first step also says which points are right in every evaluation in float64, and once more
with the constants of float32, in every evaluation in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import FLOAT32, FLOAT64
from ..network import Network
from .decoding import Decision, decide, decide_exactly
from .exact import ExactLayer, count_terms, run_exactly
from .layers import ChainLayer, read_chain
from .precise import run_precisely
from .reach import Reach
from .record import Method
from .rows import Floats, Points
from .running import Signal, enter, run
from .verdict import Effort, Flags, Verdict, map_tiles, rounded_down

Codes = NDArray[np.int64]

TILE_NUMBERS = 2**22
LARGEST_TILE = 4096
EXACT_TILE_NUMBERS = 2**21
FRACTION_COST = 8

EXACT_SUMS, RUNNING, PAIRS, FRACTIONS, OPEN = range(5)
METHODS: tuple[Method, ...] = ("running error bound", "running error bound", "double-double", "rational")
OUT_OF_BUDGET = (
    "{n_open} points were neither proved nor refuted within the budget of exact arithmetic: "
    "pass exact_operations={needed} or more"
)


def prove_chain(
    network: Network, points: Points, codes: Codes, effort: Effort, exact_operations: int
) -> Verdict | None:
    """Verdict on any network without activations of a user's own, None for those.

    Parameters
    ----------
    network : Network
        Layers with threshold, ReLU or no activation; weights dense, sparse, masks or integers;
        points as they are or with their squared norm appended; any decoder.
    points : Points
    codes : ndarray of int64
        Class index of every point.
    effort : Effort
    exact_operations : int
        How many multiplications of exact integers may be spent; points left open then are not
        proved, and the note says how many.

    Returns
    -------
    Verdict or None
        ``right["exact"]`` for exact arithmetic on the stored numbers (and the exact squared norm),
        ``right["float64"]`` and ``right["float32"]`` for every evaluation in that format.
    """
    chain = read_chain(network)
    if chain is None:
        return None
    proof = _Proof(network, chain, codes)
    found = _Findings.join(map_tiles(points, proof.tile_size, effort, proof.judge))
    return proof.conclude(found, points, exact_operations)


@dataclass(frozen=True, eq=False)
class _Findings:
    """What is known of every point of a tile: which step settled it, how clearly, and how far it may move."""

    right: Flags
    right64: Flags
    right32: Flags
    steps: Codes
    slack: Floats
    reach: Floats

    @classmethod
    def blank(cls, n: int) -> _Findings:
        """Nothing is known of n points."""
        right, right64, right32 = np.zeros((3, n), dtype=bool)
        slack, reach = np.zeros((2, n))
        return cls(right, right64, right32, np.full(n, OPEN, dtype=np.int64), slack, reach)

    @classmethod
    def join(cls, tiles: Sequence[_Findings]) -> _Findings:
        """Tiles in order."""
        tiles = [cls.blank(0), *tiles]
        return cls(**{part.name: np.concatenate([getattr(tile, part.name) for tile in tiles]) for part in fields(cls)})

    def settle(self, rows: Codes, decision: Decision, step: int, reach: Floats | None) -> None:
        """Take a decision on some of the points, in place."""
        settled = decision.right | decision.wrong
        self.right[rows] = decision.right
        self.slack[rows] = np.where(settled, decision.slack, 0.0)
        self.steps[rows] = np.where(settled, step, OPEN)
        if reach is not None:
            self.reach[rows] = np.where(decision.right, reach, 0.0)


@dataclass(frozen=True, eq=False)
class _Proof:
    network: Network
    chain: tuple[ChainLayer, ...]
    codes: Codes

    @cached_property
    def reach(self) -> Reach:
        return Reach.of(self.chain, self.squared)

    @property
    def squared(self) -> bool:
        return self.network.input_map == "append_squared_norm"

    @cached_property
    def is_whole(self) -> bool:
        return all(layer.is_whole for layer in self.chain) and not self.squared

    @property
    def widest(self) -> int:
        return max(self.network.n_features + 1, *self.network.widths)

    @property
    def tile_size(self) -> int:
        return max(1, min(LARGEST_TILE, TILE_NUMBERS // self.widest))

    def judge(self, tile: Floats, rows: slice) -> _Findings:
        """Float64, float32, and pairs where these leave a point open."""
        n, codes, decoder = len(tile), self.codes[rows], self.network.decoder
        found = _Findings.blank(n)
        outputs = self._run64(tile, found.reach)
        decision = decide(decoder, outputs.values, outputs.errors, codes, FLOAT64)
        exact = not outputs.errors.any() and self.is_whole
        found.settle(np.arange(n), decision, EXACT_SUMS if exact else RUNNING, self._output_reach(decision))
        found.right64[:] = decision.right
        outputs = run(self.chain, enter(tile, self.squared, FLOAT32), FLOAT32)
        found.right32[:] = decide(decoder, outputs.values, outputs.errors, codes, FLOAT32).right
        still = np.flatnonzero(found.steps == OPEN)
        if len(still) and not self.is_whole and not any(layer.is_rounded for layer in self.chain):
            values, errors = run_precisely(self.chain, tile[still], self.squared)
            decision = decide(decoder, values, errors, codes[still], FLOAT64)
            found.settle(still, decision, PAIRS, self._output_reach(decision))
        return found

    def _run64(self, tile: Floats, reach: Floats) -> Signal:
        """Outputs with their radii; where bits bound how far a point may move, that is written to ``reach``."""

        def look(index: int, sums: Signal) -> None:
            if index == self.reach.layer and not self.reach.is_output and self.reach.method:
                reach[:] = self.reach.of_sums(self.chain[index], sums)

        return run(self.chain, enter(tile, self.squared, FLOAT64), FLOAT64, look)

    def _output_reach(self, decision: Decision) -> Floats | None:
        return self.reach.of_gaps(decision.gaps) if self.reach.is_output and self.reach.method else None

    def conclude(self, found: _Findings, points: Points, exact_operations: int) -> Verdict:
        """The verdict, after exact arithmetic on what is still open."""
        still = np.flatnonzero(found.steps == OPEN)
        cost = count_terms(self.chain) * (1 if self.is_whole else FRACTION_COST)
        affordable = still[: max(0, exact_operations) // max(1, cost)]
        self._settle_exactly(found, points, affordable)
        n_open, step = len(still) - len(affordable), int(np.max(found.steps[found.steps != OPEN], initial=EXACT_SUMS))
        whole = self.is_whole and step in (EXACT_SUMS, FRACTIONS)
        return Verdict(
            right={"exact": found.right, "float64": found.right64, "float32": found.right32},
            slack=rounded_down(found.slack),
            radius=rounded_down(found.reach) if self.reach.method else None,
            method="integer-exact" if whole else METHODS[step],
            radius_method=self.reach.method,
            note=OUT_OF_BUDGET.format(n_open=n_open, needed=cost * len(still)) if n_open else "",
        )

    def _settle_exactly(self, found: _Findings, points: Points, rows: Codes) -> None:
        if not len(rows):
            return
        chain = [ExactLayer.of(layer) for layer in self.chain]
        for start, stop in points.ranges(max(1, EXACT_TILE_NUMBERS // self.widest)):
            own = rows[(rows >= start) & (rows < stop)]
            if len(own):
                outputs, quantum = run_exactly(chain, points.tile(start, stop)[own - start], self.squared)
                decision = decide_exactly(self.network.decoder, outputs, quantum, self.codes[own])
                found.settle(own, decision, FRACTIONS, self._output_reach(decision))
