"""How clearly each class claims a point: the slack of its clearest detector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.scores import best_slack_counts, best_slack_sums
from .._support.threads import Threads, split
from ..network import Dense, Masks, Network
from ..network.sides import dense_rows, sides

Matrix = Any
Floats = NDArray[np.float64]

LOWEST = float(np.finfo(np.float64).min)
CHUNK_ROWS = 2**16
TILE_ROWS = 512


def class_slack(network: Network, X: Matrix, *, n_jobs: int | None = None) -> Floats:
    """Largest relative slack of every class's detectors, shape (n_points, n_outputs).

    A detector's relative slack at a point is (limit - 1/2 - count) / limit, or
    (limit - value) / limit for real-valued activations: positive where it fires, never
    zero. An output without detectors gets the lowest float64.

    Parameters
    ----------
    network : Network
        One made by ``fixed_width`` or ``adaptive_width``.
    X : ndarray or CSR matrix, shape (n_points, n_features)
    n_jobs : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> from exactfit.explanation import class_slack
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> network = adaptive_width(X, y, rng=0).network
    >>> (class_slack(network, X)[:, 0] > 0) == (y == 1)
    array([ True,  True,  True])
    """
    slack = np.full((network.widths[-1], X.shape[0]), LOWEST)
    with Threads(n_jobs) as threads:
        for start in range(0, X.shape[0], CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, X.shape[0])
            _slack_of_chunk(network, X, start, slack[:, start:stop], threads)
    return np.ascontiguousarray(slack.T)


def _slack_of_chunk(network: Network, X: Matrix, start: int, out: Floats, threads: Threads) -> None:
    first, detectors, output = network.layers
    assert isinstance(first.weights, Dense)
    assert isinstance(detectors.weights, Masks)
    assert isinstance(output.weights, Masks)
    assert first.activation is not None
    masks = np.ascontiguousarray(detectors.weights.bits.words.T)
    classes = output.weights.bits.to_bool().argmax(axis=0)
    limits, activation = detectors.bias, first.activation
    if not activation.is_threshold:

        def work(piece: tuple[int, int]) -> None:
            points = dense_rows(X, slice(start + piece[0], start + piece[1]))
            values = np.ascontiguousarray(activation(first.sums(points)).T)
            best_slack_sums(values, masks, limits, classes, out[:, slice(*piece)])

        n = out.shape[1]
        threads.map(work, [(low, min(low + TILE_ROWS, n)) for low in range(0, n, TILE_ROWS)])
        return
    rows = np.arange(start, start + out.shape[1])
    words = sides(X, first.weights.values, first.bias, rows=rows, threads=threads).words
    pieces = split(0, out.shape[1], max(1, min(4 * threads.count, out.shape[1] // TILE_ROWS)))
    threads.map(lambda piece: best_slack_counts(words, *piece, masks, limits, classes, out), pieces)
