"""What people are told: words, with colours on terminals only, progress of long work, and tables."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from ..exceptions import MissingDependencyError

UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # Unicode's categories of controls, marks of direction, and separators


def escape_controls(text: str) -> str:
    r"""Text that a terminal shows and does not obey: control characters, of columns' names say, as backslash codes.

    Examples
    --------
    >>> from exactfit._support.console import escape_controls
    >>> print(escape_controls("red \x1b[31m column"))
    red \x1b[31m column
    """
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
    """A message, not data."""
    echo(text, style, to_stderr=True)


def counted(count: int, what: str, several: str = "") -> str:
    """A number of things.

    Examples
    --------
    >>> from exactfit._support.console import counted
    >>> counted(1, "row"), counted(1024, "row"), counted(2, "class", "classes")
    ('1 row', '1,024 rows', '2 classes')
    """
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def number_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns of a table hold numbers only, empty cells aside: they are set at the right.

    Examples
    --------
    >>> from exactfit._support.console import number_columns
    >>> number_columns([["1.5", "a"], ["", "2"]])
    [True, False]
    """
    return [all(map(_is_number, column)) for column in zip(*rows, strict=True)]


def text_table(lines: Sequence[Sequence[str]]) -> list[str]:
    r"""A header and rows as lines of aligned columns, never cut, numbers at the right.

    Examples
    --------
    >>> from exactfit._support.console import text_table
    >>> print(*text_table([["row", "label"], ["3", "a"], ["17", "b"]]), sep="\n")
    row  label
      3  a
     17  b
    """
    header, *rows = [[escape_controls(cell).replace("\n", "\\n") for cell in line] for line in lines]
    right = number_columns(rows) if rows else [False] * len(header)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    puts = [str.rjust if at_right else str.ljust for at_right in right]
    return [
        "  ".join(put(cell, width) for put, cell, width in zip(puts, line, widths, strict=True)).rstrip()
        for line in (header, *rows)
    ]


def _is_number(cell: str) -> bool:
    try:
        return cell == "" or float(cell) is not None
    except ValueError:
        return False


def user_stacklevel() -> int:
    """The ``stacklevel`` with which a warning of the caller names the line outside exactfit that led to it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "exactfit":
        frame, level = frame.f_back, level + 1
    return level


Progress = Callable[[str, int, int | None], None]


class _Silence:
    """Tell nobody: an object, so that signatures show a word and no address."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        pass

    def __repr__(self) -> str:
        return "silent"

    __reduce__ = __repr__  # copies, in other processes too, are this one


silent: Progress = _Silence()


class Steps:
    """Counts what several threads have done, and tells it.

    Examples
    --------
    >>> from exactfit._support.console import Steps
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
    """A ``rich`` progress bar on standard error, in a notebook one of its own; or silence."""
    if not show:
        yield silent
        return
    from .html import in_notebook, notebook_bars

    if in_notebook():
        with notebook_bars() as told:
            yield told
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


def as_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas frame of columns, or an error that says how to get pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("frames need pandas: pip install pandas") from error
    return pd.DataFrame(dict(columns))
