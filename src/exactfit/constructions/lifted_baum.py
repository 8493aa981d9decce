"""Baum's slabs on random codes: a random threshold layer first, then slabs around groups of its 0/1 codes.

A hybrid of our own, from two published ideas: Vershynin (*Memory capacity of neural networks with threshold and ReLU
activations*, SIAM J. Math. Data Sci. 2 (2020)) and Rajput, Sreenivasan, Papailiopoulos and Karbasi (*An exponential
improvement on the memorization capacity of deep threshold networks*, NeurIPS 2021) lift points by a random threshold
layer, which restores general position; Baum's slabs (see ``baum``) then take groups as large as the lift is wide,
where those papers have layers of small integer weights. No paper states this network or a bound for it.

The lift has n random hyperplanes (Gaussian normals, biases uniform up to the radius, around the mean). n starts at
``width``, by default the square root of twice the number of points to be claimed, and doubles until no two points of
different labels have equal codes; pairs that are still not told apart by 4096 hyperplanes get a cut along a feature
each, so any distinct points will do. All classes but the largest have slabs, and a point belongs to the class that
has one.

Size, with n hyperplanes (cuts included), g slabs and o outputs (1 for two classes, else K): n + 2 g + o units, n (d +
1) + 2 g (n + 1) + o (2 g + 1) parameters (:func:`lifted_baum_size`).

Float64: the codes are exact sides. Slab weights are real, but their inputs are 0 and 1, and every code keeps four
times the largest possible rounding error from every edge: a running error bound proves the slabs at any size that
fits in memory. The random hyperplanes come as near to points as chance will have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from .._support.parameters import Seed, check_whole, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction
from ..construct.hyperplanes import Hyperplanes, Source, gaussian
from ..construct.rescue import coordinate_cuts
from ..data import conflict_pairs, conflicts
from ..network import Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..network.bits import WORD_BITS
from ..network.sides import sides
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, distinct_points, largest_class, verified
from .baum import baum_size, class_slabs, slab_claims, slab_layer
from .hyperplane_groups import Positions, ScaledPoints

WIDEST_LIFT = 4096  # hyperplanes: beyond this the width is not doubled again


def lifted_baum_size(width: int, n_slabs: int, n_features: int, n_outputs: int) -> tuple[int, int]:
    """Units (outputs included) and parameters.

    Examples
    --------
    >>> from exactfit.constructions.lifted_baum import lifted_baum_size
    >>> lifted_baum_size(width=64, n_slabs=3, n_features=10, n_outputs=1)
    (71, 1101)
    """
    units, parameters = baum_size(n_slabs, width, n_outputs)
    return width + units, width * (n_features + 1) + parameters


@dataclass(frozen=True)
class LiftedBaum:
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

    name: ClassVar[str] = "lifted-baum"
    citation: ClassVar[str] = (
        "none: our own hybrid of the random lift of Vershynin (2020) and Rajput et al. (2021) with Baum's slabs (1988)"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary",)
    assumptions: ClassVar[str] = "none"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.width is not None:
            check_whole("width", self.width, at_least=1)
        if self.group_size is not None:
            check_whole("group_size", self.group_size, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points, root = distinct_points(X, y), seed_sequence(random_state)
        base = largest_class(points)
        planes, n_cuts = _lift(points, self.width or _balanced_width(points, base), root)
        coded = _coded(points, planes)
        with single_threaded_blas():
            cloud = ScaledPoints.of(coded.X)
            found = class_slabs(cloud, coded, base, self.group_size, exclusive=False, root=root)
        output, decoder = slab_claims(found.classes, base, points.n_classes)
        lift = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        network = Network((lift, slab_layer(cloud, found.slabs), output), decoder)
        return verified(network, points, replace(found.trace, n_drawn=planes.count - n_cuts, n_rescued=n_cuts))


def _balanced_width(points: DistinctPoints, base: int) -> int:
    """n + 2 N / n is least for n = sqrt(2 N), with N points to be claimed; whole words."""
    claimed = int((points.y != base).sum())
    return WORD_BITS * int(np.ceil(np.sqrt(2 * claimed) / WORD_BITS))


def _lift(points: DistinctPoints, width: int, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Hyperplanes that give points of different labels different codes, and how many of them are cuts."""
    source = Source(root, gaussian(points.X, max_bias="radius", center=True))
    while True:
        planes = source.first(width)
        pairs = _equal_codes(points, planes)
        if not pairs or 2 * width > WIDEST_LIFT:
            break
        width *= 2
    while pairs:
        planes = planes.append(cut_planes(points.X, [np.array(pairs, dtype=np.int64)]))
        pairs = _equal_codes(points, planes)
    return planes, planes.count - width


def _codes(points: DistinctPoints, planes: Hyperplanes) -> Floats:
    return sides(points.X, planes.weights, planes.biases).to_bool().astype(np.float64)


def _equal_codes(points: DistinctPoints, planes: Hyperplanes) -> list[tuple[int, int]]:
    """Points of different labels with equal codes: the first of each code with one of every other label."""
    return conflict_pairs(conflicts(_codes(points, planes), points.y), points.y)


def _coded(points: DistinctPoints, planes: Hyperplanes) -> DistinctPoints:
    """Every code once, with the row of the data that it came from first; so a trace's coverage counts codes."""
    coded = distinct_points(_codes(points, planes), points.y)
    return replace(coded, rows=points.rows[coded.rows])


def cut_planes(X: Floats, pairs: Iterable[Positions]) -> Hyperplanes:
    """Cuts along features that separate pairs of points: the first of each pair off, the second on.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.lifted_baum import cut_planes
    >>> planes = cut_planes(np.array([[1.0, 5.0], [3.0, 5.0]]), [np.array([[1, 0]])])
    >>> planes.weights, planes.biases
    (array([[-1.,  0.]]), array([3.]))
    """
    cuts = coordinate_cuts(X, ((some[:, 0].copy(), some[:, 1].copy()) for some in pairs))
    weights = np.zeros((len(cuts), X.shape[1]))
    weights[np.arange(len(cuts)), cuts.feature] = cuts.sign
    return Hyperplanes(weights, -cuts.sign * cuts.threshold)
