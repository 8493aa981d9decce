"""Half-spaces of the cube {0, 1}^n that hold none of the rest and many of the target, in integers only.

A half-space is f(x) = sum_k dual_coef[k] agree(x, x_k) over some patterns x_k, where agree counts the bits in which
two patterns are the same: the kernel machine (a support vector machine, with a bias) whose weights on the bits are
integers. Shares move by dual coordinate descent, weights are rounded to int8, and the limit is then the exact
minimum over the whole rest: how dual coefficients are found decides only how many points a detector claims, never
whether it is right. No floating-point number is involved, so the same input gives the same half-space everywhere.

Where bits are open, a point is not one pattern but all corners of a box, and each of them has to be on its side. Only
few corners matter: a fit begins with one for each point, and takes in those that are worst for its weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS, descend, hamming
from .._support.threads import SERIAL, Threads
from ..network.bits import BitMatrix
from ..network.weights import weigh_words

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Weights = NDArray[np.int8]
Scores = NDArray[np.int32]

LARGEST_WEIGHT = 127  # what int8 holds on both sides
LARGEST_SUM = 2**24  # of sum |v| + |m|: float32 adds so much exactly, in any order
UNIT = 2048  # the share with which one point alone reaches the margin
C_REST = 2**14  # units that a point of the rest may have
C_HARD = 2**12  # units that a point of the target may have where one detector is to claim them all
PATIENCE = 2**17  # visits in a round of such an attempt, at least: few points, and often badly conditioned
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: multiples of it are spread evenly


@dataclass(frozen=True)
class Effort:
    """How detectors are looked for; nothing here decides whether they are right.

    Parameters
    ----------
    neighbours : int
        To how many unclaimed points around one of them a detector is fitted, at most and at first. Fewer,
        and so more detectors, often know new points better.
    fewest : int
        To how many it is fitted at least. Where detectors claim a small part of what they are fitted to,
        as they do if there are few bits, they are fitted to half as many: they claim more, and are found sooner.
    C, C_firm : int
        Units of dual coefficient that a point of the target may have: usually, and where all are to be claimed.
        More units claim more training points, with a thinner margin.
    enough, clean : int
        Per cent of a class that one soft detector must claim to be preferred to neighbourhoods; and per cent from
        which on labels look clean, so that a firm one is tried for all of them.
    most : int
        How many points of the target take part at first, spread evenly over those to be claimed: of a huge class the
        others join like those of the rest, where they come within the margin.
    fresh, fresh_each : int
        How many points of the rest join in a round at most, and at most for each point of the target; and how many
        of the target that did not take part at first.
    rounds, stale, epochs, tolerance : int
        Rounds of a fit; rounds without a gain before it is given up; passes within a round; the step
        (of a dual coefficient) below which a round is done.
    """

    neighbours: int = 300
    fewest: int = 10
    C: int = 5
    C_firm: int = 20
    enough: int = 80
    clean: int = 98
    most: int = 2**14
    fresh: int = 2000
    fresh_each: int = 10
    rounds: int = 20
    stale: int = 4
    epochs: int = 20
    tolerance: int = 20


@dataclass(frozen=True, eq=False)
class BinaryPatterns:
    """Unique patterns, word-major; the target are the columns start..stop, the rest all others.

    ``on`` are bits that are surely on, ``maybe`` those that are on or open: the same where bits are exact.
    """

    on: Words
    maybe: Words
    n_bits: int
    start: int
    stop: int
    threads: Threads = SERIAL

    @property
    def n_columns(self) -> int:
        """How many patterns, target and rest."""
        return int(self.on.shape[1])

    @cached_property
    def is_exact(self) -> bool:
        """Whether no bit is open."""
        return self.maybe is self.on or np.array_equal(self.maybe, self.on)

    def rows(self, columns: Ints) -> Words:
        """Packed rows of some columns, side by side, as descending needs them."""
        return np.ascontiguousarray(self.on[:, columns].T)

    def worst(self, columns: Ints, weights: Weights) -> Words:
        """Packed rows of some columns, all target or all rest, open bits as bad as they can be for the weights."""
        rising = weights > 0 if len(columns) and self.start <= columns[0] < self.stop else weights < 0
        bad = BitMatrix.from_bool(rising[None, :]).words
        return np.ascontiguousarray((self.on[:, columns] | (self.maybe[:, columns] & bad)).T)

    def bits(self, words: Words, column: int) -> Weights:
        """The bits of one column, as 0 and 1."""
        octets = np.ascontiguousarray(words[:, column]).astype("<u8").view(np.uint8)
        return np.unpackbits(octets, bitorder="little", count=self.n_bits).astype(np.int8)


class Support(NamedTuple):
    """Columns that a detector rests on, with dual coefficients: positive in the target, negative in the rest."""

    columns: Ints
    dual_coef: Ints


@dataclass(frozen=True, eq=False)
class Candidate:
    """Weights with their limit, the first column of the rest that attains it, and what they claim."""

    weights: Weights
    scores: Scores
    limit: int
    witness: int
    claimed: NDArray[np.bool_]
    coverage: int


def weigh_all(cube: BinaryPatterns, weights: Weights) -> Scores:
    """<v, Phi(x)> of every column: the least that it can be in the rest, the most in the target."""
    on, maybe, threads = cube.on, cube.maybe, cube.threads
    if cube.is_exact:
        return weigh_words(on, weights, threads)
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    scores = weigh_words(on, up, threads) + weigh_words(maybe, down, threads)
    inside = slice(cube.start, cube.stop)
    scores[inside] = (weigh_words(maybe, up, threads) + weigh_words(on, down, threads))[inside]
    return scores


def judge(cube: BinaryPatterns, weights: Weights, remaining: Ints) -> Candidate:
    """The limit of weights, exactly, and the points below it; ``remaining`` of target points is zero once claimed."""
    scores = weigh_all(cube, weights)
    start, stop = cube.start, cube.stop
    pieces = [(low, high) for low, high in ((0, start), (stop, len(scores))) if low < high]
    witness = min((low + int(scores[low:high].argmin()) for low, high in pieces), key=lambda c: (scores[c], c))
    claimed = (scores[start:stop] < scores[witness]) & (remaining > 0)
    return Candidate(weights, scores, int(scores[witness]), witness, claimed, int(remaining[claimed].sum()))


class HalfspaceSolver:
    """The points that a fit looks at, target first, with their dual coefficients and the half-space that they make."""

    def __init__(self, cube: BinaryPatterns, pool: Ints, C: int, effort: Effort) -> None:
        self.cube, self.effort, self.pool = cube, effort, pool
        self.goal = UNIT * cube.n_bits
        # |f| stays below 4 n times all dual coefficients: with this cap within int64, whatever happens. A point
        # with open bits may take part as often as there are rounds, and twice before.
        times = 1 if cube.is_exact else effort.rounds + 2
        self.room = 2**60 // (2 * cube.n_bits * cube.n_columns * times)
        self.columns = np.empty(0, dtype=np.int64)
        self.rows = np.empty((0, len(cube.on)), dtype=np.uint64)
        self.ones, self.caps, self.dual_coef = (np.empty(0, dtype=np.int64) for _ in range(3))
        self.sums = np.zeros(WORD_BITS * len(cube.on), dtype=np.int64)
        self.totals = np.zeros(2, dtype=np.int64)
        self.turn = 0
        self.set_bound(C)
        first = pool[:: -(-len(pool) // effort.most) or 1]
        self._join(first, self.cube.rows(first), self.C)

    def set_bound(self, units: int) -> None:
        """How much a point of the target may count."""
        self.C = min(units * UNIT, self.room)
        self.caps[self.caps > 0] = self.C
        self.patience = PATIENCE if units >= C_HARD else 0

    def join_rest(self, columns: Ints) -> None:
        """Let points of the rest take part; they may count as much as it takes."""
        self._join(columns, self.cube.rows(columns), self._hard)

    @property
    def _hard(self) -> int:
        return -min(C_REST * UNIT, self.room)

    def _join(self, columns: Ints, rows: Words, cap: int) -> int:
        ones = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        self.columns, self.rows = np.concatenate([self.columns, columns]), np.concatenate([self.rows, rows])
        self.ones = np.concatenate([self.ones, ones])
        self.caps = np.concatenate([self.caps, np.full(len(columns), cap)])
        self.dual_coef = np.concatenate([self.dual_coef, np.zeros(len(columns), dtype=np.int64)])
        return len(columns)

    def _join_worst(self, columns: Ints, weights: Weights, cap: int) -> int:
        """Let points take part as they are worst for the weights; how many did not in this way already."""
        rows = self.cube.worst(columns, weights)
        known = {(column, row.tobytes()) for column, row in zip(self.columns.tolist(), self.rows, strict=True)}
        pairs = zip(columns.tolist(), rows, strict=True)
        new = np.array([(column, row.tobytes()) not in known for column, row in pairs], dtype=bool)
        return self._join(columns[new], rows[new], cap)

    def _leave(self, keep: NDArray[np.bool_]) -> None:
        self.columns, self.rows, self.ones = self.columns[keep], self.rows[keep], self.ones[keep]
        self.caps, self.dual_coef = self.caps[keep], self.dual_coef[keep]

    def descend(self) -> bool:
        """A round of coordinate descent, in an order shuffled by hashing; whether it came to rest."""
        self.turn += 1
        places = np.arange(len(self.columns), dtype=np.uint64)
        visit = np.argsort((places + np.uint64(self.turn)) * GOLDEN, kind="stable")
        epochs = max(self.effort.epochs, self.patience // len(self.columns))
        effort = (self.cube.n_bits, self.goal, epochs, self.effort.tolerance)
        step = descend(self.rows, self.ones, self.caps, self.dual_coef, visit, self.sums, self.totals, effort)
        return int(step) <= self.effort.tolerance

    def weights(self) -> tuple[Weights, int, int]:
        """The half-space, low on the target, its weights rounded to multiples of largest / top; and these two."""
        n = self.cube.n_bits
        exact = self.totals[0] - 2 * self.sums[:n]
        top, largest = min(LARGEST_WEIGHT, LARGEST_SUM // (2 * n)), int(np.abs(exact).max())
        shift = max(0, largest.bit_length() - 48)  # the product below stays within int64
        size = max(largest >> shift, 1)
        rounded = (2 * top * (np.abs(exact) >> shift) + size) // (2 * size)
        return (np.sign(exact) * rounded).astype(np.int8), top, largest

    def widen(self, found: Candidate, top: int, largest: int) -> bool:
        """Let go of the rest that lies far off, take in what lies within the margin; whether there was any.

        Distances are those of the rounded weights, which had to be found for all points anyway.
        """
        constant, scores = self.cube.n_bits * int(self.totals[0]) - int(self.totals[1]), found.scores
        near = _within_int32((constant + self.goal) * top // max(largest, 1))
        far = _within_int32((2 * constant + 3 * self.goal) * top // (2 * max(largest, 1)))
        self._leave((self.caps > 0) | (self.dual_coef != 0) | (scores[self.columns] <= far))
        inside = scores < near
        inside[self.cube.start : self.cube.stop] = False
        fresh = min(self.effort.fresh, self.effort.fresh_each * len(self.pool))
        low = _within_int32((constant - self.goal) * top // max(largest, 1))
        if self.cube.is_exact:
            inside[self.columns] = False
            nearest = lowest(scores, np.flatnonzero(inside), fresh)
            n_target = self._join_late(scores, low, fresh) if len(self.pool) > self.effort.most else 0
            return n_target + self._join(nearest, self.cube.rows(nearest), self._hard) > 0
        n_rest = self._join_worst(lowest(scores, np.flatnonzero(inside), fresh), found.weights, self._hard)
        return n_rest + self._join_worst(self.pool[scores[self.pool] > low], found.weights, self.C) > 0

    def _join_late(self, scores: Scores, low: int, count: int) -> int:
        """Take in those of the target that took no part and score highest, beyond ``low``; how many these are."""
        late = np.zeros(len(scores), dtype=bool)
        late[self.pool] = scores[self.pool] > low
        late[self.columns] = False
        highest = lowest(-scores, np.flatnonzero(late), count)
        return self._join(highest, self.cube.rows(highest), self.C)

    def support(self) -> Support:
        """The columns that have a share: that of all their corners."""
        has = np.flatnonzero(self.dual_coef)
        if self.cube.is_exact:
            return Support(self.columns[has], self.dual_coef[has])
        columns, place = np.unique(self.columns[has], return_inverse=True)
        dual_coef = np.zeros(len(columns), dtype=np.int64)
        np.add.at(dual_coef, place, self.dual_coef[has])
        return Support(columns, dual_coef)


def _within_int32(value: int) -> int:
    return max(-(2**31), min(value, 2**31 - 1))


def lowest(values: NDArray[np.signedinteger], places: Ints, count: int) -> Ints:
    """The ``count`` of some places with the lowest values, the first ones on a tie; in the order given."""
    if len(places) <= count:
        return places
    here = values[places]
    bound = np.partition(here, count - 1)[count - 1]
    chosen = here < bound
    chosen[np.flatnonzero(here == bound)[: count - int(chosen.sum())]] = True
    return np.asarray(places[chosen])


Found = tuple[Candidate, Support]


def fit(solver: HalfspaceSolver, remaining: Ints, everything: int) -> Found:
    """The weights of the round that claims most (the last such), with their support.

    Each round moves the dual coefficients, rounds the weights, finds their exact limit over the whole rest, and lets
    those points of the rest take part that come too near.
    """
    best: Found | None = None
    stale = 0
    for _ in range(solver.effort.rounds):
        solver.cube.threads.go_on()
        at_rest = solver.descend()
        weights, top, largest = solver.weights()
        found = judge(solver.cube, weights, remaining)
        stale = 0 if best is None or found.coverage > best[0].coverage else stale + 1
        if best is None or found.coverage >= best[0].coverage:
            best = (found, solver.support())
        widened = solver.widen(found, top, largest)
        done = at_rest and not widened
        if done or stale >= (1 if best[0].coverage == everything else solver.effort.stale):
            break
    assert best is not None
    return best


def masks(cube: BinaryPatterns, column: int) -> tuple[Weights, Weights]:
    """The paper's mask of a column, 1 - Phi, and the signed one, 1 - 2 Phi, which fits whenever patterns differ."""
    off, on = 1 - cube.bits(cube.maybe, column), cube.bits(cube.on, column)
    return off, off - on


def nearest(cube: BinaryPatterns, column: int, columns: Ints, count: int) -> Ints:
    """The ``count`` of some target columns that differ least from one, the first on a tie."""
    if count >= len(columns):
        return columns
    distances = np.empty(cube.stop - cube.start, dtype=np.int64)
    row = np.ascontiguousarray(cube.on[:, column])
    hamming(cube.on, cube.start, cube.stop, row, distances)
    return cube.start + lowest(distances, columns - cube.start, count)
