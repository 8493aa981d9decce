"""``read_table``: from a file, a frame or standard input to a table."""

from __future__ import annotations

import difflib
import math
import os
import sys
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from .._kernels.rounding import EXACT_INTEGERS
from .._support.console import Progress, progress_bar
from .._support.parameters import check_choice
from .._support.processes import refuse_endless
from .._support.threads import usable_memory
from ..data import refuse_masked, refuse_misshapen
from ..exceptions import DataError, MissingDependencyError, ParameterError
from .columns import Cells, Writing, beyond_float64, missing_words, with_roles, without_gaps
from .table import MISSING, Choice, Choose, Column, Kind, Missing, Raw, Table, check_parts, place
from .text import AUTO, ReadOptions, read_text

LABELS = "y"  # the array of labels in an NPZ file
SHOWN_NAMES = 20  # columns that a message lists
STANDARD_INPUT = "-"
LONGEST_REASON = 200  # characters of somebody else's message that ours repeats
LARGE_BYTES = 2**24  # 16 MiB: from here on reading takes so long that somebody may wonder


def read_table(
    source: Any, *, label: str | None = None, drop: Collection[str] = (), categorical: Collection[str] = (),
    separator: str = AUTO, header: bool = True, missing: Missing = "error", verbose: bool = False,
    decimal: str = AUTO, missing_values: Collection[str] = (), date_parts: Collection[str] = (), **old: Any,
) -> Table:  # fmt: skip
    r"""Read a table from a file, from standard input or from a frame.

    A column is numeric when every filled cell is a number, one of dates when every filled cell is
    a date or a time, and categorical when none is a number; anything between is an error.
    Files that end in ``.npz`` (arrays X and y) and ``.parquet`` are read as such, all others as
    text: UTF-8, with or without a byte order mark, as it is or packed by gzip.

    Parameters
    ----------
    source : path, "-", frame (pandas, polars, pyarrow) or matrix
        ``"-"`` is text from standard input. The columns of a matrix are named 0, 1, ...
    label : str, optional
        The column that holds the labels: integers if all are written so, else text. Of an
        NPZ file ``"y"``, which need not be said.
    drop, categorical : collections of str
        Columns to leave out, and columns that hold categories whatever they look like.
    separator : str
        Between cells of text; "tab" is one too, and "auto" finds it out.
    header : bool
        Whether the first line of text holds names. Without, columns are named 0, 1, ...
    missing : {"error", "drop-rows", "impute", "indicator"}
        Empty cells are an error, or their rows are left out, or the encoding fills them (median, or
        most frequent category), or fills them and says so in a feature of its own.
    verbose : bool
        Whether to show progress, where a file is large.
    decimal : {"auto", ".", ","}
        Between the digits of a number in text.
    missing_values : collection of str
        Words that count as empty cells beside the usual ones (NA, N/A, ?, null, nan); with the empty
        word ``""`` among them, in place of the usual ones.
    date_parts : collection of {"year", "month", "day", "weekday", "hour", "minute"}
        Parts of dates that become features beside the days.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be used; the message names the row and the column.
    ParameterError
        If there is no column of a given name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactfit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text("weight,colour,fruit\n182,red,apple\n118,yellow,banana\n")
    ...     table = exactfit.read_table(path, label="fruit")
    >>> [(column.name, column.kind) for column in table.columns]
    [('weight', 'numeric'), ('colour', 'categorical')]
    >>> table.labels.tolist()
    ['apple', 'banana']
    """
    refuse_old("read_table", old)
    missing_words(missing_values)  # refuses a single text, of which a tuple would make letters
    form = ReadOptions(separator, header, missing, verbose, decimal, tuple(missing_values), tuple(date_parts))
    table = read_chosen(source, form, lambda names, has_header: all_but(names, has_header, label, drop, categorical))
    return replace(table, sure_of_labels=table.label in categorical)


def all_but(
    names: Sequence[str], header: bool, label: str | None, drop: Collection[str], categorical: Collection[str]
) -> Choice:
    """All columns but the labels and those to drop."""
    if label is not None and not isinstance(label, str):
        raise ParameterError(f"label must be the name of a column, got {type(label).__name__}")
    if label is None and not header and LABELS in names:  # the labels of an NPZ file
        label = LABELS
    for name in (*drop, *categorical, *([] if label is None else [label])):
        if name not in names:
            raise ParameterError(no_column(name, names))
    if label in drop:
        raise ParameterError(f"column {label!r} holds the labels: it cannot be dropped")
    kept = {k: name for k, name in enumerate(names) if name != label and name not in drop}
    kinds: dict[int, Any] = {k: "categorical" if name in categorical else None for k, name in kept.items()}
    return Choice(kinds, None if label is None else list(names).index(label))


def no_column(name: str, names: Sequence[str]) -> str:
    """That there is no such column, and what the user may have meant."""
    if len(names) == 1:
        return f"there is no column {name!r}: {names[0]!r} is the only one. Is the separator another one (--separator)?"
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"there is no column {name!r}: the columns are {', '.join(names[:SHOWN_NAMES])}{more}"


