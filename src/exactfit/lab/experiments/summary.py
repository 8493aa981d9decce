"""Per-cell summaries: how many runs, how many interpolate, how wide, with intervals; as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ..statistics import CELL, per_cell
from .records import Header, Trials

WORDS = ("data", "standing", "digest", "scheme")
COLUMNS = (*WORDS, *(CELL.names or ()))


def summary_text(trials: Trials) -> str:
    """The summary of trials as CSV: a line for every cell of every data set.

    Probabilities have Wilson's 95 % interval, mean numbers of detectors (over all runs,
    interpolating or not) Student's; ``seconds`` is the mean of a trial on one core.

    Examples
    --------
    >>> from exactfit.lab.experiments.records import Trials, no_rows
    >>> from exactfit.lab.experiments.summary import summary_text
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
    return trials.where(**{name: header.get(name) for name in ("digest", "target", "scheme", "law", "center")})


def _plain(value: float) -> str:
    """Six digits are more than any of these numbers is worth."""
    return str(value) if isinstance(value, int) else ("" if value != value else f"{value:.6g}")  # noqa: PLR0124  (NaN)


def write_summary(path: Path, trials: Trials) -> None:
    """Write the summary of trials as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(summary_text(trials), encoding="utf-8")
