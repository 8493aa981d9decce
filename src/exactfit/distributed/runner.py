"""Running tasks: on a cluster whose workers may leave, or on Dask's local scheduler."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._support.console import Progress, silent
from ..exceptions import ClusterError, MissingDependencyError

POLL = 0.5  # seconds between two looks at the workers, while tasks run
PATIENCE = 60.0  # seconds without any worker before giving up: a cluster may be replacing them
# Bytes of a graph that Dask does not warn of: hyperplanes go in it, so that tasks can run again wherever they are.
LARGE_GRAPH = 2**30


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


class Runner:
    """Computes lists of tasks, and counts how often it had to ask.

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

    def run(self, tasks: Sequence[Any], what: str = "chunks") -> list[Any]:
        """What all tasks come to, in order."""
        self.round_trips += 1
        if self.client is None:
            return list(dask_module("dask").compute(*tasks))
        with dask_module("dask").config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            futures = self.client.compute(list(tasks))
        try:
            with self.client.as_current(), _lost_workers_explained():
                self._wait(futures, what)
                return list(self.client.gather(futures))
        finally:
            for future in futures:  # whatever still runs is not wanted any more, and nothing is left on the workers
                future.release()

    def _wait(self, futures: list[Any], what: str) -> None:
        """Until all futures have ended, or one has failed, as long as somebody works on them."""
        wait, seen = dask_module("distributed").wait, time.monotonic()
        while True:
            states = [future.status for future in futures]
            self.progress(what, states.count("finished"), len(futures))
            if "error" in states or "pending" not in states:
                return
            try:
                wait(futures, timeout=POLL)
            except TimeoutError:
                seen = time.monotonic() if self.client.nthreads() else seen
            if time.monotonic() - seen > PATIENCE:
                raise ClusterError(
                    f"the cluster has had no worker for {PATIENCE:.0f} seconds: start some, and try again"
                )


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
