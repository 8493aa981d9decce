"""A table: columns of numbers, categories and dates, labels, and where each row is in its file, as errors say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.console import text_table
from ..exceptions import ContradictoryLabelsError, DataError, ExactfitError, ParameterError

Kind = Literal["numeric", "categorical", "date"]
Missing = Literal["error", "drop-rows", "impute", "indicator"]
MISSING: tuple[Missing, ...] = get_args(Missing)
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

SHOWN_ROWS = 5  # rows of a table that are printed: its head
LONGEST_CELL = 40  # characters of a cell that are printed
SHOWN_PAIRS = 5  # contradictory rows that a message lists: as many as fit into a few lines
EPOCH = datetime(1970, 1, 1)
DAY = 86_400.0  # seconds
MICROSECONDS = 86_400_000_000  # of a day
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>\.\d+)?)?"
_TIME = rf"(?:[T ]{_CLOCK})?(?P<zone>Z|[+-]\d\d:?\d\d)?"
# Names of the ways to write a date, as files keep them.
PATTERNS = {
    "year-month-day": re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}"),
    "day.month.year": re.compile(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_TIME}"),
    "day/month/year": re.compile(rf"(?P<day>\d{{1,2}})[-/](?P<month>\d{{1,2}})[-/](?P<year>\d{{4}}){_TIME}"),
    "month/day/year": re.compile(rf"(?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}})[-/](?P<year>\d{{4}}){_TIME}"),
    "hour:minute": re.compile(_CLOCK),
}
PARTS = ("year", "month", "day", "weekday", "hour", "minute")


class OfAKind:
    """A column, as it was read or as a model takes it: what it holds."""

    categories: tuple[str, ...] | None
    dates: str | None

    @property
    def kind(self) -> Kind:
        """Numbers, categories or dates."""
        if self.dates is not None:
            return "date"
        return "numeric" if self.categories is None else "categorical"


@dataclass(frozen=True, eq=False)
class Column(OfAKind):
    """One column: float64 numbers, or int64 codes into its categories, which are sorted.

    An empty cell is NaN, or -1. Of dates the numbers are days, and ``dates`` says how they are written.
    ``given`` tells whether somebody said what the column holds, so that nothing need be guessed.
    """

    name: str
    position: int
    values: NDArray[Any] = field(repr=False)
    categories: tuple[str, ...] | None = field(default=None, repr=False)
    dates: str | None = None
    given: bool = field(default=False, repr=False)

    def text(self, row: int) -> str:
        """Return a cell as people read it."""
        if self.categories is not None:
            code = int(self.values[row])
            return self.categories[code] if code >= 0 else ""
        number = float(self.values[row])
        if math.isnan(number):
            return ""
        if self.dates is not None:
            return written(number, self.dates)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Mask of empty cells."""
        return np.isnan(self.values) if self.categories is None else np.asarray(self.values < 0)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Table that :func:`~exactfit.read_table` returns.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    columns : tuple of Column
        Those that were asked for, in the order of the file.
    labels : ndarray or None
        Integers or text, as read.
    label : str or None
        Name of the column that held the labels.
    rows : ndarray of int64
        Number of each row in the file, counted from 0 after the header.
    lines : ndarray of int64 or None
        The line on which it began, counted from 1; None for files without lines.
    label_position : int or None
        And its position; None if it was no column (NPZ).
    header : bool
        Whether the columns have names of their own; positions are used otherwise.
    n_columns : int
        How many columns the file has.
    n_dropped : int
        How many of its rows were left out for their empty cells.
    missing : {"error", "drop-rows", "impute", "indicator"}
        What is to become of empty cells; only the last two leave any in the table.
    date_parts : tuple of str
        Parts of dates that become numbers of their own.
    notes : tuple of str
        What was found out about the file: its separator, columns that were left out, and so on.
    sure_of_labels : bool
        Whether somebody said that the labels are classes, though they look like measures.

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
    label: str | None = None
    label_position: int | None = None
    header: bool = True
    n_columns: int = 0
    n_dropped: int = 0
    missing: Missing = "error"
    date_parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sure_of_labels: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        labels = "" if self.label is None else f", labels in {self.label!r}"
        return f"<Table {self.name}: {len(self)} rows, {len(self.columns)} columns{labels}>"

    def __str__(self) -> str:
        shown = range(min(len(self), SHOWN_ROWS))
        named = [(column.name, [column.text(row) for row in shown]) for column in self.columns]
        named += [] if self.labels is None else [(str(self.label), [str(label) for label in self.labels[shown]])]
        cells = [["row", *(str(self.rows[row]) for row in shown)]]
        for name, texts in named:
            lines = [" ".join(text.split()) for text in texts]
            cells.append([name, *(t if len(t) <= LONGEST_CELL else f"{t[: LONGEST_CELL - 3]}..." for t in lines)])
        more = [f"and {len(self) - SHOWN_ROWS:,} more rows"] if len(self) > SHOWN_ROWS else []
        return "\n".join([repr(self), *self.notes, *text_table(list(zip(*cells, strict=True))), *more])

    def place(self, row: int) -> str:
        """Return a row of this table as a reader of the file can find it."""
        return place(int(self.rows[row]), None if self.lines is None else int(self.lines[row]))

    def places(self, rows: Sequence[int]) -> str:
        """Return several rows: "rows 3 and 17 (lines 5 and 19)"."""
        found, *lines = (
            " and ".join(map(str, numbers[list(rows)].tolist()))
            for numbers in (self.rows, self.lines)
            if numbers is not None
        )
        return f"rows {found}{f' (lines {lines[0]})' if lines else ''}"

    def taken(self, rows: NDArray[Any]) -> Table:
        """Return a table of some of the rows."""
        return replace(
            self,
            columns=tuple(replace(column, values=column.values[rows]) for column in self.columns),
            rows=self.rows[rows],
            lines=None if self.lines is None else self.lines[rows],
            labels=None if self.labels is None else self.labels[rows],
        )


