"""Threads: who runs how many, with BLAS kept to one thread each meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = threading.Lock()
_limited = 0
_limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Make this thread the one that OpenBLAS takes limits from.

    Newer versions of threadpoolctl ignore, silently, all threads but the first that ever
    set a limit; but the last to leave may be another one than the first to enter.
    """
    for library in _controller().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@contextmanager
def single_threaded_blas(needed: bool = True) -> Iterator[None]:
    """One BLAS thread for as long as anyone in this process is inside.

    The first to enter sets the limit and the last to leave lifts it, so that two
    fits at once cannot leave the process limited for good.
    """
    if not needed:
        yield
        return
    global _limited, _limiter  # noqa: PLW0603  (one count for the whole process)
    with _lock:
        if _limited == 0:
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


def n_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` means here, inside joblib workers too."""
    return int(effective_n_jobs(n_jobs))


def split(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into at most ``parts`` nearly equal ranges, none empty."""
    parts = max(1, min(parts, stop - start))
    edges = [start + (stop - start) * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


class Threads:
    """A pool of ``n_jobs`` threads for the length of one computation.

    Work is cut into short pieces, so that Ctrl-C is answered between two of them.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.count = n_threads(n_jobs)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]``, in order, on all threads."""
        if self._pool is None:
            return [work(item) for item in items]
        return list(self._pool.map(work, items))


SERIAL = Threads(1)
