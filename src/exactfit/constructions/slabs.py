"""Slabs: thin layers around a hyperplane through a group of points, clear of the points that it must avoid.

Baum (1988) and Bubeck et al. (2020) put d points of R^d on a hyperplane and assume *general position*: no other point
lies on it. Real data break that assumption (constant or repeated columns, grids, points in a subspace), so nothing is
assumed here. What the proofs need, that no point to be avoided lies in the slab, is measured for every slab, and
where it fails the group shrinks:

1. Constant columns are left out, the others multiplied by powers of two to like ranges (exact: :class:`ScaledPoints`).
2. Groups hold at most as many points as the points' affine span has dimensions, and a point that depends on others of
   its group spans nothing.
3. The normal is drawn at random from all that are orthogonal to the group's differences; the best of eight.
4. If no draw is clear of the points to be avoided, the group keeps 0.85 of its points, and so on down to one.

The differences of a group have one orthonormal basis (QR), whose first k vectors span the first k differences; so a
smaller group costs a projection, not another decomposition.

Numerics. Let w be a normal, c the slab's centre, E = gamma_{d+3} (sum_j |w_j| max_i |x_ij| + |c|). In float64, in any
order of summation, <w, x> - c is wrong by less than E. An edge of a slab is accepted only if every point's computed
distance from it is at least 4 E; so every point is truly on the side where it was found, and every float64 evaluation
of <w, x> + b with the stored numbers finds it there, with a distance of more than 2 E. What float64 cannot hold
(points so close together that even a group of one has no such slab) ends in an :class:`~exactfit.AssumptionError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..data import Floats, Rows
from ..data.cloud import U64
from ..exceptions import AssumptionError
from .base import DistinctPoints

Mask = NDArray[np.bool_]

SHRINK = 0.85  # share of a group that is tried next when no slab through all of it is clear
DRAWS = 8  # normals tried for a group that leaves a choice; the clearest is kept
CLEARANCE = 4.0  # times the rounding error by which a slab must clear other points
DEPENDENT = 1e-9  # of the group's extent
NORMALS = 3  # the random stream; 0 to 2 are hyperplanes, orders and directions


@dataclass(frozen=True, eq=False)
class ScaledPoints:
    """Points in columns of like ranges: constant ones left out, the others multiplied by powers of two.

    Attributes
    ----------
    X : ndarray of float64, shape (n_points, n_columns)
    columns : ndarray of int
        Which features the columns are.
    exponents : ndarray of int
        Column j is its feature times 2 ** -exponents[j].
    n_features : int

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.slabs import ScaledPoints
    >>> cloud = ScaledPoints.of(np.array([[0.0, 5.0, 8.0], [1.0, 5.0, 40.0]]))
    >>> cloud.X
    array([[0.  , 0.25],
           [1.  , 1.25]])
    >>> cloud.weights(np.array([[1.0, 1.0]]))
    array([[1.     , 0.     , 0.03125]])
    """

    X: Floats
    columns: NDArray[np.intp]
    exponents: NDArray[np.int32]
    n_features: int

    @classmethod
    def of(cls, X: Floats) -> ScaledPoints:
        """The cloud of some points, at least two of them different."""
        high, low = X.max(axis=0), X.min(axis=0)
        columns = np.flatnonzero(high > low)
        exponents = np.frexp((high / 2 - low / 2)[columns])[1].astype(np.int32)
        return cls(np.ldexp(X[:, columns], -exponents), columns, exponents, X.shape[1])

    def weights(self, normals: Floats) -> Floats:
        """Normals in the cloud's columns as weights of the features: the same inner products, exactly."""
        weights = np.zeros((len(normals), self.n_features))
        weights[:, self.columns] = np.ldexp(normals, -self.exponents)
        return weights

    @cached_property
    def reach(self) -> Floats:
        """The largest absolute value in each column."""
        return np.asarray(np.maximum(self.X.max(axis=0), -self.X.min(axis=0)))

    @cached_property
    def rank(self) -> int:
        """Dimension of the affine span, as far as a sample of the points shows it; at least 1."""
        n, d = self.X.shape
        chosen = np.unique(np.linspace(0, n - 1, min(n, 2 * d + 64)).astype(np.intp))
        sample = self.X[chosen]
        return max(1, int(np.linalg.matrix_rank(sample - sample.mean(axis=0))))

    def most_in_group(self, asked: int | None) -> int:
        """How many points to put on one hyperplane: as many as the span has dimensions, unless fewer are asked for."""
        return min(self.rank, asked or self.rank)

    def rounding(self, normals: Floats, centers: Floats) -> Floats:
        """How far float64 may be from <w, x> - c, for any point and any order of summation."""
        n = self.X.shape[1] + 3
        gamma = n * U64 / (1 - n * U64)
        return np.asarray(gamma * (np.abs(normals) @ self.reach + np.abs(centers)))


@dataclass(frozen=True, eq=False)
class Slab:
    """The points x with ``|<normal, x> - center| < half_width``, in a cloud's columns.

    Attributes
    ----------
    normal : ndarray of float64
    center, half_width : float
    inside : ndarray of int64
        Positions of the points in the slab: the group, and free points that happen to be there.
    clearance : float
        The least distance between a point and an edge of the slab (its normal has length 1).
    """

    normal: Floats
    center: float
    half_width: float
    inside: Rows
    clearance: float


