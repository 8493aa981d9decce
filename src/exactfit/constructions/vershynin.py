"""Vershynin 2020: a sparse random code, then one threshold unit for each batch of points; simplified.

R. Vershynin, *Memory capacity of neural networks with threshold and ReLU activations*, SIAM Journal on Mathematics of
Data Science 2 (2020), 1004-1033, arXiv:2001.06938.

Faithful, in kind: points on a unit sphere. *Enrichment*: random units that fire rarely, so that the codes of points
that are not too close have few bits in common. *Perception*: a unit whose weights are the sum of the codes of a batch
of points fires on the batch and on no point of another class. The output is an OR.

Ours: the code is a reconstruction with one layer of enrichment, where the paper stacks several and bounds the number
of connections for points at a given distance; that bound (exponential in the inverse square of the distance) is of no
use as a size, so the width n doubles from ``width`` until each code has a bit that no code of another class has
beside the rest of it; pairs of which 4096 units leave one inside the other get a cut along a feature each. Batches
are filled greedily in random order. Points need not lie on a sphere: the inverse stereographic projection

    x -> (2 z, |z|^2 - 1) / (|z|^2 + 1),    z = (x - mean) / (root mean square distance from the mean),

puts them there, and a half-space of the sphere is one of (x, |x|^2), which is what the network takes as input. A unit
fires on 5 % of the sphere. Units whose boundary comes so near to a point that rounding could matter are drawn anew.
More than two classes: all but the largest have batches, and a point belongs to the class that claims it.

Size, with n units (cuts included), b batches and o outputs (1 for two classes, else K): n + b + o units and n (d + 2)
+ b (n + 1) + o (b + 1) parameters (:func:`vershynin_size`); the squared norm is one more input.

Float64: after the first layer all is whole numbers below 2^53. The time is about b N times the number of points to be
claimed, so this is for thousands of points, not for 60,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import Seed, check_whole, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import HYPERPLANES, ORDER, Hyperplanes, stream
from ..data import mean
from ..exceptions import AssumptionError, DataError
from ..network import Dense, Layer, Network
from ..network.activations import THRESHOLD
from ..network.bits import WORD_BITS
from ..network.sides import sides
from .base import Codes, DistinctPoints, Floats, Labels, Matrix, claim_output, distinct_points, largest_class, verified
from .hyperplane_groups import Positions
from .lifted_baum import cut_planes

WIDTH, WIDEST = 256, 4096
RATE = 0.05  # chance that a random unit fires on a point
CLEARANCE = 4.0  # times the rounding error that a value must clear its threshold by
PATIENCE = 16  # draws for each unit wanted

Overlaps = NDArray[np.int32]


def vershynin_size(width: int, n_batches: int, n_features: int, n_outputs: int) -> tuple[int, int]:
    """Units (outputs included) and parameters.

    Examples
    --------
    >>> from exactfit.constructions.vershynin import vershynin_size
    >>> vershynin_size(width=256, n_batches=40, n_features=10, n_outputs=1)
    (297, 13393)
    """
    parameters = width * (n_features + 2) + n_batches * (width + 1) + n_outputs * (n_batches + 1)
    return width + n_batches + n_outputs, parameters


@dataclass(frozen=True)
class Vershynin:
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

    name: ClassVar[str] = "vershynin"
    citation: ClassVar[str] = (
        "R. Vershynin, Memory capacity of neural networks with threshold and ReLU activations, SIAM Journal on "
        "Mathematics of Data Science 2 (2020), 1004-1033, arXiv:2001.06938"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary",)
    assumptions: ClassVar[str] = "a spread that is not tiny beside the distance from the origin"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("width", self.width, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points, root = distinct_points(X, y), seed_sequence(random_state)
        base = largest_class(points)
        with single_threaded_blas():
            planes, n_cuts = _enrich(points, base, WORD_BITS * -(-self.width // WORD_BITS), root)
            found = _all_batches(points, base, _code(points.X, planes), root)
        weights, limits = np.array([each.weights for each in found]), np.array([each.limit for each in found])
        classes = np.array([each.target for each in found], dtype=np.int64)
        output, decoder = claim_output(classes, np.ones(len(found)), base, points.n_classes)
        first = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        second = Layer(Dense(weights.astype(np.float64)), -(limits + 0.5), THRESHOLD)
        coverage = np.array([each.coverage for each in found], dtype=np.int64)
        trace = Trace(coverage=coverage, detector_classes=classes, n_drawn=planes.count - n_cuts, n_rescued=n_cuts)
        return verified(Network((first, second, output), decoder, "append_squared_norm"), points, trace)


@dataclass(frozen=True, eq=False)
class _Sphere:
    """Where the inverse stereographic projection puts the points, and half-spaces of it as weights of (x, |x|^2)."""

    center: Floats
    scale: float
    inputs: Floats

    @classmethod
    def around(cls, X: Floats) -> _Sphere:
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
        heights = rng.standard_normal(WORD_BITS)
        tau = NormalDist().inv_cdf(1 - RATE)
        curve = (heights - tau) / self.scale**2
        weights = 2 * normals / self.scale - 2 * curve[:, None] * self.center
        biases = curve * (self.center @ self.center) - 2 * (normals @ self.center) / self.scale - heights - tau
        return self.clear(Hyperplanes(np.column_stack([weights, curve]), biases))

    def clear(self, planes: Hyperplanes) -> Hyperplanes:
        """Those that no point comes so near to that rounding, also of the squared norm, could matter."""
        sizes = np.abs(self.inputs) @ np.abs(planes.weights).T + np.abs(planes.biases)
        bounds = CLEARANCE * (2 * self.inputs.shape[1] + 2) * 2.0**-53 * sizes
        kept = (np.abs(self.inputs @ planes.weights.T + planes.biases) > bounds).all(axis=0)
        return Hyperplanes(planes.weights[kept], planes.biases[kept])

    def first(self, count: int, root: np.random.SeedSequence, rows: Positions) -> Hyperplanes:
        """The first ``count`` such units; ``rows`` are named if there are none."""
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


def _overlaps(code: NDArray[np.float32], own: Positions) -> Overlaps:
    """How many bits each point of a class has in common with every point; whole numbers below 2^24 are exact."""
    return (code[own] @ code.T).astype(np.int32)


def _enrich(points: DistinctPoints, base: int, width: int, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Units such that no code of a class to be claimed lies within one of another class; how many are cuts."""
    sphere = _Sphere.around(points.X)
    while True:
        planes = sphere.first(width, root, points.rows)
        pairs = list(_hidden_pairs(points, base, _code(points.X, planes)))
        if not pairs or 2 * width > WIDEST:
            break
        width *= 2
    if pairs:
        cuts = cut_planes(points.X, pairs)
        planes = planes.append(Hyperplanes(np.column_stack([cuts.weights, np.zeros(cuts.count)]), cuts.biases))
    return planes, planes.count - width


