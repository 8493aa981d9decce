"""Exact sides for many bias vectors over one set of weights: each product is computed once.

<w, x> does not depend on the bias. So the filter of ``_sides`` runs once for all bias
vectors, up to the products; then every bias vector is added and judged by the bound that is
proved there. What stays in doubt is settled exactly, as ever.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import single_threaded_blas
from ..network.bits import BitMatrix, n_words
from ..network.sides import LOW_DIMENSION, TILE_ENTRIES, Floats, Matrix, _HighDimension, sides


def sides_of_many(
    X: Matrix, weights: NDArray[Any], biases: Floats, *, rows: NDArray[np.intp] | None = None
) -> list[BitMatrix]:
    """Exact sides of points and hyperplanes, packed, for each row of ``biases``.

    Parameters
    ----------
    X : ndarray of float32 or float64, or CSR matrix, shape (n_points, d)
    weights : ndarray of float32 or float64, shape (n, d)
    biases : ndarray of float64, shape (m, n)
    rows : ndarray of int, optional
        Points to take, in this order; all by default.

    Returns
    -------
    list of m BitMatrix
        The k-th is what :func:`exactfit.network.sides.sides` gives for ``biases[k]``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.projections import sides_of_many
    >>> points, weights = np.array([[0.1], [0.3]]), np.array([[3.0]])
    >>> [each.to_bool()[:, 0].tolist() for each in sides_of_many(points, weights, np.array([[-0.3], [-0.6]]))]
    [[True, True], [False, True]]
    """
    n_points = X.shape[0] if rows is None else len(rows)
    n, d = weights.shape
    if d <= LOW_DIMENSION or len(biases) < 2 or not (n and n_points):
        return [sides(X, weights, each, rows=rows) for each in biases]
    words = [np.zeros((n_words(n), n_points), dtype=np.uint64) for _ in biases]
    work = _SharedProducts(X, np.ascontiguousarray(weights), np.ascontiguousarray(biases, np.float64), rows, words)
    step = max(16, min(work.row_tile, TILE_ENTRIES // d))
    with single_threaded_blas():
        for start in range(0, n_points, step):
            work((start, min(start + step, n_points)))
    return [BitMatrix(each, n) for each in words]


class _SharedProducts(_HighDimension):
    """The filter in many dimensions, with a copy of itself for every bias vector."""

    def __init__(
        self, X: Matrix, weights: NDArray[Any], biases: Floats, rows: Any, words: list[NDArray[np.uint64]]
    ) -> None:
        super().__init__(X, weights, biases[0], rows, words[0])
        self.judges = [self._judge(*pair) for pair in zip(biases, words, strict=True)]

    def _judge(self, biases: Floats, words: NDArray[np.uint64]) -> _SharedProducts:
        judge = copy(self)
        judge.words = words
        judge.shift(biases)
        return judge

    def decide(self, products: NDArray[Any], *where: Any) -> None:
        """Judge every bias vector by the same products."""
        for judge in self.judges:
            _HighDimension.decide(judge, products, *where)
