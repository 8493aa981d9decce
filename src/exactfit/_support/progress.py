"""Progress of long work, told to whoever asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

Progress = Callable[[str, int, int | None], None]


def silent(what: str, done: int, total: int | None) -> None:
    """Tell nobody."""


class Steps:
    """Counts what several threads have done, and tells it.

    Examples
    --------
    >>> from exactfit._support.progress import Steps
    >>> steps = Steps(lambda what, done, total: print(what, done, "of", total), "points", 30)
    >>> steps.add(10)
    points 10 of 30
    >>> steps.add(20)
    points 30 of 30
    """

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done, self._lock = 0, Lock()

    def add(self, count: int) -> None:
        """So many more are done."""
        with self._lock:
            self._done += count
            self._progress(self._what, self._done, self._total)


@contextmanager
def progress_bar(show: bool) -> Iterator[Progress]:
    """A ``rich`` progress bar on standard error, or silence."""
    if not show:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeElapsedColumn(), TimeRemainingColumn()]
    # What others print meanwhile stays where they print it: in a pipe it is data.
    with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        tasks: dict[str, Any] = {}

        def tell(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield tell
