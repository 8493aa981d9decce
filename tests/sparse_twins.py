"""Networks of sparse hyperplanes, and the same networks with a dense first layer."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from exactfit import InterpolatingClassifier, Network
from exactfit.network import Dense, Sparse


def dense_twin(network: Network) -> Network:
    """The same numbers, zeros included, in a dense first layer."""
    first, *others = network.layers
    assert isinstance(first.weights, Sparse)
    dense = replace(first, weights=Dense(first.weights.rows.toarray()))
    return Network((dense, *others), network.decoder, network.input_map)


def twin_of(model: InterpolatingClassifier) -> InterpolatingClassifier:
    """A fitted classifier over the twin of its network."""
    other = copy(model)
    other.network_ = dense_twin(model.network_)
    return other


def documents(n: int, d: int, n_classes: int = 3, seed: int = 0):
    """Counts of words as text has them, in a CSR matrix: some words are frequent, a few tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    words = np.minimum((rng.pareto(0.8, (n, 60)) * 20).astype(int), d - 1)
    own = d // 2 + 50 * y[:, None] + rng.integers(0, 50, (n, 8))
    features = np.concatenate([words, own], axis=1)
    rows = np.repeat(np.arange(n), features.shape[1])
    X = sp.csr_matrix((np.ones(features.size), (rows, features.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X, y
