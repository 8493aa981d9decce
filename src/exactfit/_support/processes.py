"""Functions in processes of their own, with limits of time and memory; and files that others find whole, or not at all.

A process is started afresh, not forked and not from the caller's main module, so that scripts need no
``if __name__ == "__main__"`` and nothing of the caller's state counts. Either it carries out one function, which gets
a :class:`Reporter` first: what it has told so far is on disk at any time, replaced as a whole, for whoever waits for
it or ends it. Or it is one of several :func:`workers`, which are asked to do one task after another.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import multiprocessing.spawn
import os
import pickle
import platform
import queue
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from ..exceptions import DataError
from .threads import memory_of, usable_memory

POLL_SECONDS = 0.02  # between two looks at a process: too short to be waited for, too long to cost anything
MEMORY_SECONDS = 0.1  # between two looks at its memory, for which the system has to be asked
PARENT_SECONDS = 1.0  # between two looks whether the parent still lives
WARM_UP_SECONDS = 600.0  # for starting and compiling, which a time limit does not count
LARGEST_STREAM = 2**31  # bytes that are taken from a pipe or a device, which may have no end
ALIGNMENT = 64  # bytes: arrays in a file begin where vectors of the widest processors may
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# This machine in names of files aside: others that share a folder have processes of the same numbers.
_HERE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
Answer = TypeVar("Answer")


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
    """What a process may take: seconds from its first report on, bytes, and a share of the cores."""

    time_limit: float = math.inf
    memory_limit: int | None = None
    at_once: int = 1


class Reporter:
    """Tells facts, which must be what JSON can hold, in one file, always whole; and a worker's answers in another."""

    def __init__(self, path: Path, answers: IO[bytes] | None = None) -> None:
        self._path, self._facts, self._answers = path, dict[str, Any](), answers

    def __call__(self, **facts: Any) -> None:
        """Add facts; the first ones start the clock of a time limit."""
        self._facts |= facts
        write_atomically(self._path, json.dumps(self._facts).encode(), "a report")

    def answer(self, answer: Any) -> None:
        """Send whoever asked a worker what came out."""
        assert self._answers is not None
        pickle.dump(answer, self._answers)
        self._answers.flush()


class Shared:
    """What several processes read from one file: its arrays are mapped, so that memory holds them once.

    What it holds is whatever can be pickled. Writing to it changes nothing for others.
    """

    def __init__(self, path: Path, held: Any) -> None:
        buffers = list[pickle.PickleBuffer]()
        self._path, self._places = path, list[tuple[int, int]]()
        self._rest = pickle.dumps(held, protocol=5, buffer_callback=buffers.append)
        with path.open("wb") as file:
            for buffer in buffers:
                file.write(bytes(-file.tell() % ALIGNMENT))
                start = file.tell()
                self._places.append((start, start + file.write(buffer.raw())))
            file.write(b"\0")  # an empty file cannot be mapped

    def open(self) -> Any:
        """What it holds."""
        _opened.append(self._path)
        with self._path.open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return pickle.loads(self._rest, buffers=[mapped[start:end] for start, end in self._places])


