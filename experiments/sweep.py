"""Run what a store does not hold yet of an experiment: here, in processes, or on a cluster; then sum it up and draw it.

The task that goes to a worker is a group of cells of one run, those that share a first layer. Which worker runs what,
and in which order, changes nothing but speed.
"""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory
from typing import Any

from joblib import Parallel, delayed

from exactfit import DataError, ParameterError, __version__
from exactfit.exceptions import ClusterError, MissingDependencyError
from exactfit.lab import Dataset

from .data import load_data
from .experiment import Experiment
from .figures import draw_figures
from .store import Store, read_trials, write_trials
from .trials import Header, axes_of, summary_text
from .widths import Row

Say = Callable[[str], None]
Cells = list[Any]
Task = tuple[int, int, Cells]  # which data set, which run, which cells

FOLDER = Path("exactfit-results")
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "joblib")  # whose versions headers name
WORKER_SECONDS = 30  # to wait for the first worker of a cluster
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal
MOST_TRIALS = 10**8  # of a sweep: a year of a hundred cores, if one takes half a minute


@dataclass(frozen=True)
class SweepOptions:
    """How to run an experiment, and where its trials, its summary and its figures go.

    ``data`` is the folder with images; ``start_from`` has trials that a new store begins with; ``runs`` are in place of
    the experiment's own; ``jobs`` are processes at a time, ``scheduler`` is the address of a Dask cluster instead.
    """

    store: Path | None = None
    output: Path | None = None
    data: Path | None = None
    start_from: Path | None = None
    runs: int | None = None
    jobs: int = 1
    scheduler: str | None = None
    figures: bool = True


@dataclass
class Report:
    """Trials that were there, were added and failed, the seconds that they took, and the files that were written."""

    before: int = 0
    added: int = 0
    failed: int = 0
    seconds: float = 0.0
    written: tuple[Path, ...] = ()


def run_experiment(experiment: Experiment, options: SweepOptions | None = None, say: Say = lambda text: None) -> Report:
    """Run what a store lacks of an experiment, then write its summary and figures.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from experiments.experiment import paper_experiment
    >>> from experiments.sweep import SweepOptions, run_experiment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = SweepOptions(store=Path(folder, "lines.jsonl"), output=Path(folder), figures=False)
    ...     report = run_experiment(paper_experiment("parallel-lines"), options)
    >>> report.added, report.failed, report.written[0].name
    (1, 0, 'parallel-lines.csv')
    """
    options = options or SweepOptions()
    name, runs = experiment.name, options.runs or experiment.runs
    n_cells = experiment.grid.count()
    if runs * n_cells > MOST_TRIALS:
        raise ParameterError(
            f"{name}: {str(runs)[:40]} runs of {n_cells:,} cells are more than {MOST_TRIALS:,} trials: use fewer"
        )
    experiment = replace(experiment, runs=runs)
    place, output = options.store or FOLDER / f"{name}.jsonl", options.output or FOLDER / name
    say(f"{name}: trials in {place}, summary and figures in {output}")
    data = load_data(experiment, options.data)
    for each in data:
        if each.remark:
            say(each.remark)
    if options.start_from is not None and place.exists():
        say(f"{place} is there already: {options.start_from.name} is not read")
    elif options.start_from is not None:
        write_trials(place, read_trials(options.start_from))
    with Store(place, say) as store:
        report = add_trials(experiment, data, store, options, say)
    say(f"{name}: {report.added} trials added, {report.failed} failed, {report.seconds:.3g} core-seconds")
    trials, summary = read_trials(place), output / f"{name}.csv"
    output.mkdir(parents=True, exist_ok=True)
    summary.write_text(summary_text(trials), encoding="utf-8")
    cells = [trials.of(header_of(experiment, each)) for each in data]
    figures = draw_figures(experiment, data, cells, output) if options.figures else []
    return replace(report, written=(summary, *figures))


