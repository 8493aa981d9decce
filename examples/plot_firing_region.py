"""
From a polygon to a ball
========================

Where the first detector fires as hyperplanes become more: in a polygon of few edges at first, then in one that is
rounder and rounder. Dashed the ball of the limit, which ends at the nearest point of the other class.

``python examples/plot_firing_region.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from matplotlib.patches import Circle
from sklearn.datasets import make_circles

from exactfit import Options, fixed_width
from exactfit.geometry import limit_cover
from exactfit.plots import plot_detector, style
from exactfit.plots.style import INK

WIDTHS = (60, 250, 1000, 4000)

X, y = make_circles(150, factor=0.35, noise=0.05, random_state=0)
# The first candidate is the same for every width, and for the limit.
limit = limit_cover(X, y, target=1, random_state=0)

with style():
    figure, axes = plt.subplots(1, len(WIDTHS), figsize=(13.2, 4.2))
    for ax, n in zip(axes, WIDTHS, strict=True):
        made = fixed_width(X, y, n, Options(max_bias=3.0, target=1), 0)
        plot_detector(made, X, y, ax, legend=n == WIDTHS[0])
        ax.add_patch(
            Circle(X[limit.anchors[0]], limit.radii[0], fill=False, edgecolor=INK, linestyle="dashed", zorder=4)
        )
        ax.set_title(f"n = {n:,}")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
