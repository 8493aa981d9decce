"""Baum 1988: slabs around hyperplanes through groups of points of one class; threshold, one hidden layer.

E. B. Baum, *On the capabilities of multilayer perceptrons*, Journal of Complexity 4 (1988), 193-215.

Faithful: for two classes of points in general position in R^d, the smaller class is cut into groups of d points, each
group lies on a hyperplane of its own, and two threshold units for each hyperplane tell whether a point lies between
two copies of it, so close that no other point does. That is the published order of N / d units.

Ours: the code is a reconstruction, not the author's. General position is not assumed but repaired (see
``hyperplane_groups``), normals are drawn at random where the group leaves a choice, and a group catches for free the
points of its class that happen to lie in its slab. More than two classes: all but the largest have slabs, and

- ``mode="or"``: a point belongs to the class that has a slab around it. Slabs avoid the other classes only.
- ``mode="sum"``: each slab adds the difference of its class and the largest one to a single real output. A point that
  lay in two slabs would be counted twice, so slabs avoid the points that are already caught as well.

Size, with g slabs and o outputs (o = 1 for two classes and for sums, else K): 2 g + o units and 2 g (d + 1) + o (2 g
+ 1) parameters (:func:`baum_size`). In general position g is at most the sum of ceil(N_k / d) over all classes but
the largest.

Float64: a slab is accepted only if every point keeps four times the largest possible rounding error from its edges,
so a running error bound proves the network. Slabs are thin when many points share them: smaller groups have wider
slabs; ``group_size`` traces the trade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._support.parameters import Seed, check_choice, check_whole, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import ORDER, stream
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import THRESHOLD
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, claim_output, distinct_points, largest_class, verified
from .hyperplane_groups import NORMALS, ScaledPoints, Slab, as_mask, no_slab, slab_through

MODES = ("or", "sum")


def baum_size(n_slabs: int, n_features: int, n_outputs: int) -> tuple[int, int]:
    """Units (outputs included) and parameters of a layer of slabs and its output.

    Examples
    --------
    >>> from exactfit.constructions.baum import baum_size
    >>> baum_size(n_slabs=3, n_features=10, n_outputs=1)
    (7, 73)
    """
    units = 2 * n_slabs
    return units + n_outputs, units * (n_features + 1) + n_outputs * (units + 1)


@dataclass(frozen=True)
class Baum:
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

    name: ClassVar[str] = "baum"
    citation: ClassVar[str] = (
        "E. B. Baum, On the capabilities of multilayer perceptrons, Journal of Complexity 4 (1988), 193-215"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary",)
    assumptions: ClassVar[str] = "general position (repaired where it fails)"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        if self.group_size is not None:
            check_whole("group_size", self.group_size, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        base = largest_class(points)
        with single_threaded_blas():
            cloud = ScaledPoints.of(points.X)
            found = class_slabs(
                cloud, points, base, self.group_size, exclusive=self.mode == "sum", root=seed_sequence(random_state)
            )
        output, decoder = self._output(found.classes, base, points.n_classes)
        network = Network((slab_layer(cloud, found.slabs), output), decoder)
        return verified(network, points, found.trace)

    def _output(self, classes: Codes, base: int, n_classes: int) -> tuple[Layer, Decoder]:
        if self.mode == "or":
            return slab_claims(classes, base, n_classes)
        steps = (classes - base).astype(np.float64)
        weights = np.stack([steps, -steps], axis=1).reshape(1, -1)
        levels = tuple(float(code) for code in range(n_classes))
        return Layer(Dense(weights), np.array([float(base)]), None), Decoder("nearest", tuple(range(n_classes)), levels)


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
    """Slabs that catch every point of every class but ``base``.

    Groups are taken from a random order: neighbours in a sorted table often depend on each other.

    Parameters
    ----------
    cloud, points : ScaledPoints, DistinctPoints
        The same points, as they lie in space and as they were given.
    base : int
    group_size : int or None
    exclusive : bool
        Whether a point may lie in one slab only.
    root : SeedSequence
    """
    most = min(cloud.rank, group_size or cloud.rank)
    found: list[tuple[Slab, int, int]] = []
    for code in sorted({*range(points.n_classes)} - {base}):
        todo = stream(root, ORDER, code).permutation(points.of_class(code))
        while len(todo):
            free = as_mask(len(points), todo if exclusive else points.of_class(code))
            slab = slab_through(cloud, todo[:most], free, stream(root, NORMALS, len(found)))
            if slab is None:
                raise no_slab(cloud, points.rows, int(todo[0]), ~free)
            left = todo[~as_mask(len(points), slab.inside)[todo]]
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
