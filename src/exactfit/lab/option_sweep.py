"""Sweeps over options: any construction, whatever it can be told, and how it does on points held out.

::

    title = "Wine"
    runs = 10  # of every cell, each with a split of its own
    held_out = 0.25  # of every class; the rest is built on

    [data]  # as in other sweeps
    file = "wine.csv"
    label = "kind"

    [grid]  # or several: [[grid]]; each is a product of its axes
    construction = ["default", "lifted-baum", "1-nn"]  # "default", without it: InterpolatingClassifier
    detectors = ["mask", "weighted"]
    margin = [0, "25%"]

An axis is a value or a list of values: ``construction``, or an option of a construction. One that does not have the
option is run once, without it.
"""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import counted
from ..constructions import CONSTRUCTORS
from ..estimators import InterpolatingClassifier
from ..exceptions import DataError, InterpolationWarning, ParameterError
from .comparison import hold_out
from .datasets import Dataset, load_data
from .experiment import (
    FULL,
    TOP,
    Experiment,
    check_keys,
    check_trials,
    common_of,
    experiment_of,
    plain_values,
    read_toml,
    tables_of,
)
from .figures import draw_settings
from .harness import BASELINES, Built, constructed
from .reproducing import TOLD, Reproduced, Say, SweepOptions, places
from .store import Lines, line_of, read_lines
from .sweep import Backend, SweepReport, answers
from .trials import csv_text, sample_interval, six_digits, write_summary

Columns = dict[str, NDArray[np.float64]]
Options = dict[str, Any]

DEFAULT = "default"  # the estimator with its defaults
TRAINING = 60.0  # seconds that a network which is trained may take
MEASURES = ("accuracy", "missed", "first_layer", "second_layer", "neurons", "parameters", "seconds")


@dataclass(frozen=True)
class Setting:
    """A cell of the grid: a construction, and what it is told."""

    construction: str
    options: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return ", ".join([self.construction, *(f"{name} {value}" for name, value in self.options)])

    def stored(self) -> Options:
        """As a store has it."""
        return {"construction": self.construction, **dict(self.options)}


@dataclass(frozen=True)
class Reached:
    """What came out of one cell of one run. Sizes are 0 for what is not a network, or has no such layer."""

    accuracy: float = 0.0  # on the points held out, by predict
    missed: int = 0  # points built on that are not right
    first_layer: int = 0
    second_layer: int = 0
    neurons: int = 0
    parameters: int = 0
    seconds: float = 0.0  # to build
    error: str = ""


@dataclass(frozen=True)
class OptionSweep:
    """What to run.

    Attributes
    ----------
    name, title : str
    runs : int
    held_out : float
        Share of every class.
    data : tuple of dict
        How to get each data set.
    settings : tuple of Setting
        All cells, each once.
    folder : Path or None
        Where the names of data files start from.

    Examples
    --------
    >>> from exactfit.lab.option_sweep import OptionSweep, Setting
    >>> cells = Setting("default", ()), Setting("1-nn", ())
    >>> OptionSweep("iris", "Iris", 3, 0.25, ({"loader": "load_iris"},), cells).runs
    3
    """

    name: str
    title: str
    runs: int
    held_out: float
    data: tuple[Options, ...]
    settings: tuple[Setting, ...]
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"<OptionSweep: {self.name}, {counted(self.runs, 'run')} of {counted(len(self.settings), 'setting')}>"


def load_sweep(path: Path, extent: str = FULL) -> Experiment | OptionSweep:
    r"""A sweep from a TOML file: over options if it holds points out, else over widths, biases and sample sizes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit.lab import load_sweep
    >>> head = 'runs = 3\nheld_out = 0.25\n[data]\nloader = "load_iris"'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.toml")
    ...     _ = path.write_text(f'{head}\n[grid]\nmargin = [0, "10%"]')
    ...     [str(setting) for setting in load_sweep(path).settings]
    ['default, margin 0', 'default, margin 10%']
    """
    table, name = read_toml(path, extent, TOP | {"held_out"}), path.stem
    if "held_out" not in table:
        return experiment_of(table, name, path.parent)
    check_keys(f"{name}.toml", table, {"title", "runs", "held_out", "data", "grid", *(table.keys() - TOP)})
    share = plain_values(table["held_out"])
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError(f"{name}.toml: held_out must be a share between 0 and 1, got {share!r}")
    return OptionSweep(
        **common_of(table, name, path.parent),
        held_out=float(share),
        settings=settings_of([plain_values(each) for each in tables_of(table, "grid", name)], f"{name}.toml"),
    )


