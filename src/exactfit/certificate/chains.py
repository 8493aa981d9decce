"""Proof for chains of any depth, with thresholds, ReLU or none and weights of every kind; and for patches before one.

Points are proved right in three steps, each for what the one before leaves open: float64 with a running
error bound, pairs of float64 numbers, and exact integers, up to a given number of multiplications; what is
still open then counts as not proved. Networks of integers go from the first step to the last.

The first step also says which points are right in every evaluation in float64, and once more
with the constants of float32, in every evaluation in float32.

Patches before a model are proved by themselves where they claim a point, else by their silence and the model: with
them if it is a chain of layers. Of any other one the answers are given, and what is proved is that patches and these
answers together are right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import FLOAT32, FLOAT64
from ..data import Codes, Floats, Points, Rows
from ..network import Decoder, Dense, Layer, Masks, Network, WeightedMasks
from ..network.bits import BitMatrix
from ..network.network import SwitchedNetwork
from .arithmetic import Enclosure, ExactLayer, enter, run, run_exactly, run_precisely
from .layers import ChainLayer, Decision, decide, decide_exactly, read_chain
from .paper_form import prove_threshold
from .radius import Reach
from .record import (
    ARITHMETICS,
    GIVEN_ANSWERS,
    Flags,
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

CLAIMED, SILENT = 0, 1  # class indices of networks that ask whether any patch fires
SEVERAL = 2  # classes whose patches fire at once: then none of them decides


def prove_chain(
    network: Network, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int
) -> Verdict | None:
    """Verdict on any network without activations of a user's own, None for those; ``codes`` are class indices.

    ``exact_operations`` is how many multiplications of exact integers may be spent; points left open then are not
    proved, and the note says how many. "exact" means exact arithmetic on the stored numbers, and exact squared norms.
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

    def _run64(self, tile: Floats, reach: Floats) -> Enclosure:
        """Outputs with their radii; where bits bound how far a point may move, that is written to ``reach``."""

        def look(index: int, sums: Enclosure) -> None:
            if index == self.reach.layer and not self.reach.is_output and self.reach.method:
                reach[:] = self.reach.of_sums(self.chain[index], sums.values, sums.errors)

        return run(self.chain, enter(tile, self.squared, FLOAT64), FLOAT64, look)

    def _output_reach(self, decision: Decision) -> Floats | None:
        return self.reach.of_gaps(decision.gaps) if self.reach.is_output and self.reach.method else None

    def conclude(self, found: _Findings, points: Points, exact_operations: int) -> Verdict:
        """The verdict, after exact arithmetic on what is still open."""
        still = np.flatnonzero(found.steps == OPEN)
        n_terms = sum(layer.layer.weights.n_nonzero for layer in self.chain)  # multiplications that a point costs
        cost = n_terms * (1 if self.is_whole else FRACTION_COST)
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
            radii=all_rounded_down(np.where(found.right, found.reach, 0.0)) if self.reach.method else None,
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


# ---- Patches before a model ----------------------------------------------------------------------------


def answers_digest(answers: NDArray[np.int64]) -> str:
    """SHA-256 of class indices as little-endian int64.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.certificate.chains import answers_digest
    >>> answers_digest(np.array([1, 0]))[:8]
    '4cbbd8ca'
    """
    return hashlib.sha256(np.ascontiguousarray(answers, dtype="<i8").tobytes()).hexdigest()


def prove_switched(
    network: SwitchedNetwork, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int,
    answers: Codes | None = None,
) -> Verdict:  # fmt: skip
    """Verdict on patches before a model; given its answers, its chain is not looked at. See :func:`prove_chain`.

    A point is right if patches surely claim it for its class alone; or if they surely claim it for no other class, or
    for several, and the model is right.
    """
    proof = _SwitchedProof(network.patches, points, codes, effort, exact_operations)
    claims = proof.claims()
    own = np.flatnonzero((claims.sum(axis=1) == 1) & (network.patches.decoder(claims) == codes))
    patched = proof.patched(own, claims[own])
    everywhere = np.logical_and.reduce(list(patched.right.values()))
    rows = np.setdiff1d(np.arange(len(codes)), own[everywhere])
    spared = proof.spared(rows, claims[rows])
    if answers is None:
        assert network.model is not None  # ``certify`` has answers of any other model
        behind = proof.prove(network.model, rows, codes[rows])
    else:
        right = answers[rows] == codes[rows]  # in every arithmetic; nothing is said about other points
        behind = Verdict(dict.fromkeys(ARITHMETICS, right), np.inf, None, note=GIVEN_ANSWERS)
    return _joined(len(codes), (own, patched), (rows, spared, behind))