class OwnProcess:
    """A function at work in a process of its own, with files in a new folder.

    It is called with a :class:`Reporter` and the arguments: whatever can be pickled, classes of scripts and notebooks
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
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        python = multiprocessing.spawn.get_executable()
        command = [python, "-P", "-c", f"from {__name__} import work; work()", str(self._folder), str(os.getpid())]
        with (self._folder / "output.txt").open("wb") as output:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, start_new_session=True,
                env=_environment(self._limits.at_once),
            )  # fmt: skip

    def ask(self, task: Any) -> Any:
        """What the function of a worker makes of a task.

        Raises
        ------
        ChildProcessError
            If the process ends before it answers, with how it ended.
        """
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        message = pickle.dumps(task)
        try:
            asked.write(message)
            asked.flush()
            return pickle.load(answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise ChildProcessError(self._told_by(self._process.wait())) from None

    @property
    def seconds(self) -> float:
        """How much of its time limit is used."""
        return time.monotonic() - self._clock if self._is_warm else 0.0

    def facts(self) -> dict[str, Any]:
        """What the function has told so far."""
        try:
            return dict(json.loads((self._folder / "report.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}

    def poll(self) -> str | None:
        """None while it runs, then how it ended: nothing if all went well. Ends it if it is beyond its limits."""
        code = self._process.poll()
        if code is not None:
            self._hang_up()
            return self._told_by(code)
        if not self._is_warm and self.facts():
            self._is_warm, self._clock = True, time.monotonic()
        beyond = self._beyond()
        if beyond is not None:
            self.end()
        return beyond

    def _beyond(self) -> str | None:
        """The limit that it does not keep to."""
        now, most = time.monotonic(), self._limits.memory_limit
        seconds = self._limits.time_limit if self._is_warm else WARM_UP_SECONDS
        if now - self._clock > seconds:
            return f"time limit of {seconds:g} s"
        if most is None or now < self._next_look:
            return None
        self._next_look = now + MEMORY_SECONDS
        return f"memory limit of {most / 2**20:,.0f} MiB" if (memory_of(self._process.pid) or 0) > most else None

    def _told_by(self, code: int) -> str:
        """How a process ended by itself, by its exit code and its last words."""
        if code == 0:
            return ""
        if code < 0:
            with suppress(ValueError):
                return f"ended by {signal.Signals(-code).name}"
        lines = (self._folder / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"ended with exit code {code} ({last})"

    def kill(self) -> None:
        """End the process, and those that it started; whoever waits for its answer hears of it."""
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """The same, and wait for it."""
        self.kill()
        self._process.wait()
        self._hang_up()

    def _hang_up(self) -> None:
        for line in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # of a task that nobody is there to read
                if line is not None:
                    line.close()


def as_they_end(
    starts: Iterable[Callable[[], OwnProcess]], at_once: int, watch: Callable[[OwnProcess], None] = lambda process: None
) -> Generator[tuple[OwnProcess, str]]:
    """Start processes, some at a time; each with how it ended, in the order of their ends.

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
    """What a function reports, run in a process of its own.

    Raises
    ------
    ChildProcessError
        If it did not come to its end, with what stopped it.

    Examples
    --------
    >>> from exactfit._support.processes import run_alone
    >>> run_alone(lambda report, number: report(square=number**2), 7)
    {'square': 49}
    """
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder:
        process = OwnProcess(Path(folder) / "own", limits or Limits(), function, *arguments)
        for _, end in as_they_end([lambda: process], 1):
            if end:
                raise ChildProcessError(end)
        return process.facts()


@contextmanager
def workers(
    at_once: int, function: Callable[..., Answer], held: Any, time_limit: float | None = None
) -> Iterator[Callable[[Any], Answer]]:
    """So many processes that each hold the same, in memory once, and do one task after another.

    Yields
    ------
    callable
        Has a process that is free do a task, and returns ``function(held, task)``; for several threads at a time. A
        process that ends before it answers is a :class:`ChildProcessError`, and a :class:`TimeoutError` if so many
        seconds after their start all were ended.
    """
    free, late = queue.SimpleQueue[OwnProcess](), threading.Event()
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder, ExitStack() as started:
        shared = Shared(Path(folder) / "held", held)
        for number in range(at_once):
            process = OwnProcess(Path(folder) / str(number), Limits(at_once=at_once), _serve, function, shared)
            started.callback(process.end)
            free.put(process)
            if time_limit is not None:
                timer = threading.Timer(max(0.0, time_limit), _end_late, (process, late))
                timer.daemon = True
                timer.start()
                started.callback(timer.cancel)

        def work(task: Any) -> Answer:
            process = free.get()
            try:
                answer: Answer = process.ask(task)
            except ChildProcessError:
                if late.is_set():
                    raise TimeoutError(f"time limit of {time_limit:g} s") from None
                raise
            free.put(process)
            return answer

        yield work


def _end_late(process: OwnProcess, late: threading.Event) -> None:
    late.set()
    process.kill()


def _serve(report: Reporter, function: Callable[..., Any], held: Any) -> None:
    """What a worker does: a task after another, until it is ended, or nobody is left to ask."""
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            _leave()
        report.answer(function(held, task))


def _environment(at_once: int) -> dict[str, str]:
    """That of the caller, with its module path, and cores shared out if several run at a time."""
    share = str(max(1, (os.cpu_count() or 1) // at_once))
    threads = dict.fromkeys(_THREAD_VARIABLES, share) if at_once > 1 else {}
    path = os.pathsep.join(os.path.abspath(part) for part in sys.path)
    return {**threads, **os.environ, "PYTHONPATH": path}


_watched = threading.Event()
_opened: list[Path] = []  # files of others, which they remove; unless they were killed


def end_with_parent(parent: int) -> None:
    """Have this process end when its parent does: else workers of a run that was killed would go on for minutes.

    May be called often: it is watched once. Not on Windows, where a launcher may stand between the two processes.
    """
    if sys.platform != "win32" and not _watched.is_set():
        _watched.set()
        threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    _leave()


def _leave() -> NoReturn:
    """End where whoever started this process was killed, with the files that it could not remove."""
    for path in _opened:
        with suppress(OSError):  # another process may hold it
            path.unlink(missing_ok=True)
    os._exit(1)


def work() -> None:
    """What a process does from its start to its end."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what functions print does not go among the answers
        end_with_parent(parent)
        function, arguments = pickle.loads((folder / "task.pickle").read_bytes())
        held = [each.open() if isinstance(each, Shared) else each for each in arguments]
        function(Reporter(folder / "report.json", answers), *held)
