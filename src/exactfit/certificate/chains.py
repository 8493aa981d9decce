"""Proofs for chains of any depth, with thresholds, ReLU or none and weights of every kind; and for patches before one.

Points are proved right in three steps, each for what the one before leaves open: float64 with a running
error bound, pairs of float64 numbers, and exact integers, up to a given number of multiplications; what is
still open then counts as not proved. Networks of integers, and those over squared norms, go from the first step to the
last.

The first step also says which points are right in every evaluation in float64, and once more
with the constants of float32, in every evaluation in float32.

Patches before a model are proved by themselves where they claim a point, else by their silence and the model: with
them if it is a chain of layers. Of any other one the answers are given, and what is proved is that patches and these
answers together are right.
"""

from __future__ import annotations

import hashlib
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import FLOAT32, FLOAT64
from ..data import Codes, Floats, Points, Rows
from ..network import Decoder, Dense, Layer, Masks, Network, WeightedMasks
from ..network.bits import BitMatrix
from ..network.detector_network import NO_CLASS
from ..network.network import SwitchedNetwork
from .arithmetic import Enclosure, enter, run, run_exactly, run_precisely
from .layers import ChainLayer, Claims, Decision, decide, decide_exactly, read_chain
from .paper_form import prove_threshold
from .radius import Reach
from .record import (
    ARITHMETICS,
    GIVEN_ANSWERS,
    Method,
    ProofEffort,
    Verdict,
    all_rounded_down,
    map_tiles,
    rounded_down,
)

TILE_NUMBERS = 2**22  # signals of the widest layer held at a time by each thread: 32 MB
LARGEST_TILE = 4096  # points to a piece of work, where layers are narrow
EXACT_TILE_NUMBERS = 2**21  # the same for exact integers, which are objects of 30 bytes or more
FRACTION_COST = 8  # multiplications of long integers, in units of short ones: a guess, for the budget only

EXACT_SUMS, RUNNING, PAIRS, FRACTIONS, OPEN = range(5)  # what settled a point, the weakest means first
METHODS: tuple[Method, ...] = ("running error bound", "running error bound", "double-double", "rational")
OUT_OF_BUDGET = (
    "{n_open} points were neither proved nor refuted within the budget of exact arithmetic: "
    "pass exact_operations={needed} or more"
)

CLAIMED, SILENT = 0, 1  # class indices of networks whose question is whether any patch fires
SEVERAL = 2  # classes whose patches fire at once: then none of them decides


