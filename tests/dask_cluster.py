"""A Dask cluster as others run it: a scheduler and workers in processes of their own, on this machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SECONDS = 120  # to start
IDLE = 900  # seconds after which a scheduler ends if its test died: kernels may be compiled meanwhile


@dataclass
class Cluster:
    """Processes in a folder; ``address`` is the scheduler's."""

    folder: Path
    n_threads: int
    memory_limit: str = "auto"
    workers: list[subprocess.Popen] = field(default_factory=list)
    scheduler: subprocess.Popen | None = None
    address: str = ""

    def start(self, n_workers: int) -> None:
        distributed = pytest.importorskip("distributed")
        self.scheduler = self._process(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show", "--idle-timeout", str(IDLE)
        )
        for _ in range(n_workers):
            self.add_worker()
        end = time.monotonic() + SECONDS
        while not self._file.exists():  # a client would wait for it for ever
            assert self.scheduler.poll() is None, (self.folder / "cluster.txt").read_text(encoding="utf-8")
            assert time.monotonic() < end, "the scheduler does not start"
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(self._file), timeout=SECONDS) as client:
            client.wait_for_workers(n_workers, timeout=SECONDS)
            self.address = client.scheduler.address

    def add_worker(self) -> subprocess.Popen:
        """One more, which may take some seconds to be there."""
        options = ["--no-nanny", "--nthreads", str(self.n_threads), "--local-directory", str(self.folder)]
        options += ["--memory-limit", self.memory_limit, "--death-timeout", str(SECONDS)]
        self.workers.append(self._process("worker", *options))
        return self.workers[-1]

    def end(self) -> None:
        """Nobody waits for anybody."""
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()

    @property
    def _file(self) -> Path:
        return self.folder / "scheduler.json"

    def _process(self, *command: str) -> subprocess.Popen:
        with (self.folder / "cluster.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *command, "--no-dashboard", "--scheduler-file", str(self._file)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip


@contextmanager
def real_cluster(folder: Path, n_workers: int, n_threads: int, memory_limit: str = "auto") -> Iterator[Cluster]:
    """A cluster, once all workers are there."""
    pytest.importorskip("distributed")
    cluster = Cluster(folder, n_threads, memory_limit)
    try:
        cluster.start(n_workers)
        yield cluster
    finally:
        cluster.end()


@contextmanager
def dask_cluster(folder: Path, n_workers: int, n_threads: int) -> Iterator[str]:
    """The scheduler's address, once all workers are there."""
    with real_cluster(folder, n_workers, n_threads) as cluster:
        yield cluster.address