def settings_of(grids: Sequence[Mapping[str, Any]], where: str) -> tuple[Setting, ...]:
    """All cells of some grids, each once.

    Examples
    --------
    >>> from exactfit.lab.option_sweep import settings_of
    >>> found = settings_of([{"construction": ["default", "1-nn"], "detectors": ["mask", "weighted"]}], "my.toml")
    >>> [str(setting) for setting in found]
    ['default, detectors mask', 'default, detectors weighted', '1-nn']
    """
    found: dict[Setting, None] = {}
    for grid in grids:
        axes = {name: _axis(value) for name, value in grid.items()}
        names = axes.pop("construction", (DEFAULT,))
        used = set[str]()
        for construction in names:
            known = _options_of(str(construction), where) & axes.keys()
            used |= known
            own = {name: values for name, values in axes.items() if name in known}
            for values in product(*own.values()):
                found[Setting(str(construction), tuple(zip(own, values, strict=True)))] = None
        if axes.keys() - used:
            raise ParameterError(
                f"{where}: none of {', '.join(map(str, names))} has the option {', '.join(sorted(axes.keys() - used))}"
            )
    return tuple(found)


def _axis(value: Any) -> tuple[Any, ...]:
    """A value or a list of values; lists within a list are values."""
    several = value if isinstance(value, list) else [value]
    return tuple(tuple(one) if isinstance(one, list) else one for one in several)


def _options_of(construction: str, where: str) -> set[str]:
    if construction == DEFAULT:
        return set(InterpolatingClassifier().get_params()) - {"random_state", "verbose"}
    if construction in BASELINES:
        return set()
    if construction not in CONSTRUCTORS:
        names = ", ".join([DEFAULT, *CONSTRUCTORS, *BASELINES])
        raise ParameterError(f"{where}: no construction is called {construction!r}: choose from {names}")
    return {one.name for one in fields(CONSTRUCTORS[construction])}  # type: ignore[arg-type]


def run_setting(data: Dataset, setting: Setting, run: int, held_out: float) -> Reached:
    """One cell of one run: hold out, build, look. The split depends on the run alone, so that cells share it.

    Examples
    --------
    >>> from exactfit.lab import load_dataset
    >>> from exactfit.lab.option_sweep import Setting, run_setting
    >>> found = run_setting(load_dataset("two-moons"), Setting("1-nn", ()), 0, 0.25)
    >>> found.accuracy, found.missed
    (1.0, 0)
    """
    try:
        kept, others = hold_out(data.y, np.random.default_rng(run), held_out)
        X, y = data.X[kept], data.y[kept]
        began = time.perf_counter()
        built = _build(setting, X, y, run)
        seconds = time.perf_counter() - began
        answer = built.predict or built.decide
        widths = [layer.n_units for layer in built.layers]
        return Reached(
            accuracy=float(np.mean(answer(data.X[others]) == data.y[others])),
            missed=int(np.count_nonzero(answer(X) != y)),
            first_layer=widths[0] if widths else 0,
            second_layer=widths[1] if len(widths) > 2 else 0,
            neurons=sum(widths),
            parameters=sum(layer.n_parameters for layer in built.layers),
            seconds=seconds,
        )
    except Exception:  # a cell that fails does not end the sweep
        return Reached(error=traceback.format_exc())


def _build(setting: Setting, X: NDArray[Any], y: NDArray[np.int64], run: int) -> Built:
    options = dict(setting.options)
    if setting.construction == DEFAULT:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterpolationWarning)
            model = InterpolatingClassifier(**options, random_state=run).fit(X, y)
        return Built(model.predict, model.network_.layers)
    if setting.construction in BASELINES:
        return BASELINES[setting.construction].build(X, y, run, TRAINING)
    constructor: Any = CONSTRUCTORS[setting.construction]
    return constructed(setting.construction, replace(constructor, **options)).build(X, y, run, TRAINING)


Work = tuple[int, Setting, int]  # which data set, which cell, which run
Found = dict[str, dict[int, Options]]  # rows by their cell, and by their run


def read_results(path: Path) -> Found:
    """The rows of a store that did not fail."""
    found: Found = {}
    for number, row in enumerate(read_lines(path), 1):
        if not {"digest", "setting", "run"} <= row.keys():
            raise DataError(f"{path.name}, line {number} is of another kind of sweep: name another store")
        if not row["error"]:
            found.setdefault(_name(row["digest"], row["held_out"], row["setting"]), {})[row["run"]] = row
    return found


def _name(digest: str, held_out: float, stored: Options) -> str:
    """What a cell is called among results: lists that were tuples before they were stored are the same in JSON."""
    return json.dumps([digest, held_out, stored])


