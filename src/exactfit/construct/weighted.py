"""Weighted detectors: half-spaces of the cube {0, 1}^n, found by a linear classifier over bits, in integers only.

A detector has integer weights v and the limit m = min over rest of <v, Phi(x)>; it fires on x when <v, Phi(x)> < m, so
never on rest. Its half-space is f(x) = sum_k dual_coef[k] agree(x, x_k) over some patterns x_k, where agree counts the
bits in which two patterns are the same: a support vector machine with a bias, whose weights on the bits are integers.
Dual coefficients move by coordinate descent, weights are rounded to int8, and the limit is then the exact minimum over
the whole rest: how coefficients are found decides only how many points a detector claims, never whether it is right. No
floating-point number is involved, so the same input gives the same half-space everywhere.

Where bits are open, a point is not one pattern but all corners of a box, and each of them has to be on its side. Only
few corners matter: a fit begins with one for each point, and takes in those that are worst for its weights.

A cover tries one detector for the whole class first; then points, in random order, get one for the patterns around
them. Where weights claim nothing, the paper's mask or the signed mask 1 - 2 Phi(x) of a point x is taken, which claims
x whenever any detector can. The playground does the same in JavaScript (``playground/page/engine``), number by number,
and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS, descend, hamming
from .._support.console import Progress, silent
from .._support.threads import SERIAL, Threads
from ..network.bits import BitMatrix
from ..network.weights import weigh_words
from .evidence import Counts, Evidence
from .unique_patterns import Cover, Support, hashes_of

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Weights = NDArray[np.int8]
Scores = NDArray[np.int32]

LARGEST_WEIGHT = 127  # what int8 holds on both sides
LARGEST_SUM = 2**24  # of sum |v| + |m|: float32 adds so much exactly, in any order
UNIT = 2048  # the dual coefficient with which one point alone reaches the margin
C_REST = 2**14  # units that a point of the rest may have
C_HARD = 2**12  # units that a point of the target may have where one detector is to claim them all
PATIENCE = 2**17  # visits in a round of such an attempt, at least: few points, and often badly conditioned
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: multiples of it are spread evenly
MISFIT, GOOD_FIT = 4, 8  # tenths of its neighbours: below and above, the next detector gets fewer and more of them


@dataclass(frozen=True)
class Effort:
    """Effort of a search for detectors; nothing here decides whether they are right."""

    # Unclaimed points around one of them that a detector is fitted to, at most and at first: fewer, and so more
    # detectors, often know new points better. Where detectors claim a small part of these, as they do if there are few
    # bits, they are fitted to half as many, and to ``fewest`` at least: they claim more, and are found sooner.
    neighbours: int = 300
    fewest: int = 10
    # Units that a point of the target may have: usually, and where all are to be claimed. More units claim more
    # training points, with a thinner margin.
    C: int = 5
    C_firm: int = 20
    # Per cent of a class that one soft detector must claim to be preferred to neighbourhoods; and per cent from which
    # on labels look clean, so that a firm one is tried for all of them.
    enough: int = 80
    clean: int = 98
    # Points of the target that take part at first, spread evenly over those to be claimed: of a huge class the others
    # join like those of the rest, where they come within the margin.
    most: int = 2**14
    # Points of the rest that join in a round at most, and at most for each point of the target; and points of the
    # target that did not take part at first.
    fresh: int = 2000
    fresh_each: int = 10
    # Rounds of a fit; rounds without a gain before it is given up; passes within a round; the step (of a dual
    # coefficient) below which a round is done.
    rounds: int = 20
    stale: int = 4
    epochs: int = 20
    tolerance: int = 20


@dataclass(frozen=True, eq=False)
class BinaryPatterns:
    """Unique patterns, word-major; the target are the columns start..stop, the rest all others."""

    on: Words  # bits that are surely on
    maybe: Words  # bits that are on or open: the same where bits are exact
    n_bits: int
    start: int
    stop: int
    threads: Threads = SERIAL

    @classmethod
    def of(cls, counts: Evidence, start: int, stop: int) -> BinaryPatterns:
        """Return the patterns of unique columns."""
        assert isinstance(counts, Counts)  # options refuse real-valued activations
        on, maybe = counts.patterns, counts.may_be_on
        return cls(on.words, maybe.words, on.n_bits, start, stop, counts.threads)

    @property
    def n_columns(self) -> int:
        """The number of patterns, target and rest."""
        return int(self.on.shape[1])

    @cached_property
    def is_exact(self) -> bool:
        """Whether no bit is open."""
        return self.maybe is self.on or np.array_equal(self.maybe, self.on)

    def rows(self, columns: Ints) -> Words:
        """Return packed rows of some columns, side by side, as coordinate descent needs them."""
        return np.ascontiguousarray(self.on[:, columns].T)

    def worst(self, columns: Ints, weights: Weights) -> Words:
        """Return packed rows of columns, all target or all rest, open bits as bad as they can be for the weights."""
        rising = weights > 0 if len(columns) and self.start <= columns[0] < self.stop else weights < 0
        bad = BitMatrix.from_bool(rising[None, :]).words
        return np.ascontiguousarray((self.on[:, columns] | (self.maybe[:, columns] & bad)).T)

    def masks(self, column: int) -> tuple[Weights, Weights]:
        """Return the paper's mask of a column, 1 - Phi, and the signed one, 1 - 2 Phi, right if patterns differ."""
        on, maybe = (
            BitMatrix(np.ascontiguousarray(words[:, [column]]), self.n_bits).to_bool()[0].astype(np.int8)
            for words in (self.on, self.maybe)
        )
        off = 1 - maybe
        return off, off - on

    def nearest(self, column: int, columns: Ints, count: int) -> Ints:
        """Return the ``count`` of some target columns that differ least from one, the first on a tie."""
        if count >= len(columns):
            return columns
        distances = np.empty(self.stop - self.start, dtype=np.int64)
        row = np.ascontiguousarray(self.on[:, column])
        hamming(self.on, self.start, self.stop, row, distances)
        return self.start + lowest(distances, columns - self.start, count)

    def weigh(self, weights: Weights) -> Scores:
        """Return <v, Phi(x)> of every column: the least that it can be in the rest, the most in the target."""
        on, maybe, threads = self.on, self.maybe, self.threads
        if self.is_exact:
            return weigh_words(on, weights, threads)
        up, down = np.maximum(weights, 0), np.minimum(weights, 0)
        scores = weigh_words(on, up, threads) + weigh_words(maybe, down, threads)
        inside = slice(self.start, self.stop)
        scores[inside] = (weigh_words(maybe, up, threads) + weigh_words(on, down, threads))[inside]
        return scores

    def judge(self, weights: Weights, remaining: Ints) -> Candidate:
        """Return weights with their exact limit and what they claim of the ``remaining`` multiplicities."""
        scores, start, stop = self.weigh(weights), self.start, self.stop
        pieces = [(low, high) for low, high in ((0, start), (stop, len(scores))) if low < high]
        witness = min((low + int(scores[low:high].argmin()) for low, high in pieces), key=lambda c: (scores[c], c))
        claimed = (scores[start:stop] < scores[witness]) & (remaining > 0)
        return Candidate(weights, scores, int(scores[witness]), witness, claimed, int(remaining[claimed].sum()))

    def inseparable(self) -> NDArray[np.bool_]:
        """Return which target patterns occur in the rest as well."""
        hashes = hashes_of(self.on)
        target = slice(self.start, self.stop)
        found = np.isin(hashes[target], np.delete(hashes, target))
        # Two patterns may share a hash by chance: the signed mask claims its own column unless the rest has it too.
        everyone = np.ones(self.stop - self.start, dtype=np.int64)
        for place in np.flatnonzero(found).tolist():
            found[place] = not self.judge(self.masks(self.start + place)[1], everyone).claimed[place]
        return found


