"""What a user may hand to the estimator: options, labels, and numbers that float64 holds exactly."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .construct.recipe import check_whole
from .exceptions import DataError, ParameterError

Matrix = Any
EXACT_INTEGERS = 2**53


def check_width(width: Any) -> None:
    if isinstance(width, str) and width == "adaptive":
        return
    try:
        check_whole("width", width, at_least=1)
    except ParameterError:
        raise ParameterError(f"width must be 'adaptive' or a whole number >= 1, got {width!r}") from None


def check_random_state(random_state: Any) -> None:
    if random_state is None or isinstance(random_state, np.random.RandomState | np.random.Generator):
        return
    if not isinstance(random_state, numbers.Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ParameterError(
            f"random_state must be None, a whole number >= 0, a RandomState or a Generator, got {random_state!r}"
        )


def seed_of(random_state: Any) -> int | None:
    """One integer from whatever scikit-learn users pass as random_state; one draw from what can be drawn from."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return None if random_state is None else int(random_state)


def without_mask(y: Any) -> Any:
    """Labels of pandas' nullable types as NumPy's, where scikit-learn would make floats of them."""
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y.to_numpy(dtype=dtype) if isinstance(dtype, np.dtype) else y


def target_code(target: Any, classes: NDArray[Any]) -> Any:
    """The class code of a target label; None and "all" as they are."""
    if target is None or (isinstance(target, str) and target == "all"):
        return target
    if len(classes) > 2:
        raise ParameterError(f"target={target!r} needs a problem of two classes, this one has {len(classes)}")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    if not isinstance(target, Hashable) or target not in codes:
        raise ParameterError(f"target must be one of {classes.tolist()}, 'all' or None, got {target!r}")
    return codes[target]


def validated(estimator: Any, X: Matrix, **options: Any) -> Any:
    """scikit-learn's checks, and no integer is rounded on the way."""
    try:
        checked = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options)
    except OverflowError:
        refuse_inexact_integers(X, range(np.shape(X)[1]))
        raise
    if may_hold_large_integers(X):
        refuse_inexact_integers(X, large_columns(checked[0] if isinstance(checked, tuple) else checked))
    return checked


def may_hold_large_integers(given: Matrix) -> bool:
    """False for an array of floats, booleans or short integers; True for what has columns or elements of many types."""
    dtype = getattr(given, "dtype", None)
    return not isinstance(dtype, np.dtype) or dtype.kind == "O" or (dtype.kind in "iu" and dtype.itemsize >= 8)


def refuse_inexact_integers(given: Matrix, columns: Iterable[int]) -> None:
    """Integers beyond 2^53 would be rounded in float64: name their column."""
    for column in columns:
        name, values = _column(given, column)
        if _beyond(values):
            raise DataError(
                f"column {name!r} holds integers beyond 2**53, which float64 cannot hold exactly: "
                "scale it, or leave it out if it is an identifier"
            )


def large_columns(X: Matrix) -> Iterable[int]:
    """Columns with a number of 2^53 or more in size."""
    if sp.issparse(X):
        return map(int, np.unique(X.indices[np.abs(X.data) >= EXACT_INTEGERS]))
    return map(int, np.flatnonzero((X.max(axis=0) >= EXACT_INTEGERS) | (X.min(axis=0) <= -EXACT_INTEGERS)))


def _column(given: Matrix, column: int) -> tuple[Any, NDArray[Any]]:
    """Name and values, as they were given."""
    if sp.issparse(given):
        return column, given.tocsc()[:, [column]].toarray().ravel()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        values = given.iloc[:, column] if hasattr(given, "iloc") else given[:, column]
        return list(given.columns)[column], np.asarray(values)
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    return column, array[:, column]


def _beyond(values: NDArray[Any]) -> bool:
    """Whether there are integers beyond 2^53."""
    if values.dtype.kind in "iu":
        return bool(values.max() > EXACT_INTEGERS or values.min() < -EXACT_INTEGERS)
    if values.dtype.kind != "O":
        return False
    return any(isinstance(value, numbers.Integral) and abs(int(value)) > EXACT_INTEGERS for value in values)
