"""Functions in processes of their own, with limits of time and memory; and files that are complete, or not there.

A process is started afresh, not forked and not from the caller's main module, so that scripts need no
``if __name__ == "__main__"`` and nothing of the caller's state counts. It calls one function with a reporter first:
what was reported so far is on disk at any time, for whoever waits for it or ends it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import multiprocessing.spawn
import os
import pickle
import platform
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from ..exceptions import DataError
from .threads import memory_of, usable_memory

POLL_SECONDS = 0.02  # between two looks at a process: too short to be waited for, too long to cost anything
MEMORY_SECONDS = 0.1  # between two looks at its memory, for which the system has to be asked
PARENT_SECONDS = 1.0  # between two looks whether the parent still lives
WARM_UP_SECONDS = 600.0  # for starting and compiling, which a time limit does not count
LARGEST_STREAM = 2**31  # bytes that are taken from a pipe or a device, which may have no end
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

# This machine in names of files aside: others that share a folder have processes of the same numbers.
_HERE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]

Reporter = Callable[..., None]
"""Adds facts, as keywords that JSON can hold; the first ones start the clock of a time limit."""


def write_atomically(path: str | os.PathLike[str], content: bytes, what: str) -> None:
    """Write a file aside, then put it in place; on any failure nothing is left behind.

    A link stays, and what it points to is replaced; a file keeps who may read and write it. Messages say ``what`` is
    written: "cannot save the model: ...".
    """
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"cannot save {what}: there is no such folder", str(real.parent))
    if real.exists() and not (real.is_file() or real.is_dir()):  # a device would be gone afterwards
        raise OSError(errno.EINVAL, f"cannot save {what}: what has this name is no ordinary file", str(real))
    for left in real.parent.glob(f".exactfit-{_HERE}-*.tmp"):
        pid = left.name.split("-")[2]
        if pid.isdigit() and not _is_running(int(pid)):  # its writer was killed
            with suppress(OSError):
                left.unlink()
    mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
    aside = real.parent / f".exactfit-{_HERE}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    try:
        # Never wider than what is replaced; umask may take off more than that, which chmod brings back.
        with open(aside, "xb", opener=partial(os.open, mode=0o666 if mode is None else mode)) as file:
            file.write(content)
            file.flush()
            if mode is not None:
                aside.chmod(mode)
            os.fsync(file.fileno())
        os.replace(aside, real)
        # The new name outlasts a power cut, where a folder can be opened and synced.
        with suppress(OSError):
            handle = os.open(real.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    except OSError as error:
        raise OSError(error.errno, f"cannot save {what}: {error.strerror}", str(real)) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    """Return whether a process of this machine may be running."""
    if sys.platform == "win32":  # where a signal would end it, and nobody can remove a file that is open
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def refuse_endless(path: Path) -> Path:
    """Return the path of a file that has an end; refuse devices and pipes."""
    with suppress(OSError):  # what cannot be opened either says so itself
        if not (path.is_file() or path.is_dir()) and path.exists():
            raise DataError(f"{path.name} is no ordinary file: save what it gives to one first")
    return path


def read_stream(file: IO[bytes], name: str) -> bytes:
    """Read all bytes of what may have no end, as a pipe; refuse more than a limit."""
    most = min(LARGEST_STREAM, usable_memory() // 4)
    content = file.read(most + 1)
    if len(content) > most:
        raise DataError(f"{name} goes on beyond {most / 2**20:,.0f} MiB: save what it gives to a file first")
    return content


@dataclass(frozen=True)
class Limits:
    """Limits of a process: seconds from its first report on, bytes, and how many share the cores."""

    time_limit: float = math.inf
    memory_limit: int | None = None
    at_once: int = 1


class Shared:
    """Data that several processes read from one file: its arrays are mapped, so that memory holds them once.

    Writing to it changes nothing for others.
    """

    def __init__(self, path: Path, held: Any) -> None:
        import joblib

        self.path = path
        joblib.dump(held, path)

    def open(self) -> Any:
        """Return what it holds."""
        import joblib

        return joblib.load(self.path, mmap_mode="c")


class OwnProcess:
    """A function at work in a process of its own, with files in a new folder.

    It is called with a :data:`Reporter` and the arguments: whatever can be pickled, classes of scripts and notebooks
    too. Of a :class:`Shared` it gets what that holds.
    """

    def __init__(self, folder: Path, limits: Limits, function: Callable[..., None], *arguments: Any) -> None:
        from joblib import wrap_non_picklable_objects

        self._folder, self._limits = folder, limits
        folder.mkdir()
        # Plain pickle knows nothing of classes that a script or a notebook defines.
        task = wrap_non_picklable_objects((function, arguments), keep_wrapper=False)
        (folder / "task.pickle").write_bytes(pickle.dumps(task))
        self._clock = self._next_look = time.monotonic()
        self._is_warm = False
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        if limits.at_once > 1:  # cores are shared out
            cores = str(max(1, (os.cpu_count() or 1) // limits.at_once))
            environment = dict.fromkeys(_THREAD_VARIABLES, cores) | environment
        python = multiprocessing.spawn.get_executable()
        command = [python, "-P", "-c", f"from {__name__} import work; work()", str(folder), str(os.getpid())]
        with (folder / "output.txt").open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                env=environment,
            )  # fmt: skip

    @property
    def seconds(self) -> float:
        """Seconds of its time limit that are used."""
        return time.monotonic() - self._clock if self._is_warm else 0.0

    def facts(self) -> dict[str, Any]:
        """Return what the function has reported so far."""
        try:
            return dict(json.loads((self._folder / "report.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}

    def poll(self) -> str | None:
        """Return None while it runs, then how it ended: "" if all went well. End it if it is beyond its limits."""
        code, now, limits = self._process.poll(), time.monotonic(), self._limits
        if code is not None:
            return self._ended_by_itself(code)
        if not self._is_warm and self.facts():
            self._is_warm, self._clock = True, now
        seconds = limits.time_limit if self._is_warm else WARM_UP_SECONDS
        if now - self._clock > seconds:
            self.end()
            return f"time limit of {seconds:g} s"
        if limits.memory_limit is None or now < self._next_look:
            return None
        self._next_look = now + MEMORY_SECONDS
        if (memory_of(self._process.pid) or 0) <= limits.memory_limit:
            return None
        self.end()
        return f"memory limit of {limits.memory_limit / 2**20:,.0f} MiB"

    def _ended_by_itself(self, code: int) -> str:
        """Return how a process ended, by its exit code and its last words."""
        if code == 0:
            return ""
        if code < 0:
            with suppress(ValueError):
                return f"ended by {signal.Signals(-code).name}"
        lines = (self._folder / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"ended with exit code {code} ({last})"

    def end(self) -> None:
        """End the process, and those that it started, and wait for it."""
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def as_they_end(
    starts: Iterable[Callable[[], OwnProcess]], at_once: int, watch: Callable[[OwnProcess], None] = lambda process: None
) -> Generator[tuple[OwnProcess, str]]:
    """Start processes, some at a time; yield each with how it ended, in the order of their ends.

    Those that still run when the generator is closed are ended.
    """
    waiting, running = list(starts), list[OwnProcess]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(waiting.pop(0)())
            for process in list(running):
                end = process.poll()
                if end is None:
                    watch(process)
                else:
                    running.remove(process)
                    yield process, end
            time.sleep(POLL_SECONDS)
    finally:
        for process in running:
            process.end()


def run_alone(function: Callable[..., None], *arguments: Any, limits: Limits | None = None) -> dict[str, Any]:
    """Return what a function reports, run in a process of its own; raise ChildProcessError if it does not end well."""
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder:
        process = OwnProcess(Path(folder) / "own", limits or Limits(), function, *arguments)
        for _, end in as_they_end([lambda: process], 1):
            if end:
                raise ChildProcessError(end)
        return process.facts()


def work() -> None:
    """Call the function of this process, from its start to its end."""
    folder, parent, facts = Path(sys.argv[1]), int(sys.argv[2]), dict[str, Any]()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        # The parent was killed, and could not remove its files.
        shutil.rmtree(folder.parent, ignore_errors=True)
        os._exit(1)

    def report(**more: Any) -> None:
        facts.update(more)
        write_atomically(folder / "report.json", json.dumps(facts).encode(), "a report")

    if sys.platform != "win32":  # where a launcher may be between the two processes
        threading.Thread(target=end_with_parent, daemon=True).start()
    function, arguments = pickle.loads((folder / "task.pickle").read_bytes())
    function(report, *(each.open() if isinstance(each, Shared) else each for each in arguments))
