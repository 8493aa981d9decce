"""
The effect of the first layer
=============================

Left: an anchor (star) among points of its class and of the other. Right: every point by its distance from the anchor
and by how many of the anchor's masked bits are on at it: none at the anchor, more the farther away. So one threshold,
the detector, cuts the anchor's neighbours off from the other class, although no line in the plane does.

``python examples/plot_first_layer.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from exactfit.geometry import radius
from exactfit.plots import plot_points, style
from exactfit.plots.style import GREY, INK, color, marker

WIDTH = 600

X, y = make_circles(300, factor=0.45, noise=0.06, random_state=0)
X /= radius(X, center=False)
rng = np.random.default_rng(0)
weights, biases = rng.standard_normal((WIDTH, 2)), rng.uniform(-1, 1, WIDTH)
bits = X @ weights.T + biases > 0
anchor = np.flatnonzero(y == 1)[np.linalg.norm(X[y == 1], axis=1).argmin()]
counts = bits[:, ~bits[anchor]].sum(axis=1)
limit = counts[y == 0].min()
fires = counts < limit

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    plot_points(X, y, left, names=["rest", "target"], equal=True)
    left.scatter(*X[fires].T, s=70, facecolors="none", edgecolors=INK, linewidths=0.9, zorder=3)
    left.scatter(*X[anchor], marker="*", s=190, color=INK, edgecolors="white", zorder=4)
    left.set_title("circled: the detector fires")
    distances = np.linalg.norm(X - X[anchor], axis=1)
    for k in (0, 1):
        right.scatter(distances[y == k], counts[y == k], s=14, marker=marker(k), color=color(k))
    right.axhline(limit, color=GREY, linestyle="dashed", linewidth=1.2)
    right.annotate("limit $m$", (distances.max(), limit), ha="right", va="bottom")
    right.set(xlabel="distance from the anchor", ylabel="masked bits that are on")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()

print(f"limit {limit}: the detector fires on {fires.sum()} of {(y == 1).sum()} target points, on none of the rest")
