"""How far the data reach, and how close different labels come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Work, at_work
from ..construct import hyperplanes
from ..data import Codes, Labelled, Matrix, Rows, as_points, distinct_rows, mean
from ..data.cloud import ParallelPoints, Rays, exact_angle, ray
from ..data.matrices import dense_rows, row_tiles
from ..data.pairs import closest_pair, closest_rows
from ..exceptions import DataError


def radius(X: Any, *, center: bool = True) -> float:
    """Largest distance of a point from the mean, or from the origin (the paper's R).

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    center : bool
        Measure from the mean of the points, around which hyperplanes are drawn by default, not from the origin.

    Returns
    -------
    float

    Examples
    --------
    >>> import exactfit
    >>> exactfit.geometry.radius([[3.0, 4.0], [-3.0, -4.0]])
    5.0
    """
    matrix = as_points(X)
    origin = mean(matrix) if center else np.zeros(matrix.shape[1])
    size = hyperplanes.largest_distance(matrix, origin)
    if not np.isfinite(size):
        raise DataError("the data are too large: their radius overflows float64. Scale them down.")
    return size


@dataclass(frozen=True)
class ClosestPair:
    """A smallest distance or angle, and the rows that attain it.

    Attributes
    ----------
    value : float
        Distance, or angle in radians, of the two points.
    rows : tuple of int
        The pair; of several that attain the value exactly, the one with the lowest rows.
    labels : tuple
        Their labels; empty if labels play no part.

    Examples
    --------
    >>> import exactfit
    >>> pair = exactfit.geometry.separation([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    >>> float(pair), pair.rows, pair.labels
    (2.0, (1, 2), ('a', 'b'))
    """

    value: float
    rows: tuple[int, int]
    labels: tuple[Any, ...] = ()

    def __float__(self) -> float:
        return self.value


def separation(X: Any, y: Any = None, *, n_jobs: int | None = None, verbose: bool = False) -> ClosestPair:
    """Smallest Euclidean distance between points of different labels, exactly.

    Pairs are ruled out by products with a proven error bound (or by a tree in few
    dimensions); what is left is compared in exact arithmetic on the numbers as given.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels, optional
        Without labels: the smallest distance between any two points.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    ClosestPair
        The float64 nearest to the distance, and the pair that attains it. A distance of
        zero means equal points with different labels, which no function can fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> exactfit.geometry.separation(*load_iris(return_X_y=True))
    ClosestPair(value=0.22360679774997896, rows=(70, 138), labels=(1, 2))
    """
    X, codes, labels = _read(X, y)
    with at_work(n_jobs, verbose) as work:
        value, rows = closest_pair(X, codes, work)
    return ClosestPair(value, rows, tuple(labels[list(rows)].tolist()) if len(labels) else ())


def _read(X: Any, y: Any) -> tuple[Matrix, Codes, NDArray[Any]]:
    if y is not None:
        problem = Labelled.of(X, y)
        return problem.X, problem.codes, problem.classes[problem.codes]
    matrix = as_points(X)
    if matrix.shape[0] < 2:
        raise DataError("X holds a single point: there is no pair")
    return matrix, np.arange(matrix.shape[0]), np.empty(0)


def angular_separation(X: Any, y: Any = None, *, n_jobs: int | None = None, verbose: bool = False) -> ClosestPair:
    """Smallest angle between points of different labels, or between any two points.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
        Points at the origin have no direction and are left out.
    y : sequence of n_samples labels, optional
        Without labels: the smallest angle between any two points.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    ClosestPair
        The angle in radians, to the last digit or two, and the pair that exactly attains it.

    Examples
    --------
    >>> import exactfit
    >>> X, y = [[1.0, 0.0], [2.0, 2.0], [0.0, 3.0], [0.0, 5.0]], [0, 0, 1, 1]
    >>> exactfit.geometry.angular_separation(X, y)
    ClosestPair(value=0.7853981633974483, rows=(1, 2), labels=(0, 1))
    >>> exactfit.geometry.angular_separation(X)
    ClosestPair(value=0.0, rows=(2, 3), labels=())
    """
    X, codes, labels = _read(X, y)
    with at_work(n_jobs, verbose) as work:
        value, rows = narrowest_pair(X, codes, work)
    return ClosestPair(value, rows, tuple(labels[list(rows)].tolist()) if len(labels) else ())


def narrowest_pair(X: Matrix, codes: Codes, work: Work) -> tuple[float, tuple[int, int]]:
    """Angle and rows of the pair of different classes with the smallest angle."""
    nonzero = np.concatenate([dense_rows(X, tile).any(axis=1) for tile in row_tiles(X)])
    if len(np.unique(codes[nonzero])) < 2:
        raise DataError("fewer than two points (of different labels) have a direction: all others are at the origin")
    firsts, _ = distinct_rows(X, codes)
    directed = firsts[nonzero[firsts]]
    try:
        rows = closest_rows(Rays(X, directed, may_be_parallel=True), codes, work)
    except ParallelPoints:
        parallel, directed = _parallel(X, directed, codes)
        rows = parallel or closest_rows(Rays(X, directed, may_be_parallel=False), codes, work)
    return exact_angle(*dense_rows(X, np.array(rows))), rows


def _parallel(X: Matrix, rows: Rows, codes: Codes) -> tuple[tuple[int, int] | None, Rows]:
    """The first pair of parallel points of different classes, or the first rows of parallel points of one class."""
    seen: dict[tuple[int, ...], dict[int, int]] = {}
    for start in range(0, len(rows), 1024):
        part = rows[start : start + 1024]
        for row, point in zip(part.tolist(), dense_rows(X, part), strict=True):
            seen.setdefault(ray(point), {}).setdefault(int(codes[row]), row)
    pairs = [sorted(of_class.values())[:2] for of_class in seen.values() if len(of_class) > 1]
    if pairs:
        a, b = min(pairs)
        return (a, b), rows
    return None, np.sort(np.array([row for of_class in seen.values() for row in of_class.values()], dtype=np.int64))
