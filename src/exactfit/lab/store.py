"""The store of a sweep: append-only, one process at a time, whole after any end.

Every trial is one line, written in one piece when it arrives; the file is flushed to disk at
least every second. A process that dies leaves at most a half-written last line, which the
next one drops.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .._version import __version__
from ..exceptions import ParameterError
from .datasets import Dataset
from .experiment import Scheme
from .trial import Trial
from .trials import Header, Trials, line_of, read_trials, row_line

FLUSH_SECONDS = 0.5  # between two flushes: a power cut loses no more than a second
LOCKED_BYTE = 2**40  # far beyond the end: where Windows locks whole ranges of a file
TAIL = 2**16  # bytes read at a time in search of the last whole line
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "joblib")


class Lines:
    """A file of whole lines, opened to add to it; nobody else may meanwhile.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl``; made if it is not there.
    note : callable
        Told what had to be mended.

    Raises
    ------
    BlockingIOError
        If another process has it open.
    """

    def __init__(self, path: str | os.PathLike[str], note: Callable[[str], None]) -> None:
        self.path = Path(path)
        if self.path.name.endswith((".csv", ".csv.gz")):
            raise ParameterError(
                f"{self.path.name} holds packed trials, which cannot be added to: name a store (.jsonl), "
                "and continue from the packed file"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self._take()
            dropped = _drop_half_line(self._file)
            if dropped:
                note(f"{self.path.name}: dropped a half-written last line ({dropped} bytes)")
            self._read()
        except BaseException:
            os.close(self._file)
            raise
        self._dirty = False
        self._closing = threading.Event()
        self._flusher = threading.Thread(target=self._keep_flushed, daemon=True)
        self._flusher.start()

    def _read(self) -> None:
        """What stands in it, for those who want to know."""

    def _take(self) -> None:
        if not _lock(self._file):
            raise BlockingIOError(
                errno.EAGAIN, f"{self.path} is in use by another process: wait for it, or name another store"
            )

    def _keep_flushed(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Bring to disk what was written."""
        if self._dirty:
            self._dirty = False
            os.fsync(self._file)

    def write(self, line: str) -> None:
        """Add a line, in one piece."""
        data = line.encode()
        written = os.write(self._file, data)
        self._dirty = True
        if written < len(data):
            raise OSError(errno.ENOSPC, f"{self.path}: no room for the next trial; make room and run again")

    def close(self) -> None:
        """Flush and let go."""
        self._closing.set()
        self._flusher.join()
        self.flush()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Store(Lines):
    """The store of a sweep, opened to add trials to it; see :class:`Lines`.

    Attributes
    ----------
    trials : Trials
        What stood in it when it was opened.
    """

    def _read(self) -> None:
        self.trials: Trials = read_trials(self.path)

    def begin(self, header: Header) -> str:
        """Write the header of an invocation; returns the name that its rows refer to."""
        text = json.dumps(header, sort_keys=True)
        name = f"{header['scheme']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        self.write(line_of({"header": name, **header}))
        return name

    def add(self, header: str, trial: Trial) -> None:
        """Write one trial."""
        cell = trial.cell
        key = (trial.run, cell.n, cell.lam, cell.N)
        if trial.error:
            row = {"in": header, "run": trial.run, "n": cell.n, "lambda": cell.lam, "N": cell.N, "error": trial.error}
            self.write(line_of(row))
        else:
            self.write(row_line(header, key, trial.detectors, trial.per_class, trial.missed, trial.seconds))


def _lock(file: int) -> bool:
    """Lock an open file against other processes for as long as it is open; the system unlocks it when we die."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(file: int) -> bool:
    import msvcrt

    locking: Any = msvcrt.locking  # type: ignore[attr-defined,unused-ignore]  # only there on Windows
    try:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        locking(file, 2, 1)  # LK_NBLCK
    except OSError:
        return False
    return True


def _drop_half_line(file: int) -> int:
    """Cut the file after its last whole line; how many bytes were dropped."""
    size = os.lseek(file, 0, os.SEEK_END)
    position, tail = size, b""
    while position > 0 and b"\n" not in tail:
        position = max(0, position - TAIL)
        os.lseek(file, position, os.SEEK_SET)
        tail = os.read(file, TAIL) + tail
    kept = position + tail.rfind(b"\n") + 1
    if kept < size:
        os.ftruncate(file, kept)
    return size - kept


def header_of(experiment: str, data: Dataset, scheme: Scheme) -> Header:
    """What rows are run on and with: the header of one invocation."""
    return {
        "experiment": experiment,
        "data": data.name,
        "standing": data.standing,
        "digest": data.digest,
        "source": data.source,
        "points": len(data.y),
        "features": data.X.shape[1],
        "classes": list(data.classes),
        "target": None if data.target is None else data.classes[data.target],
        "scheme": scheme.kind,
        "law": scheme.law,
        "center": scheme.center,
        **({"detectors": scheme.detectors} if scheme.detectors != "mask" else {}),  # as older files, without it
        "exactfit": __version__,
        "python": platform.python_version(),
        **{name: _version_of(name) for name in PACKAGES},
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
    }


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _cpu() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
