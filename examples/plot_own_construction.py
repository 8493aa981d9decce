"""
A construction of one's own
===========================

Everything that takes a network takes yours: certificates, files, exports, pictures, comparisons. This one is forty
lines outside the package: it cuts a single feature wherever the label changes along it. Beside it the paper's network
on the same points.

``python examples/plot_own_construction.py [picture.png]`` shows the picture, or writes it.
"""

import sys
from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from exactfit import AssumptionError, Construction, Outcome, Trace, adaptive_width, certify
from exactfit.constructions import Constructor
from exactfit.constructions.base import distinct_points
from exactfit.network import THRESHOLD, Decoder, Dense, Layer, Network
from exactfit.plots import plot_regions, style


@dataclass(frozen=True)
class FeatureSteps:
    """A threshold unit at every change of label along one feature."""

    feature: int = 0

    name: ClassVar[str] = "feature-steps"
    citation: ClassVar[str] = "folklore"

    def construct(self, X, y, random_state=None):
        """A network that fits every point; see :class:`exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        order = np.argsort(points.X[:, self.feature], kind="stable")
        along, labels = points.X[order, self.feature], points.y[order]
        before = np.flatnonzero(labels[1:] != labels[:-1])
        middles = along[before] + (along[before + 1] - along[before]) / 2
        equal = before[~((along[before] <= middles) & (middles < along[before + 1]))]
        if len(equal):
            raise AssumptionError("that labels differ in the feature", points.rows[order[equal]], "Choose another.")
        weights = np.zeros((len(before), X.shape[1]))
        weights[:, self.feature] = 1.0
        steps = Layer(Dense(weights), -middles, THRESHOLD)
        jumps = (labels[before + 1] - labels[before]).astype(np.float64)
        output = Layer(Dense(jumps[None, :]), labels[:1].astype(np.float64), None)
        classes = range(points.n_classes)
        network = Network((steps, output), Decoder("nearest", tuple(classes), tuple(map(float, classes))))
        units = points.rows[order[before + 1]], points.rows[order[before]]
        trace = Trace(*units, coverage=np.ones(len(before), dtype=np.int64), detector_classes=labels[before + 1])
        return Construction(network, Outcome.INTERPOLATES, trace)


X, y = make_moons(120, noise=0.12, random_state=0)
own = FeatureSteps()
assert isinstance(own, Constructor)
made = own.construct(X, y)
print(certify(made.network, X, y))

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9))
    plot_regions(made.network, X, y, ax=left, outlines=False)
    left.set_title(f"{own.name}: {made.network.n_parameters} parameters")
    paper = adaptive_width(X, y).network
    plot_regions(paper, X, y, ax=right)
    right.set_title(f"adaptive width: {paper.n_parameters} parameters")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
