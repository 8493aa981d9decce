"""Samplers: they draw the first layer in blocks of 64 hyperplanes, each from its own child of the seed.

So the first n hyperplanes are the same whatever else is drawn after them. What is drawn is stored rounded: weights to
float32-representable numbers, biases to float64, computed in one fixed order. The stored numbers are the network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._kernels.rows import largest_norm, subtract_own_products, subtract_products
from ..data import ChunkedPoints, Matrix, Rows, mean
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network.weights import Dense, Sparse
from ..options import Options

Floats = NDArray[np.float64]

# First number of a stream's key: what it is for.
HYPERPLANES, ORDER = 0, 1
BLOCKS_AT_ONCE = 8  # blocks drawn in threads where draws wait for chunks: more would not shorten the waiting


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Rows ``weights`` (an array or a CSR array) and ``biases``: hyperplane i is {x : <w_i, x> + b_i = 0}."""

    weights: Any
    biases: Floats

    @property
    def count(self) -> int:
        """The number of hyperplanes."""
        return len(self.biases)

    @classmethod
    def joined(cls, blocks: Sequence[Hyperplanes]) -> Hyperplanes:
        """Return the hyperplanes of all blocks in order; sparse if one block is, float32 if all fit it."""
        weights = [one.weights for one in blocks]
        if any(sp.issparse(one) for one in weights):
            stacked = sp.vstack([sp.csr_array(one) for one in weights], format="csr")
        else:
            stacked = np.concatenate(weights)
        return cls(stacked, np.concatenate([one.biases for one in blocks]))

    def blocks(self) -> list[Hyperplanes]:
        """Return them 64 at a time."""
        starts = range(0, len(self.biases), WORD_BITS)
        return [Hyperplanes(self.weights[k : k + WORD_BITS], self.biases[k : k + WORD_BITS]) for k in starts]

    def head(self, count: int) -> Hyperplanes:
        """Return the first ``count`` of them."""
        return Hyperplanes(self.weights[:count], self.biases[:count])

    def append(self, other: Hyperplanes) -> Hyperplanes:
        """Return these, then the others."""
        return Hyperplanes.joined([self, other])

    @property
    def layer_weights(self) -> Dense | Sparse:
        """Weights as a layer of a network holds them."""
        return Sparse(self.weights) if sp.issparse(self.weights) else Dense(self.weights)


def stream(root: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """Return the generator of one purpose: a child of the root, whatever was drawn elsewhere."""
    child = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))
    return np.random.Generator(np.random.PCG64(child))


def largest_distance(X: Matrix, origin: Floats) -> float:
    """Return the largest distance of a row from ``origin`` (the paper's R, Algorithm 1 line 1)."""
    if isinstance(X, ChunkedPoints):
        return X.radius(origin)
    largest = 0.0
    for tile in row_tiles(X):
        largest = max(largest, largest_norm(dense_rows(X, tile), origin))
    return largest