@dataclass(frozen=True, eq=False)
class Candidate:
    """Weights with their limit, the first column of the rest that attains it, and what they claim of the target."""

    weights: Weights
    scores: Scores
    limit: int
    witness: int
    claimed: NDArray[np.bool_]
    coverage: int


class Found(NamedTuple):
    """The best candidate of a fit, with the columns that it rests on."""

    best: Candidate
    support: Support


class HalfspaceSolver:
    """Dual coordinate descent for one half-space, over the columns that take part, target first."""

    def __init__(self, patterns: BinaryPatterns, pool: Ints, C: int, effort: Effort) -> None:
        self.patterns, self.effort, self.pool = patterns, effort, pool
        self.goal = UNIT * patterns.n_bits
        # |f| stays below 4 n times all dual coefficients: with this bound within int64, whatever happens. A point with
        # open bits may take part as often as there are rounds, and twice before.
        times = 1 if patterns.is_exact else effort.rounds + 2
        self.bound = 2**60 // (2 * patterns.n_bits * patterns.n_columns * times)
        self.columns = np.empty(0, dtype=np.int64)
        self.rows = np.empty((0, len(patterns.on)), dtype=np.uint64)
        self.caps, self.dual_coef = (np.empty(0, dtype=np.int64) for _ in range(2))
        self.sums = np.zeros(WORD_BITS * len(patterns.on), dtype=np.int64)
        self.totals = np.zeros(2, dtype=np.int64)
        self.round = 0
        self.C_rest = -min(C_REST * UNIT, self.bound)
        self.set_C(C)
        first = pool[:: -(-len(pool) // effort.most) or 1]
        self._join(first, patterns.rows(first), self.C)

    def set_C(self, units: int) -> None:  # noqa: N802  (the usual name of this bound)
        """Bound the dual coefficients of the target."""
        self.C = min(units * UNIT, self.bound)
        self.caps[self.caps > 0] = self.C
        self.patience = PATIENCE if units >= C_HARD else 0

    def join_rest(self, columns: Ints) -> None:
        """Let points of the rest take part."""
        self._join(columns, self.patterns.rows(columns), self.C_rest)

    def _join(self, columns: Ints, rows: Words, cap: int) -> int:
        self.columns, self.rows = np.concatenate([self.columns, columns]), np.concatenate([self.rows, rows])
        self.caps = np.concatenate([self.caps, np.full(len(columns), cap)])
        self.dual_coef = np.concatenate([self.dual_coef, np.zeros(len(columns), dtype=np.int64)])
        return len(columns)

    def _join_worst(self, columns: Ints, weights: Weights, cap: int) -> int:
        """Let points take part as they are worst for the weights; return how many did not in this way already."""
        rows = self.patterns.worst(columns, weights)
        known = {(column, row.tobytes()) for column, row in zip(self.columns.tolist(), self.rows, strict=True)}
        pairs = zip(columns.tolist(), rows, strict=True)
        new = np.array([(column, row.tobytes()) not in known for column, row in pairs], dtype=bool)
        return self._join(columns[new], rows[new], cap)

    def descend(self) -> bool:
        """Run a round of coordinate descent, in an order shuffled by hashing; return whether it converged."""
        self.round += 1
        places = np.arange(len(self.columns), dtype=np.uint64)
        visit = np.argsort((places + np.uint64(self.round)) * GOLDEN, kind="stable")
        epochs = max(self.effort.epochs, self.patience // len(self.columns))
        effort = (self.patterns.n_bits, self.goal, epochs, self.effort.tolerance)
        ones = np.bitwise_count(self.rows).sum(axis=1, dtype=np.int64)
        step = descend(self.rows, ones, self.caps, self.dual_coef, visit, self.sums, self.totals, effort)
        return int(step) <= self.effort.tolerance

    def weights(self) -> tuple[Weights, int, int]:
        """Return the half-space, low on the target, in multiples of largest / top; and these two."""
        n = self.patterns.n_bits
        exact = self.totals[0] - 2 * self.sums[:n]
        top, largest = min(LARGEST_WEIGHT, LARGEST_SUM // (2 * n)), int(np.abs(exact).max())
        shift = max(0, largest.bit_length() - 48)  # the product below stays within int64
        size = max(largest >> shift, 1)
        rounded = (2 * top * (np.abs(exact) >> shift) + size) // (2 * size)
        return (np.sign(exact) * rounded).astype(np.int8), top, largest

    def update_working_set(self, found: Candidate, top: int, largest: int) -> bool:
        """Drop the rest that is far off, take in what is within the margin; return whether there was any."""
        # Distances are those of the rounded weights, which had to be found for all points anyway.
        constant, scores = self.patterns.n_bits * int(self.totals[0]) - int(self.totals[1]), found.scores
        near = _within_int32((constant + self.goal) * top // max(largest, 1))
        far = _within_int32((2 * constant + 3 * self.goal) * top // (2 * max(largest, 1)))
        keep = (self.caps > 0) | (self.dual_coef != 0) | (scores[self.columns] <= far)
        self.columns, self.rows = self.columns[keep], self.rows[keep]
        self.caps, self.dual_coef = self.caps[keep], self.dual_coef[keep]
        inside = scores < near
        inside[self.patterns.start : self.patterns.stop] = False
        fresh = min(self.effort.fresh, self.effort.fresh_each * len(self.pool))
        low = _within_int32((constant - self.goal) * top // max(largest, 1))
        if self.patterns.is_exact:
            inside[self.columns] = False
            nearest = lowest(scores, np.flatnonzero(inside), fresh)
            n_target = self._join_late(scores, low, fresh) if len(self.pool) > self.effort.most else 0
            return n_target + self._join(nearest, self.patterns.rows(nearest), self.C_rest) > 0
        n_rest = self._join_worst(lowest(scores, np.flatnonzero(inside), fresh), found.weights, self.C_rest)
        return n_rest + self._join_worst(self.pool[scores[self.pool] > low], found.weights, self.C) > 0

    def _join_late(self, scores: Scores, low: int, count: int) -> int:
        """Take in the target columns that took no part and score highest, beyond ``low``; return their number."""
        late = np.zeros(len(scores), dtype=bool)
        late[self.pool] = scores[self.pool] > low
        late[self.columns] = False
        highest = lowest(-scores, np.flatnonzero(late), count)
        return self._join(highest, self.patterns.rows(highest), self.C)

    def support(self) -> Support:
        """Return the columns that have a dual coefficient: the sum of those of all their corners."""
        has = np.flatnonzero(self.dual_coef)
        if self.patterns.is_exact:
            return Support(self.columns[has], self.dual_coef[has])
        columns, place = np.unique(self.columns[has], return_inverse=True)
        dual_coef = np.zeros(len(columns), dtype=np.int64)
        np.add.at(dual_coef, place, self.dual_coef[has])
        return Support(columns, dual_coef)

    def fit(self, remaining: Ints) -> Found:
        """Return the weights of the round that claims most (the last such), with their support."""
        found: Found | None = None
        stale, everything = 0, int(remaining.sum())
        for _ in range(self.effort.rounds):
            self.patterns.threads.go_on()
            converged = self.descend()
            weights, top, largest = self.weights()
            here = self.patterns.judge(weights, remaining)
            stale = 0 if found is None or here.coverage > found.best.coverage else stale + 1
            if found is None or here.coverage >= found.best.coverage:
                found = Found(here, self.support())
            done = not self.update_working_set(here, top, largest) and converged
            if done or stale >= (1 if found.best.coverage == everything else self.effort.stale):
                break
        assert found is not None
        return found


def _within_int32(value: int) -> int:
    return max(-(2**31), min(value, 2**31 - 1))


def lowest(values: NDArray[np.signedinteger], places: Ints, count: int) -> Ints:
    """Return the ``count`` of some places with the lowest values, the first on a tie; in the order given."""
    if len(places) <= count:
        return places
    here = values[places]
    bound = np.partition(here, count - 1)[count - 1]
    chosen = here < bound
    chosen[np.flatnonzero(here == bound)[: count - int(chosen.sum())]] = True
    return np.asarray(places[chosen])


class _WeightedCover:
    """A cover with weighted detectors in the making."""

    def __init__(self, patterns: BinaryPatterns, counts: Ints, effort: Effort) -> None:
        self.patterns, self.effort, self.neighbours = patterns, effort, effort.neighbours
        self.inseparable = patterns.inseparable()
        # Points that a target pattern stands for, zero once it is claimed or given up.
        self.remaining = np.where(self.inseparable, 0, counts)
        self.made = Cover(weights=[], supports=[])
        self.working_set = np.empty(0, dtype=np.int64)  # rest columns of the last detector: the next starts from them

    def open_columns(self) -> Ints:
        """Return the target columns that are neither claimed nor given up."""
        return self.patterns.start + np.flatnonzero(self.remaining)

    def _solver(self, pool: Ints, C: int) -> HalfspaceSolver:
        solver = HalfspaceSolver(self.patterns, pool, C, self.effort)
        solver.join_rest(self.working_set)
        return solver

    def _accept(self, found: Found) -> None:
        """Algorithm 2, line 8: add the detector; its anchor is what it claims with the most slack."""
        best, start, stop, made = found.best, self.patterns.start, self.patterns.stop, self.made
        made.anchors.append(start + int(np.where(best.claimed, best.scores[start:stop], best.limit).argmin()))
        made.limits.append(best.limit)
        made.witnesses.append(best.witness)
        made.coverage.append(best.coverage)
        cast("list[Weights]", made.weights).append(best.weights)
        cast("list[Support]", made.supports).append(found.support)
        self.remaining[best.claimed] = 0
        self.working_set = found.support.columns[found.support.dual_coef < 0]

    def claim_all(self) -> None:
        """Claim as much of the class with one detector as a soft one can.

        A class of which such a detector claims too little is left as it is, unless a hard one claims all of it: by
        Cover's theorem patterns in general position are likely to be linearly separable up to 2 n of them.
        """
        pool, effort, left = self.open_columns(), self.effort, int(self.remaining.sum())
        if not left:
            return
        solver = self._solver(pool, effort.C)
        found = solver.fit(self.remaining)
        if effort.clean * left <= 100 * found.best.coverage < 100 * left:
            solver.set_C(effort.C_firm)
            firmer = solver.fit(self.remaining)
            found = firmer if firmer.best.coverage == left else found
        elif 100 * found.best.coverage < effort.enough * left and self.patterns.n_columns <= 2 * self.patterns.n_bits:
            harder = self._solver(pool, C_HARD).fit(self.remaining)
            found = harder if harder.best.coverage == left else found
        if 100 * found.best.coverage >= effort.enough * left:
            self._accept(found)

    def claim_around(self, column: int) -> None:
        """Add a detector from the neighbours of a column, or else from its mask; or give the column up."""
        pool = self.patterns.nearest(column, self.open_columns(), self.neighbours)
        found = self._solver(pool, self.effort.C).fit(self.remaining)
        # The next detector is fitted to as many neighbours as one can claim, or somewhat more.
        claimed = int(np.count_nonzero(found.best.claimed))
        if 10 * claimed < MISFIT * len(pool):
            self.neighbours = max(self.neighbours // 2, self.effort.fewest)
        elif 10 * claimed > GOOD_FIT * len(pool):
            self.neighbours = min(self.neighbours + self.neighbours // 2, self.effort.neighbours)
        if not found.best.coverage:
            # The better of the two masks, the paper's on a tie; if they claim anything, then the column too.
            tried = [self.patterns.judge(weights, self.remaining) for weights in self.patterns.masks(column)]
            best = max(tried, key=lambda one: one.coverage)
            found = Found(best, Support(np.array([column, best.witness]), np.array([UNIT, -UNIT])))
        if found.best.coverage:
            self._accept(found)
        else:
            self.inseparable[column - self.patterns.start] = True
            self.remaining[column - self.patterns.start] = 0


def weighted_cover(
    patterns: BinaryPatterns, counts: Ints, order: Ints, effort: Effort | None = None, progress: Progress = silent
) -> Cover:
    """Algorithm 2, lines 2-10, with weights: seeds in the given order become detectors until all is claimed.

    ``counts`` are the multiplicities of target patterns, ``order`` names all target columns. There must be a rest.
    """
    if patterns.start == patterns.stop:
        return Cover(weights=[], supports=[])
    cover, total = _WeightedCover(patterns, counts, effort or Effort()), int(counts.sum())
    cover.claim_all()
    progress("detectors", sum(cover.made.coverage), total)
    for column in order.tolist():
        while cover.remaining[column - patterns.start]:
            cover.claim_around(column)
            progress("detectors", sum(cover.made.coverage), total)
    cover.made.uncovered = patterns.start + np.flatnonzero(cover.inseparable)
    cover.made.n_rejected = int(np.count_nonzero(cover.inseparable))
    return cover.made
