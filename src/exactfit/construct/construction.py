"""The result of a construction: its network, outcome and trace; and the network that covers make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..certificate import Certificate
from ..certificate.record import EVALUATED, method_of
from ..data import Rows
from ..network import Decoder, DetectorNetwork, Masks, Network, WeightedMasks
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix
from ..outcome import Outcome
from .first_layer import TrainingSet
from .hyperplanes import Hyperplanes
from .unique_patterns import Cover

_no_rows = np.empty(0, dtype=np.int64).copy
_no_numbers = np.empty(0, dtype=np.float32).copy


@dataclass(frozen=True, eq=False)
class Trace:
    """The rows behind a network, and the counts of its construction; rows are those of the training data.

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
    support, dual_coef : ndarray of int64
        Weighted detectors only: the rows that each rests on, and what each counts for it, positive in its class
        and negative in others; those of detector k are the entries ``support_starts[k]:support_starts[k + 1]``.
    support_starts : ndarray of int64
    without_margin : ndarray of int64
        Rows that are right, but without the margin.
    importances : ndarray of float32, shape (n_features,)
        How much each feature matters, see ``InterpolatingClassifier.feature_importances_``.
    spreads : ndarray of float32, shape (n_features,)
        How much two training rows that differ in a feature typically differ in it.
    on_counts : ndarray of int64, shape (n_hyperplanes,)
        On how many of 255 training rows each hyperplane is on. Like those before it from some rows alone.
    margin : float
        How far every other row may move, by construction.
    n_rejected : int
        Candidates that could not become detectors, because their limit was not positive.
    n_drawn : int
        Hyperplanes drawn at random.
    n_fallback_cuts : int
        Coordinate cuts (with a margin: bisectors of open pairs) added after the draws had stalled.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> trace = adaptive_width(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), random_state=0).trace
    >>> trace.anchors, trace.coverage, trace.n_fallback_cuts
    (array([1]), array([1]), 0)
    """

    anchors: Rows = field(default_factory=_no_rows)
    witnesses: Rows = field(default_factory=_no_rows)
    coverage: Rows = field(default_factory=_no_rows)
    detector_classes: Rows = field(default_factory=_no_rows)
    uncovered: Rows = field(default_factory=_no_rows)
    support: Rows = field(default_factory=_no_rows)
    dual_coef: Rows = field(default_factory=_no_rows)
    support_starts: Rows = field(default_factory=_no_rows)
    without_margin: Rows = field(default_factory=_no_rows)
    importances: NDArray[np.float32] = field(default_factory=_no_numbers)
    spreads: NDArray[np.float32] = field(default_factory=_no_numbers)
    on_counts: Rows = field(default_factory=_no_rows)
    margin: float = 0.0
    n_rejected: int = 0
    n_drawn: int = 0
    n_fallback_cuts: int = 0

    def __repr__(self) -> str:
        return (
            f"<Trace: {len(self.anchors):,} detectors, {len(self.uncovered):,} points uncovered, "
            f"{self.n_drawn:,} hyperplanes drawn, {self.n_fallback_cuts:,} fallback cuts>"
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

    def certificate(self, n_samples: int, digest: str, exact_in: Literal["float64", "float32"] | None) -> Certificate:
        """Return what the cover step's own numbers prove of all points but those given up."""
        # A threshold detector's limit is the count at its witness, so the smallest slack is 1/2. In a format: float64
        # errs less than float32, on points that float32 holds too.
        activation, digest_of_network = self.network.layers[0].activation or THRESHOLD, self.network.digest
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
            network_digest=digest_of_network,
            note=EVALUATED if activation.is_own else "",
            given_up=self.given_up,
            overruled=self.overruled,
            margin=self.trace.margin or None,
            narrow=self.trace.without_margin,
        )

    def __repr__(self) -> str:
        return f"<Construction: {self.outcome.value}, {self.network!r}, {self.trace!r}>"


def assemble(data: TrainingSet, planes: Hyperplanes, covers: list[Cover], n_fallback_cuts: int = 0) -> Construction:
    """Return the network that the covers make, and how it came about."""
    targets, classes, activation = data.targets, data.classes, data.options.s
    owners = np.repeat(np.asarray(targets, dtype=np.int64), [len(cover.anchors) for cover in covers])
    weights = [one for cover in covers for one in cover.weights or ()]
    bits = [cover.bits.words for cover in covers if cover.bits is not None]
    counters: Masks | WeightedMasks
    if bits:
        counters = Masks(BitMatrix(np.concatenate(bits, axis=1), planes.count).complement(), -1)
    else:
        counters = WeightedMasks(np.array(weights, dtype=np.int8).reshape(len(weights), planes.count), -1)
    limits = [limit for cover in covers for limit in cover.limits]
    every, one_sided = tuple(classes.tolist()), len(targets) == 1
    network = DetectorNetwork(
        hyperplanes=planes.layer_weights,
        biases=planes.biases,
        activation=activation,
        counters=counters,
        limits=np.array(limits, dtype=np.int64 if activation.is_threshold else np.float64),
        outputs=np.zeros_like(owners) if one_sided else owners,
        # One output says "target" with a minus sign, or every class has an output of its own.
        decoder=Decoder("sign", (every[targets[0]], every[1 - targets[0]])) if one_sided else Decoder("one_hot", every),
    )

    def rows(columns: list[Any]) -> Rows:
        return data.order.rows[np.concatenate([*columns, np.empty(0, dtype=np.intp)]).astype(np.intp)].astype(np.int64)

    supports = [one for cover in covers for one in cover.supports or ()]
    uncovered = np.sort(rows([cover.uncovered for cover in covers]))
    trace = Trace(
        anchors=rows([cover.anchors for cover in covers]),
        witnesses=rows([cover.witnesses for cover in covers]),
        coverage=np.array([one for cover in covers for one in cover.coverage], dtype=np.int64),
        detector_classes=classes[owners],
        uncovered=uncovered,
        support=rows([one.columns for one in supports]),
        dual_coef=np.concatenate([*(one.dual_coef for one in supports), _no_rows()]),
        # As the rows of a CSR matrix; nothing for masks.
        support_starts=np.cumsum([0, *(len(one.columns) for one in supports)])[: len(supports) and None],
        n_rejected=sum(cover.n_rejected for cover in covers),
        n_drawn=planes.count - n_fallback_cuts,
        n_fallback_cuts=n_fallback_cuts,
    )
    return Construction(network, Outcome.POINTS_MISSED if len(uncovered) else Outcome.INTERPOLATES, trace)
