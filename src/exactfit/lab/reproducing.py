"""One experiment from beginning to end: data, trials, summary, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backends import Backend
    from .datasets import Dataset
    from .experiment import Experiment
    from .sweep import Shard, SweepReport

Say = Callable[[str], None]

FOLDER = Path("exactfit-results")


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
        Folder with the files of MNIST or CIFAR-10.
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


def reproduce(experiment: Experiment, options: SweepOptions | None = None, say: Say = lambda text: None) -> Reproduced:
    """Run what a store lacks of an experiment, then write its summary and figures.

    Parameters
    ----------
    experiment : Experiment
    options : SweepOptions, optional
    say : callable
        Told what happens.

    Returns
    -------
    Reproduced

    Examples
    --------
    >>> from exactfit.lab.experiment import paper_experiment
    >>> from exactfit.lab import reproduce
    >>> done = reproduce(paper_experiment("parallel-lines"))  # doctest: +SKIP
    >>> done.report.failed  # doctest: +SKIP
    0
    """
    from .datasets import load_data

    options = _completed(options or SweepOptions(), experiment, say)
    experiment = _adjusted(experiment, options)
    data = load_data(experiment, options.data)
    for each in data:
        if each.remark:
            say(each.remark)
    report = _run(experiment, data, options, say)
    if options.shard is not None:
        say("a shard is done: merge the stores of all shards with 'exactfit trials merge', then run without --shard")
        return Reproduced(report, None)
    return _show(experiment, data, options, report)


def _completed(options: SweepOptions, experiment: Experiment, say: Say) -> SweepOptions:
    """The options with their defaults filled in, told."""
    store = options.store or FOLDER / f"{experiment.name}.jsonl"
    output = options.output or FOLDER / experiment.name
    say(f"{experiment.name}: trials in {store}, summary and figures in {output}")
    return replace(options, store=store, output=output)


def _adjusted(experiment: Experiment, options: SweepOptions) -> Experiment:
    from .experiment import INDEPENDENT

    scheme = replace(experiment.scheme, kind=INDEPENDENT) if options.independent else experiment.scheme
    return replace(experiment, scheme=scheme, runs=options.runs or experiment.runs)


def _run(experiment: Experiment, data: list[Dataset], options: SweepOptions, say: Say) -> SweepReport:
    from .backends import Backend
    from .store import Store
    from .sweep import Display, Shard, Sweep

    assert options.store is not None
    _fill(options, say)
    with Store(options.store, say) as store:
        sweep = Sweep(experiment, data, store, options.shard or Shard())
        todo = sweep.todo
        say(f"{experiment.name}: {sweep.n_before} trials are there, {len(todo)} to run")
        with Display(experiment.name, todo, say) as display:
            report = sweep.run(options.backend or Backend(), display)
    say(f"{experiment.name}: {report.added} trials added, {report.failed} failed, {report.seconds:.3g} core-seconds")
    return report


def _fill(options: SweepOptions, say: Say) -> None:
    """Put packed trials into a store that is not there yet."""
    from .trials import read_trials, write_trials

    if options.start_from is None or options.store is None:
        return
    if options.store.exists():
        say(f"{options.store} is there already: {options.start_from.name} is not read")
        return
    write_trials(options.store, read_trials(options.start_from))


def _show(experiment: Experiment, data: list[Dataset], options: SweepOptions, report: SweepReport) -> Reproduced:
    from .statistics import write_summary
    from .trials import read_trials

    assert options.store is not None
    assert options.output is not None
    trials = read_trials(options.store)
    summary = options.output / f"{experiment.name}.csv"
    write_summary(summary, trials)
    if not options.figures:
        return Reproduced(report, summary)
    from .figures import draw_figures

    return Reproduced(report, summary, tuple(draw_figures(experiment, data, trials, options.output)))
