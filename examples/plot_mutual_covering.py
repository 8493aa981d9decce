"""
Mutual covering
===============

Balls around a few points cover each class. Their radii are a share of the distance to the other class, so that they
are small where the classes are near, and few large ones do elsewhere. (The theorem measures from centre to centre, and
lets the share fall slowly with the distance.) It counts the balls of the target, not its points.

``python examples/plot_mutual_covering.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from sklearn.datasets import make_moons

from exactfit.plots import plot_points, style
from exactfit.plots.style import INK, color

SHARE = 0.6  # of the distance to the other class, as a radius

X, y = make_moons(300, noise=0.07, random_state=1)


def cover(own, other):
    """Centres by greed: always the ball that covers most of what is left."""
    radii = SHARE * np.linalg.norm(own[:, None] - other[None], axis=2).min(axis=1)
    inside = np.linalg.norm(own[:, None] - own[None], axis=2) <= radii[:, None]
    left, centres = np.ones(len(own), dtype=bool), []
    while left.any():
        centres.append(int((inside & left).sum(axis=1).argmax()))
        left &= ~inside[centres[-1]]
    return centres, radii[centres]


with style():
    figure, ax = plt.subplots(figsize=(6.4, 4.4))
    plot_points(X, y, ax, names=["rest", "target"], equal=True)
    for k in (0, 1):
        own = X[y == k]
        centres, radii = cover(own, X[y != k])
        for centre, radius in zip(own[centres], radii, strict=True):
            ax.add_patch(Circle(centre, radius, facecolor=color(k), edgecolor=INK, alpha=0.18, linewidth=0, zorder=0))
            ax.add_patch(Circle(centre, radius, fill=False, edgecolor=color(k), linewidth=1.0, zorder=3))
        ax.scatter(*own[centres].T, marker="*", s=90, color=INK, zorder=4)
        print(f"{['rest', 'target'][k]}: {len(own)} points, {len(centres)} balls")
    ax.set(xlim=(-1.7, 2.7), ylim=(-1.2, 1.7))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