def _hidden_pairs(points: DistinctPoints, base: int, code: NDArray[np.float32]) -> Iterator[Positions]:
    """Pairs (other, own): points of a class to be claimed whose code lies within that of a point of another class."""
    sizes = code.sum(axis=1)
    for target in sorted({*range(points.n_classes)} - {base}):
        own = points.of_class(target)
        hidden = (_overlaps(code, own) == sizes[own, None]) & (points.y != target)
        if hidden.any():
            places, others = np.nonzero(hidden)
            yield np.column_stack([others, own[places]]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Batch:
    """A unit that fires where <weights, code> > limit: on ``coverage`` points of its class for the first time."""

    weights: NDArray[np.float32]
    limit: int
    target: int
    coverage: int


def _all_batches(
    points: DistinctPoints, base: int, code: NDArray[np.float32], root: np.random.SeedSequence
) -> list[_Batch]:
    found = []
    for target in sorted({*range(points.n_classes)} - {base}):
        own = stream(root, ORDER, target).permutation(points.of_class(target))
        overlaps = _overlaps(code, own)
        within, without = overlaps[:, own], np.ascontiguousarray(overlaps[:, points.y != target])
        for batch, limit, coverage in _batches(within, without):
            found.append(_Batch(code[own[batch]].sum(axis=0), limit, target, coverage))
    return found


def _batches(within: Overlaps, without: Overlaps) -> Iterator[tuple[list[int], int, int]]:
    """Batches that cover a class, each with its largest sum over other points, and how many points it covers first.

    Parameters
    ----------
    within, without : ndarray of int32
        Overlaps of the points of a class with each other, and with all other points.
    """
    todo = np.arange(len(within))
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
