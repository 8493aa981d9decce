"""How far cells are from those that the paper's authors published, in probability and width; and what both cost.

A second layer with no detector counts as one neuron in the published widths, and as none in ours. Widths are compared
with the published convention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .trials import Trials


class PublishedCell(NamedTuple):
    """A cell of the paper: interpolation probability and mean second-layer width over some runs."""

    data: str
    n: int
    lam: float
    runs: int
    probability: float
    width: float


PUBLISHED = (
    PublishedCell("two-moons", 100, 0.5, 50, 0.66, 8.0),
    PublishedCell("two-moons", 200, 0.5, 50, 0.98, 6.3),
    PublishedCell("two-moons", 150, 1.0, 50, 0.84, 6.5),
    PublishedCell("two-moons", 300, 2.0, 50, 0.90, 6.9),
    PublishedCell("two-moons", 500, 0.0, 50, 0.00, 14.0),
    PublishedCell("two-moons", 500, 1.0, 50, 1.00, 5.3),
    PublishedCell("mnist", 140, 0.0, 25, 0.72, 37_262),
    PublishedCell("mnist", 260, 1.0, 25, 0.76, 35_293),
    PublishedCell("mnist", 300, 0.5, 25, 1.00, 24_864),
    PublishedCell("mnist", 500, 0.0, 25, 1.00, 17_116),
    PublishedCell("mnist", 500, 2.0, 25, 0.84, 34_750),
    PublishedCell("cifar10", 450, 0.0, 10, 0.5, 55_837),
    PublishedCell("cifar10", 900, 1.5, 10, 0.5, 55_952),
    PublishedCell("cifar10", 1500, 0.0, 10, 1.0, 52_549),
)
# Published mean widths at n = 5000, lambda = 0.5, by the percentage of the images; 25 runs over one family of subsets.
PUBLISHED_PAIRS = {
    "mnist-1-vs-8": {10: 21.8, 20: 36.7, 40: 54.4, 50: 59.0, 60: 64.5, 80: 73.6, 90: 78.9, 100: 82.4},
    "mnist-1-vs-9": {10: 17.6, 20: 21.8, 40: 32.8, 50: 41.6, 60: 48.6, 80: 53.7, 90: 61.2, 100: 60.8},
}
# Core-hours of the published trials, and how many these were: grid times runs. Two Moons took 50 runs a cell then.
PUBLISHED_COSTS = {
    "two-moons": (0.1, 2550 * 50),
    "sample-size": (40.0, 100 * 100),
    "mnist-pairs": (2.0, 60 * 25),
    "mnist": (1324.0, 650 * 25),
    "mnist-wide": (709.0, 57 * 25),
    "cifar10": (595.0, 110 * 10),
    "cifar10-wide": (1158.0, 57 * 5),
}


@dataclass(frozen=True)
class Agreement:
    """Our trials of a published cell, and how many standard errors are between the two.

    ``width`` is the mean with the published convention, ``n_empty`` the number of runs that it changes. Tests are the
    two-proportion test and the two-sample test of means, with our spread for both.
    """

    cell: PublishedCell
    runs: int
    probability: float
    width: float
    z_probability: float
    z_width: float
    n_empty: int = 0

    @classmethod
    def of(cls, cell: PublishedCell, rows: pd.DataFrame) -> Agreement:
        """Compare our trials of a cell."""
        probability, widths = float(np.mean(rows["missed"] == 0)), np.maximum(rows["detectors"].to_numpy(), 1)
        z_probability = z_of_fractions(probability, len(rows), cell.probability, cell.runs)
        z_width, n_empty = z_of_means(widths, cell.width, cell.runs), int((rows["detectors"] == 0).sum())
        return cls(cell, len(rows), probability, float(widths.mean()), z_probability, z_width, n_empty)

    def __str__(self) -> str:
        cell = self.cell
        parts = [
            f"{cell.data}, n = {cell.n}, lambda = {cell.lam:g}: {self.runs} runs against {cell.runs}",
            f"probability {self.probability:.3g} against {cell.probability:g}, z {self.z_probability:+.2f}",
            f"width {self.width:.6g} against {cell.width:g}, z {self.z_width:+.2f}",
        ]
        if self.n_empty:
            parts.append(f"{self.n_empty} runs without a detector counted as one neuron, as in the published widths")
        return "; ".join(parts)


def agreements(trials: Trials) -> list[Agreement]:
    """Return every published cell that has trials, with its z values."""
    found = []
    for header in trials.kinds():
        rows = trials.of(header)
        for cell in PUBLISHED if "n" in rows else ():
            own = rows[(rows["n"] == cell.n) & (rows["lambda"] == cell.lam)]
            if cell.data == header.get("data") and len(own):
                found.append(Agreement.of(cell, own))
    return found


def pair_texts(trials: Trials) -> list[str]:
    """Return mean widths of two digits beside the published ones, and their growth from 80 % to 100 % of the images."""
    out = []
    for name, theirs in PUBLISHED_PAIRS.items():
        headers = [key for key, header in trials.headers.items() if header.get("data") == name]
        if not headers or "n" not in trials.rows:
            continue
        rows = trials.rows[trials.rows["header"].isin(headers)]
        rows = rows[(rows["n"] == 5000) & (rows["lambda"] == 0.5)]
        if not len(rows):
            continue
        means, largest = rows.groupby("N")["detectors"].mean(), int(rows["N"].max())
        ours = {percent: float(means.get(round(percent * largest / 100), math.nan)) for percent in theirs}
        cells = ", ".join(f"{percent} %: {ours[percent]:.1f} against {theirs[percent]:.1f}" for percent in theirs)
        grown = " against ".join(f"{each[100] / each[80] - 1:+.1%}" for each in (ours, theirs))
        out.append(f"{name}, n = 5000, lambda = 0.5, mean width: {cells}; from 80 % to 100 %: {grown}")
    return out


def cost_text(trials: Trials) -> str:
    """Return the number of trials and the core-hours that they took, beside those of the published experiment.

    Examples
    --------
    >>> from experiments.published import cost_text
    >>> from experiments.trials import Trials
    >>> cost_text(Trials({"a": {"header": "a", "experiment": "two-moons"}}))
    '0 trials in 0 core-hours; published: 127,500 trials in 0.1 core-hours'
    """
    seconds = trials.rows["seconds"].sum() if len(trials.rows) else 0.0
    own = f"{len(trials.rows):,} trials in {seconds / 3600:.4g} core-hours"
    names = PUBLISHED_COSTS.keys() & {str(header.get("experiment")) for header in trials.headers.values()}
    if len(names) != 1:
        return own
    hours, count = PUBLISHED_COSTS[min(names)]
    return f"{own}; published: {count:,} trials in {hours:,g} core-hours"


def z_of_fractions(ours: float, runs: int, theirs: float, their_runs: int) -> float:
    """Two-proportion test; 0 where both are 0 or both are 1.

    Examples
    --------
    >>> from experiments.published import z_of_fractions
    >>> round(z_of_fractions(0.5, 100, 0.4, 100), 3), z_of_fractions(1.0, 5, 1.0, 25)
    (1.421, 0.0)
    """
    pooled = (ours * runs + theirs * their_runs) / (runs + their_runs)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / their_runs))
    return (ours - theirs) / spread if spread > 0 else 0.0


def z_of_means(ours: Any, theirs: float, their_runs: int) -> float:
    """Two-sample test of means, with our spread for both; NaN where there is but one run.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.published import z_of_means
    >>> round(z_of_means(np.array([1.0, 2.0, 3.0]), 1.0, 3), 3)
    1.225
    """
    spread = float(np.std(ours, ddof=1)) if len(ours) > 1 else math.nan
    return float((np.mean(ours) - theirs) / (spread * math.sqrt(1 / len(ours) + 1 / their_runs)))
