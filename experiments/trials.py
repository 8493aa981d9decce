"""Trials as a data frame, merged; and what they say of every cell: how often networks interpolate, how wide they are.

A cell is a combination of n (width of the first layer), lambda (bound on the biases) and N (number of points), or a
setting (a construction with its options). Records are whatever pandas makes a frame of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactfit import DataError

Floats = NDArray[np.float64]
Header = dict[str, Any]

# What a cell's outcome depends on, beside the run and the cell.
IDENTITY = ("digest", "target", "scheme", "law", "center", "detectors", "held_out")
AXES = ("n", "lambda", "N", "setting")  # of sweeps of any kind
ESTIMATED = ("detectors", "accuracy")  # measures whose means have intervals
SIZES = ("first_layer", "second_layer", "neurons", "parameters")  # measures whose means have none
WORDS = ("data", "standing", "digest", "scheme")  # of a header that a summary shows
LEVEL = 0.95  # of all confidence intervals, as in the paper
SURE = 0.99  # fraction of runs from which on a width is said to interpolate, as in the paper
SMOOTH = 25  # columns over this is the spread of the smoothing along a line, in columns
LEAST_SPREAD = 0.8  # columns, where there are few of them


@dataclass(frozen=True, eq=False)
class Trials:
    """Headers by name, which say on what and with what; a row for each trial that did not fail; failures as stored.

    Rows have the name of their header, run, axes, measures and seconds.
    """

    headers: dict[str, Header] = field(default_factory=dict)
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def kinds(self) -> list[Header]:
        """Return one header for each kind of trials, by data and scheme."""
        return list({identity(header): header for header in self.headers.values()}.values())

    def of(self, header: Header) -> pd.DataFrame:
        """Return the trials of the same kind as those of a header."""
        names = [name for name, other in self.headers.items() if identity(other) == identity(header)]
        return self.rows[self.rows["header"].isin(names)] if len(self.rows) else self.rows

    def in_order(self) -> pd.DataFrame:
        """Return the rows by kind, cell and run, with the number of their kind as a column ``kind``."""
        identities = {name: identity(header) for name, header in self.headers.items()}
        numbers = {one: number for number, one in enumerate(dict.fromkeys(identities.values()))}
        kinds = self.rows["header"].map({name: numbers[one] for name, one in identities.items()})
        by = [name for name in ("kind", "N", "n", "lambda", "setting", "run") if name in {"kind", *self.rows.columns}]
        return self.rows.assign(kind=kinds).sort_values(by, kind="stable")


def identity(header: Header) -> str:
    """Return what two headers must share for their rows to be comparable."""
    return json.dumps([header.get(name) for name in IDENTITY])


def axes_of(rows: pd.DataFrame) -> list[str]:
    """Return the columns that say which cell a row is of."""
    return [name for name in AXES if name in rows]


def merge_trials(parts: Iterable[Trials]) -> Trials:
    """Return all trials of several stores, each once; refuse two outcomes of one trial."""
    parts = list(parts)
    headers = {name: header for part in parts for name, header in part.headers.items()}
    failures = [failure for part in parts for failure in part.failures]
    frames = [part.rows for part in parts if len(part.rows)]
    if not frames:
        return Trials(headers, pd.DataFrame(), failures)
    if len({frozenset(frame.columns) for frame in frames}) > 1:
        raise DataError("these are trials of different kinds of sweeps: merge those of one kind")
    rows = Trials(headers, pd.concat(frames, ignore_index=True)).in_order()
    key, outcome = ["kind", "run", *axes_of(rows)], [name for name in ("missed", *ESTIMATED) if name in rows]
    rows = rows.drop_duplicates([*key, *outcome])
    twice = rows[rows.duplicated(key, keep=False)]
    if len(twice):
        one, other = (
            ", ".join(f"{name} {value}" for name, value in row.items())
            for row in twice[[*key[1:], *outcome]].head(2).to_dict("records")
        )
        raise DataError(
            f"the same trial came out in two ways ({one}; {other}): are they of different versions of NumPy?"
        )
    return Trials(headers, rows.drop(columns="kind").reset_index(drop=True), failures)


def wilson(successes: Any, runs: Any) -> tuple[Floats, Floats]:
    """Return Wilson's confidence interval of a probability: its lower and its upper ends.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.trials import wilson
    >>> low, high = wilson(np.array([0, 5, 10]), np.array([10, 10, 10]))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237, 0.722]), array([0.278, 0.763, 1.   ]))
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + LEVEL) / 2)) ** 2
    runs = np.asarray(runs, dtype=np.float64)
    fraction = np.asarray(successes) / runs
    middle = (fraction + square / (2 * runs)) / (1 + square / runs)
    half = np.sqrt(square * (fraction * (1 - fraction) + square / (4 * runs)) / runs) / (1 + square / runs)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def mean_interval(means: Any, deviations: Any, runs: Any) -> tuple[Any, Any]:
    """Return Student's confidence interval of a mean; not a number where there is but one run."""
    from scipy.special import stdtrit

    runs = np.asarray(runs)
    half = stdtrit(np.maximum(runs - 1, 1), (1 + LEVEL) / 2) * deviations / np.sqrt(runs)
    half = np.where(runs > 1, half, np.nan)
    return means - half, means + half


