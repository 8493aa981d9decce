"""Whole-number keys: a direction of integer weights along which every point has a number of its own.

Points are float64 numbers, hence whole after scaling by some power of two; so keys are computed
exactly and nothing depends on rounding. A direction is Gaussian, scaled by the smallest power of
two for which it does its work once its entries are rounded to integers: keys of N points then take
about 2 log2 N bits, as for a random direction over the reals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from .._support.options import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct.hyperplanes import stream
from ..network.sides import row_tiles
from ..network.weights import DIGITS, Dyadic, object_array, odd_parts
from .base import DistinctPoints, Floats

KEYS = 3  # the random stream of directions
DIRECTIONS = 8
EXACT = 2.0**53  # float64 holds every whole number up to this one


@dataclass(frozen=True, eq=False)
class Keys:
    """A key for every point: the whole part of <weights, x> + bias.

    Attributes
    ----------
    weights : list of int
    bias : int
        Such that the smallest key is 0.
    order : ndarray of int64, shape (n_points,)
        Points by increasing key.
    keys : list of int
        Increasing, one for each point in that order.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> from exactfit.constructions.integer_keys import distant_keys, whole_keys
    >>> points = distinct_points(np.array([[0.25], [1.0], [0.5]]), np.array([0, 1, 0]))
    >>> found = whole_keys(points, 0)
    >>> found.order, [w % 4 for w in found.weights], len(set(found.keys))
    (array([0, 2, 1]), [0], 3)
    >>> bool(np.diff(distant_keys(points, 0).keys).min() >= 2)
    True
    """

    weights: list[int]
    bias: int
    order: NDArray[np.int64]
    keys: list[int]

    @property
    def n_bits(self) -> int:
        """Bits of the largest key."""
        return max(1, self.keys[-1].bit_length())


def whole_keys(points: DistinctPoints, random_state: Seed) -> Keys:
    """Keys that differ, with weights for which <weights, x> itself is whole at every point."""
    return _search(points.X, _places(points.X), 1, random_state)


def distant_keys(points: DistinctPoints, random_state: Seed) -> Keys:
    """Keys that differ by at least 2; <weights, x> may have a fractional part."""
    return _search(points.X, 0, 2, random_state)


def _places(X: Floats) -> int:
    """Binary places after the point that the numbers have."""
    return max(0 if _is_whole(X[tile]) else -int(odd_parts(X[tile])[1].min()) for tile in row_tiles(X))


def _is_whole(values: Floats) -> bool:
    return bool((values == np.floor(values)).all())


def _search(X: Floats, shift: int, gap: int, random_state: Seed) -> Keys:
    """Keys <w 2^shift, x>, ``gap`` apart, with w from the shortest that separate; ends with probability 1."""
    root, places = seed_sequence(random_state), _places(X)
    for attempt in count():
        directions = stream(root, KEYS, attempt).standard_normal((DIRECTIONS, X.shape[1]))
        direction, scale = _most_open(X, directions, np.ldexp(1.0, -min(shift, 1000)) * gap)
        # From DIGITS + places + 2 on, values are multiples of 4: points that still meet need another direction.
        for weights in _integer_directions(direction, max(0, scale), places + 2 * DIGITS):
            keys = _keys(X, weights, shift)
            if min(np.diff(np.array(keys.keys, dtype=object))) >= gap:
                return keys
    raise AssertionError("unreachable")


def _most_open(X: Floats, directions: Floats, gap: float) -> tuple[Floats, int]:
    """The direction whose closest values are farthest apart, and a scale that may just not spread them enough."""
    size = int(np.frexp(np.abs(X).max())[1])
    with single_threaded_blas():
        values = np.sort(np.ldexp(X, -size) @ directions.T, axis=0)
    gaps = np.diff(values, axis=0).min(axis=0)
    best = int(np.argmax(gaps))
    open_gap = max(float(gaps[best]), float(np.abs(values[:, best]).max()) / EXACT, 5e-324)
    return directions[best], int(np.frexp(gap)[1]) - int(np.frexp(open_gap)[1]) - size - 1


def _integer_directions(direction: Floats, scale: int, more: int) -> Iterator[list[int]]:
    """Integer vectors ever closer to the direction, each about twice as long as the one before."""
    fixed = [int(value) for value in np.rint(np.ldexp(direction, DIGITS))]
    for power in range(scale, scale + more):
        weights = [_rounded(value << power, DIGITS) for value in fixed]
        if any(weights):
            yield weights


def _rounded(value: int, places: int) -> int:
    """The value over 2^places, to the nearest whole number."""
    return (value + (1 << (places - 1))) >> places


def _keys(X: Floats, weights: list[int], shift: int) -> Keys:
    """Exact keys for one direction, by increasing key."""
    scaled = [weight << shift for weight in weights]
    values = np.concatenate([_floors(X[tile], scaled, shift) for tile in row_tiles(X)])
    order = np.argsort(values, kind="stable").astype(np.int64)
    low = int(values[order[0]])
    return Keys(scaled, -low, order, [int(value) - low for value in values[order]])


def _floors(tile: Floats, weights: list[int], shift: int) -> NDArray[np.generic]:
    """Whole parts of <weights, x>, in int64 where float64 provably does not round."""
    if _is_whole(tile) and float(np.abs(tile).max(initial=0)) * float(sum(map(abs, weights))) < EXACT:
        with single_threaded_blas():
            return np.asarray((tile @ np.array(weights, dtype=np.float64)).astype(np.int64))
    row = object_array(weights, (1, len(weights)))
    sums = Dyadic.of(tile).affine(row, object_array([0], (1,)))
    return np.asarray(sums.numerators[:, 0] >> sums.shift)
