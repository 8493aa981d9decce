"""Drawing the first layer, in blocks of 64 hyperplanes, each from its own child of the seed.

So the first n hyperplanes are the same whatever else is drawn after them. What is
drawn is stored rounded: weights to float32-representable numbers, biases to float64,
computed in one fixed order. The stored numbers are the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import add_rows, largest_norm, subtract_products
from ..exceptions import DataError
from ..network.bits import WORD_BITS
from ..network.sides import dense_rows, row_tiles

Matrix = Any
Floats = NDArray[np.float64]

HYPERPLANES, ORDER = 0, 1


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Rows ``weights`` and ``biases``: hyperplane i is {x : <w_i, x> + b_i = 0}."""

    weights: NDArray[Any]
    biases: Floats

    @property
    def count(self) -> int:
        """How many hyperplanes."""
        return len(self.biases)

    def head(self, count: int) -> Hyperplanes:
        """The first ``count`` of them."""
        return Hyperplanes(self.weights[:count], self.biases[:count])

    def append(self, other: Hyperplanes) -> Hyperplanes:
        """These, then the others; float32 as long as all weights fit it."""
        weights = np.concatenate([self.weights, other.weights])
        return Hyperplanes(weights, np.concatenate([self.biases, other.biases]))


def stream(root: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """The generator of one purpose: a child of the root, whatever was drawn elsewhere."""
    child = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))
    return np.random.Generator(np.random.PCG64(child))


def mean(X: Matrix) -> Floats:
    """Mean of the rows: a plain sum in row order over their number."""
    totals = np.zeros(X.shape[1])
    for tile in row_tiles(X):
        add_rows(dense_rows(X, tile), totals)
    return np.asarray(totals / X.shape[0])


def radius(X: Matrix, origin: Floats) -> float:
    """Largest distance of a row from ``origin`` (the paper's R, Algorithm 1 line 1)."""
    return float(max(largest_norm(dense_rows(X, tile), origin) for tile in row_tiles(X)))


Block = Callable[[np.random.Generator], Hyperplanes]


@dataclass(frozen=True, eq=False)
class Source:
    """An endless supply of hyperplanes, reproducible block by block."""

    root: np.random.SeedSequence
    draw: Block

    def block(self, index: int) -> Hyperplanes:
        """The 64 hyperplanes of block ``index``."""
        return self.draw(stream(self.root, HYPERPLANES, index))

    def first(self, count: int) -> Hyperplanes:
        """The first ``count`` hyperplanes."""
        blocks = [self.block(index) for index in range(-(-count // WORD_BITS))]
        weights = np.concatenate([block.weights for block in blocks])
        biases = np.concatenate([block.biases for block in blocks])
        return Hyperplanes(weights[:count], biases[:count])


def gaussian(X: Matrix, *, max_bias: float | str, center: bool) -> Block:
    """The paper's law: w ~ N(0, I), b ~ Unif[-lambda, lambda], around the origin or the mean."""
    d = X.shape[1]
    origin = mean(X) if center else np.zeros(d)
    reach = radius(X, origin) if isinstance(max_bias, str) else float(max_bias)
    if not (np.isfinite(origin).all() and np.isfinite(reach)):
        raise DataError("the data are too large: their mean or radius overflows float64. Scale them down.")

    def draw(rng: np.random.Generator) -> Hyperplanes:
        weights = rng.standard_normal((WORD_BITS, d)).astype(np.float32)
        biases = reach * rng.uniform(-1.0, 1.0, WORD_BITS)
        if not center:
            return Hyperplanes(weights, biases)  # finite, as reach is
        subtract_products(weights, origin, biases)
        return _finite(Hyperplanes(weights, biases))

    return draw


def bisector(X: Matrix, y: NDArray[np.int64], targets: tuple[int, ...]) -> Block:
    """Perpendicular bisectors of random pairs: from a point of a target class to one of another.

    The pair is uniform over all ordered pairs with the first point in a target class.
    Normals are scaled by a power of two and rounded to float32.
    """
    order = np.argsort(y, kind="stable")
    sizes = np.bincount(y)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    weight = np.array([sizes[k] * (len(y) - sizes[k]) for k in targets], dtype=np.float64)

    def draw(rng: np.random.Generator) -> Hyperplanes:
        classes = np.asarray(targets)[rng.choice(len(targets), WORD_BITS, p=weight / weight.sum())]
        low, size = starts[classes], sizes[classes]
        here = low + rng.integers(0, size)
        there = rng.integers(0, len(y) - size)
        there += size * (there >= low)
        return _finite(_halfway(dense_rows(X, order[here]), dense_rows(X, order[there])))

    return draw


def _halfway(here: Floats, there: Floats) -> Hyperplanes:
    with np.errstate(over="ignore", invalid="ignore"):
        normals = there - here
        middles = here + normals / 2
        exponents = np.frexp(np.abs(normals).max(axis=1))[1]
        weights = np.ldexp(normals, -exponents[:, None]).astype(np.float32)
    biases = np.zeros(len(weights))
    for i, middle in enumerate(middles):
        subtract_products(weights[i : i + 1], middle, biases[i : i + 1])
    return Hyperplanes(weights, biases)


def in_format(draw: Block, exact_in: str | None) -> Block:
    """The same law with biases rounded to float32 if asked for; weights are, always."""
    if exact_in != "float32":
        return draw

    def short(rng: np.random.Generator) -> Hyperplanes:
        planes = draw(rng)
        with np.errstate(over="ignore"):
            return _finite(Hyperplanes(planes.weights, planes.biases.astype(np.float32).astype(np.float64)), exact_in)

    return short


def _finite(planes: Hyperplanes, form: str = "float64") -> Hyperplanes:
    if not (np.isfinite(planes.biases).all() and np.isfinite(planes.weights).all()):
        raise DataError(f"the data are too large: a bias overflows {form}. Scale them down.")
    return planes
