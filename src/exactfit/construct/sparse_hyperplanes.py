"""Sparse hyperplanes: each looks at a few features, with weights that are powers of two.

A hyperplane comes from two random rows of different labels. It looks at some of the features in which the two
differ, and its bias is uniform between its own sums at the two rows: so it separates them. Its weights are
integers, the smallest of them +1 or -1, so that sums of integers stay integers and a hyperplane with one feature is
in the units of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from ..data import Matrix
from ..data.matrices import dense_rows
from ..exceptions import ParameterError
from ..options import Options
from .hyperplanes import Hyperplanes, HyperplaneSampler, RandomPairs

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SPREAD_ROWS = 1024  # rows that the spread of features is taken from
LARGEST_EXPONENT = 60  # of a weight: enough for features whose spreads differ by 10^18
# Sides of windows, in fourteenths of the shorter side of an image: 4 to 14 of 28, as measured on MNIST.
SMALLEST_WINDOW, LARGEST_WINDOW = 2, 7


class Differences(NamedTuple):
    """Features in which pairs of rows differ, pair by pair, with the values at both rows."""

    pairs: Ints
    features: Ints
    here: Floats
    there: Floats

    def take(self, some: NDArray[Any]) -> Differences:
        """Return some of the entries."""
        return Differences(*(column[some] for column in self))


@dataclass(frozen=True, eq=False)
class SparseSampler(HyperplaneSampler):
    """Hyperplanes with few features each, between two random rows of different labels."""

    X: Matrix
    pairs: RandomPairs
    root: np.random.SeedSequence
    exact_in: str | None
    at_once: int
    exponents: Ints  # of features: weights are 2^exponent before they are scaled to integers
    sizes: tuple[int, int]  # the smallest and the largest number of features of a hyperplane
    image_shape: tuple[int, ...] | None  # of images: the features of a hyperplane are pixels of one random window

    @classmethod
    def of(
        cls, X: Matrix, pairs: RandomPairs, root: np.random.SeedSequence, options: Options, at_once: int
    ) -> SparseSampler:
        """Return the sampler that the options ask for, over these points."""
        shape = None if options.image_shape is None else tuple(options.image_shape)
        if shape is not None and math.prod(shape) != X.shape[1]:
            raise ParameterError(
                f"image_shape={shape} is the shape of images of {math.prod(shape)} numbers, "
                f"but rows of X have {X.shape[1]}"
            )
        # Pixels are of one kind: they keep their units.
        exponents = np.zeros(X.shape[1], dtype=np.int64) if shape else spread_exponents(X)
        return cls(X, pairs, root, options.exact_in, at_once, exponents, options.feature_range, shape)

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


def _bias_between(here: Floats, there: Floats, place: float, dtype: Any) -> float | None:
    """Return a bias at ``place`` of the way between two sums, the larger of which it leaves on; None without room.

    Sums are exact: the threshold is at least the smaller one and below the larger one, whatever rounding does.
    """
    try:
        low, high = sorted((here.tolist(), there.tolist()), key=math.fsum)
        first, last = _at_least(low, dtype), _below(high, dtype)
    except (OverflowError, ValueError):  # a sum beyond the range of float64
        return None
    if not -math.inf < first <= last < math.inf:
        return None
    threshold = float(dtype((1.0 - place) * first + place * last))
    return -min(max(threshold, first), last)


def _at_least(terms: Sequence[float], dtype: Any) -> float:
    """Return the smallest number of the format that is not below the exact sum."""
    total = math.fsum(terms)
    if math.fsum([*terms, -total]) > 0:
        total = math.nextafter(total, math.inf)
    rounded = dtype(total)
    # As Python numbers: NumPy would compare in the shorter format.
    return float(rounded if float(rounded) >= total else np.nextafter(rounded, dtype(np.inf)))


def _below(terms: Sequence[float], dtype: Any) -> float:
    """Return the largest number of the format that is below the exact sum."""
    total = math.fsum(terms)
    if math.fsum([*terms, -total]) <= 0:
        total = math.nextafter(total, -math.inf)
    rounded = dtype(total)
    return float(rounded if float(rounded) <= total else np.nextafter(rounded, dtype(-np.inf)))
