"""Gaussian mean width: the size of a set in a random direction.

w(A) = E sup over x in A of |<g, x>| with g standard normal. The supremum, as a function of g,
changes by at most rad(A) |g - h| between g and h, where rad(A) is the largest norm in A. So it
is concentrated like a normal variable of standard deviation rad(A), and for the mean of m draws

    P(|mean - w(A)| > t) <= 2 exp(-m t^2 / (2 rad(A)^2)),

whatever A is: the interval given here holds its level for every number of draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._kernels.distances import largest_of_components
from .._support.parameters import Seed, check_integer, check_number, seed_sequence
from .._support.threads import Executor, open_executor, single_threaded_blas
from ..construct.hyperplanes import stream
from ..data import Matrix, Rows, as_points
from ..data.cloud import Floats
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError

BLOCK = 32  # draws from one child of the seed: more draws extend the same ones
ROW_TILE = 2048  # points projected at a time
PIECES_A_THREAD = 4  # so that threads end together


@dataclass(frozen=True, eq=False)
class MeanWidth:
    """An estimate of one mean width, or of several at once.

    Attributes
    ----------
    value : float or ndarray
        Mean over the draws.
    low, high : float or ndarray
        Interval that holds the mean width with probability ``confidence`` at least; if there
        are several components, all intervals hold together with that probability.
    standard_error : float or ndarray
        Of ``value``, as seen in the draws.
    confidence : float
    n_draws : int

    Examples
    --------
    >>> import exactfit
    >>> print(exactfit.geometry.mean_width([[1.0, 0.0], [0.0, 1.0]], random_state=0))
    1.11 (95 % confidence: 1.03 to 1.2, 1000 draws)
    """

    value: Any
    low: Any
    high: Any
    standard_error: Any
    confidence: float
    n_draws: int

    def __repr__(self) -> str:
        return f"<MeanWidth: {self}>"

    def __str__(self) -> str:
        how = f"{100 * self.confidence:g} %"
        if np.ndim(self.value):
            return f"{len(self.value)} mean widths, largest {np.max(self.value):.3g} ({how}, {self.n_draws} draws)"
        return f"{self.value:.3g} ({how} confidence: {self.low:.3g} to {self.high:.3g}, {self.n_draws} draws)"


def mean_width(
    A: Any, components: Sequence[Any] | None = None, centers: Any = None, *, n_draws: int = 1000,
    confidence: float = 0.95, random_state: Seed = 0, n_jobs: int | None = None,
) -> MeanWidth:  # fmt: skip
    """Gaussian mean width of a finite set of points, by seeded Monte Carlo with a confidence interval.

    Parameters
    ----------
    A : array, sparse matrix or frame, shape (n_points, n_features)
    components : sequence of sequences of int, optional
        Rows of A that make up each component; components may overlap. All are measured with
        the same draws. Without, A is one set.
    centers : sequence of int, optional
        For each component the row to subtract from its points.
    n_draws : int
    confidence : float
    random_state : int, Generator, SeedSequence or None
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.

    Returns
    -------
    MeanWidth
        With arrays, one entry per component, if components were given.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.geometry import mean_width
    >>> A = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    >>> width = mean_width(A, components=[[0, 1], [2]], centers=[0, 2])
    >>> bool(width.low[0] <= 5 * np.sqrt(2 / np.pi) <= width.high[0]), float(width.value[1])
    (True, 0.0)
    """
    matrix = as_points(A, "A")
    n = matrix.shape[0]
    if components is None:
        if centers is not None:
            raise ParameterError("centers go with components: pass components=[rows] for one centred set")
        parts, indptr, middles = np.arange(n), np.array([0, n]), np.array([-1])
    else:
        parts, indptr = _flat_components(components, n)
        middles = np.full(len(components), -1) if centers is None else np.asarray(centers)
        are_rows = middles.shape == (len(components),) and middles.dtype.kind in "iu"
        if not are_rows or (centers is not None and len(middles) and (middles.min() < 0 or middles.max() >= n)):
            raise ParameterError(f"centers must hold one row number between 0 and {n - 1} for each component")
    with open_executor(n_jobs, False) as work:
        middles = middles.astype(np.int64)
        made = mean_widths(matrix, parts, indptr, middles, n_draws, confidence, random_state, work)
    if components is not None:
        return made
    value, low, high, error = (float(part[0]) for part in (made.value, made.low, made.high, made.standard_error))
    return MeanWidth(value, low, high, error, made.confidence, made.n_draws)


def _flat_components(components: Sequence[Any], n: int) -> tuple[Rows, Rows]:
    """Members of all components one after another, and the starts and ends of the components."""
    try:
        lists = [np.asarray(rows, dtype=np.int64).reshape(-1) for rows in components]
    except (TypeError, ValueError) as error:
        raise ParameterError(f"components must be sequences of row numbers: {error}") from error
    if any(not len(rows) or rows.min() < 0 or rows.max() >= n for rows in lists):
        raise ParameterError(f"every component needs rows, between 0 and {n - 1}")
    sizes = np.array([0, *(len(rows) for rows in lists)], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=np.int64), *lists]), np.cumsum(sizes)


def mean_widths(
    X: Matrix, members: Rows, indptr: Rows, centers: Rows, n_draws: int, confidence: float, random_state: Seed,
    work: Executor,
) -> MeanWidth:  # fmt: skip
    """Mean widths of many components of the rows of X, all from the same draws."""
    n_draws = check_integer("n_draws", n_draws, at_least=2)
    confidence = check_number("confidence", confidence, above=0.0, at_most=1.0)
    if confidence == 1.0:
        raise ParameterError("confidence must be below 1: no interval is certain")
    count, root = len(centers), seed_sequence(random_state)
    radii = _component_radii(X, members, indptr, centers)
    # Every block of draws comes from its own child of the seed, so that more draws extend the same ones.
    totals, squares = np.zeros(count), np.zeros(count)
    for index, start in enumerate(range(0, n_draws, BLOCK)):
        work.progress("mean widths", start, n_draws)
        draws = stream(root, index).standard_normal((X.shape[1], BLOCK))[:, : n_draws - start]
        sups = _suprema(_project(X, draws, work), members, indptr, centers, work)
        with np.errstate(over="ignore", invalid="ignore"):
            totals += sups.sum(axis=1)
            squares += (sups * sups).sum(axis=1)
    value = totals / n_draws
    if not np.isfinite(squares).all():
        raise DataError("the data are too large: a square overflows float64. Scale them down.")
    spread = np.sqrt(np.maximum(squares / n_draws - value * value, 0.0) / (n_draws - 1))
    # The tail bound of the module's docstring, with the confidence divided among the components.
    half = radii * math.sqrt(2.0 * math.log(2.0 * max(count, 1) / (1.0 - confidence)) / n_draws)
    return MeanWidth(value, np.maximum(value - half, 0.0), value + half, spread, confidence, n_draws)


def _project(X: Matrix, draws: Floats, work: Executor) -> Floats:
    """Inner products of all rows with the draws."""
    out = np.empty((X.shape[0], draws.shape[1]))

    def fill(start: int) -> None:
        rows = slice(start, start + ROW_TILE)
        with np.errstate(over="ignore", invalid="ignore"):
            out[rows] = dense_rows(X, rows) @ draws

    with single_threaded_blas():
        work.threads.map(fill, range(0, X.shape[0], ROW_TILE))
    return out


def _suprema(projections: Floats, members: Rows, indptr: Rows, centers: Rows, work: Executor) -> Floats:
    """Largest absolute projection of each component, for each draw."""
    out = np.empty((len(centers), projections.shape[1]))
    step = -(-len(centers) // (PIECES_A_THREAD * work.threads.count)) or 1

    def fill(start: int) -> None:
        part = slice(start, start + step)
        bounds = indptr[start : start + step + 1]
        largest_of_components(projections, centers[part], bounds, members, out[part])

    work.threads.map(fill, range(0, len(centers), step))
    return out


def _component_radii(X: Matrix, members: Rows, indptr: Rows, centers: Rows) -> Floats:
    """Largest distance of each component's members from its centre (from the origin for -1)."""
    owners = np.repeat(np.arange(len(centers)), np.diff(indptr))
    radii = np.zeros(len(centers))
    with np.errstate(over="ignore"):
        for start in range(0, len(members), ROW_TILE):
            part = slice(start, start + ROW_TILE)
            points = dense_rows(X, members[part])
            middles = centers[owners[part]]
            if (middles >= 0).any():
                points = points - np.where(middles[:, None] >= 0, dense_rows(X, np.maximum(middles, 0)), 0.0)
            np.maximum.at(radii, owners[part], _row_norms(points))
    if not np.isfinite(radii).all():
        raise DataError("the data are too large: a distance overflows float64. Scale them down.")
    return radii


