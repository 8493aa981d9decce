"""
Labels that look wrong
======================

The rows whose labels are most suspicious, each with its label and the label of the nearest row that
bears another one.

``python examples/plot_suspects.py [picture.png]`` looks at scikit-learn's digits; with ``--data FOLDER``
at MNIST (the picture of docs/suspects.md), all of it or the first images (``--rows 10000``).
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from exactfit import find_suspects
from exactfit.lab import load_dataset
from exactfit.plots import plot_suspects, style

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?")
parser.add_argument("--data", help="folder with MNIST's files")
parser.add_argument("--rows", type=int, default=70_000, help="so many of MNIST, the first")
options = parser.parse_args()

if options.data:
    mnist = load_dataset("mnist", options.data)
    X, y, shape = mnist.X[: options.rows], mnist.y[: options.rows], (28, 28)
else:
    (X, y), shape = load_digits(return_X_y=True), (8, 8)

suspects = find_suspects(X, y, random_state=0, n_jobs=2)
print(suspects)

with style():
    ax = plot_suspects(suspects, X, image_shape=shape, m=40)
    if options.picture:
        ax.figure.savefig(options.picture, dpi=110)
    else:
        plt.show()
