"""Columns from cells: numbers, categories or dates as they are written, row numbers among them, and empty cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._support.console import counted
from ..exceptions import DataError, ParameterError
from .table import PATTERNS, Column, Floats, Kind, Raw, Rows, Table, days_of, place

Gaps = list[tuple[str, NDArray[np.bool_]]]

MISSING_WORDS = ("NA", "N/A", "n/a", "?", "null", "NULL", "nan", "NaN")  # as R, SQL, Python and UCI's tables write it
COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LABEL = re.compile(r"0|-?[1-9][0-9]{0,17}")  # integers as they are usually written, all within int64
UNNAMED = ("", "Unnamed: 0", "...1")  # what pandas and R write over their row numbers
NEARLY_ALL = 0.9  # of the distinct cells: then the others are strays rather than the column one of text
PROBED = 20  # distinct cells, one of which is a date where a column is one of dates
NEARLY_EMPTY = 0.5  # share of the rows: a column with more empty cells would cost more rows than it leaves
SHOWN_COLUMNS = 5  # with empty cells that a message lists


@dataclass(frozen=True)
class Writing:
    """The way cells of text are written: the decimal sign, and the words that count as empty cells."""

    decimal: str = "."
    words: frozenset[str] = frozenset(("", *MISSING_WORDS))

    def is_gap(self, cell: str) -> bool:
        """Whether a cell counts as empty."""
        return cell.strip() in self.words

    def number(self, cell: str) -> float | None:
        """The number that a cell holds, if it holds one."""
        if "_" in cell:  # Python would read 1_000 as a number
            return None
        if self.decimal == ",":
            if "." in cell:
                return None
            cell = cell.replace(",", ".")
        try:
            return float(cell)
        except ValueError:
            return None

    def without_gaps(self, numbers: Floats) -> Floats:
        """Numbers, NaN in place of those that are among the words, such as -999."""
        found = [self.number(word) for word in self.words]
        gaps = [number for number in found if number is not None and not math.isnan(number)]
        return np.where(np.isin(numbers, gaps), np.nan, numbers) if gaps else numbers


def missing_words(given: Collection[str]) -> frozenset[str]:
    """The words for an empty cell: those given beside the usual ones; the empty word leaves those out."""
    if isinstance(given, str):
        raise ParameterError(f"missing_values must be a collection of words, got the text {given!r}")
    usual = () if "" in given else MISSING_WORDS
    return frozenset(("", *usual, *(str(word).strip() for word in given)))


def as_empty(cell: str) -> str:
    """Options that make a cell an empty one, and leave its row out."""
    word = cell.strip()
    return (
        f"with --missing-values {word!r} --missing drop-rows (missing_values=[{word!r}], missing='drop-rows' in Python)"
    )


class Cells:
    """Cells of one column, collected block by block."""

    # The first filled cell decides between numbers and categories, unless the kind is given. So a file of any length
    # is read once, and the first cell that does not fit is an error that names its line.

    def __init__(
        self, name: str, position: int, kind: Kind | None, place: Callable[[int], str], writing: Writing
    ) -> None:
        self.name, self.position, self._place, self._writing = name, position, place, writing
        self.kind: Kind | None = "categorical" if kind == "date" else kind  # distinct texts are read as dates later
        self._forced = kind is not None
        self._pieces: list[NDArray[Any]] = []
        self._codes: dict[str, int] = {}
        self._n = 0
        self._first = 0  # the row that decided on the kind

    def add_numbers(self, numbers: Floats) -> None:
        """A block of a column that is not one of categories."""
        self.kind = "numeric"
        self._append(self._writing.without_gaps(numbers))

    def add(self, cells: Sequence[str]) -> None:
        """A block of cells as text."""
        if self.kind is None:
            self._decide(cells)
        if self.kind == "categorical":
            self._append(self._as_codes(cells))
        elif self.kind == "numeric":
            self._append(self._as_numbers(cells))
        else:
            self._append(np.full(len(cells), np.nan))

    def _append(self, piece: NDArray[Any]) -> None:
        self._pieces.append(piece)
        self._n += len(piece)

    def _decide(self, cells: Sequence[str]) -> None:
        filled = next((k for k, cell in enumerate(cells) if not self._writing.is_gap(cell)), None)
        if filled is None:
            return
        self._first = self._n + filled
        self.kind = "numeric" if self._writing.number(cells[filled]) is not None else "categorical"
        if self.kind == "categorical":
            self._pieces = [np.full(self._n, -1, dtype=np.int64)]  # all cells so far were empty

    def _as_numbers(self, cells: Sequence[str]) -> Floats:
        plain = self._writing.decimal == "." and "_" not in "".join(cells)  # Python would read 1_000 as a number
        try:
            numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells)) if plain else None
        except ValueError:
            numbers = None
        if numbers is None:
            numbers = np.array([self._number(k, cells) for k in range(len(cells))])
        # The text tells whether float64 rounds an integer: its number does not.
        for k in np.flatnonzero(np.abs(numbers) >= EXACT_INTEGERS).tolist():
            if np.isfinite(numbers[k]) and _WHOLE.fullmatch(cells[k]) and Decimal(cells[k]) != Decimal(numbers[k]):
                raise beyond_float64(self.name, f"{cells[k].strip()} in {self._place(self._n + k)}")
        return self._writing.without_gaps(numbers)

    def _number(self, k: int, cells: Sequence[str]) -> float:
        if self._writing.is_gap(cells[k]):
            return np.nan
        number = self._writing.number(cells[k])
        if number is None:
            raise self._mixed(k, cells)
        return number

    def _as_codes(self, cells: Sequence[str]) -> NDArray[np.int64]:
        for cell in dict.fromkeys(cells):
            if cell in self._codes:
                continue
            is_gap = self._writing.is_gap(cell)
            if not (is_gap or self._forced) and self._writing.number(cell) is not None:
                raise self._mixed(cells.index(cell), cells)
            self._codes[cell] = -1 if is_gap else len(self._codes)
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))

    def _mixed(self, k: int, cells: Sequence[str]) -> DataError:
        """Numbers and text in one column: which of them is the stray, as far as the file has been read."""
        found = [self._writing.number(cell) is not None for cell in cells if not self._writing.is_gap(cell)]
        before = self._n if self._first < self._n else 0  # read in earlier blocks, all of one kind
        numbers = sum(found) + (before if self.kind == "numeric" else 0)
        texts = len(found) - sum(found) + (0 if self.kind == "numeric" else before)
        if self._forced and self.kind == "numeric":  # by a model, which no count can change
            return DataError(
                f"column {self.name!r} holds numbers, but {self._place(self._n + k)} holds the text "
                f"{cells[k]!r}: correct the cell, or count it as empty {as_empty(cells[k])}"
            )
        if numbers > texts or (numbers == texts and self.kind == "numeric"):
            return self._stray_text(k, cells, numbers, texts)
        return self._stray_number(k, cells, numbers, texts)

    def _stray_text(self, k: int, cells: Sequence[str], numbers: int, texts: int) -> DataError:
        row, cell = self._n + k, cells[k]
        if self.kind == "categorical":  # the first filled cell was the stray
            row, cell = self._first, next(text for text, code in self._codes.items() if code >= 0)
        comma = ", or read decimal commas with --decimal ," if COMMA_NUMBER.fullmatch(cell) else ""
        return DataError(
            f"column {self.name!r} holds numbers ({numbers:,} so far), but {self._place(row)} holds the text "
            f"{cell!r}{_and_more(texts)}: correct the cell, count it as empty {as_empty(cell)}{comma}, or make all of "
            f"the column categories with --categorical {self.name} (categorical=[{self.name!r}] in Python)"
        )

    def _stray_number(self, k: int, cells: Sequence[str], numbers: int, texts: int) -> DataError:
        row, what = self._n + k, f"the number {cells[k].strip()}"
        if self.kind == "numeric":  # the first filled cell was the stray
            here = self._first - self._n
            row, what = self._first, f"the number {cells[here].strip()}" if here >= 0 else "a number"
        return DataError(
            f"column {self.name!r} holds text ({texts:,} so far), but {self._place(row)} holds {what}"
            f"{_and_more(numbers)}: correct the cell, or take it as a category with --categorical {self.name} "
            f"(categorical=[{self.name!r}] in Python)"
        )

    def column(self) -> Column:
        """All of it, with categories sorted."""
        if self.kind != "categorical":
            return Column(self.name, self.position, np.concatenate([np.empty(0), *self._pieces]), given=self._forced)
        categories = tuple(sorted(cell for cell, code in self._codes.items() if code >= 0))
        ranks = np.full(len(self._codes) + 1, -1, dtype=np.int64)  # the last one is for -1
        ranks[[self._codes[cell] for cell in categories]] = np.arange(len(categories))
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])
        return Column(self.name, self.position, ranks[codes], categories, given=self._forced)


def _and_more(count: int) -> str:
    return f" (and {counted(count - 1, 'more cell')} like it)" if count > 1 else ""


def beyond_float64(column: str, what: str) -> DataError:
    """The error for an integer that float64 cannot hold."""
    return DataError(
        f"column {column!r} holds integers beyond 2**53, which float64 cannot hold exactly ({what}): scale it, or "
        f"leave it out with --drop {column} (drop=[{column!r}] in Python) if it is an identifier"
    )


def labels_of(column: Column) -> NDArray[Any]:
    """Labels from a column of categories: integers if all of them are written as integers are, else text."""
    categories = column.categories or ()
    whole = all(_LABEL.fullmatch(category) for category in categories)
    names = np.array([int(category) for category in categories] if whole else categories)
    return np.asarray(names[column.values] if categories else np.empty(len(column.values), dtype=np.int64))


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
        days = []
        for code, cell in enumerate(column.categories):
            day = days_of(cell, written_as)
            if day is None:
                raise DataError(
                    f"column {column.name!r} holds dates written as {written_as} for this model, but {where(code)} "
                    f"holds {cell!r}: correct the cell, or count it as empty {as_empty(cell)}"
                )
            days.append(day)
    values = np.append(np.array(days, dtype=np.float64), np.nan)[column.values]  # -1, an empty cell, is the last
    return replace(column, values=values, categories=None, dates=written_as)


def find_dates(name: str, cells: tuple[str, ...], where: Callable[[int], str]) -> tuple[str, list[float]] | None:
    """Return the way in which distinct cells are written as dates, and their days; None if they are no dates."""
    if not any(pattern.fullmatch(cell.strip()) for cell in cells[:PROBED] for pattern in PATTERNS.values()):
        return None
    found = {written_as: [days_of(cell, written_as) for cell in cells] for written_as in PATTERNS}
    fitting = {way: [day for day in days if day is not None] for way, days in found.items() if None not in days}
    if not fitting:
        # Nearly all cells are dates: then the others are strays rather than the column one of text.
        way, read = min(found.items(), key=lambda one: one[1].count(None))
        if len(read) - read.count(None) >= max(NEARLY_ALL * len(read), 2):
            stray = read.index(None)
            raise DataError(
                f"column {name!r} holds dates ({way}), but {where(stray)} holds {cells[stray]!r}: correct the cell, "
                f"count it as empty {as_empty(cells[stray])}, or take all as categories with --categorical {name} "
                f"(categorical=[{name!r}] in Python)"
            )
    if {"day/month/year", "month/day/year"} <= fitting.keys() and len(fitting) == 2:
        raise DataError(
            f"column {name!r} holds dates such as {cells[0]!r}, in which day and month could be either: write them as "
            f"year-month-day, or leave the column out with --drop {name}, or take the dates as categories with "
            f"--categorical {name}"
        )
    return next(iter(fitting.items()), None)


def without_gaps(table: Table, raw: Raw) -> Table:
    """A table whose empty cells have been dealt with as ``table.missing`` says."""
    gaps: Gaps = [(column.name, column.empty) for column in table.columns if column.empty.any()]
    unlabelled = np.zeros(len(table), dtype=bool) if raw.unlabelled is None else raw.unlabelled
    if table.missing in ("impute", "indicator"):
        return _left(table, ~unlabelled, "without a label") if unlabelled.any() else table
    gaps += [(str(raw.label), unlabelled)] if unlabelled.any() else []
    if not gaps:
        return table
    if table.missing == "error":
        raise DataError(_gaps_text(table, gaps))
    for name, empty in gaps:
        count = int(empty.sum())
        if NEARLY_EMPTY * len(table) < count:
            raise DataError(
                f"{table.name}: column {name!r} is empty in {count:,} of {len(table):,} rows, which would all be left "
                f"out for it: leave out the column with --drop {name} (drop=[{name!r}] in Python), or fill empty cells "
                "with --missing impute"
            )
    return _left(table, ~np.logical_or.reduce([empty for _, empty in gaps]), "with empty cells")


def _left(table: Table, kept: NDArray[np.bool_], which: str) -> Table:
    if not kept.any():
        raise DataError(f"{table.name}: every row has an empty cell, none is left")
    n_dropped = int((~kept).sum())
    note = f"{counted(n_dropped, 'row')} {which} {'is' if n_dropped == 1 else 'are'} left out"
    return replace(table.taken(np.flatnonzero(kept)), n_dropped=n_dropped, notes=(*table.notes, note))


def _gaps_text(table: Table, gaps: Gaps) -> str:
    counts = {name: int(empty.sum()) for name, empty in gaps}
    name, first = min(gaps, key=lambda gap: int(gap[1].argmax()))
    cells = counted(sum(counts.values()), "empty cell") + ("" if table.lines is not None else " (None or NaN)")
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
