"""A fingerprint of labelled data, the same for every way of holding the same numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.sha256 import sha256_rows
from ..exceptions import DataError
from .matrices import Floats, Points

# Labels are hashed so many at a time, as text.
LABEL_TILE = 2**16
DIGEST_BYTES = 32  # of SHA-256
SHORT_BYTES = 1024  # of a row: up to here all rows of a tile in one call beat a call of hashlib for each


def without_mask(y: Any) -> Any:
    """Labels of pandas' nullable types as NumPy's, where scikit-learn would make floats of them."""
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y.to_numpy(dtype=dtype) if isinstance(dtype, np.dtype) else y


def as_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Labels as a one-dimensional array, one for each point."""
    wanted = f"y must hold one label for each of the {n_samples} rows of X"
    try:
        labels = np.asarray(without_mask(y))
    except ValueError:
        raise DataError(f"{wanted}, got sequences of different lengths") from None
    if labels.shape != (n_samples,):
        raise DataError(f"{wanted}, got shape {labels.shape}")
    return labels


def row_digests(tile: Floats, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """SHA-256 of every row: its numbers as little-endian float64, -0.0 as 0.0, then its label as text (UTF-8).

    Examples
    --------
    >>> import hashlib, struct
    >>> import numpy as np
    >>> from exactfit.data.digest import row_digests
    >>> found = row_digests(np.array([[0.5, 2.0]]), np.array(["a"]))
    >>> found[0].tobytes() == hashlib.sha256(struct.pack("<2d", 0.5, 2.0) + b"a").digest()
    True
    """
    points = (tile + 0.0).astype("<f8", copy=False).view(np.uint8).reshape(len(tile), 8 * tile.shape[1])
    names = [str(label).encode("utf-8", "surrogatepass") for label in labels.tolist()]
    lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
    out = np.empty((len(tile), DIGEST_BYTES), dtype=np.uint8)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        text = np.frombuffer(b"".join(names[row] for row in rows), dtype=np.uint8).reshape(len(rows), length)
        out[rows] = _digests(np.concatenate([points[rows], text], axis=1))
    return out


def _digests(messages: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """SHA-256 of every row of bytes."""
    count, size = messages.shape
    out = np.empty((count, DIGEST_BYTES), dtype=np.uint8)
    if size > SHORT_BYTES:
        for row, message in zip(out, messages, strict=True):
            row[:] = np.frombuffer(hashlib.sha256(message.data).digest(), dtype=np.uint8)
        return out
    # The standard's padding: one bit, zeros, and the length in bits.
    padded = np.zeros((count, -(-(size + 9) // 64) * 64), dtype=np.uint8)
    padded[:, :size], padded[:, size] = messages, 0x80
    padded[:, -8:] = np.frombuffer((8 * size).to_bytes(8, "big"), dtype=np.uint8)
    sha256_rows(padded, out)
    return out


class Digest:
    """SHA-256 over the digests of rows, in order; shards can compute those of their own rows.

    Parameters
    ----------
    shape : tuple of int, optional
        Of all points; without it, a fingerprint to tell two passes apart.
    """

    def __init__(self, shape: tuple[int, int] | None = None) -> None:
        self._hash = hashlib.sha256(_head(shape))

    def add(self, tile: Floats, labels: NDArray[Any]) -> None:
        """The next rows."""
        self.join(row_digests(tile, labels))

    def join(self, digests: NDArray[np.uint8]) -> None:
        """The digests of the next rows."""
        self._hash.update(np.ascontiguousarray(digests).data)

    def hexdigest(self) -> str:
        """Of all that was added."""
        return self._hash.hexdigest()


def _head(shape: tuple[int, int] | None) -> bytes:
    return b"" if shape is None else json.dumps({"shape": shape}).encode()


def data_digest(X: Any, y: Any, version: int = 2) -> str:
    """SHA-256 of points and labels.

    Points count as float64 numbers, row by row, with -0.0 as 0.0; labels as strings.
    So the digest is the same for float32, float64, sparse and frame input that holds
    the same numbers, whatever its layout. Needs memory for a tile of rows only.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    version : {2, 1}
        2: SHA-256 over the shape as JSON and the digest of every row, which is SHA-256 over its numbers as
        little-endian float64 and its label (UTF-8). 1, in files of earlier versions: SHA-256 over the shape as
        JSON, the rows, the SHA-256 of the labels' lengths (little-endian int64) and that of their characters.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data import data_digest
    >>> X, y = np.array([[0.5, -0.0], [1.0, 2.0]]), np.array([0, 1])
    >>> data_digest(X, y)[:16], data_digest(X, y, version=1)[:16]
    ('b624890c15a1dadb', '97de1396ecc79aac')
    >>> data_digest(X.astype(np.float32), [0, 1]) == data_digest(X, y)
    True
    """
    points = Points.of(X)
    labels = as_labels(y, points.shape[0])
    if version == 1:
        return _first_digest(points, labels)
    digest = Digest(points.shape)
    for low, high in points.ranges():
        digest.add(points.tile(low, high), labels[low:high])
    return digest.hexdigest()


def _first_digest(points: Points, labels: NDArray[Any]) -> str:
    """Version 1."""
    rows, lengths, text = hashlib.sha256(_head(points.shape)), hashlib.sha256(), hashlib.sha256()
    for piece in points.ranges():
        rows.update((points.tile(*piece) + 0.0).astype("<f8", copy=False).tobytes())
    for start in range(0, len(labels), LABEL_TILE):
        names = list(map(str, labels[start : start + LABEL_TILE].tolist()))
        lengths.update(np.fromiter(map(len, names), dtype="<i8", count=len(names)).tobytes())
        text.update("".join(names).encode("utf-8", "surrogatepass"))
    rows.update(lengths.digest())
    rows.update(text.digest())
    return rows.hexdigest()


def is_digest_of(digest: str, X: Any, y: Any) -> bool:
    """Whether a digest, of whichever version, is that of these data.

    Examples
    --------
    >>> from exactfit.data import data_digest, is_digest_of
    >>> all(is_digest_of(data_digest([[0.5]], [0], version), [[0.5]], [0]) for version in (1, 2))
    True
    """
    return any(data_digest(X, y, version) == digest for version in (2, 1))
