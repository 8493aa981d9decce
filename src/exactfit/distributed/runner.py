"""Running tasks: on a cluster whose workers may leave, or on Dask's local scheduler."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._support.console import Progress, silent
from ..exceptions import ClusterError, MissingDependencyError

POLL = 0.5  # seconds between two looks at the workers, while tasks run
BREATH = 0.1  # seconds in which results gather before they are fetched, while there is more to send
PATIENCE = 60.0  # seconds without any worker before giving up: a cluster may be replacing them
# Bytes of a graph that Dask does not warn of: hyperplanes go in it, so that tasks can run again wherever they are.
LARGE_GRAPH = 2**30
AHEAD = 12  # tasks under way for every thread: nobody waits for the client, and few results wait for it
FEW = 2  # threads that there are at least, as far as sending ahead goes: so many tasks go without asking

logger = logging.getLogger(__name__)


def dask_module(name: str) -> Any:
    """A module of Dask, or an error that says how to get it."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError('data in parts need Dask: pip install "exactfit[dask]"') from error


def current_client(client: Any) -> Any:
    """The client itself, or the current one; None without any."""
    if client is not None or "distributed" not in sys.modules:
        return client
    try:
        return sys.modules["distributed"].Client.current()
    except ValueError:
        return None


def delayed(thing: Any) -> Any:
    """A function as a task: named by what it is given, so that the same work has the same name.

    Or what many tasks take: it is in the graph once, and with it, tasks can run again wherever they are.
    """
    return dask_module("dask").delayed(thing, pure=True, traverse=False)


class Runner:
    """Computes lists of tasks, and counts round trips: how often it waited for results, or asked for the workers.

    Tasks must be pure: one that is lost with its worker runs again elsewhere.

    Parameters
    ----------
    client : distributed.Client or None
        None: the current client, or Dask's local scheduler.
    progress : Progress
        Told how many tasks of a list are done.
    """

    def __init__(self, client: Any = None, progress: Progress = silent) -> None:
        self.client, self.progress, self.round_trips = current_client(client), progress, 0
        self.seconds: dict[str, float] = {}  # of each kind of work

    def run(self, tasks: Sequence[Any], what: str) -> list[Any]:
        """What all tasks come to, in order."""
        found = dict(self.stream(tasks, what))
        return [found[place] for place in range(len(tasks))]

    def stream(self, tasks: Sequence[Any], what: str) -> Iterator[tuple[int, Any]]:
        """What each task comes to, with its place, as they end; no more wait for us than keep the workers busy."""
        began = time.monotonic()
        for done, found in enumerate(self._on_cluster(tasks) if self.client is not None else self._here(tasks)):
            self.progress(what, done + 1, len(tasks))
            yield found
        took = time.monotonic() - began
        self.seconds[what] = self.seconds.get(what, 0.0) + took
        logger.info("%s: %d tasks in %.1f s", what, len(tasks), took)

    def _here(self, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        step = AHEAD * (os.cpu_count() or 1)
        for low in range(0, len(tasks), step):
            self.round_trips += 1
            yield from enumerate(dask_module("dask").compute(*tasks[low : low + step]), low)

    def _on_cluster(self, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        places: dict[Any, int] = {}
        sent, room = 0, AHEAD * FEW
        try:
            with self.client.as_current(), _lost_workers_explained():
                while sent < len(tasks) or places:
                    if sent < len(tasks) and 2 * len(places) <= room:
                        room = AHEAD * max(FEW, self._n_threads() if len(tasks) - sent > AHEAD * FEW else 0)
                        some = tasks[sent : sent + room - len(places)]
                        places |= {future: sent + k for k, future in enumerate(self._submitted(some))}
                        sent += len(some)
                    ended = self._wait(list(places), BREATH if sent < len(tasks) else POLL)
                    self.round_trips += 1
                    for future, value in zip(ended, self.client.gather(ended), strict=True):
                        yield places.pop(future), value
                        future.release()
        finally:
            for future in places:  # whatever still runs is not wanted any more, and nothing is left on the workers
                future.release()

    def _n_threads(self) -> int:
        """Of all workers: some may have joined, or left."""
        self.round_trips += 1
        return sum(self.client.nthreads().values())

    def _submitted(self, tasks: Sequence[Any]) -> list[Any]:
        with dask_module("dask").config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            return list(self.client.compute(list(tasks)))

    def _wait(self, futures: list[Any], breath: float = POLL) -> list[Any]:
        """The futures that have ended, at least one, as long as somebody works on them; and those of a moment later."""
        wait, seen = dask_module("distributed").wait, time.monotonic()
        with suppress(TimeoutError):
            wait(futures, timeout=breath)
        while True:
            ended = [future for future in futures if future.status != "pending"]
            if ended:
                return ended
            try:
                wait(futures, timeout=POLL, return_when="FIRST_COMPLETED")
            except TimeoutError:
                seen = time.monotonic() if self.client.nthreads() else seen
            if time.monotonic() - seen > PATIENCE:
                raise ClusterError(
                    f"the cluster has had no worker for {PATIENCE:.0f} seconds: start some, and try again"
                )

    @contextmanager
    def kept(self, tasks: Sequence[Any], what: str) -> Iterator[list[Any]]:
        """What tasks come to, kept where it is: on the workers, or in files; tasks take the handles as arguments.

        Workers write to disk what exceeds their memory, and compute again what was lost with one of them.
        """
        if self.client is None:
            with tempfile.TemporaryDirectory(prefix="exactfit-") as folder:
                paths = [Path(folder) / str(place) for place in range(len(tasks))]
                self.run([delayed(write_down)(one, path) for one, path in zip(tasks, paths, strict=True)], what)
                yield [delayed(read_again)(path) for path in paths]
            return
        futures = self._submitted(tasks)
        try:
            with self.client.as_current(), _lost_workers_explained():
                left = set(futures)
                while left:
                    left -= set(self._wait(list(left)))
                    self.round_trips += 1
                    self.progress(what, len(futures) - len(left), len(futures))
                self.client.gather([future for future in futures if future.status != "finished"])  # raises
            yield futures
        finally:
            for future in futures:
                future.release()


def write_down(value: Any, path: Path) -> None:
    """Keep a value in a file of our own, which nobody else reads."""
    with path.open("wb") as file:
        pickle.dump(value, file, protocol=5)


def read_again(path: Path) -> Any:
    """What :func:`write_down` kept."""
    with path.open("rb") as file:
        return pickle.load(file)


@contextmanager
def _lost_workers_explained() -> Iterator[None]:
    """Whatever Dask says of lost workers, known by its name, in our words."""
    try:
        yield
    except BaseException as error:
        name = type(error).__name__
        if name.endswith("CancelledError"):
            raise ClusterError(
                f"chunks or tasks were lost ({error}): chunks that were only scattered die with their worker. "
                "Make the collection from its source, so that Dask can load a chunk again"
            ) from error
        if name == "KilledWorker":
            raise ClusterError(
                f"several workers died over one chunk, perhaps for lack of memory: use smaller chunks. {error}"
            ) from error
        raise
