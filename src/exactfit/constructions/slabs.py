"""Slabs around hyperplanes through groups of points: Baum 1988 (threshold), Bubeck et al. 2020 (ReLU).

One hidden layer each. Ours in both: general position is not assumed but repaired, and normals are drawn at random where
the group leaves a choice.

**Baum.** Faithful: for two classes of points in general position in R^d, the smaller class is cut into groups of d
points, each group lies on a hyperplane of its own, and two threshold units for each hyperplane tell whether a point
lies between two copies of it, so close that no other point does. That is the published order of N / d units.

Ours: a group catches for free the points of its class that happen to lie in its slab. More than two classes: all but
the largest have slabs, and

- ``mode="or"``: a point belongs to the class that has a slab around it. Slabs avoid the other classes only.
- ``mode="sum"``: each slab adds the difference of its class and the largest one to a single real output. A point that
  lay in two slabs would be counted twice, so slabs avoid the points that are already caught as well.

Size, with g slabs: 2 g, o (o = 1 for sums). In general position g is at most the sum of ceil(N_k / d) over all classes
but the largest. Float64: a running error bound proves the network (see Numerics). Slabs are thin when many points share
them: smaller groups have wider slabs; ``group_size`` traces the trade.

**Bubeck, Eldan, Lee, Mikulincer**: the ReLU network that extends Baum's, with four times as many units, to any real
labels. Faithful: all points, in groups of d, each on a hyperplane <u, x> = b of its own with no other point on it; an
affine function <v, x> + c that has the labels of the group; and the "derivative" of a slab's indicator in the direction
of that function,

    f_G = (1/t) [relu(<u + t v, x> - (b - g) + t c) - relu(<u, x> - (b - g))
                 - relu(<u + t v, x> - (b + g) + t c) + relu(<u, x> - (b + g))],

which is <v, x> + c on the slab of half-width g and 0 off it. As long as t |<v, x> + c| is smaller than x's distance
from both edges, this holds at x exactly and not only as t tends to 0. The network is the sum of all f_G.

Ours: the labels are evenly spaced levels from -1 to 1, one for each class. Any grouping will do; points are taken class
by class, so that most groups have one label, for which v = 0 and t may be large; such a group also takes in further
points of its class that lie in its slab. t is the largest power of two that is at most half of what is allowed.

Size, with g groups: 4 g, 1; g is ceil(N / d) in general position. Float64: an output's error is at most about (number
of groups) d 2^-53 max|x| / t, far below half the distance of two levels for thousands of points. With more points
margins shrink: right as computed, but a proof may need more than float64.

**General position.** Real data break it (constant or repeated columns, grids, points in a subspace). What the proofs
need, that no point to be avoided lies in the slab, is measured for every slab, and where it fails the group shrinks:

1. Constant columns are left out, the others multiplied by powers of two to like ranges (exact: :class:`ScaledPoints`).
2. Groups hold at most as many points as the points' affine span has dimensions, and a point that depends on others of
   its group spans nothing.
3. The normal is drawn at random from all that are orthogonal to the group's differences; the best of eight.
4. If no draw is clear of the points to be avoided, the group keeps 0.85 of its points, and so on down to one.

**Numerics.** Let w be a normal, c the slab's centre, E = gamma_{d+3} (sum_j |w_j| max_i |x_ij| + |c|). In float64, in
any order of summation, <w, x> - c is wrong by less than E. An edge of a slab is accepted only if every point's computed
distance from it is at least 4 E; so every point is truly on the side where it was found, and every float64 evaluation
of <w, x> + b with the stored numbers finds it there, with a distance of more than 2 E. Points so close together that
even a group of one has no such slab end in an :class:`~exactfit.AssumptionError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._support.parameters import check_choice, check_integer
from ..construct import Trace
from ..construct.hyperplanes import ORDER, stream
from ..data import Codes, Floats, Rows
from ..data.point_set import U64
from ..exceptions import AssumptionError
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD
from .base import DistinctPoints, Published, claim_output, nearest_level, verified

Mask = NDArray[np.bool_]

SHRINK = 0.85  # fraction of a group that is tried next when no slab through all of it is clear
DRAWS = 8  # normals tried for a group that leaves a choice; the clearest is kept
CLEARANCE = 4.0  # times the rounding error by which a slab must clear other points
DEPENDENT = 1e-9  # of the group's extent
NORMALS = 3  # the random stream; 0 to 2 are hyperplanes, orders and directions


class ScaledPoints:
    """Points in columns of like ranges: constant ones left out, the others multiplied by powers of two."""

    def __init__(self, X: Floats) -> None:
        high, low = X.max(axis=0), X.min(axis=0)
        self.n_features = X.shape[1]
        self.columns = np.flatnonzero(high > low)  # the feature in each column
        # Column j is its feature times 2 ** -exponents[j].
        self.exponents = np.frexp((high / 2 - low / 2)[self.columns])[1].astype(np.int32)
        self.X: Floats = np.ldexp(X[:, self.columns], -self.exponents)
        self.reach = np.maximum(self.X.max(axis=0), -self.X.min(axis=0))  # largest absolute value in each column
        # Dimension of the affine span, as far as a sample of the points shows it; at least 1.
        n, d = self.X.shape
        sample = self.X[np.unique(np.linspace(0, n - 1, min(n, 2 * d + 64)).astype(np.intp))]
        self.rank = max(1, int(np.linalg.matrix_rank(sample - sample.mean(axis=0))))

    def weights(self, normals: Floats) -> Floats:
        """Weights of the features that give the same inner products as normals in the scaled columns, exactly."""
        weights = np.zeros((len(normals), self.n_features))
        weights[:, self.columns] = np.ldexp(normals, -self.exponents)
        return weights


@dataclass(frozen=True, eq=False)
class Slab:
    """Points x with ``|<normal, x> - center| < half_width``, in scaled columns; the normal has length 1."""

    normal: Floats
    center: float
    half_width: float
    inside: Rows  # positions of the points in the slab: the group, and free points that happen to be there
    clearance: float  # the least distance between a point and an edge


def next_slab(
    scaled: ScaledPoints, points: DistinctPoints, todo: Rows, most: int, free: Rows, rng: np.random.Generator
) -> tuple[Slab, Rows]:
    """Slab through the first points of those left to do, at most ``most``, and the points that are left after it."""
    may = np.isin(np.arange(len(points)), free)
    slab = slab_through(scaled, todo[:most], may, rng)
    if slab is not None:
        return slab, todo[np.isin(todo, slab.inside, invert=True)]
    # No slab sets even the first point apart from those that are not free: name it and the nearest of them.
    gaps = np.abs(scaled.X - scaled.X[todo[0]]).max(axis=1)
    gaps[may] = gaps[todo[0]] = np.inf
    raise AssumptionError(
        "that float64 can tell the points apart by a hyperplane",
        sorted((int(points.rows[todo[0]]), int(points.rows[gaps.argmin()]))),
        "They are too close together for their size: centre the data, or drop one of the rows.",
    )


def slab_through(scaled: ScaledPoints, group: Rows, free: Mask, rng: np.random.Generator) -> Slab | None:
    """Slab around a hyperplane through as many first points of a group as possible, clear of all that are not free."""
    group, basis = _independent(scaled.X, group)
    size = len(group)
    while size:
        # The basis is orthonormal (QR) and its first k vectors span the first k differences of the group: so a smaller
        # group costs a projection, not another decomposition. Projected twice, against cancellation.
        normals, spanned = rng.standard_normal((len(basis), DRAWS)), basis[:, : size - 1]
        for _ in range(2):
            normals -= spanned @ (spanned.T @ normals)
            normals /= np.linalg.norm(normals, axis=0)
        slab = _widest(scaled, np.ascontiguousarray(normals.T), group[:size], free)
        if slab is not None:
            return slab
        size = min(size - 1, int(np.ceil(SHRINK * size)))
    return None


def _independent(X: Floats, group: Rows) -> tuple[Rows, Floats]:
    """Affinely independent points of a group, and an orthonormal basis of their differences, in their order."""
    differences = (X[group[1:]] - X[group[0]]).T
    basis, triangle = np.linalg.qr(differences)
    sizes = np.abs(triangle.diagonal())
    if len(group) > len(X.T) or (sizes <= DEPENDENT * sizes.max(initial=0.0)).any():
        # Pivoting finds which points depend on others; those that are left keep their order.
        _, pivoted, order = scipy.linalg.qr(differences, mode="economic", pivoting=True)
        sizes = np.abs(pivoted.diagonal())
        rank = int((sizes > DEPENDENT * sizes.max(initial=0.0)).sum())
        group = group[np.concatenate([[0], 1 + np.sort(order[:rank])]).astype(np.int64)][: X.shape[1]]
        basis, _ = np.linalg.qr((X[group[1:]] - X[group[0]]).T)
    return group, basis


def _widest(scaled: ScaledPoints, normals: Floats, members: Rows, free: Mask) -> Slab | None:
    """Of the slabs around hyperplanes with these normals, the one whose edges are farthest from all points."""
    distances = scaled.X @ normals.T
    own = distances[members]
    centers = (own.max(axis=0) + own.min(axis=0)) / 2
    np.abs(np.subtract(distances, centers, out=distances), out=distances)
    loose = free.copy()
    loose[members] = True
    nearest = np.min(distances, axis=0, initial=np.inf, where=~loose[:, None])
    # E of the module's docstring: an error of <w, x> - c for any point and any order of summation.
    terms = scaled.X.shape[1] + 3
    needed = 2 * CLEARANCE * (terms * U64 / (1 - terms * U64) * (np.abs(normals) @ scaled.reach + np.abs(centers)))
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
    """Widest interval between ``least`` and ``nearest`` without any of the ``loose`` distances."""
    if not np.isfinite(nearest):  # nothing to avoid
        nearest = 2 * max(float(loose.max()), 1.0)
    if not least < nearest:
        return least, least
    stops = np.unique(np.concatenate([[least], loose[(loose > least) & (loose < nearest)], [nearest]]))
    widest = int(np.diff(stops).argmax())
    return float(stops[widest]), float(stops[widest + 1])


@dataclass(frozen=True)
class Baum(Published):
    """Slabs around hyperplanes through groups of points of one class; two classes, or each but one against the rest.

    Parameters
    ----------
    mode : {"or", "sum"}
        Whether a point belongs to the class that has any slab around it, or slabs add up to one real output.
    group_size : int, optional
        The most points to put on one hyperplane; by default as many as the points' affine span has dimensions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Baum
    >>> Baum().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (38, 3)
    >>> Baum("sum").construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (48, 1)
    """

    mode: Literal["or", "sum"] = "or"
    group_size: int | None = None

    name = "baum"
    citation = "E. B. Baum, On the capabilities of multilayer perceptrons, Journal of Complexity 4 (1988), 193-215"

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, ("or", "sum"))
        if self.group_size is not None:
            check_integer("group_size", self.group_size, at_least=1)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        base, is_sum = points.largest_class(), self.mode == "sum"
        slabs, output, decoder, trace = class_slabs(points, base, root, self.group_size, exclusive=is_sum)
        if is_sum:
            steps = (trace.detector_classes - base).astype(np.float64)
            weights = np.stack([steps, -steps], axis=1).reshape(1, -1)
            output = Layer(Dense(weights), np.array([float(base)]), None)
            decoder = nearest_level(range(points.n_classes))
        return verified(Network((slabs, output), decoder), points), trace


def class_slabs(
    points: DistinctPoints,
    base: int,
    root: np.random.SeedSequence,
    group_size: int | None = None,
    *,
    exclusive: bool = False,
) -> tuple[Layer, Layer, Decoder, Trace]:
    """Slabs that catch every point of every class but ``base``, and the output that gives these points their class.

    Two threshold units for each slab: beyond its lower edge, beyond its upper edge. Exclusive: a point may lie in one
    slab only.
    """
    scaled = ScaledPoints(points.X)
    most = min(scaled.rank, group_size or scaled.rank)
    slabs, classes, coverage = list[Slab](), list[int](), list[int]()
    for code in points.classes_but(base):
        # In random order, since neighbours in a sorted table often depend on each other.
        todo = stream(root, ORDER, code).permutation(points.of_class(code))
        while len(todo):
            free = todo if exclusive else points.of_class(code)
            slab, left = next_slab(scaled, points, todo, most, free, stream(root, NORMALS, len(slabs)))
            slabs.append(slab)
            classes.append(code)
            coverage.append(len(todo) - len(left))
            todo = left
    weights = np.repeat(scaled.weights(np.array([slab.normal for slab in slabs])), 2, axis=0)
    edges = [[slab.center - slab.half_width, slab.center + slab.half_width] for slab in slabs]
    codes: Codes = np.array(classes, dtype=np.int64)
    output, decoder = claim_output(np.repeat(codes, 2), np.tile([1.0, -1.0], len(codes)), base, points.n_classes)
    trace = Trace(coverage=np.array(coverage, dtype=np.int64), detector_classes=codes)
    return Layer(Dense(weights), -np.array(edges).ravel(), THRESHOLD), output, decoder, trace


@dataclass(frozen=True)
class Bubeck(Published):
    """Four ReLUs for each group of points on a hyperplane; any labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Bubeck
    >>> Bubeck().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (64, 1)
    """

    name = "bubeck"
    citation = (
        "S. Bubeck, R. Eldan, Y. T. Lee, D. Mikulincer, Network size and weights size for memorization with two-layers "
        "neural networks, NeurIPS 2020, arXiv:2006.02855"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        levels, scaled = np.linspace(-1.0, 1.0, points.n_classes), ScaledPoints(points.X)
        shuffled = stream(root, ORDER).permutation(len(points))
        todo: Rows = shuffled[np.argsort(points.y[shuffled], kind="stable")]
        normals, biases, outputs, coverage = list[Floats](), list[float](), list[float](), list[int]()
        while len(todo):
            # A group of one label has v = 0, so further points of that label may lie in its slab for free.
            codes = points.y[todo[: scaled.rank]]
            same = todo[points.y[todo] == codes[0]] if (codes == codes[0]).all() else todo[:0]
            slab, todo = next_slab(scaled, points, todo, scaled.rank, same, stream(root, NORMALS, len(coverage)))
            # The affine function of smallest slope that has the group's labels.
            X, labels = scaled.X[slab.inside], levels[points.y[slab.inside]]
            slope, offset = np.zeros(X.shape[1]), float(labels[0])
            if not (labels == labels[0]).all():
                slope = np.linalg.lstsq(X[1:] - X[0], labels[1:] - labels[0], rcond=None)[0]
                offset = float(np.mean(labels - X @ slope))
            distance = np.abs(np.abs(scaled.X @ slab.normal - slab.center) - slab.half_width)
            value = np.abs(scaled.X @ slope + offset)
            allowed = np.min(distance[value > 0] / value[value > 0], initial=1.0)
            step = float(2.0 ** np.floor(np.log2(allowed / 2)))
            tilted, lift = slab.normal + step * slope, step * offset
            low, high = slab.center - slab.half_width, slab.center + slab.half_width
            normals += [tilted, slab.normal, tilted, slab.normal]
            biases += [lift - low, -low, lift - high, -high]
            outputs += [1.0 / step, -1.0 / step, -1.0 / step, 1.0 / step]
            coverage.append(len(slab.inside))
        hidden = Layer(Dense(scaled.weights(np.array(normals))), np.array(biases), RELU)
        output = Layer(Dense(np.array([outputs])), np.zeros(1), None)
        return verified(Network((hidden, output), nearest_level(levels)), points), Trace(coverage=np.array(coverage))
