"""Weighted detectors: a class is claimed by half-spaces of the cube instead of masks.

A detector has integer weights v and the limit m = min over rest of <v, Phi(x)>; it fires on x when
<v, Phi(x)> < m, so never on rest. Points with equal patterns are one pattern with a multiplicity.
First one detector is tried for the whole class; then seeds, in random order, get one for the
patterns around them; where weights claim nobody, the paper's mask or the signed mask
1 - 2 Phi(seed) is taken, which claims the seed whenever any detector can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._kernels.weighted import hash_columns
from .._support.console import Progress, silent
from .cover import Cover
from .evidence import ClassOrder, Columns, Counts
from .halfspaces import (
    HARD_TARGET,
    UNIT,
    Cube,
    Effort,
    Found,
    Ints,
    Judged,
    Machine,
    Support,
    Weights,
    Words,
    fit,
    judge,
    masks,
    nearest,
)  # fmt: skip

MISFIT, GOOD_FIT = 4, 8  # tenths of its neighbours: below and above, the next detector gets fewer and more of them


@dataclass(frozen=True, eq=False)
class Detector:
    """Fires where <weights, Phi(x)> < limit; the anchor is what it claims with the most slack."""

    weights: Weights
    limit: int
    anchor: int
    witness: int
    coverage: int
    support: Support


@dataclass(eq=False)
class WeightedCover:
    """Detectors of one class, in the order in which they were accepted, and the columns that none claims."""

    detectors: list[Detector] = field(default_factory=list)
    uncovered: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_rejected: int = 0


def lost(cube: Cube) -> Ints:
    """The target columns whose pattern occurs in the rest as well: nothing tells them apart."""
    hashes = np.empty(cube.n_columns, dtype=np.uint64)
    hash_columns(cube.on, 0, cube.n_columns, hashes)
    target = slice(cube.start, cube.stop)
    suspects = cube.start + np.flatnonzero(np.isin(hashes[target], np.delete(hashes, target)))
    worth = np.ones(cube.stop - cube.start, dtype=np.int64)
    claims = [judge(cube, masks(cube, int(s))[1], worth).claimed[s - cube.start] for s in suspects]
    return np.asarray(suspects[~np.array(claims, dtype=bool)])


class _Cover:
    """A cover in the making. ``counts`` says how many points a target pattern stands for, ``worth`` while unclaimed."""

    def __init__(self, cube: Cube, counts: Ints, effort: Effort) -> None:
        self.cube, self.effort = cube, effort
        self.counts, self.worth = counts, counts.copy()
        self.hopeless = np.zeros(len(counts), dtype=bool)
        self.hopeless[lost(cube) - cube.start] = True
        self.neighbours = effort.neighbours
        self.made = WeightedCover()
        self.hot = np.empty(0, dtype=np.int64)  # what of the rest the last detector rests on, to start the next from

    def is_open(self, column: int) -> bool:
        """Whether a target column is neither claimed nor given up."""
        place = column - self.cube.start
        return bool(self.worth[place] > 0 and not self.hopeless[place])

    def open_columns(self) -> Ints:
        return self.cube.start + np.flatnonzero((self.worth > 0) & ~self.hopeless)

    def _machine(self, pool: Ints, softness: int) -> Machine:
        machine = Machine(self.cube, pool, softness, self.effort)
        machine.join_rest(self.hot)
        return machine

    def _fit(self, machine: Machine) -> Found:
        return fit(machine, self.worth, self._left())

    def _left(self) -> int:
        return int(self.worth[~self.hopeless].sum())

    def accept(self, found: Judged, support: Support) -> None:
        """Algorithm 2, line 8: add the detector."""
        start, stop = self.cube.start, self.cube.stop
        anchor = start + int(np.where(found.claimed, found.scores[start:stop], found.limit).argmin())
        detector = Detector(found.weights, found.limit, anchor, found.witness, found.coverage, support)
        self.made.detectors.append(detector)
        self.worth[found.claimed] = 0
        self.hot = support.columns[support.shares < 0]

    def at_once(self) -> None:
        """Claim the whole class with one detector where that is likely to go well; else leave it as it is.

        By Cover's theorem patterns in general position are likely to be linearly separable up to 2 n of them.
        Where there are more, one detector is trusted if it claims nearly all without being hard on anyone.
        """
        pool = self.open_columns()
        if not len(pool):
            return
        if self.cube.n_columns <= 2 * self.cube.n_bits:
            found = self._fit(self._machine(pool, HARD_TARGET))
            if found[0].coverage == self._left():
                return self.accept(*found)
        machine = self._machine(pool, self.effort.soft)
        found = self._fit(machine)
        if 100 * found[0].coverage < self.effort.enough * self._left():
            return None
        if found[0].coverage < self._left():
            machine.set_softness(self.effort.firm)
            firmer = self._fit(machine)
            found = firmer if firmer[0].coverage == self._left() else found
        return self.accept(*found)

    def around(self, seed: int) -> None:
        """A detector from the neighbours of a seed, or else from its mask; or the seed is given up."""
        pool = nearest(self.cube, seed, self.open_columns(), self.neighbours)
        found, support = self._fit(self._machine(pool, self.effort.soft))
        self._learn(int(np.count_nonzero(found.claimed)), len(pool))
        if not found.coverage:
            found, support = self._masked(seed)
        if found.coverage:
            self.accept(found, support)
        else:
            self.hopeless[seed - self.cube.start] = True

    def _learn(self, claimed: int, fitted: int) -> None:
        """How many neighbours the next detector is fitted to: those that one detector can claim, or somewhat more."""
        if 10 * claimed < MISFIT * fitted:
            self.neighbours = max(self.neighbours // 2, self.effort.fewest)
        elif 10 * claimed > GOOD_FIT * fitted:
            self.neighbours = min(self.neighbours + self.neighbours // 2, self.effort.neighbours)

    def _masked(self, seed: int) -> Found:
        """The better of the two masks, the paper's on a tie; if they claim anyone, then the seed too."""
        tried = [judge(self.cube, weights, self.worth) for weights in masks(self.cube, seed)]
        found = max(tried, key=lambda one: one.coverage)
        return found, Support(np.array([seed, found.witness]), np.array([UNIT, -UNIT]))


