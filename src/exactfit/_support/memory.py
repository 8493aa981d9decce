"""How much memory this process may use: the machine's, or less where a container or a limit says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

UNKNOWN_MEMORY = 2**36  # bytes, 64 GiB: a generous guess where the system does not tell
LEAST_ROOM = 2**20  # bytes: under a limit on addresses that is used up already, a little is left to say so
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def usable_memory() -> int:
    """Bytes that this process may use: the least of main memory, its containers' limits and its own."""
    return min([_main_memory(), *_container_limits(), *_address_limits()])


def _main_memory() -> int:
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY


def _container_limits() -> Iterator[int]:
    """Limits of control groups, versions 1 and 2: a group's own, and those of all groups around it.

    Inside a container the path that the process is told may be one of the host: the root is always looked at.
    """
    lines: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        lines = OWN_CGROUPS.read_text().splitlines()
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            yield from _limits_up(CGROUPS, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_up(CGROUPS / "memory", path, "memory.limit_in_bytes")


def _limits_up(root: Path, path: str, name: str) -> Iterator[int]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts) + 1):
        with suppress(OSError, ValueError):  # no such group, or "max"
            yield int(root.joinpath(*parts[:depth], name).read_text())


def _address_limits() -> Iterator[int]:
    """What RLIMIT_AS and RLIMIT_DATA leave, beside what is taken already."""
    if sys.platform == "win32":
        return
    import resource

    for kind, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield max(LEAST_ROOM, soft - _taken(column))


def _taken(column: int) -> int:
    """Bytes, by a column of Linux's table of this process: 0 all addresses, 5 data; 0 where there is none."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[column]) * int(os.sysconf("SC_PAGE_SIZE"))
    return 0
