"""Points that decide for those near them: balls (Priebe et al. 2003, Younsi and Bagnall 2016), prototypes (Hart 1968).

Threshold units; all networks are ours.

**Balls** around points that reach to the nearest point of another class; units on [x, |x|^2], one hidden layer. Greedy:
Priebe et al. Random order: Younsi and Bagnall, without pruning.

Faithful: each ball is open and as large as the other classes allow; balls are chosen until they cover the class,
always the one that covers most (greedy) or in random order, skipping covered centres. The random order is the limit of
the paper's own construction as its width and then max_bias grow: the same detectors, at no cost for a first layer.

Ours: as classifiers, both compare distances to balls of all classes. Here a point belongs to the class that has a ball
around it; of two classes only the rarer one has balls. A ball's radius is stored halfway between the farthest point of
its class inside and the nearest of another class.

Size, with m balls: m, o, over d + 1 inputs. Float64: a point is covered only if the ball's edge is farther away, in
squares, than twice all roundings can reach: about 5 d 10^-15 (|centre|^2 + radius^2). So points of different labels
must be farther apart than about 10^-7 sqrt(d) of their norm. Centre the data if they are not.

**Prototypes**: the nearest of few points decides; two hidden layers. Faithful: points are visited in turn, again and
again, and a point that is not nearest to a prototype of its class becomes a prototype, until all points are right.

Ours: a first-layer unit for every two prototypes of different classes tells which of them is nearer. A second-layer
unit for every prototype (of all classes but the one with most) fires where it is nearer than those of all other
classes. The order of visits is random, and "nearest" means by more than roundings can reach.

Size, with p_k prototypes of class k: the sum of p_k p_l over k < l bisectors, all prototypes but those of the class
with most, o. The number of bisectors is quadratic in that of prototypes: ``memory_limit`` says when to stop. Float64:
points of different labels must be farther apart than about 10^-7 sqrt(d) of the largest norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._kernels.distances import pair_squares
from .._support.parameters import check_choice, check_integer
from .._support.threads import Threads, open_executor
from ..construct import Trace
from ..construct.hyperplanes import ORDER, stream
from ..construct.unique_patterns import ClassOrder
from ..data import Floats, Rows, choose_targets
from ..data.pairs import nearest_other
from ..data.point_set import U64, PointSet
from ..exceptions import AssumptionError
from ..geometry.ball_covers import Balls, Cover, cover_by_balls, reaching
from ..network import Dense, Layer, Masks, Network, Sparse
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix
from ..network.detector_network import output_layer
from .base import APART, REMEDY, DistinctPoints, Published, claim_output, refuse_large_norms, refuse_too_large

ANCHORS_AT_ONCE, TILE_ROWS = 64, 2048
GREEDY_MEMORY = 2**28  # bytes for the coverage rows of a class; of a larger one candidates come in pools


@dataclass(frozen=True)
class BallCover(Published):
    """Balls of each class that reach to the nearest point of another class; any number of classes.

    Parameters
    ----------
    selection : {"random", "greedy"}
        Centres in random order, skipping covered ones, or always the one that covers most.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import BallCover
    >>> BallCover("greedy").construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (11, 3)
    """

    selection: Literal["random", "greedy"] = "random"
    n_jobs: int | None = None

    name = "ball-cover"
    citation = (
        "C. E. Priebe, J. G. DeVinney, D. J. Marchette, D. A. Socolinsky, Classification using class cover catch "
        "digraphs, Journal of Classification 20 (2003), 3-23; R. Younsi, A. Bagnall, Ensembles of random sphere cover "
        "classifiers, Pattern Recognition 49 (2016), 213-225"
    )

    def __post_init__(self) -> None:
        check_choice("selection", self.selection, ("random", "greedy"))

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        refuse_large_norms(points)
        classes, targets = ClassOrder.of(points.y), choose_targets(points.y, None)
        with open_executor(self.n_jobs, False) as work:
            nearest = nearest_other(points.X, points.y, work)
            balls = ClearBalls(*reaching(points.X, classes, nearest), work.threads)
            covers = cover_by_balls(balls, classes, targets, self.selection, GREEDY_MEMORY, root)
            if len(uncovered := np.concatenate([cover.uncovered for cover in covers])):
                raise AssumptionError(APART, np.sort(points.rows[classes.rows[uncovered]]), REMEDY)
            squares = [balls.stored_squares(cover, classes.target(k)) for k, cover in zip(targets, covers, strict=True)]
        centres = classes.rows[np.concatenate([cover.centres for cover in covers])]
        trace = Trace(
            anchors=points.rows[centres],
            witnesses=points.rows[nearest.rows[centres]],
            coverage=np.concatenate([cover.coverage for cover in covers]),
            detector_classes=points.y[centres],
        )
        # Units 2 <c, x> - |x|^2 + (t - |c|^2), each for the class of its centre.
        X = points.X[centres]
        weights = np.column_stack([2 * X, np.full(len(X), -1.0)])
        first = Layer(Dense(weights), np.concatenate(squares) - (X * X).sum(axis=1), THRESHOLD)
        output, decoder = output_layer(points.y[centres], targets, points.n_classes)
        return Network((first, output), decoder, "append_squared_norm"), trace


class ClearBalls(Balls):
    """Balls that claim a point only if no rounding in the network can put it outside."""

    # With centre c and squared radius t the network's unit is 2 <c, x> - s + b, where s is the rounded |x|^2 and b the
    # rounded t - |c|^2. However it is evaluated, it is off from t - |x - c|^2 by at most
    #
    #     1.01 (d + 3) u (3 |x|^2 + 3 |c|^2 + 2 t),    u = 2^-53.
    #
    # With r the distance of the nearest point of another class and t < r^2, this is less than
    # m = 1.01 (d + 8) u 10 (|c|^2 + r^2) for x within r of c; and since |x|^2 <= 2 |c|^2 + 2 |x - c|^2, farther points
    # are right if those at distance r are. So it is enough that claimed points are within r^2 - 4 m and t is 2 m away
    # from both, which leaves a second m for the roundings of r^2 itself and of the distances compared with it.

    def __init__(self, point_set: PointSet, squares: Floats, threads: Threads) -> None:
        with np.errstate(under="ignore"):
            tiles = map(point_set.take, point_set.tiles(TILE_ROWS))
            norms = np.concatenate([(tile * tile).sum(axis=1) for tile in tiles])
        vanishing = 8.0 * (point_set.dimension + 4) * 5e-324
        with np.errstate(over="ignore", under="ignore"):
            lost = float(np.ldexp(vanishing, -2 * point_set.exponent)) if point_set.exponent > -500 else np.inf
            margins = 10.1 * (point_set.dimension + 8) * U64 * (norms + squares) + lost
        self.reach = squares
        super().__init__(point_set, squares - 4 * margins, threads)

    def stored_squares(self, cover: Cover, target: tuple[int, int]) -> Floats:
        """Squared radii halfway between the farthest claimed point of the class and the nearest of another."""
        anchors, everyone = cover.centres, self.tiles(np.arange(*target))
        farthest: list[float] = []
        for start in range(0, len(anchors), ANCHORS_AT_ONCE):
            some = anchors[start : start + ANCHORS_AT_ONCE]
            for anchor, row in zip(some, self.table(some, everyone), strict=True):
                # Summed in one fixed order, unlike the products that decided which points are inside.
                claimed = target[0] + np.flatnonzero(row)
                squares = np.empty(len(claimed))
                pair_squares(
                    self.point_set.take(np.repeat(anchor, len(claimed))), self.point_set.take(claimed), squares
                )
                farthest.append(float(squares.max()))
        return np.asarray(np.ldexp((np.array(farthest) + self.reach[anchors]) / 2, 2 * self.point_set.exponent))


@dataclass(frozen=True)
class CondensedNeighbour(Published):
    """Hart's condensed nearest neighbour rule as a network of bisectors; any number of classes.

    Parameters
    ----------
    memory_limit : int
        The most bytes that the network's weights may take.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import CondensedNeighbour
    >>> CondensedNeighbour().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (87, 8, 3)
    """

    memory_limit: int = 2**31

    name = "condensed-neighbour"
    citation = (
        "P. E. Hart, The condensed nearest neighbor rule, IEEE Transactions on Information Theory 14 (1968), 515-516"
    )

    def __post_init__(self) -> None:
        check_integer("memory_limit", self.memory_limit, at_least=1)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        refuse_large_norms(points)
        X, y = points.X, points.y
        norms = (X * X).sum(axis=1)
        # Both the squares compared here and a bisector's value, which is their difference, are off by at most
        # g = 8.08 (d + 6) u R^2, with R the largest norm: a difference of more than 3 g is certain.
        margin = 24.24 * (X.shape[1] + 6) * U64 * float(norms.max()) + X.shape[1] * 1e-320
        # Every point's squared distance to the nearest prototype of its own class, and of the others.
        own, other = np.full(len(X), np.inf), np.full(len(X), np.inf)
        order, prototypes, at = stream(root, ORDER).permutation(len(points)), list[int](), 0
        while (wrong := ~(own + margin < other)[order]).any():
            if not wrong[at:].any():
                at = 0  # the next round begins
            at += int(wrong[at:].argmax())
            point = int(order[at])
            same = y == y[point]
            if point in prototypes:
                others = [each for each in prototypes if not same[each]]
                nearest = others[int(((X[others] - X[point]) ** 2).sum(axis=1).argmin())]
                raise AssumptionError(APART, np.sort(points.rows[[point, nearest]]), REMEDY)
            prototypes.append(point)
            if len(prototypes) % 16 == 0:
                counts = np.bincount(y[prototypes]).tolist()
                bisectors, inner = sum(a * b for a, b in combinations(counts, 2)), sum(counts) - max(counts)
                outputs = 1 if points.n_classes == 2 else points.n_classes
                n_weights = bisectors * (X.shape[1] + 1) + inner * (bisectors + 1) + outputs * (inner + 1)
                refuse_too_large(8 * n_weights, self.memory_limit, f"{len(prototypes)} prototypes")
            squares = norms - 2 * (X @ X[point]) + norms[point]
            squares[point] = 0.0
            own = np.where(same, np.minimum(own, squares), own)
            other = np.where(same, other, np.minimum(other, squares))
        chosen = np.array(prototypes, dtype=np.int64)
        return _bisectors(points, chosen), Trace(anchors=points.rows[chosen], detector_classes=y[chosen])


def _bisectors(points: DistinctPoints, chosen: Rows) -> Network:
    """Network of bisectors, then of a unit for each prototype but those of the class with most."""
    classes = points.y[chosen]
    base = int(np.bincount(classes).argmax())
    ranked = chosen[np.argsort(classes == base, kind="stable")]  # the class with most comes last
    codes = points.y[ranked]
    first, second = np.nonzero(np.triu(codes[:, None] != codes[None, :]))
    X, norms = points.X[ranked], (points.X[ranked] ** 2).sum(axis=1)
    bisectors = Layer(Dense(2 * (X[second] - X[first])), norms[first] - norms[second], THRESHOLD)
    inner = int((codes != base).sum())
    # A second-layer unit fires where its prototype is nearer than all of other classes: its first bits off, its second
    # bits on. With two classes it has first bits only.
    if points.n_classes == 2:
        masks = BitMatrix.from_bool(first[None, :] == np.arange(inner)[:, None])
        nearest = Layer(Masks(masks, -1), np.ones(inner, dtype=np.int64), THRESHOLD)
        output, decoder = output_layer(codes[:inner], (1 - base,), 2)
        return Network((bisectors, nearest, output), decoder)
    bits, on = np.arange(len(first)), second < inner
    signs = np.concatenate([np.full(len(first), -1.0), np.ones(int(on.sum()))])
    places = np.concatenate([first, second[on]]), np.concatenate([bits, bits[on]])
    weights = sp.csr_array((signs, places), shape=(inner, len(first)))
    nearest = Layer(Sparse(weights), 1.0 - np.bincount(second[on], minlength=inner), THRESHOLD)
    output, decoder = claim_output(codes[:inner], np.ones(inner), base, points.n_classes)
    return Network((bisectors, nearest, output), decoder)
