"""Deep and narrow networks that read labels out of long integers: Vardi et al. 2022, Park et al. 2021; ReLU.

Both project points to integer keys on a line (see ``bit_extraction``), look up one long number for the key's
neighbourhood, step by step, take labels out of it bit by bit, and add to the output the one that belongs to the key.
Our own in both: all weights are whole numbers and nothing is rounded (the papers' are real numbers of bounded length);
bits come from the top by comparison. At most 10 units wide; no unit has more than 4 weights and bias other than zero,
the first one (d + 1) aside.

**Vardi, Yehudai and Shamir**: N points with about sqrt(N) parameters, each of about sqrt(N) bits. Neighbouring keys
form groups; a table gives each group two long numbers: its keys one after the other, and its labels. Where a key is
the point's own, its label counts.

Faithful to the paper: a projection with gaps of at least 2 and whole parts as keys; groups of consecutive keys, two
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
2^53, all numbers of all layers are exact in float64, too. Data that are not whole have long keys: each bit more costs
a fold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..construct import Construction, Trace
from ..data import Rows
from ..outcome import Outcome
from .base import DistinctPoints, Published, nearest_level
from .bit_extraction import (
    Registers,
    Sum,
    Tape,
    distant_keys,
    gate,
    hat,
    label_bits,
    pack,
    plateau,
    step,
    take_bit,
    whole_keys,
)

MISSES = 400  # borders tried for a fold
SEGMENTS = tuple(2**power for power in range(8))  # lengths to try, times the number of points
WINDOW = 4096  # offsets tried at once


@dataclass(frozen=True)
class Vardi(Published):
    """A deep, narrow ReLU network that reads keys and labels out of long integers.

    Parameters
    ----------
    group_size : int, optional
        Keys to a code. Larger codes mean fewer and longer weights; by default the network is as shallow as can be.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.deep_narrow import Vardi
    >>> X, y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([0, 2, 1, 1])
    >>> network = Vardi(group_size=2).construct(X, y, random_state=0).network
    >>> network.decide(X), max(network.widths)
    (array([0, 2, 1, 1]), 10)
    """

    group_size: int | None = None

    name = "vardi"
    citation = (
        "Gal Vardi, Gilad Yehudai, Ohad Shamir: On the Optimal Memorization Power of ReLU Neural Networks, ICLR 2022"
    )
    activation = "relu"
    labels = ("binary", "multiclass")
    assumptions = "distinct points"

    def __post_init__(self) -> None:
        self._check_counts("group_size")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        found = distant_keys(points, root)
        size = self.group_size or _best_group(len(points), found.n_bits)
        missing = -len(points) % size
        keys = [*found.keys, *found.keys[-1:] * missing]
        labels = [*points.y[found.order].tolist(), *[0] * missing]  # a padded key must not count twice
        codes = _Codes(size, found.n_bits, label_bits(points.n_classes))
        tape = Tape(found.weights, found.bias)
        tables = {"keys": codes.packed(keys, codes.key_bits), "labels": codes.packed(labels, codes.label_bits)}
        live = tape.look_up({"key": tape.key}, "key", keys[::size], tables)
        network = tape.finish(codes.read(tape, live), nearest_level(range(points.n_classes)))
        return Construction(network, Outcome.INTERPOLATES, Trace())


def _best_group(n: int, key_bits: int) -> int:
    """Keys to a code such that lookup and extraction together take the fewest layers."""
    near = math.isqrt(2 * n // (2 * key_bits + 3))
    return min(range(max(1, near - 2), near + 3), key=lambda k: 2 * -(-n // k) + k * (2 * key_bits + 3))


@dataclass(frozen=True)
class _Codes:
    """Long numbers, one for the keys and one for the labels of each group, and how to read them."""

    group_size: int
    key_bits: int
    label_bits: int

    def packed(self, numbers: list[int], n_bits: int) -> list[int]:
        """One long number for each group."""
        return [pack(numbers[at : at + self.group_size], n_bits) for at in range(0, len(numbers), self.group_size)]

    def read(self, tape: Tape, live: Registers) -> Sum:
        """Compare the key with every key of the code; the sum that becomes the label of the one that it equals."""
        for k in reversed(range(self.group_size)):
            for bit in range(self.key_bits):
                live = self._take_bits(tape, live, k, bit)
            found = live.pop("found")
            live = tape.advance(live, {"hit": plateau(live["key"], found)})
            live["claim"] = gate(live, "label", "hit", self.label_bits)
            live = tape.carry(live)
            live["out"] = live.pop("claim") + live.pop("out", Sum({}))
        return live["out"]

    def _take_bits(self, tape: Tape, live: Registers, k: int, bit: int) -> Registers:
        """The next bit of a key and, as long as there are any, of its label; keys have at least as many."""
        place, label_place = (k + 1) * self.key_bits - 1 - bit, (k + 1) * self.label_bits - 1 - bit
        bumps = {"key bit": step(live["keys"], 1 << place)}
        if bit < self.label_bits:
            bumps["label bit"] = step(live["labels"], 1 << label_place)
        live = tape.advance(live, bumps)
        take_bit(live, "key bit", "keys", place, "found")
        if bit < self.label_bits:
            take_bit(live, "label bit", "labels", label_place, "label")
        return live


@dataclass(frozen=True)
class Park(Published):
    """A deep, narrow ReLU network that reads labels, coded by place, out of long integers.

    Parameters
    ----------
    cell : int, optional
        Places to a code, hence bits of a weight; by default such that the network is as shallow as can be.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.deep_narrow import Park
    >>> X, y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([0, 2, 1, 1])
    >>> network = Park().construct(X, y, random_state=0).network
    >>> network.decide(X)
    array([0, 2, 1, 1])
    """

    cell: int | None = None

    name = "park"
    citation = (
        "Sejun Park, Jaeho Lee, Chulhee Yun, Jinwoo Shin: Provable Memorization via Deep Neural Networks using "
        "Sub-linear Parameters, COLT 2021"
    )
    activation = "relu"
    labels = ("binary", "multiclass")
    assumptions = "distinct points"

    def __post_init__(self) -> None:
        self._check_counts("cell")

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        found = whole_keys(points, root)
        borders, folded = fold(found.keys)
        layout = best_layout(folded, label_bits(points.n_classes), self.cell)
        labels = dict(zip(layout.places.tolist(), points.y[found.order].tolist(), strict=True))
        tape = Tape(found.weights, found.bias)
        live: Registers = {"key": tape.key}
        for border in borders:
            live = tape.advance(live, {"over": step(live["key"], border)})
            live["key"] = live["key"] - border * live.pop("over")
        output = layout.read(tape, live, labels)
        return Construction(tape.finish(output, nearest_level(range(points.n_classes))), Outcome.INTERPOLATES, Trace())


def fold(keys: Sequence[int]) -> tuple[list[int], NDArray[np.object_]]:
    """Fold a line that holds the keys, as long as no two of them need to meet: the borders, and where keys end up.

    Keys are different, zero or more; those from a border on are moved by it towards zero, border after border.

    Examples
    --------
    >>> from exactfit.constructions.deep_narrow import fold
    >>> fold([0, 10, 100])
    ([51, 25, 13, 6, 3], array([0, 1, 2], dtype=object))
    """
    folded = np.array(keys, dtype=object)
    borders: list[int] = []
    while (border := _border(folded)) is not None:
        borders.append(border)
        folded = np.where(folded >= border, folded - border, folded)
    return borders, folded


def _border(keys: NDArray[np.object_]) -> int | None:
    """The first number past the middle at which the line can be folded; None if the line would not get shorter."""
    length = int(keys.max()) + 1
    small = keys.astype(np.int64) if length < 2**62 else keys
    first = -(-length // 2)
    for border in range(first, min(first + MISSES, length)):
        low, high = small[small < border], small[small >= border] - border
        if len(np.intersect1d(low, high)) == 0:
            return border if len(low) < len(keys) else None
    return None


class _Layout(NamedTuple):
    """Where segments of the line and cells of the places begin, and what happens there."""

    starts: list[int]
    shifts: list[int]
    places: Rows
    cells: list[int]
    cell: int
    label_bits: int

    @property
    def depth(self) -> int:
        """Half the layers that reading it takes, but for what all layouts have."""
        return len(self.starts) + len(self.cells) + self.cell * self.label_bits

    def codes(self, labels: dict[int, int]) -> list[int]:
        """For each cell, the labels of its places one after the other."""
        return [pack([labels.get(start + i, 0) for i in range(self.cell)], self.label_bits) for start in self.cells]

    def read(self, tape: Tape, live: Registers, labels: dict[int, int]) -> Sum:
        """From a key to its place, to its cell, and through all places of the cell."""
        live["place"] = live["key"]
        live = tape.look_up(live, "key", self.starts, {"place": self.shifts})
        live = {"place": live["place"], "offset": live["place"]}
        tables = {"offset": [-start for start in self.cells], "code": self.codes(labels)}
        live = tape.look_up(live, "place", self.cells, tables)
        del live["place"]
        for i in range(self.cell):
            live = self._read_place(tape, live, i)
        live["claim"] = gate(live, "label", "hit", self.label_bits)
        live = tape.carry({name: live[name] for name in ("claim", "out") if name in live})
        return live["claim"] + live.get("out", Sum({}))

    def _read_place(self, tape: Tape, live: Registers, i: int) -> Registers:
        """The label of the next place, and whether the key lies there; meanwhile, the claim of the place before."""
        if i:
            live["claim"] = gate(live, "label", "hit", self.label_bits)
        for bit in range(self.label_bits):
            place = (self.cell - i) * self.label_bits - 1 - bit
            bumps = {"bit": step(live["code"], 1 << place)}
            if bit == self.label_bits - 1:
                bumps["hit"] = hat(live["offset"], i)
            live = tape.advance(live, bumps)
            take_bit(live, "bit", "code", place, "label")
            if "claim" in live:
                live["out"] = live.pop("claim") + live.pop("out", Sum({}))
        return live


def best_layout(keys: NDArray[np.object_], n_bits: int, cell: int | None) -> _Layout:
    """The layout with the fewest layers, of several lengths of segments and cells."""
    length, layouts = int(keys.max()) + 1, []
    for factor in SEGMENTS:
        segment = factor * len(keys)
        layouts += _layouts(compress_keys(keys, segment, n_bits), cell)
        if segment >= length:
            break
    return min(layouts, key=lambda layout: layout.depth)


def _layouts(layout: _Layout, cell: int | None) -> list[_Layout]:
    """The same segments with cells of several lengths."""
    near = math.sqrt((int(layout.places.max()) + 1) / layout.label_bits)
    lengths = [cell] if cell else sorted({max(1, round(near * factor / 8)) for factor in range(4, 13)})
    ordered = np.sort(layout.places)
    return [layout._replace(cell=length, cells=_cells(ordered, length)) for length in lengths]


def _cells(places: Rows, length: int) -> list[int]:
    """Where cells begin: at the first place, and then always at the first one beyond the last cell."""
    starts, i = [], 0
    while i < len(places):
        starts.append(int(places[i]))
        i = int(np.searchsorted(places, starts[-1] + length))
    return starts


def compress_keys(keys: NDArray[np.object_], length: int, label_bits: int = 1) -> _Layout:
    """Cut the line into segments and push them together, by first fit, the fullest segment first.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.deep_narrow import compress_keys
    >>> compress_keys(np.array([0, 2, 11, 13, 20], dtype=object), 10).places
    array([0, 2, 1, 3, 4])
    """
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
    return _Layout(starts, shifts, places, [], 1, label_bits)


def _first_fit(taken: NDArray[np.bool_], profile: Rows) -> int:
    """The least offset at which a profile meets nothing that is taken."""
    room = np.pad(taken, (0, int(profile.max()) + WINDOW))
    for low in range(0, len(taken) + 1, WINDOW):
        meets = np.zeros(WINDOW, dtype=bool)
        for place in profile.tolist():
            meets |= room[low + place : low + place + WINDOW]
        free = np.flatnonzero(~meets)
        if len(free):
            return low + int(free[0])
    raise AssertionError("beyond the last place that is taken, everything is free")
