"""
From a polygon to a ball
========================

Where one detector ends, if the first n hyperplanes were all: a polygon of few edges at first, then rounder and rounder.
Dashed the ball of the limit, which ends at the nearest point of the other class.

``python examples/plot_firing_region.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from exactfit import Options, fixed_width
from exactfit.plots import plot_limit_shape, style

X, y = make_circles(150, factor=0.35, noise=0.05, random_state=0)
made = fixed_width(X, y, 4000, Options(max_bias=3.0, target=1), 0)

with style():
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 5.0))
    for k, ax in enumerate(axes):
        plot_limit_shape(made, X, y, ax, detector=k, widths=[60, 250, 1000, 4000], legend=k == 0)
        ax.set_title(f"detector {k + 1}")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
