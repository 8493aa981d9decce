"""Processes: ones that outlive nobody, and how much memory one uses."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path


def end_with(parent: int) -> None:
    """Wait for an orphan's fate: else workers of a run that was killed would go on for minutes."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def memory_of(process: int) -> int | None:
    """Bytes of main memory that a process has for itself, None where the system does not tell.

    Pages of files, such as data that several processes share, are left out on Linux.

    Examples
    --------
    >>> import os
    >>> from exactfit._support.processes import memory_of
    >>> own = memory_of(os.getpid())
    >>> own is None or own > 2**20
    True
    """
    try:
        resident, shared = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return told_by_ps(process)


def told_by_ps(process: int) -> int | None:
    """The same, shared pages included, where there is no /proc, as on macOS."""
    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False)
        return 1024 * int(told.stdout)
    except (OSError, ValueError):
        return None
