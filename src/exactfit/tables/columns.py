"""Columns of a table: which to read, what they are for (dates, row numbers, identifiers, quantities); empty cells."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import counted
from ..exceptions import DataError, ParameterError
from .dialect import COMMA_NUMBER, LIKE_A_NUMBER, as_empty, days_of, find_dates
from .table import Choice, Column, Raw, Rows, Table, place

LABELS = "y"  # the array of labels in an NPZ file
SHOWN_NAMES = 20  # columns that a message lists


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
    near = difflib.get_close_matches(name, names, n=1)
    shown = ", ".join(names[:SHOWN_NAMES]) + (
        f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    )
    if len(names) == 1:
        return f"there is no column {name!r}: {names[0]!r} is the only one. Is the separator another one (--separator)?"
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    return f"there is no column {name!r}: the columns are {shown}"


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
            kept.append(_with_dates(column, known.get(column.position), raw.lines))
    return tuple(kept), notes


def _is_row_number(column: Column) -> bool:
    """Whether a nameless first column counts the rows."""
    if column.position != 0 or column.name.strip() not in UNNAMED or column.categories is not None or column.given:
        return False
    values = column.values
    return bool(len(values)) and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _with_dates(column: Column, written_as: str | None, lines: Rows | None) -> Column:
    if column.categories is None or (column.given and written_as is None):
        return column

    def where(code: int) -> str:
        row = int((column.values == code).argmax())
        return place(row, None if lines is None else int(lines[row]))

    if written_as is None:
        found = find_dates(column.name, column.categories, where)
        if found is None:
            return column
        written_as, days = found
    else:
        days = [_known_day(column, code, written_as, where) for code in range(len(column.categories))]
    values = np.append(np.array(days, dtype=np.float64), np.nan)[column.values]  # -1, an empty cell, is the last
    return replace(column, values=values, categories=None, dates=written_as)


def _known_day(column: Column, code: int, written_as: str, where: Callable[[int], str]) -> float:
    assert column.categories is not None
    cell = column.categories[code]
    day = days_of(cell, written_as)
    if day is None:
        raise DataError(
            f"column {column.name!r} holds dates written as {written_as} for this model, but {where(code)} holds "
            f"{cell!r}: correct the cell, or count it as empty {as_empty(cell)}"
        )
    return day


def refuse_identifier(column: Column) -> None:
    """Refuse categories that hardly ever come twice or are numbers, unless somebody said that they are categories."""
    if column.categories is None or column.given:
        return
    filled = int(np.count_nonzero(~column.empty))
    distinct = len(column.categories)
    if distinct > 1 and all(map(COMMA_NUMBER.fullmatch, column.categories)):
        raise DataError(
            f"column {column.name!r} holds texts such as {column.categories[0]!r}: are they numbers? Read decimal "
            f"commas with --decimal , (decimal=',' in Python), write thousands without a comma, or keep the column, "
            f"one feature for each text, with --categorical {column.name}"
        )
    if distinct < FEWEST_DISTINCT or distinct <= MOSTLY_DISTINCT * filled:
        return
    words = sum(len(category.split()) for category in column.categories) / distinct
    what = "free text" if words >= FREE_TEXT_WORDS else "an identifier"
    if all(map(LIKE_A_NUMBER.fullmatch, column.categories)):
        what = f"{what}, or are these numbers, such as {column.categories[0]!r}, to be written plainly as 1234.5"
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
        lines.append((str(table.label), f"label, {counted(len(np.unique(table.labels)), 'class', 'classes')}"))
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
    return _kind(column, table) + (f"; {counted(gaps, 'empty cell')} {marked}" if gaps else "")


def _kind(column: Column, table: Table) -> str:
    if column.dates is not None:
        parts = f" and {', '.join(table.date_parts)}" if table.date_parts else ""
        return f"date ({column.dates}), as days{parts}"
    if column.categories is not None:
        return f"category, {counted(len(column.categories), 'level')}"
    values = column.values[~column.empty]
    span = f", {values.min():.6g} to {values.max():.6g}" if len(values) else ""
    return f"number{span}"


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
    note = f"{counted(n_dropped, 'row')} {which} {'is' if n_dropped == 1 else 'are'} left out"
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
    cells = counted(count, "empty cell")
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
