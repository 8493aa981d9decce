"""Points and labels as given, read tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..exceptions import DataError
from ..network.sides import dense_rows

Floats = NDArray[np.float64]

ROW_TILE = 1024


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of an array, a sparse matrix or a frame, as float64; rounded to float32 first if that is the format."""

    source: Any
    format: str | None = None

    @classmethod
    def of(cls, X: Any) -> Points:
        """Points of anything that has rows and columns of numbers."""
        if isinstance(X, Points):
            return X
        if sp.issparse(X):
            X = X.tocsr()
        elif not _is_frame(X):
            X = np.asarray(X)
        if not _is_frame(X) and X.dtype.kind == "c":
            raise DataError("X must hold real numbers, got complex ones")
        if len(X.shape) != 2:
            raise DataError(f"X must have rows and columns, got shape {tuple(X.shape)}")
        return cls(X)

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return int(self.source.shape[0]), int(self.source.shape[1])

    def take(self, rows: NDArray[np.int64]) -> Points:
        """The points of some rows."""
        by_place = self.source.iloc if hasattr(self.source, "iloc") else self.source
        return replace(self, source=by_place[rows])

    def tile(self, start: int, stop: int) -> Floats:
        """Some rows, in C order."""
        rows, source = slice(start, stop), self.source
        if _is_frame(source):
            source = (source.iloc[rows] if hasattr(source, "iloc") else source[rows]).to_numpy()
            rows = slice(None)
        try:
            tile = dense_rows(source, rows)
            with np.errstate(over="ignore"):
                return tile.astype(np.float32).astype(np.float64) if self.format == "float32" else tile
        except (TypeError, ValueError) as error:
            raise DataError(f"X must hold numbers only: {error}") from error

    def finite_tile(self, start: int, stop: int) -> Floats:
        """As :meth:`tile`; refuses NaN and infinity."""
        tile = self.tile(start, stop)
        if not np.isfinite(tile).all():
            row = start + int(np.argmin(np.isfinite(tile).all(axis=1)))
            raise DataError(f"X has NaN or infinity in row {row}")
        return tile

    def ranges(self, size: int = ROW_TILE) -> Iterator[tuple[int, int]]:
        """All rows, as ranges of at most ``size``."""
        for start in range(0, self.shape[0], size):
            yield start, min(start + size, self.shape[0])


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def as_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Labels as a one-dimensional array, one for each point."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"y must have one dimension, got shape {labels.shape}")
    if len(labels) != n_samples:
        raise DataError(f"y has {len(labels)} labels for {n_samples} points")
    return labels


def class_indices(labels: NDArray[Any], classes: Sequence[Any] | None) -> NDArray[np.int64]:
    """Index of every label in ``classes``, -1 where it is none of them; without classes, labels are indices."""
    if classes is None:
        if labels.size and labels.dtype.kind not in "iu":
            raise DataError(f"y must hold class indices (whole numbers) for a network, got {labels.dtype}")
        return labels.astype(np.int64)
    index = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    if labels.dtype == object:
        return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    found, inverse = np.unique(labels, return_inverse=True)
    codes = np.array([index.get(label, -1) for label in found.tolist()], dtype=np.int64)
    return np.asarray(codes[inverse.reshape(-1)], dtype=np.int64)
