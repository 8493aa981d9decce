"""Points and labels as the geometry takes them: checked once, then a matrix and class codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.rows import hash_rows
from .._support.progress import Progress, progress_bar, silent
from .._support.threads import Threads
from ..exceptions import DataError, ParameterError
from ..network.sides import dense_rows, row_tiles

Matrix = Any
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

EXACT_INTEGERS = 2**53


@dataclass(frozen=True, eq=False)
class Work:
    """Who does the work, and who hears of it."""

    threads: Threads
    progress: Progress = silent


@contextmanager
def at_work(n_jobs: int | None, verbose: bool) -> Iterator[Work]:
    """Threads and a progress bar for the length of one computation."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ParameterError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    with progress_bar(bool(verbose)) as progress, Threads(n_jobs) as threads:
        yield Work(threads, progress)


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Points as a float32 or float64 array or CSR matrix; refuse what is not a table of finite numbers."""
    if sp.issparse(X):
        matrix = X.tocsr()
        _refuse_inexact(matrix.data, name)
        matrix = matrix.astype(_float_type(matrix.dtype, name), copy=False)
    else:
        matrix = _as_array(X, name)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise DataError(f"{name} must have at least one row and one column, got shape {tuple(matrix.shape)}")
    for tile in row_tiles(matrix):
        finite = np.isfinite(dense_rows(matrix, tile)).all(axis=1)
        if not finite.all():
            raise DataError(f"{name} has NaN or infinity in row {tile.start + int(np.argmin(finite))}")
    return matrix


def _as_array(X: Any, name: str) -> NDArray[Any]:
    try:
        values = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        _refuse_inexact(values, name)
        return np.ascontiguousarray(values, dtype=_float_type(values.dtype, name))
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers only: {error}") from error


def _float_type(dtype: Any, name: str) -> Any:
    if dtype.kind not in "fiubO":
        raise DataError(f"{name} must hold real numbers, got {dtype}")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise DataError(f"{name} holds {dtype} numbers, which float64 cannot hold exactly: convert them first")
    return np.float32 if dtype == np.float32 else np.float64


def _refuse_inexact(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    if int(values.max()) > EXACT_INTEGERS or int(values.min()) < -EXACT_INTEGERS:
        raise DataError(f"{name} holds integers beyond 2**53, which float64 cannot hold exactly: scale them down")


@dataclass(frozen=True, eq=False)
class Problem:
    """Points, class codes 0..K-1, and the labels behind the codes."""

    X: Matrix
    codes: Codes
    classes: NDArray[Any]

    @classmethod
    def of(cls, X: Any, y: Any) -> Problem:
        """Check points and labels."""
        matrix = as_matrix(X)
        labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if labels.shape != (matrix.shape[0],):
            raise DataError(f"y must hold one label for each of the {matrix.shape[0]} rows of X, got {labels.shape}")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("y has NaN or infinity among its labels")
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise DataError(f"y must hold labels of one kind: {error}") from error
        if len(classes) < 2:
            raise DataError(f"y holds only one class, {classes[0]!r}: there is nothing to tell apart")
        return cls(matrix, codes.reshape(-1).astype(np.int64), classes)

    def targets(self, target: Any) -> tuple[int, ...]:
        """Codes of the classes to look at: of two the rarer one (the last on a tie), of several all of them."""
        sizes = np.bincount(self.codes)
        if isinstance(target, str) and target == "all":
            return tuple(range(len(sizes)))
        if target is None:
            return tuple(range(len(sizes))) if len(sizes) > 2 else ((0,) if sizes[0] < sizes[1] else (1,))
        matches = [code for code, label in enumerate(self.classes.tolist()) if label == target]
        if not matches:
            raise ParameterError(f"target must be one of {self.classes.tolist()}, 'all' or None, got {target!r}")
        return (matches[0],)


def distinct_rows(X: Matrix, codes: Codes) -> tuple[Rows, Rows]:
    """First rows of equal points of one class, and for every row the place of its first in them.

    Rows are hashed and compared; two different rows of one hash count as distinct, and so
    do, harmlessly, further copies of the second.
    """
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for tile in row_tiles(X):
        hash_rows(dense_rows(X, tile), hashes[tile])
    order = np.lexsort((codes, hashes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]) | (codes[order[1:]] != codes[order[:-1]])
    firsts = np.empty(len(order), dtype=np.int64)
    firsts[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    repeated = np.flatnonzero(firsts != np.arange(len(firsts)))
    for start in range(0, len(repeated), 4096):
        rows = repeated[start : start + 4096]
        same = (dense_rows(X, rows) == dense_rows(X, firsts[rows])).all(axis=1)
        firsts[rows[~same]] = rows[~same]
    return np.unique(firsts, return_inverse=True)


def check_number(name: str, value: Any, *, above: float = -np.inf, at_most: float = np.inf) -> float:
    """A finite number in range, or a clear error."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number) or not above < number <= at_most:
        upper = f" and <= {at_most}" if np.isfinite(at_most) else ""
        lower = f" > {above}" if np.isfinite(above) else ""
        raise ParameterError(f"{name} must be a finite number{lower}{upper}, got {value!r}")
    return number
