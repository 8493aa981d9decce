"""What every construction returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..network import Network
from ..outcome import Outcome

Rows = NDArray[np.int64]


def _no_rows() -> Rows:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Trace:
    """How the network came about; row numbers are rows of the training data.

    Attributes
    ----------
    anchors : ndarray of int64, shape (n_detectors,)
        The row that each detector is built on.
    witnesses : ndarray of int64, shape (n_detectors,)
        The row of another class that set each detector's limit (of several, the first by
        class, then by row).
    coverage : ndarray of int64, shape (n_detectors,)
        How many points of its class each detector claimed first.
    detector_classes : ndarray of int64, shape (n_detectors,)
        The class index that each detector speaks for.
    uncovered : ndarray of int64
        Rows that no detector of their class claims.
    n_rejected : int
        Candidates that could not become detectors, because their limit was not positive.
    n_drawn : int
        Hyperplanes drawn at random.
    n_rescued : int
        Coordinate cuts added after the draws had stalled.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> trace = adaptive_width(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), rng=0).trace
    >>> trace.anchors, trace.coverage, trace.n_rescued
    (array([1]), array([1]), 0)
    """

    anchors: Rows = field(default_factory=_no_rows)
    witnesses: Rows = field(default_factory=_no_rows)
    coverage: Rows = field(default_factory=_no_rows)
    detector_classes: Rows = field(default_factory=_no_rows)
    uncovered: Rows = field(default_factory=_no_rows)
    n_rejected: int = 0
    n_drawn: int = 0
    n_rescued: int = 0


@dataclass(frozen=True, eq=False)
class Construction:
    """A network, how its construction ended, and how it came about.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> made = adaptive_width(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), rng=0)
    >>> made.outcome.interpolates, made.network.decide(np.array([[0.0], [1.0], [2.0]]))
    (True, array([0, 1, 0]))
    """

    network: Network
    outcome: Outcome
    trace: Trace
