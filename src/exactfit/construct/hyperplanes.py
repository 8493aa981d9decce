"""Drawing the first layer, in blocks of 64 hyperplanes, each from its own child of the seed.

So the first n hyperplanes are the same whatever else is drawn after them. What is
drawn is stored rounded: weights to float32-representable numbers, biases to float64,
computed in one fixed order. The stored numbers are the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._kernels.rows import largest_norm, subtract_own_products, subtract_products
from ..data import ChunkedPoints, Labelled, Rows, mean
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network.weights import Dense, Sparse
from ..options import Options

Matrix = Any
Floats = NDArray[np.float64]
Streams = Sequence[np.random.Generator]

# First number of a stream's key: what it is for.
HYPERPLANES, ORDER = 0, 1


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Rows ``weights`` and ``biases``: hyperplane i is {x : <w_i, x> + b_i = 0}.

    Weights are an array, or a CSR array if hyperplanes look at few features each.
    """

    weights: Any
    biases: Floats

    @property
    def count(self) -> int:
        """How many hyperplanes."""
        return len(self.biases)

    @classmethod
    def joined(cls, blocks: Sequence[Hyperplanes]) -> Hyperplanes:
        """Return the hyperplanes of all blocks in order; sparse if one block is."""
        weights = [one.weights for one in blocks]
        join = sparse_rows if any(sp.issparse(one) for one in weights) else np.concatenate
        return cls(join(weights), np.concatenate([one.biases for one in blocks]))

    def blocks(self) -> list[Hyperplanes]:
        """64 at a time."""
        starts = range(0, len(self.biases), WORD_BITS)
        return [Hyperplanes(self.weights[k : k + WORD_BITS], self.biases[k : k + WORD_BITS]) for k in starts]

    def head(self, count: int) -> Hyperplanes:
        """The first ``count`` of them."""
        return Hyperplanes(self.weights[:count], self.biases[:count])

    @property
    def layer_weights(self) -> Dense | Sparse:
        """Weights as a layer of a network holds them."""
        return Sparse(self.weights) if sp.issparse(self.weights) else Dense(self.weights)

    def append(self, other: Hyperplanes) -> Hyperplanes:
        """These, then the others; float32 as long as all weights fit it."""
        return Hyperplanes.joined([self, other])


def sparse_rows(parts: Sequence[Any]) -> Any:
    """Stack arrays and CSR arrays to one CSR array, in float32 if all parts are."""
    return sp.vstack([sp.csr_array(part) for part in parts], format="csr")


def stream(root: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """The generator of one purpose: a child of the root, whatever was drawn elsewhere."""
    child = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))
    return np.random.Generator(np.random.PCG64(child))


def largest_distance(X: Matrix, origin: Floats) -> float:
    """Largest distance of a row from ``origin`` (the paper's R, Algorithm 1 line 1)."""
    if isinstance(X, ChunkedPoints):
        return X.radius(origin)
    largest = 0.0
    for tile in row_tiles(X):
        largest = max(largest, largest_norm(dense_rows(X, tile), origin))
    return largest


