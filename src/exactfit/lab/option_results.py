"""What comes of a sweep over options: rows in a store, a summary, a figure for every data set."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, ParameterError
from .datasets import Dataset, load_data
from .option_sweep import OptionSweep, Reached, Setting, run_setting
from .reproducing import Reproduced, Say, SweepOptions, completed
from .store import Lines, line_of, read_lines
from .sweep import Backend, SweepReport, answers
from .trials import mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
Columns = dict[str, NDArray[np.float64]]

MEASURES = ("accuracy", "missed", "first_layer", "second_layer", "neurons", "parameters", "seconds")
ROW_HEIGHT = 0.32  # inches of a cell's line in a figure
MOST_LINES = 60  # cells in one figure: more would be higher than a page


@dataclass(frozen=True, eq=False)
class Results:
    """What a store holds: rows of data set, cell, run and what came out."""

    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: Path) -> Results:
        """All that did not fail, each once."""
        found = {}
        for number, row in enumerate(read_lines(path), 1):
            if not {"digest", "setting", "run"} <= row.keys():
                raise DataError(f"{path.name}, line {number} is of another kind of sweep: name another store")
            if not row["error"]:
                found[_key(row)] = row
        return cls(tuple(found.values()))

    def of(self, data: Dataset, held_out: float, setting: Setting) -> Columns:
        """The rows of one cell by column."""
        wanted = _name(data.digest, held_out, setting.as_dict())
        rows = [row for row in self.rows if _name(row["digest"], row["held_out"], row["setting"]) == wanted]
        return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in MEASURES}


def _name(digest: str, held_out: float, setting: Row) -> str:
    return json.dumps([digest, held_out, setting])


def _key(row: Row) -> tuple[str, int]:
    return _name(row["digest"], row["held_out"], row["setting"]), row["run"]


Work = tuple[int, Setting, int]  # which data set, which cell, which run


def to_do(sweep: OptionSweep, data: Sequence[Dataset], done: Results) -> list[Work]:
    """What a store lacks, run by run."""
    there = {_key(row) for row in done.rows}
    return [
        (place, setting, run)
        for run in range(sweep.runs)
        for place, each in enumerate(data)
        for setting in sweep.settings
        if (_name(each.digest, sweep.held_out, _stored(setting)), run) not in there
    ]


def _stored(setting: Setting) -> Row:
    """A setting as it comes back from JSON."""
    plain: Row = json.loads(json.dumps(setting.as_dict()))
    return plain


def run_sweep(
    sweep: OptionSweep, data: Sequence[Dataset], works: Sequence[Work], store: Lines, backend: Backend
) -> Iterator[Reached]:
    """Run, write each as it comes, and pass it on."""
    with answers(backend, _run_work, (data, sweep.held_out), works) as arriving:
        for (place, setting, run), outcome in arriving:
            own = data[place]
            row = {"digest": own.digest, "data": own.name, "standing": own.standing, "held_out": sweep.held_out}
            store.write(line_of({**row, "setting": _stored(setting), "run": run, **asdict(outcome)}))
            yield outcome


def _run_work(held: tuple[Sequence[Dataset], float], work: Work) -> tuple[Work, Reached]:
    (data, held_out), (place, setting, run) = held, work
    return work, run_setting(data[place], setting, run, held_out)


def summary_of(sweep: OptionSweep, data: Sequence[Dataset], results: Results) -> str:
    """A line for every cell as CSV: runs, share that interpolates, means, and Student's 95 % interval of accuracy."""
    names = list(dict.fromkeys(name for setting in sweep.settings for name, _ in setting.options))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["data", "standing", "construction", *names, "runs", "interpolating"]
    writer.writerow([*head, "accuracy", "accuracy_low", "accuracy_high", *MEASURES[2:]])
    for each in data:
        for setting, found in _cells(sweep, each, results):
            means = [_short(found[name].mean()) for name in MEASURES[2:]]
            options = dict(setting.options)
            row = [each.name, each.standing, setting.construction, *(options.get(name, "") for name in names)]
            interval = [_short(value) for value in _accuracy(found)]
            writer.writerow([*row, len(found["missed"]), _short((found["missed"] == 0).mean()), *interval, *means])
    return out.getvalue()


def _cells(sweep: OptionSweep, data: Dataset, results: Results) -> Iterator[tuple[Setting, Columns]]:
    """The cells that have rows."""
    for setting in sweep.settings:
        found = results.of(data, sweep.held_out, Setting(setting.construction, tuple(_stored(setting).items())[1:]))
        if len(found["missed"]):
            yield setting, found


