"""Slabs around hyperplanes through groups of points: Baum 1988 (threshold), Bubeck et al. 2020 (ReLU).

One hidden layer each. Ours in both: general position is not assumed but repaired (see ``slabs``), and normals are drawn
at random where the group leaves a choice.

**Baum.** Faithful: for two classes of points in general position in R^d, the smaller class is cut into groups of d
points, each group lies on a hyperplane of its own, and two threshold units for each hyperplane tell whether a point
lies between two copies of it, so close that no other point does. That is the published order of N / d units.

Ours: a group catches for free the points of its class that happen to lie in its slab. More than two classes: all but
the largest have slabs, and

- ``mode="or"``: a point belongs to the class that has a slab around it. Slabs avoid the other classes only.
- ``mode="sum"``: each slab adds the difference of its class and the largest one to a single real output. A point that
  lay in two slabs would be counted twice, so slabs avoid the points that are already caught as well.

Size, with g slabs: 2 g, o (o = 1 for sums). In general position g is at most the sum of ceil(N_k / d) over all classes
but the largest.

Float64: a slab is accepted only if every point keeps four times the largest possible rounding error from its edges,
so a running error bound proves the network. Slabs are thin when many points share them: smaller groups have wider
slabs; ``group_size`` traces the trade.

**Bubeck, Eldan, Lee, Mikulincer**: the ReLU network that extends Baum's, with four times as many units, to any real
labels. Faithful: all points, in groups of d, each on a hyperplane <u, x> = b of its own with no other point on it; an
affine function <v, x> + c that has the labels of the group; and the "derivative" of a slab's indicator in the direction
of that function,

    f_G = (1/t) [relu(<u + t v, x> - (b - g) + t c) - relu(<u, x> - (b - g))
                 - relu(<u + t v, x> - (b + g) + t c) + relu(<u, x> - (b + g))],

which is <v, x> + c on the slab of half-width g and 0 off it. As long as t |<v, x> + c| is smaller than x's distance
from both edges, this holds at x exactly and not only as t tends to 0. The network is the sum of all f_G.

Ours: the labels are evenly spaced levels from -1 to 1, one for each class. Any grouping will do; we go through the
points class by class, so that most groups have one label, for which v = 0 and t may be large; such a group also takes
in further points of its class that lie in its slab. t is the largest power of two that is at most half of what is
allowed.

Size, with g groups: 4 g, 1; g is ceil(N / d) in general position.

Float64: an output's error is at most about (number of groups) d 2^-53 max|x| / t. While margins
stay above 1e-6 that is far below half the distance of two levels for thousands of points. With more points margins
shrink: right as computed, but a proof may need more than float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._support.parameters import check_choice
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import ORDER, stream
from ..data import Codes, Floats, Rows
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD
from .base import DistinctPoints, Published, claim_output, nearest_level, verified
from .slabs import NORMALS, ScaledPoints, Slab, next_slab

MODES = ("or", "sum")


@dataclass(frozen=True)
class Baum(Published):
    """Slabs around hyperplanes through groups of points of one class.

    Parameters
    ----------
    mode : {"or", "sum"}
        Whether a point belongs to the class that has any slab around it, or slabs add up to one real output.
    group_size : int, optional
        The most points to put on one hyperplane; by default as many as the points' affine span has dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Baum
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 10)), rng.integers(0, 2, 100)
    >>> network = Baum().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (10, 1))
    """

    mode: Literal["or", "sum"] = "or"
    group_size: int | None = None

    name = "baum"
    citation = "E. B. Baum, On the capabilities of multilayer perceptrons, Journal of Complexity 4 (1988), 193-215"
    activation = "threshold"
    labels = ("binary",)
    assumptions = "general position (repaired where it fails)"

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        self._check_counts("group_size")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        base = points.largest_class()
        with single_threaded_blas():
            cloud = ScaledPoints.of(points.X)
            found = class_slabs(cloud, points, base, self.group_size, exclusive=self.mode == "sum", root=root)
        output, decoder = self._output(found.classes, base, points.n_classes)
        network = Network((slab_layer(cloud, found.slabs), output), decoder)
        return verified(network, points, found.trace)

    def _output(self, classes: Codes, base: int, n_classes: int) -> tuple[Layer, Decoder]:
        if self.mode == "or":
            return slab_claims(classes, base, n_classes)
        steps = (classes - base).astype(np.float64)
        weights = np.stack([steps, -steps], axis=1).reshape(1, -1)
        return Layer(Dense(weights), np.array([float(base)]), None), nearest_level(range(n_classes))


@dataclass(frozen=True, eq=False)
class ClassSlabs:
    """Slabs, the class that each speaks for, and how many points of it each caught first."""

    slabs: list[Slab]
    classes: Codes
    coverage: Codes

    @property
    def trace(self) -> Trace:
        """How they came about."""
        return Trace(coverage=self.coverage, detector_classes=self.classes)


def class_slabs(
    cloud: ScaledPoints,
    points: DistinctPoints,
    base: int,
    group_size: int | None,
    *,
    exclusive: bool,
    root: np.random.SeedSequence,
) -> ClassSlabs:
    """Slabs that catch every point of every class but ``base``; exclusive, if a point may lie in one slab only.

    Groups are taken from a random order: neighbours in a sorted table often depend on each other.
    """
    most = cloud.most_in_group(group_size)
    found: list[tuple[Slab, int, int]] = []
    for code in points.classes_but(base):
        todo = stream(root, ORDER, code).permutation(points.of_class(code))
        while len(todo):
            free = todo if exclusive else points.of_class(code)
            slab, left = next_slab(cloud, points, todo, most, free, stream(root, NORMALS, len(found)))
            found.append((slab, code, len(todo) - len(left)))
            todo = left
    slabs, classes, coverage = zip(*found, strict=True)
    return ClassSlabs(list(slabs), np.array(classes, dtype=np.int64), np.array(coverage, dtype=np.int64))


def slab_layer(cloud: ScaledPoints, slabs: list[Slab]) -> Layer:
    """Two threshold units for each slab: beyond its lower edge, beyond its upper edge."""
    weights = np.repeat(cloud.weights(np.array([slab.normal for slab in slabs])), 2, axis=0)
    edges = [[slab.center - slab.half_width, slab.center + slab.half_width] for slab in slabs]
    return Layer(Dense(weights), -np.array(edges).ravel(), THRESHOLD)


def slab_claims(classes: Codes, base: int, n_classes: int) -> tuple[Layer, Decoder]:
    """The output for slabs that claim points for their classes."""
    signs: Floats = np.tile([1.0, -1.0], len(classes))
    return claim_output(np.repeat(classes, 2), signs, base, n_classes)


@dataclass(frozen=True)
class Bubeck(Published):
    """Four ReLUs for each group of points on a hyperplane.

    Parameters
    ----------
    group_size : int, optional
        The most points to put on one hyperplane; by default as many as the points' affine span has dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Bubeck
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((100, 10)), rng.integers(0, 3, 100)
    >>> network = Bubeck().construct(X, y, random_state=0).network
    >>> bool((network.decide(X) == y).all()), network.widths
    (True, (40, 1))
    """

    group_size: int | None = None

    name = "bubeck"
    citation = (
        "S. Bubeck, R. Eldan, Y. T. Lee, D. Mikulincer, Network size and weights size for memorization with two-layers "
        "neural networks, NeurIPS 2020, arXiv:2006.02855"
    )
    activation = "relu"
    labels = ("binary", "multiclass", "real")
    assumptions = "general position (repaired where it fails)"

    def __post_init__(self) -> None:
        self._check_counts("group_size")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        levels = np.linspace(-1.0, 1.0, points.n_classes)
        with single_threaded_blas():
            cloud = ScaledPoints.of(points.X)
            slabs = _all_slabs(cloud, points, self.group_size, root)
            groups = [_Group.on(slab, cloud, levels[points.y]) for slab in slabs]
        trace = Trace(coverage=np.array([len(slab.inside) for slab in slabs]))
        return verified(Network(_layers(cloud, groups), nearest_level(levels)), points, trace)


def _all_slabs(
    cloud: ScaledPoints, points: DistinctPoints, group_size: int | None, root: np.random.SeedSequence
) -> list[Slab]:
    """Slabs such that every point lies in exactly one, with points of one class only if others lie in it for free."""
    most = cloud.most_in_group(group_size)
    shuffled = stream(root, ORDER).permutation(len(points))
    todo: Rows = shuffled[np.argsort(points.y[shuffled], kind="stable")]
    slabs: list[Slab] = []
    while len(todo):
        group = todo[:most]
        labels = points.y[group]
        same = todo[points.y[todo] == labels[0]] if (labels == labels[0]).all() else group[:0]
        slab, todo = next_slab(cloud, points, todo, most, same, stream(root, NORMALS, len(slabs)))
        slabs.append(slab)
    return slabs


@dataclass(frozen=True, eq=False)
class _Group:
    """A slab, the affine function <slope, x> + offset that it carries, and the step t of the derivative."""

    slab: Slab
    slope: Floats
    offset: float
    step: float

    @classmethod
    def on(cls, slab: Slab, cloud: ScaledPoints, targets: Floats) -> _Group:
        """The group of a slab's points, whose labels are their ``targets``."""
        slope, offset = _affine(cloud.X[slab.inside], targets[slab.inside])
        distance = np.abs(np.abs(cloud.X @ slab.normal - slab.center) - slab.half_width)
        value = np.abs(cloud.X @ slope + offset)
        allowed = np.min(distance[value > 0] / value[value > 0], initial=1.0)
        return cls(slab, slope, offset, float(2.0 ** np.floor(np.log2(allowed / 2))))

    def normals(self) -> Floats:
        """Weights of the four units, in the cloud's columns."""
        tilted = self.slab.normal + self.step * self.slope
        return np.array([tilted, self.slab.normal, tilted, self.slab.normal])

    def biases(self) -> list[float]:
        """Biases of the four units."""
        low, high = self.slab.center - self.slab.half_width, self.slab.center + self.slab.half_width
        lift = self.step * self.offset
        return [lift - low, -low, lift - high, -high]


def _affine(X: Floats, targets: Floats) -> tuple[Floats, float]:
    """The affine function of smallest slope with the given values at the given points."""
    if (targets == targets[0]).all():
        return np.zeros(X.shape[1]), float(targets[0])
    slope = np.linalg.lstsq(X[1:] - X[0], targets[1:] - targets[0], rcond=None)[0]
    return slope, float(np.mean(targets - X @ slope))


def _layers(cloud: ScaledPoints, groups: list[_Group]) -> tuple[Layer, Layer]:
    normals = np.concatenate([group.normals() for group in groups])
    biases = np.array([group.biases() for group in groups]).ravel()
    steps = np.array([group.step for group in groups])
    output = (np.array([1.0, -1.0, -1.0, 1.0]) / steps[:, None]).reshape(1, -1)
    return Layer(Dense(cloud.weights(normals)), biases, RELU), Layer(Dense(output), np.zeros(1), None)
