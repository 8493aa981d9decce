"""Words for people: data on standard output, messages on standard error, colours on terminals only."""

from __future__ import annotations


def tell(text: str, style: str | None = None, *, to_stderr: bool = False) -> None:
    """Write as it is, never wrapped; with a style on terminals only (rich honours NO_COLOR)."""
    from rich.console import Console

    console = Console(stderr=to_stderr)
    console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def say(text: str, style: str | None = "dim") -> None:
    """A message, not data."""
    tell(text, style, to_stderr=True)
