"""Contenders in processes of their own, ended when time or memory is out.

A process is started afresh, not forked and not from the caller's main module, so that scripts need no
``if __name__ == "__main__"`` and nothing of the caller's state counts. Data and results go through files.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import wrap_non_picklable_objects

from ..._support.processes import memory_of
from .contender import Contender
from .record import Row

POLL_SECONDS = 0.02
MEMORY_SECONDS = 0.1
WARM_UP_SECONDS = 600.0  # for starting and compiling, which the time limit does not count
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes for each contender, how many run at a time, and the seed they get."""

    seconds: float
    memory: int
    at_once: int
    seed: int


def run(contenders: Sequence[Contender], folder: Path, limits: Limits, tell: Tell) -> Generator[Row]:
    """Rows as they arrive, in any order; whoever still runs when the iterator is closed is ended."""
    waiting, running = list(contenders), list[_Process]()
    try:
        while waiting or running:
            while waiting and len(running) < limits.at_once:
                running.append(_Process(waiting.pop(0), folder, limits))
            for process in list(running):
                row = process.poll(tell)
                if row is not None:
                    running.remove(process)
                    yield row
            time.sleep(POLL_SECONDS)
    finally:
        for process in running:
            process.end()


class _Process:
    """One contender at work."""

    def __init__(self, contender: Contender, folder: Path, limits: Limits) -> None:
        self.contender, self.limits = contender, limits
        self.folder = folder / f"contender-{contender.name.encode().hex()}"
        self.folder.mkdir()
        # Plain pickle knows nothing of classes that a script or a notebook defines.
        task = wrap_non_picklable_objects((contender, limits.seed, limits.seconds), keep_wrapper=False)
        (self.folder / "task.pickle").write_bytes(pickle.dumps(task))
        self.clock = self.next_look = time.monotonic()
        self.is_warm = False
        python = multiprocessing.spawn.get_executable()
        command = [python, "-P", "-m", "exactfit.lab.comparison.worker", str(self.folder), str(os.getpid())]
        with (self.folder / "output.txt").open("wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment(limits.at_once),
                start_new_session=True,
            )  # fmt: skip

    def poll(self, tell: Tell) -> Row | None:
        """The row, once there is one."""
        ended = self.process.poll() is not None
        if ended:
            return self._row(self._own_end())
        if not self.is_warm and self.report().get("stage"):
            self.is_warm, self.clock = True, time.monotonic()
        passed = time.monotonic() - self.clock
        tell(self.contender.name, passed if self.is_warm else 0.0)
        if passed > (self.limits.seconds if self.is_warm else WARM_UP_SECONDS):
            return self._stop(f"time limit of {self.limits.seconds:g} s")
        if self._uses_too_much():
            return self._stop(f"memory limit of {self.limits.memory / 2**20:,.0f} MiB")
        return None

    def _uses_too_much(self) -> bool:
        if time.monotonic() < self.next_look:
            return False
        self.next_look = time.monotonic() + MEMORY_SECONDS
        used = memory_of(self.process.pid)
        return used is not None and used > self.limits.memory

    def _stop(self, limit: str) -> Row:
        self.end()
        return self._row(limit)

    def _row(self, end: str) -> Row:
        """What the process reported, and how it ended if it did not finish."""
        facts = self.report()
        stage = facts.pop("stage", "starting")
        if stage not in ("done", "failed"):
            built = "built, but not certified: " if "build_seconds" in facts else ""
            facts["reason"] = f"{built}{end}, while {stage}"
        return Row(name=self.contender.name, kind=self.contender.kind, **facts)

    def _own_end(self) -> str:
        """How the process ended by itself without having finished."""
        code = self.process.returncode
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(-code).name}"
        lines = (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"ended with exit code {code} ({last})"

    def report(self) -> dict[str, Any]:
        """What the process has written so far."""
        try:
            return dict(json.loads((self.folder / "report.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}

    def end(self) -> None:
        """End the process, and those that it started, at once."""
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _environment(at_once: int) -> dict[str, str]:
    """That of the caller, with its module path, and cores shared out if several run at a time."""
    share = str(max(1, (os.cpu_count() or 1) // at_once))
    threads = dict.fromkeys(_THREAD_VARIABLES, share) if at_once > 1 else {}
    path = os.pathsep.join(os.path.abspath(part) for part in sys.path)
    return {**threads, **os.environ, "PYTHONPATH": path}
