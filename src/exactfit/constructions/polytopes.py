"""Polytopes that hold points of one class only; ReLU or threshold, two hidden layers.

After Lee, Mammadov and Ye 2024 (arXiv:2402.02407).

Faithful: the network. First-layer units are the faces of polytopes, a second-layer ReLU for each polytope is 1 minus
the sum of its faces' values and so positive inside and zero at all points outside (here, after scaling, 1/2 minus it),
and the output adds them up. Widths are the numbers of faces and of polytopes.

Ours: how polytopes are found, for which the paper trains and compresses networks. From a random point of the class that
no polytope holds yet, a face is put before the nearest point of the rest, orthogonal to the way there and halfway to
the points of the class before it; the points that it cuts off are done, and so on until none of the rest is
left. Faces that others make superfluous are dropped. Each polytope holds at least the points that a ball around its
first point would. No holes are used. With ``activation="threshold"`` a polytope holds a point if no face is crossed.

Size, with f faces and p polytopes: f, p, o, most weights of the second layer being zero. A face is needed for every few
points of the rest in high dimensions: ``memory_limit`` says when to stop. Float64: every face keeps four times the
largest rounding error from all points that it decides about. Points of different labels must be farther apart than
about d 10^-14 of their norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._support.parameters import check_choice, check_integer
from ..construct import Trace
from ..construct.hyperplanes import ORDER, stream
from ..data import Floats, Rows, choose_targets
from ..data.matrices import row_tiles
from ..data.point_set import U64
from ..exceptions import AssumptionError
from ..network import Dense, Layer, Masks, Network
from ..network.activations import as_activation
from ..network.bits import BitMatrix
from ..network.detector_network import output_layer
from .base import APART, REMEDY, DistinctPoints, Published, refuse_large_norms, refuse_too_large

BATCH, TILE_ROWS = 32, 512


class Polytope(NamedTuple):
    """Points x with <normals, x> < offsets; scaled such that a face is crossed by more than 1 at points outside."""

    code: int
    normals: Floats
    offsets: Floats
    anchor: int
    coverage: int


@dataclass(frozen=True)
class PolytopeCover(Published):
    """Polytopes that hold points of one class only, found one by one; two classes, or each against the rest.

    Parameters
    ----------
    activation : {"relu", "threshold"}
    memory_limit : int
        The most bytes that the faces may take.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import PolytopeCover
    >>> PolytopeCover("threshold").construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (27, 8, 3)
    """

    activation: str = "relu"
    memory_limit: int = 2**31

    name = "polytope-cover"
    citation = (
        "after S. Lee, A. Mammadov, J. C. Ye, Defining neural network architecture through polytope structures of "
        "datasets, ICML 2024"
    )

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ("relu", "threshold"))
        check_integer("memory_limit", self.memory_limit, at_least=1)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        refuse_large_norms(points)
        found, needed, targets = list[Polytope](), 0, choose_targets(points.y, None)
        for code in targets:
            search = _Search(points, code)
            for polytope in search.cover(stream(root, ORDER, code).permutation(len(search.inside))):
                found.append(polytope)
                needed += polytope.normals.nbytes
                refuse_too_large(needed, self.memory_limit, f"the faces of {len(found)} polytopes")
        # Faces, then a detector of limit 1 (ReLU: 1/2) for each polytope.
        s = as_activation(self.activation)
        codes, normals, offsets, anchors, coverage = zip(*found, strict=True)
        classes = np.array(codes, dtype=np.int64)
        owners = np.repeat(np.arange(len(found)), [len(each) for each in offsets])
        masks = BitMatrix.from_bool(owners[None, :] == np.arange(len(found))[:, None])
        limits = np.ones(len(found), dtype=np.int64) if s.is_threshold else np.full(len(found), 0.5)
        faces = Layer(Dense(np.concatenate(normals)), -np.concatenate(offsets), s)
        output, decoder = output_layer(classes, targets, points.n_classes)
        trace = Trace(
            anchors=points.rows[list(anchors)],
            coverage=np.array(coverage, dtype=np.int64),
            detector_classes=classes,
        )
        return Network((faces, Layer(Masks(masks, -1), limits, s), output), decoder), trace


class _Search:
    """Search for polytopes of one class."""

    def __init__(self, points: DistinctPoints, code: int) -> None:
        self.points, self.code = points, code
        own = points.y == code
        self.places = np.flatnonzero(own)
        self.inside, self.rest = points.X[own], points.X[~own]
        self.rest_places = np.flatnonzero(~own)
        largest = float((points.X * points.X).sum(axis=1).max())
        # With unit normals and R the largest norm, <w, x> - b is off by at most g = 2.02 (d + 6) u R. A face is 8 g
        # before the points that it cuts off, so 6 g before them in every other evaluation here, and 4 g in the
        # network's: two thirds of what the scale is taken from, and so more than the limit, 1/2.
        self.error = 2.02 * (points.X.shape[1] + 6) * (U64 * np.sqrt(largest) + 5e-324)

    def cover(self, order: Rows) -> Iterator[Polytope]:
        """Polytopes around points that none holds yet, in the given order."""
        waiting = np.ones(len(order), dtype=bool)
        for place in order:
            if waiting[place]:
                normals, offsets = self._pruned(*self._faces(int(place)))
                left = np.flatnonzero(waiting)
                clear = self.inside[left] @ normals.T - offsets < -4 * self.error
                held = left[clear.all(axis=1)]
                waiting[held] = False
                least = min(float(distances.max(axis=1).min()) for _, distances in self._beyond(normals, offsets))
                exponent = 1 - int(np.frexp(least)[1])
                faces = np.ldexp(normals, exponent), np.ldexp(offsets, exponent)
                yield Polytope(self.code, *faces, int(self.places[place]), len(held))

    def _faces(self, place: int) -> tuple[Floats, Floats]:
        """Faces that cut off the rest, the nearest first."""
        start = self.inside[place]
        differences = self.rest - start
        distances = np.sqrt((differences * differences).sum(axis=1))
        order = np.argsort(distances, kind="stable")
        if not distances[order[0]] > 24 * self.error:
            rows = np.sort(self.points.rows[[self.places[place], self.rest_places[order[0]]]])
            raise AssumptionError(APART.replace("squared norms", "products"), rows, REMEDY)
        inside, others, distances = self.inside, self.rest[order], distances[order]
        normals: list[Floats] = []
        offsets: list[float] = []
        while len(others):
            # Products with several directions at once, for speed; a point that an earlier face cuts off gets none.
            ahead = (others[:BATCH] - start) / distances[:BATCH, None]
            near, left = np.ones(len(inside), dtype=bool), np.ones(len(others), dtype=bool)
            for i, (own, rest) in enumerate(zip(ahead @ inside.T, ahead @ others.T, strict=True)):
                if left[i]:
                    near &= own < rest[i] - 20 * self.error
                    offset = (float(own[near].max()) + float(rest[i])) / 2
                    left &= rest <= offset + 8 * self.error
                    normals.append(ahead[i])
                    offsets.append(offset)
            inside, others, distances = inside[near], others[left], distances[left]
        return np.array(normals), np.array(offsets)

    def _pruned(self, normals: Floats, offsets: Floats) -> tuple[Floats, Floats]:
        """Drop faces that cut off nothing alone."""
        beyond = np.empty((len(offsets), len(self.rest)), dtype=bool)
        for tile, distances in self._beyond(normals, offsets):
            beyond[:, tile] = (distances > 6 * self.error).T
        crossed, kept = beyond.sum(axis=0), np.ones(len(offsets), dtype=bool)
        for face, cut_off in enumerate(beyond):
            if (crossed[cut_off] > 1).all():
                kept[face] = False
                crossed -= cut_off
        return normals[kept], offsets[kept]

    def _beyond(self, normals: Floats, offsets: Floats) -> Iterator[tuple[slice, Floats]]:
        """Distances of the rest beyond each face, a tile of points at a time."""
        for tile in row_tiles(self.rest, TILE_ROWS):
            yield tile, self.rest[tile] @ normals.T - offsets
