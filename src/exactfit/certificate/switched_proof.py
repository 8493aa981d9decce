"""Proof for patches before a model: by the patches where they claim a point, else by their silence and the model.

A model that is a chain of layers is proved with the patches. Of any other one the answers are given, and what is
proved is that patches and these answers together are right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data import Codes, Floats, Points, Rows
from ..network import Decoder, Dense, Layer, Masks, Network, WeightedMasks
from ..network.bits import BitMatrix
from ..network.parts import SwitchedNetwork
from .chains import prove_chain
from .record import ARITHMETICS, GIVEN_ANSWERS, Arithmetic, Flags, ProofEffort, Verdict, joint_method
from .threshold import prove_threshold

CLAIMED, SILENT = 0, 1  # class indices of networks that ask whether any patch fires
SEVERAL = 2  # classes whose patches fire at once: then none of them decides


def answers_digest(answers: NDArray[np.int64]) -> str:
    """SHA-256 of class indices as little-endian int64.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.certificate.switched_proof import answers_digest
    >>> answers_digest(np.array([1, 0]))[:8]
    '4cbbd8ca'
    """
    return hashlib.sha256(np.ascontiguousarray(answers, dtype="<i8").tobytes()).hexdigest()


def prove_switched(
    network: SwitchedNetwork, points: Points, codes: Codes, effort: ProofEffort, exact_operations: int,
    answers: Codes | None = None,
) -> Verdict:  # fmt: skip
    """Verdict on patches before a model.

    A point is right if patches surely claim it for its class alone; or if they surely claim it for no other class, or
    for several, and the model is right.

    Parameters
    ----------
    network : SwitchedNetwork
    points : Points
    codes : ndarray of int64
        Class index of every point.
    effort : ProofEffort
    exact_operations : int
        See :func:`~exactfit.certificate.chains.prove_chain`.
    answers : ndarray of int64, optional
        What the model answers; given, its chain is not looked at.
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
        behind = _given(answers[rows] == codes[rows])
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
        pieces = self.points.ranges()
        tiles = [self.patches(self.points.finite_tile(*piece), n_jobs=self.effort.n_jobs) > 0 for piece in pieces]
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
        return _gathered(len(rows), [(everyone, part) for part in parts])

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
        return _gathered(len(rows), [*parts, *((several, found) for found in firsts)])

    def _claimed(self, rows: Rows, places: NDArray[np.intp]) -> Verdict:
        """Of some points: a patch of the class at its place fires."""
        parts = []
        for place in np.unique(places):
            own = np.flatnonzero(places == place)
            claim = _claim_of(self.patches, np.array([place]))
            parts.append((own, self.prove(claim, rows[own], np.full(len(own), CLAIMED))))
        return _gathered(len(rows), parts)


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


def _gathered(n_points: int, parts: Sequence[tuple[Rows, Verdict]]) -> Verdict:
    """One verdict from those on parts of the points; what is in two parts has to be right in both."""
    seen = np.zeros(n_points, dtype=bool)
    for rows, _ in parts:
        seen[rows] = True
    right: dict[Arithmetic, Flags] = {name: seen.copy() for name in ARITHMETICS}
    radii = np.where(seen, np.inf, 0.0)
    for rows, verdict in parts:
        for name, flags in right.items():
            flags[rows] &= verdict.right[name]
        if verdict.radii is not None:
            radii[rows] = np.minimum(radii[rows], verdict.radii)
    known = all(verdict.radii is not None for _, verdict in parts)
    return Verdict(
        right=right,
        slack=min((verdict.slack for _, verdict in parts), default=np.inf),
        radius=None,
        method=joint_method([verdict.method for _, verdict in parts] or ["counts"]),
        radius_method=next((verdict.radius_method for _, verdict in parts), None),
        note="; ".join(sorted({verdict.note for _, verdict in parts if verdict.note})),
        radii=radii if known else None,
    )


def _given(right: Flags) -> Verdict:
    """The verdict on answers that are taken as given: in every arithmetic, and nothing about other points."""
    rights: dict[Arithmetic, Flags] = dict.fromkeys(ARITHMETICS, right)
    return Verdict(rights, float("inf"), None, "counts", note=GIVEN_ANSWERS)


def _joined(n_points: int, patched: tuple[Rows, Verdict], left: tuple[Rows, Verdict, Verdict]) -> Verdict:
    """Right by the patches, or, in the rows that these leave alone, by the model."""
    rows, spared, behind = left
    whole = _gathered(n_points, [patched])
    right = whole.right
    for name, flags in right.items():
        flags[rows] |= spared.right[name] & behind.right[name]
    radii = _radii(whole.radii, spared.radii, behind.radii, rows)
    return Verdict(
        right=right,
        slack=min(whole.slack, spared.slack, behind.slack),
        radius=None if radii is None else float(np.min(radii, initial=np.inf)),
        method=joint_method([whole.method, spared.method, behind.method]),
        radius_method=None if radii is None else behind.radius_method,
        note="; ".join(sorted({found.note for found in (whole, spared, behind) if found.note})),
        radii=radii,
    )


def _radii(patched: Floats | None, spared: Floats | None, behind: Floats | None, rows: Rows) -> Floats | None:
    """Of every point: how far patches claim it, or how far they leave it alone and the model stays right."""
    if patched is None or spared is None or behind is None:
        return None
    radii = patched.copy()
    radii[rows] = np.maximum(radii[rows], np.minimum(spared, behind))
    return radii
