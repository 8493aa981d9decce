"""Labels of every kind as class codes, beside their points."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, ParameterError
from .digest import as_labels, data_digest, without_mask
from .matrices import Matrix, Rows, as_points, copied, is_mapped, validated

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Points with their labels: what every construction and every measurement starts from.

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
        """Points that have passed the gate, with labels that may not have."""
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("y has NaN or infinity among its labels")
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        if len(classes) < 2:
            raise DataError(f"y holds only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
        return cls(points, labels, codes.reshape(-1).astype(np.int64), classes)

    @classmethod
    def of_codes(cls, X: Any, y: Any) -> Labelled:
        """Check points, and labels that are class codes 0..K-1 already."""
        points, codes = as_points(X), np.asarray(y)
        if codes.shape != (points.shape[0],):
            raise DataError(
                f"y must hold one class code for each of the {points.shape[0]} rows of X, got shape {codes.shape}"
            )
        if codes.dtype.kind not in "iu" or codes.min() < 0:
            raise DataError("y must hold class codes 0, 1, 2, ...")
        sizes = np.bincount(codes)
        if len(sizes) < 2 or not sizes.all():
            raise DataError("y must hold at least two classes, with codes 0..K-1 all in use")
        return cls(points, codes, codes.astype(np.int64), np.arange(len(sizes)))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> Labelled:
        """Some rows; classes stay, though some may have no point left."""
        X = copied(self.X, self.X.dtype, rows) if is_mapped(self.X) else self.X[rows]
        return replace(self, X=X, y=self.y[rows], codes=self.codes[rows])

    def targets(self, target: Any, *, one_of_many: bool = False) -> tuple[int, ...]:
        """Codes of the classes that get detectors: one of two (by default the rarer, the last on a tie), else all.

        With ``one_of_many`` a single class may be named whatever their number.
        """
        return choose_targets(self.codes, target, self.classes, one_of_many=one_of_many)

    def digest(self) -> str:
        """See :func:`data_digest`."""
        return data_digest(self.X, self.y)


def choose_targets(
    codes: Codes, target: Any, classes: NDArray[Any] | None = None, *, one_of_many: bool = False
) -> tuple[int, ...]:
    """As :meth:`Labelled.targets`; without classes, labels are codes 0..K-1 with a point each."""
    labels = np.arange(int(codes.max()) + 1) if classes is None else classes
    sizes = np.bincount(codes, minlength=len(labels))
    code = target_code(target, labels, one_of_many=one_of_many)
    if code == "all" or (code is None and len(sizes) > 2):
        return tuple(range(len(sizes)))
    if code is None:
        return (0,) if sizes[0] < sizes[1] else (1,)
    return (int(code),)


def target_code(target: Any, classes: NDArray[Any], *, one_of_many: bool = False) -> Any:
    """The class code of a target label; None and "all" as they are."""
    if target is None or (isinstance(target, str) and target == "all"):
        return target
    if len(classes) > 2 and not one_of_many:
        raise ParameterError(f"target={target!r} needs a problem of two classes, this one has {len(classes)}")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    if not isinstance(target, Hashable) or target not in codes:
        raise ParameterError(f"target must be one of {classes.tolist()}, 'all' or None, got {target!r}")
    return codes[target]


def class_indices(labels: NDArray[Any], classes: Sequence[Any] | None) -> Codes:
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


def labelled_for(estimator: Any, X: Any, y: Any) -> Labelled:
    """Points and labels for an estimator's ``fit``, whose feature names scikit-learn checks."""
    from sklearn.utils.multiclass import check_classification_targets

    points, labels = validated(estimator, X, y=without_mask(y))
    try:
        check_classification_targets(labels)
    except TypeError as error:
        raise DataError(f"y must hold labels of one kind: {error}") from error
    return Labelled.checked(points, labels)
