"""
Forward selection of anchors
============================

Anchors are drawn at random from the points of the target that no detector has claimed yet (grey); each new detector
claims what it fires on (bright, pale in later panels), until nothing is left. A detector ends at its witness, the point
of the rest at which its count is its limit. Panels show the first steps and the last.

``python examples/plot_forward_selection.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from exactfit import Options, fixed_width
from exactfit.plots import plot_detector, style

X, y = make_moons(300, noise=0.06, random_state=0)
made = fixed_width(X, y, 1000, Options(target=1), 1)
last = len(made.trace.anchors) - 1

with style():
    shown = sorted({0, 1, 2, last})
    figure, axes = plt.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.4))
    for k, ax in zip(shown, axes, strict=True):
        plot_detector(made, X, y, ax, detector=k, legend=k == 0).title.set_fontsize(8)
        print(ax.get_title("left"))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
