"""What columns are for: dates, row numbers without a name, identifiers, labels that are quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..exceptions import DataError
from .dates import days_of, find_dates
from .table import Column, Raw, Table

UNNAMED = ("", "Unnamed: 0", "...1")  # what pandas and R write over their row numbers
MOSTLY_DISTINCT = 0.5  # share of the filled cells: then categories say more about the row than about its label
FEWEST_DISTINCT = 30  # below, a share says little
FREE_TEXT_WORDS = 3.0  # words to a cell on average, from which on text is rather prose than a name
MANY_LABELS = 20  # distinct ones; with fewer a number may well be a class
MOST_LINES = 40  # about columns, before those of numbers share one
FEW_ROWS = 5.0  # to a label on average: fewer, and there is no class to speak of


def with_roles(raw: Raw, known: Mapping[int, str]) -> tuple[tuple[Column, ...], list[str]]:
    """Columns with dates as days and without nameless row numbers, and what to tell about them."""
    kept, notes = [], []
    for column in raw.columns:
        if column.position not in known and _is_row_number(column):
            title = "without a name" if not column.name else repr(column.name)
            notes.append(f"column {title}: row numbers, left out")
        else:
            kept.append(_with_dates(column, known.get(column.position)))
    return tuple(kept), notes


def _is_row_number(column: Column) -> bool:
    """Whether a nameless first column counts the rows."""
    if column.position != 0 or column.name.strip() not in UNNAMED or column.categories is not None or column.given:
        return False
    values = column.values
    return bool(len(values)) and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _with_dates(column: Column, written_as: str | None) -> Column:
    if column.categories is None or (column.given and written_as is None):
        return column
    if written_as is None:
        found = find_dates(column.name, column.categories)
        if found is None:
            return column
        written_as, days = found
    else:
        days = [_known_day(column, cell, written_as) for cell in column.categories]
    values = np.append(np.array(days, dtype=np.float64), np.nan)[column.values]  # -1, an empty cell, is the last
    return replace(column, values=values, categories=None, dates=written_as)


def _known_day(column: Column, cell: str, written_as: str) -> float:
    day = days_of(cell, written_as)
    if day is None:
        raise DataError(f"column {column.name!r} holds {cell!r}, and the model takes dates written as {written_as}")
    return day


def refuse_identifier(column: Column) -> None:
    """Refuse categories that hardly ever come twice, unless somebody said that they are categories."""
    if column.categories is None or column.given:
        return
    filled = int(np.count_nonzero(~column.empty))
    distinct = len(column.categories)
    if distinct < FEWEST_DISTINCT or distinct <= MOSTLY_DISTINCT * filled:
        return
    words = sum(len(category.split()) for category in column.categories) / distinct
    what = "free text" if words >= FREE_TEXT_WORDS else "an identifier"
    raise DataError(
        f"column {column.name!r} has {distinct:,} different texts in {filled:,} rows: is it {what}? Leave it out with "
        f"--drop {column.name} (drop=[{column.name!r}] in Python), or keep it, one feature for each text, with "
        f"--categorical {column.name}"
    )


def refuse_measure(table: Table) -> None:
    """Refuse labels that look like a quantity, unless somebody said that they are categories."""
    labels = table.labels
    if labels is None or table.label is None or table.sure_of_labels:
        return
    distinct = np.unique(labels)
    if len(distinct) <= MANY_LABELS or len(labels) >= FEW_ROWS * len(distinct) or not _are_numbers(distinct):
        return
    raise DataError(
        f"{table.name}: the labels in column {table.label!r} are numbers with {len(distinct):,} different values in "
        f"{len(labels):,} rows: is this a quantity to predict (regression)? A classifier needs classes: make a column "
        f"of ranges and name that one, or say that every number is a class of its own with --categorical {table.label}"
    )


def _are_numbers(distinct: object) -> bool:
    try:
        np.asarray(distinct).astype(np.float64)
    except ValueError:
        return False
    return True


def described(table: Table, dropped: Sequence[str] = ()) -> list[tuple[str, str]]:
    """A line for each column: its name, and how it was read; many columns of numbers in a row are one line."""
    lines: list[tuple[str, str]] = []
    plain: list[Column] = []
    for column in table.columns:
        if len(table.columns) > MOST_LINES and column.kind == "numeric" and not column.empty.any():
            plain.append(column)
            continue
        lines += [*_together(plain), (column.name, _how(column, table))]
        plain = []
    lines += [*_together(plain), *((name, "left out") for name in dropped)]
    if table.labels is not None:
        lines.append((str(table.label), f"label, {len(np.unique(table.labels)):,} classes"))
    return lines


def _together(plain: list[Column]) -> list[tuple[str, str]]:
    if not plain:
        return []
    low, high = (extreme([extreme(column.values) for column in plain]) for extreme in (np.min, np.max))
    name = plain[0].name if len(plain) == 1 else f"{plain[0].name} to {plain[-1].name}"
    return [(name, f"{len(plain):,} columns of numbers, {low:.6g} to {high:.6g}")]


def _how(column: Column, table: Table) -> str:
    gaps = int(np.count_nonzero(column.empty))
    marked = "imputed and marked" if table.missing == "indicator" else "imputed"
    return _kind(column, table) + (f"; {gaps:,} empty cells {marked}" if gaps else "")


def _kind(column: Column, table: Table) -> str:
    if column.dates is not None:
        parts = f" and {', '.join(table.date_parts)}" if table.date_parts else ""
        return f"date ({column.dates}), as days{parts}"
    if column.categories is not None:
        return f"category, {len(column.categories):,} levels"
    values = column.values[~column.empty]
    span = f", {values.min():.6g} to {values.max():.6g}" if len(values) else ""
    return f"number{span}"
