"""
Forward selection of anchors
============================

Anchors are drawn at random from the points of the target that no detector has claimed yet (grey); each new detector
claims what it fires on (red, pale in later panels), until nothing is left. Panels show the first steps and the last.

``python examples/plot_forward_selection.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from exactfit.geometry import radius
from exactfit.plots import style
from exactfit.plots.style import GREY, INK, color, marker, tint

WIDTH = 1000

X, y = make_moons(500, noise=0.06, random_state=0)
X /= radius(X, center=False)
target, rest = X[y == 1], X[y == 0]
rng = np.random.default_rng(2)
weights, biases = rng.standard_normal((WIDTH, 2)), rng.uniform(-1, 1, WIDTH)
bits, others = target @ weights.T + biases > 0, rest @ weights.T + biases > 0

left, steps = np.ones(len(target), dtype=bool), []
while left.any():
    anchor = rng.choice(np.flatnonzero(left))
    mask = ~bits[anchor]
    fires = bits[:, mask].sum(axis=1) < others[:, mask].sum(axis=1).min()
    steps.append((anchor, left & fires, left & ~fires))
    left = left & ~fires

shown = sorted({0, 1, 2, len(steps) - 1})
with style():
    figure, axes = plt.subplots(1, len(shown), figsize=(3.0 * len(shown), 2.6))
    for ax, k in zip(axes, shown, strict=True):
        anchor, new, open_ones = steps[k]
        ax.scatter(*rest.T, s=7, marker=marker(0), color=tint(0, 0.45), linewidths=0)
        done = ~(new | open_ones)
        ax.scatter(*target[done].T, s=9, marker=marker(1), color=tint(1, 0.35), linewidths=0)
        ax.scatter(*target[open_ones].T, s=9, marker=marker(1), color=GREY, linewidths=0)
        ax.scatter(*target[new].T, s=12, marker=marker(1), color=color(4), linewidths=0)
        ax.scatter(*target[anchor], marker="*", s=150, color=INK, edgecolors="white", zorder=3)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"step {k + 1}: claims {new.sum()}, {open_ones.sum()} left", fontsize=9)
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()

print(f"{len(steps)} detectors for {len(target)} points:", ", ".join(str(new.sum()) for _, new, _ in steps))
