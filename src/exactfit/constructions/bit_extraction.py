"""Networks of whole numbers: points as integer keys; compare, look up, take numbers apart bit by bit.

Keys. Points are float64 numbers, hence whole after scaling by some power of two; so keys are computed exactly and
nothing depends on rounding. A direction is Gaussian, scaled by the smallest power of two for which it does its work
once its entries are rounded to integers: keys of N points then take about 2 log2 N bits, as for a random direction
over the reals.

A *register* holds a number >= 0 that one ReLU unit carries from layer to layer. Each operation
takes two layers. The first holds the *ramps*, max(v - t, 0) and the like; the second joins them to
a *bump* between 0 and 1. Only in the layer after that is a bump multiplied by a large number: so no
large number is ever the difference of two far larger ones, and registers below 2^53 are exact in
float64, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct.hyperplanes import stream
from ..data import Floats, Rows
from ..data.matrices import row_tiles
from ..network import Decoder, Integers, Layer, Network
from ..network.activations import RELU, Activation
from ..network.weights import DIGITS, Dyadic, object_array, odd_parts
from .base import DistinctPoints

KEYS = 3  # the random stream of directions
DIRECTIONS = 8  # random ones to an attempt, of which the one with the widest gap is taken: a product costs little


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
    >>> from exactfit.constructions.bit_extraction import distant_keys, whole_keys
    >>> points = distinct_points(np.array([[0.25], [1.0], [0.5]]), np.array([0, 1, 0]))
    >>> found = whole_keys(points, 0)
    >>> found.order, [w % 4 for w in found.weights], len(set(found.keys))
    (array([0, 2, 1]), [0], 3)
    >>> bool(np.diff(distant_keys(points, 0).keys).min() >= 2)
    True
    """

    weights: list[int]
    bias: int
    order: Rows
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
    open_gap = max(float(gaps[best]), float(np.abs(values[:, best]).max()) / EXACT_INTEGERS, 5e-324)
    return directions[best], int(np.frexp(gap)[1]) - int(np.frexp(open_gap)[1]) - size - 1


def _integer_directions(direction: Floats, scale: int, more: int) -> Iterator[list[int]]:
    """Integer vectors ever closer to the direction, each about twice as long as the one before."""
    fixed = [int(value) for value in np.rint(np.ldexp(direction, DIGITS))]
    for power in range(scale, scale + more):
        weights = [((value << power) + (1 << DIGITS - 1)) >> DIGITS for value in fixed]  # to the nearest whole number
        if any(weights):
            yield weights


def _keys(X: Floats, weights: list[int], shift: int) -> Keys:
    """Exact keys for one direction, by increasing key."""
    scaled = [weight << shift for weight in weights]
    values = np.concatenate([_floors(X[tile], scaled) for tile in row_tiles(X)])
    order = np.argsort(values, kind="stable").astype(np.int64)
    low = int(values[order[0]])
    return Keys(scaled, -low, order, [int(value) - low for value in values[order]])


def _floors(tile: Floats, weights: list[int]) -> NDArray[np.generic]:
    """Whole parts of <weights, x>, in int64 where float64 provably does not round."""
    if _is_whole(tile) and float(np.abs(tile).max(initial=0)) * float(sum(map(abs, weights))) < EXACT_INTEGERS:
        with single_threaded_blas():
            return np.asarray((tile @ np.array(weights, dtype=np.float64)).astype(np.int64))
    row = object_array(weights, (1, len(weights)))
    sums = Dyadic.of(tile).affine(row, object_array([0], (1,)))
    return np.asarray(sums.numerators[:, 0] >> sums.shift)