def refuse_old(function: str, old: Collection[str]) -> None:
    """Say what became of ``target``; refuse other keywords as Python does."""
    if "target" in old:
        raise ParameterError(
            "the column that holds the labels is named by label=..., not target= "
            "(target= of InterpolatingClassifier names the class that gets detectors)"
        )
    for name in old:
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def read_chosen(source: Any, form: ReadOptions, chosen: Choose) -> Table:
    """The table of a file, with the columns that ``chosen`` picks from all names."""
    check_choice("missing", form.missing, MISSING)
    parts, name, known = check_parts(form.date_parts), name_of(source), {}

    def choose(names: Sequence[str], header: bool) -> Choice:
        choice = chosen(names, header)
        known.update(choice.dates)
        return choice

    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    with progress_bar(form.verbose and is_file and os.path.getsize(source) >= LARGE_BYTES) as progress:
        raw = _open(source, name, form, choose, progress)
    columns, notes = with_roles(raw, known)
    if not columns:
        raise DataError(f"{name} has no columns beside the labels and those left out")
    table = Table(
        name=name,
        columns=columns,
        rows=np.arange(raw.n_rows),
        lines=raw.lines,
        labels=raw.labels,
        label=raw.label,
        label_position=raw.names.index(raw.label) if raw.label in raw.names else None,
        header=raw.header,
        n_columns=len(raw.names),
        missing=form.missing,
        date_parts=parts,
        notes=(*raw.notes, *notes),
    )
    _refuse_infinite(table)
    return without_gaps(table, raw)


def name_of(source: Any) -> str:
    """What messages call a source."""
    if not isinstance(source, str | os.PathLike):
        return "the frame" if _is_frame(source) else "the matrix"
    return "standard input" if source == STANDARD_INPUT else Path(source).name


def _is_frame(source: Any) -> bool:
    return hasattr(source, "columns") or hasattr(source, "to_pandas")


def _open(source: Any, name: str, form: ReadOptions, chosen: Choose, progress: Progress) -> Raw:
    writing = Writing(words=missing_words(form.missing_values))
    if _is_frame(source):
        return read_frame(source, name, chosen, writing)
    if not isinstance(source, str | os.PathLike):
        return read_matrix(source, name, chosen, writing)
    if source == STANDARD_INPUT:
        return read_text(sys.stdin.buffer, name, form, chosen, progress)
    path = Path(source)
    if path.suffix == ".npz":
        return read_npz(path, chosen, writing)
    if path.suffix == ".parquet":
        return read_parquet(path, chosen, writing)
    with path.open("rb") as file:
        return read_text(file, name, form, chosen, progress)


def _refuse_infinite(table: Table) -> None:
    for column in table.columns:
        if column.categories is None and np.isinf(column.values).any():
            row = int(np.isinf(column.values).argmax())
            raise DataError(f"{table.name}: column {column.name!r} holds infinity in {table.place(row)}")


def read_npz(path: Path, choose: Choose, writing: Writing) -> Raw:
    """Arrays X and, where labels are asked for, y."""
    X, y = _load(path)
    names = tuple(str(k) for k in range(X.shape[1]))
    choice = choose(names if y is None else (*names, LABELS), False)
    kinds = sorted(choice.kinds.items())
    columns = tuple(_typed(names[k], k, X[:, k], kind, writing) for k, kind in kinds if k < len(names))
    if y is None or choice.label is None:
        return Raw(names, False, columns, len(X))
    return Raw(names, False, columns, len(X), None, LABELS, *typed_labels(y, path.name))