def _row_norms(points: Floats) -> Floats:
    """Norms of rows, rounded up, without overflow of the squares."""
    # Scaled by powers of two, which rounds nothing; the factor covers the roundings of square, sum and root.
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        exponents = np.frexp(np.abs(points).max(axis=1))[1]
        scaled = np.ldexp(points, -exponents[:, None])
        norms = np.sqrt((scaled * scaled).sum(axis=1)) * (1.0 + 1e-12)
        return np.asarray(np.ldexp(norms, exponents), dtype=np.float64)


def finite_width_bound(n_points: int, radius: float = 1.0) -> float:
    """Mean width of n points within a radius: at most radius * sqrt(2 log(2 n)).

    Examples
    --------
    >>> from exactfit.geometry.widths import finite_width_bound
    >>> round(finite_width_bound(50, radius=2.0), 4)
    6.0697
    """
    n_points = check_integer("n_points", n_points, at_least=1)
    return check_number("radius", radius) * math.sqrt(2.0 * math.log(2.0 * n_points))


def subspace_width_bound(dimension: int, radius: float = 1.0, constant: float = 1.0) -> float:
    """Mean width of a set within a radius in a k-dimensional subspace: at most constant * radius * sqrt(k).

    The default constant is proved: the mean norm of k standard normals is at most sqrt(k).

    Examples
    --------
    >>> from exactfit.geometry.widths import subspace_width_bound
    >>> subspace_width_bound(9)
    3.0
    """
    dimension = check_integer("dimension", dimension, at_least=1)
    return check_number("constant", constant, above=0.0) * check_number("radius", radius) * math.sqrt(dimension)


def sparse_width_bound(
    sparsity: int, n_features: int, radius: float = 1.0, constant: float = 1.0 + math.sqrt(2.0)
) -> float:
    """Mean width of s-sparse points within a radius: at most constant * radius * sqrt(s log(e d / s)).

    The default constant is proved: for each of the (d choose s) <= (e d / s)^s supports the
    norm of s standard normals has mean at most sqrt(s) and is concentrated like a normal
    variable, so the largest has mean at most sqrt(s) + sqrt(2 s log(e d / s)).

    Examples
    --------
    >>> from exactfit.geometry.widths import sparse_width_bound
    >>> round(sparse_width_bound(2, 100), 3)
    7.567
    """
    sparsity = check_integer("sparsity", sparsity, at_least=1)
    n_features = check_integer("n_features", n_features, at_least=sparsity)
    size = math.sqrt(sparsity * math.log(math.e * n_features / sparsity))
    return check_number("constant", constant, above=0.0) * check_number("radius", radius) * size
