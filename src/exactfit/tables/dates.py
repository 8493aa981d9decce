"""Dates and times as days: found by how they are written, and refused where day and month could be either."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, ParameterError

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
    >>> from exactfit.tables.dates import days_of
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


def parts_of(days: Floats, parts: tuple[str, ...]) -> Floats:
    """A row of numbers for each part."""
    distinct, inverse = np.unique(days, return_inverse=True)
    moments = [_moment(float(day)) for day in distinct]
    numbers = np.array([[PARTS[part](moment) for moment in moments] for part in parts], dtype=np.float64)
    return numbers.reshape(len(parts), len(moments))[:, inverse.reshape(-1)]


def find_dates(name: str, cells: tuple[str, ...]) -> tuple[str, list[float]] | None:
    """How the distinct cells of a column are written as dates, and their days; None if they are no dates.

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
        _refuse_stray(name, cells, found)
    if {"day/month/year", "month/day/year"} <= fitting.keys() and len(fitting) == 2:
        raise DataError(
            f"column {name!r} holds dates such as {cells[0]!r}, in which day and month could be either: write them as "
            f"year-month-day, or leave the column out with --drop {name}, or take the dates as categories with "
            f"--categorical {name}"
        )
    return next(iter(fitting.items()), None)


def _refuse_stray(name: str, cells: tuple[str, ...], found: dict[str, list[float | None]]) -> None:
    """Refuse a column that is one of dates but for a few cells."""
    way, days = min(found.items(), key=lambda one: one[1].count(None))
    if len(days) - days.count(None) < max(NEARLY_ALL * len(days), 2):
        return
    stray = cells[days.index(None)]
    raise DataError(
        f"column {name!r} holds dates ({way}), but also {stray!r}: correct that cell, count it as empty "
        f"with --missing-values {stray!r}, or take all as categories with --categorical {name}"
    )
