"""From trials to cells: how often the networks interpolate, how wide they are, and how sure that is; as CSV.

Records are anything with named columns: a NumPy structured array, a data frame, a list of
dictionaries. A cell is a combination of n (width of the first layer), lambda (bound on the
biases) and N (number of points).
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .trials import IDENTITY, Header, Trials

Floats = NDArray[np.float64]

LEVEL = 0.95  # of all confidence intervals, as in the paper
AXES = ("n", "lambda", "N")
CELL = np.dtype(
    [
        ("n", np.int64),
        ("lambda", np.float64),
        ("N", np.int64),
        ("runs", np.int64),
        ("interpolating", np.int64),
        ("probability", np.float64),
        ("probability_low", np.float64),
        ("probability_high", np.float64),
        ("detectors", np.float64),
        ("detectors_low", np.float64),
        ("detectors_high", np.float64),
        ("seconds", np.float64),
    ]
)
WORDS = ("data", "standing", "digest", "scheme")
COLUMNS = (*WORDS, *(CELL.names or ()))  # of a summary


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


def wilson(successes: NDArray[Any], runs: NDArray[Any], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Wilson's confidence interval of a probability.

    Parameters
    ----------
    successes, runs : arrays of int
    level : float

    Returns
    -------
    low, high : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.statistics import wilson
    >>> low, high = wilson(np.array([0, 5, 10]), np.array([10, 10, 10]))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237, 0.722]), array([0.278, 0.763, 1.   ]))
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + level) / 2)) ** 2
    runs = np.asarray(runs, dtype=np.float64)
    share = np.asarray(successes) / runs
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = np.sqrt(square * (share * (1 - share) + square / (4 * runs)) / runs) / (1 + square / runs)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def mean_interval(means: Floats, deviations: Floats, runs: NDArray[Any], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Student's confidence interval of a mean; not a number where there is but one run.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.statistics import mean_interval
    >>> low, high = mean_interval(np.array([5.0]), np.array([1.0]), np.array([4]))
    >>> low.round(3), high.round(3)
    (array([3.409]), array([6.591]))
    """
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore"):
        factors = np.where(runs > 1, stdtrit(np.maximum(runs - 1, 1), (1 + level) / 2), np.nan)
        half = factors * deviations / np.sqrt(runs)
    return means - half, means + half


def growth_power(sizes: NDArray[Any], widths: NDArray[Any], level: float = LEVEL) -> tuple[float, float]:
    """The power p of widths ~ sizes ** p: its mean over several curves, and half of Student's interval.

    Parameters
    ----------
    sizes : array, shape (n_sizes,)
    widths : array, shape (n_curves, n_sizes)
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.statistics import growth_power
    >>> sizes = np.array([1.0, 4.0, 16.0])
    >>> growth_power(sizes, np.array([sizes**0.5, 3 * sizes**0.5]))[0]
    0.5
    """
    powers = np.polyfit(np.log(sizes), np.log(np.transpose(widths)), 1)[0]
    runs = np.array([len(powers)])
    low, high = mean_interval(powers.mean(keepdims=True), powers.std(ddof=1, keepdims=True), runs, level)
    return round(float(powers.mean()), 12), float(high[0] - low[0]) / 2


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
    >>> from exactfit.lab.statistics import per_cell
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


def summary_text(trials: Trials) -> str:
    """The summary of trials as CSV: a line for every cell of every data set.

    Probabilities have Wilson's 95 % interval, mean numbers of detectors (over all runs,
    interpolating or not) Student's; ``seconds`` is the mean of a trial on one core.

    Examples
    --------
    >>> from exactfit.lab.trials import Trials, no_rows
    >>> from exactfit.lab.statistics import summary_text
    >>> summary_text(Trials((), no_rows())).startswith("data,standing,digest,scheme,n,lambda,N,runs")
    True
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for header in trials.kinds():
        words = [header.get(name) for name in WORDS]
        for cell in per_cell(rows_of(trials, header)).tolist():
            writer.writerow([*words, *(_plain(value) for value in cell)])
    return out.getvalue()


def rows_of(trials: Trials, header: Header) -> object:
    """The trials of the same kind as those of a header."""
    return trials.where(**{name: header.get(name) for name in IDENTITY})


def _plain(value: float) -> str:
    """Six digits are more than any of these numbers is worth."""
    return str(value) if isinstance(value, int) else ("" if value != value else f"{value:.6g}")  # noqa: PLR0124  (NaN)


def write_summary(path: Path, trials: Trials) -> None:
    """Write the summary of trials as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(summary_text(trials), encoding="utf-8")
