"""
A model that is right where it matters
======================================

A linear model on Two Moons, and its patches: balls around the points that it gets wrong. With the least reach they
change nothing else; half of the way to the nearest point of another label, they speak for their neighbourhood too.

``python examples/plot_repair.py [picture.png]``
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from exactfit import certify, repair
from exactfit.plots import plot_regions, style

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?")
options = parser.parse_args()

X, y = make_moons(150, noise=0.2, random_state=0)
model = LogisticRegression().fit(X, y)
held_out = make_moons(2000, noise=0.2, random_state=1)

with style():
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    for ax, reach in zip(axes, (None, "least", 0.5), strict=True):
        shown = model if reach is None else repair(model, X, y, reach=reach, exact_in="float32", random_state=0)
        wrong = shown.predict(X) != y
        plot_regions(shown, X, y, ax=ax, legend=ax is axes[1])
        ax.scatter(*X[wrong].T, facecolors="none", edgecolors="black", s=70)
        ax.set_title(f"{'the model' if reach is None else f'reach {reach}'}: {int(wrong.sum())} of {len(y)} wrong")
        if reach is not None:
            print(shown.report(*held_out).held_out)
            print(certify(shown, X, y, arithmetic="float32"))
    if options.picture:
        figure.savefig(options.picture, dpi=110)
    else:
        plt.show()
