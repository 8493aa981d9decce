"""Bubeck, Eldan, Lee, Mikulincer 2020: four ReLUs for each group of d points; any real labels, one hidden layer.

S. Bubeck, R. Eldan, Y. T. Lee, D. Mikulincer, *Network size and weights size for memorization with two-layers neural
networks*, NeurIPS 2020, arXiv:2006.02855 (the ReLU network that extends Baum's, with four times as many units).

Faithful: all points, in groups of d, each on a hyperplane <u, x> = b of its own with no other point on it; an affine
function <v, x> + c that has the labels of the group; and the "derivative" of a slab's indicator in the direction of
that function,

    f_G = (1/t) [relu(<u + t v, x> - (b - g) + t c) - relu(<u, x> - (b - g))
                 - relu(<u + t v, x> - (b + g) + t c) + relu(<u, x> - (b + g))],

which is <v, x> + c on the slab of half-width g and 0 off it. As long as t |<v, x> + c| is smaller than x's distance
from both edges, this holds at x exactly and not only as t tends to 0. The network is the sum of all f_G.

Ours: the code is a reconstruction, not the authors'. The labels are evenly spaced levels from -1 to 1, one for each
class. Any grouping will do; we go through the points class by class, so that most groups have one label, for which v
= 0 and t may be large; such a group also takes in further points of its class that lie in its slab. t is the largest
power of two that is at most half of what is allowed. General position is repaired as ``hyperplane_groups`` says.

Size, with g groups: 4 g + 1 units and 4 g (d + 1) + 4 g + 1 parameters (:func:`bubeck_size`); g is ceil(N / d) in
general position.

Float64: an output's error is at most about (number of groups) d 2^-53 max|x| / t. While margins
stay above 1e-6 that is far below half the distance of two levels for thousands of points. With more points margins
shrink: right as computed, but a proof may need more than float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._support.parameters import Seed, check_whole, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import ORDER, stream
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, distinct_points, spaced_levels, verified
from .hyperplane_groups import NORMALS, Positions, ScaledPoints, Slab, as_mask, no_slab, slab_through


def bubeck_size(n_groups: int, n_features: int) -> tuple[int, int]:
    """Units (the output included) and parameters.

    Examples
    --------
    >>> from exactfit.constructions.bubeck import bubeck_size
    >>> bubeck_size(n_groups=50, n_features=10)
    (201, 2401)
    """
    units = 4 * n_groups
    return units + 1, units * (n_features + 1) + units + 1


@dataclass(frozen=True)
class Bubeck:
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

    name: ClassVar[str] = "bubeck"
    citation: ClassVar[str] = (
        "S. Bubeck, R. Eldan, Y. T. Lee, D. Mikulincer, Network size and weights size for memorization with two-layers "
        "neural networks, NeurIPS 2020, arXiv:2006.02855"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "relu"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass", "real")
    assumptions: ClassVar[str] = "general position (repaired where it fails)"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.group_size is not None:
            check_whole("group_size", self.group_size, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        levels = spaced_levels(points.n_classes)
        with single_threaded_blas():
            cloud = ScaledPoints.of(points.X)
            slabs = _all_slabs(cloud, points, self.group_size, seed_sequence(random_state))
            groups = [_Group.on(slab, cloud, levels[points.y]) for slab in slabs]
        decoder = Decoder("nearest", tuple(range(points.n_classes)), tuple(levels.tolist()))
        trace = Trace(coverage=np.array([len(slab.inside) for slab in slabs]))
        return verified(Network(_layers(cloud, groups), decoder), points, trace)


def _all_slabs(
    cloud: ScaledPoints, points: DistinctPoints, group_size: int | None, root: np.random.SeedSequence
) -> list[Slab]:
    """Slabs such that every point lies in exactly one, with points of one class only if others lie in it for free."""
    most = min(cloud.rank, group_size or cloud.rank)
    shuffled = stream(root, ORDER).permutation(len(points))
    todo: Positions = shuffled[np.argsort(points.y[shuffled], kind="stable")]
    slabs: list[Slab] = []
    while len(todo):
        group = todo[:most]
        labels = points.y[group]
        same = todo[points.y[todo] == labels[0]] if (labels == labels[0]).all() else group[:0]
        slab = slab_through(cloud, group, as_mask(len(points), same), stream(root, NORMALS, len(slabs)))
        if slab is None:
            raise no_slab(cloud, points.rows, int(todo[0]), ~as_mask(len(points), same))
        slabs.append(slab)
        todo = todo[~as_mask(len(points), slab.inside)[todo]]
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
