"""Moves of points by just below a margin, in the directions that are most likely to change an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from exactfit.certificate.radius import nearest_others
from exactfit.network import Network
from exactfit.network.detector_network import DetectorNetwork

Floats = NDArray[np.float64]


def moves_towards(
    network: Network, X: Any, y: Any, margin: float | Floats, rng: np.random.Generator, n_random: int = 10
) -> Iterator[Floats]:
    """Moved points: to the nearest hyperplanes, weighted sums of their normals, other labels, and anywhere.

    The margin may be one for all points, or one for each.
    """
    X = np.asarray(X, dtype=np.float64)
    y, found = np.asarray(y), DetectorNetwork.of(network)
    planes = found.normals.toarray() if sp.issparse(found.normals) else found.normals
    W, b = planes.astype(np.float64), found.biases.astype(np.float64)
    values, norms = X @ W.T + b, np.linalg.norm(W, axis=1)
    order = np.argsort(np.abs(values) / norms, axis=1)
    rows = np.arange(len(X))
    normals = W / norms[:, None]
    for k in range(min(5, len(W))):
        near = order[:, k]
        yield _moved(X, -np.sign(values[rows, near])[:, None] * normals[near], margin)
    for n in (2, 5, 20, 100):
        near = order[:, :n]
        signs = -np.sign(np.take_along_axis(values, near, axis=1))
        yield _moved(X, np.einsum("ij,ijk->ik", signs * rng.random(near.shape), normals[near]), margin)
    yield _moved(X, X[nearest_others(X, y, rows)] - X, margin)
    for _ in range(n_random):
        yield _moved(X, rng.normal(size=X.shape), margin)
        corner = rng.integers(0, X.shape[1], len(X))
        yield _moved(X, np.eye(X.shape[1])[corner] * rng.choice([-1.0, 1.0], len(X))[:, None], margin)


def _moved(X: Floats, directions: Floats, margin: float | Floats) -> Floats:
    """By a share of 1 - 1e-9 of the margin: the sum's own rounding stays within it."""
    lengths = np.linalg.norm(directions, axis=1)
    shares = np.divide(margin * (1 - 1e-9), lengths, out=np.zeros(len(X)), where=lengths > 0)
    return X + shares[:, None] * directions
