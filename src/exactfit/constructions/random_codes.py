"""Random 0/1 codes, then units over codes: Vershynin 2020, and Baum's slabs on codes; threshold, two hidden layers.

Both draw random hyperplanes, more and more of them, until the codes of points do for the second layer; pairs for which
4096 are not enough get a cut along a feature each, so any distinct points will do. More than two classes: all but the
largest are claimed, and a point belongs to the class that claims it.

**Vershynin**, simplified. Faithful, in kind: points on a unit sphere. *Enrichment*: random units that fire rarely, so
that the codes of points that are not too close have few bits in common. *Perception*: a unit whose weights are the sum
of the codes of a batch of points fires on the batch and on no point of another class. The output is an OR.

Ours: one layer of enrichment, where the paper stacks several and bounds the number of connections for points at a given
distance; that bound (exponential in the inverse square of the distance) is of no use as a size, so the width n doubles
from ``width`` until each code has a bit that no code of another class has beside the rest of it. Batches are filled
greedily in random order. Points need not lie on a sphere: the inverse stereographic projection

    x -> (2 z, |z|^2 - 1) / (|z|^2 + 1),    z = (x - mean) / (root mean square distance from the mean),

puts them there, and a half-space of the sphere is one of (x, |x|^2), which is what the network takes as input. A unit
fires on 5 % of the sphere. Units whose boundary comes so near to a point that rounding could matter are drawn anew.

Size, with n units (cuts included) and b batches: n, b, o, over d + 1 inputs.

Float64: after the first layer all is integers below 2^53. The time is about b N times the number of points to be
claimed, so this is for thousands of points, not for 60,000.

**Lifted Baum**, a hybrid of our own: Vershynin and Rajput et al. (see ``rajput``) lift points by a random threshold
layer, which restores general position; Baum's slabs (see ``slabs``) then take groups as large as the lift is wide,
where those papers have layers of small integer weights. No paper states this network or a bound for it. The hyperplanes
have Gaussian normals and biases uniform up to the radius, around the mean; their number n starts at ``width``, by
default the square root of twice the number of points to be claimed, and doubles until no two points of different labels
have equal codes.

Size, with n hyperplanes (cuts included) and g slabs: n, 2 g, o.

Float64: the codes are exact sides. Slab weights are real, but their inputs are 0 and 1, and every code keeps four
times the largest possible rounding error from every edge: a running error bound proves the slabs at any size that
fits in memory. The random hyperplanes come as near to points as chance will have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import HYPERPLANES, ORDER, GaussianSampler, Hyperplanes, stream
from ..data import Floats, Rows, conflict_pairs, conflicts, mean
from ..data.cloud import U64
from ..exceptions import AssumptionError, DataError
from ..network import Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..network.sides import sides
from .base import DistinctPoints, Published, claim_output, cut_planes, distinct_points, verified
from .slabs import ScaledPoints, class_slabs, slab_claims, slab_layer

WIDTH = 256  # of the sphere's units, to begin with
WIDEST = 4096  # random units: beyond this the width is not doubled again
RATE = 0.05  # chance that a random unit fires on a point
CLEARANCE = 4.0  # times the rounding error that a value must clear its threshold by
PATIENCE = 16  # draws for each unit wanted

Overlaps = NDArray[np.int32]
Pairs = tuple[Rows, Rows]


@dataclass(frozen=True)
class Vershynin(Published):
    """Sparse random codes, and one threshold unit for each batch of them.

    Parameters
    ----------
    width : int
        Random units to begin with, rounded up to whole words of 64.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Vershynin
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((200, 10)), rng.integers(0, 2, 200)
    >>> network = Vershynin().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths[0]
    (True, 256)
    """

    width: int = WIDTH

    name = "vershynin"
    citation = (
        "R. Vershynin, Memory capacity of neural networks with threshold and ReLU activations, SIAM Journal on "
        "Mathematics of Data Science 2 (2020), 1004-1033, arXiv:2001.06938"
    )
    activation = "threshold"
    labels = ("binary",)
    assumptions = "a spread that is not tiny beside the distance from the origin"
    counts = ("width",)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        base = points.largest_class()
        with single_threaded_blas():
            planes, n_cuts = _enrich(points, base, WORD_BITS * -(-self.width // WORD_BITS), root)
            code, found = _code(points.X, planes), []
            for target in points.classes_but(base):
                own = stream(root, ORDER, target).permutation(points.of_class(target))
                overlaps = _overlaps(code, own)
                without = np.ascontiguousarray(overlaps[:, points.y != target])
                for batch, limit, coverage in _batches(overlaps[:, own], without):
                    found.append((code[own[batch]].sum(axis=0), limit, target, coverage))
            weights, limits, classes, coverages = map(np.array, zip(*found, strict=True))
        output, decoder = claim_output(classes, np.ones(len(classes)), base, points.n_classes)
        first = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        second = Layer(Dense(weights.astype(np.float64)), -(limits + 0.5), THRESHOLD)
        trace = Trace(
            coverage=coverages, detector_classes=classes, n_drawn=planes.count - n_cuts, n_fallback_cuts=n_cuts
        )
        return verified(Network((first, second, output), decoder, "append_squared_norm"), points, trace)


@dataclass(frozen=True, eq=False)
class _Sphere:
    """Inverse stereographic projection of the points, whose half-spaces are weights of (x, |x|^2)."""

    center: Floats
    scale: float
    inputs: Floats

    @classmethod
    def around(cls, X: Floats) -> _Sphere:
        """Project points onto the sphere, from their mean and their spread."""
        center = mean(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scale = float(np.sqrt(((X - center) ** 2).sum(axis=1).mean()))
            inputs = _with_squares(X)
        if not (0 < scale < np.inf and np.isfinite(inputs).all()):
            raise DataError("the data are too large or too small: their squares leave float64's range. Scale them.")
        return cls(center, scale, inputs)

    def planes(self, rng: np.random.Generator) -> Hyperplanes:
        """Random units <g, point of the sphere> > tau, for Gaussian g, as affine functions of (x, |x|^2)."""
        normals = rng.standard_normal((WORD_BITS, len(self.center)))
        poles = rng.standard_normal(WORD_BITS)
        tau = NormalDist().inv_cdf(1 - RATE)
        curve = (poles - tau) / self.scale**2
        weights = 2 * normals / self.scale - 2 * curve[:, None] * self.center
        biases = curve * (self.center @ self.center) - 2 * (normals @ self.center) / self.scale - poles - tau
        weights = np.column_stack([weights, curve])
        # Kept are those that no point comes so near to that rounding, also of the squared norm, could matter.
        sizes = np.abs(self.inputs) @ np.abs(weights).T + np.abs(biases)
        bounds = CLEARANCE * (2 * self.inputs.shape[1] + 2) * U64 * sizes
        kept = (np.abs(self.inputs @ weights.T + biases) > bounds).all(axis=0)
        return Hyperplanes(weights[kept], biases[kept])

    def first(self, count: int, root: np.random.SeedSequence, rows: Rows) -> Hyperplanes:
        """Draw the first ``count`` such units; the error names ``rows`` if there are none."""
        found = Hyperplanes(np.empty((0, self.inputs.shape[1])), np.empty(0))
        for block in range(PATIENCE * count // WORD_BITS):
            found = found.append(self.planes(stream(root, HYPERPLANES, block)))
            if found.count >= count:
                return found.head(count)
        raise AssumptionError(
            "that the points' spread is not tiny beside their distance from the origin", rows, "Centre the data."
        )


def _with_squares(X: Floats) -> Floats:
    return np.column_stack([X, (X * X).sum(axis=1)])


def _code(X: Floats, planes: Hyperplanes) -> NDArray[np.float32]:
    return sides(_with_squares(X), planes.weights, planes.biases).to_bool().astype(np.float32)


def _overlaps(code: NDArray[np.float32], own: Rows) -> Overlaps:
    """Count the bits that points of a class share with every point; integers below 2^24 are exact."""
    return (code[own] @ code.T).astype(np.int32)


def _enrich(points: DistinctPoints, base: int, width: int, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Units such that no code of a class to be claimed lies within one of another class; the number of cuts."""
    sphere = _Sphere.around(points.X)
    hidden = partial(_hidden_pairs, points, base)
    planes, pairs = _widened(width, lambda count: sphere.first(count, root, points.rows), hidden)
    width = planes.count
    if pairs:
        cuts = cut_planes(points.X, pairs)
        planes = planes.append(Hyperplanes(np.column_stack([cuts.weights, np.zeros(cuts.count)]), cuts.biases))
    return planes, planes.count - width


