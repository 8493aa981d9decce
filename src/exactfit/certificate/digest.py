"""A fingerprint of labelled data, the same for every way of holding the same numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import Points, as_labels

LABEL_TILE = 2**16


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
    >>> from exactfit.certificate import data_digest
    >>> X, y = np.array([[0.5, -0.0], [1.0, 2.0]]), np.array([0, 1])
    >>> data_digest(X, y)[:16]
    '97de1396ecc79aac'
    >>> data_digest(X.astype(np.float32), [0, 1]) == data_digest(X, y)
    True
    """
    points = Points.of(X)
    labels = as_labels(y, points.shape[0])
    hasher = hashlib.sha256(json.dumps({"shape": points.shape}).encode())
    for start, stop in points.ranges():
        tile = points.tile(start, stop) + 0.0
        hasher.update(tile.astype("<f8", copy=False).data if tile.size else b"")
    for digest in _label_digests(labels):
        hasher.update(digest)
    return hasher.hexdigest()


def _label_digests(labels: NDArray[Any]) -> tuple[bytes, bytes]:
    lengths, text = hashlib.sha256(), hashlib.sha256()
    for start in range(0, len(labels), LABEL_TILE):
        names = list(map(str, labels[start : start + LABEL_TILE].tolist()))
        lengths.update(np.fromiter(map(len, names), dtype="<i8", count=len(names)).tobytes())
        text.update("".join(names).encode("utf-8", "surrogatepass"))
    return lengths.digest(), text.digest()