def prove_chain(
    network: Network, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int, spared: bool = False
) -> Verdict | None:
    """Prove any network without activations of a user's own, None for those; ``codes`` are class indices.

    ``spared`` asks of a network of patches whether points are claimed for no other class.

    ``exact_operations`` is how many multiplications of exact integers may be spent; points left open then are not
    proved, and the note says how many. "exact" means exact arithmetic on the stored numbers, and exact squared norms.
    """
    decoder: Decoder | Claims = network.decoder
    layers, found = network.layers, network.detectors
    if found is not None and found.activation.is_relu:
        # Outputs add up what fires, which is positive: no rounding can hide it. So what is to be proved are the signs
        # of limit - value alone.
        layers = found.first, Layer(found.counters, found.limits, None)
        classes = found.decoder.classes
        decoder = Claims(np.asarray(classes)[found.outputs], classes[1] if found.silent >= 0 else NO_CLASS)
    chain = read_chain(layers)
    if chain is None:
        return None
    proof = _ChainProof(network, decoder, chain, codes, spared)
    map_tiles(points, max(1, min(LARGEST_TILE, TILE_NUMBERS // proof.widest)), effort, proof.examine)
    proof.settle_exactly(points, exact_operations)
    return proof.verdict()


class _ChainProof:
    """Everything known of each point: whether it is right, by which step, how clearly, and how far it may move."""

    def __init__(
        self, network: Network, decoder: Decoder | Claims, chain: tuple[ChainLayer, ...], codes: Codes, spared: bool
    ) -> None:
        self.decoder, self.chain, self.codes, self.spared, n = decoder, chain, codes, spared, len(codes)
        self.squared = network.input_map == "append_squared_norm"
        self.is_integer = all(layer.is_integer for layer in chain) and not self.squared
        self.widest = max(network.n_features + 1, *network.widths)
        with np.errstate(all="ignore"):  # what overflows is no bound
            self.bound = Reach.of(chain, self.squared)
        self.right, self.right64, self.right32 = np.zeros((3, n), dtype=bool)
        self.slack, self.reach = np.zeros((2, n))
        self.steps = np.full(n, OPEN, dtype=np.int64)
        self.note = ""

    def examine(self, tile: Floats, rows: slice) -> None:
        """Settle the points of a tile in float64, or with pairs where that leaves one open; look at float32 as well."""
        codes = self.codes[rows]

        def look(index: int, sums: Enclosure) -> None:
            # Of a threshold layer the bits bound how far a point may move, before any output is known.
            if index == self.bound.layer and not self.bound.is_output and self.bound.method:
                self.reach[rows] = self.bound.of_sums(self.chain[index], sums.values, sums.errors)

        outputs = run(self.chain, enter(tile, self.squared, FLOAT64), FLOAT64, look)
        decision = decide(self.decoder, outputs.values, outputs.errors, codes, FLOAT64, self.spared)
        exact = not outputs.errors.any() and self.is_integer
        self._settle(np.arange(rows.start, rows.stop), decision, EXACT_SUMS if exact else RUNNING)
        self.right64[rows] = decision.right
        outputs = run(self.chain, enter(tile, self.squared, FLOAT32), FLOAT32)
        self.right32[rows] = decide(self.decoder, outputs.values, outputs.errors, codes, FLOAT32, self.spared).right
        still = np.flatnonzero(self.steps[rows] == OPEN)
        if len(still) and not (self.is_integer or self.squared or any(layer.is_rounded for layer in self.chain)):
            values, errors = run_precisely(self.chain, tile[still])
            decision = decide(self.decoder, values, errors, codes[still], FLOAT64, self.spared)
            self._settle(rows.start + still, decision, PAIRS)

    def _settle(self, rows: Codes, decision: Decision, step: int) -> None:
        settled = decision.right | decision.wrong
        self.right[rows] = decision.right
        self.slack[rows] = np.where(settled, decision.slack, 0.0)
        self.steps[rows] = np.where(settled, step, OPEN)
        if self.bound.is_output and self.bound.method:
            self.reach[rows] = np.where(decision.right, self.bound.of_gaps(decision.gaps), 0.0)

    def settle_exactly(self, points: Points, exact_operations: int) -> None:
        """Settle what is still open in exact arithmetic, as far as the budget goes."""
        still = np.flatnonzero(self.steps == OPEN)
        n_terms = sum(layer.layer.weights.n_nonzero for layer in self.chain)  # multiplications that a point costs
        cost = n_terms * (1 if self.is_integer else FRACTION_COST)
        affordable = still[: max(0, exact_operations) // max(1, cost)]
        if len(affordable) < len(still):
            self.note = OUT_OF_BUDGET.format(n_open=len(still) - len(affordable), needed=cost * len(still))
        for start, stop in points.ranges(max(1, EXACT_TILE_NUMBERS // self.widest)) if len(affordable) else ():
            own = affordable[(affordable >= start) & (affordable < stop)]
            if len(own):
                outputs, quantum = run_exactly(self.chain, points.tile(start, stop)[own - start], self.squared)
                self._settle(
                    own, decide_exactly(self.decoder, outputs, quantum, self.codes[own], self.spared), FRACTIONS
                )

    def verdict(self) -> Verdict:
        """Return what is proved."""
        step = int(np.max(self.steps[self.steps != OPEN], initial=EXACT_SUMS))
        has_reach, integer_exact = self.bound.method is not None, self.is_integer and step in (EXACT_SUMS, FRACTIONS)
        return Verdict(
            right={"exact": self.right, "float64": self.right64, "float32": self.right32},
            slack=rounded_down(self.slack),
            radius=rounded_down(self.reach) if has_reach else None,
            method="integer-exact" if integer_exact else METHODS[step],
            radius_method=self.bound.method,
            radii=all_rounded_down(np.where(self.right, self.reach, 0.0)) if has_reach else None,
            note=self.note,
        )


# ---- Patches before a model ----------------------------------------------------------------------------


def answers_digest(answers: NDArray[np.int64]) -> str:
    """Return the SHA-256 of class indices as little-endian int64."""
    return hashlib.sha256(np.ascontiguousarray(answers, dtype="<i8").tobytes()).hexdigest()


def prove_switched(
    network: SwitchedNetwork, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int,
    answers: Codes | None = None,
) -> Verdict:  # fmt: skip
    """Prove patches before a model; given its answers, its chain is not looked at. See :func:`prove_chain`.

    A point is right if patches surely claim it for its class alone; or if they surely claim it for no other class, or
    for several, and the model is right.
    """
    patches = network.patches

    def prove(chain: Network, rows: Rows, wanted: Codes, spared: bool = False) -> Verdict:
        some = points.take(rows)
        found = prove_threshold(chain, some, wanted, effort, spared)
        verdict = found or prove_chain(chain, some, wanted, effort, exact_operations, spared)
        assert verdict is not None  # neither patches nor models have activations of a user's own
        return verdict

    # By evaluation: where to look for a proof.
    tiles = [patches(points.tile(*piece), n_jobs=effort.n_jobs, checked=True) > 0 for piece in points.ranges()]
    claims = np.concatenate([np.empty((0, len(patches.decoder.classes)), dtype=bool), *tiles])
    own = np.flatnonzero((claims.sum(axis=1) == 1) & (patches.decoder(claims) == codes))
    patched = prove(patches, own, codes[own])
    rest = np.setdiff1d(np.arange(len(codes)), own[np.logical_and.reduce(list(patched.right.values()))])
    spared = prove(patches, rest, codes[rest], spared=True)
    verdicts = [patched, spared]
    # Where patches of several classes fire, two of which surely do, none decides.
    several = np.flatnonzero(claims[rest].sum(axis=1) >= SEVERAL)
    ranks = claims[rest[several]].cumsum(axis=1) * claims[rest[several]]
    for rank in range(1, SEVERAL + 1):
        places = np.argmax(ranks == rank, axis=1)
        for place in np.unique(places):
            those = several[places == place]
            fires = prove(_claim_of(patches, place), rest[those], np.full(len(those), CLAIMED))
            verdicts.append(fires)
            for name, flags in spared.right.items():
                flags[those] = fires.right[name] & (flags[those] | (rank == 1))
            if spared.radii is not None and fires.radii is not None:
                spared.radii[those] = fires.radii if rank == 1 else np.minimum(spared.radii[those], fires.radii)
    if answers is None:
        assert network.model is not None  # ``certify`` has answers of any other model
        behind = prove(network.model, rest, codes[rest])
    else:
        right = answers[rest] == codes[rest]  # in every arithmetic; nothing is said about other points
        behind = Verdict(dict.fromkeys(ARITHMETICS, right), np.inf, None, note=GIVEN_ANSWERS)
    verdicts.append(behind)
    right_in = {name: np.zeros(len(codes), dtype=bool) for name in ARITHMETICS}
    for name, flags in right_in.items():
        flags[own] = patched.right[name]
        flags[rest] |= spared.right[name] & behind.right[name]
    radii = None
    if patched.radii is not None and spared.radii is not None and behind.radii is not None:
        radii = np.zeros(len(codes))
        radii[own] = patched.radii
        radii[rest] = np.maximum(radii[rest], np.minimum(spared.radii, behind.radii))
    return Verdict(
        right=right_in,
        slack=min(verdict.slack for verdict in verdicts),
        radius=None if radii is None else float(np.min(radii, initial=np.inf)),
        method=max((verdict.method for verdict in verdicts), key=get_args(Method).index),  # the strongest means
        radius_method=None if radii is None else behind.radius_method,
        note="; ".join(sorted({verdict.note for verdict in verdicts if verdict.note})),
        radii=radii,
    )


def _claim_of(patches: Network, place: int) -> Network:
    """Return a network of one output: whether a patch fires that speaks for the class at a place."""
    *before, units, output = patches.layers
    assert isinstance(output.weights, Masks)
    assert isinstance(units.weights, Dense | Masks | WeightedMasks)  # what patches are
    kept = np.flatnonzero(output.weights.bits.to_bool()[place])
    some = Layer(units.weights.take(kept), units.bias[kept], units.activation)
    everyone = Masks(BitMatrix.from_bool(np.ones((1, len(kept)), dtype=bool)), -1)
    layers = (*before, some, Layer(everyone, np.zeros(1, dtype=np.int64), None))
    return Network(layers, Decoder("sign", (CLAIMED, SILENT)), patches.input_map)
