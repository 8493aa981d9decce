"""What was repaired: patch by patch, change by change, and on held-out data what else it did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

SHOWN_PATCHES = 20  # in texts, before "and so many more"


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
        claimed = f"claims {len(self.rows):,} given row{'s' if len(self.rows) != 1 else ''}"
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

    def __str__(self) -> str:
        lines = [f"{len(self.patches):,} patches for {self.n_wrong:,} of {self.n_given:,} given rows"]
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
    >>> from exactfit.repairs.account import RepairExplanation
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
