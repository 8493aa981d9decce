"""
Tessellation by random hyperplanes
==================================

Hyperplanes with Gaussian weights and biases from [-lambda, lambda] cut the plane into cells; points of one cell look
the same to the second layer. With more hyperplanes the cells shrink, until no cell holds points of both classes
(grey cells do; rings mark the points in them).

``python examples/plot_tessellation.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from exactfit import adaptive_width
from exactfit.plots import plot_cells, style

WIDTHS = (4, 12, None)

X, y = make_moons(200, noise=0.08, random_state=0)
made = adaptive_width(X, y, random_state=4)

with style():
    figure, axes = plt.subplots(1, len(WIDTHS), figsize=(12, 3.6))
    for n, ax in zip(WIDTHS, axes, strict=True):
        plot_cells(made, X, y, ax, hyperplanes=n, legend=ax is axes[1]).title.set_fontsize(9)
        print(ax.get_title("left"))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