def growth_power(sizes: Any, widths: Any) -> tuple[float, float]:
    """Return the power p of widths ~ sizes ** p: its mean over several curves (rows), and half of Student's interval.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.trials import growth_power
    >>> sizes = np.array([1.0, 4.0, 16.0])
    >>> growth_power(sizes, np.array([sizes**0.5, 3 * sizes**0.5]))[0]
    0.5
    """
    powers = np.polyfit(np.log(sizes), np.log(np.transpose(widths)), 1)[0]
    low, high = mean_interval(powers.mean(), powers.std(ddof=1) if len(powers) > 1 else np.nan, len(powers))
    return round(float(powers.mean()), 12), float(high - low) / 2


def per_cell(records: Any) -> pd.DataFrame:
    """Return records of cells from records of trials: runs, means over all runs and 95 % intervals, sorted by cell.

    Records of cells come back as they are.

    Examples
    --------
    >>> from experiments.trials import per_cell
    >>> trial = {"n": 64, "lambda": 0.5, "N": 100, "seconds": 0.1}
    >>> cells = per_cell([trial | {"detectors": 7, "missed": 0}, trial | {"detectors": 9, "missed": 3}])
    >>> cells[["runs", "interpolating", "detectors"]].values.tolist()
    [[2.0, 1.0, 8.0]]
    """
    rows = pd.DataFrame(records)
    if "runs" in rows or not len(rows):
        return rows
    groups = rows.assign(interpolating=rows["missed"] == 0).groupby(axes_of(rows))
    cells = groups.agg(runs=("missed", "size"), interpolating=("interpolating", "sum"))
    cells["probability"] = cells["interpolating"] / cells["runs"]
    cells["probability_low"], cells["probability_high"] = wilson(cells["interpolating"], cells["runs"])
    for name in ESTIMATED:
        if name in rows:
            mean, deviation = groups[name].mean(), groups[name].std()
            cells[name] = mean
            cells[f"{name}_low"], cells[f"{name}_high"] = mean_interval(mean, deviation, cells["runs"])
    for name in (*SIZES, "seconds"):
        if name in rows:
            cells[name] = groups[name].mean()
    return cells.reset_index()


def border(rows: Floats, table: Floats) -> Floats:
    """Return for each column the row from which on a probability is at least 99 %; NaN if none or all are.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.trials import border
    >>> border(np.array([10.0, 20.0, 30.0]), np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.9]]))
    array([29.8,  nan])
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.optimize import isotonic_regression

    # Probabilities are made monotone first, each column by itself: few runs make them jump up and down.
    heights = np.full(table.shape[1], np.nan)
    for k, column in enumerate(table.T):
        there = np.isfinite(column)
        fractions, places = isotonic_regression(column[there]).x, rows[there]
        first = int(np.searchsorted(fractions, SURE))
        if 0 < first < len(fractions):
            heights[k] = np.interp(SURE, fractions[first - 1 : first + 1], places[first - 1 : first + 1])
    there = np.isfinite(heights)
    if there.sum() > 2:
        # Then the line is smoothed, mirrored at its ends in value and place, which keeps them where they are.
        found = heights[there]
        mirrored = np.concatenate([2 * found[0] - found[:0:-1], found, 2 * found[-1] - found[-2::-1]])
        spread = max(LEAST_SPREAD, len(heights) / SMOOTH)
        heights[there] = gaussian_filter1d(mirrored, spread)[len(found) - 1 : 2 * len(found) - 1]
    return heights


def summary_text(trials: Trials) -> str:
    """Return the summary of trials as CSV: a line for every cell of every data set, with six digits.

    Probabilities have Wilson's 95 % interval, means (over all runs, interpolating or not) Student's; ``seconds`` is
    the mean of a trial on one core.
    """
    cells = []
    for header in trials.kinds():
        own = per_cell(trials.of(header))
        words = {name: header.get(name) for name in WORDS}
        cells.append(pd.DataFrame(words, index=own.index).join(own))
    if not cells:
        return ",".join(WORDS) + "\n"
    return str(pd.concat(cells).to_csv(index=False, float_format="%.6g", lineterminator="\n"))
