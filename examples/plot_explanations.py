"""
What stands behind an answer
============================

Above: digits that the network has not seen, the training digits that its answers rest on, and the
other class that came closest, with the training digit that kept it from claiming the image. Below:
the same for two points between two moons, one that a single class claims and one that none does.

``python examples/plot_explanations.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from exactfit import InterpolatingClassifier
from exactfit.plots import plot_anchors, plot_explanation, style

X, y = load_digits(return_X_y=True)
one = {"detectors": "mask", "random_state": 0}
model = InterpolatingClassifier(**one).fit(X[:1500], y[:1500])
unseen = X[1500:1797:60]
explained = model.explain(unseen)
print(explained)

points, labels = make_moons(200, noise=0.2, random_state=0)
moons = InterpolatingClassifier(**one).fit(points, labels)
between = np.linspace([-0.8, 0.1], [1.6, 0.3], 400)
claims = moons.claims(between).sum(axis=1)
shown = between[[np.argmax(claims == 1), np.argmax(claims == 0)]]

with style():
    figure = plt.figure(figsize=(10.5, 10.4))
    above, below = figure.subfigures(2, 1, height_ratios=(1.35, 1))
    plot_anchors(explained, unseen, X, image_shape=(8, 8), ax=above.subplots())
    for ax, point in zip(below.subplots(1, 2), shown, strict=True):
        plot_explanation(moons, point, points, labels, ax)
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=100)
    else:
        plt.show()
