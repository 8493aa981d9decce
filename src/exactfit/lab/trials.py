"""Trials as columns, merged; and what they say of every cell: how often networks interpolate, how wide they are.

A cell is a combination of n (width of the first layer), lambda (bound on the biases) and N (number of points).
Records are anything with named columns: a NumPy structured array, a data frame, a list of dictionaries.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import counted
from ..exceptions import DataError

Floats = NDArray[np.float64]
Rows = NDArray[np.void]
Header = dict[str, Any]

# What a cell's outcome depends on, beside run, n, lambda and N.
IDENTITY = ("digest", "target", "scheme", "law", "center", "detectors")
AXES = ("n", "lambda", "N")
KEY = ("run", *AXES)
PLAIN = ("header", *KEY, "detectors", "missed")
LEVEL = 0.95  # of all confidence intervals, as in the paper
SURE = 0.99  # share of runs from which on a width is said to interpolate, as in the paper
SMOOTH = 25  # columns over this is the spread of the smoothing along a line, in columns
LEAST_SPREAD = 0.8  # columns, where there are few of them
COUNTS = ("n", "N", "runs", "interpolating")  # the whole numbers of a cell
MEANS = ("probability", "probability_low", "probability_high", "detectors", "detectors_low", "detectors_high")
FIELDS = (*AXES, "runs", "interpolating", *MEANS, "seconds")
CELL = np.dtype([(name, np.int64 if name in COUNTS else np.float64) for name in FIELDS])
WORDS = ("data", "standing", "digest", "scheme")
COLUMNS = (*WORDS, *(CELL.names or ()))  # of a summary


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials by column, with the headers that they refer to.

    Attributes
    ----------
    headers : tuple of dict
        What the trials were run on and with; the key ``"header"`` has a header's name.
    rows : structured ndarray
        One row per trial that did not fail: position of its header, run, n, lambda, N,
        detectors, missed, seconds, and detectors per target class (-1 beyond the last).
    failures : tuple of dict
        Rows of trials that failed, with the traceback as ``"error"``.

    Examples
    --------
    >>> from exactfit.lab import Trials, merge_trials
    >>> merge_trials([]).headers
    ()
    """

    headers: tuple[Header, ...]
    rows: Rows
    failures: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"<Trials: {counted(len(self.rows), 'trial')} of {counted(len(self.headers), 'header')}>"

    def where(self, **wanted: Any) -> Rows:
        """The rows whose header has the given entries.

        Examples
        --------
        >>> from exactfit.lab.trials import Trials, no_rows
        >>> len(Trials((), no_rows()).where(data="mnist"))
        0
        """
        fits = [all(header.get(name) == value for name, value in wanted.items()) for header in self.headers]
        return self.rows[np.asarray(fits, dtype=bool)[self.rows["header"]]] if fits else self.rows

    def kinds(self) -> list[Header]:
        """One header for each kind of trials, by data and scheme."""
        found = {identity(header): header for header in self.headers}
        return list(found.values())


def identity(header: Header) -> tuple[Any, ...]:
    """What two headers must share for their rows to be comparable."""
    return tuple(header.get(name) for name in IDENTITY)


def row_dtype(n_classes: int) -> np.dtype[np.void]:
    """Columns of a trial."""
    whole = [(name, np.float64 if name == "lambda" else np.int64) for name in PLAIN]
    return np.dtype([*whole, ("seconds", np.float64), ("per_class", np.int64, (n_classes,))])


def no_rows() -> Rows:
    """An empty table of trials."""
    return np.empty(0, dtype=row_dtype(1))


def merge_trials(parts: Iterable[Trials]) -> Trials:
    """All trials of several stores, each once.

    Raises
    ------
    DataError
        If two of them differ in what came out of the same cell of the same run.

    Examples
    --------
    >>> from exactfit.lab import merge_trials
    >>> len(merge_trials([merge_trials([]), merge_trials([])]).rows)
    0
    """
    headers: dict[str, Header] = {}
    tables: list[Rows] = []
    failures: list[dict[str, Any]] = []
    for part in parts:
        headers |= {header["header"]: header for header in part.headers}
        positions = {name: position for position, name in enumerate(headers)}
        rows = part.rows.copy()
        rows["header"] = np.array([positions[header["header"]] for header in part.headers], dtype=np.int64)[
            part.rows["header"]
        ]
        tables.append(rows)
        failures += part.failures
    return Trials(tuple(headers.values()), _unique(_stack(tables), list(headers.values())), tuple(failures))