def weighted_cover(
    cube: Cube, counts: Ints, order: Ints, effort: Effort | None = None,
    progress: Progress = silent,
) -> WeightedCover:  # fmt: skip
    """Algorithm 2, lines 2-10, with weights: seeds in the given order become detectors until all is claimed.

    ``counts`` says how many points each target pattern stands for, ``order`` names all target columns, each at
    least once. There must be a rest.
    """
    if cube.start == cube.stop:
        return WeightedCover()
    cover = _Cover(cube, counts, effort or Effort())
    cover.at_once()
    for seed in order.tolist():
        while cover.is_open(seed):
            cover.around(seed)
            progress("detectors", int(counts.sum() - cover.worth.sum()), int(counts.sum()))
    cover.made.uncovered = cube.start + np.flatnonzero(cover.worth > 0)
    cover.made.n_rejected = int(np.count_nonzero(cover.hopeless))
    return cover.made


@dataclass(frozen=True, eq=False)
class Distinct:
    """Every pattern of a class once; columns are numbered class by class.

    Attributes
    ----------
    firsts : ndarray
        The first column of each pattern.
    places : ndarray
        For every column, the place of its pattern in ``firsts``.
    starts : ndarray
        Where the patterns of each class begin.
    """

    firsts: Ints
    places: Ints
    starts: Ints

    @classmethod
    def of(cls, words: Words, order: ClassOrder) -> Distinct:
        """The distinct patterns of word-major columns in class order."""
        hashes = np.empty(words.shape[1], dtype=np.uint64)
        hash_columns(words, 0, words.shape[1], hashes)
        firsts, places, starts = [], np.empty(words.shape[1], dtype=np.int64), [0]
        for k in range(len(order.starts) - 1):
            start, stop = order.target(k)
            own, inverse = _distinct_columns(words[:, start:stop], hashes[start:stop])
            places[start:stop] = starts[-1] + inverse
            firsts.append(start + own)
            starts.append(starts[-1] + len(own))
        return cls(np.concatenate(firsts), places, np.array(starts))

    def counts(self, start: int, stop: int) -> Ints:
        """How many columns have each of some patterns."""
        return np.bincount(self.places, minlength=len(self.firsts))[start:stop]


def _distinct_columns(words: Words, hashes: Words) -> tuple[Ints, Ints]:
    """The first of equal columns, ascending, and for every column the place of its first among them.

    Columns are sorted by their hashes; if two different ones share a hash, by their words.
    """
    order = np.argsort(hashes, kind="stable")
    new = np.ones(len(order), dtype=bool)
    new[1:] = hashes[order[1:]] != hashes[order[:-1]]
    if any(bool((line[order[1:]] != line[order[:-1]])[~new[1:]].any()) for line in words):
        order = np.lexsort(words)
        new[1:] = (words[:, order[1:]] != words[:, order[:-1]]).any(axis=0)
    firsts = order[np.flatnonzero(new)]
    ranks = np.empty(len(firsts), dtype=np.int64)
    ranks[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = ranks[np.cumsum(new) - 1]
    return np.sort(firsts).astype(np.int64), places


def weighted_covers(
    counts: Counts, order: ClassOrder, candidates: dict[int, Columns], progress: Callable[[int], Progress]
) -> Callable[[int], Cover]:
    """From a class to its cover with weighted detectors; ``candidates`` are each class's columns in random order."""
    on, maybe = counts.patterns, counts.highest
    both = on.words if maybe is on else np.concatenate([on.words, maybe.words])
    distinct = Distinct.of(both, order)
    few = on.take(distinct.firsts).words
    most = few if maybe is on else maybe.take(distinct.firsts).words

    def work(k: int) -> Cover:
        start, stop = int(distinct.starts[k]), int(distinct.starts[k + 1])
        cube = Cube(few, most, on.n_bits, start, stop, counts.threads)
        seeds = distinct.places[candidates[k]]  # a pattern's later columns find it claimed or given up
        made = weighted_cover(cube, distinct.counts(start, stop), seeds, progress=progress(k))
        return _in_columns(made, distinct)

    return work


def _in_columns(made: WeightedCover, distinct: Distinct) -> Cover:
    """The cover of patterns as one of columns."""
    detectors, firsts = made.detectors, distinct.firsts
    return Cover(
        anchors=[int(firsts[one.anchor]) for one in detectors],
        limits=[one.limit for one in detectors],
        witnesses=[int(firsts[one.witness]) for one in detectors],
        coverage=[one.coverage for one in detectors],
        uncovered=np.flatnonzero(np.isin(distinct.places, made.uncovered)),
        n_rejected=made.n_rejected,
        weights=[one.weights for one in detectors],
        supports=[Support(firsts[one.support.columns], one.support.shares) for one in detectors],
    )
