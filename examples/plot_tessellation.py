"""
Tessellation by random hyperplanes
==================================

Hyperplanes with Gaussian weights and biases from [-lambda, lambda] cut the plane into cells; points of one cell look
the same to the second layer. With more hyperplanes the cells shrink, until no cell holds points of both classes
(rings mark points that share their cell with the other class).

``python examples/plot_tessellation.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from exactfit.geometry import radius
from exactfit.plots import plot_points, style
from exactfit.plots.style import GREY, INK

WIDTHS = (4, 12, 40)

X, y = make_moons(200, noise=0.08, random_state=0)
X /= radius(X, center=False)
rng = np.random.default_rng(3)
weights, biases = rng.standard_normal((max(WIDTHS), 2)), rng.uniform(-1, 1, max(WIDTHS))

with style():
    figure, axes = plt.subplots(1, len(WIDTHS), figsize=(11, 3.6))
    for n, ax in zip(WIDTHS, axes, strict=True):
        plot_points(X, y, ax, names=["rest", "target"], equal=True)
        for w, b in zip(weights[:n], biases[:n], strict=True):
            nearest = -b * w / (w @ w)
            ax.axline(tuple(nearest), (nearest[0] - w[1], nearest[1] + w[0]), color=GREY, linewidth=0.8, zorder=0)
        bits = X @ weights[:n].T + biases[:n] > 0
        alike = (bits[:, None] == bits[None]).all(axis=2)
        mixed = (alike & (y[:, None] != y[None])).any(axis=1)
        ax.scatter(*X[mixed].T, s=60, facecolors="none", edgecolors=INK, linewidths=1.0, zorder=4)
        ax.set_title(f"$n$ = {n}: {mixed.sum()} points in mixed cells", fontsize=10)
        print(f"n = {n}: {mixed.sum()} of {len(y)} points share their cell with the other class")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
