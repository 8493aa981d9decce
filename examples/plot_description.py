"""
Why is this network as large as it is?
======================================

Everything the size depends on, for noisy Two Moons (above) and scikit-learn's digits (below):
a mutual covering, the distances between classes, and the number of detectors, predicted and
found.

``python examples/plot_description.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_moons

from exactfit import describe
from exactfit.plots import plot_description, style

DATA = make_moons(1000, noise=0.1, random_state=0), load_digits(return_X_y=True)

with style():
    figure, rows = plt.subplots(2, 3, figsize=(13.2, 8.4))
    for axes, (X, y) in zip(rows, DATA, strict=True):
        description = describe(X, y, n_jobs=2)
        print(description)
        plot_description(description, X, y, axes)
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=100)
    else:
        plt.show()
