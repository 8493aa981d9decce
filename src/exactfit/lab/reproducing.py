"""One experiment from beginning to end, and how far its cells are from those that the paper's authors published.

A second layer with no detector counts as one neuron in the published widths, and as none in ours. Widths are compared
with the published convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._support.parameters import fill_docstring
from .datasets import Dataset, load_data
from .experiment import INDEPENDENT, Experiment
from .figures import draw_figures
from .store import Store, read_trials, write_trials
from .sweep import Backend, Display, Shard, Sweep, SweepReport
from .trials import Trials, rows_of, summary_text, write_summary


@dataclass(frozen=True)
class PublishedCell:
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
    """Our trials of a published cell, and how many standard errors lie between the two.

    ``width`` is the mean with the published convention, ``n_empty`` the number of runs that it changes.
    """

    cell: PublishedCell
    runs: int
    probability: float
    width: float
    z_probability: float
    z_width: float
    n_empty: int = 0

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
    """Every published cell that has trials, with its z values.

    ``z_probability`` is that of the two-proportion test, ``z_width`` that of the two-sample test of means, with our
    spread for both; NaN where there is but one run.

    Examples
    --------
    >>> from exactfit.lab.reproducing import agreements
    >>> from exactfit.lab.trials import Trials, no_rows
    >>> agreements(Trials((), no_rows()))
    []
    """
    return [
        _agreement(cell, rows[here])
        for header in trials.kinds()
        for rows in [rows_of(trials, header)]
        for cell in PUBLISHED
        if cell.data == header.get("data") and (here := (rows["n"] == cell.n) & (rows["lambda"] == cell.lam)).any()
    ]


def pair_texts(trials: Trials) -> list[str]:
    """Mean widths of two digits against the published ones, and how much both grow from 80 % to 100 % of the images.

    Examples
    --------
    >>> from exactfit.lab.reproducing import pair_texts
    >>> from exactfit.lab.trials import Trials, no_rows
    >>> pair_texts(Trials((), no_rows()))
    []
    """
    out = []
    for name in dict.fromkeys(str(header.get("data")) for header in trials.headers):
        rows, theirs = trials.where(data=name), PUBLISHED_PAIRS.get(name)
        rows = rows[(rows["n"] == 5000) & (rows["lambda"] == 0.5)]
        if theirs is None or not len(rows):
            continue
        ours = {share: _mean_at(rows, share) for share in theirs}
        cells = ", ".join(f"{share} %: {ours[share]:.1f} against {theirs[share]:.1f}" for share in theirs)
        grown = " against ".join(f"{each[100] / each[80] - 1:+.1%}" for each in (ours, theirs))
        out.append(f"{name}, n = 5000, lambda = 0.5, mean width: {cells}; from 80 % to 100 %: {grown}")
    return out


def _mean_at(rows: Any, share: int) -> float:
    """The mean width on a percentage of the points."""
    return float(rows["detectors"][rows["N"] == round(share * int(rows["N"].max()) / 100)].mean())


def _agreement(cell: PublishedCell, rows: Any) -> Agreement:
    share, widths = float(np.mean(rows["missed"] == 0)), np.maximum(rows["detectors"], 1).astype(np.float64)
    z_share = z_of_shares(share, len(rows), cell.probability, cell.runs)
    z_width, n_empty = z_of_means(widths, cell.width, cell.runs), int(np.count_nonzero(rows["detectors"] == 0))
    return Agreement(cell, len(rows), share, float(widths.mean()), z_share, z_width, n_empty)


def cost_text(trials: Trials) -> str:
    """How many trials there are and the core-hours that they took, beside those of the published experiment.

    Examples
    --------
    >>> from exactfit.lab.reproducing import cost_text
    >>> from exactfit.lab.trials import Trials, no_rows
    >>> cost_text(Trials(({"header": "a", "experiment": "two-moons"},), no_rows()))
    '0 trials in 0 core-hours; published: 127,500 trials in 0.1 core-hours'
    """
    own = f"{len(trials.rows):,} trials in {trials.rows['seconds'].sum() / 3600:.4g} core-hours"
    names = PUBLISHED_COSTS.keys() & {str(header.get("experiment")) for header in trials.headers}
    if len(names) != 1:
        return own
    hours, count = PUBLISHED_COSTS[min(names)]
    return f"{own}; published: {count:,} trials in {hours:,g} core-hours"


def z_of_shares(ours: float, runs: int, theirs: float, their_runs: int) -> float:
    """Two-proportion test; 0 where both are 0 or both are 1.

    Examples
    --------
    >>> from exactfit.lab.reproducing import z_of_shares
    >>> round(z_of_shares(0.5, 100, 0.4, 100), 3), z_of_shares(1.0, 5, 1.0, 25)
    (1.421, 0.0)
    """
    pooled = (ours * runs + theirs * their_runs) / (runs + their_runs)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / their_runs))
    return (ours - theirs) / spread if spread > 0 else 0.0


def z_of_means(ours: Any, theirs: float, their_runs: int) -> float:
    """Two-sample test of means, with our spread for both.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.reproducing import z_of_means
    >>> round(z_of_means(np.array([1.0, 2.0, 3.0]), 1.0, 3), 3)
    1.225
    """
    spread = float(np.std(ours, ddof=1)) if len(ours) > 1 else math.nan
    return float((np.mean(ours) - theirs) / (spread * math.sqrt(1 / len(ours) + 1 / their_runs)))


Say = Callable[[str], None]

FOLDER = Path("exactfit-results")
# What docstrings of both kinds of sweeps say in the same words.
TOLD = fill_docstring(
    told="""say : callable
        Told what happens.

    Returns
    -------
    Reproduced"""
)


@dataclass(frozen=True)
class SweepOptions:
    """How to run an experiment.

    Parameters
    ----------
    store : Path, optional
        Where trials are kept; ``exactfit-results/<name>.jsonl`` by default.
    output : Path, optional
        Folder of summary and figures; ``exactfit-results/<name>`` by default.
    data : Path, optional
        Folder with the files of MNIST, Fashion-MNIST or CIFAR-10.
    start_from : Path, optional
        Packed trials to put into a new store first.
    runs : int, optional
        In place of the experiment's own.
    independent : bool
        Draw anew for every cell.
    backend : Backend, optional
        One process by default.
    shard : Shard, optional
        A part of the trials only; then nothing is drawn.

    Examples
    --------
    >>> from exactfit.lab import SweepOptions
    >>> SweepOptions(runs=5).independent
    False
    """

    store: Path | None = None
    output: Path | None = None
    data: Path | None = None
    start_from: Path | None = None
    runs: int | None = None
    independent: bool = False
    backend: Backend | None = None
    shard: Shard | None = None
    figures: bool = True


@dataclass(frozen=True)
class Reproduced:
    """What came of it: the sweep's report, and the files that were written."""

    report: SweepReport
    summary: Path | None
    figures: tuple[Path, ...] = field(default_factory=tuple)


