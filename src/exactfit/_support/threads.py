"""Memory and threads of this machine that a process may use, with BLAS kept to one thread meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from .console import Progress, progress_bar, silent
from .parameters import check_n_jobs

UNKNOWN_MEMORY = 2**36  # bytes, 64 GiB: a generous guess where the system does not tell
LEAST_MEMORY = 2**20  # bytes: under a limit on addresses that is used up already, a little is left to say so
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def usable_memory() -> int:
    """Return bytes that this process may use: the least of main memory, its containers' limits and its own."""
    return min([_main_memory(), *_container_limits(), *_address_limits()])


def _main_memory() -> int:
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY


def _container_limits() -> Iterator[int]:
    """Limits of control groups, versions 1 and 2: a group's own, and those of all groups around it."""
    lines: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        lines = OWN_CGROUPS.read_text().splitlines()
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        root, name = CGROUPS, "memory.max"
        if controllers:
            root, name = CGROUPS / "memory", "memory.limit_in_bytes"
        if controllers and "memory" not in controllers.split(","):
            continue
        # Inside a container the path that the process is told may be one of the host: the root is always looked at.
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            with suppress(OSError, ValueError):  # no such group, or "max"
                yield int(root.joinpath(*parts[:depth], name).read_text())


def _address_limits() -> Iterator[int]:
    """Addresses that RLIMIT_AS leaves, beside what is taken already."""
    if sys.platform != "win32":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            taken = 0
            with suppress(OSError, ValueError, IndexError):  # in pages, where Linux tells
                taken = int(Path("/proc/self/statm").read_text().split()[0]) * int(os.sysconf("SC_PAGE_SIZE"))
            yield max(LEAST_MEMORY, soft - taken)


def memory_of(process: int) -> int | None:
    """Return bytes of main memory that a process has for itself, None where the system does not say.

    Pages of files, such as data that several processes share, are left out on Linux.
    """
    try:
        resident, shared = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return _memory_by_ps(process)


def _memory_by_ps(process: int) -> int | None:
    """Return the same, shared pages included, where there is no /proc, as on macOS."""
    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False)
        return 1024 * int(told.stdout)
    except (OSError, ValueError):
        return None


Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = threading.Lock()
_limited = 0
_limiter: Any = None
_inherited: Any = None  # in a child: the limits that another thread of its parent had set


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Make this thread the one that OpenBLAS takes limits from."""
    # Newer versions of threadpoolctl ignore, silently, all threads but the first that ever set a limit; but the last
    # to leave may be another one than the first to enter.
    for library in _controller().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@contextmanager
def single_threaded_blas(needed: bool = True) -> Iterator[None]:
    """Keep BLAS to one thread for as long as anyone in this process is inside."""
    # The first to enter sets the limit and the last to leave lifts it, so that two fits at once cannot leave the
    # process limited for good.
    if not needed:
        yield
        return
    global _limited, _limiter, _inherited  # noqa: PLW0603  (one count for the whole process)
    with _lock:
        if _limited == 0:
            _take_control()
            if _inherited is not None:
                _inherited.restore_original_limits()
                _inherited = None
                _take_control()
            _limiter = _controller().limit(limits=1, user_api="blas")
        _limited += 1
    try:
        yield
    finally:
        with _lock:
            _limited -= 1
            if _limited == 0:
                _take_control()
                _limiter.restore_original_limits()
                _take_control()  # and leave it to whoever wants it next


def _start_anew() -> None:
    """In a child of fork: the lock may be held by a thread that is not here, and that thread's limits stay set."""
    global _lock, _limited, _limiter, _inherited  # noqa: PLW0603  (one count for the whole process)
    _inherited = _limiter if _limited else _inherited
    _lock, _limited, _limiter = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` means here, inside joblib workers too."""
    return int(effective_n_jobs(n_jobs))


def split(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into at most ``parts`` nearly equal ranges, none empty."""
    parts = max(1, min(parts, stop - start))
    edges = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


class Abandoned(Exception):  # noqa: N818  (nothing went wrong in the thread itself)
    """Raised in a thread whose work nobody waits for any more."""


class Threads:
    """``n_jobs`` threads for the length of one computation: the calling one, and a pool of the others.

    Work is cut into short pieces, so that Ctrl-C is answered between two of them; longer
    pieces call :meth:`go_on` now and then. A piece may itself call :meth:`map`, which is then
    shared with threads that have nothing else to do.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.count = n_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None  # small computations never need it
        self._lock = threading.Lock()
        self._idle, self._maps = self.count - 1, 0
        self._abandoned = threading.Event()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def go_on(self) -> None:
        """Raise :class:`Abandoned` once another piece has failed or the caller was interrupted."""
        if self._abandoned.is_set():
            raise Abandoned

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, in order, on all threads that are free."""
        items = list(items)
        if self.count == 1 or len(items) < 2:
            return [work(item) for item in items]
        # Idle threads only: helpers that wait for a thread would pile up, with what they are to work on.
        with self._lock:
            n_helpers = min(len(items) - 1, self._idle)
            self._idle -= n_helpers
            self._maps += n_helpers > 0
            self._pool = self._pool or (ThreadPoolExecutor(self.count - 1) if n_helpers else None)
        if self._pool is None or not n_helpers:
            return [work(item) for item in items]
        results: dict[int, Result] = {}
        places = iter(range(len(items)))

        def take() -> None:
            while not self._abandoned.is_set():
                with self._lock:
                    place = next(places, None)
                if place is None:
                    return
                results[place] = work(items[place])

        def help_out() -> None:
            try:
                with self._abandoning():
                    take()
            finally:
                with self._lock:
                    self._idle += 1

        helpers: list[Future[None]] = []
        try:
            with suppress(Abandoned), self._abandoning():  # if abandoned, another thread has the reason
                for _ in range(n_helpers):
                    helpers.append(self._pool.submit(help_out))
                take()
                wait(helpers)
        finally:
            wait(helpers)
            with self._lock:
                self._maps -= 1
                if not self._maps:
                    self._abandoned.clear()
        for helper in helpers:
            with suppress(Abandoned):
                helper.result()
        if len(results) < len(items):  # a map around this one has failed, and knows why
            raise Abandoned
        return [results[place] for place in range(len(items))]

    @contextmanager
    def _abandoning(self) -> Iterator[None]:
        """Have the other threads stop if this one fails or is interrupted, while it waits for them too."""
        try:
            yield
        except BaseException:
            self._abandoned.set()
            raise


SERIAL = Threads(1)


@dataclass(frozen=True, eq=False)
class Executor:
    """Thread pool and progress callback of one call."""

    threads: Threads
    progress: Progress = silent


@contextmanager
def open_executor(n_jobs: int | None, verbose: bool = False) -> Iterator[Executor]:
    """Open threads and a progress bar for the length of one call."""
    check_n_jobs(n_jobs)
    with progress_bar(bool(verbose)) as progress, Threads(n_jobs) as threads:
        yield Executor(threads, progress)
