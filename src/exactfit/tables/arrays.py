"""Files and frames whose columns have types already: NPZ, Parquet, pandas and its kin."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, MissingDependencyError
from .cells import EXACT_INTEGERS, Cells, rounded
from .raw import Choice, Choose, Raw
from .table import Column, Kind, place

LABELS = "y"


def read_npz(path: Path, choose: Choose) -> Raw:
    """Arrays X and, where labels are asked for, y."""
    X, y = _load(path)
    names = tuple(str(k) for k in range(X.shape[1]))
    choice = choose(names if y is None else (*names, LABELS), False)
    columns = tuple(_typed(names[k], k, X[:, k], kind) for k, kind in sorted(choice.kinds.items()) if k < len(names))
    wanted = y if choice.target is not None else None
    labels, unlabelled = (None, None) if wanted is None else typed_labels(wanted, path.name)
    target = None if labels is None else LABELS
    return Raw(names, False, columns, len(X), None, target, labels, unlabelled)


def _load(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays.get(LABELS)
    except (AttributeError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path.name} must hold an array of numbers X and an array of labels y ({error})") from error
    _check_shapes(path.name, X, y)
    return X, y


def _check_shapes(name: str, X: NDArray[Any], y: NDArray[Any] | None) -> None:
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise DataError(f"{name}: X must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if y is not None and y.shape != (len(X),):
        raise DataError(f"{name}: there must be a label for each row of X, got shapes {X.shape} and {y.shape}")


def read_parquet(path: Path, choose: Choose) -> Raw:
    """A Parquet file, by way of pandas."""
    try:
        import pandas as pd
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path.name} needs pandas and pyarrow: pip install pandas pyarrow"
        ) from error
    try:
        with path.open("rb") as file:  # Python's own words for a file that is not there
            frame = pd.read_parquet(file)
    except pyarrow.ArrowException as error:
        raise DataError(f"{path.name} cannot be read as Parquet: {error}") from error
    return read_frame(frame, path.name, choose)


def read_frame(frame: Any, name: str, choose: Choose) -> Raw:
    """A pandas frame, or what can be made into one (polars, pyarrow)."""
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    names = tuple(str(column) for column in frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"{name} has columns of the same name: give each column its own")
    if not len(frame):
        raise DataError(f"{name} has no rows")
    choice = choose(names, True)
    columns = tuple(_from_series(frame.iloc[:, k], k, choice.kinds[k]) for k in sorted(choice.kinds))
    target, labels, unlabelled = _series_labels(frame, choice, names, name)
    return Raw(names, True, columns, len(frame), None, target, labels, unlabelled)


def _series_labels(frame: Any, choice: Choice, names: Sequence[str], name: str) -> tuple[Any, Any, Any]:
    if choice.target is None:
        return None, None, None
    series = frame.iloc[:, choice.target]
    empty = series.isna().to_numpy()
    filled = series[~empty].to_numpy()
    labels, _ = typed_labels(filled, name)
    spread = np.zeros(len(frame), dtype=labels.dtype)
    spread[~empty] = labels
    return names[choice.target], spread, empty


def typed_labels(y: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels as integers or text, and which are empty."""
    filled = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "b":
        return y.astype(str), filled
    if y.dtype.kind in "iu":
        return y.astype(np.int64), filled
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.rint(y)) & (np.abs(y) < EXACT_INTEGERS)
        if not (whole | np.isnan(y)).all():
            raise DataError(f"{name}: labels must be integers or text, got the number {y[~whole & ~np.isnan(y)][0]}")
        return np.where(whole, y, 0).astype(np.int64), np.isnan(y)
    if y.dtype.kind == "O" and all(type(label) is int for label in y):
        return y.astype(np.int64), filled
    return np.array([str(label) for label in y.tolist()], dtype=str), filled


def _from_series(series: Any, position: int, kind: Kind | None) -> Column:
    title = str(series.name)
    if series.dtype.kind in "iuf":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if series.dtype.kind in "iu":
            _refuse_rounded(title, series.dropna().to_numpy())
        return _typed(title, position, values, kind)
    empty = series.isna().to_numpy()
    cells = ["" if gap else str(cell) for gap, cell in zip(empty, series.tolist(), strict=True)]
    return _from_cells(title, position, cells, kind)


def _from_cells(title: str, position: int, cells: Sequence[str], kind: Kind | None) -> Column:
    gathered = Cells(title, position, kind, lambda row: place(row, None))
    gathered.add(cells)
    return gathered.column()


def _refuse_rounded(title: str, integers: NDArray[Any]) -> None:
    for integer in integers[np.abs(integers.astype(np.float64)) >= EXACT_INTEGERS].tolist():
        if int(float(integer)) != integer:
            raise rounded(title, str(integer))


def _typed(title: str, position: int, values: NDArray[Any], kind: Kind | None) -> Column:
    """A column of numbers; as categories if it is said to be one."""
    if values.dtype.kind in "iu":
        _refuse_rounded(title, values)
    numbers = np.asarray(values, dtype=np.float64)
    if kind != "categorical":
        return Column(title, position, numbers)
    texts = ["" if math.isnan(number) else _as_written(number) for number in numbers.tolist()]
    return _from_cells(title, position, texts, kind)


def _as_written(number: float) -> str:
    """A number as a text file would have it: whole numbers without a point."""
    return str(int(number)) if number.is_integer() else repr(number)
