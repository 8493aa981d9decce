"""Empty cells: an error that counts them, rows left out, or cells that an encoding will fill."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError
from .table import Raw, Table

Gaps = list[tuple[str, NDArray[np.bool_]]]

NEARLY_EMPTY = 0.5  # share of the rows: a column with more empty cells would cost more rows than it leaves
SHOWN_COLUMNS = 5  # with empty cells that a message lists


def without_gaps(table: Table, raw: Raw) -> Table:
    """A table whose empty cells have been dealt with as ``table.missing`` says."""
    gaps: Gaps = [(column.name, column.empty) for column in table.columns]
    unlabelled = np.zeros(len(table), dtype=bool) if raw.unlabelled is None else raw.unlabelled
    gaps = [(name, empty) for name, empty in gaps if empty.any()]
    if table.missing in ("impute", "indicator"):
        _refuse_empty_columns(table, gaps)
        return _left(table, ~unlabelled, "without a label") if unlabelled.any() else table
    gaps += [(str(raw.label), unlabelled)] if unlabelled.any() else []
    if not gaps:
        return table
    if table.missing == "error":
        raise DataError(_gaps_text(table, gaps))
    _refuse_nearly_empty(table, gaps)
    return _left(table, ~np.logical_or.reduce([empty for _, empty in gaps]), "with empty cells")


def _left(table: Table, kept: NDArray[np.bool_], which: str) -> Table:
    if not kept.any():
        raise DataError(f"{table.name}: every row has an empty cell, none is left")
    n_dropped = int((~kept).sum())
    rows = "1 row" if n_dropped == 1 else f"{n_dropped:,} rows"
    note = f"{rows} {which} {'is' if n_dropped == 1 else 'are'} left out"
    return replace(table.taken(np.flatnonzero(kept)), n_dropped=n_dropped, notes=(*table.notes, note))


def _refuse_nearly_empty(table: Table, gaps: Gaps) -> None:
    for name, empty in gaps:
        count = int(empty.sum())
        if NEARLY_EMPTY * len(table) < count and len(table) - count < len(table):
            raise DataError(
                f"{table.name}: column {name!r} is empty in {count:,} of {len(table):,} rows, which would all be left "
                f"out for it: leave out the column with --drop {name} (drop=[{name!r}] in Python), or fill empty cells "
                "with --missing impute"
            )


def _refuse_empty_columns(table: Table, gaps: Gaps) -> None:
    for name, empty in gaps:
        if empty.all():
            raise DataError(
                f"{table.name}: column {name!r} has no filled cell: leave it out with --drop {name} "
                f"(drop=[{name!r}] in Python)"
            )


def _gaps_text(table: Table, gaps: Gaps) -> str:
    counts = {name: int(empty.sum()) for name, empty in gaps}
    count = sum(counts.values())
    name, first = min(gaps, key=lambda gap: int(gap[1].argmax()))
    cells = "1 empty cell" if count == 1 else f"{count:,} empty cells"
    cells += "" if table.lines is not None else " (None or NaN)"
    listed = ", ".join(f"{name!r} {n:,}" for name, n in list(counts.items())[:SHOWN_COLUMNS])
    more = f" and {len(counts) - SHOWN_COLUMNS} more columns" if len(counts) > SHOWN_COLUMNS else ""
    by_column = f" (by column: {listed}{more})" if len(counts) > 1 else ""
    full = [name for name, n in counts.items() if n > NEARLY_EMPTY * len(table)]
    drop = f" Nearly empty, better left out: {' '.join(f'--drop {name}' for name in full)}." if full else ""
    return (
        f"{table.name} has {cells}, the first in {table.place(int(first.argmax()))}, column {name!r}{by_column}.{drop} "
        "Leave such rows out with --missing drop-rows, fill the cells with --missing impute, or fill and mark them "
        "with --missing indicator (missing='impute' in Python)"
    )
