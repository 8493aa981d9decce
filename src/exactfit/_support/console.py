"""Text for people: words, with colours on terminals only, progress of long work, and tables."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # Unicode's categories of controls, marks of direction, and separators
PAUSE = 0.2  # seconds between two drawings in a notebook, which keeps up with a few messages a second


def escape_controls(text: str) -> str:
    """Write control characters, say of a column's name, as backslash codes: a terminal would obey them."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in UNSEEN else f"\\x{ord(letter):02x}"
        for letter in text
    )


def echo(text: str, style: str | None = None, *, to_stderr: bool = False) -> None:
    """Write as it is, never wrapped; with a style on terminals only (rich honours NO_COLOR)."""
    from rich.console import Console

    console = Console(stderr=to_stderr)
    console.print(escape_controls(text), style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def log(text: str, style: str | None = "dim") -> None:
    """Write a message, which is no data."""
    echo(text, style, to_stderr=True)


def counted(count: int, what: str, several: str = "") -> str:
    """Return a number of things in words: 1 row, 1,024 rows."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def number_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which columns of a table hold numbers only, empty cells aside: they are set at the right."""

    def is_number(cell: str) -> bool:
        try:
            return cell == "" or float(cell) is not None
        except ValueError:
            return False

    return [all(map(is_number, column)) for column in zip(*rows, strict=True)]


def text_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a header and rows as lines of aligned columns, never cut, numbers at the right."""
    header, *rows = [[escape_controls(cell).replace("\n", "\\n") for cell in line] for line in lines]
    right = number_columns(rows) if rows else [False] * len(header)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    puts = [str.rjust if at_right else str.ljust for at_right in right]
    return [
        "  ".join(put(cell, width) for put, cell, width in zip(puts, line, widths, strict=True)).rstrip()
        for line in (header, *rows)
    ]


def user_stacklevel() -> int:
    """Return the ``stacklevel`` with which a warning of the caller names the line outside exactfit that led to it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "exactfit":
        frame, level = frame.f_back, level + 1
    return level


Progress = Callable[[str, int, int | None], None]


class _Silence:
    """Report to nobody: an object, so that signatures show a word and no address."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        pass

    def __repr__(self) -> str:
        return "silent"

    __reduce__ = __repr__  # copies, in other processes too, are this one


silent: Progress = _Silence()


class Steps:
    """Counter of what several threads have done, which reports each step."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done, self._lock = 0, Lock()

    def add(self, count: int) -> None:
        """Add steps that are done."""
        with self._lock:
            self._done += count
            self._progress(self._what, self._done, self._total)


@contextmanager
def progress_bar(show: bool) -> Iterator[Progress]:
    """Show a ``rich`` progress bar on standard error, in a notebook a line below the cell; or nothing."""
    ipython = sys.modules.get("IPython")
    if not show:
        yield silent
    elif type(ipython.get_ipython() if ipython else None).__name__ == "ZMQInteractiveShell":
        with _notebook_line() as report:
            yield report
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
        columns += [TimeElapsedColumn(), TimeRemainingColumn()]
        # What others print meanwhile stays where they print it: in a pipe it is data.
        with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
            tasks: dict[str, Any] = {}

            def report(what: str, done: int, total: int | None) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            yield report


@contextmanager
def _notebook_line() -> Iterator[Progress]:
    """Show how far each task is, gone when the work is done; rich would need widgets for it."""
    from IPython.display import display

    shown: Any = display({"text/plain": "\u2026"}, raw=True, display_id=True)
    tasks: dict[str, str] = {}
    last = 0.0

    def report(what: str, done: int, total: int | None) -> None:
        nonlocal last
        tasks[what] = f"{what} {done:,}" + ("" if total is None else f"/{total:,}")
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            shown.update({"text/plain": ", ".join(tasks.values())}, raw=True)

    try:
        yield report
    finally:
        shown.update({"text/plain": ""}, raw=True)


def as_frame(columns: Mapping[str, Any]) -> Any:
    """Return a pandas frame of columns; pandas is imported when it is needed."""
    import pandas as pd

    return pd.DataFrame(dict(columns))
