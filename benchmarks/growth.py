"""How a fit's time grows with points, width, dimension and detectors.

One thing grows, all else stays; every point is the median of a few fits on two threads. The exponent
is the slope of a straight line through the larger half in doubly logarithmic scale.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from exactfit import Options, fixed_width

from .cases import THREADS, Case, Data, Row, Settings, moons

REPEATS = 3  # of a fit, of which the median counts
RECIPE = Options(n_jobs=THREADS)


@dataclass(frozen=True)
class Axis:
    """What grows, over which data."""

    name: str
    label: str
    sizes: Sequence[int]
    make: Callable[[int], tuple[Data, int]]


def two_bells(n: int, d: int) -> Data:
    """Two Gaussian classes in d dimensions that overlap a little, whatever d is."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d))
    X[:, 0] += 3.0 * y
    return X, y


def chessboard(n: int, squares: int) -> Data:
    """Points in a square, labelled by the colour of their field: detectors grow with the fields."""
    X = np.random.default_rng(0).uniform(0, 1, (n, 2))
    return X, np.floor(X * squares).sum(axis=1).astype(np.int64) % 2


AXES = (
    Axis("points", "points N (two moons, n = 512)", [10**k * m for k in (3, 4, 5) for m in (1, 3)] + [10**6],
         lambda size: (moons(size), 512)),
    Axis("width", "width n (two moons, N = 100,000)", [2**k for k in range(7, 15)],
         lambda size: (moons(100_000), size)),
    Axis("dimension", "dimension d (two bells, N = 20,000, n = 1024)", [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048],
         lambda size: (two_bells(20_000, size), 1024)),
    Axis("detectors", "detectors (chessboard, N = 20,000, n = 2048)", [2, 4, 8, 16, 32],
         lambda size: (chessboard(20_000, size), 2048)),
)  # fmt: skip


def measure_size(axis: Axis, size: int) -> tuple[int, int, float]:
    """Size (detectors count themselves), detectors, and seconds."""
    (X, y), width = axis.make(size)
    fixed_width(X[:200], y[:200], 64, RECIPE, 0)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        made = fixed_width(X, y, width, RECIPE, 0)
        times.append(time.perf_counter() - began)
    detectors = len(made.trace.anchors)
    return (detectors if axis.name == "detectors" else size), detectors, float(np.median(times))


def exponent(rows: list[tuple[int, int, float]]) -> float:
    """Slope of log seconds over log size, larger half."""
    sizes, _, seconds = np.log(np.array(rows[len(rows) // 2 :], dtype=float)).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten around some numbers."""
    return 10.0 ** np.floor(np.log10(min(values))), 10.0 ** np.ceil(np.log10(max(values)))


def draw(results: dict[str, list[tuple[int, int, float]]], path: Path) -> None:
    """One panel for every axis."""
    import matplotlib.pyplot as plt

    from exactfit.plots.style import style

    with style():
        figure, panels = plt.subplots(1, len(AXES), figsize=(12, 3), layout="constrained")
        for axis, panel in zip(AXES, panels, strict=True):
            rows = results[axis.name]
            sizes, seconds = [row[0] for row in rows], [row[2] for row in rows]
            panel.loglog(sizes, seconds, "o-", clip_on=False)
            panel.set(xlim=decades(sizes), ylim=decades(seconds))
            panel.set(xlabel=axis.label.replace(" (", "\n("), title=f"exponent {exponent(rows):.2f}")
        panels[0].set_ylabel("seconds of a fit")
        figure.savefig(path, dpi=150)


def measure(axis: Axis, options: Settings) -> list[Row]:
    """All sizes of one axis."""
    return [{"axis": axis.name, "rows": [measure_size(axis, size) for size in axis.sizes]}]


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """A table for every axis, and a picture of all of them if asked for."""
    results = {row["axis"]: row["rows"] for row in rows}
    for axis in AXES:
        if axis.name in results:
            found = results[axis.name]
            table = Table(axis.name, "detectors", "seconds", title=f"{axis.label}: exponent {exponent(found):.2f}")
            for size, detectors, seconds in found:
                table.add_row(f"{size:,}", f"{detectors:,}", f"{seconds:.4g}")
            console.print(table)
    if options.output is not None and len(results) == len(AXES):
        draw(results, options.output / "growth.png")


CASES = [Case(f"growth/{axis.name}", partial(measure, axis), show) for axis in AXES]
