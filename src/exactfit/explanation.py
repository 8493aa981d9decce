"""Explanations of answers: detectors, the training rows they rest on, conditions, and how clear it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._support.console import as_frame, counted
from ._support.html import Markup, element, html_table, joined
from .conditions import Condition, Conditions
from .network.detector_network import NO_DETECTOR, DetectorResponses

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

SHOWN_POINTS, SHOWN_DETECTORS, SHOWN_SUPPORT = 5, 3, 2  # in texts, before "and so many more"; support of each side
NAMED_SUPPORT = 10  # rows of each side that an explanation names of what may be thousands
ROLES = {"fires": "fires", "nearest": "came close", "other": "other class"}


@dataclass(frozen=True)
class Supporter:
    """A training row that a weighted detector rests on."""

    row: int
    share: float  # positive for rows of the detector's class, negative for others; sizes add up to 1 over all rows

    def __str__(self) -> str:
        return f"{self.row} ({self.share:+.2g})"


@dataclass(frozen=True)
class DetectorAt:
    """A detector and its slack at one point.

    Attributes
    ----------
    detector : int
        Its number in the network.
    label : label
        The class that it speaks for.
    anchor : int
        The training row that it is built on.
    witness : int
        The training row of another class that set its limit: the point of the rest that it came
        closest to claiming. -1 for a point of a stream (``extend`` without training data).
    slack : float
        Relative slack at the point: positive where it fires, 1 at most.
    support : tuple of Supporter
        Weighted detectors: the rows that it rests on most, up to ten of its class and up to ten of others, the
        largest share first. Their anchor is the point that they claim most clearly.
    n_support : int
        Number of rows it rests on; 0 for masks.
    """

    detector: int
    label: Any
    anchor: int
    witness: int
    slack: float
    support: tuple[Supporter, ...] = field(default=(), repr=False)
    n_support: int = 0

    def __str__(self) -> str:
        return (
            f"detector {self.detector} of {self.label!r}, anchor row {self.anchor}, slack {self.slack:.3g}, "
            f"limit set by {f'row {self.witness}' if self.witness >= 0 else 'a point of a stream'}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        return asdict(self) | {"support": [asdict(one) for one in self.support]}

    @property
    def rests_on(self) -> str:
        """The rows that it rests on most, as text; empty for masks."""
        if not self.support:
            return ""
        named = [str(one) for one in self.support if one.share > 0][:SHOWN_SUPPORT]
        named += [str(one) for one in self.support if one.share < 0][:SHOWN_SUPPORT]
        more = self.n_support - len(named)
        return f"rests on rows {', '.join(named)}" + (f" and {more:,} more" if more else "")


@dataclass(frozen=True)
class Explanation:
    """Detectors, training rows and conditions behind the answer for one point.

    Attributes
    ----------
    label : label
        The answer.
    claimed_by : tuple of labels
        The classes with a detector that fires: one where the answer is clear.
    fires : tuple of DetectorAt
        The detectors that fire, the clearest first.
    nearest : tuple of DetectorAt
        Where none fires, those that came closest: that an answer is "rest" rests on their limits.
    other : DetectorAt or None
        The clearest detector of any other class; None if no other class has detectors.
    radius : float or None
        Wherever the point moves by at most this Euclidean distance, the network's output keeps this answer: proved.
        Zero where the output says something else, or nothing, to begin with; None if it was not asked for.
    conditions : tuple of Condition
        What is so at the point and speaks for its answer: of the hyperplanes that look at few features those that
        say most for the first detector of ``fires`` (else for the clearest of the answer's class, or against the
        clearest of another), then those that hold only just. Empty where hyperplanes look at many features, and for
        activations other than the threshold.

    Examples
    --------
    >>> from exactfit import InterpolatingClassifier
    >>> model = InterpolatingClassifier.paper(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> one, two = model.explain([[1.0], [2.0]])
    >>> one.label, one.claimed_by, [found.anchor for found in one.fires]
    ('b', ('b',), [1])
    >>> two.label, two.fires, [found.witness for found in two.nearest]
    ('a', (), [2])
    """

    label: Any
    claimed_by: tuple[Any, ...]
    fires: tuple[DetectorAt, ...]
    nearest: tuple[DetectorAt, ...]
    other: DetectorAt | None
    radius: float | None = None
    conditions: tuple[Condition, ...] = ()

    def __repr__(self) -> str:
        claims = counted(len(self.claimed_by), "class", "classes")
        return f"<{type(self).__name__}: {self.label!r}, claimed by {claims}, {counted(len(self.fires), 'detector')}>"

    def __str__(self) -> str:
        lines = [f"{self.label!r}: claimed by {' and '.join(map(repr, self.claimed_by)) or 'no class'}"]
        for number, (role, found) in enumerate(self.roles()):
            if role == "fires" and number >= SHOWN_DETECTORS:
                more = len(self.fires) - SHOWN_DETECTORS
                lines += [f"{'':15}and {more} more"] if number == SHOWN_DETECTORS else []
                continue
            lines.append(f"  {ROLES[role]:<12} {found}")
            lines += [f"{'':15}{found.rests_on}"] if found.support else []
        lines += [f"  {'only just' if one.near else 'because':<12} {one}" for one in self.conditions]
        if self.radius is not None:
            sure = f"by {self.radius:.3g} without changing its answer"
            unsure = "not for sure: its answer is not the only class that claims it"
            lines.append(f"  {'may move':<12} {sure if self.radius > 0 else unsure}")
        return "\n".join(lines)

    def roles(self) -> Iterator[tuple[str, DetectorAt]]:
        """Yield every detector that is named, with the part that it plays."""
        for role, found in (("fires", self.fires), ("nearest", self.nearest), ("other", (self.other,))):
            yield from ((role, one) for one in found if one)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        plain: dict[str, Any] = {"label": self.label, "claimed_by": list(self.claimed_by)}
        plain |= {name: [one.to_dict() for one in getattr(self, name)] for name in ("fires", "nearest", "conditions")}
        return plain | {"other": self.other and self.other.to_dict(), "radius": self.radius}


@dataclass(frozen=True, eq=False)
class SupportRows:
    """Rows that weighted detectors rest on, as ``trace_`` holds them: those of k are starts[k]:starts[k + 1]."""

    rows: Rows
    dual_coef: Rows
    starts: Rows

    def of(self, detector: int) -> tuple[Rows, Floats]:
        """Return all rows that a detector rests on and their fractions of it, the largest first, by row on a tie."""
        part = slice(*self.starts[detector : detector + 2])
        rows, dual_coef = self.rows[part], self.dual_coef[part]
        # Sizes add up to 1 over all rows, of the class and of others.
        order = np.lexsort((rows, -np.abs(dual_coef)))
        return rows[order], dual_coef[order] / max(int(np.abs(dual_coef).sum()), 1)

    def largest(self, detector: int) -> tuple[Supporter, ...]:
        """Return the first few of each side, in that order."""
        rows, shares = self.of(detector)
        few = [np.flatnonzero(side)[:NAMED_SUPPORT] for side in (shares > 0, shares < 0)]
        return tuple(Supporter(int(rows[k]), float(shares[k])) for k in np.sort(np.concatenate(few)))


@dataclass(frozen=True, eq=False)
class Explanations(Sequence[Explanation]):
    """An :class:`~exactfit.Explanation` for every point, made when it is asked for.

    Attributes
    ----------
    labels : ndarray
        The answers.
    responses : DetectorResponses
        What all detectors say, as arrays.
    supports : SupportRows or None
        All rows that weighted detectors rest on: ``supports.of(detector)``. None for masks.
    radii : ndarray of float64, or None if not asked for
        How far each point may move without changing its answer.
    conditions : Conditions or None
        What finds the conditions of an explanation when it is asked for.

    Examples
    --------
    >>> from exactfit import InterpolatingClassifier
    >>> model = InterpolatingClassifier.paper(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> print(model.explain([[1.0], [2.0]]))
    point 0: 'b': claimed by 'b'
      fires        detector 0 of 'b', anchor row 1, slack 0.5, limit set by row 2
      because      x0 >= 0.7441 (1, by 0.256; in 67% of rows; slack 1)
      only just    x0 <= 1.06 (1, by 0.06; in 67% of rows; slack 1)
    point 1: 'a': claimed by no class
      came close   detector 0 of 'b', anchor row 1, slack -0.5, limit set by row 2
      because      x0 > 1.06 (2, by 0.94; in 33% of rows; slack 1)
    """

    labels: NDArray[Any]
    responses: DetectorResponses
    detector_labels: NDArray[Any]
    anchors: Rows
    witnesses: Rows
    output_labels: NDArray[Any]
    supports: SupportRows | None = None
    radii: Floats | None = None
    conditions: Conditions | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        return self._explained(range(len(self))[place], self.conditions)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[k] for k in range(len(self)))

    def _explained(self, k: int, conditions: Conditions | None) -> Explanation:
        """Return the explanation of one point; to find the conditions of ten thousand takes long."""
        responses, own = self.responses, self.output_labels == self.labels[k]
        best, clearest = responses.best[k], responses.clearest[k]
        others = np.flatnonzero(~own & (clearest != NO_DETECTOR))
        other = None
        # Of a one-sided model all detectors are named already.
        if len(others) and len(best) > 1:
            place = others[best[others].argmax()]
            (other,) = self._at(clearest[[place]], best[[place]])
        # Conditions are for the clearest detector of the answer, or against all where it is that none fires.
        detector, sense = int(clearest[own.argmax()]), 1 if own.any() else -1
        fired = slice(responses.starts[k], responses.starts[k + 1])
        return Explanation(
            label=_plain(self.labels, k),
            claimed_by=tuple(_plain(self.output_labels, j) for j in np.flatnonzero(best > 0)),
            fires=self._at(responses.fired[fired], responses.slack[fired]),
            nearest=self._at(responses.nearest[k], responses.nearest_slack[k]),
            other=other,
            radius=None if self.radii is None else float(self.radii[k]),
            conditions=conditions.of(k, detector, sense) if conditions and detector != NO_DETECTOR else (),
        )

    def _at(self, detectors: Rows, slack: Floats) -> tuple[DetectorAt, ...]:
        """Return detectors with their slack at a point; fewer than three leave places without one."""
        found = []
        for k, its_slack in zip(detectors.tolist(), slack.tolist(), strict=True):
            if k != NO_DETECTOR:
                label, anchor, witness = _plain(self.detector_labels, k), int(self.anchors[k]), int(self.witnesses[k])
                supports = self.supports
                support = () if supports is None else (supports.largest(k), len(supports.of(k)[0]))
                found.append(DetectorAt(k, label, anchor, witness, its_slack, *support))
        return tuple(found)

    def __repr__(self) -> str:
        points, detectors = counted(len(self), "point"), counted(len(self.anchors), "detector")
        return f"<{type(self).__name__}: {points}, {detectors}>"

    def __str__(self) -> str:
        more = len(self) - SHOWN_POINTS
        lines = [f"point {k}: {self[k]}" for k in range(min(len(self), SHOWN_POINTS))]
        return "\n".join(lines + ([f"and {more} more points"] if more > 0 else []))

    def _repr_html_(self) -> str:
        head = ["point", "answer", "", "detector", "of", "anchor row", "limit set by row", "slack"]
        lines = [
            (k, one.label, role, at.detector, at.label, at.anchor, at.witness, f"{at.slack:.3g}")
            for k, one in enumerate(self[:SHOWN_POINTS])
            for role, at in one.roles()
        ]
        first = ["apart" if k and line[0] != lines[k - 1][0] else "" for k, line in enumerate(lines)]
        title = element(
            "strong", f"{len(self):,} points" + (f", the first {SHOWN_POINTS}" * (len(self) > SHOWN_POINTS))
        )
        return joined([title, html_table(head, lines, first), *(conditions_table(one) for one in self[:SHOWN_POINTS])])

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        return {"points": [one.to_dict() for one in self]}

    def to_frame(self) -> Any:
        """Return a pandas frame with a line for every detector that is named: point, answer, role and the detector.

        The rows that a weighted detector rests on, and their shares, are tuples.
        """
        names = ("point", "answer", "role", "detector", "label", "anchor", "witness", "slack", "support", "shares")
        columns: dict[str, list[Any]] = {name: [] for name in (*names, "n_support")}
        for k in range(len(self)):
            one = self._explained(k, None)
            for role, at in one.roles():
                rows, shares = tuple(each.row for each in at.support), tuple(each.share for each in at.support)
                facts = (at.detector, at.label, at.anchor, at.witness, at.slack, rows, shares, at.n_support)
                for column, value in zip(columns.values(), (k, one.label, role, *facts), strict=True):
                    column.append(value)
        return as_frame(columns if self.radii is None else columns | {"radius": self.radii[columns["point"]].tolist()})


def _plain(labels: NDArray[Any], k: Any) -> Any:
    # A Python object, not a NumPy scalar: it prints as users wrote it, and JSON can hold it.
    return labels[k : k + 1].tolist()[0]


def conditions_table(one: Explanation) -> Markup:
    """Return the conditions of an explanation as an HTML table; nothing if it has none."""
    lines = [
        (found.text, found.here, found.away if found.here else "",
         "" if found.rate is None else f"{found.rate:.0%}", f"{found.slack:.3g}")
        for found in one.conditions
    ]  # fmt: skip
    head = [f"{one.label}, because", "here", "away from failing by", "true of training rows", "slack"]
    first_near = sum(not found.near for found in one.conditions)
    looks = ["apart" if k == first_near else "" for k in range(len(lines))]
    return html_table(head, lines, looks) if lines else joined([])
