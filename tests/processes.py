"""Processes that tests start: killed at the end, and after some minutes at the latest."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from threading import Timer
from typing import Any

LONGEST = 300.0  # seconds


@contextmanager
def started(command: Sequence[str | PathLike[str]], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process with text streams; whoever reads or waits without a time limit is released when it is killed."""
    with subprocess.Popen(command, text=True, **options) as process:
        timer = Timer(LONGEST, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()