def to_do(sweep: OptionSweep, data: Sequence[Dataset], found: Found) -> list[Work]:
    """What a store lacks, run by run."""
    return [
        (place, setting, run)
        for run in range(sweep.runs)
        for place, each in enumerate(data)
        for setting in sweep.settings
        if run not in found.get(_name(each.digest, sweep.held_out, setting.stored()), {})
    ]


def run_sweep(
    sweep: OptionSweep, data: Sequence[Dataset], works: Sequence[Work], store: Lines, backend: Backend
) -> Iterator[Reached]:
    """Run, write each as it comes, and pass it on."""
    with answers(backend, _run_work, (data, sweep.held_out), works) as arriving:
        for (place, setting, run), outcome in arriving:
            own = data[place]
            row = {"digest": own.digest, "data": own.name, "standing": own.standing, "held_out": sweep.held_out}
            store.write(line_of({**row, "setting": setting.stored(), "run": run, **asdict(outcome)}))
            yield outcome


def _run_work(held: tuple[Sequence[Dataset], float], work: Work) -> tuple[Work, Reached]:
    (data, held_out), (place, setting, run) = held, work
    return work, run_setting(data[place], setting, run, held_out)


def cells_there(sweep: OptionSweep, data: Dataset, found: Found) -> list[tuple[Setting, Columns]]:
    """The cells of a data set that have rows, each with these by column."""
    rows = {each: found.get(_name(data.digest, sweep.held_out, each.stored()), {}).values() for each in sweep.settings}
    return [
        (setting, {name: np.array([row[name] for row in some], dtype=np.float64) for name in MEASURES})
        for setting, some in rows.items()
        if some
    ]


def summary_of(sweep: OptionSweep, data: Sequence[Dataset], found: Found) -> str:
    """A line for every cell as CSV: runs, share that interpolates, means, and Student's 95 % interval of accuracy."""
    names = list(dict.fromkeys(name for setting in sweep.settings for name, _ in setting.options))
    head = ["data", "standing", "construction", *names, "runs", "interpolating"]
    lines: list[list[Any]] = [[*head, "accuracy", "accuracy_low", "accuracy_high", *MEASURES[2:]]]
    for each in data:
        for setting, columns in cells_there(sweep, each, found):
            options = dict(setting.options)
            row = [each.name, each.standing, setting.construction, *(options.get(name, "") for name in names)]
            means = (columns[name].mean() for name in MEASURES[2:])
            numbers = [(columns["missed"] == 0).mean(), *sample_interval(columns["accuracy"]), *means]
            lines.append([*row, len(columns["missed"]), *map(six_digits, numbers)])
    return csv_text(lines)


@TOLD
def sweep_options(sweep: OptionSweep, options: SweepOptions | None = None, say: Say = lambda text: None) -> Reproduced:
    """Run what a store lacks of a sweep over options, then write its summary and a figure for every data set.

    Parameters
    ----------
    sweep : OptionSweep
    options : SweepOptions, optional
        Of which ``start_from`` and ``independent`` have no meaning here, and are refused.
    {told}

    Examples
    --------
    >>> from exactfit.lab.option_sweep import OptionSweep, Setting, SweepOptions, sweep_options
    >>> iris = OptionSweep("iris", "Iris", 1, 0.25, ({"loader": "load_iris"},), (Setting("1-nn", ()),))
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder)
    ...     done = sweep_options(iris, SweepOptions(store=place / "iris.jsonl", output=place, figures=False))
    >>> done.report.added, done.report.failed
    (1, 0)
    """
    options = options or SweepOptions()
    place, output = places(options, sweep.name, say)
    if options.start_from is not None or options.independent:
        raise ParameterError("a sweep over options has nothing to start from, and its runs are independent anyway")
    sweep = replace(sweep, runs=options.runs or sweep.runs)
    check_trials(sweep.name, sweep.runs, len(sweep.settings))
    data, report = load_data(sweep, options.data), SweepReport()
    with Lines(place, say) as store:
        works = to_do(sweep, data, read_results(place))
        report.before = sweep.runs * len(data) * len(sweep.settings) - len(works)
        mine = works if options.shard is None else works[options.shard.index :: options.shard.count]
        say(f"{sweep.name}: {report.before} trials are there, {len(mine)} to run")
        report.count(run_sweep(sweep, data, mine, store, options.backend or Backend()))
    say(f"{sweep.name}: {report.added} trials added, {report.failed} failed, {report.seconds:.3g} seconds of building")
    found = read_results(place)
    summary = write_summary(output / f"{sweep.name}.csv", summary_of(sweep, data, found))
    cells = {each: cells_there(sweep, each, found) for each in data} if options.figures else {}
    return Reproduced(report, summary, tuple(draw_settings(sweep, cells, output)))
