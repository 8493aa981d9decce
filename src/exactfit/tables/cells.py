"""Cells of one column as numbers or as categories, and what is said of those that are neither."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import counted
from ..exceptions import DataError
from .dialect import COMMA_NUMBER, Writing, as_empty
from .table import Column, Kind

Floats = NDArray[np.float64]

EXACT_INTEGERS = 2.0**53  # below it float64 holds every integer
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LABEL = re.compile(r"0|-?[1-9][0-9]{0,17}")  # integers as they are usually written, all within int64


class Cells:
    """Cells of one column, block by block.

    The first filled cell decides whether the column is one of numbers or of categories, unless
    its kind is given; the first that is not of this kind is an error.

    Parameters
    ----------
    name : str
    position : int
        Of the column in its file.
    kind : {"numeric", "categorical"} or None
    place : function
        From the index of a row to words for it.
    writing : Writing
        Decimal sign, and words for an empty cell.
    """

    def __init__(
        self, name: str, position: int, kind: Kind | None, place: Callable[[int], str], writing: Writing | None = None
    ) -> None:
        self.name, self.position, self._place = name, position, place
        self.kind: Kind | None = "categorical" if kind == "date" else kind  # distinct texts are read as dates later
        self._forced = kind is not None
        self._writing = writing or Writing()
        self._gap_numbers = self._writing.gap_numbers
        self._pieces: list[NDArray[Any]] = []
        self._codes: dict[str, int] = {}
        self._n = 0
        self._first = 0  # the row that decided on the kind

    def add_numbers(self, numbers: Floats) -> None:
        """A block of a column that is not one of categories."""
        self.kind = "numeric"
        self._append(self._without_gap_numbers(numbers))

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
        self._refuse_rounded(cells, numbers)
        return self._without_gap_numbers(numbers)

    def _without_gap_numbers(self, numbers: Floats) -> Floats:
        if not self._gap_numbers:
            return numbers
        return np.where(np.isin(numbers, self._gap_numbers), np.nan, numbers)

    def _number(self, k: int, cells: Sequence[str]) -> float:
        if self._writing.is_gap(cells[k]):
            return np.nan
        number = self._writing.number(cells[k])
        if number is None:
            raise self._mixed(k, cells)
        return number

    def _refuse_rounded(self, cells: Sequence[str], numbers: Floats) -> None:
        for k in np.flatnonzero(np.abs(numbers) >= EXACT_INTEGERS).tolist():
            if np.isfinite(numbers[k]) and _WHOLE.fullmatch(cells[k]) and as_whole(cells[k]) != int(numbers[k]):
                raise beyond_float64(self.name, f"{cells[k].strip()} in {self._place(self._n + k)}")

    def _as_codes(self, cells: Sequence[str]) -> NDArray[np.int64]:
        for cell in dict.fromkeys(cells):
            if cell not in self._codes:
                self._codes[cell] = self._code(cell, cells)
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))

    def _code(self, cell: str, cells: Sequence[str]) -> int:
        if self._writing.is_gap(cell):
            return -1
        if not self._forced and self._writing.number(cell) is not None:
            raise self._mixed(cells.index(cell), cells)
        return len(self._codes)

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
        found = [cell for cell, code in self._codes.items() if code >= 0]
        categories = tuple(sorted(found))
        rank = {cell: index for index, cell in enumerate(categories)}
        ranks = np.full(len(self._codes) + 1, -1, dtype=np.int64)  # the last one is for -1
        for cell in found:
            ranks[self._codes[cell]] = rank[cell]
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])
        return Column(self.name, self.position, ranks[codes], categories, given=self._forced)


def _and_more(count: int) -> str:
    return f" (and {counted(count - 1, 'more cell')} like it)" if count > 1 else ""


def as_whole(cell: str) -> int:
    """The integer that a cell holds; zeros in front do not count against Python's limit on digits."""
    text = cell.strip()
    number = int(text.lstrip("+-").lstrip("0") or "0")
    return -number if text.startswith("-") else number


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