def _accuracy(found: Columns) -> tuple[float, float, float]:
    """Mean and interval; not a number for one run."""
    values = found["accuracy"]
    spread = np.array([values.std(ddof=1) if len(values) > 1 else np.nan])
    low, high = mean_interval(np.array([values.mean()]), spread, np.array([len(values)]))
    return float(values.mean()), float(low[0]), float(high[0])


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"


def draw_sweep(sweep: OptionSweep, data: Dataset, results: Results) -> Figure:
    """Accuracy and number of neurons of every cell, a line for each."""
    from matplotlib.figure import Figure

    from ..plots.style import color
    from .figures import note_below

    cells = list(_cells(sweep, data, results))[:MOST_LINES]
    figure = Figure(figsize=(9.0, 1.6 + ROW_HEIGHT * len(cells)))
    left, right = figure.subplots(1, 2, sharey=True)
    for place, (_, found) in enumerate(cells):
        mean, low, high = _accuracy(found)
        left.plot(np.clip([100 * low, 100 * high], 0, 100), [place, place], color=color(0), alpha=0.5)
        left.plot([100 * mean], [place], marker="o", color=color(0))
        if found["neurons"].any():  # it is a network
            right.plot([found["neurons"].mean()], [place], marker="o", color=color(1))
    left.set_yticks(range(len(cells)), [str(setting) for setting, _ in cells])
    left.invert_yaxis()
    left.set_xlabel("accuracy on points held out, %")
    right.set(xscale="log", xlabel="neurons")
    figure.suptitle(sweep.title, x=0.01, ha="left", fontsize=12)
    runs = max(len(found["missed"]) for _, found in cells)
    origin = f"data: {data.name}, {data.standing}, SHA-256 {data.digest[:16]}"
    note_below(figure, f"{origin}; {sweep.held_out:.0%} held out, {runs} splits; lines: 95 % confidence")
    return figure


def sweep_options(sweep: OptionSweep, options: SweepOptions | None = None, say: Say = lambda text: None) -> Reproduced:
    r"""Run what a store lacks of a sweep over options, then write its summary and a figure for every data set.

    Parameters
    ----------
    sweep : OptionSweep
    options : SweepOptions, optional
        Of which ``start_from`` and ``independent`` have no meaning here, and are refused.
    say : callable
        Told what happens.

    Returns
    -------
    Reproduced

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit.lab import SweepOptions, load_sweep, sweep_options
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.toml")
    ...     _ = path.write_text('runs = 1\nheld_out = 0.25\n[data]\nloader = "load_iris"\n[grid]\nmargin = [0]')
    ...     options = SweepOptions(store=Path(folder, "iris.jsonl"), output=Path(folder), figures=False)
    ...     done = sweep_options(load_sweep(path), options)
    >>> done.report.added, done.report.failed
    (1, 0)
    """
    options = completed(options or SweepOptions(), sweep.name, say)
    if options.start_from is not None or options.independent:
        raise ParameterError("a sweep over options has nothing to start from, and its runs are independent anyway")
    assert options.store is not None
    assert options.output is not None
    sweep = replace(sweep, runs=options.runs or sweep.runs)
    data, report = load_data(sweep, options.data), SweepReport()
    with Lines(options.store, say) as store:
        works = to_do(sweep, data, Results.read(options.store))
        report.before = sweep.runs * len(data) * len(sweep.settings) - len(works)
        mine = works if options.shard is None else works[options.shard.index :: options.shard.count]
        say(f"{sweep.name}: {report.before} trials are there, {len(mine)} to run")
        for outcome in run_sweep(sweep, data, mine, store, options.backend or Backend()):
            report.failed += bool(outcome.error)
            report.added += not outcome.error
            report.seconds += outcome.seconds
    say(f"{sweep.name}: {report.added} trials added, {report.failed} failed, {report.seconds:.3g} seconds of building")
    results = Results.read(options.store)
    summary = options.output / f"{sweep.name}.csv"
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.write_text(summary_of(sweep, data, results), encoding="utf-8")
    return Reproduced(report, summary, tuple(_draw(sweep, data, results, options) if options.figures else ()))


def _draw(sweep: OptionSweep, data: list[Dataset], results: Results, options: SweepOptions) -> list[Path]:
    """A figure for every data set that has rows."""
    from ..plots import style
    from .figures import save_figure

    assert options.output is not None
    written: list[Path] = []
    for each in data:
        suffix = f"-{each.name}" if len(data) > 1 else ""
        if any(row["digest"] == each.digest for row in results.rows):
            with style():
                written += save_figure(draw_sweep(sweep, each, results), options.output / f"{sweep.name}{suffix}")
    return written
