"""Labelled points that come in batches, more than once and always the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..certificate.rows import class_indices
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
        X = X.tocsr() if sp.issparse(X) else np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        if X.dtype.kind not in "fiubO":
            raise DataError(f"a batch must hold real numbers only, got {X.dtype}")
        codes = np.asarray(y) if self.labels is None else class_indices(np.asarray(y), self.labels.tolist())
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise DataError(f"a batch must have {self.n_features} features, got shape {tuple(X.shape)}")
        if codes.shape != (X.shape[0],) or (len(codes) and codes.dtype.kind not in "iu"):
            raise DataError(f"a batch must have one class code for each of its {X.shape[0]} rows")
        unknown = np.flatnonzero(~np.isin(codes, self.classes))
        if len(unknown):
            row, what = unknown[0], "class codes" if self.labels is None else "labels"
            raise DataError(f"a batch has {what} that the network does not know: {np.asarray(y)[row]} in row {row}")
        return X, codes.astype(np.int64)


def tiles(X: Any, codes: Codes) -> Iterator[tuple[int, Floats, Codes]]:
    """Rows as float64, a tile at a time, with the number of the first; refuses NaN and infinity."""
    for start in range(0, len(codes), TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        try:
            points = dense_rows(X, rows)
        except (TypeError, ValueError) as error:
            raise DataError(f"a batch must hold numbers only: {error}") from error
        if not np.isfinite(points).all():
            row = start + int(np.argmin(np.isfinite(points).all(axis=1)))
            raise DataError(f"a batch has NaN or infinity in row {row}")
        yield start, points, codes[rows]


class StreamDigest:
    """The digest that ``certificate.data_digest`` gives for all points at once, tile by tile.

    Parameters
    ----------
    labels : ndarray or None
        What each class code stands for.
    shape : tuple of int, optional
        Of all points; without it, a fingerprint to tell two passes apart.
    """

    def __init__(self, labels: Labels = None, shape: tuple[int, int] | None = None) -> None:
        self.labels = labels
        self.rows = hashlib.sha256(b"" if shape is None else json.dumps({"shape": shape}).encode())
        self.lengths, self.text = hashlib.sha256(), hashlib.sha256()

    def add(self, points: Floats, codes: Codes) -> None:
        """The next rows."""
        self.rows.update((points + 0.0).astype("<f8", copy=False).tobytes())
        names = list(map(str, (codes if self.labels is None else self.labels[codes]).tolist()))
        self.lengths.update(np.fromiter(map(len, names), dtype="<i8", count=len(names)).tobytes())
        self.text.update("".join(names).encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        """Of all that was added."""
        hasher = self.rows.copy()
        hasher.update(self.lengths.digest())
        hasher.update(self.text.digest())
        return hasher.hexdigest()
