"""What every construction returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..certificate import Certificate
from ..certificate.record import EVALUATED, joint_note, method_of
from ..network import Network
from ..network.activations import THRESHOLD
from ..network.parts import parts_of
from ..outcome import Outcome

Rows = NDArray[np.int64]


_no_rows = np.empty(0, dtype=np.int64).copy


@dataclass(frozen=True, eq=False)
class Trace:
    """How the network came about; row numbers are rows of the training data.

    Attributes
    ----------
    anchors : ndarray of int64, shape (n_detectors,)
        The row that each detector is built on.
    witnesses : ndarray of int64, shape (n_detectors,)
        The row of another class that set each detector's limit (of several, the first by
        class, then by row); -1 for a point of a stream (``extend`` without training data).
    coverage : ndarray of int64, shape (n_detectors,)
        How many points of its class each detector claimed first.
    detector_classes : ndarray of int64, shape (n_detectors,)
        The class index that each detector speaks for.
    uncovered : ndarray of int64
        Rows that no detector of their class claims.
    support, shares : ndarray of int64
        Weighted detectors only: the rows that each rests on, and what each counts for it, positive in its class
        and negative in others; those of detector k are the entries ``support_starts[k]:support_starts[k + 1]``.
    support_starts : ndarray of int64
    hyperplane_starts, detector_starts : ndarray of int64
        Several networks in one only: where the hyperplanes and detectors of each begin, and the end of the last.
    narrow : ndarray of int64
        Rows that are right, but without the margin.
    margin : float
        How far every other row may move, by construction.
    n_rejected : int
        Candidates that could not become detectors, because their limit was not positive.
    n_drawn : int
        Hyperplanes drawn at random.
    n_rescued : int
        Coordinate cuts (with a margin: bisectors of open pairs) added after the draws had stalled.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> trace = adaptive_width(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), random_state=0).trace
    >>> trace.anchors, trace.coverage, trace.n_rescued
    (array([1]), array([1]), 0)
    """

    anchors: Rows = field(default_factory=_no_rows)
    witnesses: Rows = field(default_factory=_no_rows)
    coverage: Rows = field(default_factory=_no_rows)
    detector_classes: Rows = field(default_factory=_no_rows)
    uncovered: Rows = field(default_factory=_no_rows)
    support: Rows = field(default_factory=_no_rows)
    shares: Rows = field(default_factory=_no_rows)
    support_starts: Rows = field(default_factory=_no_rows)
    hyperplane_starts: Rows = field(default_factory=_no_rows)
    detector_starts: Rows = field(default_factory=_no_rows)
    narrow: Rows = field(default_factory=_no_rows)
    margin: float = 0.0
    n_rejected: int = 0
    n_drawn: int = 0
    n_rescued: int = 0

    def __repr__(self) -> str:
        return (
            f"<Trace: {len(self.anchors):,} detectors, {len(self.uncovered):,} points uncovered, "
            f"{self.n_drawn:,} hyperplanes drawn, {self.n_rescued:,} rescued>"
        )


@dataclass(frozen=True, eq=False)
class Construction:
    """A network, how its construction ended, and how it came about.

    Attributes
    ----------
    network : Network
    outcome : Outcome
    trace : Trace
    errors : ndarray of int64
        Rows that the network misses.
    given_up : ndarray of int64
        Rows that the network gets wrong knowingly: those that lost to a majority, and those that ``noise`` gave up.
    overruled : ndarray of int64
        Those of them that equal a kept row of another label.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> made = adaptive_width(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), random_state=0)
    >>> made.outcome.interpolates, made.network.decide(np.array([[0.0], [1.0], [2.0]]))
    (True, array([0, 1, 0]))
    """

    network: Network
    outcome: Outcome
    trace: Trace
    errors: Rows = field(default_factory=_no_rows)
    given_up: Rows = field(default_factory=_no_rows)
    overruled: Rows = field(default_factory=_no_rows)

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks that the one network holds side by side: itself, if it was built alone."""
        return parts_of(self.network, self.trace.hyperplane_starts, self.trace.detector_starts)

    def certificate(self, n_samples: int, digest: str, exact_in: Literal["float64", "float32"] | None) -> Certificate:
        """What the cover step's own numbers prove of all points but those given up: nothing is computed again.

        Of several networks they prove it of each, and so of the mean of their scores (see ``construct.build``).
        A threshold detector's limit is the count at its witness, so the smallest slack is 1/2.
        In a format: float64 errs less than float32, on points that float32 holds too.
        """
        activation = self.network.layers[0].activation or THRESHOLD
        exact_slack = 0.5 if len(self.trace.anchors) else np.inf
        holds = not len(self.errors)
        safe = None if exact_in is None else holds
        return Certificate(
            holds=holds,
            n_samples=n_samples,
            n_errors=len(self.errors),
            errors=self.errors,
            slack=exact_slack if activation.is_threshold else np.nan,
            proof="construction",
            arithmetic=exact_in or "exact",
            float64_safe=safe,
            float32_safe=safe if exact_in == "float32" else None,
            method=method_of(activation),
            data_digest=digest,
            network_digest=self.network.digest,
            note=joint_note(
                max(1, len(self.trace.detector_starts) - 1), EVALUATED if activation.is_own else "", exact_in or "exact"
            ),
            given_up=self.given_up,
            overruled=self.overruled,
            margin=self.trace.margin or None,
            narrow=self.trace.narrow,
        )

    def __repr__(self) -> str:
        return f"<Construction: {self.outcome.value}, {self.network!r}, {self.trace!r}>"
