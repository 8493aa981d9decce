"""Columns from cells: numbers, categories or dates as they are written; and what becomes of empty cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._support.console import counted
from ..exceptions import DataError, ParameterError
from .table import PATTERNS, Column, Floats, Table, days_of

MISSING_WORDS = ("NA", "N/A", "n/a", "?", "null", "NULL", "nan", "NaN")  # as R, SQL, Python and UCI's tables write it
COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_LABEL = re.compile(r"0|-?[1-9][0-9]{0,17}")  # integers as they are usually written, all within int64
NEARLY_ALL = 0.9  # of the distinct cells: then the others are strays rather than the column one of text
PROBED = 20  # distinct cells, one of which is a date where a column is one of dates
NEARLY_EMPTY = 0.5  # of the rows: a column with more empty cells would cost more rows than it leaves
SHOWN_COLUMNS = 5  # with empty cells that a message lists


@dataclass(frozen=True)
class CellFormat:
    """The way in which cells of text are written: the decimal sign, and the words that count as empty cells."""

    decimal: str = "."
    words: frozenset[str] = frozenset(("", *MISSING_WORDS))

    def is_gap(self, cell: str) -> bool:
        """Return whether a cell counts as empty."""
        return cell.strip() in self.words

    def number(self, cell: str) -> float | None:
        """Return the number that a cell holds, if it holds one."""
        # Python would read 1_000 as a number; beside decimal commas a point belongs to none.
        if "_" in cell or (self.decimal == "," and "." in cell):
            return None
        try:
            return float(cell.replace(",", ".") if self.decimal == "," else cell)
        except ValueError:
            return None

    def without_gaps(self, numbers: Floats) -> Floats:
        """Return numbers with NaN in place of those that are among the words, such as -999."""
        found = [self.number(word) for word in self.words]
        gaps = [number for number in found if number is not None and not math.isnan(number)]
        return np.where(np.isin(numbers, gaps), np.nan, numbers) if gaps else numbers


def missing_words(given: Collection[str]) -> frozenset[str]:
    """Return the words for an empty cell: those given beside the usual ones; the empty word leaves those out."""
    if isinstance(given, str):
        raise ParameterError(f"missing_values must be a collection of words, got the text {given!r}")
    usual = () if "" in given else MISSING_WORDS
    return frozenset(("", *usual, *(str(word).strip() for word in given)))


def as_empty(cell: str) -> str:
    """Return the options that make a cell an empty one, and leave its row out."""
    word = cell.strip()
    return (
        f"with --missing-values {word!r} --missing drop-rows (missing_values=[{word!r}], missing='drop-rows' in Python)"
    )


def as_categories(name: str) -> str:
    """Return the options that make a column one of categories."""
    return f"--categorical {name} (categorical=[{name!r}] in Python)"


class Cells:
    """Cells of one column, collected batch by batch."""

    # The first filled cell decides between numbers and categories, unless the kind is given. So a file of any length
    # is read once, and the first cell that does not fit is an error that names its line.

    def __init__(
        self, name: str, position: int, kind: str | None, place: Callable[[int], str], form: CellFormat
    ) -> None:
        self.name, self.position, self._place, self._form = name, position, place, form
        self._dates = kind if kind in PATTERNS else None  # distinct texts are read as dates at the end
        self.kind = "categorical" if self._dates else kind
        self._given = kind is not None
        self._pieces: list[NDArray[Any]] = []
        self._codes: dict[str, int] = {}
        self._n = 0
        self._first = (0, "")  # the row that decided on the kind, and its cell

    def add_numbers(self, numbers: Floats) -> None:
        """Add a batch to a column that is not one of categories."""
        self.kind = "numeric"
        self._append(self._form.without_gaps(numbers))

    def add(self, cells: Sequence[str]) -> None:
        """Add a batch of cells as text."""
        if self.kind is None:
            filled = next((k for k, cell in enumerate(cells) if not self._form.is_gap(cell)), None)
            if filled is None:
                self._append(np.full(len(cells), np.nan))
                return
            self._first = self._n + filled, cells[filled]
            self.kind = "numeric" if self._form.number(cells[filled]) is not None else "categorical"
            if self.kind == "categorical":
                self._pieces = [np.full(self._n, -1, dtype=np.int64)]  # all cells so far were empty
        self._append(self._as_codes(cells) if self.kind == "categorical" else self._as_numbers(cells))

    def _append(self, piece: NDArray[Any]) -> None:
        self._pieces.append(piece)
        self._n += len(piece)

    def _as_numbers(self, cells: Sequence[str]) -> Floats:
        form, plain = self._form, self._form.decimal == "." and "_" not in "".join(cells)
        try:
            numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells)) if plain else None
        except ValueError:
            numbers = None
        if numbers is None:
            found = [math.nan if form.is_gap(cell) else form.number(cell) for cell in cells]
            if None in found:
                raise self._mixed(cells)
            numbers = np.array(found, dtype=np.float64)
        # The text tells whether float64 rounds an integer: its number does not.
        for k in np.flatnonzero(np.abs(numbers) >= EXACT_INTEGERS).tolist():
            if np.isfinite(numbers[k]) and _INTEGER.fullmatch(cells[k]) and Decimal(cells[k]) != Decimal(numbers[k]):
                raise beyond_float64(self.name, f"{cells[k].strip()} in {self._place(self._n + k)}")
        return form.without_gaps(numbers)

    def _as_codes(self, cells: Sequence[str]) -> NDArray[np.int64]:
        for cell in dict.fromkeys(cells):
            if cell in self._codes:
                continue
            is_gap = self._form.is_gap(cell)
            if not (is_gap or self._given) and self._form.number(cell) is not None:
                raise self._mixed(cells)
            self._codes[cell] = -1 if is_gap else len(self._codes)
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))

    def _mixed(self, cells: Sequence[str]) -> DataError:
        """Return the error for numbers and text in one column: the rarer kind is the stray, as far as was read."""
        form = self._form
        kinds = [None if form.is_gap(cell) else "text" if form.number(cell) is None else "numbers" for cell in cells]
        own, other = ("numbers", "text") if self.kind == "numeric" else ("text", "numbers")
        counts = {own: kinds.count(own) + self._n * (self._first[0] < self._n), other: kinds.count(other)}
        stray = own if counts[own] < counts[other] and not (self._given and own == "numbers") else other
        row, cell = self._first if stray == own else (self._n + kinds.index(other), cells[kinds.index(other)])
        if self._given:  # by a model, which no count can change
            return DataError(
                f"column {self.name!r} holds numbers, but {self._place(row)} holds the text "
                f"{cell!r}: correct the cell, or count it as empty {as_empty(cell)}"
            )
        usual = own if stray == other else other
        more = f" (and {counted(counts[stray] - 1, 'more cell')} like it)" if counts[stray] > 1 else ""
        found = f"column {self.name!r} holds {usual} ({counts[usual]:,} so far), but {self._place(row)} holds"
        if stray == "numbers":
            return DataError(
                f"{found} the number {cell.strip()}{more}: correct the cell, or take it as a category with "
                f"{as_categories(self.name)}"
            )
        comma = ", or read decimal commas with --decimal ," if COMMA_NUMBER.fullmatch(cell) else ""
        return DataError(
            f"{found} the text {cell!r}{more}: correct the cell, count it as empty {as_empty(cell)}{comma}, or make "
            f"all of the column categories with {as_categories(self.name)}"
        )

    def column(self) -> Column:
        """Return all of it, with categories sorted, and dates as days."""
        if self.kind != "categorical":
            return Column(self.name, self.position, np.concatenate([np.empty(0), *self._pieces]), given=self._given)
        categories = tuple(sorted(cell for cell, code in self._codes.items() if code >= 0))
        ranks = np.full(len(self._codes) + 1, -1, dtype=np.int64)  # the last one is for -1
        ranks[[self._codes[cell] for cell in categories]] = np.arange(len(categories))
        codes = ranks[np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])]
        if not self._given or self._dates:
            dated = self._find_dates(categories, lambda code: self._place(int((codes == code).argmax())))
            if dated is not None:
                values = np.append(np.array(dated[1], dtype=np.float64), np.nan)[codes]  # -1, an empty cell, is last
                return Column(self.name, self.position, values, dates=dated[0], given=self._given)
        return Column(self.name, self.position, codes, categories, given=self._given)

    def _find_dates(self, cells: tuple[str, ...], where: Callable[[int], str]) -> tuple[str, list[float | None]] | None:
        """Return the way in which distinct cells are written as dates, and their days; None if they are no dates."""
        if self._dates is not None:
            days = [days_of(cell, self._dates) for cell in cells]
            if None in days:
                stray = days.index(None)
                raise DataError(
                    f"column {self.name!r} holds dates written as {self._dates} for this model, but {where(stray)} "
                    f"holds {cells[stray]!r}: correct the cell, or count it as empty {as_empty(cells[stray])}"
                )
            return self._dates, days
        if not any(pattern.fullmatch(cell.strip()) for cell in cells[:PROBED] for pattern in PATTERNS.values()):
            return None
        found = {written_as: [days_of(cell, written_as) for cell in cells] for written_as in PATTERNS}
        fitting = {way: days for way, days in found.items() if None not in days}
        if not fitting:
            # Nearly all cells are dates: then the others are strays rather than the column one of text.
            way, read = min(found.items(), key=lambda one: one[1].count(None))
            if len(read) - read.count(None) >= max(NEARLY_ALL * len(read), 2):
                stray = read.index(None)
                raise DataError(
                    f"column {self.name!r} holds dates ({way}), but {where(stray)} holds {cells[stray]!r}: correct the "
                    f"cell, count it as empty {as_empty(cells[stray])}, or take all as categories with "
                    f"{as_categories(self.name)}"
                )
        if fitting.keys() == {"day/month/year", "month/day/year"}:
            raise DataError(
                f"column {self.name!r} holds dates such as {cells[0]!r}, in which day and month could be either: write "
                f"them as year-month-day, or leave the column out with --drop {self.name}, or take the dates as "
                f"categories with --categorical {self.name}"
            )
        return next(iter(fitting.items()), None)


def beyond_float64(column: str, what: str) -> DataError:
    """Return the error for an integer that float64 cannot hold."""
    return DataError(
        f"column {column!r} holds integers beyond 2**53, which float64 cannot hold exactly ({what}): scale it, or "
        f"leave it out with --drop {column} (drop=[{column!r}] in Python) if it is an identifier"
    )


def labels_of(column: Column) -> NDArray[Any]:
    """Return labels from a column of categories: integers if all of them are written as integers are, else text."""
    categories = column.categories or ()
    are_integers = all(_LABEL.fullmatch(category) for category in categories)
    names = np.array([int(category) for category in categories] if are_integers else categories)
    return np.asarray(names[column.values] if categories else np.empty(len(column.values), dtype=np.int64))


def without_gaps(table: Table, unlabelled: NDArray[np.bool_]) -> Table:
    """Return a table whose empty cells have been dealt with as ``table.missing`` says."""
    if table.missing in ("impute", "indicator"):
        return _left(table, ~unlabelled, "without a label")
    gaps = [(column.name, column.empty) for column in table.columns if column.empty.any()]
    gaps += [(str(table.label), unlabelled)] if unlabelled.any() else []
    counts = {name: int(empty.sum()) for name, empty in gaps}
    full = [name for name, count in counts.items() if count > NEARLY_EMPTY * len(table)]
    if gaps and table.missing == "error":
        name, first = min(gaps, key=lambda gap: int(gap[1].argmax()))
        cells = counted(sum(counts.values()), "empty cell") + ("" if table.lines is not None else " (None or NaN)")
        listed = ", ".join(f"{name!r} {n:,}" for name, n in list(counts.items())[:SHOWN_COLUMNS])
        more = f" and {len(counts) - SHOWN_COLUMNS} more columns" if len(counts) > SHOWN_COLUMNS else ""
        by_column = f" (by column: {listed}{more})" if len(counts) > 1 else ""
        drop = f" Nearly empty, better left out: {' '.join(f'--drop {name}' for name in full)}." if full else ""
        raise DataError(
            f"{table.name} has {cells}, the first in {table.place(int(first.argmax()))}, column {name!r}{by_column}."
            f"{drop} Leave such rows out with --missing drop-rows, fill the cells with --missing impute, or fill and "
            "mark them with --missing indicator (missing='impute' in Python)"
        )
    for name in full:
        raise DataError(
            f"{table.name}: column {name!r} is empty in {counts[name]:,} of {len(table):,} rows, which would all be "
            f"left out for it: leave out the column with --drop {name} (drop=[{name!r}] in Python), or fill empty "
            "cells with --missing impute"
        )
    return _left(table, ~np.logical_or.reduce([unlabelled, *(empty for _, empty in gaps)]), "with empty cells")


def _left(table: Table, kept: NDArray[np.bool_], which: str) -> Table:
    """Return the rows that are kept, with a note on the others."""
    n_dropped = int((~kept).sum())
    if not n_dropped:
        return table
    if not kept.any():
        raise DataError(f"{table.name}: every row has an empty cell, none is left")
    note = f"{counted(n_dropped, 'row')} {which} {'is' if n_dropped == 1 else 'are'} left out"
    return replace(table.taken(np.flatnonzero(kept)), n_dropped=n_dropped, notes=(*table.notes, note))
