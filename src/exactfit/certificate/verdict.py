"""What a proof finds out about every point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._support.progress import Progress, Steps, silent
from .._support.threads import Threads, single_threaded_blas
from .record import ARITHMETICS, Arithmetic, Method, RadiusMethod
from .rows import Floats, Points

Flags = NDArray[np.bool_]
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which points are right, in each arithmetic that was looked at: "exact" at least.

    In "float64" and "float32" a point is right if every evaluation says so.
    """

    right: dict[Arithmetic, Flags]
    slack: float
    radius: float | None
    method: Method
    radius_method: RadiusMethod | None = None
    note: str = ""

    def is_safe(self, arithmetic: Arithmetic) -> bool | None:
        """Whether all points are right, None if nobody looked."""
        return bool(self.right[arithmetic].all()) if arithmetic in self.right else None


@dataclass(frozen=True, eq=False)
class TileVerdict:
    """The same for a tile of points."""

    right: dict[Arithmetic, Flags]
    slack: float
    radius: float


@dataclass(frozen=True)
class Effort:
    """How a proof is worked out: on how many threads, and who is told how far it got."""

    n_jobs: int | None = None
    progress: Progress = silent


def map_tiles(points: Points, size: int, effort: Effort, judge: Callable[[Floats, slice], Found]) -> list[Found]:
    """What ``judge`` finds in all points, a tile of ``size`` rows to a piece of work."""
    steps = Steps(effort.progress, "points", points.shape[0])

    def work(piece: tuple[int, int]) -> Found:
        with np.errstate(all="ignore"):  # overflow leaves an entry to exact arithmetic
            found = judge(points.finite_tile(*piece), slice(*piece))
        steps.add(piece[1] - piece[0])
        return found

    with single_threaded_blas(), Threads(effort.n_jobs) as threads:
        return threads.map(work, points.ranges(size))


def join_tiles(tiles: Iterable[TileVerdict], method: Method, radius_method: RadiusMethod) -> Verdict:
    """The verdict on all points, from those on tiles in order."""
    tiles = list(tiles)
    none = np.empty(0, dtype=bool)
    return Verdict(
        right={name: np.concatenate([none, *(tile.right[name] for tile in tiles)]) for name in ARITHMETICS},
        slack=min((tile.slack for tile in tiles), default=float("inf")),
        radius=min((tile.radius for tile in tiles), default=float("inf")),
        method=method,
        radius_method=radius_method,
    )


def rounded_down(values: Floats) -> float:
    """The smallest of some numbers that carry a few roundings, made a lower bound again."""
    smallest = max(0.0, float(np.min(values, initial=np.inf)))
    return smallest if np.isinf(smallest) else float(np.nextafter(smallest * (1.0 - 2.0**-50), 0.0))
