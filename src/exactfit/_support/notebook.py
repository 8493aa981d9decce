"""Progress in notebooks: one piece of HTML in the cell's output, drawn again as work goes on. No widgets needed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .html import Markup, as_html, element, joined

PAUSE = 0.2  # seconds between two drawings: a notebook keeps up with a few messages a second


def in_notebook() -> bool:
    """Whether what is shown goes to a notebook's cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def notebook_bars(now: Callable[[], float] = time.monotonic) -> Iterator[Callable[[str, int, int | None], None]]:
    """Bars below the cell for every task, gone when the work is done."""
    from IPython.display import HTML, display

    shown: Any = display(HTML("\u2026"), display_id=True)
    tasks: dict[str, tuple[int, int | None]] = {}
    last = now() - PAUSE

    def tell(what: str, done: int, total: int | None) -> None:
        nonlocal last
        tasks[what] = done, total
        if now() - last >= PAUSE:
            last = now()
            shown.update(HTML(bars(tasks)))

    try:
        yield tell
    finally:
        shown.update(HTML(""))


def bars(tasks: dict[str, tuple[int, int | None]]) -> Markup:
    """A line for each task: what it is, how far it is.

    Examples
    --------
    >>> from exactfit._support.notebook import bars
    >>> print(bars({"cover": (3, 4)}))
    <div>cover <progress value="3" max="4"></progress> 3/4</div>
    """
    return joined(element("div", joined(_bar(what, *state))) for what, state in tasks.items())


def _bar(what: str, done: int, total: int | None) -> Iterator[Markup]:
    yield as_html(f"{what} ")
    known = {} if total is None else {"value": str(done), "max": str(total)}
    yield element("progress", "", **known)
    yield Markup(f" {done:,}" if total is None else f" {done:,}/{total:,}")
