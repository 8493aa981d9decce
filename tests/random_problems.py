"""Problems that the tests of constructions share, and the sizes of what is built for them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def random_labels(n=150, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, k, n)


def three_labels(n=120, d=6, k=3, seed=0):
    return random_labels(n, d, k, seed)


def wide_labels(n=150, d=10, k=2, seed=0):
    return random_labels(n, d, k, seed)


def simplex(n=80, d=6):
    return np.random.default_rng(1).dirichlet(np.ones(d), n), np.arange(n) % 2


def grid(n=120):
    rng = np.random.default_rng(2)
    cells = np.unique(rng.integers(0, 3, (4 * n, 5)), axis=0)[:n].astype(float)
    return np.hstack([cells, cells[:, :2], np.ones((len(cells), 1))]), rng.integers(0, 2, len(cells))


def collinear(n=30):
    return np.outer(np.arange(float(n)), [1.0, 2.0, -0.5]) + 1.0, np.random.default_rng(3).integers(0, 3, n)


def fewer_points_than_features():
    return np.random.default_rng(4).standard_normal((5, 20)), np.array([0, 1, 0, 1, 2])


def one_feature(n=30):
    return np.arange(float(n))[:, None], np.arange(n) % 3


DEGENERATE = {f.__name__: f for f in (simplex, grid, collinear, fewer_points_than_features, one_feature)}


def size(network) -> tuple[int, int]:
    shapes = [layer.weights.shape for layer in network.layers]  # n_parameters leaves out the zeros of sparse layers
    return network.n_neurons, sum(units * (inputs + 1) for units, inputs in shapes)


def chain_size(n_features, *widths) -> tuple[int, int]:
    """Units (outputs included) and parameters of layers of these widths, each connected to all of the one before."""
    return sum(widths), sum((n + 1) * width for n, width in pairwise((n_features, *widths)))


def spaced_levels(n_classes):
    return np.linspace(-1.0, 1.0, n_classes)


def n_outputs(n_classes) -> int:
    return 1 if n_classes == 2 else n_classes


def random_problem(n, d, n_classes, seed=0, whole=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (n, d)).astype(float) if whole else rng.standard_normal((n, d))
    X, rows = np.unique(X, axis=0, return_index=True)
    y = rng.integers(0, n_classes, n)[rows]
    y[:n_classes] = range(n_classes)
    return X, y


def nonzero(network):
    return sum(layer.weights.n_nonzero + np.count_nonzero(layer.bias) for layer in network.layers)


def widest(network):
    return max(abs(int(w)).bit_length() for layer in network.layers for w in [*layer.weights.values.flat, *layer.bias])