def _widened(
    width: int, draw: Callable[[int], Hyperplanes], left: Callable[[Hyperplanes], list[Pairs]]
) -> tuple[Hyperplanes, list[Pairs]]:
    """Random units, doubled until they separate all pairs that must be, and the pairs left."""
    while True:
        planes = draw(width)
        pairs = left(planes)
        if not pairs or 2 * width > WIDEST:
            return planes, pairs
        width *= 2


def _hidden_pairs(points: DistinctPoints, base: int, planes: Hyperplanes) -> list[Pairs]:
    """Pairs (other, own): points of a class to be claimed whose code lies within that of a point of another class."""
    code, pairs = _code(points.X, planes), []
    sizes = code.sum(axis=1)
    for target in points.classes_but(base):
        own = points.of_class(target)
        hidden = (_overlaps(code, own) == sizes[own, None]) & (points.y != target)
        if hidden.any():
            places, others = np.nonzero(hidden)
            pairs.append((others.astype(np.int64), own[places]))
    return pairs


def _batches(within: Overlaps, without: Overlaps) -> Iterator[tuple[list[int], int, int]]:
    """Batches that cover a class, each with its largest sum over other points, and the number of points it adds."""
    # Given are overlaps of the points of a class with each other, and with all other points.
    todo = np.arange(len(within))
    # A point joins a batch if its unit still fires on all members and on no other class; one alone always does.
    while len(todo):
        batch: list[int] = []
        own, other = np.zeros(len(within), dtype=np.int64), np.zeros(without.shape[1], dtype=np.int64)
        for point in todo.tolist():
            own_next, other_next = own + within[point], other + without[point]
            if own_next[[*batch, point]].min() > other_next.max():
                batch.append(point)
                own, other = own_next, other_next
        limit = int(other.max())
        left = todo[own[todo] <= limit]
        yield batch, limit, len(todo) - len(left)
        todo = left


