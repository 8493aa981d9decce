"""Repair as frozen data: what a model answers to given points, patches for what it gets wrong, and its account."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._support.console import counted
from .._support.parameters import check_choice, check_n_jobs, seed_sequence
from .._support.threads import Threads
from ..certificate.chains import prove_chain
from ..certificate.record import Arithmetic, ProofEffort
from ..construct.patterns import rounded
from ..data import Codes, Matrix, Points, Rows, conflict_pairs, conflicts, data_digest, refuse_other_features
from ..exceptions import ContradictoryLabelsError
from ..network import Network
from ..network.network import SwitchedNetwork
from ..options import FORMATS
from .counts import count_patches, lowered_counts
from .models import Model, SpotChecks
from .patches import KINDS, Patches, Targets, ball_patches, joined_patches, lowered_balls, share_of

SHOWN_PATCHES = 20  # in texts, before "and so many more"


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
class Repair:
    """What repairing a model came to."""

    model: Model
    patches: Patches
    changes: Rows  # for each patch the place in the history of the change that brought it
    history: tuple[Change, ...]
    answers: Codes  # what the model answers to the given points, as class indices
    targets: Rows  # given rows that it does not surely get right, ascending
    claims: tuple[Rows, Rows]  # pairs (given row, patch that fires there), row by row
    data_digest: str  # of the given points and labels
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
            answers, targets.rows, patches.fired(seen), data_digest(points, labels), model.spot_checks(seen),
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
            model.spot_checks(seen),
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


def stacked(above: Matrix, below: Matrix) -> Matrix:
    """The rows of two matrices."""
    if sp.issparse(above) or sp.issparse(below):
        return sp.vstack([sp.csr_array(above), sp.csr_array(below)], format="csr")
    return np.concatenate([above, below])


def _listed(rows: Rows) -> tuple[int, ...]:
    return tuple(rows.tolist())


def _seen(model: Model, points: Matrix, labels: NDArray[Any], recipe: PatchRecipe) -> tuple[Matrix, Codes]:
    """Points in the asked format, and class indices; refuses what the model does not know, and contradictions."""
    if model.n_features is not None:
        refuse_other_features(points.shape[1], model.n_features, taker="model")
    codes = model.codes(labels)
    seen = rounded(points, recipe.exact_in)
    groups = conflicts(seen, codes)
    if groups:
        raise ContradictoryLabelsError(conflict_pairs(groups, codes), recipe.exact_in, may_vote=False)
    return seen, codes


def _unsafe(model: Model, seen: Matrix, codes: Codes, answers: Codes, recipe: PatchRecipe) -> Rows:
    """Rows that the model gets wrong, or, if it is a chain, may get wrong in some evaluation."""
    right = answers == codes
    if model.chain is not None:
        right &= recipe.are_safe(model.chain, seen, codes)
    return np.flatnonzero(~right).astype(np.int64)


# ---- The account ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PatchRecord:
    """One patch.

    Attributes
    ----------
    anchor : int
        The given row that it was built for.
    change : int
        The place in the history of the change that brought it.
    rows : tuple of int
        The given rows that it claims.
    old, new : label
        What the model answers at its anchor, and what the patch answers.
    fires_within : float
        It surely fires inside this Euclidean distance from its anchor.
    silent_beyond : float
        It surely does not beyond this one; infinite where nothing is proved.
    """

    anchor: int
    change: int
    rows: tuple[int, ...]
    old: Any
    new: Any
    fires_within: float
    silent_beyond: float

    def __str__(self) -> str:
        claimed = f"claims {counted(len(self.rows), 'given row')}"
        return (
            f"anchor row {self.anchor}: {self.old!r} -> {self.new!r}, {claimed}, fires within {self.fires_within:.3g}, "
            f"silent beyond {self.silent_beyond:.3g}"
        )


@dataclass(frozen=True)
class Change:
    """One call of ``fit`` or ``add``: patches are named by the rows of their anchors.

    Attributes
    ----------
    first_row, n_rows : int
        The rows that it brought, as they are numbered from then on.
    added : tuple of int
        Rows that brought a patch.
    lowered, dropped : tuple of int
        Anchors of patches whose limit fell, and of those that went.
    """

    first_row: int
    n_rows: int
    added: tuple[int, ...]
    lowered: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    def __str__(self) -> str:
        rows = f"rows {self.first_row} to {self.first_row + self.n_rows - 1}"
        return f"{rows}: {len(self.added)} patches added, {len(self.lowered)} lowered, {len(self.dropped)} dropped"


@dataclass(frozen=True)
class HeldOut:
    """What patches changed on data that were not given.

    Attributes
    ----------
    n_rows : int
    mended, broken, moved : int
        Answers that became right, became wrong, or went from one wrong label to another.
    accuracy_before, accuracy_after : float
    """

    n_rows: int
    mended: int
    broken: int
    moved: int
    accuracy_before: float
    accuracy_after: float

    @property
    def changed(self) -> int:
        """Answers that are others now."""
        return self.mended + self.broken + self.moved

    @classmethod
    def between(cls, before: Any, after: Any, labels: Any) -> HeldOut:
        """Of two series of answers."""
        was, now, same = before == labels, after == labels, before == after
        mended, broken, moved = (int(np.count_nonzero(part)) for part in (~was & now, was & ~now, ~(was | now | same)))
        return cls(len(labels), mended, broken, moved, float(np.mean(was)), float(np.mean(now)))

    def __str__(self) -> str:
        return (
            f"{self.changed} of {self.n_rows:,} held-out answers changed: {self.mended} mended, {self.broken} broken, "
            f"{self.moved} from wrong to wrong (accuracy {self.accuracy_before:.4f} -> {self.accuracy_after:.4f})"
        )


@dataclass(frozen=True)
class RepairReport:
    """What :meth:`~exactfit.RepairedClassifier.report` tells.

    Attributes
    ----------
    patches : tuple of PatchRecord
    history : tuple of Change
    n_given, n_wrong : int
        Given rows, and those that the model does not surely get right.
    held_out : HeldOut or None

    Examples
    --------
    >>> import exactfit
    >>> import numpy as np
    >>> repaired = exactfit.repair(lambda X: np.zeros(len(X)), [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> print(repaired.report([[1.0], [1.5]], [1.0, 0.0]).held_out)
    1 of 2 held-out answers changed: 1 mended, 0 broken, 0 from wrong to wrong (accuracy 0.5000 -> 1.0000)
    """

    patches: tuple[PatchRecord, ...]
    history: tuple[Change, ...]
    n_given: int
    n_wrong: int
    held_out: HeldOut | None = None

    def __repr__(self) -> str:
        return f"<RepairReport: {self._summary()}>"

    def _summary(self) -> str:
        return f"{counted(len(self.patches), 'patch', 'patches')} for {self.n_wrong:,} of {self.n_given:,} given rows"

    def __str__(self) -> str:
        lines = [self._summary()]
        lines += [f"  {patch}" for patch in self.patches[:SHOWN_PATCHES]]
        more = len(self.patches) - SHOWN_PATCHES
        lines += [f"  and {more:,} more"] if more > 0 else []
        lines += [f"history: {change}" for change in self.history]
        lines += [str(self.held_out)] if self.held_out else []
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, if it can hold the labels; radii that are not finite become strings."""
        plain = asdict(self)
        for patch in plain["patches"]:
            if np.isinf(patch["silent_beyond"]):
                patch["silent_beyond"] = "inf"
        return plain


@dataclass(frozen=True)
class RepairExplanation:
    """Who answers a point.

    Attributes
    ----------
    label : label
        The answer.
    model_label : label
        What the model answers.
    anchors : tuple of int
        Given rows at which the patches that fire are anchored; empty where the model answers.
    by_patch : bool
        Whether patches answer: they do not where those of several classes fire.

    Examples
    --------
    >>> from exactfit.repairs.building import RepairExplanation
    >>> print(RepairExplanation("b", "a", (7,), True))
    'b': by the patch anchored at row 7; the model says 'a'
    """

    label: Any
    model_label: Any
    anchors: tuple[int, ...]
    by_patch: bool

    def __str__(self) -> str:
        if not self.by_patch:
            return f"{self.label!r}: by the model"
        rows = ", ".join(map(str, self.anchors))
        patches = (
            f"the patch anchored at row {rows}" if len(self.anchors) == 1 else f"the patches anchored at rows {rows}"
        )
        return f"{self.label!r}: by {patches}; the model says {self.model_label!r}"
