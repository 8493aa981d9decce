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

from exactfit import Options, fixed_width
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
    return fixed_width(X, y, WIDTH, Options(detectors=kind), 0).network.widths[1]


with style():
    figure, panels = plt.subplot_mosaic(
        [["mask", "growth"], ["weighted", "growth"]], figsize=(12.5, 4.6), width_ratios=[2, 1], layout="constrained"
    )
    X, y = make_parallel_lines(30, distance=0.2)
    for kind, name in LINES.items():
        made = fixed_width(X, y, WIDTH, Options(detectors=kind), 0)
        plot_regions(made.network, X, y, ax=panels[kind], detectors=True, equal=True, legend=kind == "weighted")
        n_detectors = made.network.widths[1]
        panels[kind].set_title(f"{name}: {n_detectors} detector{'s' if n_detectors > 1 else ''}")
    growth = panels["growth"]
    for index, (kind, name) in enumerate(LINES.items()):
        counts = [detectors(n, kind) for n in SIZES]
        print(name, dict(zip(SIZES, counts, strict=True)))
        growth.plot(SIZES, counts, color=color(index), marker=marker(index), label=name)
    growth.set(xlabel="points N", ylabel="detectors", xscale="log", yscale="log")
    growth.set_xticks(SIZES, map(str, SIZES))
    growth.minorticks_off()
    growth.set_title(f"random labels, n = {WIDTH}")
    growth.legend()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], metadata={"Software": None})
    else:
        plt.show()
