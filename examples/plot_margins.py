"""
Margins as balls
================

Every training point may move within its ball, and its answer is proved not to change. Without a margin the
smallest ball is tiny; with ``margin`` none is smaller than the dashed rings.

``python examples/plot_margins.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier
from exactfit.plots import plot_margins, style

X, y = make_moons(120, noise=0.08, random_state=0)

with style():
    figure, axes = plt.subplots(1, 3, figsize=(13.2, 4.2))
    for margin, ax in zip((0.0, "25%", "75%"), axes, strict=True):
        model = InterpolatingClassifier.paper(margin=margin, random_state=0).fit(X, y)
        plot_margins(model, X, y, ax, legend=not margin)
        said = ax.get_title("left")
        ax.set_title(f"margin {margin}: {model.width_} hyperplanes\n{said}", fontsize=8)
        print(f"margin {margin}: {model.width_} hyperplanes, {model.n_detectors_} detectors, {said}")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
