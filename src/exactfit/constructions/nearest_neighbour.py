"""Hart 1968: the nearest of few prototypes, as a network; threshold, two hidden layers.

P. E. Hart, *The condensed nearest neighbor rule*, IEEE Transactions on Information Theory 14 (1968), 515-516.

Faithful: points are visited in turn, again and again, and whoever is not nearest to a prototype of its class becomes a
prototype, until all points are right.

Ours: the network. A first-layer unit for every two prototypes of different classes tells which of them is nearer. A
second-layer unit for every prototype (of all classes but the one with most) fires where it is nearer than those of
all other classes. The order of visits is random, and "nearest" means by more than roundings can reach.

Size, with p_k prototypes of class k, s = sum of p_k, B the largest p_k and o outputs (1 for two classes, else K):
the sum of p_k p_l over k < l bisectors, s - B second-layer units and o outputs (:func:`condensed_neighbour_size`).

Float64: points of different labels must be farther apart than about 10^-7 sqrt(d) of the largest norm. The number of
bisectors is quadratic in the number of prototypes: ``memory`` says when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._support.parameters import Seed, check_whole, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.construction import output_layer
from ..construct.hyperplanes import ORDER, stream
from ..exceptions import AssumptionError, TooLargeError
from ..network import Decoder, Dense, Layer, Masks, Network, Sparse
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix
from ..outcome import Outcome
from .ball_cover import REMEDY, refuse_large_norms
from .base import Codes, DistinctPoints, Labels, Matrix, claim_output, distinct_points, n_outputs
from .line import U64

Rows = NDArray[np.int64]


def condensed_neighbour_size(n_prototypes: tuple[int, ...], n_features: int) -> tuple[int, int]:
    """Units (outputs included) and parameters for so many prototypes of each class.

    Examples
    --------
    >>> from exactfit.constructions.nearest_neighbour import condensed_neighbour_size
    >>> condensed_neighbour_size((2, 3), n_features=10)
    (9, 83)
    """
    bisectors = sum(a * b for a, b in combinations(n_prototypes, 2))
    inner, outer = sum(n_prototypes) - max(n_prototypes), n_outputs(len(n_prototypes))
    parameters = bisectors * (n_features + 1) + inner * (bisectors + 1) + outer * (inner + 1)
    return bisectors + inner + outer, parameters


@dataclass(frozen=True)
class CondensedNeighbour:
    """Hart's condensed nearest neighbour rule as a network of bisectors.

    Parameters
    ----------
    memory : int
        The most bytes that the network's weights may take.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit.constructions import CondensedNeighbour
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> made = CondensedNeighbour().construct(X, y, random_state=0)
    >>> bool((made.network.decide(X) == y).all()), len(made.trace.anchors) < 30
    (True, True)
    """

    memory: int = 2**31

    name: ClassVar[str] = "condensed-neighbour"
    citation: ClassVar[str] = (
        "P. E. Hart, The condensed nearest neighbor rule, IEEE Transactions on Information Theory 14 (1968), 515-516"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "threshold"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "points of different labels are farther apart than squared norms are rounded"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("memory", self.memory, at_least=1)

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        refuse_large_norms(points)
        with single_threaded_blas():
            condensing = _Condensing(points, self.memory)
            condensing.visit(stream(seed_sequence(random_state), ORDER).permutation(len(points)))
        chosen = np.array(condensing.prototypes, dtype=np.int64)
        trace = Trace(anchors=points.rows[chosen], detector_classes=points.y[chosen])
        return Construction(_network(points, chosen), Outcome.INTERPOLATES, trace)


@dataclass(eq=False)
class _Condensing:
    """Prototypes so far, and every point's squared distance to the nearest of its class and of the others.

    Both the squares compared here and a bisector's value, which is their difference, are off by
    at most g = 8.08 (d + 6) u R^2, with R the largest norm: a difference of more than 3 g is certain.
    """

    points: DistinctPoints
    memory: int
    prototypes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        X = self.points.X
        self.norms = (X * X).sum(axis=1)
        self.room = 24.24 * (X.shape[1] + 6) * U64 * float(self.norms.max()) + X.shape[1] * 1e-320
        self.own, self.other = np.full(len(X), np.inf), np.full(len(X), np.inf)
        self.counts = np.zeros(self.points.n_classes, dtype=np.int64)

    def visit(self, order: Rows) -> None:
        """Go round until nobody is wrong."""
        at = 0
        wrong = np.ones(len(order), dtype=bool)
        while wrong.any():
            ahead = wrong[at:]
            if not ahead.any():
                at = 0
                continue
            at += int(ahead.argmax())
            self._add(int(order[at]))
            wrong = ~(self.own + self.room < self.other)[order]

    def _add(self, point: int) -> None:
        if point in self.prototypes:
            raise self._too_close(point)
        self.prototypes.append(point)
        self._refuse_too_large(int(self.points.y[point]))
        squares = self.norms - 2 * (self.points.X @ self.points.X[point]) + self.norms[point]
        squares[point] = 0.0
        same = self.points.y == self.points.y[point]
        nearest = np.where(same, self.own, self.other)
        np.minimum(nearest, squares, out=nearest)
        self.own, self.other = np.where(same, nearest, self.own), np.where(same, self.other, nearest)

    def _too_close(self, point: int) -> AssumptionError:
        y, X = self.points.y, self.points.X
        others = [other for other in self.prototypes if y[other] != y[point]]
        nearest = others[int(((X[others] - X[point]) ** 2).sum(axis=1).argmin())]
        rows = np.sort(self.points.rows[[point, nearest]])
        return AssumptionError(f"that {CondensedNeighbour.assumptions}", rows, REMEDY)

    def _refuse_too_large(self, code: int) -> None:
        self.counts[code] += 1
        if len(self.prototypes) % 16:
            return
        needed = 8 * condensed_neighbour_size(tuple(self.counts.tolist()), self.points.X.shape[1])[1]
        if needed > self.memory:
            raise TooLargeError(
                f"{len(self.prototypes)} prototypes need {needed:,} bytes of weights, memory={self.memory:,} allows "
                "fewer: raise memory, or use a construction that grows less than quadratically"
            )


def _network(points: DistinctPoints, chosen: Rows) -> Network:
    """Bisectors, a unit for each prototype but those of the class with most, and who speaks for which class."""
    classes = points.y[chosen]
    base = int(np.bincount(classes).argmax())
    ranked = chosen[np.argsort(classes == base, kind="stable")]  # the class with most comes last
    codes = points.y[ranked]
    first, second = np.nonzero(np.triu(codes[:, None] != codes[None, :]))
    X, norms = points.X[ranked], (points.X[ranked] ** 2).sum(axis=1)
    bisectors = Layer(Dense(2 * (X[second] - X[first])), norms[first] - norms[second], THRESHOLD)
    inner = int((codes != base).sum())
    output, decoder = _output(codes[:inner], base, points.n_classes)
    return Network((bisectors, _nearest(first, second, inner, points.n_classes), output), decoder)


def _nearest(first: Any, second: Any, inner: int, n_classes: int) -> Layer:
    """Units that fire where a prototype is nearer than all of other classes: its first bits off, its second bits on."""
    if n_classes == 2:
        masks = BitMatrix.from_bool(first[None, :] == np.arange(inner)[:, None])
        return Layer(Masks(masks, -1), np.ones(inner, dtype=np.int64), THRESHOLD)
    bits, on = np.arange(len(first)), second < inner
    signs = np.concatenate([np.full(len(first), -1.0), np.ones(int(on.sum()))])
    places = np.concatenate([first, second[on]]), np.concatenate([bits, bits[on]])
    weights = sp.csr_array((signs, places), shape=(inner, len(first)))
    return Layer(Sparse(weights), 1.0 - np.bincount(second[on], minlength=inner), THRESHOLD)


def _output(codes: Codes, base: int, n_classes: int) -> tuple[Layer, Decoder]:
    if n_classes == 2:
        return output_layer(codes, (1 - base,), n_classes)
    return claim_output(codes, np.ones(len(codes)), base, n_classes)
