"""How the detectors of a network stand to points: which fire, which came closest, and how clearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Threads
from ..data.matrices import dense_rows
from .detector_network import LOWEST, DetectorNetwork
from .network import Network

Matrix = Any
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

TILE_ENTRIES = 2**22  # slacks held at a time by each thread: 32 MB
LARGEST_TILE = 512  # points to a piece of work, where detectors are few
NEAREST = 3  # detectors that are named where none fires
NO_DETECTOR = -1  # in place of a detector's number


@dataclass(frozen=True, eq=False)
class DetectorResponses:
    """Detectors by number, and their relative slack (see ``class_slack``) at each point.

    Attributes
    ----------
    best, clearest : ndarray, shape (n_points, n_outputs)
        Largest slack of every output's detectors and the first detector that has it, NO_DETECTOR without any.
    starts : ndarray, shape (n_points + 1,)
        Where each point's part of ``fired`` begins.
    fired, slack : ndarray
        The detectors that fire, the clearest first, and their slack.
    nearest, nearest_slack : ndarray, shape (n_points, NEAREST)
        The detectors that came closest to firing where none does, else NO_DETECTOR.
    """

    best: Floats
    clearest: Rows
    starts: Rows
    fired: Rows
    slack: Floats
    nearest: Rows
    nearest_slack: Floats

    def __repr__(self) -> str:
        return f"<DetectorResponses: {len(self.best):,} points, {self.best.shape[1]} outputs>"

    @classmethod
    def of(cls, network: Network, X: Matrix, n_jobs: int | None = None) -> DetectorResponses:
        """Everything about all points of X (dense or CSR); the same for any number of threads."""
        n, detectors = X.shape[0], DetectorNetwork.of(network)
        step = max(1, min(LARGEST_TILE, TILE_ENTRIES // max(detectors.n_detectors, 1)))
        tiles = [slice(low, min(low + step, n)) for low in range(0, n, step)]
        with Threads(n_jobs) as threads:
            found = threads.map(lambda tile: _judge(detectors, dense_rows(X, tile)), tiles)
        return _joined([_judge(detectors, np.empty((0, X.shape[1]))), *found])


def _judge(detectors: DetectorNetwork, points: Floats) -> DetectorResponses:
    slack, n, n_outputs = detectors.slack(points), len(points), len(detectors.classes)
    best, clearest = np.full((n, n_outputs), LOWEST), np.full((n, n_outputs), NO_DETECTOR)
    for k in range(n_outputs):
        own = detectors.of_output(k)
        if len(own):
            places = slack[own].argmax(axis=0)
            clearest[:, k] = own[places]
            best[:, k] = slack[clearest[:, k], np.arange(n)]
    at, fired = np.nonzero(slack.T > 0)
    order = np.lexsort((fired, -slack[fired, at], at))
    at, fired = at[order], fired[order].astype(np.int64)
    starts = np.searchsorted(at, np.arange(n + 1)).astype(np.int64)
    nearest, nearest_slack = _nearest(slack, np.diff(starts) == 0)
    return DetectorResponses(best, clearest, starts, fired, slack[fired, at], nearest, nearest_slack)


def _nearest(slack: Floats, silent: NDArray[np.bool_]) -> tuple[Rows, Floats]:
    """The detectors with the largest slack at points where none fires; the first of equals."""
    nearest, found = np.full((len(silent), NEAREST), NO_DETECTOR), np.full((len(silent), NEAREST), LOWEST)
    left, at = slack[:, silent], np.arange(np.count_nonzero(silent))
    for place in range(min(NEAREST, len(slack))):
        best = left.argmax(axis=0)
        nearest[silent, place], found[silent, place] = best, left[best, at]
        left[best, at] = -np.inf
    return nearest, found


def _joined(parts: list[DetectorResponses]) -> DetectorResponses:
    """Tiles in order, as one."""
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    names = ("best", "clearest", "fired", "slack", "nearest", "nearest_slack")
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return DetectorResponses(starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), **arrays)
