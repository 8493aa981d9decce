"""A Dask cluster as others run it: a scheduler and workers in processes of their own, on this machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SECONDS = 120  # to start, and to end if nobody asks for anything any more


@contextmanager
def dask_cluster(folder: Path, n_workers: int, n_threads: int) -> Iterator[str]:
    """The scheduler's address, once all workers are there; nobody waits for anybody at the end."""
    distributed = pytest.importorskip("distributed")
    address = folder / "scheduler.json"
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show", "--idle-timeout", str(SECONDS)]
    worker = ["worker", "--no-nanny", "--nthreads", str(n_threads), "--local-directory", str(folder)]
    worker += ["--death-timeout", str(SECONDS)]
    with (folder / "cluster.txt").open("wb") as output:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command, "--no-dashboard", "--scheduler-file", str(address)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )
            for command in [scheduler, *[worker] * n_workers]
        ]  # fmt: skip
    try:
        end = time.monotonic() + SECONDS
        while not address.exists():  # a client would wait for it for ever
            assert processes[0].poll() is None, (folder / "cluster.txt").read_text(encoding="utf-8")
            assert time.monotonic() < end, "the scheduler does not start"
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(address), timeout=SECONDS) as client:
            client.wait_for_workers(n_workers, timeout=SECONDS)
            found = client.scheduler.address
        yield found
    finally:
        for process in processes:
            process.kill()
            process.wait()