def _load(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    with refuse_endless(path).open("rb") as file:  # Python's own words for a file that is not there
        try:
            _refuse_bomb(file)
            with np.load(file, allow_pickle=False) as arrays:
                X, y = arrays["X"], arrays.get(LABELS)
        except Exception as error:  # zlib, lzma, tokenize, struct, Unicode, memory: damage can raise anything
            raise DataError(
                f"{path.name} must hold an array of numbers X and an array of labels y ({_reason(error)})"
            ) from error
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise DataError(f"{path.name}: X must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if y is not None and y.shape != (len(X),):
        raise DataError(f"{path.name}: there must be a label for each row of X, got shapes {X.shape} and {y.shape}")
    return X, y


def _refuse_bomb(file: BinaryIO) -> None:
    """Refuse an archive whose arrays would not fit in memory, before anything of them is unpacked."""
    with zipfile.ZipFile(file) as archive:
        sizes = [
            archive.getinfo(f"{name}.npy").file_size for name in ("X", LABELS) if f"{name}.npy" in archive.namelist()
        ]
    if sum(sizes) > usable_memory() // 2:  # the numbers as they are, and as float64
        raise DataError(
            f"its arrays take {sum(sizes):,} bytes, and no more than {usable_memory() // 2:,} can be read here"
        )
    file.seek(0)


def _reason(error: Exception) -> str:
    """What went wrong, in one line of printable characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_REASON]


def read_parquet(path: Path, choose: Choose, writing: Writing) -> Raw:
    """A Parquet file, by way of pandas."""
    import pandas as pd

    try:
        import pyarrow  # noqa: F401  (pandas would name several packages)
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path.name} needs pyarrow: pip install pyarrow (or exactfit[files])"
        ) from error
    try:
        with refuse_endless(path).open("rb") as file:  # Python's own words for a file that is not there
            frame = pd.read_parquet(file)
    except Exception as error:  # pyarrow, JSON, Unicode, keys, memory: damage can raise anything
        if getattr(error, "errno", None) is not None:  # of the file system; those of pyarrow have no number
            raise
        raise DataError(f"{path.name} cannot be read as Parquet: {_reason(error)}") from error
    return read_frame(frame, path.name, choose, writing)


def read_matrix(matrix: Any, name: str, choose: Choose, writing: Writing) -> Raw:
    """An array, or what NumPy makes one of; text and objects in it are read as cells of a file are."""
    refuse_masked(matrix, name)
    try:
        refuse_misshapen(matrix)
        X = check_array(matrix, dtype=None, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from error
    names = tuple(str(k) for k in range(X.shape[1]))
    kinds = choose(names, False).kinds
    columns = tuple(_from_array(names[k], k, X[:, k], kinds[k], writing) for k in sorted(kinds))
    return Raw(names, False, columns, len(X))


def _from_array(title: str, position: int, values: NDArray[Any], kind: Kind | None, writing: Writing) -> Column:
    if values.dtype.kind in "biuf":
        return _typed(title, position, values, kind, writing)
    cells = ["" if _is_gap(cell) else str(cell) for cell in values.tolist()]
    return _from_cells(title, position, cells, kind, writing)


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def read_frame(frame: Any, name: str, choose: Choose, writing: Writing) -> Raw:
    """A pandas frame, or what can be made into one (polars, pyarrow)."""
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    names = tuple(str(column) for column in frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"{name} has columns of the same name: give each column its own")
    if not len(frame):
        raise DataError(f"{name} has no rows")
    choice = choose(names, True)
    columns = tuple(_from_series(frame.iloc[:, k], k, choice.kinds[k], writing) for k in sorted(choice.kinds))
    if choice.label is None:
        return Raw(names, True, columns, len(frame))
    series = frame.iloc[:, choice.label]
    empty = series.isna().to_numpy()
    filled, _ = typed_labels(series[~empty].to_numpy(), name)
    labels = np.zeros(len(frame), dtype=filled.dtype)
    labels[~empty] = filled
    return Raw(names, True, columns, len(frame), None, names[choice.label], labels, empty)


def whole_labels(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Integers as int64, or as uint64 if that is what holds them all."""
    least, most = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return y.astype(dtype)
    raise DataError(f"{name}: labels from {least} to {most} fit no integer of 64 bits: write them as text")


def typed_labels(y: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels as integers or text, and which are empty."""
    filled = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "b":
        return y.astype(str), filled
    if y.dtype.kind in "iu":
        return whole_labels(y, name), filled
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.rint(y)) & (np.abs(y) < EXACT_INTEGERS)
        if not (whole | np.isnan(y)).all():
            raise DataError(f"{name}: labels must be integers or text, got the number {y[~whole & ~np.isnan(y)][0]}")
        return np.where(whole, y, 0).astype(np.int64), np.isnan(y)
    if y.dtype.kind == "O" and all(type(label) is int for label in y):
        return whole_labels(y, name), filled
    return np.array([str(label) for label in y.tolist()], dtype=str), filled


def _from_series(series: Any, position: int, kind: Kind | None, writing: Writing) -> Column:
    title = str(series.name)
    if series.dtype.kind in "iuf":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if series.dtype.kind in "iu":
            _refuse_rounded(title, series.dropna().to_numpy())
        return _typed(title, position, values, kind, writing)
    empty = series.isna().to_numpy()
    cells = ["" if gap else str(cell) for gap, cell in zip(empty, series.tolist(), strict=True)]
    return _from_cells(title, position, cells, kind, writing)


def _from_cells(title: str, position: int, cells: Sequence[str], kind: Kind | None, writing: Writing) -> Column:
    gathered = Cells(title, position, kind, lambda row: place(row, None), writing)
    gathered.add(cells)
    return gathered.column()


def _refuse_rounded(title: str, integers: NDArray[Any]) -> None:
    for integer in integers[np.abs(integers.astype(np.float64)) >= EXACT_INTEGERS].tolist():
        if int(float(integer)) != integer:
            raise beyond_float64(title, str(integer))


def _typed(title: str, position: int, values: NDArray[Any], kind: Kind | None, writing: Writing) -> Column:
    """A column of numbers; as cells of text if it is said to be one of categories or dates."""
    if values.dtype.kind in "iu":
        _refuse_rounded(title, values)
    numbers = writing.without_gaps(np.asarray(values, dtype=np.float64))
    if kind not in ("categorical", "date"):
        return Column(title, position, numbers, given=kind is not None)
    texts = ["" if math.isnan(number) else _as_written(number) for number in numbers.tolist()]
    return _from_cells(title, position, texts, kind, writing)


def _as_written(number: float) -> str:
    """A number as a text file would have it: whole numbers without a point."""
    return str(int(number)) if number.is_integer() else repr(number)