@dataclass(frozen=True, eq=False)
class _SwitchedProof:
    patches: Network
    points: Points
    codes: Codes
    effort: ProofEffort
    exact_operations: int

    def claims(self) -> Flags:
        """Which classes have a patch that fires, by evaluation: where to look for a proof."""
        pieces = (self.points.tile(*piece) for piece in self.points.ranges())
        tiles = [self.patches(tile, n_jobs=self.effort.n_jobs, checked=True) > 0 for tile in pieces]
        return np.concatenate([np.empty((0, len(self.patches.decoder.classes)), dtype=bool), *tiles])

    def prove(self, network: Network, rows: Rows, codes: Codes) -> Verdict:
        """Verdict on a chain at some of the points."""
        some = self.points.take(rows)
        found = prove_threshold(network, some, codes, self.effort)
        verdict = found or prove_chain(network, some, codes, self.effort, self.exact_operations)
        assert verdict is not None  # neither patches nor models have activations of a user's own
        return verdict

    def patched(self, rows: Rows, claims: Flags) -> Verdict:
        """Of some points: patches claim them for the class that does by evaluation, and for no other.

        Two questions: of one about all patches at once, a patch that may or may not fire would leave all open.
        """
        everyone = np.arange(len(rows))
        parts = (self._claimed(rows, np.argmax(claims, axis=1)), self.spared(rows, claims))
        return gathered(len(rows), [(everyone, part) for part in parts])

    def spared(self, rows: Rows, claims: Flags) -> Verdict:
        """Of some points: patches claim them for no other class, or for several classes."""
        classes = np.array(self.patches.decoder.classes, dtype=np.int64)
        parts = []
        for code in np.unique(self.codes[rows]).tolist():
            own = np.flatnonzero((self.codes[rows] == code) & (claims.sum(axis=1) < SEVERAL))
            others = _claim_of(self.patches, np.flatnonzero(classes != code))
            parts.append((own, self.prove(others, rows[own], np.full(len(own), SILENT))))
        several = np.flatnonzero(claims.sum(axis=1) >= SEVERAL)
        ranks = claims[several].cumsum(axis=1) * claims[several]
        firsts = [self._claimed(rows[several], np.argmax(ranks == rank, axis=1)) for rank in range(1, SEVERAL + 1)]
        return gathered(len(rows), [*parts, *((several, found) for found in firsts)])

    def _claimed(self, rows: Rows, places: NDArray[np.intp]) -> Verdict:
        """Of some points: a patch of the class at its place fires."""
        parts = []
        for place in np.unique(places):
            own = np.flatnonzero(places == place)
            claim = _claim_of(self.patches, np.array([place]))
            parts.append((own, self.prove(claim, rows[own], np.full(len(own), CLAIMED))))
        return gathered(len(rows), parts)


def _claim_of(patches: Network, places: NDArray[np.intp]) -> Network:
    """One output: whether a patch fires that speaks for one of the classes at these places."""
    *before, units, output = patches.layers
    assert isinstance(output.weights, Masks)
    assert isinstance(units.weights, Dense | Masks | WeightedMasks)  # what patches are
    kept = np.flatnonzero(output.weights.bits.to_bool()[places].any(axis=0))
    some = Layer(units.weights.take(kept), units.bias[kept], units.activation)
    everyone = Masks(BitMatrix.from_bool(np.ones((1, len(kept)), dtype=bool)), -1)
    layers = (*before, some, Layer(everyone, np.zeros(1, dtype=np.int64), None))
    return Network(layers, Decoder("sign", (CLAIMED, SILENT)), patches.input_map)


def gathered(n_points: int, parts: Sequence[tuple[Any, Verdict]]) -> Verdict:
    """One verdict from those on parts of the points: what is in several parts has to be right in each of them.

    Detectors of which one set a radius is not told.
    """
    verdicts, seen = [verdict for _, verdict in parts], np.zeros(n_points, dtype=bool)
    for rows, _ in parts:
        seen[rows] = True
    known = [name for name in ARITHMETICS if all(name in verdict.right for verdict in verdicts)]
    right = {name: seen.copy() for name in known}
    radii = np.where(seen, np.inf, 0.0)
    for rows, verdict in parts:
        for name, flags in right.items():
            flags[rows] &= verdict.right[name]
        if verdict.radii is not None:
            radii[rows] = np.minimum(radii[rows], verdict.radii)
    least = [verdict.radius for verdict in verdicts if verdict.radius is not None]
    return Verdict(
        right=right,
        slack=float(np.min([verdict.slack for verdict in verdicts], initial=np.inf)),
        radius=min(least) if 0 < len(least) == len(verdicts) else None,
        method=_strongest([verdict.method for verdict in verdicts] or ["counts"]),
        radius_method=verdicts[0].radius_method if verdicts else None,
        note=_notes(verdicts),
        radii=radii if all(verdict.radii is not None for verdict in verdicts) else None,
    )


def _strongest(methods: Sequence[Method]) -> Method:
    """The strongest means that any of several proofs needed."""
    return max(methods, key=get_args(Method).index)


def _notes(verdicts: Sequence[Verdict]) -> str:
    """What there is to say of any of them, once."""
    return "; ".join(sorted({verdict.note for verdict in verdicts if verdict.note}))


def _joined(n_points: int, patched: tuple[Rows, Verdict], left: tuple[Rows, Verdict, Verdict]) -> Verdict:
    """Right by the patches, or, in the rows that these leave alone, by the model; and so far may each point move."""
    rows, spared, behind = left
    whole = gathered(n_points, [patched])
    other = gathered(len(rows), [(slice(None), spared), (slice(None), behind)])
    for name, flags in whole.right.items():
        flags[rows] |= other.right[name]
    radii = None
    if whole.radii is not None and other.radii is not None:
        radii = whole.radii
        radii[rows] = np.maximum(radii[rows], other.radii)
    return Verdict(
        right=whole.right,
        slack=min(whole.slack, other.slack),
        radius=None if radii is None else float(np.min(radii, initial=np.inf)),
        method=_strongest([whole.method, other.method]),
        radius_method=None if radii is None else behind.radius_method,
        note=_notes([whole, spared, behind]),
        radii=radii,
    )
