"""Labelled points that come in batches, more than once and always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import as_labels, as_matrix, class_indices, finite_points
from ..exceptions import DataError, ParameterError
from ..network.sides import dense_rows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Labels = NDArray[Any] | None
Batches = Iterable[tuple[Any, Any]] | Callable[[], Iterable[tuple[Any, Any]]]

TILE_ROWS = 2048


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
        matrix = as_matrix(X, "a batch")
        labels = as_labels(y, matrix.shape[0])
        if matrix.shape[1] != self.n_features:
            raise DataError(f"a batch must have {self.n_features} features, got shape {tuple(matrix.shape)}")
        codes = class_indices(labels, None if self.labels is None else self.labels.tolist())
        unknown = np.flatnonzero(~np.isin(codes, self.classes))
        if len(unknown):
            row, what = unknown[0], "class codes" if self.labels is None else "labels"
            raise DataError(f"a batch has {what} that the network does not know: {labels[row]} in row {row}")
        return finite_points(matrix, "a batch"), codes

    def named(self, codes: Codes) -> NDArray[Any]:
        """What the codes stand for."""
        return codes if self.labels is None else self.labels[codes]


def tiles(X: Any, codes: Codes) -> Iterator[tuple[int, Floats, Codes]]:
    """Rows as float64, a tile at a time, with the number of the first."""
    for start in range(0, len(codes), TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        yield start, dense_rows(X, rows), codes[rows]
