"""A table: columns of numbers and of categories, labels, and where each row stood in its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["numeric", "categorical"]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Column:
    """One column: float64 numbers, or int64 codes into its categories, which are sorted.

    An empty cell is NaN, or -1.
    """

    name: str
    position: int
    values: NDArray[Any]
    categories: tuple[str, ...] | None = None

    @property
    def kind(self) -> Kind:
        """Numbers or categories."""
        return "numeric" if self.categories is None else "categorical"

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which cells are empty."""
        return np.isnan(self.values) if self.categories is None else np.asarray(self.values < 0)

    def taken(self, rows: NDArray[Any]) -> Column:
        """Some rows of it."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Table:
    """What :func:`read_table` returns.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    columns : tuple of Column
        Those that were asked for, in the order of the file.
    labels : ndarray or None
        Integers or text, as read.
    target : str or None
        Name of the column that held the labels.
    rows : ndarray of int64
        Where each row stood in the file, counted from 0 after the header.
    lines : ndarray of int64 or None
        The line on which it began, counted from 1; None for files without lines.
    target_position : int or None
        And its position; None if it was no column (NPZ).
    header : bool
        Whether the columns have names of their own; positions stand in for them otherwise.
    n_columns : int
        How many columns the file has.
    n_dropped : int
        How many of its rows were left out for their empty cells.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Table
    >>> from exactfit.tables import Column
    >>> ages = Column("age", 0, np.array([31.0, 17.0]))
    >>> Table("people.csv", (ages,), rows=np.array([0, 2]), lines=np.array([2, 4])).place(1)
    'row 2 (line 4)'
    """

    name: str
    columns: tuple[Column, ...]
    rows: Rows
    lines: Rows | None = None
    labels: NDArray[Any] | None = None
    target: str | None = None
    target_position: int | None = None
    header: bool = True
    n_columns: int = 0
    n_dropped: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int) -> str:
        """A row of this table as a reader of the file can find it."""
        return place(int(self.rows[row]), None if self.lines is None else int(self.lines[row]))

    def places(self, rows: Sequence[int]) -> str:
        """Several rows: "rows 3 and 17 (lines 5 and 19)"."""
        text = f"rows {_listed(self.rows[list(rows)])}"
        return text if self.lines is None else f"{text} (lines {_listed(self.lines[list(rows)])})"

    def taken(self, rows: NDArray[Any]) -> Table:
        """Some rows of it."""
        return replace(
            self,
            columns=tuple(column.taken(rows) for column in self.columns),
            rows=self.rows[rows],
            lines=None if self.lines is None else self.lines[rows],
            labels=None if self.labels is None else self.labels[rows],
        )


def place(row: int, line: int | None) -> str:
    """A row, and its line if the file has lines."""
    return f"row {row}" if line is None else f"row {row} (line {line})"


def _listed(numbers: Rows) -> str:
    return " and ".join(str(number) for number in numbers.tolist())
