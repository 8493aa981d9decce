"""Where trials are run: in this process, in others on this machine, or on a cluster.

A worker keeps the first layers that it made last, for the next batch of the same run.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .._support.processes import end_with_parent
from ..exceptions import MissingDependencyError, ParameterError
from .experiment import INDEPENDENT, Cell
from .trial import Draw, FirstLayers, OrderedPoints, Trial, run_cell

BACKENDS = ("processes", "threads", "dask")


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


def run_batch(points: OrderedPoints, batch: Batch) -> Result:
    """Run the cells of a batch; a trial that fails becomes a row with its traceback."""
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


def run_for(parent: int, points: OrderedPoints, batch: Batch) -> Result:
    """As :func:`run_batch`, in a process that ends when the one it works for does."""
    end_with_parent(parent)
    return run_batch(points, batch)


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
def results(backend: Backend, data_sets: list[OrderedPoints], batches: Iterable[Batch]) -> Iterator[Iterable[Result]]:
    """The results of batches as they arrive, in any order."""
    if backend.name == "dask":
        with _dask(backend, data_sets) as parallel:
            yield _stream(parallel, data_sets, batches)
    elif backend.alone:
        yield (run_batch(data_sets[batch.part], batch) for batch in batches)
    else:
        from joblib import Parallel

        if backend.name == "threads":
            yield _stream(_parallel(Parallel, n_jobs=backend.jobs, backend="threading"), data_sets, batches)
        else:
            work = partial(run_for, os.getpid())
            yield _stream(_parallel(Parallel, n_jobs=backend.jobs, backend="loky"), data_sets, batches, work)


def _parallel(make: Any, **options: Any) -> Any:
    return make(batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered", **options)


def _stream(
    parallel: Any, data_sets: list[OrderedPoints], batches: Iterable[Batch], work: Callable[..., Result] = run_batch
) -> Iterator[Result]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    arriving = parallel(delayed(work)(data_sets[batch.part], batch) for batch in batches)
    try:
        yield from arriving
    except TerminatedWorkerError as error:
        raise ChildProcessError(
            "a worker process died, perhaps for lack of memory; all results before that are stored: "
            "run again to continue, with fewer --jobs if memory ran out"
        ) from error
    finally:
        arriving.close()


@contextmanager
def _dask(backend: Backend, data_sets: list[OrderedPoints]) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError("the backend dask needs distributed: pip install dask distributed") from error
    from joblib import Parallel, parallel_config

    with Client(backend.scheduler) as client, parallel_config("dask", client=client, scatter=data_sets):
        yield _parallel(Parallel, n_jobs=-1)