class HyperplaneSampler(ABC):
    """Draws hyperplanes, 64 at a time.

    Attributes
    ----------
    root : SeedSequence
        Block k is drawn from the k-th child of its stream for hyperplanes.
    exact_in : str or None
        The format that biases are rounded to.
    at_once : int
        Blocks drawn at a time, in threads: more than one where draws wait for rows that are elsewhere.
    """

    root: np.random.SeedSequence
    exact_in: str | None
    at_once: int

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        """Return 64 hyperplanes, with biases in float64."""

    def draw(self, block: int) -> Hyperplanes:
        """Return the hyperplanes of a block, as ``exact_in`` holds them."""
        return in_format_of(self._draw(stream(self.root, HYPERPLANES, block)), self.exact_in)

    def blocks(self, start: int, stop: int) -> Hyperplanes:
        """Return the hyperplanes of some blocks; as each has a stream of its own, the order of drawing is free."""
        if self.at_once == 1:
            return Hyperplanes.joined(list(map(self.draw, range(start, stop))))
        with ThreadPoolExecutor(self.at_once) as pool:
            return Hyperplanes.joined(list(pool.map(self.draw, range(start, stop))))

    def first(self, count: int) -> Hyperplanes:
        """Return the first ``count`` hyperplanes."""
        return self.blocks(0, -(-count // WORD_BITS)).head(count)


def make_sampler(
    X: Matrix, y: NDArray[np.int64], targets: tuple[int, ...], options: Options, root: np.random.SeedSequence
) -> HyperplaneSampler:
    """Return the sampler that the options ask for, over these points."""
    if options.hyperplanes == "gaussian":
        return GaussianSampler(X, root, max_bias=options.max_bias, center=options.center, exact_in=options.exact_in)
    at_once = BLOCKS_AT_ONCE if isinstance(X, ChunkedPoints) else 1
    pairs = RandomPairs.of(y, targets)
    if options.hyperplanes == "bisector":
        return BisectorSampler(X, pairs, root, options.exact_in, at_once)
    from .sparse_hyperplanes import SparseSampler

    return SparseSampler.of(X, pairs, root, options, at_once)


class GaussianSampler(HyperplaneSampler):
    """The paper's hyperplanes: w ~ N(0, I), b ~ Unif[-lambda, lambda], around the origin or the mean."""

    def __init__(
        self, X: Matrix, root: np.random.SeedSequence, *, max_bias: float | str = "radius", center: bool = True,
        exact_in: str | None = None,
    ) -> None:  # fmt: skip
        self.root, self.exact_in, self.at_once = root, exact_in, 1
        self.center = mean(X) if center else None
        origin = np.zeros(X.shape[1]) if self.center is None else self.center
        self.n_features = X.shape[1]
        self.max_bias = largest_distance(X, origin) if isinstance(max_bias, str) else float(max_bias)
        if not (np.isfinite(origin).all() and np.isfinite(self.max_bias)):
            raise DataError("the data are too large: their mean or radius overflows float64. Scale them down.")

    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        weights = rng.standard_normal((WORD_BITS, self.n_features)).astype(np.float32)
        biases = self.max_bias * rng.uniform(-1.0, 1.0, WORD_BITS)
        if self.center is not None:
            subtract_products(weights, self.center, biases)
        return Hyperplanes(weights, biases)


@dataclass(frozen=True, eq=False)
class RandomPairs:
    """Ordered pairs of rows of different labels, the first in a target class, to be drawn from."""

    order: NDArray[np.intp]  # rows, class by class
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    targets: NDArray[np.int64]

    @classmethod
    def of(cls, y: NDArray[np.int64], targets: tuple[int, ...]) -> RandomPairs:
        """Return all pairs of labelled rows."""
        sizes = np.bincount(y)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(np.argsort(y, kind="stable"), starts, sizes, np.asarray(targets))

    def draw(self, rng: np.random.Generator, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of ``count`` uniform pairs: the first of each, and the second."""
        n_pairs = (self.sizes * (len(self.order) - self.sizes))[self.targets].astype(np.float64)
        classes = self.targets[rng.choice(len(self.targets), count, p=n_pairs / n_pairs.sum())]
        low, size = self.starts[classes], self.sizes[classes]
        here = low + rng.integers(0, size)
        # A number among the rows of other classes: those from this class on are shifted past it.
        there = rng.integers(0, len(self.order) - size)
        there += size * (there >= low)
        return self.order[here], self.order[there]


@dataclass(frozen=True, eq=False)
class BisectorSampler(HyperplaneSampler):
    """Perpendicular bisectors of random pairs of rows of different labels."""

    X: Matrix
    pairs: RandomPairs
    root: np.random.SeedSequence
    exact_in: str | None = None
    at_once: int = 1

    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        here, there = self.pairs.draw(rng, WORD_BITS)
        return between(dense_rows(self.X, here), dense_rows(self.X, there))


def between(here: Floats, there: Floats) -> Hyperplanes:
    """Return the bisector of each pair, on at the second point; normals scaled by a power of two, then float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        normals = there - here
        middles = here + normals / 2
        exponents = np.frexp(np.abs(normals).max(axis=1))[1]
        weights = np.ldexp(normals, -exponents[:, None]).astype(np.float32)
    biases = np.zeros(len(weights))
    # From the stored weights: so it is their hyperplane that passes through the middle, as nearly as a bias can.
    subtract_own_products(weights, middles, biases)
    return _finite(Hyperplanes(weights, biases))


def in_format_of(planes: Hyperplanes, exact_in: str | None) -> Hyperplanes:
    """Return hyperplanes with biases rounded to float32 if asked for; refuse what overflows."""
    if exact_in != "float32":
        return _finite(planes)
    with np.errstate(over="ignore"):
        return _finite(Hyperplanes(planes.weights, planes.biases.astype(np.float32).astype(np.float64)), exact_in)


def _finite(planes: Hyperplanes, form: str = "float64") -> Hyperplanes:
    weights = planes.weights.data if sp.issparse(planes.weights) else planes.weights
    if not (np.isfinite(planes.biases).all() and np.isfinite(weights).all()):
        raise DataError(f"the data are too large: a bias overflows {form}. Scale them down.")
    return planes


class FixedFirstLayer(HyperplaneSampler):
    """Hyperplanes that the caller passes in, as pair (weights, biases): nothing is left to chance."""

    exact_in = None

    def __init__(self, pair: Any) -> None:
        self.planes = _as_hyperplanes(pair)

    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        raise AssertionError("given hyperplanes are not drawn")

    def first(self, count: int) -> Hyperplanes:
        """Return the given hyperplanes."""
        return self.planes.head(count)

    def refuse_misfits(self, n_features: int, exact_in: str | None) -> None:
        """Raise :class:`ParameterError` if data or format leave them no meaning."""
        planes = self.planes
        if planes.weights.shape[1] != n_features:
            raise ParameterError(
                f"hyperplanes have {planes.weights.shape[1]} weights each, but rows of X have {n_features} numbers"
            )
        if exact_in == "float32" and not (planes.weights.dtype == np.float32 and _held(planes.biases)):
            raise ParameterError(
                "exact_in='float32' needs hyperplanes that float32 holds: round them, or use 'float64'"
            )


def _as_hyperplanes(pair: Any) -> Hyperplanes:
    """Return weights and biases as they will be stored: float32 weights where these are exact."""
    weights: Any
    biases: Any
    try:
        weights, biases = pair
        weights = sp.csr_array(weights, dtype=np.float64) if sp.issparse(weights) else np.asarray(weights, np.float64)
        biases = np.asarray(biases, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"hyperplanes must be a pair (weights, biases) of arrays of numbers: {error}") from error
    if weights.ndim != 2 or biases.shape != weights.shape[:1] or not len(biases):
        raise ParameterError(
            "hyperplanes must be weights of shape (width, n_features) and biases of shape (width,), "
            f"got {weights.shape} and {biases.shape}"
        )
    if sp.issparse(weights):
        weights = weights.copy()  # the caller's stays as it is
        weights.sum_duplicates()
        weights.eliminate_zeros()
    values = weights.data if sp.issparse(weights) else weights
    if not (np.isfinite(values).all() and np.isfinite(biases).all()):
        raise ParameterError("hyperplanes must be finite: there is NaN or infinity among their weights or biases")
    return Hyperplanes(weights.astype(np.float32) if _held(values) else weights, biases)


def _held(numbers: NDArray[np.float64]) -> bool:
    """Return whether float32 holds them exactly."""
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32) == numbers).all())


def as_order(order: Any, n_points: int) -> Rows:
    """Return row numbers that a user gives as the order of candidates; refuse what is no permutation."""
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ParameterError(f"order must be a sequence of row numbers, got {rows.dtype} of shape {rows.shape}")
    if not np.array_equal(np.sort(rows), np.arange(n_points)):
        raise ParameterError(f"order must hold every row number from 0 to {n_points - 1} once")
    return rows.astype(np.int64)
