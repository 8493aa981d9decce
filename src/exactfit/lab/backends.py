"""Where trials are run: in this process, in others on this machine, or on a cluster.

A worker keeps the first layers that it made last, for the next batch of the same run.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from .._support.processes import Answer, workers
from ..exceptions import ClusterError, MissingDependencyError, ParameterError
from .experiment import INDEPENDENT, Cell
from .trial import Draw, FirstLayers, OrderedPoints, Trial, run_cell

BACKENDS = ("processes", "threads", "dask")
AHEAD = 2  # tasks for each worker: one that it does, and one that is there when it is done
WORKER_SECONDS = 30  # to wait for the first worker of a cluster

Held = TypeVar("Held")
Task = TypeVar("Task")


@dataclass(frozen=True)
class Backend:
    """Where trials are run.

    Parameters
    ----------
    name : {"processes", "threads", "dask"}
    jobs : int
        How many at a time on this machine; 1 needs no further process.
    scheduler : str, optional
        Address of a Dask scheduler.
    """

    name: str = "processes"
    jobs: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.name not in BACKENDS:
            raise ParameterError(f"no backend is called {self.name!r}: choose from {', '.join(BACKENDS)}")
        if (self.name == "dask") != (self.scheduler is not None):
            raise ParameterError("the backend dask goes with the address of a scheduler, and only that one does")

    @property
    def alone(self) -> bool:
        """Whether this process does all the work itself."""
        return self.name != "dask" and self.jobs == 1


@dataclass(frozen=True, eq=False)
class Batch:
    """Some cells of one run, and all cells that share first layers with them."""

    part: int
    draw: Draw
    spec: tuple[Cell, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a batch; how long its first layers took, if they had to be made."""

    part: int
    trials: list[Trial]
    setup: float


_kept = threading.local()


def run_batch(data_sets: Sequence[OrderedPoints], batch: Batch) -> Result:
    """Run the cells of a batch; a trial that fails becomes a row with its traceback."""
    points = data_sets[batch.part]
    if batch.draw.scheme.kind == INDEPENDENT:
        return Result(batch.part, [_alone(points, batch.draw, cell) for cell in batch.cells], 0.0)
    start = time.thread_time()
    try:
        fresh = _first_layers(points, batch)
    except Exception:
        error = traceback.format_exc()
        return Result(batch.part, [Trial(batch.draw.run, cell, error=error) for cell in batch.cells], 0.0)
    setup = time.thread_time() - start if fresh else 0.0
    share = setup / len(batch.cells)
    trials = [_guarded(_kept.layers, cell) for cell in batch.cells]
    return Result(batch.part, [replace(trial, seconds=trial.seconds + share) for trial in trials], setup)


def _alone(points: OrderedPoints, draw: Draw, cell: Cell) -> Trial:
    """A cell that shares nothing with others."""
    start = time.thread_time()
    try:
        trial = run_cell(FirstLayers(points, draw, [cell]), cell)
    except Exception:
        return Trial(draw.run, cell, error=traceback.format_exc())
    return replace(trial, seconds=time.thread_time() - start)


def _first_layers(points: OrderedPoints, batch: Batch) -> bool:
    """Have this worker keep the first layers of a batch; whether they had to be made."""
    key = (batch.draw, points.targets, batch.spec)
    if getattr(_kept, "key", None) == key:
        return False
    _kept.key = _kept.layers = None  # before the next ones take their memory
    _kept.layers = FirstLayers(points, batch.draw, batch.spec)
    _kept.key = key
    return True


def _guarded(layers: FirstLayers, cell: Cell) -> Trial:
    try:
        return run_cell(layers, cell)
    except Exception:
        return Trial(layers.draw.run, cell, error=traceback.format_exc())


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
    >>> from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
    >>> from functools import partial
    >>> from exactfit.lab.backends import as_they_come
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
