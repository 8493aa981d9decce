"""What every detector says about points, tile by tile: which fire, and which came closest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.values import masked_sums
from .._support.threads import Threads
from ..network import Dense, Masks, Network
from ..network.sides import dense_rows, sides
from .slack import LOWEST

Matrix = Any
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

TILE_ENTRIES = 2**22
LARGEST_TILE = 512
NEAREST = 3
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Evidence:
    """Detectors by number, and their relative slack (see ``class_slack``) at each point.

    Attributes
    ----------
    best, clearest : ndarray, shape (n_points, n_outputs)
        Largest slack of every output's detectors and the first detector that has it, NOBODY without any.
    starts : ndarray, shape (n_points + 1,)
        Where each point's part of ``fired`` begins.
    fired, slack : ndarray
        The detectors that fire, the clearest first, and their slack.
    nearest, nearest_slack : ndarray, shape (n_points, NEAREST)
        The detectors that came closest to firing where none does, else NOBODY.
    """

    best: Floats
    clearest: Places
    starts: Places
    fired: Places
    slack: Floats
    nearest: Places
    nearest_slack: Floats

    @classmethod
    def of(cls, network: Network, X: Matrix, n_jobs: int | None = None) -> Evidence:
        """Everything about all points of X (dense or CSR); the same for any number of threads."""
        n, n_detectors = X.shape[0], network.widths[1]
        step = max(1, min(LARGEST_TILE, TILE_ENTRIES // max(n_detectors, 1)))
        tiles = [slice(low, min(low + step, n)) for low in range(0, n, step)]
        measure, owners = _measure(network), _owners(network)

        def work(tile: slice) -> Evidence:
            return _judge(measure(dense_rows(X, tile)), owners, network.widths[-1])

        with Threads(n_jobs) as threads:
            return _joined([_judge(np.empty((n_detectors, 0)), owners, network.widths[-1]), *threads.map(work, tiles)])


def _owners(network: Network) -> Places:
    """The output that each detector speaks for."""
    output = network.layers[2].weights
    assert isinstance(output, Masks)
    return np.asarray(output.bits.to_bool().argmax(axis=0), dtype=np.int64)


def _measure(network: Network) -> Callable[[Floats], Floats]:
    """From points to the slack of every detector at each, shape (n_detectors, n_points)."""
    first, detectors, _ = network.layers
    assert isinstance(first.weights, Dense)
    assert isinstance(detectors.weights, Masks)
    assert first.activation is not None
    masks = np.ascontiguousarray(detectors.weights.bits.words.T)
    weights, bias, activation = first.weights.values, first.bias, first.activation
    limits = detectors.bias.astype(np.float64)[:, None]

    def counted(points: Floats) -> Floats:
        counts = np.empty((len(masks), len(points)), dtype=np.int32)
        count_all(sides(points, weights, bias).words, 0, len(points), masks, 0, counts)
        return np.asarray((limits - 0.5 - counts) / limits)

    def summed(points: Floats) -> Floats:
        sums = np.empty((len(masks), len(points)))
        masked_sums(np.ascontiguousarray(activation(first.sums(points)).T), masks, sums)
        slack = (limits - sums) / limits
        return np.where(slack == 0.0, -5e-324, slack)  # a detector at its limit does not fire

    return counted if activation.is_threshold else summed


def _judge(slack: Floats, owners: Places, n_outputs: int) -> Evidence:
    n = slack.shape[1]
    best, clearest = np.full((n, n_outputs), LOWEST), np.full((n, n_outputs), NOBODY)
    for k in range(n_outputs):
        own = np.flatnonzero(owners == k)
        if len(own):
            places = slack[own].argmax(axis=0)
            clearest[:, k] = own[places]
            best[:, k] = slack[clearest[:, k], np.arange(n)]
    points, fired = np.nonzero(slack.T > 0)
    order = np.lexsort((fired, -slack[fired, points], points))
    points, fired = points[order], fired[order].astype(np.int64)
    starts = np.searchsorted(points, np.arange(n + 1)).astype(np.int64)
    nearest, nearest_slack = _nearest(slack, np.diff(starts) == 0)
    return Evidence(best, clearest, starts, fired, slack[fired, points], nearest, nearest_slack)


def _nearest(slack: Floats, silent: NDArray[np.bool_]) -> tuple[Places, Floats]:
    """The detectors with the largest slack at points where none fires; the first of equals."""
    nearest, found = np.full((len(silent), NEAREST), NOBODY), np.full((len(silent), NEAREST), LOWEST)
    left, at = slack[:, silent], np.arange(np.count_nonzero(silent))
    for place in range(min(NEAREST, len(slack))):
        best = left.argmax(axis=0)
        nearest[silent, place], found[silent, place] = best, left[best, at]
        left[best, at] = -np.inf
    return nearest, found


def _joined(parts: list[Evidence]) -> Evidence:
    """Tiles in order, as one."""
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    names = ("best", "clearest", "fired", "slack", "nearest", "nearest_slack")
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Evidence(starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), **arrays)
