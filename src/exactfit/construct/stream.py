"""Labelled points that come in batches, and how high they stand over the detectors of a finished network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import highest_sums, lowest_counts, lowest_sums
from .._support.threads import SERIAL
from ..data import as_labels, as_points, class_indices
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network.activations import Activation
from ..network.bits import BitMatrix
from ..network.detector_network import DetectorNetwork
from ..network.sides import sides
from ..network.weights import weigh_words
from .hyperplanes import Hyperplanes
from .values import Values

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Labels = NDArray[Any] | None
Batches = Iterable[tuple[Any, Any]] | Callable[[], Iterable[tuple[Any, Any]]]

TILE_ROWS = 2048  # points whose counts over all detectors are held at a time


class Stream:
    """Batches of points and class codes that can be gone through again.

    Parameters
    ----------
    batches : iterable of (X, y), or function that returns one
    training : tuple (X, y), optional
        Comes first.
    n_features : int
    classes : tuple of int
        The codes there may be.
    labels : ndarray, optional
        What each code stands for, if the batches hold labels.
    """

    def __init__(
        self, batches: Batches, training: Any, n_features: int, classes: tuple[int, ...], labels: Labels = None
    ) -> None:
        if not callable(batches) and iter(batches) is batches:
            raise ParameterError(
                "batches are gone through twice, and this iterator ends after the first time: "
                "pass a list, or a function that returns a new iterator"
            )
        self.batches, self.training, self.n_features = batches, training, n_features
        self.classes, self.labels = classes, labels

    def __iter__(self) -> Iterator[tuple[Any, Codes]]:
        if self.training is not None:
            yield self._checked(self.training)
        for batch in self.batches() if callable(self.batches) else self.batches:
            yield self._checked(batch)

    def _checked(self, batch: Any) -> tuple[Any, Codes]:
        try:
            X, y = batch
        except (TypeError, ValueError) as error:
            raise DataError(f"a batch must be a pair (X, y): {error}") from error
        points = as_points(X, "a batch", self.n_features, or_none=True)
        labels = as_labels(y, points.shape[0])
        codes = class_indices(labels, None if self.labels is None else self.labels.tolist())
        unknown = np.flatnonzero(~np.isin(codes, self.classes))
        if len(unknown):
            row, what = unknown[0], "class codes" if self.labels is None else "labels"
            raise DataError(f"a batch has {what} that the network does not know: {labels[row]} in row {row}")
        return points, codes

    def named(self, codes: Codes) -> NDArray[Any]:
        """What the codes stand for."""
        return codes if self.labels is None else self.labels[codes]


def tiles(X: Any, codes: Codes) -> Iterator[tuple[int, Floats, Codes]]:
    """Rows as float64, a tile at a time, with the number of the first."""
    for rows in row_tiles(X, TILE_ROWS):
        yield rows.start, dense_rows(X, rows), codes[rows]


Rows = NDArray[np.int64]


class Measure(Protocol):
    """How high points stand over masks or weights, in bits or in values."""

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        """The limits, lowered to what the points have at least, and the first point that did so (-1 for none)."""
        ...

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        """Which detectors claim which points for certain, shape (detectors, points)."""
        ...


@dataclass(frozen=True, eq=False)
class _Bits:
    planes: Hyperplanes

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        words = sides(points, self.planes.weights, self.planes.biases).words
        lowest_counts(words, 0, len(points), counters, lows, where)
        return lows, where

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        words = sides(points, self.planes.weights, self.planes.biases).words
        counts = np.empty((len(counters), len(points)), dtype=np.int64)
        count_all(words, 0, len(points), counters, 0, counts)
        return np.asarray(counts < limits[:, None])


@dataclass(frozen=True, eq=False)
class _Weights:
    planes: Hyperplanes

    def _counts(self, points: Floats, weights: NDArray[Any]) -> Rows:
        words = sides(points, self.planes.weights, self.planes.biases).words
        return np.array([weigh_words(words, row) for row in weights], dtype=np.int64).reshape(len(weights), len(points))

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        counts = self._counts(points, counters)
        where = counts.argmin(axis=1)
        lows = counts[np.arange(len(counts)), where]
        return np.minimum(lows, limits), np.where(lows < limits, where, -1)

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(self._counts(points, counters) < limits[:, None])


class _Numbers:
    def __init__(self, planes: Hyperplanes, activation: Activation) -> None:
        d = planes.weights.shape[1]
        nothing = BitMatrix.from_bool(np.empty((0, planes.count), dtype=bool))
        self.evidence = Values(np.empty((0, d)), np.arange(0), planes, nothing, activation, SERIAL)

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        values, errors = self.evidence.values(points), self.evidence.errors(points)
        lowest_sums(values, errors, self.evidence.share, counters, 0, lows, where)
        return lows, where

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        highs = np.empty((len(counters), len(points)))
        values, errors = self.evidence.values(points), self.evidence.errors(points)
        highest_sums(values, errors, self.evidence.share, counters, highs)
        return np.asarray(highs < limits[:, None])


def measure_of(detectors: DetectorNetwork) -> Measure:
    """Counts for the threshold, values for everything else."""
    planes = Hyperplanes(detectors.normals, detectors.biases)
    if detectors.are_weighted:
        return _Weights(planes)
    return _Bits(planes) if detectors.activation.is_threshold else _Numbers(planes, detectors.activation)
