"""What networks of whole numbers can do: compare, look up, take numbers apart bit by bit.

A *register* holds a number >= 0 that one ReLU unit carries from layer to layer. Each operation
takes two layers. The first holds the *ramps*, max(v - t, 0) and the like; the second joins them to
a *bump* between 0 and 1. Only in the layer after that is a bump multiplied by a large number: so no
large number is ever the difference of two far larger ones, and registers below 2^53 are exact in
float64, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..network import Decoder, Integers, Layer, Network
from ..network.activations import RELU, Activation
from ..network.weights import object_array


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
            name: _join([(sign, passed[f"{name} {k}"]) for k, (sign, _) in enumerate(bumps[name])]) for name in bumps
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


def _join(ramps: Sequence[tuple[int, Sum]]) -> Sum:
    total = Sum({})
    for sign, ramp in ramps:
        total = total + sign * ramp
    return total


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


def class_levels(n_classes: int) -> Decoder:
    """An output that is the class index itself."""
    return Decoder("nearest", tuple(range(n_classes)), tuple(np.arange(n_classes, dtype=np.float64).tolist()))


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
