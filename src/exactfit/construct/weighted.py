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
from .evidence import Counts
from .halfspaces import (
    C_HARD,
    UNIT,
    BinaryPatterns,
    Candidate,
    Effort,
    Found,
    HalfspaceSolver,
    Ints,
    Support,
    Weights,
    fit,
    judge,
    masks,
    nearest,
)  # fmt: skip
from .unique_patterns import ClassSlice, Cover, UniquePatterns, hashes_of

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


def inseparable_patterns(cube: BinaryPatterns) -> Ints:
    """The target columns whose pattern occurs in the rest as well: nothing tells them apart."""
    hashes = hashes_of(cube.on)
    target = slice(cube.start, cube.stop)
    suspects = cube.start + np.flatnonzero(np.isin(hashes[target], np.delete(hashes, target)))
    remaining = np.ones(cube.stop - cube.start, dtype=np.int64)
    claims = [judge(cube, masks(cube, int(s))[1], remaining).claimed[s - cube.start] for s in suspects]
    return np.asarray(suspects[~np.array(claims, dtype=bool)])


class _Cover:
    """A cover in the making; ``counts`` are the multiplicities of target patterns, ``remaining`` those unclaimed."""

    def __init__(self, cube: BinaryPatterns, counts: Ints, effort: Effort) -> None:
        self.cube, self.effort = cube, effort
        self.counts, self.remaining = counts, counts.copy()
        self.inseparable = np.zeros(len(counts), dtype=bool)
        self.inseparable[inseparable_patterns(cube) - cube.start] = True
        self.neighbours = effort.neighbours
        self.made = WeightedCover()
        self.working_set = np.empty(0, dtype=np.int64)  # rest columns of the last detector, to start from

    def is_open(self, column: int) -> bool:
        """Whether a target column is left."""
        place = column - self.cube.start
        return bool(self.remaining[place] > 0 and not self.inseparable[place])

    @property
    def is_left(self) -> NDArray[np.bool_]:
        """Which target columns are neither claimed nor given up."""
        return (self.remaining > 0) & ~self.inseparable

    def open_columns(self) -> Ints:
        return self.cube.start + np.flatnonzero(self.is_left)

    def _solver(self, pool: Ints, C: int) -> HalfspaceSolver:
        solver = HalfspaceSolver(self.cube, pool, C, self.effort)
        solver.join_rest(self.working_set)
        return solver

    def _fit(self, solver: HalfspaceSolver) -> Found:
        return fit(solver, self.remaining, self._left())

    def _left(self) -> int:
        return int(self.remaining[~self.inseparable].sum())

    def accept(self, found: Candidate, support: Support) -> None:
        """Algorithm 2, line 8: add the detector."""
        start, stop = self.cube.start, self.cube.stop
        anchor = start + int(np.where(found.claimed, found.scores[start:stop], found.limit).argmin())
        detector = Detector(found.weights, found.limit, anchor, found.witness, found.coverage, support)
        self.made.detectors.append(detector)
        self.remaining[found.claimed] = 0
        self.working_set = support.columns[support.dual_coef < 0]

    def at_once(self) -> None:
        """Claim as much of the class with one detector as it can without being hard on anyone.

        A class of which such a detector claims too little is left as it is, unless a hard one claims all of it: by
        Cover's theorem patterns in general position are likely to be linearly separable up to 2 n of them.
        """
        pool = self.open_columns()
        if not len(pool):
            return
        solver = self._solver(pool, self.effort.C)
        found, left = self._fit(solver), self._left()
        if self.effort.clean * left <= 100 * found[0].coverage < 100 * left:
            solver.set_bound(self.effort.C_firm)
            firmer = self._fit(solver)
            found = firmer if firmer[0].coverage == left else found
        elif 100 * found[0].coverage < self.effort.enough * left and self.cube.n_columns <= 2 * self.cube.n_bits:
            harder = self._fit(self._solver(pool, C_HARD))
            found = harder if harder[0].coverage == left else found
        if 100 * found[0].coverage >= self.effort.enough * left:
            self.accept(*found)

    def around(self, column: int) -> None:
        """A detector from the neighbours of a column, or else from its mask; or the column is given up."""
        pool = nearest(self.cube, column, self.open_columns(), self.neighbours)
        found, support = self._fit(self._solver(pool, self.effort.C))
        self._learn(int(np.count_nonzero(found.claimed)), len(pool))
        if not found.coverage:
            found, support = self._masked(column)
        if found.coverage:
            self.accept(found, support)
        else:
            self.inseparable[column - self.cube.start] = True

    def _learn(self, claimed: int, fitted: int) -> None:
        """How many neighbours the next detector is fitted to: those that one detector can claim, or somewhat more."""
        if 10 * claimed < MISFIT * fitted:
            self.neighbours = max(self.neighbours // 2, self.effort.fewest)
        elif 10 * claimed > GOOD_FIT * fitted:
            self.neighbours = min(self.neighbours + self.neighbours // 2, self.effort.neighbours)

    def _masked(self, column: int) -> Found:
        """The better of the two masks, the paper's on a tie; if they claim anyone, then the column too."""
        tried = [judge(self.cube, weights, self.remaining) for weights in masks(self.cube, column)]
        found = max(tried, key=lambda one: one.coverage)
        return found, Support(np.array([column, found.witness]), np.array([UNIT, -UNIT]))


def weighted_cover(
    cube: BinaryPatterns, counts: Ints, order: Ints, effort: Effort | None = None,
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
    progress("detectors", total - int(cover.remaining.sum()), total)
    for column in order[cover.is_left[order - cube.start]].tolist():
        while cover.is_open(column):
            cover.around(column)
            progress("detectors", total - int(cover.remaining.sum()), total)
    cover.made.uncovered = cube.start + np.flatnonzero(cover.remaining > 0)
    cover.made.n_rejected = int(np.count_nonzero(cover.inseparable))
    return cover.made


def weighted_covers(unique: UniquePatterns) -> Callable[[ClassSlice, Progress], Cover]:
    """From a class to its cover with weighted detectors, whose columns are distinct patterns."""
    counts = unique.evidence
    if not isinstance(counts, Counts):  # options refuse real-valued activations
        raise TooLargeError(
            'detectors="weighted" looks at all distinct patterns in one memory, which they exceed: '
            'raise memory_limit, choose a smaller width, or use detectors="mask"'
        )

    def cover(share: ClassSlice, tell: Progress) -> Cover:
        patterns, highest = counts.patterns, counts.highest.words
        cube = BinaryPatterns(patterns.words, highest, patterns.n_bits, *share.target, counts.threads)
        return weighted_cover(cube, share.sizes, share.candidates, progress=tell).as_cover()

    return cover