def add_trials(
    experiment: Experiment, data: Sequence[Dataset], store: Store, options: SweepOptions, say: Say = lambda text: None
) -> Report:
    """Run all that a store lacks; every result is stored as it arrives."""
    grid, report, trials = experiment.grid, Report(), store.trials
    rows = trials.rows
    if len(rows) and tuple(axes_of(rows)) != grid.axes:
        raise DataError(f"{store.path.name} holds trials of another kind of sweep: name another store")
    groups = [grid.groups(each) for each in data]
    total = experiment.runs * sum(len(cells) for own in groups for cells in own)
    done = list[set[Any]]()
    for each in data:
        there = trials.of(header_of(experiment, each))
        keys = (there[axis].tolist() for axis in ("run", *grid.axes)) if len(there) else ()
        done.append(set(zip(*keys, strict=True)))
    tasks = [
        (place, run, left)
        for run in range(experiment.runs)
        for place, own in enumerate(groups)
        for cells in own
        if (left := [cell for cell in cells if (run, *cell) not in done[place]])
    ]
    todo = sum(len(cells) for _, _, cells in tasks)
    report.before = total - todo
    say(f"{experiment.name}: {report.before} trials are there, {todo} to run")
    names = dict[int, str]()  # of headers, by data set: written before the first row of each
    with _progress(experiment.name, todo, say) as tell:
        for place, found in _results(experiment, data, tasks, options):
            if place not in names:
                names[place] = store.begin(header_of(experiment, data[place]))
            store.add(names[place], found)
            good = [row for row in found if "error" not in row]
            report.added, report.failed = report.added + len(good), report.failed + len(found) - len(good)
            report.seconds += sum(row["seconds"] for row in good)
            tell(report.added + report.failed, report.failed)
    return report


def header_of(experiment: Experiment, data: Dataset) -> Header:
    """Return what rows are run on and with: the header of one invocation."""
    return {
        "experiment": experiment.name,
        "data": data.name,
        "standing": data.standing,
        "digest": data.digest,
        "source": data.source,
        "points": len(data.y),
        "features": data.X.shape[1],
        "classes": list(data.classes),
        **experiment.grid.facts(data),
        "exactfit": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
    }


def _results(
    experiment: Experiment, data: Sequence[Dataset], tasks: Sequence[Task], options: SweepOptions
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the rows of each task with the place of its data set, as they arrive, in any order."""
    grid = experiment.grid
    if options.scheduler is not None:
        yield from _on_cluster(experiment, data, tasks, options.scheduler)
    elif options.jobs == 1 or len(tasks) < 2:
        yield from (run_task(grid, data[place], place, run, cells) for place, run, cells in tasks)
    else:
        # Arrays of the data are mapped from one file, so that processes hold them once; small tasks go in batches.
        parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
        try:
            yield from parallel(delayed(run_task)(grid, data[place], place, run, cells) for place, run, cells in tasks)
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process died, perhaps for lack of memory; all results before that are stored: "
                "run again to continue, with fewer --jobs if memory ran out"
            ) from error


def _on_cluster(
    experiment: Experiment, data: Sequence[Dataset], tasks: Sequence[Task], scheduler: str
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the same from the workers of a Dask cluster, once it has some."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingDependencyError("--scheduler needs distributed: pip install dask distributed") from error
    with Client(scheduler) as client, TemporaryDirectory() as folder:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise ClusterError(f"{scheduler} has no worker after {WORKER_SECONDS} s: start some") from None
        # Workers have exactfit installed, and are sent this package and the data once.
        own = Path(__file__).parent
        client.upload_file(make_archive(f"{folder}/{own.name}", "zip", own.parent, own.name))
        there = client.scatter(list(data), broadcast=True)
        futures = [
            client.submit(run_task, experiment.grid, there[place], place, run, cells, pure=False)
            for place, run, cells in tasks
        ]
        yield from (found for _, found in as_completed(futures, with_results=True))


def run_task(grid: Any, data: Dataset, place: int, run: int, cells: Cells) -> tuple[int, list[Row]]:
    """Run cells of one run; one that fails becomes a row with its traceback, and does not end the others."""
    rows, left = list[Row](), list(cells)
    while left:
        try:
            for row in grid.run(data, run, left.copy()):
                rows.append(row)
                left.pop(0)
        except Exception:
            failed = dict(zip(grid.axes, left.pop(0), strict=True))
            rows.append({"run": run, **failed, "error": traceback.format_exc()})
    return place, rows


@contextmanager
def _progress(title: str, total: int, say: Say) -> Iterator[Callable[[int, int], None]]:
    """Show how far a sweep is: a bar on a terminal, a line a minute elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, told = Console(stderr=True), time.monotonic()
    shown = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def tell(done: int, failed: int) -> None:
            nonlocal told
            bar.update(task, completed=done, description=f"{title}, {failed} failed" if failed else title)
            if not console.is_terminal and time.monotonic() - told >= LINE_SECONDS:
                told = time.monotonic()
                say(f"{title}: {done} of {total} trials, {failed} failed")

        yield tell
