"""Running tasks: on a cluster whose workers may leave, or on Dask's local scheduler."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from .._support.console import Progress, silent
from ..exceptions import ClusterError, MissingDependencyError

POLL = 0.5  # seconds between two looks at the workers, while tasks run
BREATH = 0.1  # seconds in which results gather before they are fetched, while there is more to send
PATIENCE = 60.0  # seconds without any worker before giving up: a cluster may be replacing them
# Bytes of a graph that Dask does not warn of: hyperplanes go in it, so that tasks can run again wherever they are.
LARGE_GRAPH_WARNING, LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold", 2**30
AHEAD = 12  # tasks under way for every thread: nobody waits for the client, and few results wait for it
FEW = 2  # threads that there are at least, as far as sending ahead goes: so many tasks go without asking

logger = logging.getLogger(__name__)


def dask_module(name: str) -> Any:
    """Return a module of Dask, or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError('data in parts need Dask: pip install "exactfit[dask]"') from error


def delayed(thing: Any) -> Any:
    """Return a function as a task, or what many tasks take: it is in the graph once, so that they can run again."""
    # Named by what it is given: the same work has the same name.
    return dask_module("dask").delayed(thing, pure=True, traverse=False)


class Runner:
    """Computes lists of pure tasks, on the current client or Dask's local scheduler if none is given."""

    def __init__(self, client: Any = None, progress: Progress = silent) -> None:
        if client is None and "distributed" in sys.modules:
            with suppress(ValueError):  # there is none
                client = sys.modules["distributed"].Client.current()
        self.client, self.progress = client, progress
        self.round_trips = 0  # how often it waited for results, or asked for the workers
        self.seconds: dict[str, float] = {}  # of each kind of work

    def run(self, tasks: Sequence[Any], what: str) -> list[Any]:
        """Return the results of all tasks, in order."""
        found = dict(self.stream(tasks, what))
        return [found[place] for place in range(len(tasks))]

    def stream(self, tasks: Sequence[Any], what: str) -> Iterator[tuple[int, Any]]:
        """Yield the place and the result of each task as they end; no more wait for us than keep the workers busy."""
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
        sent, most = 0, AHEAD * FEW  # tasks sent; and under way, at most
        try:
            with self.client.as_current(), _lost_workers_explained():
                while sent < len(tasks) or places:
                    if sent < len(tasks) and 2 * len(places) <= most:
                        if len(tasks) - sent > AHEAD * FEW:  # some workers may have joined, or left
                            self.round_trips += 1
                            most = AHEAD * max(FEW, sum(self.client.nthreads().values()))
                        some = list(tasks[sent : sent + most - len(places)])
                        with dask_module("dask").config.set({LARGE_GRAPH_WARNING: LARGE_GRAPH}):
                            futures = self.client.compute(some)
                        places |= {future: sent + k for k, future in enumerate(futures)}
                        sent += len(some)
                    ended = self._wait(list(places), BREATH if sent < len(tasks) else POLL)
                    self.round_trips += 1
                    for future, value in zip(ended, self.client.gather(ended), strict=True):
                        yield places.pop(future), value
                        future.release()
        finally:
            for future in places:  # whatever still runs is not wanted any more, and nothing is left on the workers
                future.release()

    def _wait(self, futures: list[Any], breath: float) -> list[Any]:
        """Return futures that have ended, after a moment in which all may, and at least one while there are workers."""
        # Results that end within a moment are fetched together: a round trip takes some 50 ms.
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
                # Dask waits for workers for ever: so we look whether there are any.
                seen = time.monotonic() if self.client.nthreads() else seen
            if time.monotonic() - seen > PATIENCE:
                raise ClusterError(
                    f"the cluster has had no worker for {PATIENCE:.0f} seconds: start some, and try again"
                )


@contextmanager
def _lost_workers_explained() -> Iterator[None]:
    """Say in our words whatever Dask says of lost workers, known by its name."""
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
