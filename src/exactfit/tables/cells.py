"""One column while it is read: from cells to numbers or categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError
from .table import Column, Kind

Floats = NDArray[np.float64]

EXACT_INTEGERS = 2.0**53
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LABEL = re.compile(r"0|-?[1-9][0-9]{0,17}")


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
    """

    def __init__(self, name: str, position: int, kind: Kind | None, place: Callable[[int], str]) -> None:
        self.name, self.position, self.kind, self._place = name, position, kind, place
        self._forced = kind is not None
        self._pieces: list[NDArray[Any]] = []
        self._codes: dict[str, int] = {}
        self._n = 0
        self._first = 0  # the row that decided on the kind

    def add_numbers(self, numbers: Floats) -> None:
        """A block of a column that is not one of categories."""
        self.kind = "numeric"
        self._append(numbers)

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
        filled = next((k for k, cell in enumerate(cells) if cell and not cell.isspace()), None)
        if filled is None:
            return
        self._first = self._n + filled
        self.kind = "numeric" if parse(cells[filled]) is not None else "categorical"
        if self.kind == "categorical":
            self._pieces = [np.full(self._n, -1, dtype=np.int64)]  # all cells so far were empty

    def _as_numbers(self, cells: Sequence[str]) -> Floats:
        try:
            numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            numbers = np.array([self._number(k, cell) for k, cell in enumerate(cells)])
        else:
            if "_" in "".join(cells):  # Python would read 1_000 as a number
                numbers = np.array([self._number(k, cell) for k, cell in enumerate(cells)])
        self._refuse_rounded(cells, numbers)
        return numbers

    def _number(self, k: int, cell: str) -> float:
        if not cell or cell.isspace():
            return np.nan
        number = parse(cell)
        if number is None:
            raise self._mixed(self._n + k, f"the text {cell!r}", "numbers")
        return number

    def _refuse_rounded(self, cells: Sequence[str], numbers: Floats) -> None:
        for k in np.flatnonzero(np.abs(numbers) >= EXACT_INTEGERS).tolist():
            if np.isfinite(numbers[k]) and _WHOLE.fullmatch(cells[k]) and int(cells[k]) != int(numbers[k]):
                raise rounded(self.name, f"{cells[k].strip()} in {self._place(self._n + k)}")

    def _as_codes(self, cells: Sequence[str]) -> NDArray[np.int64]:
        for cell in dict.fromkeys(cells):
            if cell not in self._codes:
                self._codes[cell] = self._code(cell, cells)
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))

    def _code(self, cell: str, cells: Sequence[str]) -> int:
        if not cell or cell.isspace():
            return -1
        if not self._forced and parse(cell) is not None:
            raise self._mixed(self._n + cells.index(cell), f"the number {cell.strip()}", "text")
        return len(self._codes)

    def _mixed(self, row: int, what: str, others: str) -> DataError:
        before = "" if self._forced else f" ({self._place(self._first)} holds {others})"
        return DataError(
            f"column {self.name!r} is one of {others}{before}, but {self._place(row)} holds {what}: correct the cell, "
            f"or make the column categorical with --categorical {self.name} (categorical=[{self.name!r}] in Python)"
        )

    def column(self) -> Column:
        """All of it, with categories sorted."""
        if self.kind != "categorical":
            return Column(self.name, self.position, np.concatenate([np.empty(0), *self._pieces]))
        found = [cell for cell, code in self._codes.items() if code >= 0]
        categories = tuple(sorted(found))
        rank = {cell: index for index, cell in enumerate(categories)}
        ranks = np.full(len(self._codes) + 1, -1, dtype=np.int64)  # the last one is for -1
        for cell in found:
            ranks[self._codes[cell]] = rank[cell]
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])
        return Column(self.name, self.position, ranks[codes], categories)


def parse(cell: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def rounded(column: str, what: str) -> DataError:
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
