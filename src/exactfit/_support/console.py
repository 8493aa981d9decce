"""Words for people: data on standard output, messages on standard error, colours on terminals only."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # Unicode's categories of controls, marks of direction, and separators


def harmless(text: str) -> str:
    r"""Text that a terminal shows and does not obey: control characters, of columns' names say, as backslash codes.

    Examples
    --------
    >>> from exactfit._support.console import harmless
    >>> print(harmless("red \x1b[31m column"))
    red \x1b[31m column
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in UNSEEN else f"\\x{ord(letter):02x}"
        for letter in text
    )


def tell(text: str, style: str | None = None, *, to_stderr: bool = False) -> None:
    """Write as it is, never wrapped; with a style on terminals only (rich honours NO_COLOR)."""
    from rich.console import Console

    console = Console(stderr=to_stderr)
    console.print(harmless(text), style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def say(text: str, style: str | None = "dim") -> None:
    """A message, not data."""
    tell(text, style, to_stderr=True)


def number_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns of a table hold numbers only, empty cells aside: they are set at the right.

    Examples
    --------
    >>> from exactfit._support.console import number_columns
    >>> number_columns([["1.5", "a"], ["", "2"]])
    [True, False]
    """
    return [all(map(_is_number, column)) for column in zip(*rows, strict=True)]


def _is_number(cell: str) -> bool:
    try:
        return cell == "" or float(cell) is not None
    except ValueError:
        return False


def outside() -> int:
    """The ``stacklevel`` with which a warning of the caller names the line outside exactfit that led to it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "exactfit":
        frame, level = frame.f_back, level + 1
    return level
