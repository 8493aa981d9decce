"""Repair as frozen data: what a model answers to given points, and patches for what it gets wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._support.parameters import check_choice, check_n_jobs, seed_sequence
from .._support.threads import Threads
from ..certificate.chains import prove_chain
from ..certificate.record import Arithmetic, ProofEffort
from ..construct.patterns import rounded
from ..data import Codes, Floats, Matrix, Points, Rows, class_indices, conflict_pairs, conflicts, data_digest
from ..data.matrices import dense_rows
from ..exceptions import ContradictoryLabelsError, DataError
from ..network import Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..network.parts import SwitchedNetwork, side_by_side
from ..options import FORMATS
from .account import Change, PatchRecord
from .balls import ball_patches, lowered_balls
from .counts import count_patches, lowered_counts
from .models import Model
from .patches import KINDS, Patches, Targets, share_of, with_units

N_PROBES = 256  # points by which a model is known again: enough to tell two models apart
PROBE_NUMBERS = 2**21  # numbers of all of them at most: 16 MB


@dataclass(frozen=True, eq=False)
class PatchRecipe:
    """Which patches, how far they reach, in which format they have to be sure; checked when written down."""

    kind: str
    reach: Any
    exact_in: str | None
    n_jobs: int | None
    random_state: Any

    def __post_init__(self) -> None:
        check_choice("patches", self.kind, KINDS)
        check_n_jobs(self.n_jobs)
        share_of(self.reach)
        if self.exact_in is not None:
            check_choice("exact_in", self.exact_in, FORMATS)

    @property
    def arithmetic(self) -> Arithmetic:
        """What certificates are about."""
        return "exact" if self.exact_in is None else self.needed

    @property
    def needed(self) -> Arithmetic:
        """In which right answers have to be safe; without a format in float64, as this package evaluates chains."""
        return "float32" if self.exact_in == "float32" else "float64"

    def build(self, targets: Targets, change: int) -> Patches:
        """Patches that claim the targets, and no given point of another label."""
        seed = seed_sequence(self.random_state)
        root = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, change))
        if self.kind == "ball" or not len(targets.rows):
            return ball_patches(targets, share_of(self.reach), root)
        with Threads(self.n_jobs) as threads:
            return count_patches(targets, share_of(self.reach), self.kind, root, threads)

    def lower(self, patches: Patches, given: Targets, n_new: int) -> tuple[Patches, NDArray[np.intp]]:
        """Patches that claim none of the last ``n_new`` given points of other labels; the places of those left."""
        X, codes = given.X[-n_new:], given.codes[-n_new:]
        if patches.are_balls:
            return lowered_balls(patches, X, codes, given.form)
        with Threads(self.n_jobs) as threads:
            return lowered_counts(patches, given, X, codes, threads)

    def are_safe(self, network: Network, seen: Matrix, codes: Codes) -> NDArray[np.bool_]:
        """Which points a chain gets right in every evaluation that matters."""
        verdict = prove_chain(network, Points(seen), codes, ProofEffort(self.n_jobs), 0)
        assert verdict is not None  # nothing here has activations of a user's own
        return verdict.right[self.needed]


@dataclass(frozen=True, eq=False)
class SpotChecks:
    """Some given points, by which a model that a file does not hold is known again."""

    rows: Rows
    points: Floats

    @classmethod
    def of(cls, model: Model, seen: Matrix) -> SpotChecks | None:
        """Rows at equal distances; None where the file holds the model itself."""
        if model.kind != "reference":
            return None
        most = max(1, min(N_PROBES, PROBE_NUMBERS // seen.shape[1], seen.shape[0]))
        rows = np.linspace(0, seen.shape[0] - 1, most).astype(np.int64)
        return cls(rows, dense_rows(seen, rows))


@dataclass(frozen=True, eq=False)
class Repair:
    """What repairing a model came to.

    Attributes
    ----------
    model : Model
    patches : Patches
    changes : ndarray of int64
        For each patch the place in the history of the change that brought it.
    history : tuple of Change
    answers : ndarray of int64
        What the model answers to the given points, as class indices.
    targets : ndarray of int64
        Given rows that it does not surely get right, ascending.
    claims : tuple of ndarrays
        Pairs (given row, patch that fires there), row by row.
    data_digest : str
        Of the given points and labels.
    probes : SpotChecks or None
    """

    model: Model
    patches: Patches
    changes: Rows
    history: tuple[Change, ...]
    answers: Codes
    targets: Rows
    claims: tuple[Rows, Rows]
    data_digest: str
    probes: SpotChecks | None

    @cached_property
    def network(self) -> SwitchedNetwork:
        """Patches before the model."""
        return SwitchedNetwork(self.patches.network, self.model.chain)

    @classmethod
    def of(cls, model: Model, points: Matrix, labels: NDArray[Any], recipe: PatchRecipe) -> Repair:
        """Patches for whatever the model does not surely get right."""
        seen, codes = _seen(model, points, labels, recipe)
        answers = model.ask(seen)
        targets = Targets(
            seen, codes, _unsafe(model, seen, codes, answers, recipe), len(model.classes), recipe.exact_in
        )
        patches = recipe.build(targets, 0)
        return cls(
            model, patches, np.zeros(len(patches), dtype=np.int64), (Change(0, len(codes), _listed(patches.anchors)),),
            answers, targets.rows, patches.fired(seen), data_digest(points, labels), SpotChecks.of(model, seen),
        )  # fmt: skip

    def extended(self, points: Matrix, labels: NDArray[Any], recipe: PatchRecipe) -> Repair:
        """Repair for all points, of which those beyond the answers are new.

        Old limits are lowered over the new points first. Then whatever target no patch surely claims any more, or yet,
        gets one.
        """
        model, n_old = self.model, len(self.answers)
        seen, codes = _seen(model, points, labels, recipe)
        new = slice(n_old, None)
        answers = np.concatenate([self.answers, model.ask(seen[new])])
        unsafe = n_old + _unsafe(model, seen[new], codes[new], answers[new], recipe)
        targets = Targets(seen, codes, np.concatenate([self.targets, unsafe]), len(model.classes), recipe.exact_in)
        lower, kept = recipe.lower(self.patches, targets, len(codes) - n_old)
        claimed = recipe.are_safe(lower.network, seen[targets.rows], codes[targets.rows])
        more = recipe.build(replace(targets, rows=targets.rows[~claimed]), len(self.history))
        fell = lower.network.layers[-2].bias != self.patches.network.layers[-2].bias[kept]
        gone = np.delete(self.patches.anchors, kept)
        change = Change(n_old, len(codes) - n_old, *map(_listed, (more.anchors, lower.anchors[fell], gone)))
        patches = joined_patches(lower, more)
        return Repair(
            model, patches, np.concatenate([self.changes[kept], np.full(len(more), len(self.history))]),
            (*self.history, change), answers, targets.rows, patches.fired(seen), data_digest(points, labels),
            SpotChecks.of(model, seen),
        )  # fmt: skip

    def records(self) -> tuple[PatchRecord, ...]:
        """What there is to say of every patch."""
        patches, classes, (rows, places) = self.patches, self.model.classes, self.claims
        order = np.argsort(places, kind="stable")
        claimed = np.split(rows[order], np.searchsorted(places[order], np.arange(1, len(patches))))
        facts = (
            patches.anchors, self.changes, classes[self.answers[patches.anchors]], classes[patches.codes],
            patches.fires_within, patches.silent_beyond,
        )  # fmt: skip
        told = zip(*(fact.tolist() for fact in facts), claimed, strict=False)  # split gives one part even of none
        return tuple(
            PatchRecord(anchor, change, tuple(own.tolist()), old, new, within, beyond)
            for anchor, change, old, new, within, beyond, own in told
        )


@dataclass(frozen=True, eq=False)
class Heard:
    """Patches with answers that the model behind them has just given, as ``certify`` takes them."""

    network_: SwitchedNetwork
    classes_: NDArray[Any]
    exact_in: str | None
    answers: Codes

    def given_answers(self, X: Matrix, y: Any) -> Codes:
        """Of the points that were asked about."""
        return self.answers


def stacked(above: Matrix, below: Matrix) -> Matrix:
    """The rows of two matrices."""
    if sp.issparse(above) or sp.issparse(below):
        return sp.vstack([sp.csr_array(above), sp.csr_array(below)], format="csr")
    return np.concatenate([above, below])


def _listed(rows: Rows) -> tuple[int, ...]:
    return tuple(rows.tolist())


def _seen(model: Model, points: Matrix, labels: NDArray[Any], recipe: PatchRecipe) -> tuple[Matrix, Codes]:
    """Points in the asked format, and class indices; refuses what the model does not know, and contradictions."""
    if model.n_features is not None and model.n_features != points.shape[1]:
        raise DataError(f"X has {points.shape[1]} features, the model takes {model.n_features}")
    codes = codes_of(model, labels)
    seen = rounded(points, recipe.exact_in)
    groups = conflicts(seen, codes)
    if groups:
        raise ContradictoryLabelsError(conflict_pairs(groups, codes), recipe.exact_in, may_vote=False)
    return seen, codes


def codes_of(model: Model, labels: NDArray[Any]) -> Codes:
    """Class indices of labels; refuses those that the model does not know."""
    codes = class_indices(labels, model.classes.tolist())
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        label = labels[row : row + 1].tolist()[0]
        raise DataError(f"row {row} has the label {label!r}, which is none of the model's classes {model.shown}")
    return codes


def _unsafe(model: Model, seen: Matrix, codes: Codes, answers: Codes, recipe: PatchRecipe) -> Rows:
    """Rows that the model gets wrong, or, if it is a chain, may get wrong in some evaluation."""
    right = answers == codes
    if model.chain is not None:
        right &= recipe.are_safe(model.chain, seen, codes)
    return np.flatnonzero(~right).astype(np.int64)


def joined_patches(old: Patches, new: Patches) -> Patches:
    """All patches of two networks in one."""
    if not len(old) or not len(new):
        return old if len(old) else new
    names = ("anchors", "fires_within", "silent_beyond")
    facts = [np.concatenate([getattr(old, name), getattr(new, name)]) for name in names]
    if not old.are_balls:
        return Patches(side_by_side([old.network, new.network]), *facts)
    ahead, behind = (part.network.layers[-2] for part in (old, new))
    assert isinstance(ahead.weights, Dense)
    assert isinstance(behind.weights, Dense)
    weights = np.concatenate([ahead.weights.values, behind.weights.values])
    units = Layer(Dense(weights), np.concatenate([ahead.bias, behind.bias]), THRESHOLD)
    return Patches(with_units(old.network, units, np.concatenate([old.codes, new.codes])), *facts)
