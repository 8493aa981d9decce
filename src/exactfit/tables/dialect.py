"""How a text file is written: what stands between its cells, its decimal sign, its words for nothing, its dates."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, ParameterError

Missing = Literal["error", "drop-rows", "impute", "indicator"]
MISSING: tuple[Missing, ...] = get_args(Missing)
AUTO = "auto"
MISSING_WORDS = ("NA", "N/A", "n/a", "?", "null", "NULL", "nan", "NaN")  # as R, SQL, Python and UCI's tables write it
NO_SEPARATOR = '0123456789+-.eE"\r\n'
SEPARATORS = ("\t", ";", "|", ",")  # tried in this order: a comma may stand within a cell of any of the others
SAMPLE_BYTES = 2**20  # 1 MiB of a file decides how it is written: thousands of rows, read in milliseconds
SAMPLE_RECORDS = 1000  # of the sample that are split once for every separator
COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
LIKE_A_NUMBER = re.compile(r"[-+$€£]*[0-9][0-9.,' ]*(?:\s[^\W\d_]{1,3}|[%°€$£])?")  # 1.234,5 or 12 % or 3.5 cm
POINT_NUMBER = re.compile(r"\s*[+-]?[0-9]+\.[0-9]+\s*")


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read, whatever is wanted from it.

    Attributes
    ----------
    separator : str
        Between the cells of a text file; "tab" is one too, and "auto" finds it out.
    header : bool
        Whether the first line of a text file holds names.
    missing : {"error", "drop-rows", "impute", "indicator"}
        What becomes of empty cells.
    verbose : bool
        Whether to show progress.
    decimal : {"auto", ".", ","}
        Between the digits of a number.
    missing_values : tuple of str
        Words that count as empty cells beside the usual ones; the empty word leaves those out.
    date_parts : tuple of str
        Parts of dates that become numbers of their own beside the days.
    """

    separator: str = AUTO
    header: bool = True
    missing: Missing = "error"
    verbose: bool = False
    decimal: str = AUTO
    missing_values: tuple[str, ...] = ()
    date_parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writing:
    """How cells of text are written.

    Attributes
    ----------
    decimal : {".", ","}
        Between the digits of a number.
    words : frozenset of str
        Cells that count as empty; an empty cell always does.

    Examples
    --------
    >>> from exactfit.tables.dialect import Writing
    >>> Writing(decimal=",").number("3,25"), Writing().number("3,25"), Writing().is_gap(" NA ")
    (3.25, None, True)
    """

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

    @property
    def gap_numbers(self) -> list[float]:
        """Numbers among the words, such as -999."""
        found = [self.number(word) for word in self.words]
        return [number for number in found if number is not None and not math.isnan(number)]


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


def check_separator(separator: str) -> str:
    """The separator, as one character; "tab" is one too, and "auto" leaves it to the file."""
    if not isinstance(separator, str):
        raise ParameterError(f"the separator must be one character, got {type(separator).__name__}")
    separator = "\t" if separator in ("tab", "\\t") else separator
    if separator == AUTO:
        return separator
    if len(separator) != 1 or separator in NO_SEPARATOR or not separator.isascii():
        raise ParameterError(f"the separator must be one character, such as , or ; or tab, got {separator!r}")
    return separator


def check_decimal(decimal: str) -> str:
    """The decimal sign; "auto" leaves it to the file."""
    if decimal not in (AUTO, ".", ","):
        raise ParameterError(f"decimal must be '.', ',' or 'auto', got {decimal!r}")
    return decimal


@dataclass(frozen=True)
class Dialect:
    """Separator and decimal sign of a file, and what to tell about them."""

    separator: str
    decimal: str
    notes: tuple[str, ...] = ()


def detect(sample: bytes, separator: str, decimal: str, header: bool) -> Dialect:
    r"""What a file is written with, from its beginning; what is given stays.

    Examples
    --------
    >>> from exactfit.tables.dialect import detect
    >>> detect(b"a;b\n1,5;x\n2,5;y\n", "auto", "auto", header=True)
    Dialect(separator=';', decimal=',', notes=("cells are separated by ';', numbers have decimal commas",))
    """
    separator, decimal = check_separator(separator), check_decimal(decimal)
    lines = sample.decode("utf-8", errors="replace").splitlines(keepends=True)
    lines = lines[:-1] if len(sample) >= SAMPLE_BYTES else lines  # the last one may be cut
    found = _likely_separator(lines, header)
    if separator == AUTO:
        separator, detected = found or ",", found not in (None, ",")
    else:
        detected = False
        _refuse_one_column(lines, separator, found)
    sign = decimal if decimal != AUTO else _likely_decimal(lines, separator, header)
    notes = [f"cells are separated by {_shown(separator)}"] if detected else []
    notes += ["numbers have decimal commas"] if decimal == AUTO and sign == "," else []
    return Dialect(separator, sign, (", ".join(notes),) if notes else ())


def _shown(separator: str) -> str:
    return "tabs" if separator == "\t" else repr(separator)


