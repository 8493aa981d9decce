"""How a sweep is going: a live display on terminals, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from .run import weight
from .trial import Cell, Trial

LINE_SECONDS = 60.0


class Display(AbstractContextManager["Display"]):
    """Progress of a sweep on standard error: done, rate, time left, failures.

    Parameters
    ----------
    title : str
    todo : sequence of Cell
        One for each trial to come.
    say : callable
        Writes a line, where there is no terminal to draw on.
    clock : callable
    """

    def __init__(
        self, title: str, todo: Sequence[Cell], say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title, self._say, self._clock = title, say, clock
        self._total, self._total_weight = len(todo), sum(map(weight, todo))
        self._done, self._weight, self._failed = 0, 0.0, 0
        self._start = self._last_line = clock()
        self._bar: Any = None

    def __enter__(self) -> Display:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        if console.is_terminal:
            columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}")]
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self._title, total=self._total_weight, status="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, trials: Sequence[Trial]) -> None:
        """Count trials that have arrived."""
        self._done += len(trials)
        self._weight += sum(weight(trial.cell) for trial in trials)
        self._failed += sum(bool(trial.error) for trial in trials)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._weight, status=self.status())
        elif self._clock() - self._last_line >= LINE_SECONDS:
            self._last_line = self._clock()
            self._say(f"{self._title}: {self.status()}")

    def status(self) -> str:
        """One line: how far, how fast, how long still, how many failed.

        Examples
        --------
        >>> from exactfit.lab.experiments.display import Display
        >>> from exactfit.lab.experiments.trial import Cell, Trial
        >>> seconds = iter([0.0, 10.0, 10.0])
        >>> display = Display("toy", [Cell(64, 1.0, 100)] * 4, print, clock=lambda: next(seconds))
        >>> display([Trial(0, Cell(64, 1.0, 100), (3,))])
        >>> display.status()
        '1 of 4 trials, 0.10 a second, 0:00:30 left, 0 failed'
        """
        passed = max(self._clock() - self._start, 1e-9)
        left = passed * (self._total_weight - self._weight) / self._weight if self._weight else 0.0
        hours, seconds = divmod(round(left), 3600)
        clock = f"{hours}:{seconds // 60:02}:{seconds % 60:02}"
        rate = f"{self._done / passed:.3g}" if self._done / passed >= 1 else f"{self._done / passed:.2f}"
        return f"{self._done} of {self._total} trials, {rate} a second, {clock} left, {self._failed} failed"
