"""Models to repair, and kinds of patches: shared by the tests of repairs."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression

KINDS = ["ball", "mask", "weighted"]


def trained(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def class_data(n_classes: int):
    return make_classification(150, 6, n_informative=4, n_classes=n_classes, random_state=0)


def trained_on_classes(model, n_classes: int):
    X, y = class_data(n_classes)
    return X, trained(model, X, y)


class Constant:
    """A model that always says the same."""

    def __init__(self, label, classes=None):
        self.label = label
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def predict(self, X):
        return np.full(X.shape[0], self.label)


def moons_and_model():
    X, y = make_moons(400, noise=0.3, random_state=0)
    return X, y, trained(LogisticRegression(), X, y)