def slab_through(cloud: ScaledPoints, group: Rows, free: Mask, rng: np.random.Generator) -> Slab | None:
    """A slab around a hyperplane through the first points of a group, as many of them as can be, or not even one.

    Points that are free may lie in the slab or not; it avoids all others but the group's.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.slabs import ScaledPoints, slab_through
    >>> cloud = ScaledPoints.of(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> slab = slab_through(cloud, np.array([1, 2]), np.zeros(4, dtype=bool), np.random.default_rng(0))
    >>> slab.inside, round(slab.clearance, 3)
    (array([1, 2]), 0.354)
    """
    group, basis = _independent(cloud.X, group)
    size = len(group)
    while size:
        normals = _normals(basis[:, : size - 1], rng)
        slab = _widest(cloud, normals, group[:size], free)
        if slab is not None:
            return slab
        size = min(size - 1, int(np.ceil(SHRINK * size)))
    return None


def _independent(X: Floats, group: Rows) -> tuple[Rows, Floats]:
    """Points of a group none of which depends on the others, and a basis of their differences, in their order."""
    basis, triangle = np.linalg.qr(_differences(X, group))
    sizes = np.abs(triangle.diagonal())
    if len(group) > len(X.T) or (sizes <= DEPENDENT * sizes.max(initial=0.0)).any():
        _, pivoted, order = scipy.linalg.qr(_differences(X, group), mode="economic", pivoting=True)
        sizes = np.abs(pivoted.diagonal())
        rank = int((sizes > DEPENDENT * sizes.max(initial=0.0)).sum())
        group = group[np.concatenate([[0], 1 + np.sort(order[:rank])]).astype(np.int64)][: X.shape[1]]
        basis, _ = np.linalg.qr(_differences(X, group))
    return group, basis


def _differences(X: Floats, group: Rows) -> Floats:
    return np.asarray((X[group[1:]] - X[group[0]]).T)


def _normals(basis: Floats, rng: np.random.Generator) -> Floats:
    """Random unit vectors orthogonal to a basis, one a row; projected twice, against cancellation."""
    normals = rng.standard_normal((len(basis), DRAWS))
    for _ in range(2):
        normals -= basis @ (basis.T @ normals)
        normals /= np.linalg.norm(normals, axis=0)
    return np.ascontiguousarray(normals.T)


def _widest(cloud: ScaledPoints, normals: Floats, members: Rows, free: Mask) -> Slab | None:
    """Of the slabs around hyperplanes with these normals, the one whose edges are farthest from all points."""
    distances = cloud.X @ normals.T
    own = distances[members]
    centers = (own.max(axis=0) + own.min(axis=0)) / 2
    np.abs(np.subtract(distances, centers, out=distances), out=distances)
    loose = free.copy()
    loose[members] = True
    nearest = np.min(distances, axis=0, initial=np.inf, where=~loose[:, None])
    needed = 2 * CLEARANCE * cloud.rounding(normals, centers)
    best: Slab | None = None
    for draw in range(len(normals)):
        column = distances[:, draw]
        low, high = _widest_gap(column[loose], column[members].max(), nearest[draw])
        clearance = (high - low) / 2
        if high - low > needed[draw] and (best is None or clearance > best.clearance):
            width = low + (high - low) / 2
            inside = np.flatnonzero(loose & (column < width))
            best = Slab(normals[draw], float(centers[draw]), float(width), inside, float(clearance))
    return best


def _widest_gap(loose: Floats, least: float, nearest: float) -> tuple[float, float]:
    """The widest interval between ``least`` and ``nearest`` without any of the ``loose`` distances."""
    if not np.isfinite(nearest):  # nothing to avoid
        nearest = 2 * max(float(loose.max()), 1.0)
    stops = np.unique(np.concatenate([[least], loose[(loose > least) & (loose < nearest)], [nearest]]))
    widest = int(np.diff(stops).argmax()) if least < nearest else 0
    return (float(stops[widest]), float(stops[widest + 1])) if least < nearest else (least, least)


def next_slab(
    cloud: ScaledPoints, points: DistinctPoints, todo: Rows, most: int, free: Rows, rng: np.random.Generator
) -> tuple[Slab, Rows]:
    """A slab through the first of the points that are to do, at most ``most``, and those that it leaves to do.

    ``cloud`` holds the points as they lie in space. If no slab sets the first point apart from those that are not free,
    the error names it and the nearest of them.
    """
    may = np.isin(np.arange(len(points)), free)
    slab = slab_through(cloud, todo[:most], may, rng)
    if slab is not None:
        return slab, todo[np.isin(todo, slab.inside, invert=True)]
    gaps = np.abs(cloud.X - cloud.X[todo[0]]).max(axis=1)
    gaps[may] = gaps[todo[0]] = np.inf
    raise AssumptionError(
        "that float64 can tell the points apart by a hyperplane",
        sorted((int(points.rows[todo[0]]), int(points.rows[gaps.argmin()]))),
        "They are too close together for their size: centre the data, or drop one of the rows.",
    )