def _stack(tables: list[Rows]) -> Rows:
    n_classes = max((table["per_class"].shape[1] for table in tables), default=1)
    out = np.empty(sum(map(len, tables)), dtype=row_dtype(n_classes))
    out["per_class"] = -1
    start = 0
    for table in tables:
        part = out[start : start + len(table)]
        for name in (*PLAIN, "seconds"):
            part[name] = table[name]
        part["per_class"][:, : table["per_class"].shape[1]] = table["per_class"]
        start += len(table)
    return out


def sorted_rows(rows: Rows, headers: Sequence[Header]) -> tuple[Rows, NDArray[np.int64]]:
    """Rows by kind, N, n, lambda and run; and each row's kind."""
    names = [json.dumps(identity(header)) for header in headers]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    kinds = np.array([numbers[name] for name in names], dtype=np.int64)[rows["header"]] if names else rows["header"]
    order = np.lexsort((rows["run"], rows["lambda"], rows["n"], rows["N"], kinds))
    return rows[order], kinds[order]


def _unique(rows: Rows, headers: Sequence[Header]) -> Rows:
    rows, kinds = sorted_rows(rows, headers)
    if len(rows) == 0:
        return rows
    same = kinds[1:] == kinds[:-1]
    for name in KEY:
        same &= rows[name][1:] == rows[name][:-1]
    differ = (rows["detectors"][1:] != rows["detectors"][:-1]) | (rows["missed"][1:] != rows["missed"][:-1])
    if (same & differ).any():
        one, other = rows[int((same & differ).argmax()) :][:2]
        cell = ", ".join(f"{name} {one[name]}" for name in KEY)
        raise DataError(
            f"the same trial came out in two ways ({cell}): {one['detectors']} and {other['detectors']} detectors, "
            f"{one['missed']} and {other['missed']} points missed. Are they of different versions of NumPy?"
        )
    first: Rows = rows[np.concatenate([[True], ~same])]
    return first


def column(records: Any, name: str) -> NDArray[Any]:
    """One column of the records."""
    if isinstance(records, np.ndarray) or hasattr(records, "columns"):
        return np.asarray(records[name])
    return np.array([record[name] for record in records])


def column_names(records: Any) -> tuple[str, ...]:
    """The names of the columns."""
    if isinstance(records, np.ndarray):
        return tuple(records.dtype.names or ())
    names = records.columns if hasattr(records, "columns") else (records[0] if len(records) else ())
    return tuple(map(str, names))


def wilson(successes: NDArray[Any], runs: NDArray[Any]) -> tuple[Floats, Floats]:
    """Wilson's confidence interval of a probability: its lower and its upper ends.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trials import wilson
    >>> low, high = wilson(np.array([0, 5, 10]), np.array([10, 10, 10]))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237, 0.722]), array([0.278, 0.763, 1.   ]))
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + LEVEL) / 2)) ** 2
    runs = np.asarray(runs, dtype=np.float64)
    share = np.asarray(successes) / runs
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = np.sqrt(square * (share * (1 - share) + square / (4 * runs)) / runs) / (1 + square / runs)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def mean_interval(means: Floats, deviations: Floats, runs: NDArray[Any]) -> tuple[Floats, Floats]:
    """Student's confidence interval of a mean; not a number where there is but one run.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trials import mean_interval
    >>> low, high = mean_interval(np.array([5.0]), np.array([1.0]), np.array([4]))
    >>> low.round(3), high.round(3)
    (array([3.409]), array([6.591]))
    """
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore"):
        factors = np.where(runs > 1, stdtrit(np.maximum(runs - 1, 1), (1 + LEVEL) / 2), np.nan)
        half = factors * deviations / np.sqrt(runs)
    return means - half, means + half


def sample_interval(values: Floats) -> tuple[float, float, float]:
    """The mean of some runs and Student's interval of it."""
    spread = values.std(ddof=1, keepdims=True) if len(values) > 1 else np.full(1, np.nan)
    low, high = mean_interval(values.mean(keepdims=True), spread, np.array([len(values)]))
    return float(values.mean()), float(low[0]), float(high[0])


def growth_power(sizes: NDArray[Any], widths: NDArray[Any]) -> tuple[float, float]:
    """The power p of widths ~ sizes ** p: its mean over several curves (rows), and half of Student's interval.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trials import growth_power
    >>> sizes = np.array([1.0, 4.0, 16.0])
    >>> growth_power(sizes, np.array([sizes**0.5, 3 * sizes**0.5]))[0]
    0.5
    """
    mean, low, high = sample_interval(np.polyfit(np.log(sizes), np.log(np.transpose(widths)), 1)[0])
    return round(mean, 12), (high - low) / 2


