"""What is done around the algorithms."""

from __future__ import annotations

import warnings

import numpy as np

from exactfit import InterpolatingClassifier


def moons(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)).astype(np.float32).astype(np.float64)
    return X, (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)


def test_conflicts_are_told_once():
    X, y = moons()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        InterpolatingClassifier(conflicts="majority", random_state=0).fit(np.vstack([X, X[:1]]), np.r_[y, 1 - y[0]])
    assert len(told) == 1
