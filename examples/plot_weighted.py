"""
Weights instead of masks
========================

Two parallel lines: with the paper's masks every few points need a detector of their own, with integer weights one
detector claims a whole line, on the same hyperplanes. Beside it, how many detectors Gaussian points with random labels
need as they become more.

``python examples/plot_weighted.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from exactfit import Recipe, fixed_width
from exactfit.geometry.theorem import make_parallel_lines
from exactfit.plots import plot_regions, style
from exactfit.plots.style import color, marker

WIDTH = 500
SIZES = (125, 250, 500, 1000)
LINES = {"mask": "masks", "weighted": "weights"}


def detectors(n_points, kind):
    """Second-layer width for points in 20 dimensions whose labels mean nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_points, 20)), rng.integers(0, 2, n_points)
    return fixed_width(X, y, WIDTH, Recipe(detectors=kind), 0).network.widths[1]


with style():
    figure, panels = plt.subplots(1, 3, figsize=(12.5, 3.8))
    X, y = make_parallel_lines(30, distance=0.1)
    for ax, (kind, name) in zip(panels, LINES.items(), strict=False):
        made = fixed_width(X, y, WIDTH, Recipe(detectors=kind), 0)
        plot_regions(made.network, X, y, ax=ax, detectors=True)
        n_detectors = made.network.widths[1]
        ax.set_title(f"{name}: {n_detectors} detector{'s' if n_detectors > 1 else ''}")
    for index, (kind, name) in enumerate(LINES.items()):
        counts = [detectors(n, kind) for n in SIZES]
        print(name, dict(zip(SIZES, counts, strict=True)))
        panels[2].plot(SIZES, counts, color=color(index), marker=marker(index), label=name)
    panels[2].set(xlabel="points N", ylabel="detectors", xscale="log", yscale="log")
    panels[2].set_xticks(SIZES, map(str, SIZES))
    panels[2].minorticks_off()
    panels[2].set_title(f"random labels, n = {WIDTH}")
    panels[2].legend()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], metadata={"Software": None})
    else:
        plt.show()
