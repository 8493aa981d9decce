"""Labels of every kind as class codes, beside their points; and a fingerprint of both, however they are held."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import shown
from ..exceptions import DataError, ParameterError
from .matrices import (
    Floats,
    Matrix,
    Points,
    Rows,
    as_points,
    copied,
    is_mapped,
    not_finite,
    not_real,
    refuse_masked,
    validated,
)

Codes = NDArray[np.int64]

LABEL_TILE = 2**16  # labels hashed at a time, as text
GAPS = ("NAType", "NaTType")  # types of pandas' missing values, which need not be installed
DIGEST_BYTES = 32  # of SHA-256


@dataclass(frozen=True, eq=False)
class Labelled:
    """Points with their labels: the input of every construction and every measurement.

    Attributes
    ----------
    X : ndarray or CSR matrix, shape (n_points, n_features)
    y : ndarray, shape (n_points,)
        Labels as given.
    codes : ndarray of int64, shape (n_points,)
        The position of each label in ``classes``.
    classes : ndarray
        The labels there are, sorted; at least two.
    """

    X: Matrix
    y: NDArray[Any]
    codes: Codes
    classes: NDArray[Any]

    @classmethod
    def of(cls, X: Any, y: Any) -> Labelled:
        """Check points and labels of any kind."""
        points = as_points(X)
        return cls.checked(points, as_labels(y, points.shape[0]))

    @classmethod
    def checked(cls, points: Matrix, labels: NDArray[Any]) -> Labelled:
        """Encode labels; they and the points are checked already."""
        try:
            classes = np.unique(labels)
            codes = np.searchsorted(classes, labels)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        refuse_one_class(classes)
        return cls(points, labels, codes.astype(np.int64, copy=False), classes)

    @classmethod
    def of_targets(cls, points: Matrix, labels: NDArray[Any]) -> Labelled:
        """Check that scikit-learn takes labels for classes too; points and labels are checked already."""
        from sklearn.utils.multiclass import check_classification_targets

        if labels.dtype.kind == "S":  # scikit-learn before 1.7 only warns
            raise DataError("y must hold labels of one kind: got bytes, decode them to text")
        try:
            check_classification_targets(labels)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        return cls.checked(points, labels)

    @classmethod
    def of_codes(cls, X: Any, y: Any) -> Labelled:
        """Check points, and labels that are class codes 0..K-1 already."""
        points = as_points(X)
        codes = as_labels(y, points.shape[0])
        if codes.dtype.kind not in "iu" or codes.min() < 0:
            raise DataError("y must hold class codes 0, 1, 2, ...")
        sizes = np.bincount(codes)
        refuse_one_class(np.flatnonzero(sizes))
        if not sizes.all():
            raise DataError("y must hold class codes 0..K-1, all in use: np.unique(y, return_inverse=True) makes such")
        return cls(points, codes, codes.astype(np.int64), np.arange(len(sizes)))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> Labelled:
        """Return some rows; classes stay, though some may have no point left."""
        # Rows of a file stay in a file: they may be larger than memory.
        X = copied(self.X, self.X.dtype, rows) if is_mapped(self.X) else self.X[rows]
        return replace(self, X=X, y=self.y[rows], codes=self.codes[rows])

    def targets(self, target: Any, *, one_of_many: bool = False) -> tuple[int, ...]:
        """See :func:`choose_targets`."""
        return choose_targets(self.codes, target, self.classes, one_of_many=one_of_many)

    def digest(self) -> str:
        """See :func:`data_digest`."""
        return _digest(Points(self.X), self.y)


def choose_targets(
    codes: Codes, target: Any, classes: NDArray[Any] | None = None, *, one_of_many: bool = False
) -> tuple[int, ...]:
    """Return codes of the classes that get detectors: one of two (by default the rarer, the last on a tie), else all.

    With ``one_of_many`` a single class may be named whatever their number. Without ``classes``, labels are their codes.
    """
    labels = np.arange(int(codes.max()) + 1) if classes is None else classes
    sizes = np.bincount(codes, minlength=len(labels))
    code = target_code(target, labels, one_of_many=one_of_many)
    if code == "all" or (code is None and len(sizes) > 2):
        return tuple(range(len(sizes)))
    if code is None:
        return (0,) if sizes[0] < sizes[1] else (1,)
    return (int(code),)


def target_code(target: Any, classes: NDArray[Any], *, one_of_many: bool = False) -> Any:
    """Return the class code of a target label; None and "all" as they are."""
    if target is None or (isinstance(target, str) and target == "all"):
        return target
    if len(classes) > 2 and not one_of_many:
        raise ParameterError(f"target={shown(target)} needs a problem of two classes, this one has {len(classes)}")
    # By hash, not by comparison: of an array, == would be an array.
    codes = {label: code for code, label in enumerate(classes.tolist())}
    if not isinstance(target, Hashable) or target not in codes:
        raise ParameterError(f"target must be one of {shown(classes.tolist())}, 'all' or None, got {shown(target)}")
    return codes[target]


def class_indices(labels: NDArray[Any], classes: Sequence[Any] | None) -> Codes:
    """Return the index of every label in ``classes``, -1 if it is none; without classes, labels are indices."""
    if classes is None:
        if labels.size and labels.dtype.kind not in "iu":
            raise DataError(f"y must hold class indices (integers) for a network, got {labels.dtype}")
        return labels.astype(np.int64)
    index = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    # Objects of several types cannot be sorted.
    if labels.dtype == object:
        return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    found, inverse = np.unique(labels, return_inverse=True)
    codes = np.array([index.get(label, -1) for label in found.tolist()], dtype=np.int64)
    return np.asarray(codes[inverse.reshape(-1)], dtype=np.int64)


def refuse_one_class(classes: NDArray[Any]) -> None:
    """Refuse labels of a single class."""
    if len(classes) < 2:
        raise DataError(f"y holds only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")


def labelled_for(estimator: Any, X: Any, y: Any) -> Labelled:
    """Return points and labels for an estimator's ``fit``, whose feature names scikit-learn checks."""
    return Labelled.of_targets(*validated_pair(estimator, X, y))


