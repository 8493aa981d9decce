"""
Masks and weights on the same hyperplanes
=========================================

The paper's detectors count masked bits; weighted ones add integers. Both stand over the same hyperplanes here: lines
are where masks end, filled regions are those of weights. Where the classes interleave, many masks do what one row of
weights does.

``python examples/plot_masks_and_weights.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons

from exactfit import fixed_width
from exactfit.geometry import make_parallel_lines
from exactfit.plots import plot_masks_and_weights, style

DATA = {
    "parallel lines": make_parallel_lines(30, distance=0.3),
    "moons": make_moons(200, noise=0.12, random_state=0),
    "circles": make_circles(200, factor=0.6, noise=0.06, random_state=0),
}

with style():
    figure, axes = plt.subplots(1, len(DATA), figsize=(13.2, 4.2))
    for ax, (name, (X, y)) in zip(axes, DATA.items(), strict=True):
        plot_masks_and_weights(fixed_width(X, y, 500, random_state=0), X, y, ax)
        print(f"{name}: {ax.get_title('left')}")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