def place(row: int, line: int | None) -> str:
    """Return a row, and its line if the file has lines."""
    return f"row {row}" if line is None else f"row {row} (line {line})"


@dataclass(frozen=True)
class Choice:
    """Columns to read, and the position of the labels.

    From position to kind: numeric, categorical, the way in which dates are written, or None for what the cells say.
    """

    kinds: dict[int, str | None]
    label: int | None = None


Choose = Callable[[Sequence[str], bool], Choice]
"""From the names of all columns, and whether they are from a header, to the ones to read."""


@contextmanager
def speaking_of(table: Table) -> Iterator[None]:
    """Name rows of the file in errors, and turn scikit-learn's errors about data into ours."""
    try:
        yield
    except ContradictoryLabelsError as error:
        pairs = [(int(table.rows[a]), int(table.rows[b])) for a, b in error.pairs]
        named = ContradictoryLabelsError(pairs, error.exact_in)
        listed = "; ".join(table.places(pair) for pair in error.pairs[:SHOWN_PAIRS])
        more = f"; and {len(pairs) - SHOWN_PAIRS} more" if len(pairs) > SHOWN_PAIRS else ""
        named.args = (
            f"{table.name}: rows that are equal after encoding{f' in {error.exact_in}' if error.exact_in else ''} have "
            f"different labels: {listed}{more}. No function can fit both. Correct the labels, add a column that tells "
            "the rows apart, or let the majority decide with --conflicts majority (conflicts='majority' in Python)",
        )
        raise named from error
    except ExactfitError:
        raise
    except ValueError as error:
        raise DataError(f"{table.name}: {error}") from error


def check_parts(parts: Iterable[str]) -> tuple[str, ...]:
    """Check parts of a date, and put them in the order of :data:`PARTS`."""
    given = set(parts)
    for part in sorted(given.difference(PARTS)):
        raise ParameterError(f"date_parts must be among {', '.join(PARTS)}, got {part!r}")
    return tuple(part for part in PARTS if part in given)


def days_of(cell: str, written_as: str) -> float | None:
    """Return days since 1970-01-01 (since midnight for a time of day), or None if a cell is not written so."""
    match = PATTERNS[written_as].fullmatch(cell.strip())
    if match is None:
        return None
    found = match.groupdict()
    numbers = {name: int(found.get(name) or 0) for name in ("hour", "minute", "second")}
    try:
        date = EPOCH if "year" not in found else datetime(int(found["year"]), int(found["month"]), int(found["day"]))
        moment = date.replace(**numbers)  # type: ignore[arg-type]
    except ValueError:
        return None
    seconds, zone = float(found.get("fraction") or 0), (found.get("zone") or "Z").replace(":", "")
    if zone != "Z":
        seconds -= 60 * int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[3:5]))
    since = moment - EPOCH
    return since.days + (since.seconds + seconds) / DAY


def written(days: float, written_as: str) -> str:
    """Return days as people read them: year-month-day, and the time where there is one."""
    moment = EPOCH + timedelta(microseconds=round(days * MICROSECONDS))
    if written_as == "hour:minute":
        return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    return moment.date().isoformat() if days == int(days) else moment.isoformat(sep=" ", timespec="seconds")


def parts_of_dates(days: Floats, parts: tuple[str, ...]) -> list[Floats]:
    """Return an array of numbers for each part."""
    import pandas as pd

    moments: Any = pd.DatetimeIndex(np.rint(days * MICROSECONDS).astype(np.int64).astype("datetime64[us]"))
    # Monday is 1, as in ISO 8601.
    found = [moments.day_of_week + 1 if part == "weekday" else getattr(moments, part) for part in parts]
    return [np.asarray(numbers, dtype=np.float64) for numbers in found]
