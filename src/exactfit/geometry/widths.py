"""Gaussian mean width: the size of a set in a random direction.

w(A) = E sup over x in A of |<g, x>| with g standard normal. The supremum, as a function of g,
changes by at most rad(A) |g - h| between g and h, where rad(A) is the largest norm in A. So it
is concentrated like a normal variable of standard deviation rad(A), and for the mean of m draws

    P(|mean - w(A)| > t) <= 2 exp(-m t^2 / (2 rad(A)^2)),

whatever A is: the interval given here holds its level for every number of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._kernels.distances import largest_of_components
from .._support.parameters import Seed, check_integer, check_number, seed_sequence
from .._support.threads import Executor, open_executor, single_threaded_blas
from ..construct.hyperplanes import stream
from ..data import Floats, Matrix, Rows, as_points
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError
from .neighbours import shared_words

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
        if np.ndim(self.value):
            return f"{len(self.value)} mean widths, largest {np.max(self.value):.3g}"
        interval = f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.value:.3g} ({100 * self.confidence:g} % confidence: {interval}, {self.n_draws} draws)"


@shared_words
def mean_width(
    A: Any, *, n_draws: int = 1000, confidence: float = 0.95, random_state: Seed = 0, n_jobs: int | None = None
) -> MeanWidth:
    """Gaussian mean width of a finite set of points, by seeded Monte Carlo with a confidence interval.

    Parameters
    ----------
    A : array, sparse matrix or frame, shape (n_points, n_features)
    n_draws : int
    confidence : float
    {random_state}
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.

    Returns
    -------
    MeanWidth

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.geometry import mean_width
    >>> width = mean_width([[0.0, 0.0], [3.0, 4.0]])
    >>> bool(width.low <= 5 * np.sqrt(2 / np.pi) <= width.high)
    True
    """
    matrix = as_points(A, "A")
    n, origin = matrix.shape[0], np.array([-1])
    with open_executor(n_jobs, False) as work:
        one = mean_widths(matrix, np.arange(n), np.array([0, n]), origin, n_draws, confidence, random_state, work)
    value, low, high, spread = (float(part[0]) for part in (one.value, one.low, one.high, one.standard_error))
    return MeanWidth(value, low, high, spread, one.confidence, one.n_draws)


def mean_widths(
    X: Matrix, members: Rows, starts: Rows, centers: Rows, n_draws: int, confidence: float, random_state: Seed,
    work: Executor,
) -> MeanWidth:  # fmt: skip
    """Mean widths of components of the rows of X from the same draws, around their centres (-1 for the origin).

    Rows of component k are ``members[starts[k]:starts[k + 1]]``.
    """
    n_draws = check_integer("n_draws", n_draws, at_least=2)
    confidence = check_number("confidence", confidence, above=0.0, at_most=1.0)
    if confidence == 1.0:
        raise ParameterError("confidence must be below 1: no interval is certain")
    count, root = len(centers), seed_sequence(random_state)
    radii = _component_radii(X, members, starts, centers)
    step = -(-count // (PIECES_A_THREAD * work.threads.count)) or 1
    totals, squares = np.zeros(count), np.zeros(count)
    projections, largest = np.empty((X.shape[0], BLOCK)), np.empty((count, BLOCK))
    for index, start in enumerate(range(0, n_draws, BLOCK)):
        work.progress("mean widths", start, n_draws)
        # Every block of draws comes from its own child of the seed, so that more draws extend the same ones.
        draws = stream(root, index).standard_normal((X.shape[1], BLOCK))

        def project(low: int, draws: Floats = draws) -> None:
            rows = slice(low, low + ROW_TILE)
            with np.errstate(over="ignore", invalid="ignore"):
                projections[rows] = dense_rows(X, rows) @ draws

        def measure(low: int) -> None:
            part, ends = slice(low, low + step), starts[low : low + step + 1]
            largest_of_components(projections, centers[part], ends, members, largest[part])

        with single_threaded_blas():
            work.threads.map(project, range(0, X.shape[0], ROW_TILE))
        work.threads.map(measure, range(0, count, step))
        used = largest[:, : n_draws - start]
        with np.errstate(over="ignore", invalid="ignore"):
            totals += used.sum(axis=1)
            squares += (used * used).sum(axis=1)
    if not np.isfinite(squares).all():
        raise DataError("the data are too large: a square overflows float64. Scale them down.")
    value = totals / n_draws
    standard_error = np.sqrt(np.maximum(squares / n_draws - value * value, 0.0) / (n_draws - 1))
    # The tail bound of the module's docstring, with the confidence divided among the components.
    half = radii * math.sqrt(2.0 * math.log(2.0 * max(count, 1) / (1.0 - confidence)) / n_draws)
    return MeanWidth(value, np.maximum(value - half, 0.0), value + half, standard_error, confidence, n_draws)


def _component_radii(X: Matrix, members: Rows, starts: Rows, centers: Rows) -> Floats:
    """Largest distance of each component's members from its centre, rounded up."""
    owners, radii = np.repeat(np.arange(len(centers)), np.diff(starts)), np.zeros(len(centers))
    for start in range(0, len(members), ROW_TILE):
        part = slice(start, start + ROW_TILE)
        origins = centers[owners[part]][:, None]
        with np.errstate(over="ignore"):
            points = dense_rows(X, members[part]) - np.where(origins < 0, 0.0, dense_rows(X, origins[:, 0]))
            # Unlike sums of squares, hypot neither overflows nor vanishes; each step is off by a unit or two.
            norms = np.hypot.reduce(points, axis=1) * (1.0 + points.shape[1] * 2.0**-50)
        np.maximum.at(radii, owners[part], norms)
    if not np.isfinite(radii).all():
        raise DataError("the data are too large: a distance overflows float64. Scale them down.")
    return radii