@dataclass(frozen=True)
class Sum:
    """A sum of multiples of units of one layer, and a constant; whole numbers all.

    Examples
    --------
    >>> from exactfit.constructions.bit_extraction import Sum
    >>> unit = Sum({0: 1})
    >>> 3 * unit - (unit + 5)
    Sum(terms={0: 2}, constant=-5)
    """

    terms: Mapping[int, int]
    constant: int = 0

    def __add__(self, other: Sum | int) -> Sum:
        if isinstance(other, int):
            return Sum(self.terms, self.constant + other)
        units = {**self.terms, **other.terms}
        terms = {unit: self.terms.get(unit, 0) + other.terms.get(unit, 0) for unit in units}
        return Sum(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> Sum:
        return Sum({unit: factor * weight for unit, weight in self.terms.items()}, factor * self.constant)

    def __sub__(self, other: Sum | int) -> Sum:
        return self + -1 * other

    __rmul__ = __mul__


Registers = dict[str, Sum]
Bump = Sequence[tuple[int, Sum]]


def step(value: Sum, threshold: int) -> Bump:
    """1 from the threshold on, 0 up to one below."""
    return (1, value - (threshold - 1)), (-1, value - threshold)


def hat(value: Sum, place: int) -> Bump:
    """1 at a place, 0 at all other whole numbers."""
    return (1, value - (place - 1)), (-2, value - place), (1, value - (place + 1))


def plateau(value: Sum, place: Sum) -> Bump:
    """1 from a place to the next whole number, 0 beyond a distance of one."""
    over = value - place
    return (1, over + 1), (-1, over), (-1, over - 1), (1, over - 2)


class Tape:
    """Layers of ReLU units with whole weights, written one after the other.

    Parameters
    ----------
    weights : sequence of int
        The direction in which points are projected, one weight for each feature.
    bias : int

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import Decoder
    >>> from exactfit.constructions.bit_extraction import Tape, step
    >>> tape = Tape([2], 0)
    >>> bump = tape.advance({}, {"large": step(tape.key, 10)})
    >>> network = tape.finish(bump["large"], Decoder("nearest", (0, 1), (0.0, 1.0)))
    >>> network(np.array([[4.0], [4.75], [5.0], [100.0]]))[:, 0]
    array([Fraction(0, 1), Fraction(1, 2), Fraction(1, 1), Fraction(1, 1)], dtype=object)
    >>> network.widths
    (1, 2, 1, 1)
    """

    def __init__(self, weights: Sequence[int], bias: int) -> None:
        self._layers: list[Layer] = []
        self._width = len(weights)
        self.key = self._write([Sum(dict(enumerate(weights)), bias)], RELU)[0]

    def _write(self, sums: Sequence[Sum], activation: Activation | None) -> list[Sum]:
        weights = object_array([0] * (len(sums) * self._width), (len(sums), self._width))
        for row, total in zip(weights, sums, strict=True):
            for unit, weight in total.terms.items():
                row[unit] = weight
        bias = object_array([total.constant for total in sums], (len(sums),))
        self._layers.append(Layer(Integers(weights), bias, activation))
        self._width = len(sums)
        return [Sum({unit: 1}) for unit in range(len(sums))]

    def carry(self, live: Registers) -> Registers:
        """One layer: every register, zero where negative."""
        return dict(zip(live, self._write(list(live.values()), RELU), strict=True))

    def advance(self, live: Registers, bumps: Mapping[str, Bump]) -> Registers:
        """Two layers: the registers as they are, and the bumps as registers of their own."""
        ramps = {f"{name} {k}": ramp for name, bump in bumps.items() for k, (_, ramp) in enumerate(bump)}
        passed = self.carry({**live, **ramps})
        joined = {
            name: sum((sign * passed[f"{name} {k}"] for k, (sign, _) in enumerate(bump)), Sum({}))
            for name, bump in bumps.items()
        }
        return self.carry({**{name: passed[name] for name in live}, **joined})

    def look_up(
        self, live: Registers, key: str, starts: Sequence[int], tables: Mapping[str, Sequence[int]]
    ) -> Registers:
        """Add to each register the entry of its table that belongs to the key: entry j from ``starts[j]`` on.

        Two layers for every entry but the first. No key lies strictly between ``starts[j] - 1`` and ``starts[j]``.
        """
        for name, table in tables.items():
            live[name] = live.get(name, Sum({})) + table[0]
        for j in range(1, len(starts)):
            live = self.advance(live, {"on": step(live[key], starts[j])})
            on = live.pop("on")
            for name, table in tables.items():
                live[name] = live[name] + (table[j] - table[j - 1]) * on
        return live

    def finish(self, output: Sum, decoder: Decoder) -> Network:
        """The network whose only output is a sum of the last registers."""
        self._write([output], None)
        return Network(tuple(self._layers), decoder)


def take_bit(live: Registers, bit: str, source: str, place: int, target: str) -> None:
    """Move a bit that has been found: off its place in the source, and to the end of the target."""
    found = live.pop(bit)
    live[source] = live[source] - (1 << place) * found
    live[target] = found if target not in live else 2 * live[target] + found


def gate(live: Registers, number: str, bit: str, n_bits: int) -> Sum:
    """A number of few bits where the bit is on and nothing elsewhere, once a layer has cut it at zero."""
    return live.pop(number) + (live.pop(bit) - 1) * (1 << n_bits)


def label_bits(n_classes: int) -> int:
    """Bits that a class index takes."""
    return max(1, (n_classes - 1).bit_length())


def pack(numbers: Sequence[int], n_bits: int) -> int:
    """Numbers of ``n_bits`` each in one, the first on top.

    Examples
    --------
    >>> from exactfit.constructions.bit_extraction import pack
    >>> bin(pack([3, 0, 1], 2))
    '0b110001'
    """
    code = 0
    for number in numbers:
        code = (code << n_bits) | number
    return code
