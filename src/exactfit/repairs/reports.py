"""Reports of repairs: each patch, each change, held-out answers that changed, and answers explained."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._support.console import counted

SHOWN_PATCHES = 20  # in texts, before the number of further ones


@dataclass(frozen=True)
class PatchRecord:
    """One patch."""

    anchor: int  # the given row that it was built for
    change: int  # the place in the history of the change that brought it
    rows: tuple[int, ...]  # the given rows that it claims
    old: Any  # the model's answer at its anchor
    new: Any  # the patch's answer
    fires_within: float  # it surely fires inside this Euclidean distance from its anchor
    silent_beyond: float  # it surely does not beyond this one; infinite where nothing is proved

    def __str__(self) -> str:
        return (
            f"anchor row {self.anchor}: {self.old!r} -> {self.new!r}, claims {counted(len(self.rows), 'given row')}, "
            f"fires within {self.fires_within:.3g}, silent beyond {self.silent_beyond:.3g}"
        )


@dataclass(frozen=True)
class Change:
    """One call of ``fit`` or ``add``: patches are named by the rows of their anchors."""

    first_row: int  # of the rows that it brought, as they are numbered from then on
    n_rows: int
    added: tuple[int, ...]  # rows that brought a patch
    lowered: tuple[int, ...] = ()  # anchors of patches whose limit fell
    dropped: tuple[int, ...] = ()  # anchors of patches that went

    def __str__(self) -> str:
        rows = f"rows {self.first_row} to {self.first_row + self.n_rows - 1}"
        return f"{rows}: {len(self.added)} patches added, {len(self.lowered)} lowered, {len(self.dropped)} dropped"


@dataclass(frozen=True)
class HeldOut:
    """Changed answers on data that were not given."""

    n_rows: int
    mended: int  # answers that became right
    broken: int  # answers that became wrong
    moved: int  # answers that went from one wrong label to another
    accuracy_before: float
    accuracy_after: float

    @property
    def changed(self) -> int:
        """Number of answers that changed."""
        return self.mended + self.broken + self.moved

    @classmethod
    def between(cls, before: Any, after: Any, labels: Any) -> HeldOut:
        """Compare two series of answers."""
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
    """Report of a repair, by :meth:`~exactfit.RepairedClassifier.report`.

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
        """Return the same as JSON can hold it, if it can hold the labels; radii that are not finite become strings."""
        plain = asdict(self)
        for patch in plain["patches"]:
            if np.isinf(patch["silent_beyond"]):
                patch["silent_beyond"] = "inf"
        return plain


@dataclass(frozen=True)
class RepairExplanation:
    """Answer at a point, and the patches or the model that it is by."""

    label: Any
    model_label: Any
    anchors: tuple[int, ...]  # given rows at which the patches that fire are anchored
    by_patch: bool  # whether patches answer: they do not where those of several classes fire

    def __str__(self) -> str:
        if not self.by_patch:
            return f"{self.label!r}: by the model"
        rows = ", ".join(map(str, self.anchors))
        patches = (
            f"the patch anchored at row {rows}" if len(self.anchors) == 1 else f"the patches anchored at rows {rows}"
        )
        return f"{self.label!r}: by {patches}; the model says {self.model_label!r}"