def validated_pair(estimator: Any, X: Any, y: Any) -> tuple[Matrix, NDArray[Any]]:
    """Return points and labels as ``fit`` takes them: a column of labels too, with scikit-learn's warning."""
    if y is None:  # in words that scikit-learn's checks look for
        raise DataError("fit requires y to be passed, but the target y is None")
    points = validated(estimator, X)
    return points, as_labels(y, points.shape[0], or_column=True)


def as_labels(y: Any, n_samples: int, *, or_column: bool = False) -> NDArray[Any]:
    """Return labels as a one-dimensional array, one for each point; refuse NaN and infinity."""
    wanted = f"y must hold one label for each of the {n_samples} rows of X"
    refuse_masked(y, "y")
    # Of pandas' nullable types scikit-learn would make floats.
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    try:
        is_nullable = isinstance(dtype, np.dtype) and not y.isna().any()
        labels = np.asarray(y.to_numpy(dtype=dtype) if is_nullable else y)
    except ValueError:
        raise DataError(f"{wanted}, got sequences of different lengths") from None
    # scikit-learn's own function, for the warning that its checks look for.
    if or_column and labels.shape == (n_samples, 1):
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(labels, warn=True)
    if labels.shape != (n_samples,):
        raise DataError(f"{wanted}, got shape {labels.shape}")
    if labels.dtype.kind == "c":
        raise not_real("y")
    missing = ~np.isfinite(labels) if labels.dtype.kind == "f" else np.zeros(n_samples, dtype=bool)
    if labels.dtype.kind == "O":
        missing[:] = [
            type(one).__name__ in GAPS or (isinstance(one, float) and not math.isfinite(one)) for one in labels
        ]
    if missing.any():
        raise not_finite(int(missing.argmax()), "y")
    return labels


def row_digests(tile: Floats, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the SHA-256 of every row: its numbers as little-endian float64, 0.0 for -0.0, then its label in UTF-8."""
    numbers = np.ascontiguousarray(tile + 0.0, dtype="<f8")
    distinct, places = labels, np.arange(len(labels))
    # Numbers and strings that are equal have one text. Floats and objects do not: 0.0 and -0.0 are equal.
    if labels.dtype.kind in "biuUS":
        distinct, places = np.unique(labels, return_inverse=True)
    texts = [str(label).encode("utf-8", "surrogatepass") for label in distinct.tolist()]
    size = 8 * tile.shape[1]
    rows = numbers.view(f"V{size}")[:, 0].tolist() if size else [b""] * len(tile)
    # A row is copied together with its label: a second call of hashlib would take longer than the copy.
    digests = [hashlib.sha256(row + texts[place]).digest() for row, place in zip(rows, places.tolist(), strict=True)]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(tile), DIGEST_BYTES)


def new_digest(shape: tuple[int, int] | None = None) -> Any:
    """Start the SHA-256 of all points, to be updated by the digests of rows in order; without a shape, of one pass."""
    return hashlib.sha256(b"" if shape is None else json.dumps({"shape": shape}).encode())


def data_digest(X: Any, y: Any, version: int = 2) -> str:
    """Return the SHA-256 of points and labels.

    Points count as float64 numbers, row by row, with -0.0 as 0.0; labels as strings.
    So the digest is the same for float32, float64, sparse and frame input that holds
    the same numbers, whatever its layout. Needs memory for a tile of rows only.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    version : {2, 1}
        2: SHA-256 over the shape as JSON and the digest of every row, which is SHA-256 over its numbers as
        little-endian float64 and its label (UTF-8). 1, of data sets in the lab: SHA-256 over the shape as
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
    return _first_digest(points, labels) if version == 1 else _digest(points, labels)


def _digest(points: Points, labels: NDArray[Any]) -> str:
    digest = new_digest(points.shape)
    for low, high in points.ranges():
        digest.update(row_digests(points.tile(low, high), labels[low:high]))
    return str(digest.hexdigest())


def _first_digest(points: Points, labels: NDArray[Any]) -> str:
    """Version 1."""
    rows, lengths, text = new_digest(points.shape), hashlib.sha256(), hashlib.sha256()
    for piece in points.ranges():
        rows.update((points.tile(*piece) + 0.0).astype("<f8", copy=False).tobytes())
    for start in range(0, len(labels), LABEL_TILE):
        names = list(map(str, labels[start : start + LABEL_TILE].tolist()))
        lengths.update(np.fromiter(map(len, names), dtype="<i8", count=len(names)).tobytes())
        text.update("".join(names).encode("utf-8", "surrogatepass"))
    rows.update(lengths.digest())
    rows.update(text.digest())
    return str(rows.hexdigest())