class HyperplaneSampler(NamedTuple):
    """How blocks of 64 hyperplanes are drawn, one from each generator, and around which point; None for the origin."""

    draw: Callable[[Streams], Hyperplanes]
    around: Floats | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """An endless supply of hyperplanes, reproducible block by block, as ``exact_in`` holds them."""

    root: np.random.SeedSequence
    sampler: HyperplaneSampler
    exact_in: str | None = None
    at_once: int = 1  # blocks drawn at a time, in threads: where draws wait for rows that are elsewhere

    def blocks(self, start: int, stop: int) -> Hyperplanes:
        """The hyperplanes of some blocks, 64 each; as each has a stream of its own, it does not matter who is first."""
        streams = [stream(self.root, HYPERPLANES, index) for index in range(start, stop)]
        if self.at_once == 1:
            planes = self.sampler.draw(streams)
        else:
            with ThreadPoolExecutor(self.at_once) as pool:
                planes = Hyperplanes.joined(list(pool.map(lambda one: self.sampler.draw([one]), streams)))
        if self.sampler.around is not None:
            subtract_products(planes.weights, self.sampler.around, planes.biases)
        return in_format_of(planes, self.exact_in)

    def first(self, count: int) -> Hyperplanes:
        """The first ``count`` hyperplanes."""
        return self.blocks(0, -(-count // WORD_BITS)).head(count)


def make_sampler(X: Matrix, y: NDArray[np.int64], targets: tuple[int, ...], options: Options) -> HyperplaneSampler:
    """The law that the options ask for, over these points."""
    if options.hyperplanes == "sparse":
        from .sparse_hyperplanes import sparse

        return sparse(X, y, targets, options)
    if options.hyperplanes == "bisector":
        return bisector(X, y, targets)
    return gaussian(X, max_bias=options.max_bias, center=options.center)


def gaussian(X: Matrix, *, max_bias: float | str, center: bool) -> HyperplaneSampler:
    """The paper's law: w ~ N(0, I), b ~ Unif[-lambda, lambda], around the origin or the mean."""
    d = X.shape[1]
    origin = mean(X) if center else np.zeros(d)
    reach = largest_distance(X, origin) if isinstance(max_bias, str) else float(max_bias)
    if not (np.isfinite(origin).all() and np.isfinite(reach)):
        raise DataError("the data are too large: their mean or radius overflows float64. Scale them down.")

    def draw(streams: Streams) -> Hyperplanes:
        weights, biases = np.empty((len(streams), WORD_BITS, d), np.float32), np.empty((len(streams), WORD_BITS))
        for k, rng in enumerate(streams):
            weights[k] = rng.standard_normal((WORD_BITS, d))
            biases[k] = reach * rng.uniform(-1.0, 1.0, WORD_BITS)
        return Hyperplanes(weights.reshape(-1, d), biases.ravel())

    return HyperplaneSampler(draw, origin if center else None)


@dataclass(frozen=True, eq=False)
class RandomPairs:
    """Ordered pairs of rows of different labels, the first in a target class, to be drawn from."""

    order: NDArray[np.intp]  # rows, class by class
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    targets: NDArray[np.int64]

    @classmethod
    def of(cls, y: NDArray[np.int64], targets: tuple[int, ...]) -> RandomPairs:
        """All pairs of labelled rows."""
        sizes = np.bincount(y)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(np.argsort(y, kind="stable"), starts, sizes, np.asarray(targets))

    def draw(self, rng: np.random.Generator, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of ``count`` uniform pairs: the first of each, and the second."""
        n_pairs = (self.sizes * (len(self.order) - self.sizes))[self.targets].astype(np.float64)
        classes = self.targets[rng.choice(len(self.targets), count, p=n_pairs / n_pairs.sum())]
        low, size = self.starts[classes], self.sizes[classes]
        here = low + rng.integers(0, size)
        there = rng.integers(0, len(self.order) - size)
        there += size * (there >= low)
        return self.order[here], self.order[there]


def bisector(X: Matrix, y: NDArray[np.int64], targets: tuple[int, ...]) -> HyperplaneSampler:
    """Perpendicular bisectors of random pairs: from a point of a target class to one of another.

    The pair is uniform over all ordered pairs with the first point in a target class.
    Normals are scaled by a power of two and rounded to float32.
    """
    pairs = RandomPairs.of(y, targets)

    def draw(streams: Streams) -> Hyperplanes:
        here, there = map(np.concatenate, zip(*(pairs.draw(rng, WORD_BITS) for rng in streams), strict=True))
        return between(dense_rows(X, here), dense_rows(X, there))

    return HyperplaneSampler(draw)


def between(here: Floats, there: Floats) -> Hyperplanes:
    """The bisector of each pair, on at the second point."""
    with np.errstate(over="ignore", invalid="ignore"):
        normals = there - here
        middles = here + normals / 2
        exponents = np.frexp(np.abs(normals).max(axis=1))[1]
        weights = np.ldexp(normals, -exponents[:, None]).astype(np.float32)
    biases = np.zeros(len(weights))
    subtract_own_products(weights, middles, biases)
    return _finite(Hyperplanes(weights, biases))


def in_format_of(planes: Hyperplanes, exact_in: str | None) -> Hyperplanes:
    """Hyperplanes with biases rounded to float32 if asked for; refuses what overflows."""
    if exact_in != "float32":
        return _finite(planes)
    with np.errstate(over="ignore"):
        return _finite(Hyperplanes(planes.weights, planes.biases.astype(np.float32).astype(np.float64)), exact_in)


def _finite(planes: Hyperplanes, form: str = "float64") -> Hyperplanes:
    weights = planes.weights.data if sp.issparse(planes.weights) else planes.weights
    if not (np.isfinite(planes.biases).all() and np.isfinite(weights).all()):
        raise DataError(f"the data are too large: a bias overflows {form}. Scale them down.")
    return planes


@dataclass(frozen=True, eq=False)
class FixedFirstLayer:
    """What is not left to chance; None where it is.

    Attributes
    ----------
    planes : Hyperplanes or None
    order : ndarray of int64 or None
        All rows, in the order in which they become candidates within their class.
    """

    planes: Hyperplanes | None = None
    order: Rows | None = None

    @classmethod
    def of(cls, hyperplanes: Any, order: Any) -> FixedFirstLayer:
        """Check what a user gives; whether it fits the data shows :meth:`refuse_misfits`."""
        planes = None if hyperplanes is None else _as_hyperplanes(hyperplanes)
        return cls(planes, None if order is None else _as_order(order))

    def refuse_misfits(self, data: Labelled, options: Options) -> None:
        """Raise :class:`ParameterError` where data or options leave no meaning to what is given."""
        if self.planes is not None:
            _refuse_other_space(self.planes, data.X.shape[1], options.exact_in)
        if self.order is not None and not np.array_equal(np.sort(self.order), np.arange(len(data))):
            raise ParameterError(f"order must hold every row number from 0 to {len(data) - 1} once")
        if (self.planes is not None or self.order is not None) and options.noise:
            raise ParameterError("given hyperplanes or order make a network of all rows: use noise=0")


def _as_hyperplanes(pair: Any) -> Hyperplanes:
    """Weights and biases as they will be stored: float32 weights where these are exact."""
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
    """Whether float32 holds them exactly."""
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32) == numbers).all())


def _as_order(order: Any) -> Rows:
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ParameterError(f"order must be a sequence of row numbers, got {rows.dtype} of shape {rows.shape}")
    return rows.astype(np.int64)


def _refuse_other_space(planes: Hyperplanes, n_features: int, exact_in: str | None) -> None:
    if planes.weights.shape[1] != n_features:
        raise ParameterError(
            f"hyperplanes have {planes.weights.shape[1]} weights each, but rows of X have {n_features} numbers"
        )
    if exact_in == "float32" and not (planes.weights.dtype == np.float32 and _held(planes.biases)):
        raise ParameterError("exact_in='float32' needs hyperplanes that float32 holds: round them, or use 'float64'")
