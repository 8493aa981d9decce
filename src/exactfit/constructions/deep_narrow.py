"""Deep and narrow networks that read labels out of long integers: Vardi et al. 2022, Park et al. 2021; ReLU.

Both project points to integer keys on a line, look up one long number for the key's neighbourhood, step by step, take
labels out of it bit by bit, and add to the output the one that belongs to the key. Our own in both: all weights are
integers and nothing is rounded (the papers' are real numbers of bounded length); bits come from the top by comparison.
At most 10 units wide; no unit has more than 4 weights and bias other than zero, the first one (d + 1) aside.

**Vardi, Yehudai and Shamir**: N points with about sqrt(N) parameters, each of about sqrt(N) bits. Neighbouring keys
form groups; a table gives each group two long numbers: its keys one after the other, and its labels. Where a key is
the point's own, its label counts.

Faithful to the paper: a projection with gaps of at least 2 and integer parts as keys; groups of consecutive keys, two
codes for each; sequential lookup; bit extraction; trapezoids that are 1 on [key, key + 1] and 0 beyond a distance of
one. Our own: the paper folds with triangle waves where we compare; the projection's length is found by trying, not from
the separation of the points; the number of keys in a group is the one that makes the network shortest.

With N points in m = ceil(N / k) groups of k, keys of r bits and labels of c bits: 1 + 2(m - 1) + k(2r + 3) layers and
the output. Weights have up to k r bits, plus a sign. Float64 holds such codes only up to k r = 53, that is one or two
keys: these networks are for exact integers.

**Park, Lee, Yun and Shin**: N points with about N^(2/3) parameters. The line is folded, z -> z - b [z >= b], again and
again without any two keys meeting, until it is about N^2 long; then it is cut into segments, which are pushed together
like the rows of a sparse table, so that all keys lie closely. What is left is cut into cells; a table gives each cell
one long number, the labels of all its places one after the other, which are compared with the place of the key.

Faithful to the paper: projection, injective compression of the range in two stages, labels coded by place, bit
extraction, sequential lookups in constant width. Our own: a fold is searched for, not taken from a counting argument;
segments are placed by first fit, the fullest first; cells begin at keys. Of several lengths of segments and cells,
those are taken that make the network shortest.

With f folds, s segments, m cells of l places and labels of c bits: 2f + 2(s - 1) + 2(m - 1) + 2cl + 2 layers and the
output. Weights have as many bits as a key or a code, c l; plus a sign. With ``cell`` at most 50 / c, and keys below
2^53, all numbers of all layers are exact in float64, too. Data that are not integers have long keys: each bit more
costs a fold.

**Keys and registers.** Points are float64 numbers, hence integers after scaling by some power of two; so keys are
computed exactly and nothing depends on rounding. A direction is Gaussian, scaled by the smallest power of two for which
it does its work once its entries are rounded to integers: keys of N points then take about 2 log2 N bits, as for a
random direction over the reals.

A *register* holds a number >= 0 that one ReLU unit carries from layer to layer. Each operation takes two layers. The
first holds the *ramps*, max(v - t, 0) and the like; the second joins them to a *bump* between 0 and 1. Only in the
layer after that is a bump multiplied by a large number: so no large number is ever the difference of two far larger
ones, and registers below 2^53 are exact in float64, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import check_integer
from ..construct import Trace
from ..construct.hyperplanes import stream
from ..data import Floats, Rows
from ..data.matrices import row_tiles
from ..network import Decoder, Integers, Layer, Network
from ..network.activations import RELU, Activation
from ..network.weights import DIGITS, Dyadic, object_array, odd_parts
from .base import DistinctPoints, Published, nearest_level

KEYS = 3  # the random stream of directions
DIRECTIONS = 8  # random ones to an attempt, of which the one with the widest gap is taken: a product costs little
MISSES = 400  # borders tried for a fold
SEGMENTS = tuple(2**power for power in range(8))  # lengths to try, times the number of points
WINDOW = 4096  # offsets tried at once


class Keys(NamedTuple):
    """Integer keys of the points: floors of <weights, x> + bias, the smallest of which is 0."""

    weights: list[int]
    bias: int
    order: Rows  # points by increasing key
    keys: list[int]  # increasing, one for each point in that order

    @property
    def n_bits(self) -> int:
        """Bits of the largest key."""
        return max(1, self.keys[-1].bit_length())


def integer_keys(points: DistinctPoints, root: np.random.SeedSequence, gap: int = 1) -> Keys:
    """Keys at least ``gap`` apart; <weights, x> itself is an integer if the gap is 1, and may have a fraction if 2."""
    X = points.X
    # Binary places after the point that the numbers have.
    places = max(0 if _is_integral(X[tile]) else -int(odd_parts(X[tile])[1].min()) for tile in row_tiles(X))
    shift = places if gap == 1 else 0
    # Keys <w 2^shift, x>, with w from the shortest that separate; ends with probability 1.
    for attempt in count():
        directions = stream(root, KEYS, attempt).standard_normal((DIRECTIONS, X.shape[1]))
        direction, scale = _widest_gap(X, directions, np.ldexp(1.0, -min(shift, 1000)) * gap)
        fixed = [int(value) for value in np.rint(np.ldexp(direction, DIGITS))]
        # Integer vectors ever closer to the direction, each about twice as long as the one before. From DIGITS + places
        # + 2 on, values are multiples of 4: points that still meet need another direction.
        for power in range(max(0, scale), max(0, scale) + places + 2 * DIGITS):
            weights = [((value << power) + (1 << DIGITS - 1)) >> DIGITS << shift for value in fixed]  # to the nearest
            if not any(weights):
                continue
            values = np.concatenate([_floors(X[tile], weights) for tile in row_tiles(X)])
            order = np.argsort(values, kind="stable").astype(np.int64)
            low = int(values[order[0]])
            keys = [int(value) - low for value in values[order]]
            if min(np.diff(np.array(keys, dtype=object))) >= gap:
                return Keys(weights, -low, order, keys)
    raise AssertionError("unreachable")


def _is_integral(values: Floats) -> bool:
    return bool((values == np.floor(values)).all())


def _widest_gap(X: Floats, directions: Floats, gap: float) -> tuple[Floats, int]:
    """Choose the direction whose closest values are farthest apart, and a scale just too small to spread them."""
    size = int(np.frexp(np.abs(X).max())[1])
    values = np.sort(np.ldexp(X, -size) @ directions.T, axis=0)
    gaps = np.diff(values, axis=0).min(axis=0)
    best = int(np.argmax(gaps))
    widest = max(float(gaps[best]), float(np.abs(values[:, best]).max()) / EXACT_INTEGERS, 5e-324)
    return directions[best], int(np.frexp(gap)[1]) - int(np.frexp(widest)[1]) - size - 1


def _floors(tile: Floats, weights: list[int]) -> NDArray[np.generic]:
    """Floors of <weights, x>, in int64 where float64 provably does not round."""
    if _is_integral(tile) and float(np.abs(tile).max(initial=0)) * float(sum(map(abs, weights))) < EXACT_INTEGERS:
        return np.asarray((tile @ np.array(weights, dtype=np.float64)).astype(np.int64))
    row = object_array(weights, (1, len(weights)))
    sums = Dyadic.of(tile).affine(row, object_array([0], (1,)))
    return np.asarray(sums.numerators[:, 0] >> sums.shift)


@dataclass(frozen=True)
class Sum:
    """Sum of integer multiples of units of one layer, and an integer constant."""

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
Bump = Sequence[tuple[int, Sum]]  # ramps with their factors


def step(value: Sum, threshold: int) -> Bump:
    """1 from the threshold on, 0 up to one below."""
    return (1, value - (threshold - 1)), (-1, value - threshold)


def hat(value: Sum, place: int) -> Bump:
    """1 at a place, 0 at all other integers."""
    return (1, value - (place - 1)), (-2, value - place), (1, value - (place + 1))


def plateau(value: Sum, place: Sum) -> Bump:
    """1 from a place to the next integer, 0 beyond a distance of one."""
    over = value - place
    return (1, over + 1), (-1, over), (-1, over - 1), (1, over - 2)


class Tape:
    """Layers of ReLU units with integer weights, written one after the other; the first projects points to keys."""

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
        """Write one layer: every register, zero where negative."""
        return dict(zip(live, self._write(list(live.values()), RELU), strict=True))

    def advance(self, live: Registers, bumps: Mapping[str, Bump]) -> Registers:
        """Write two layers: the registers as they are, and the bumps as registers of their own."""
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
        """Add to each register the entry of its table that belongs to the key: entry j from ``starts[j]`` on."""
        # Two layers for every entry but the first. No key lies strictly between ``starts[j] - 1`` and ``starts[j]``.
        for name, table in tables.items():
            live[name] = live.get(name, Sum({})) + table[0]
        for j in range(1, len(starts)):
            live = self.advance(live, {"on": step(live[key], starts[j])})
            on = live.pop("on")
            for name, table in tables.items():
                live[name] = live[name] + (table[j] - table[j - 1]) * on
        return live

    def finish(self, output: Sum, decoder: Decoder) -> Network:
        """Return the network whose only output is a sum of the last registers."""
        self._write([output], None)
        return Network(tuple(self._layers), decoder)


def take_bit(live: Registers, bit: str, source: str, place: int, target: str) -> None:
    """Move a bit that has been found: off its place in the source, and to the end of the target."""
    found = live.pop(bit)
    live[source] = live[source] - (1 << place) * found
    live[target] = found if target not in live else 2 * live[target] + found


def pass_if_on(live: Registers, number: str, bit: str, n_bits: int) -> Sum:
    """Return a number of few bits where the bit is on and nothing elsewhere, once a layer has cut it at zero."""
    return live.pop(number) + (live.pop(bit) - 1) * (1 << n_bits)


def label_bits(n_classes: int) -> int:
    """Bits that a class index takes."""
    return max(1, (n_classes - 1).bit_length())


def pack(numbers: Sequence[int], n_bits: int) -> int:
    """Pack numbers of ``n_bits`` each into one, the first on top."""
    code = 0
    for number in numbers:
        code = (code << n_bits) | number
    return code


@dataclass(frozen=True)
class Vardi(Published):
    """A deep, narrow ReLU network that reads keys and labels out of long integers; any number of classes.

    Parameters
    ----------
    group_size : int, optional
        Keys to a code. Larger codes mean fewer and longer weights; by default the network is as shallow as can be.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Vardi
    >>> widths = Vardi(group_size=2).construct(*load_iris(return_X_y=True), random_state=0).network.widths
    >>> len(widths), max(widths)
    (220, 10)
    """

    group_size: int | None = None

    name = "vardi"
    citation = (
        "Gal Vardi, Gilad Yehudai, Ohad Shamir: On the Optimal Memorization Power of ReLU Neural Networks, ICLR 2022"
    )

    def __post_init__(self) -> None:
        if self.group_size is not None:
            check_integer("group_size", self.group_size, at_least=1)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        found, n_bits = integer_keys(points, root, gap=2), label_bits(points.n_classes)
        key_bits = found.n_bits
        # By default as many keys to a code as make lookup and extraction together take the fewest layers.
        near = math.isqrt(2 * len(points) // (2 * key_bits + 3))
        sizes = range(max(1, near - 2), near + 3)
        best = min(sizes, key=lambda k: 2 * -(-len(points) // k) + k * (2 * key_bits + 3))
        size = self.group_size or best
        missing = -len(points) % size
        keys = [*found.keys, *found.keys[-1:] * missing]
        labels = [*points.y[found.order].tolist(), *[0] * missing]  # a padded key must not count twice
        starts = range(0, len(keys), size)
        tables = {
            "keys": [pack(keys[at : at + size], key_bits) for at in starts],
            "labels": [pack(labels[at : at + size], n_bits) for at in starts],
        }
        tape = Tape(found.weights, found.bias)
        live = tape.look_up({"key": tape.key}, "key", keys[::size], tables)
        # The key is compared with every key of its group's code; the output is the label of the one that it equals.
        for k in reversed(range(size)):
            for bit in range(key_bits):
                # The next bit of a key and, as long as there are any, of its label; keys have at least as many.
                place, label_place = (k + 1) * key_bits - 1 - bit, (k + 1) * n_bits - 1 - bit
                bumps = {"key bit": step(live["keys"], 1 << place)}
                if bit < n_bits:
                    bumps["label bit"] = step(live["labels"], 1 << label_place)
                live = tape.advance(live, bumps)
                take_bit(live, "key bit", "keys", place, "found")
                if bit < n_bits:
                    take_bit(live, "label bit", "labels", label_place, "label")
            live = tape.advance(live, {"hit": plateau(live["key"], live.pop("found"))})
            live["claim"] = pass_if_on(live, "label", "hit", n_bits)
            live = tape.carry(live)
            live["out"] = live.pop("claim") + live.pop("out", Sum({}))
        return tape.finish(live["out"], nearest_level(range(points.n_classes))), Trace()


@dataclass(frozen=True)
class Park(Published):
    """A deep, narrow ReLU network that reads labels, coded by place, out of long integers; any number of classes.

    Parameters
    ----------
    cell : int, optional
        Places to a code, hence bits of a weight; by default such that the network is as shallow as can be.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Park
    >>> widths = Park().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    >>> len(widths), max(widths)
    (225, 9)
    """

    cell: int | None = None

    name = "park"
    citation = (
        "Sejun Park, Jaeho Lee, Chulhee Yun, Jinwoo Shin: Provable Memorization via Deep Neural Networks using "
        "Sub-linear Parameters, COLT 2021"
    )

    def __post_init__(self) -> None:
        if self.cell is not None:
            check_integer("cell", self.cell, at_least=1)

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        found, n_bits = integer_keys(points, root), label_bits(points.n_classes)
        tape = Tape(found.weights, found.bias)
        live: Registers = {"key": tape.key}
        borders, folded = fold(found.keys)
        for border in borders:
            live = tape.advance(live, {"over": step(live["key"], border)})
            live["key"] = live["key"] - border * live.pop("over")
        # From a key to its place, and to its cell's code.
        layout = best_layout(folded, n_bits, self.cell)
        live["place"] = live["key"]
        live = tape.look_up(live, "key", layout.starts, {"place": layout.shifts})
        live = {"place": live["place"], "offset": live["place"]}
        labels = dict(zip(layout.places.tolist(), points.y[found.order].tolist(), strict=True))
        codes = [pack([labels.get(start + i, 0) for i in range(layout.cell)], n_bits) for start in layout.cells]
        starts = [-start for start in layout.cells]
        live = tape.look_up(live, "place", layout.cells, {"offset": starts, "code": codes})
        del live["place"]
        for i in range(layout.cell):
            # The label of the next place, and whether it is the key's; meanwhile, the claim of the place before.
            if i:
                live["claim"] = pass_if_on(live, "label", "hit", n_bits)
            for bit in range(n_bits):
                place = (layout.cell - i) * n_bits - 1 - bit
                bumps = {"bit": step(live["code"], 1 << place)}
                if bit == n_bits - 1:
                    bumps["hit"] = hat(live["offset"], i)
                live = tape.advance(live, bumps)
                take_bit(live, "bit", "code", place, "label")
                if "claim" in live:
                    live["out"] = live.pop("claim") + live.pop("out", Sum({}))
        live["claim"] = pass_if_on(live, "label", "hit", n_bits)
        live = tape.carry({name: live[name] for name in ("claim", "out") if name in live})
        output = live["claim"] + live.get("out", Sum({}))
        return tape.finish(output, nearest_level(range(points.n_classes))), Trace()


def fold(keys: Sequence[int]) -> tuple[list[int], NDArray[np.object_]]:
    """Fold a line as long as no two keys on it need to meet; return the borders, and the keys' new places."""
    # Keys from a border on are moved by it towards zero, border after border: the first one past the middle that fits.
    folded, borders = np.array(keys, dtype=object), list[int]()
    while True:
        length = int(folded.max()) + 1
        small = folded.astype(np.int64) if length < 2**62 else folded
        first = -(-length // 2)
        for border in range(first, min(first + MISSES, length)):
            low, high = small[small < border], small[small >= border] - border
            if not len(np.intersect1d(low, high)):
                break
        else:
            return borders, folded
        if not len(high):  # it would not get shorter
            return borders, folded
        borders.append(border)
        folded = np.where(folded >= border, folded - border, folded)


class Layout(NamedTuple):
    """Starts of the line's segments and of the cells of places, with the shift of each segment."""

    starts: list[int]
    shifts: list[int]
    places: Rows
    cells: list[int]
    cell: int


def best_layout(keys: NDArray[np.object_], n_bits: int, cell: int | None) -> Layout:
    """Choose the layout with the fewest layers, of several lengths of segments and cells."""
    length, layouts = int(keys.max()) + 1, list[Layout]()
    for factor in SEGMENTS:
        segment = factor * len(keys)
        layout = compress_keys(keys, segment)
        near, ordered = math.sqrt((int(layout.places.max()) + 1) / n_bits), np.sort(layout.places)
        for size in [cell] if cell else sorted({max(1, round(near * factor / 8)) for factor in range(4, 13)}):
            # Cells begin at the first place, and then always at the first one beyond the last cell.
            cells, i = list[int](), 0
            while i < len(ordered):
                cells.append(int(ordered[i]))
                i = int(np.searchsorted(ordered, cells[-1] + size))
            layouts.append(layout._replace(cell=size, cells=cells))
        if segment >= length:
            break
    return min(layouts, key=lambda each: len(each.starts) + len(each.cells) + each.cell * n_bits)


def compress_keys(keys: NDArray[np.object_], length: int) -> Layout:
    """Cut the line into segments and push them together, by first fit, the fullest segment first."""
    segments, members = np.unique(keys // length, return_inverse=True)
    starts = [int(segment) * length for segment in segments]
    rests = (keys - np.array(starts, dtype=object)[members]).astype(np.int64)
    shifts, places = [0] * len(starts), np.empty(len(keys), dtype=np.int64)
    taken = np.zeros(0, dtype=bool)
    by_segment = np.split(np.argsort(members, kind="stable"), np.cumsum(np.bincount(members))[:-1])
    for j in sorted(range(len(starts)), key=lambda j: -len(by_segment[j])):
        row = rests[by_segment[j]]
        profile = row - row.min()
        offset = _first_fit(taken, profile)
        places[by_segment[j]] = profile + offset
        taken = np.pad(taken, (0, max(0, offset + int(profile.max()) + 1 - len(taken))))
        taken[profile + offset] = True
        shifts[j] = offset - int(row.min()) - starts[j]
    return Layout(starts, shifts, places, [], 1)


def _first_fit(taken: NDArray[np.bool_], profile: Rows) -> int:
    """Return the least offset at which a profile meets nothing that is taken."""
    padded = np.pad(taken, (0, int(profile.max()) + WINDOW))
    for low in range(0, len(taken) + 1, WINDOW):
        meets = np.zeros(WINDOW, dtype=bool)
        for place in profile.tolist():
            meets |= padded[low + place : low + place + WINDOW]
        free = np.flatnonzero(~meets)
        if len(free):
            return low + int(free[0])
    raise AssertionError("beyond the last place that is taken, everything is free")
