"""
Masks and weights on the same hyperplanes
=========================================

The paper's detectors count masked bits; weighted ones add integers. Both have the same hyperplanes here: above the
regions in which masks fire, below those of weights. Where the classes interleave, many masks do what one row of weights
does.

``python examples/plot_masks_and_weights.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons

from exactfit import Options, fixed_width
from exactfit.geometry import make_parallel_lines
from exactfit.plots import plot_regions, style

DATA = {
    "parallel lines": make_parallel_lines(30, distance=0.3),
    "moons": make_moons(200, noise=0.12, random_state=0),
    "circles": make_circles(200, factor=0.6, noise=0.06, random_state=0),
}

with style():
    figure, rows = plt.subplots(2, len(DATA), figsize=(13.2, 7.4))
    for above, below, (name, (X, y)) in zip(*rows, DATA.items(), strict=True):
        for ax, detectors in ((above, "mask"), (below, "weighted")):
            # The same seed draws the same hyperplanes for both.
            made = fixed_width(X, y, 500, Options(detectors=detectors), random_state=0)
            plot_regions(made, X, y, ax=ax, detectors=True, legend=False)
            ax.set_title(f"{name}: {detectors} detectors, {made.network.widths[1]}")
            print(ax.get_title("left"))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