@dataclass(frozen=True)
class LiftedBaum(Published):
    """Slabs around groups of random 0/1 codes.

    Parameters
    ----------
    width : int, optional
        Random hyperplanes to begin with.
    group_size : int, optional
        The most codes to put on one hyperplane; by default as many as their affine span has dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import LiftedBaum
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((500, 10)), rng.integers(0, 2, 500)
    >>> network = LiftedBaum().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (64, 10, 1))
    """

    width: int | None = None
    group_size: int | None = None

    name = "lifted-baum"
    citation = (
        "none: our own hybrid of the random lift of Vershynin (2020) and Rajput et al. (2021) with Baum's slabs (1988)"
    )
    activation = "threshold"
    labels = ("binary",)
    assumptions = "none"
    counts = ("width", "group_size")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        base = points.largest_class()
        # n + 2 N / n is least for n = sqrt(2 N), with N points to be claimed; rounded up to whole words.
        balanced = WORD_BITS * int(np.ceil(np.sqrt(2 * (points.y != base).sum()) / WORD_BITS))
        planes, n_cuts = _lift(points, self.width or balanced, root)
        # Every code once, with the row of the data that it came from first; so a trace's coverage counts codes.
        coded = distinct_points(_codes(points, planes), points.y)
        coded = replace(coded, rows=points.rows[coded.rows])
        with single_threaded_blas():
            scaled = ScaledPoints.of(coded.X)
            slabs, trace = class_slabs(scaled, coded, base, self.group_size, exclusive=False, root=root)
        output, decoder = slab_claims(trace.detector_classes, base, points.n_classes)
        lift = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        network = Network((lift, slab_layer(scaled, slabs), output), decoder)
        return verified(network, points, replace(trace, n_drawn=planes.count - n_cuts, n_fallback_cuts=n_cuts))


def _lift(points: DistinctPoints, width: int, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Hyperplanes that give points of different labels different codes, and the number of cuts among them."""
    source = GaussianSampler(points.X, root, max_bias="radius", center=True)
    planes, pairs = _widened(width, source.first, partial(_equal_codes, points))
    width = planes.count
    # Only the first point of each code is paired, so cuts may leave others to separate; each round separates some.
    while pairs:
        planes = planes.append(cut_planes(points.X, pairs))
        pairs = _equal_codes(points, planes)
    return planes, planes.count - width


def _codes(points: DistinctPoints, planes: Hyperplanes) -> Floats:
    return sides(points.X, planes.weights, planes.biases).to_bool().astype(np.float64)


def _equal_codes(points: DistinctPoints, planes: Hyperplanes) -> list[Pairs]:
    """Pairs of different labels with equal codes: the first point of each code with one of every other label."""
    found = conflict_pairs(conflicts(_codes(points, planes), points.y), points.y)
    first, second = np.array(found, dtype=np.int64).reshape(-1, 2).T.copy()
    return [(first, second)] if found else []
