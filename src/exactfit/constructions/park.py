"""Park, Lee, Yun and Shin: memorize N points with about N^(2/3) parameters, in a deep and narrow network.

Points are projected to whole keys on a line. The line is folded, z -> z - b [z >= b], again and again without any two
keys meeting, until it is about N^2 long; then it is cut into segments, which are pushed together like the rows of a
sparse table, so that all keys lie closely. What is left is cut into cells; a table gives each cell one long number, the
labels of all its places one after the other, which are taken out bit by bit and compared with the place of the key.

Faithful to the paper: projection, injective compression of the range in two stages, labels coded by place, bit
extraction, sequential lookups in constant width. Our own: whole numbers instead of reals with a precision; a fold is
searched for, not taken from a counting argument; segments are placed by first fit, the fullest first; cells begin at
keys. Of several lengths of segments and cells, those are taken that make the network shortest.

With f folds, s segments, m cells of l places and labels of c bits: 2f + 2(s - 1) + 2(m - 1) + 2cl + 2 layers and the
output, at most 10 units wide; see :func:`park_size`. No unit has more than 4 weights and bias other than zero, the
first one (d + 1) aside. Weights have as many bits as a key or a code, c l; plus a sign.

With ``cell`` at most 50 / c, and keys below 2^53, all numbers of all layers are exact in float64, too. Data that are
not whole have long keys: each bit more costs a fold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import Seed
from ..construct import Construction, Trace
from ..exceptions import ParameterError
from ..outcome import Outcome
from .base import Codes, Labels, Matrix, distinct_points, whole_keys
from .bit_extraction import Registers, Sum, Tape, class_levels, gate, hat, label_bits, pack, step, take_bit

MISSES = 400  # borders tried for a fold
SEGMENTS = tuple(2**power for power in range(8))  # lengths to try, times the number of points
WINDOW = 4096  # offsets tried at once


def park_size(n_folds: int, n_segments: int, n_cells: int, cell: int, label_bits: int) -> tuple[int, int]:
    """Hidden layers and neurons (the output included) of the network.

    Examples
    --------
    >>> from exactfit.constructions.park import park_size
    >>> park_size(n_folds=3, n_segments=4, n_cells=5, cell=20, label_bits=1)
    (62, 370)
    """
    depth = 2 + 2 * (n_folds + n_segments - 1 + n_cells - 1 + cell * label_bits)
    fixed = 1 + 5 * n_folds + 7 * (n_segments - 1) + 9 * (n_cells - 1) + 1
    reading = cell * (9 * label_bits + 2) + 1
    if cell > 1:
        reading += 2 * (cell - 1) + 2 * (label_bits - 1) + 2 * label_bits * (cell - 2) + 1
    return depth, fixed + reading


@dataclass(frozen=True)
class Park:
    """A deep, narrow ReLU network that reads labels, coded by place, out of long integers.

    Parameters
    ----------
    cell : int, optional
        Places to a code, hence bits of a weight; by default such that the network is as shallow as can be.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.park import Park
    >>> X, y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([0, 2, 1, 1])
    >>> network = Park().construct(X, y, random_state=0).network
    >>> network.decide(X)
    array([0, 2, 1, 1])
    """

    cell: int | None = None

    name: ClassVar[str] = "park"
    citation: ClassVar[str] = (
        "Sejun Park, Jaeho Lee, Chulhee Yun, Jinwoo Shin: Provable Memorization via Deep Neural Networks using "
        "Sub-linear Parameters, COLT 2021"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "relu"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "distinct points"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.cell is not None and self.cell < 1:
            raise ParameterError(f"cell must be at least 1, got {self.cell}")

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.base.Constructor`."""
        points = distinct_points(X, y)
        found = whole_keys(points, random_state)
        borders, folded = fold(found.keys)
        plan = best_plan(folded, label_bits(points.n_classes), self.cell)
        labels = dict(zip(plan.places.tolist(), points.y[found.order].tolist(), strict=True))
        tape = Tape(found.weights, found.bias)
        live: Registers = {"key": tape.key}
        for border in borders:
            live = tape.advance(live, {"over": step(live["key"], border)})
            live["key"] = live["key"] - border * live.pop("over")
        output = plan.read(tape, live, labels)
        return Construction(tape.finish(output, class_levels(points.n_classes)), Outcome.INTERPOLATES, Trace())


def fold(keys: Sequence[int]) -> tuple[list[int], NDArray[np.object_]]:
    """Fold a line that holds the keys, as long as no two of them need to meet.

    Parameters
    ----------
    keys : sequence of int
        Different, zero or more.

    Returns
    -------
    borders : list of int
        Keys from a border on are moved by it towards zero, border after border.
    folded : ndarray of Python integers
        Where the keys end up.

    Examples
    --------
    >>> from exactfit.constructions.park import fold
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


class _Plan(NamedTuple):
    """Where segments of the line and cells of the places begin, and what happens there."""

    starts: list[int]
    shifts: list[int]
    places: NDArray[np.int64]
    cells: list[int]
    cell: int
    label_bits: int

    @property
    def depth(self) -> int:
        """Layers that reading it takes."""
        return park_size(0, len(self.starts), len(self.cells), self.cell, self.label_bits)[0]

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


def best_plan(keys: NDArray[np.object_], n_bits: int, cell: int | None) -> _Plan:
    """The plan with the fewest layers, of several lengths of segments and cells."""
    length, plans = int(keys.max()) + 1, []
    for factor in SEGMENTS:
        segment = factor * len(keys)
        plans += _plans(compress_keys(keys, segment, n_bits), cell)
        if segment >= length:
            break
    return min(plans, key=lambda plan: plan.depth)


def _plans(plan: _Plan, cell: int | None) -> list[_Plan]:
    """The same segments with cells of several lengths."""
    near = math.sqrt((int(plan.places.max()) + 1) / plan.label_bits)
    lengths = [cell] if cell else sorted({max(1, round(near * factor / 8)) for factor in range(4, 13)})
    ordered = np.sort(plan.places)
    return [plan._replace(cell=length, cells=_cells(ordered, length)) for length in lengths]


def _cells(places: NDArray[np.int64], length: int) -> list[int]:
    """Where cells begin: at the first place, and then always at the first one beyond the last cell."""
    starts, i = [], 0
    while i < len(places):
        starts.append(int(places[i]))
        i = int(np.searchsorted(places, starts[-1] + length))
    return starts


def compress_keys(keys: NDArray[np.object_], length: int, label_bits: int = 1) -> _Plan:
    """Cut the line into segments and push them together, by first fit, the fullest segment first.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.park import compress_keys
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
    return _Plan(starts, shifts, places, [], 1, label_bits)


def _first_fit(taken: NDArray[np.bool_], profile: NDArray[np.int64]) -> int:
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