def _records(lines: Iterable[str], separator: str) -> list[list[str]]:
    """The first records, as far as they can be split at all."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(lines, delimiter=separator, strict=True):
            if record:
                records.append(record)
            if len(records) == SAMPLE_RECORDS:
                break
    except csv.Error:
        pass  # reading will say where
    return records


def _likely_separator(lines: list[str], header: bool) -> str | None:
    """The first separator that splits every record into the same number of cells, more than one."""
    fitting = []
    for separator in SEPARATORS:
        sizes = {len(record) for record in _records(lines, separator)}
        if len(sizes) == 1 and sizes.pop() > 1:
            fitting.append(separator)
    if "," in fitting and not header and fitting[0] != ",":  # 1,5;2,5 can be split at either
        cells = (cell for record in _records(lines, fitting[0]) for cell in record)
        return fitting[0] if any(map(COMMA_NUMBER.fullmatch, cells)) else ","
    return fitting[0] if fitting else None


def _refuse_one_column(lines: list[str], separator: str, found: str | None) -> None:
    records = _records(lines, separator)
    if records and len(records[0]) == 1 and found not in (None, separator):
        name = "tab" if found == "\t" else found
        raise ParameterError(
            f"there is one column only with the separator {separator!r}: did you mean --separator {name!r}?"
        )


def _likely_decimal(lines: list[str], separator: str, header: bool) -> str:
    """A comma, where more numbers are written with a comma than with a point; never beside separating commas."""
    if separator == ",":  # "1,234" in quotes is more likely one thousand and so on
        return "."
    cells = [cell for record in _records(lines, separator)[header:] for cell in record]
    commas, points = (sum(1 for cell in cells if form.fullmatch(cell)) for form in (COMMA_NUMBER, POINT_NUMBER))
    return "," if commas > points else "."


Floats = NDArray[np.float64]

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
NEARLY_ALL = 0.9  # of the distinct cells: then the others are strays rather than the column one of text
PROBED = 20  # distinct cells, one of which is a date where a column is one of dates
PARTS: dict[str, Callable[[datetime], float]] = {
    "year": lambda date: date.year,
    "month": lambda date: date.month,
    "day": lambda date: date.day,
    "weekday": lambda date: date.isoweekday(),
    "hour": lambda date: date.hour,
    "minute": lambda date: date.minute,
}


def check_parts(parts: Iterable[str]) -> tuple[str, ...]:
    """Parts of a date that there are, in the order of :data:`PARTS`."""
    given = set(parts)
    for part in sorted(given - PARTS.keys()):
        raise ParameterError(f"date_parts must be among {', '.join(PARTS)}, got {part!r}")
    return tuple(part for part in PARTS if part in given)


def days_of(cell: str, written_as: str) -> float | None:
    """Days since 1970-01-01 (of a time of day: since midnight), or None if a cell is not written so.

    Examples
    --------
    >>> from exactfit.tables.dialect import days_of
    >>> days_of("1970-01-02 12:00", "year-month-day"), days_of("31.02.2020", "day.month.year")
    (1.5, None)
    """
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
    seconds = float(found.get("fraction") or 0) - 60 * _zone_minutes(found.get("zone"))
    since = moment - EPOCH
    return since.days + (since.seconds + seconds) / DAY


def _zone_minutes(zone: str | None) -> int:
    if zone in (None, "Z"):
        return 0
    digits = str(zone).replace(":", "")
    return int(f"{digits[0]}1") * (60 * int(digits[1:3]) + int(digits[3:5]))


def written(days: float, written_as: str) -> str:
    """Days as people read them: year-month-day, and the time where there is one."""
    moment = _moment(days)
    if written_as == "hour:minute":
        return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    return moment.date().isoformat() if days == int(days) else moment.isoformat(sep=" ", timespec="seconds")


def _moment(days: float) -> datetime:
    return EPOCH + timedelta(microseconds=round(days * MICROSECONDS))


def parts_of_dates(days: Floats, parts: tuple[str, ...]) -> Floats:
    """A row of numbers for each part."""
    distinct, inverse = np.unique(days, return_inverse=True)
    moments = [_moment(float(day)) for day in distinct]
    numbers = np.array([[PARTS[part](moment) for moment in moments] for part in parts], dtype=np.float64)
    return numbers.reshape(len(parts), len(moments))[:, inverse.reshape(-1)]


def find_dates(name: str, cells: tuple[str, ...], where: Callable[[int], str]) -> tuple[str, list[float]] | None:
    """How the distinct cells of a column are written as dates, and their days; None if they are no dates.

    ``where`` has words for the first row with one of the cells.

    Raises
    ------
    DataError
        Where day and month could be either, or a few cells among many dates are none.
    """
    if not any(pattern.fullmatch(cell.strip()) for cell in cells[:PROBED] for pattern in PATTERNS.values()):
        return None
    found = {written_as: [days_of(cell, written_as) for cell in cells] for written_as in PATTERNS}
    fitting = {way: [day for day in days if day is not None] for way, days in found.items() if None not in days}
    if not fitting:
        _refuse_stray(name, cells, found, where)
    if {"day/month/year", "month/day/year"} <= fitting.keys() and len(fitting) == 2:
        raise DataError(
            f"column {name!r} holds dates such as {cells[0]!r}, in which day and month could be either: write them as "
            f"year-month-day, or leave the column out with --drop {name}, or take the dates as categories with "
            f"--categorical {name}"
        )
    return next(iter(fitting.items()), None)


def _refuse_stray(
    name: str, cells: tuple[str, ...], found: dict[str, list[float | None]], where: Callable[[int], str]
) -> None:
    """Refuse a column that is one of dates but for a few cells."""
    way, days = min(found.items(), key=lambda one: one[1].count(None))
    if len(days) - days.count(None) < max(NEARLY_ALL * len(days), 2):
        return
    stray = days.index(None)
    raise DataError(
        f"column {name!r} holds dates ({way}), but {where(stray)} holds {cells[stray]!r}: correct the cell, count it "
        f"as empty {as_empty(cells[stray])}, or take all as categories with --categorical {name} "
        f"(categorical=[{name!r}] in Python)"
    )
