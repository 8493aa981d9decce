"""
Hyperplanes that look through windows
=====================================

For images, ``hyperplanes="local"`` takes the difference of two images of different labels inside a random window.
Above, some of these hyperplanes as images (blue and orange: weights of either sign); below, how often networks on the
first 2,000 digits of MNIST are right on the next 2,000, by law of hyperplanes and kind of detectors.

MNIST's files are looked for in the folder that EXACTFIT_DATA names. Without them this shows the picture that is kept in
the repository, and says so.

``python examples/plot_mnist_windows.py [picture.png]`` shows the picture, or writes it.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from exactfit import InterpolatingClassifier
from exactfit.lab import load_dataset
from exactfit.plots import style
from exactfit.plots.style import GREY, PALETTE, color, marker

KEPT = Path("docs", "images", "mnist-windows.png")
LAWS = {"gaussian": {}, "bisector": {}, "local": {"image_shape": (28, 28)}}
ROWS = 2000


def fitted(X, y):
    """A network for each law and kind of detectors."""
    for law, more in LAWS.items():
        for kind in ("mask", "weighted"):
            options = {"hyperplanes": law, "detectors": kind, "min_width": 600, **more}
            yield law, kind, InterpolatingClassifier(random_state=0, **options).fit(X, y)


def draw(figure, mnist):
    """Some hyperplanes, and the shares of right answers."""
    X, y, new, labels = mnist.X[:ROWS], mnist.y[:ROWS], mnist.X[ROWS : 2 * ROWS], mnist.y[ROWS : 2 * ROWS]
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.5))
    right = {}
    for law, kind, model in fitted(X, y):
        right[law, kind] = np.mean(model.predict(new) == labels)
        print(f"{law}, {kind}: {model.n_detectors_} detectors, {right[law, kind]:.1%} right")
    ink = LinearSegmentedColormap.from_list("signs", [PALETTE[0], "white", PALETTE[1]])
    weights = model.network_.layers[0].weights.values
    for ax, row in zip(above.subplots(1, 8), weights, strict=False):
        ax.imshow(row.reshape(28, 28), cmap=ink, vmin=-np.abs(row).max(), vmax=np.abs(row).max())
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=GREY)
    ax = below.subplots()
    for k, kind in enumerate(("mask", "weighted")):
        ax.plot([right[law, kind] for law in LAWS], marker(k), color=color(k), markersize=10, label=kind)
    ax.set(xticks=range(len(LAWS)), xticklabels=LAWS, xlim=(-0.5, 2.5), ylabel="share of new digits that are right")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(loc="upper left")


with style():
    figure = plt.figure(figsize=(8.4, 5.4))
    if os.environ.get("EXACTFIT_DATA"):
        draw(figure, load_dataset("mnist"))
    else:
        print(f"EXACTFIT_DATA names no folder with MNIST, so this is the picture kept as {KEPT}")
        ax = figure.subplots()
        ax.imshow(plt.imread(Path(sys.argv[0]).resolve().parents[1] / KEPT))
        ax.set_axis_off()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
