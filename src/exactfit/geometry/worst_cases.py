"""The paper's data for which many detectors are needed, and moons that are provably apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.options import Seed, check_number, check_whole, seed_sequence
from ..construct.hyperplanes import stream
from ..data import Rows
from ..data.cloud import Floats
from ..exceptions import ParameterError


def make_alternating_line(
    n_centers: int, *, points_per_center: int = 1, spread: float = 0.0, dimension: int = 1, random_state: Seed = 0
) -> tuple[Floats, Rows]:
    """Points on a line whose labels alternate: every network of this kind needs a detector for each target centre.

    With M = ``n_centers``, target centres are (l - 1) / (M - 1) for l = 1..M and the rest's
    are (j - 1/2) / (M - 1) for j = 1..M - 1, in the first coordinate; the others are zero.

    Parameters
    ----------
    n_centers : int
        Centres of the target, at least 2.
    points_per_center : int
        Points at each centre: the centre itself and further ones around it.
    spread : float
        How far these may lie from their centre, as a share of the distance between
        neighbouring centres; below 1/2, so that the classes stay apart.
    dimension : int
    random_state : int, Generator, SeedSequence or None

    Returns
    -------
    X : ndarray of float64, shape (n_samples, dimension)
    y : ndarray of int64, shape (n_samples,)
        1 for the target, 0 for the rest.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_alternating_line(3)
    >>> X.ravel(), y
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([1, 0, 1, 0, 1]))
    """
    n_centers = check_whole("n_centers", n_centers, at_least=2)
    copies = check_whole("points_per_center", points_per_center, at_least=1)
    spread = check_number("spread", spread)
    if not 0 <= spread < 0.5:
        raise ParameterError(f"spread must be at least 0 and below 0.5, got {spread!r}")
    line = np.arange(2 * n_centers - 1) / (2 * n_centers - 2)
    shifts = stream(seed_sequence(random_state)).uniform(-spread, spread, (len(line), copies)) / (2 * n_centers - 2)
    shifts[:, 0] = 0.0
    labels = np.repeat(1 - np.arange(len(line)) % 2, copies)
    return _embedded((line[:, None] + shifts).reshape(-1, 1), dimension), labels.astype(np.int64)


def make_parallel_lines(n_points: int = 10, *, distance: float = 0.1, dimension: int = 2) -> tuple[Floats, Rows]:
    """Two classes on parallel lines: linearly separable, yet a worst case for detectors.

    Each line holds ``n_points`` equally spaced points on [-1, 1]. Where the spacing is at
    least the distance of the lines, every target point becomes an anchor in the limit.

    Parameters
    ----------
    n_points : int
        Points on each line, at least 2.
    distance : float
        Between the lines.
    dimension : int
        At least 2.

    Returns
    -------
    X : ndarray of float64, shape (2 * n_points, dimension)
    y : ndarray of int64, shape (2 * n_points,)
        1 for the target, 0 for the rest.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.1)
    >>> X.shape, exactfit.geometry.separation(X, y).value, exactfit.geometry.limit_cover(X, y).n_detectors
    ((20, 2), 0.1, 10)
    """
    n_points = check_whole("n_points", n_points, at_least=2)
    distance = check_number("distance", distance, above=0.0)
    place = np.linspace(-1.0, 1.0, n_points)
    upper = np.column_stack([place, np.full(n_points, distance / 2)])
    lower = np.column_stack([place, np.full(n_points, -distance / 2)])
    labels = np.repeat(np.array([1, 0], dtype=np.int64), n_points)
    return _embedded(np.concatenate([upper, lower]), check_whole("dimension", dimension, at_least=2)), labels


def _embedded(points: Floats, dimension: Any) -> Floats:
    """The points with zeros appended."""
    dimension = check_whole("dimension", dimension, at_least=points.shape[1])
    return np.pad(points, ((0, 0), (0, dimension - points.shape[1])))


def make_disc_moons(n_samples: int, *, noise: float = 0.1, random_state: Seed = 0) -> tuple[Floats, Rows]:
    """Two Moons with bounded noise: uniform in a disc, so that the classes are provably apart.

    The two half circles, around (0, 0) and (1, 1/2), are exactly 1/2 apart. So points of
    different classes are at least 1/2 - 2 ``noise`` apart, however many there are.

    Parameters
    ----------
    n_samples : int
    noise : float
        Radius of the disc, at least 0 and below 1/4.
    random_state : int, Generator, SeedSequence or None

    Returns
    -------
    X : ndarray of float64, shape (n_samples, 2)
    y : ndarray of int64, shape (n_samples,)

    Examples
    --------
    >>> from exactfit.geometry import separation
    >>> from exactfit.geometry.worst_cases import make_disc_moons
    >>> separation(*make_disc_moons(2000, noise=0.2)).value >= 0.5 - 2 * 0.2
    True
    """
    n_samples = check_whole("n_samples", n_samples, at_least=2)
    noise = check_number("noise", noise)
    if not 0 <= noise < 0.25:
        raise ParameterError(f"noise must be at least 0 and below 0.25, got {noise!r}")
    rng = stream(seed_sequence(random_state))
    labels = rng.integers(0, 2, n_samples)
    labels[:2] = [0, 1]
    turn = np.pi * rng.uniform(size=n_samples)
    x = np.where(labels == 0, np.cos(turn), 1 - np.cos(turn))
    y = np.where(labels == 0, np.sin(turn), 0.5 - np.sin(turn))
    size, angle = noise * np.sqrt(rng.uniform(size=n_samples)), 2 * np.pi * rng.uniform(size=n_samples)
    return np.column_stack([x + size * np.cos(angle), y + size * np.sin(angle)]), labels.astype(np.int64)
