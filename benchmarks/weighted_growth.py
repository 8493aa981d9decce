"""How many detectors there are as points or hyperplanes become more: masks, weights, and what counting asks for.

Images of MNIST, and Gaussian points in 50 dimensions whose labels mean nothing. ``lifted-baum`` finds its first layer
itself; its units are those of its second layer. Counting: M half-spaces of {0, 1}^n can tell N patterns apart in at
most (2 sum over i <= n of C(N - 1, i))^M ways (Cover 1965), so to give N points any labels whatever takes
M >= N / log2 of the base, with n + 1 numbers each. With ``--output`` the picture of docs/weighted.md is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from exactfit.constructions import CONSTRUCTORS

from .cases import Case, Data, Row, Settings, images
from .weighted import SEED, fitted, markdown, warm_up

DIMENSION = 50  # of points with random labels
LINES = ("masks", "weights", "lifted-baum", "counting")


@dataclass(frozen=True)
class Growth:
    """Pairs of points N and width n, of which one stays, on MNIST or on random labels."""

    name: str
    title: str
    axis: str
    sizes: Sequence[tuple[int, int]]

    @property
    def is_random(self) -> bool:
        """Whether labels mean nothing: only then counting says something."""
        return "random" in self.name

    def load(self, points: int, options: Settings) -> Data:
        """The first points."""
        if not self.is_random:
            return images("mnist", points, options.data)
        rng = np.random.default_rng(SEED)
        return rng.standard_normal((points, DIMENSION)), rng.integers(0, 2, points)


GROWTHS = (
    Growth("points-mnist", "MNIST, n = 1000", "points", [(N, 1000) for N in (1000, 2000, 5000, 10_000, 20_000)]),
    Growth("width-mnist", "MNIST, N = 5000", "n", [(5000, n) for n in (200, 500, 1000, 2000, 4000)]),
    Growth("points-random", "random labels, n = 500", "points", [(N, 500) for N in (500, 1000, 2000, 4000, 8000)]),
    Growth("width-random", "random labels, N = 2000", "n", [(2000, n) for n in (125, 250, 500, 1000, 2000)]),
)


def least_detectors(points: int, width: int) -> int:
    """How many half-spaces of {0, 1}^n counting asks for, to give so many points any labels."""
    ways = 2 * sum(math.comb(points - 1, i) for i in range(min(width, points - 1) + 1))
    return math.ceil(points / math.log2(ways))


def measure(growth: Growth, options: Settings) -> list[Row]:
    """A row for every size."""
    rows = []
    for points, width in growth.sizes:
        data = growth.load(min(points, options.size or points), options)
        row: Row = {"case": growth.title, "N": len(data[1]), "n": width}
        for name, detectors in (("masks", "mask"), ("weights", "weighted")):
            warm_up(data, {"width": width}, detectors)
            model, _ = fitted(data, {"width": width}, detectors, SEED)
            row |= {name: model.n_detectors_, f"missed by {name}": model.certificate_.n_errors}
        baum = CONSTRUCTORS["lifted-baum"].construct(*data, random_state=SEED).network
        row["lifted-baum"] = baum.widths[1]
        row["counting"] = least_detectors(len(data[1]), width) if growth.is_random else None
        row["parameters of weights"] = row["weights"] * (width + 1)
        row["of lifted-baum"] = baum.widths[1] * (baum.widths[0] + 1)
        row["asked for"] = row["counting"] and row["counting"] * (width + 1)
        rows.append(row)
    return rows


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """A table, and a picture if asked for."""
    markdown(console, rows, options)
    if options.output is not None:
        draw(rows, options.output / "weighted-growth.png")


def draw(rows: Sequence[Row], path: Path) -> None:
    """One panel for every growth."""
    import matplotlib.pyplot as plt

    from exactfit.plots.style import color, marker, style

    with style():
        figure, panels = plt.subplots(1, len(GROWTHS), figsize=(14, 3.6), layout="constrained")
        for growth, panel in zip(GROWTHS, panels, strict=True):
            own = [row for row in rows if row["case"] == growth.title]
            sizes = [row["N" if growth.axis == "points" else "n"] for row in own]
            for index, name in enumerate(LINES):
                counts = [row[name] for row in own]
                if None not in counts:
                    dashed = "--" if name == "counting" else "-"
                    panel.loglog(sizes, counts, dashed, color=color(index), marker=marker(index), label=name)
            panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
            panel.minorticks_off()
            panel.set(xlabel="points N" if growth.axis == "points" else "hyperplanes n", title=growth.title)
        panels[0].set_ylabel("second-layer units")
        figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside right center")
        figure.savefig(path, dpi=150, metadata={"Software": None})


CASES = [
    Case(f"weighted-growth/{one.name}", partial(measure, one), show, needs_data=not one.is_random) for one in GROWTHS
]