@TOLD
def reproduce(experiment: Experiment, options: SweepOptions | None = None, say: Say = lambda text: None) -> Reproduced:
    """Run what a store lacks of an experiment, then write its summary and figures.

    Parameters
    ----------
    experiment : Experiment
    options : SweepOptions, optional
    {told}

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit.lab import SweepOptions, paper_experiment, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = SweepOptions(store=Path(folder, "lines.jsonl"), output=Path(folder), figures=False)
    ...     done = reproduce(paper_experiment("parallel-lines"), options)
    >>> done.report.added, done.report.failed, done.summary.name
    (1, 0, 'parallel-lines.csv')
    """
    options = options or SweepOptions()
    place, output = places(options, experiment.name, say)
    scheme = replace(experiment.scheme, kind=INDEPENDENT) if options.independent else experiment.scheme
    experiment = replace(experiment, scheme=scheme, runs=options.runs or experiment.runs)
    data = load_data(experiment, options.data)
    for each in data:
        if each.remark:
            say(each.remark)
    report = _run(experiment, data, place, options, say)
    if options.shard is not None:
        say("a shard is done: merge the stores of all shards with 'exactfit trials merge', then run without --shard")
        return Reproduced(report, None)
    trials = read_trials(place)
    summary = write_summary(output / f"{experiment.name}.csv", summary_text(trials))
    return Reproduced(report, summary, tuple(draw_figures(experiment, data, trials, output) if options.figures else ()))


def places(options: SweepOptions, name: str, say: Say) -> tuple[Path, Path]:
    """Where trials are kept, and where summary and figures go; told."""
    store, output = options.store or FOLDER / f"{name}.jsonl", options.output or FOLDER / name
    say(f"{name}: trials in {store}, summary and figures in {output}")
    return store, output


def _run(experiment: Experiment, data: list[Dataset], place: Path, options: SweepOptions, say: Say) -> SweepReport:
    if options.start_from is not None and place.exists():
        say(f"{place} is there already: {options.start_from.name} is not read")
    elif options.start_from is not None:
        write_trials(place, read_trials(options.start_from))
    with Store(place, say) as store:
        sweep = Sweep(experiment, data, store, options.shard or Shard())
        todo = sweep.todo
        say(f"{experiment.name}: {sweep.n_before} trials are there, {len(todo)} to run")
        with Display(experiment.name, todo, say) as display:
            report = sweep.run(options.backend or Backend(), display)
    say(f"{experiment.name}: {report.added} trials added, {report.failed} failed, {report.seconds:.3g} core-seconds")
    return report
