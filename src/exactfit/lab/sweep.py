"""Run what a store does not hold yet, in batches, and tell how it is going: here, in processes, or on a cluster.

Trials of one run share their first layers. A worker keeps the last ones it made, and batches are as long as it takes
for making them to be a small part of the work, half a second at least. Which worker runs what, and in which order,
changes nothing but speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._support.processes import Answer, workers
from ..exceptions import ClusterError, DataError, MissingDependencyError, ParameterError
from ..network.bits import n_words
from .datasets import Dataset
from .experiment import INDEPENDENT, Cell, Experiment, Scheme, check_trials, header_of
from .store import Store
from .trial import Batch, Draw, OrderedPoints, Trial, run_batch
from .trials import Trials, identity

BACKENDS = ("processes", "threads", "dask")
AHEAD = 2  # tasks for each worker: one that it does, and one that is there when it is done
WORKER_SECONDS = 30  # to wait for the first worker of a cluster
BATCH_SECONDS = 0.5  # of a batch that is sent to a worker: sending takes milliseconds
MOMENT = 0.05  # seconds of a batch where nothing has to be sent: as good as at once
SETUP_SHARE = 2.0  # a batch lasts at least so many times as long as making its first layers
MEMORY = 2**30  # bytes of patterns that a worker keeps at a time
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal

Held = TypeVar("Held")
Task = TypeVar("Task")
Watch = Callable[[Sequence[Trial]], None]


@dataclass(frozen=True)
class Backend:
    """Where trials are run."""

    name: str = "processes"
    jobs: int = 1  # how many at a time on this machine; 1 needs no further process
    scheduler: str | None = None  # address of a Dask scheduler

    def __post_init__(self) -> None:
        if self.name not in BACKENDS:
            raise ParameterError(f"no backend is called {self.name!r}: choose from {', '.join(BACKENDS)}")
        if (self.name == "dask") != (self.scheduler is not None):
            raise ParameterError("the backend dask goes with the address of a scheduler, and only that one does")

    @property
    def alone(self) -> bool:
        """Whether this process does all the work itself."""
        return self.name != "dask" and self.jobs == 1


@contextmanager
def answers(
    backend: Backend, function: Callable[[Held, Task], Answer], held: Held, tasks: Iterable[Task]
) -> Iterator[Iterable[Answer]]:
    """What a function makes of the same data and each task, as it arrives, in any order.

    Tasks are made one after another, as somebody is there to do them. Data are in the memory of a machine once.
    """
    if backend.alone:
        yield (function(held, task) for task in tasks)
    elif backend.name == "dask":
        with _cluster(backend) as client:
            there = client.scatter([held], broadcast=True)[0]
            pool, at_once = client.get_executor(pure=False), sum(client.ncores().values())
            yield as_they_come(lambda task: pool.submit(function, there, task), tasks, AHEAD * at_once)
    else:
        alike = workers(backend.jobs, function, held) if backend.name == "processes" else None
        # Workers end first, so that no thread waits for their answers.
        with ThreadPoolExecutor(backend.jobs) as pool, alike or nullcontext(partial(function, held)) as work:
            yield _named_if_dead(as_they_come(lambda task: pool.submit(work, task), tasks, AHEAD * backend.jobs))


def as_they_come(submit: Callable[[Task], Future[Answer]], tasks: Iterable[Task], at_once: int) -> Generator[Answer]:
    """Answers to tasks, in any order; a task is made when it can be submitted, so many at a time.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from functools import partial
    >>> from exactfit.lab.sweep import as_they_come
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(as_they_come(partial(pool.submit, abs), [-3, 2, -1], 4))
    [1, 2, 3]
    """
    pending = set[Future[Answer]]()
    try:
        for task in tasks:
            pending.add(submit(task))
            if len(pending) >= at_once:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
    finally:
        for each in pending:
            each.cancel()


def _named_if_dead(arriving: Generator[Answer]) -> Iterator[Answer]:
    try:
        with closing(arriving):
            yield from arriving
    except ChildProcessError as error:
        raise ChildProcessError(
            f"a worker process died ({error}), perhaps for lack of memory; all results before that are stored: "
            "run again to continue, with fewer --jobs if memory ran out"
        ) from error


@contextmanager
def _cluster(backend: Backend) -> Iterator[Any]:
    """A client of the scheduler, once it has workers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError("the backend dask needs distributed: pip install dask distributed") from error
    with Client(backend.scheduler) as client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise ClusterError(f"{backend.scheduler} has no worker after {WORKER_SECONDS} s: start some") from None
        yield client


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a sweep, for array jobs.

    Examples
    --------
    >>> from exactfit.lab.sweep import Shard
    >>> Shard.parse("2/8")
    Shard(index=1, count=8)
    """

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From the form i/k, counted from 1."""
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ParameterError(f"a shard is i/k with 1 <= i <= k, got {text!r}")
        return cls(int(index) - 1, int(count))

    def holds(self, runs: int, n_cells: int) -> NDArray[np.bool_]:
        """Which cells of which runs are this shard's: whole runs, as long as there are enough of them."""
        number = np.arange(runs * n_cells).reshape(runs, n_cells)
        mine: NDArray[np.bool_] = (number // n_cells if self.count <= runs else number) % self.count == self.index
        return mine


@dataclass(eq=False)
class Part:
    """One data set of a sweep: its cells, and which of them are done in which run."""

    points: OrderedPoints
    scheme: Scheme
    header: str
    cells: list[Cell]
    done: NDArray[np.bool_]

    def batches(self, number: int, run: int, pace: BatchSize) -> Iterator[Batch]:
        """What is left of one run."""
        draw = Draw(self.points.digest, self.scheme, run)
        open_cells = [cell for cell, done in zip(self.cells, self.done[run], strict=True) if not done]
        for spec, cells in self._units(open_cells):
            start = 0
            while start < len(cells):
                count = pace.count(cells[start:])
                yield Batch(number, draw, spec, tuple(cells[start : start + count]))
                start += count

    def _units(self, cells: list[Cell]) -> Iterator[tuple[tuple[Cell, ...], list[Cell]]]:
        """Cells whose first layers are made together: as many biases as fit in memory at a time."""
        if self.scheme.kind == INDEPENDENT:
            yield (), cells
            return
        keys = sorted({(cell.lam, cell.N if self.scheme.center else 0) for cell in cells})
        width = max((cell.n for cell in cells), default=0)
        at_once = max(1, MEMORY // max(1, 8 * n_words(width) * len(self.points.y)))
        for low in range(0, len(keys), at_once):
            chosen = set(keys[low : low + at_once])
            own = [cell for cell in cells if (cell.lam, cell.N if self.scheme.center else 0) in chosen]
            yield tuple(own), own


class BatchSize:
    """How many cells make a batch of so many seconds, learnt from the batches before."""

    def __init__(self, seconds: float = BATCH_SECONDS) -> None:
        self._seconds = seconds
        self._per_weight = 0.0
        self._setup = 0.0

    def count(self, cells: Sequence[Cell]) -> int:
        """As many cells as fill a batch; one, as long as nothing is known."""
        if not self._per_weight:
            return 1
        budget = max(self._seconds, SETUP_SHARE * self._setup) / self._per_weight
        spent = np.cumsum([weight(cell) for cell in cells])
        return max(1, int(np.searchsorted(spent, budget, side="right")))

    def learn(self, trials: Sequence[Trial], setup: float) -> None:
        """Take note of a batch."""
        seconds = sum(trial.seconds for trial in trials) - setup
        fresh = seconds / sum(weight(trial.cell) for trial in trials)
        self._per_weight = (self._per_weight + fresh) / 2 if self._per_weight else fresh
        self._setup = setup or self._setup


def weight(cell: Cell) -> float:
    """How much work a cell is, compared with others of the same data."""
    return cell.N * (2.0 + n_words(cell.n))


@dataclass
class SweepReport:
    """What a sweep did: cells that were there already, rows added, rows that failed."""

    before: int = 0
    added: int = 0
    failed: int = 0
    seconds: float = 0.0

    def count(self, outcomes: Iterable[Any]) -> None:
        """Take note of what came out, each with its seconds, and an error if it failed."""
        for one in outcomes:
            self.failed += bool(one.error)
            self.added += not one.error
            self.seconds += 0.0 if one.error else one.seconds


@dataclass(eq=False)
class Sweep:
    """What is to be done: the parts of an experiment, one for each of its data sets, against what a store holds."""

    experiment: Experiment
    data: Sequence[Dataset]
    store: Store
    shard: Shard = field(default_factory=Shard)

    def __post_init__(self) -> None:
        self.n_before = 0
        self.parts = [self._part(each) for each in self.data]

    def _part(self, data: Dataset) -> Part:
        cells = self.experiment.cells(len(data.y))
        _refuse_one_class(data, cells)
        runs, scheme = self.experiment.runs, self.experiment.scheme
        check_trials(self.experiment.name, runs, len(cells))
        header = header_of(self.experiment.name, data, scheme)
        done = already(self.store.trials, header, cells, runs)
        self.n_before += int(done.sum())
        done |= ~self.shard.holds(runs, len(cells))
        name = "" if done.all() else self.store.begin(header)
        return Part(OrderedPoints.of(data), scheme, name, cells, done)

    @property
    def todo(self) -> list[Cell]:
        """The cells that are left, one for each trial."""
        return [part.cells[place] for part in self.parts for place in np.nonzero(~part.done)[1].tolist()]

    def _batches(self, pace: BatchSize) -> Iterator[Batch]:
        for run in range(self.experiment.runs):
            for number, part in enumerate(self.parts):
                yield from part.batches(number, run, pace)

    def run(self, backend: Backend, watch: Watch) -> SweepReport:
        """Run all that is left; every result is stored as it arrives."""
        report, pace = SweepReport(before=self.n_before), BatchSize(MOMENT if backend.alone else BATCH_SECONDS)
        data_sets = [part.points for part in self.parts]
        if not self.todo:
            return report
        with answers(backend, run_batch, data_sets, self._batches(pace)) as arriving:
            for result in arriving:
                for trial in result.trials:
                    self.store.add(self.parts[result.part].header, trial)
                good = [trial for trial in result.trials if not trial.error]
                if good:
                    pace.learn(good, result.setup)
                report.count(result.trials)
                watch(result.trials)
        return report


def _refuse_one_class(data: Dataset, cells: Sequence[Cell]) -> None:
    """Every beginning of the data that is asked for must hold two classes."""
    for N in sorted({cell.N for cell in cells}):
        if len(np.unique(data.y[:N])) < 2:
            raise DataError(f'the first {N} points of {data.name} are of one class: set order = "stratified"')


def already(trials: Trials, header: dict[str, Any], cells: Sequence[Cell], runs: int) -> NDArray[np.bool_]:
    """Which cells of which runs a store holds, shape (runs, cells)."""
    done = np.zeros((runs, len(cells)), dtype=bool)
    same = [position for position, other in enumerate(trials.headers) if identity(other) == identity(header)]
    rows = trials.rows[np.isin(trials.rows["header"], same) & (trials.rows["run"] < runs)]
    places = {(cell.n, cell.lam, cell.N): place for place, cell in enumerate(cells)}
    for run, *key in zip(*(rows[name].tolist() for name in ("run", "n", "lambda", "N")), strict=True):
        place = places.get(tuple(key))
        if place is not None:
            done[run, place] = True
    return done


class Display:
    """Progress of a sweep on standard error: done, rate, time left, failures.

    ``todo`` has a cell for each trial to come; ``say`` writes a line, where there is no terminal to draw on.
    """

    def __init__(
        self, title: str, todo: Sequence[Cell], say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title, self._say, self._clock = title, say, clock
        self._total, self._total_weight = len(todo), sum(map(weight, todo))
        self._done, self._weight, self._failed = 0, 0.0, 0
        self._start = self._last_line = clock()
        self._bar: Any = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        if console.is_terminal:
            columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}")]
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self._title, total=self._total_weight, status="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, trials: Sequence[Trial]) -> None:
        """Count trials that have arrived."""
        self._done += len(trials)
        self._weight += sum(weight(trial.cell) for trial in trials)
        self._failed += sum(bool(trial.error) for trial in trials)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._weight, status=self.status())
        elif self._clock() - self._last_line >= LINE_SECONDS:
            self._last_line = self._clock()
            self._say(f"{self._title}: {self.status()}")

    def status(self) -> str:
        """One line: how far, how fast, how long still, how many failed.

        Examples
        --------
        >>> from exactfit.lab.sweep import Display
        >>> from exactfit.lab.trial import Cell, Trial
        >>> seconds = iter([0.0, 10.0, 10.0])
        >>> display = Display("toy", [Cell(64, 1.0, 100)] * 4, print, clock=lambda: next(seconds))
        >>> display([Trial(0, Cell(64, 1.0, 100), (3,))])
        >>> display.status()
        '1 of 4 trials, 0.10 a second, 0:00:30 left, 0 failed'
        """
        passed = max(self._clock() - self._start, 1e-9)
        left = passed * (self._total_weight - self._weight) / self._weight if self._weight else 0.0
        hours, seconds = divmod(round(left), 3600)
        clock = f"{hours}:{seconds // 60:02}:{seconds % 60:02}"
        rate = f"{self._done / passed:.3g}" if self._done / passed >= 1 else f"{self._done / passed:.2f}"
        return f"{self._done} of {self._total} trials, {rate} a second, {clock} left, {self._failed} failed"
