"""A fingerprint of labelled data, the same for every way of holding the same numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError
from .matrices import Floats, Points

# Labels are hashed so many at a time, as text.
LABEL_TILE = 2**16


def without_mask(y: Any) -> Any:
    """Labels of pandas' nullable types as NumPy's, where scikit-learn would make floats of them."""
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y.to_numpy(dtype=dtype) if isinstance(dtype, np.dtype) else y


def as_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Labels as a one-dimensional array, one for each point."""
    labels = np.asarray(without_mask(y))
    if labels.shape != (n_samples,):
        raise DataError(f"y must hold one label for each of the {n_samples} rows of X, got shape {labels.shape}")
    return labels


class Digest:
    """SHA-256 of points and labels, tile by tile.

    Parameters
    ----------
    shape : tuple of int, optional
        Of all points; without it, a fingerprint to tell two passes apart.
    """

    def __init__(self, shape: tuple[int, int] | None = None) -> None:
        self._rows = hashlib.sha256(b"" if shape is None else json.dumps({"shape": shape}).encode())
        self._lengths, self._text = hashlib.sha256(), hashlib.sha256()

    def add_points(self, tile: Floats) -> None:
        """The next rows; -0.0 counts as 0.0."""
        if tile.size:
            self._rows.update((tile + 0.0).astype("<f8", copy=False).data)

    def add_labels(self, labels: NDArray[Any]) -> None:
        """The next labels, as text."""
        for start in range(0, len(labels), LABEL_TILE):
            names = list(map(str, labels[start : start + LABEL_TILE].tolist()))
            self._lengths.update(np.fromiter(map(len, names), dtype="<i8", count=len(names)).tobytes())
            self._text.update("".join(names).encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        """Of all that was added."""
        hasher = self._rows.copy()
        hasher.update(self._lengths.digest())
        hasher.update(self._text.digest())
        return hasher.hexdigest()


def data_digest(X: Any, y: Any) -> str:
    """SHA-256 of points and labels.

    Points count as float64 numbers, row by row, with -0.0 as 0.0; labels as strings.
    So the digest is the same for float32, float64, sparse and frame input that holds
    the same numbers, whatever its layout. Needs memory for a tile of rows only.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels

    Returns
    -------
    str
        64 hexadecimal digits: SHA-256 over the shape as JSON, the rows as little-endian
        float64, the SHA-256 of the labels' lengths (little-endian int64) and the SHA-256
        of their characters (UTF-8).

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data import data_digest
    >>> X, y = np.array([[0.5, -0.0], [1.0, 2.0]]), np.array([0, 1])
    >>> data_digest(X, y)[:16]
    '97de1396ecc79aac'
    >>> data_digest(X.astype(np.float32), [0, 1]) == data_digest(X, y)
    True
    """
    points = Points.of(X)
    digest = Digest(points.shape)
    for piece in points.ranges():
        digest.add_points(points.tile(*piece))
    digest.add_labels(as_labels(y, points.shape[0]))
    return digest.hexdigest()
