"""Vardi, Yehudai and Shamir: memorize N points with about sqrt(N) parameters, each of about sqrt(N) bits.

Points are projected to keys on a line. Neighbouring keys form groups; a table, looked up step by step, gives each
group two long numbers: its keys one after the other, and its labels. Then keys and labels are taken out bit by bit,
and where a key is the point's own, its label is added to the output.

Faithful to the paper: a projection with gaps of at least 2 and whole parts as keys; groups of consecutive keys, two
codes for each; sequential lookup; bit extraction; trapezoids that are 1 on [key, key + 1] and 0 beyond a distance of
one. Our own: all weights are whole numbers and nothing is rounded (the paper's are real numbers of bounded bit length);
bits come from the top by comparison, where the paper folds with triangle waves; the projection's length is found by
trying, not from the separation of the points; the number of keys in a group is the one that makes the network shortest.

With N points in m = ceil(N / k) groups of k, keys of r bits and labels of c bits: 1 + 2(m - 1) + k(2r + 3) layers and
the output, at most 10 units wide; see :func:`vardi_size`. No unit has more than 4 weights and bias other than zero, the
first one (d + 1) aside. Weights have up to k r bits, plus a sign.

Float64 holds such codes only up to k r = 53, that is one or two keys: these networks are for exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from .._support.parameters import Seed
from ..construct import Construction, Trace
from ..exceptions import ParameterError
from ..outcome import Outcome
from .base import Codes, Labels, Matrix, distant_keys, distinct_points
from .bit_extraction import Registers, Sum, Tape, class_levels, gate, label_bits, pack, plateau, step, take_bit


def vardi_size(n_groups: int, group: int, key_bits: int, label_bits: int) -> tuple[int, int]:
    """Hidden layers and neurons (the output included) of the network.

    Examples
    --------
    >>> from exactfit.constructions.vardi import vardi_size
    >>> vardi_size(n_groups=1464, group=41, key_bits=34, label_bits=4)
    (5838, 35156)
    """
    depth = 1 + 2 * (n_groups - 1) + group * (2 * key_bits + 3)
    first_key = 13 * key_bits + 3 * label_bits + 13
    neurons = 1 + 9 * (n_groups - 1) + group * first_key + (group - 1) * (2 * key_bits + 3) + 1
    return depth, neurons


@dataclass(frozen=True)
class Vardi:
    """A deep, narrow ReLU network that reads keys and labels out of long integers.

    Parameters
    ----------
    group : int, optional
        Keys to a code. Larger codes mean fewer and longer weights; by default the network is as shallow as can be.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.vardi import Vardi
    >>> X, y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([0, 2, 1, 1])
    >>> network = Vardi(group=2).construct(X, y, random_state=0).network
    >>> network.decide(X), max(network.widths)
    (array([0, 2, 1, 1]), 10)
    """

    group: int | None = None

    name: ClassVar[str] = "vardi"
    citation: ClassVar[str] = (
        "Gal Vardi, Gilad Yehudai, Ohad Shamir: On the Optimal Memorization Power of ReLU Neural Networks, ICLR 2022"
    )
    activation: ClassVar[Literal["threshold", "relu"]] = "relu"
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "distinct points"
    randomized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.group is not None and self.group < 1:
            raise ParameterError(f"group must be at least 1, got {self.group}")

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.base.Constructor`."""
        points = distinct_points(X, y)
        found = distant_keys(points, random_state)
        size = self.group or _best_group(len(points), found.n_bits)
        sorted_labels = points.y[found.order].tolist()
        groups = [slice(start, start + size) for start in range(0, len(points), size)]
        keys = [_padded(found.keys[part], size, found.keys[part][-1]) for part in groups]
        codes = [_padded(sorted_labels[part], size, 0) for part in groups]  # a padded key must not count twice
        program = _Program(size, found.n_bits, label_bits(points.n_classes))
        tape = Tape(found.weights, found.bias)
        live = tape.look_up({"key": tape.key}, "key", [group[0] for group in keys], program.tables(keys, codes))
        network = tape.finish(program.read(tape, live), class_levels(points.n_classes))
        return Construction(network, Outcome.INTERPOLATES, Trace())


def _padded(numbers: Sequence[int], size: int, filler: int) -> list[int]:
    return [*numbers, *[filler] * (size - len(numbers))]


def _best_group(n: int, key_bits: int) -> int:
    """Keys to a code such that lookup and extraction together take the fewest layers."""
    near = math.isqrt(2 * n // (2 * key_bits + 3))
    return min(range(max(1, near - 2), near + 3), key=lambda k: vardi_size(-(-n // k), k, key_bits, 1)[0])


@dataclass(frozen=True)
class _Program:
    """The bits of a code, and how to read them."""

    group: int
    key_bits: int
    label_bits: int

    def tables(self, keys: list[list[int]], labels: list[list[int]]) -> dict[str, list[int]]:
        """One long number for each group's keys, one for its labels."""
        return {
            "keys": [pack(group, self.key_bits) for group in keys],
            "labels": [pack(group, self.label_bits) for group in labels],
        }

    def read(self, tape: Tape, live: Registers) -> Sum:
        """Compare the key with every key of the code; the sum that becomes the label of the one that it equals."""
        for k in reversed(range(self.group)):
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
