"""Weighted detectors: a class is claimed by half-spaces of the cube instead of masks.

A detector has integer weights v and the limit m = min over rest of <v, Phi(x)>; it fires on x when
<v, Phi(x)> < m, so never on rest. Points with equal patterns are one pattern with a multiplicity.
First one detector is tried for the whole class; then points, in random order, get one for the
patterns around them; where weights claim nobody, the paper's mask or the signed mask
1 - 2 Phi(x) of a point x is taken, which claims x whenever any detector can. The playground does the same in
JavaScript (``playground/page/engine``), number by number, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from ..exceptions import TooLargeError
from .distinct import Cover, Distinct, Share, hashes_of
from .evidence import Counts
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

    def as_cover(self) -> Cover:
        """The same, column by column."""
        return Cover(
            anchors=[one.anchor for one in self.detectors],
            limits=[one.limit for one in self.detectors],
            witnesses=[one.witness for one in self.detectors],
            coverage=[one.coverage for one in self.detectors],
            uncovered=self.uncovered,
            n_rejected=self.n_rejected,
            weights=[one.weights for one in self.detectors],
            supports=[one.support for one in self.detectors],
        )


def without_hope(cube: Cube) -> Ints:
    """The target columns whose pattern occurs in the rest as well: nothing tells them apart."""
    hashes = hashes_of(cube.on)
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
        self.hopeless[without_hope(cube) - cube.start] = True
        self.neighbours = effort.neighbours
        self.made = WeightedCover()
        self.hot = np.empty(0, dtype=np.int64)  # what of the rest the last detector rests on, to start the next from

    def is_open(self, column: int) -> bool:
        """Whether a target column is left."""
        place = column - self.cube.start
        return bool(self.worth[place] > 0 and not self.hopeless[place])

    @property
    def is_left(self) -> NDArray[np.bool_]:
        """Which target columns are neither claimed nor given up."""
        return (self.worth > 0) & ~self.hopeless

    def open_columns(self) -> Ints:
        return self.cube.start + np.flatnonzero(self.is_left)

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
        """Claim as much of the class with one detector as it can without being hard on anyone.

        A class of which such a detector claims too little is left as it is, unless a hard one claims all of it: by
        Cover's theorem patterns in general position are likely to be linearly separable up to 2 n of them.
        """
        pool = self.open_columns()
        if not len(pool):
            return
        machine = self._machine(pool, self.effort.soft)
        found, left = self._fit(machine), self._left()
        if self.effort.clean * left <= 100 * found[0].coverage < 100 * left:
            machine.set_softness(self.effort.firm)
            firmer = self._fit(machine)
            found = firmer if firmer[0].coverage == left else found
        elif 100 * found[0].coverage < self.effort.enough * left and self.cube.n_columns <= 2 * self.cube.n_bits:
            harder = self._fit(self._machine(pool, HARD_TARGET))
            found = harder if harder[0].coverage == left else found
        if 100 * found[0].coverage >= self.effort.enough * left:
            self.accept(*found)

    def around(self, column: int) -> None:
        """A detector from the neighbours of a column, or else from its mask; or the column is given up."""
        pool = nearest(self.cube, column, self.open_columns(), self.neighbours)
        found, support = self._fit(self._machine(pool, self.effort.soft))
        self._learn(int(np.count_nonzero(found.claimed)), len(pool))
        if not found.coverage:
            found, support = self._masked(column)
        if found.coverage:
            self.accept(found, support)
        else:
            self.hopeless[column - self.cube.start] = True

    def _learn(self, claimed: int, fitted: int) -> None:
        """How many neighbours the next detector is fitted to: those that one detector can claim, or somewhat more."""
        if 10 * claimed < MISFIT * fitted:
            self.neighbours = max(self.neighbours // 2, self.effort.fewest)
        elif 10 * claimed > GOOD_FIT * fitted:
            self.neighbours = min(self.neighbours + self.neighbours // 2, self.effort.neighbours)

    def _masked(self, column: int) -> Found:
        """The better of the two masks, the paper's on a tie; if they claim anyone, then the column too."""
        tried = [judge(self.cube, weights, self.worth) for weights in masks(self.cube, column)]
        found = max(tried, key=lambda one: one.coverage)
        return found, Support(np.array([column, found.witness]), np.array([UNIT, -UNIT]))


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
    cover, total = _Cover(cube, counts, effort or Effort()), int(counts.sum())
    cover.at_once()
    progress("detectors", total - int(cover.worth.sum()), total)
    for column in order[cover.is_left[order - cube.start]].tolist():
        while cover.is_open(column):
            cover.around(column)
            progress("detectors", total - int(cover.worth.sum()), total)
    cover.made.uncovered = cube.start + np.flatnonzero(cover.worth > 0)
    cover.made.n_rejected = int(np.count_nonzero(cover.hopeless))
    return cover.made


def weighted_covers(distinct: Distinct) -> Callable[[Share, Progress], Cover]:
    """From a class to its cover with weighted detectors, whose columns are distinct patterns."""
    counts = distinct.evidence
    if not isinstance(counts, Counts):  # options refuse real-valued activations
        raise TooLargeError(
            'detectors="weighted" looks at all distinct patterns in one memory, which they exceed: '
            'raise memory_limit, choose a smaller width, or use detectors="mask"'
        )

    def cover(share: Share, tell: Progress) -> Cover:
        patterns, highest = counts.patterns, counts.highest.words
        cube = Cube(patterns.words, highest, patterns.n_bits, *share.target, counts.threads)
        return weighted_cover(cube, share.sizes, share.turns, progress=tell).as_cover()

    return cover
