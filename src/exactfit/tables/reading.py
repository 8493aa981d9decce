"""``read_table``: from a file, a frame or standard input to a table."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .._support.progress import Progress, progress_bar
from ..exceptions import DataError, ParameterError
from .arrays import LABELS, read_frame, read_npz, read_parquet
from .raw import Choice, Choose, Raw
from .table import Table
from .text import read_text

Missing = Literal["error", "drop-rows"]
MISSING: tuple[Missing, ...] = get_args(Missing)
STANDARD_INPUT = "-"
SHOWN_NAMES = 20
LARGE_BYTES = 2**24

OPEN: dict[str, Callable[[Path, Choose], Raw]] = {".npz": read_npz, ".parquet": read_parquet}


@dataclass(frozen=True)
class Format:
    """How a file is to be read, whatever is wanted from it.

    Attributes
    ----------
    separator : str
        Between the cells of a text file; "tab" is one too.
    header : bool
        Whether the first line of a text file holds names.
    missing : {"error", "drop-rows"}
        What becomes of rows with empty cells.
    verbose : bool
        Whether to show progress.
    """

    separator: str = ","
    header: bool = True
    missing: Missing = "error"
    verbose: bool = False


def read_table(
    source: Any, *, target: str | None = None, drop: Collection[str] = (), categorical: Collection[str] = (),
    separator: str = ",", header: bool = True, missing: Missing = "error", verbose: bool = False,
) -> Table:  # fmt: skip
    r"""Read a table from a file, from standard input or from a frame.

    A column is numeric when every filled cell is a number and categorical when none is;
    anything between is an error. Files that end in ``.npz`` (arrays X and y) and ``.parquet``
    are read as such, all others as text: UTF-8, with or without a byte order mark.

    Parameters
    ----------
    source : path, "-", or frame (pandas, polars, pyarrow)
        ``"-"`` is text from standard input.
    target : str, optional
        The column that holds the labels: integers if all are written so, else text. Of an
        NPZ file ``"y"``, which need not be said.
    drop, categorical : collections of str
        Columns to leave out, and columns that hold categories whatever they look like.
    separator : str
        Between cells of text; "tab" is one too.
    header : bool
        Whether the first line of text holds names. Without, columns are named 0, 1, ...
    missing : {"error", "drop-rows"}
        Empty cells are an error, or their rows are left out.
    verbose : bool
        Whether to show progress, where a file is large.

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
    ...     table = exactfit.read_table(path, target="fruit")
    >>> [(column.name, column.kind) for column in table.columns]
    [('weight', 'numeric'), ('colour', 'categorical')]
    >>> table.labels.tolist()
    ['apple', 'banana']
    """
    form = Format(separator, header, missing, verbose)
    return read(source, form, lambda names, has_header: choose(names, has_header, target, drop, categorical))


def read(source: Any, form: Format, chosen: Choose) -> Table:
    """The table of a file, with the columns that ``chosen`` picks from all names."""
    if form.missing not in MISSING:
        raise ParameterError(f"missing must be one of {', '.join(MISSING)}, got {form.missing!r}")
    name = name_of(source)
    with progress_bar(form.verbose and _is_large(source)) as progress:
        raw = _open(source, name, form, chosen, progress)
    if not raw.columns:
        raise DataError(f"{name} has no columns beside the labels and those left out")
    table = Table(
        name=name,
        columns=raw.columns,
        rows=np.arange(raw.n_rows),
        lines=raw.lines,
        labels=raw.labels,
        target=raw.target,
        target_position=raw.names.index(raw.target) if raw.target in raw.names else None,
        header=raw.header,
        n_columns=len(raw.names),
    )
    _refuse_infinite(table)
    return _without_gaps(table, raw, form.missing)


def name_of(source: Any) -> str:
    """What messages call a source."""
    if not isinstance(source, str | os.PathLike):
        return "the frame"
    return "standard input" if source == STANDARD_INPUT else Path(source).name


def _is_large(source: Any) -> bool:
    """Whether reading takes so long that somebody may wonder."""
    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    return is_file and os.path.getsize(source) >= LARGE_BYTES


def _open(source: Any, name: str, form: Format, chosen: Choose, progress: Progress) -> Raw:
    if hasattr(source, "columns") or hasattr(source, "to_pandas"):
        return read_frame(source, name, chosen)
    if source == STANDARD_INPUT:
        return read_text(sys.stdin.buffer, name, form.separator, form.header, chosen, progress)
    path = Path(source)
    if path.suffix in OPEN:
        return OPEN[path.suffix](path, chosen)
    with path.open("rb") as file:
        return read_text(file, name, form.separator, form.header, chosen, progress)


def choose(
    names: Sequence[str], header: bool, target: str | None, drop: Collection[str], categorical: Collection[str]
) -> Choice:
    """All columns but the labels and those to drop."""
    if target is None and not header and LABELS in names:  # the labels of an NPZ file
        target = LABELS
    for name in (*drop, *categorical, *([] if target is None else [target])):
        if name not in names:
            raise ParameterError(no_column(name, names))
    if target in drop or target in categorical:
        raise ParameterError(f"column {target!r} holds the labels: it cannot be dropped or be a category")
    kept = {k: name for k, name in enumerate(names) if name != target and name not in drop}
    kinds: dict[int, Any] = {k: "categorical" if name in categorical else None for k, name in kept.items()}
    return Choice(kinds, None if target is None else list(names).index(target))


def no_column(name: str, names: Sequence[str]) -> str:
    """That there is no such column, and what the user may have meant."""
    near = difflib.get_close_matches(name, names, n=1)
    shown = ", ".join(names[:SHOWN_NAMES]) + (
        f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    )
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    hint = "; is the separator another one (--separator)?" if len(names) == 1 else ""
    return f"there is no column {name!r}: the columns are {shown}{hint}"


def _refuse_infinite(table: Table) -> None:
    for column in table.columns:
        if column.categories is None and np.isinf(column.values).any():
            row = int(np.isinf(column.values).argmax())
            raise DataError(f"{table.name}: column {column.name!r} holds infinity in {table.place(row)}")


def _without_gaps(table: Table, raw: Raw, missing: Missing) -> Table:
    gaps = [(column.name, column.empty) for column in table.columns]
    if raw.unlabelled is not None:
        gaps.append((str(raw.target), raw.unlabelled))
    gaps = [(name, empty) for name, empty in gaps if empty.any()]
    if not gaps:
        return table
    if missing == "error":
        raise DataError(_gaps_text(table, gaps))
    kept = ~np.logical_or.reduce([empty for _, empty in gaps])
    if not kept.any():
        raise DataError(f"{table.name}: every row has an empty cell, none is left")
    return replace(table.taken(np.flatnonzero(kept)), n_dropped=int((~kept).sum()))


def _gaps_text(table: Table, gaps: list[tuple[str, Any]]) -> str:
    count = sum(int(empty.sum()) for _, empty in gaps)
    name, first = min(gaps, key=lambda gap: int(gap[1].argmax()))
    cells = "1 empty cell" if count == 1 else f"{count} empty cells"
    return (
        f"{table.name} has {cells}, the first in {table.place(int(first.argmax()))}, "
        f"column {name!r}: fill them, or leave such rows out with --missing drop-rows (missing='drop-rows' in Python)"
    )
