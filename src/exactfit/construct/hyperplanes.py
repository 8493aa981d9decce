"""Samplers: they draw the first layer in blocks of 64 hyperplanes, each from its own child of the seed.

So the first n hyperplanes are the same whatever else is drawn after them. What is drawn is stored rounded: weights to
float32-representable numbers, biases to float64, computed in one fixed order. The stored numbers are the network.

The paper's hyperplanes are Gaussian. A bisector lies halfway between two random rows of different labels. A sparse
hyperplane comes from two such rows too: it looks at some of the features in which they differ, and its bias is uniform
between its own sums at the two, so that it separates them. Its weights are powers of two, the smallest of them +1 or
-1, so that sums of integers stay integers and a hyperplane with one feature is in the units of the table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._kernels.rows import largest_norm, subtract_products
from ..data import ChunkedPoints, Codes, Floats, Matrix, mean
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network.weights import Dense, Sparse
from ..options import Options

Ints = NDArray[np.int64]

# First number of a stream's key, what it is for: hyperplanes, the order of candidates, bisectors of open pairs.
HYPERPLANES, ORDER, BISECTORS = 0, 1, 2
BLOCKS_AT_ONCE = 8  # blocks drawn in threads where draws wait for chunks: more would not shorten the waiting
SPREAD_ROWS = 1024  # rows that the spread of features is taken from
LARGEST_EXPONENT = 60  # of a weight: enough for features whose spreads differ by 10^18
# Sides of windows, in fourteenths of the shorter side of an image: 4 to 14 of 28, as measured on MNIST.
SMALLEST_WINDOW, LARGEST_WINDOW = 2, 7


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

    def first(self, count: int) -> Hyperplanes:
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
    """Draws hyperplanes, 64 at a time: block k from the k-th child of the root's stream for hyperplanes."""

    # Constructors set these, and whatever ``_draw`` needs.
    X: Matrix  # the points
    root: np.random.SeedSequence  # the seed of the fit
    exact_in: str | None = None  # the format that biases are rounded to

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        """Return 64 hyperplanes, with biases in float64."""

    def draw(self, block: int) -> Hyperplanes:
        """Return the hyperplanes of a block, as ``exact_in`` holds them."""
        return in_format_of(self._draw(stream(self.root, HYPERPLANES, block)), self.exact_in)

    def blocks(self, start: int, stop: int) -> Hyperplanes:
        """Return the hyperplanes of some blocks; as each has a stream of its own, the order of drawing is free."""
        if not isinstance(self.X, ChunkedPoints):
            return Hyperplanes.joined(list(map(self.draw, range(start, stop))))
        with ThreadPoolExecutor(BLOCKS_AT_ONCE) as pool:
            return Hyperplanes.joined(list(pool.map(self.draw, range(start, stop))))

    def first(self, count: int) -> Hyperplanes:
        """Return the first ``count`` hyperplanes."""
        return self.blocks(0, -(-count // WORD_BITS)).first(count)


def make_sampler(
    X: Matrix, y: Codes, targets: tuple[int, ...], options: Options, root: np.random.SeedSequence
) -> HyperplaneSampler:
    """Return the sampler that the options ask for, over these points."""
    if options.hyperplanes == "gaussian":
        return GaussianSampler(X, root, max_bias=options.max_bias, center=options.center, exact_in=options.exact_in)
    if options.hyperplanes == "bisector":
        return BisectorSampler(X, RandomPairs.of(y, targets), root, options.exact_in)
    return SparseSampler(X, RandomPairs.of(y, targets), root, options)


class GaussianSampler(HyperplaneSampler):
    """The paper's hyperplanes: w ~ N(0, I), b ~ Unif[-lambda, lambda], around the origin or the mean."""

    def __init__(
        self, X: Matrix, root: np.random.SeedSequence, *, max_bias: float | str = "radius", center: bool = True,
        exact_in: str | None = None,
    ) -> None:  # fmt: skip
        self.X, self.root, self.exact_in = X, root, exact_in
        self.center = mean(X) if center else None
        origin = np.zeros(X.shape[1]) if self.center is None else self.center
        self.max_bias = largest_distance(X, origin) if isinstance(max_bias, str) else float(max_bias)
        if not (np.isfinite(origin).all() and np.isfinite(self.max_bias)):
            raise DataError("the data are too large: their mean or radius overflows float64. Scale them down.")

    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        weights = rng.standard_normal((WORD_BITS, self.X.shape[1])).astype(np.float32)
        biases = self.max_bias * rng.uniform(-1.0, 1.0, WORD_BITS)
        if self.center is not None:
            subtract_products(weights, np.broadcast_to(self.center, weights.shape), biases)
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


class BisectorSampler(HyperplaneSampler):
    """Perpendicular bisectors of random pairs of rows of different labels."""

    def __init__(
        self, X: Matrix, pairs: RandomPairs, root: np.random.SeedSequence, exact_in: str | None = None
    ) -> None:
        self.X, self.pairs, self.root, self.exact_in = X, pairs, root, exact_in

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
    subtract_products(weights, middles, biases)
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


class Differences(NamedTuple):
    """Features in which pairs of rows differ, pair by pair, with the values at both rows."""

    pairs: Ints
    features: Ints
    here: Floats
    there: Floats

    def take(self, some: NDArray[Any]) -> Differences:
        """Return some of the entries."""
        return Differences(*(column[some] for column in self))


def differences(X: Matrix, here: NDArray[np.intp], there: NDArray[np.intp]) -> Differences:
    """Return the features in which rows ``here`` and ``there`` differ; sparse rows stay sparse."""
    if sp.issparse(X):
        a, b = X[here].astype(np.float64), X[there].astype(np.float64)
        # Entries of either row, once each, whatever their values.
        either = (abs(a.sign()) + abs(b.sign())).tocoo()
        pairs, features = (np.asarray(one, dtype=np.int64) for one in either.coords)
        left, right = (np.asarray(one[pairs, features]).ravel() for one in (a, b))
        order = np.lexsort((features, pairs))
        found = Differences(pairs[order], features[order], left[order], right[order])
        return found.take(found.here != found.there)
    # Asked for at once: rows may be elsewhere.
    a, b = np.split(dense_rows(X, np.concatenate([here, there])), 2)
    pairs, features = np.nonzero(a != b)
    return Differences(pairs, features, a[pairs, features], b[pairs, features])


class SparseSampler(HyperplaneSampler):
    """Hyperplanes with few features each, between two random rows of different labels."""

    def __init__(self, X: Matrix, pairs: RandomPairs, root: np.random.SeedSequence, options: Options) -> None:
        self.X, self.pairs, self.root, self.exact_in = X, pairs, root, options.exact_in
        self.sizes, self.image_shape = options.feature_range, options.image_shape
        if self.image_shape is not None and math.prod(self.image_shape) != X.shape[1]:
            raise ParameterError(
                f"image_shape={tuple(self.image_shape)} is the shape of images of {math.prod(self.image_shape)} "
                f"numbers, but rows of X have {X.shape[1]}"
            )
        # Of features: weights are 2^exponent before they are scaled to integers. Pixels are of one kind: they keep
        # their units.
        self.exponents = np.zeros(X.shape[1], dtype=np.int64) if self.image_shape else spread_exponents(X)

    def _draw(self, rng: np.random.Generator) -> Hyperplanes:
        here, there = self.pairs.draw(rng, WORD_BITS)
        found = differences(self.X, here, there)
        low, high = self.sizes
        counts = rng.integers(low, high + 1, WORD_BITS)
        # The features with the smallest keys are as good as drawn without replacement.
        keys = rng.random(len(found.pairs))
        if self.image_shape is not None:
            inside = self._windows(rng, found, keys)
            found, keys = found.take(inside), keys[inside]
        order = np.lexsort((keys, found.pairs))
        starts = np.searchsorted(found.pairs, np.arange(WORD_BITS + 1))
        chosen = [found.take(order[starts[k] : min(starts[k] + counts[k], starts[k + 1])]) for k in range(WORD_BITS)]
        signs = 2 * rng.integers(0, 2, (WORD_BITS, high)) - 1
        places = rng.random(WORD_BITS)
        made = [self._hyperplane(*drawn) for drawn in zip(chosen, signs, places.tolist(), strict=True)]
        features, weights, biases = zip(*made, strict=True)
        shape = (WORD_BITS, self.X.shape[1])
        rows = np.repeat(np.arange(WORD_BITS), [len(one) for one in features])
        entries = np.concatenate(weights).astype(np.float32), (rows, np.concatenate(features))
        matrix = sp.csr_array(entries, shape=shape)
        matrix.sort_indices()
        return Hyperplanes(matrix, np.array(biases))

    def _windows(self, rng: np.random.Generator, found: Differences, keys: Floats) -> NDArray[np.bool_]:
        """Return which differences lie in the window of their pair, a random square around the one of smallest key."""
        assert self.image_shape is not None
        height, width, *channels = self.image_shape
        shorter = min(height, width)
        least, most = (max(1, share * shorter // 14) for share in (SMALLEST_WINDOW, LARGEST_WINDOW))
        starts = np.searchsorted(found.pairs, np.arange(WORD_BITS))
        first = np.lexsort((keys, found.pairs))[starts]
        sides = rng.integers(least, most + 1, WORD_BITS)
        down, across = np.divmod(found.features // math.prod(channels), width)
        inside = np.ones(len(keys), dtype=bool)
        for line, extent in ((down, height), (across, width)):
            # All windows that lie in the image and hold the first pixel are as likely as each other.
            low = np.maximum(0, line[first] - sides + 1)
            corner = rng.integers(low, np.minimum(line[first], extent - sides) + 1)
            inside &= (line >= corner[found.pairs]) & (line < (corner + sides)[found.pairs])
        return inside

    def _hyperplane(self, chosen: Differences, signs: Ints, place: float) -> tuple[Ints, Floats, float]:
        """Return features, weights and bias of a hyperplane between two rows."""
        dtype = np.float32 if self.exact_in == "float32" else np.float64
        exponents = self.exponents[chosen.features]
        exponents = np.minimum(exponents - exponents.min(), LARGEST_EXPONENT)
        weights = np.ldexp(signs[: len(exponents)].astype(np.float64), exponents)
        flipped = weights.copy()
        flipped[-1] *= -1
        # Where both rows have the same sum, they differ in it once the last sign is turned; rounding may
        # still leave no number between them, but never between two values of one feature.
        for used in (weights, flipped):
            bias = _bias_between(used * chosen.here, used * chosen.there, place, dtype)
            if bias is not None:
                return chosen.features, used, bias
        lone = signs[:1].astype(np.float64)
        bias = _bias_between(lone * chosen.here[:1], lone * chosen.there[:1], place, dtype)
        assert bias is not None
        return chosen.features[:1], lone, bias


def spread_exponents(X: Matrix) -> Ints:
    """Return for each feature the power of two that brings its typical difference between rows near 1.

    Typical is the median of what differs at all, among rows from all over the data: so a few huge values, or many
    zeros, do not matter.
    """
    count = min(SPREAD_ROWS, X.shape[0])
    rows = np.linspace(0, X.shape[0] - 1, count).astype(np.intp)
    # Each row beside one far from it; steps without a common divisor go through all rows, so that
    # whatever varies among them differs somewhere.
    step = next(step for step in range(-(-3 * count // 8), count + 2) if math.gcd(step, count) == 1)
    found = differences(X, rows, np.roll(rows, step))
    order = np.argsort(found.features, kind="stable")
    with np.errstate(over="ignore"):
        sizes = np.abs(found.here - found.there)[order]
    starts = np.searchsorted(found.features[order], np.arange(X.shape[1] + 1))
    typical = np.ones(X.shape[1])
    for j in np.flatnonzero(np.diff(starts)):
        typical[j] = np.sort(sizes[starts[j] : starts[j + 1]])[(starts[j + 1] - starts[j]) // 2]
    exponents = np.frexp(np.minimum(typical, np.finfo(np.float64).max))[1].astype(np.int64)
    return 1 - exponents


def _bias_between(here: Floats, there: Floats, place: float, dtype: Any) -> float | None:
    """Return a bias that leaves the larger of two sums on, at ``place`` of the way between them; None without a number.

    Sums are exact: the threshold is at least the smaller one and below the larger one, whatever rounding does.
    """
    try:
        low, high = sorted((here.tolist(), there.tolist()), key=math.fsum)
        first, last = _above(low, dtype), -_above([-term for term in high], dtype, strictly=True)
    except (OverflowError, ValueError):  # a sum beyond the range of float64
        return None
    if not -math.inf < first <= last < math.inf:
        return None
    threshold = float(dtype((1.0 - place) * first + place * last))
    return -min(max(threshold, first), last)


def _above(terms: Sequence[float], dtype: Any, *, strictly: bool = False) -> float:
    """Return the smallest number of the format that is not below the exact sum, or that is above it."""
    total = math.fsum(terms)
    rest = math.fsum([*terms, -total])
    if rest > 0 or (strictly and rest == 0):
        total = math.nextafter(total, math.inf)
    rounded = dtype(total)
    # As Python numbers: NumPy would compare in the shorter format.
    return float(rounded if float(rounded) >= total else np.nextafter(rounded, dtype(np.inf)))


def given_hyperplanes(pair: Any, n_features: int, exact_in: str | None) -> Hyperplanes:
    """Return weights and biases that a user passes, as they will be stored: float32 weights where these are exact."""
    weights: Any
    biases: Any
    try:
        weights, biases = pair
        # A copy, since the caller's stays as it is.
        is_sparse = sp.issparse(weights)
        weights = sp.csr_array(weights, dtype=np.float64, copy=True) if is_sparse else np.asarray(weights, float)
        biases = np.asarray(biases, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"hyperplanes must be a pair (weights, biases) of arrays of numbers: {error}") from error
    if weights.ndim != 2 or biases.shape != weights.shape[:1] or not len(biases):
        raise ParameterError(
            "hyperplanes must be weights of shape (width, n_features) and biases of shape (width,), "
            f"got {weights.shape} and {biases.shape}"
        )
    if weights.shape[1] != n_features:
        raise ParameterError(
            f"hyperplanes have {weights.shape[1]} weights each, but rows of X have {n_features} numbers"
        )
    if is_sparse:
        weights.sum_duplicates()
        weights.eliminate_zeros()
    values = weights.data if is_sparse else weights
    if not (np.isfinite(values).all() and np.isfinite(biases).all()):
        raise ParameterError("hyperplanes must be finite: there is NaN or infinity among their weights or biases")
    with np.errstate(over="ignore"):
        held, biases_held = (bool((some.astype(np.float32) == some).all()) for some in (values, biases))
    if exact_in == "float32" and not (held and biases_held):
        raise ParameterError("exact_in='float32' needs hyperplanes that float32 holds: round them, or use 'float64'")
    return Hyperplanes(weights.astype(np.float32) if held else weights, biases)