def per_cell(records: Any) -> NDArray[np.void]:
    """Records of cells from records of trials: runs, means and 95 % intervals, sorted by cell.

    Parameters
    ----------
    records : records
        With the columns n, lambda, N, detectors, missed and seconds; or records of cells
        already, which come back as they are.

    Returns
    -------
    structured ndarray
        Its columns are those of ``CELL``; detectors are averaged over all runs,
        interpolating or not.

    Examples
    --------
    >>> from exactfit.lab.trials import per_cell
    >>> trial = {"n": 64, "lambda": 0.5, "N": 100, "seconds": 0.1}
    >>> cells = per_cell([trial | {"detectors": 7, "missed": 0}, trial | {"detectors": 9, "missed": 3}])
    >>> cells[["runs", "interpolating", "detectors"]].tolist()
    [(2, 1, 8.0)]
    """
    if "runs" in column_names(records):
        out = np.empty(len(records), dtype=CELL)
        for name in CELL.names or ():
            out[name] = column(records, name)
        return out
    if not len(records):
        return np.empty(0, dtype=CELL)
    axes = [column(records, name) for name in AXES]
    order = np.lexsort(axes[::-1])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([axis[order[1:]] != axis[order[:-1]] for axis in axes], axis=0)
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    out = np.empty(int(is_new.sum()), dtype=CELL)
    for name, axis in zip(AXES, axes, strict=True):
        out[name] = axis[order[is_new]]
    _fill(out, inverse, records)
    return out


def _fill(out: NDArray[np.void], inverse: NDArray[np.intp], records: Any) -> None:
    """Counts, means and intervals; ``inverse`` has the cell of every trial."""
    runs = np.bincount(inverse)

    def mean(values: NDArray[Any]) -> Floats:
        return np.bincount(inverse, weights=values, minlength=len(runs)) / runs

    detectors = column(records, "detectors").astype(np.float64)
    out["runs"], out["seconds"] = runs, mean(column(records, "seconds"))
    out["interpolating"] = np.bincount(inverse[column(records, "missed") == 0], minlength=len(runs))
    out["probability"] = out["interpolating"] / runs
    out["probability_low"], out["probability_high"] = wilson(out["interpolating"], runs)
    out["detectors"] = mean(detectors)
    spread = mean((detectors - out["detectors"][inverse]) ** 2)
    deviations = np.sqrt(spread * runs / np.maximum(runs - 1, 1))
    out["detectors_low"], out["detectors_high"] = mean_interval(out["detectors"], deviations, runs)


def border(rows: Floats, table: Floats) -> Floats:
    """For each column, the row from which on a probability is at least 99 %; not a number if none or all are.

    Probabilities are made monotone first, each column by itself; then the line is smoothed over the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trials import border
    >>> border(np.array([10.0, 20.0, 30.0]), np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.9]]))
    array([29.8,  nan])
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.optimize import isotonic_regression

    heights = np.full(table.shape[1], np.nan)
    for k, column in enumerate(table.T):
        there = np.isfinite(column)
        shares, places = isotonic_regression(column[there]).x, rows[there]
        first = int(np.searchsorted(shares, SURE))
        if 0 < first < len(shares):
            heights[k] = np.interp(SURE, shares[first - 1 : first + 1], places[first - 1 : first + 1])
    there = np.isfinite(heights)
    if there.sum() > 2:
        found = heights[there]
        mirrored = np.concatenate([2 * found[0] - found[:0:-1], found, 2 * found[-1] - found[-2::-1]])  # keeps the ends
        spread = max(LEAST_SPREAD, len(heights) / SMOOTH)
        heights[there] = gaussian_filter1d(mirrored, spread)[len(found) - 1 : 2 * len(found) - 1]
    return heights


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Lines as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def summary_text(trials: Trials) -> str:
    """The summary of trials as CSV: a line for every cell of every data set.

    Probabilities have Wilson's 95 % interval, mean numbers of detectors (over all runs,
    interpolating or not) Student's; ``seconds`` is the mean of a trial on one core.

    Examples
    --------
    >>> from exactfit.lab.trials import Trials, no_rows, summary_text
    >>> summary_text(Trials((), no_rows())).startswith("data,standing,digest,scheme,n,lambda,N,runs")
    True
    """
    lines: list[Sequence[Any]] = [COLUMNS]
    for header in trials.kinds():
        words = [header.get(name) for name in WORDS]
        lines += [[*words, *map(six_digits, cell)] for cell in per_cell(rows_of(trials, header)).tolist()]
    return csv_text(lines)


def rows_of(trials: Trials, header: Header) -> Rows:
    """The trials of the same kind as those of a header."""
    return trials.where(**{name: header.get(name) for name in IDENTITY})


def six_digits(value: float) -> str:
    """A number of a summary: more digits than it is worth; empty if it is none."""
    return str(value) if isinstance(value, int) else "" if np.isnan(value) else f"{value:.6g}"


def write_summary(path: Path, text: str) -> Path:
    """Write a summary, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
