"""Unique patterns with multiplicities, sorted by class: the columns that covers are made of.

Nothing that the cover step decides tells points of equal class and pattern apart: they have the same limit, and a
detector that claims one claims all. The first of them in the order of candidates is examined for all; of several
columns that attain a limit, the one whose first point comes first is the witness. So a cover of unique patterns is that
of all points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import hash_line
from .._support.threads import Threads
from ..data import Rows
from ..exceptions import ParameterError
from ..network.bits import BitMatrix, Words, last_word, n_words
from .evidence import Columns, Counts, Evidence, Pieces
from .hyperplanes import ORDER, stream

Ints = NDArray[np.int64]
CandidateOrder = Mapping[int, Columns]  # the candidates of every target class, in order

NO_RANK = int(np.iinfo(np.int64).max)  # of points that are no candidates


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """Rows sorted by class, rows of a class ascending."""

    rows: Columns
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, y: NDArray[np.int64]) -> ClassOrder:
        """Return the order for class codes 0..K-1."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(y))])
        return cls(np.argsort(y, kind="stable"), starts)

    def codes(self) -> NDArray[Any]:
        """Return the class of every row, in the smallest type that holds it."""
        codes = np.empty(len(self.rows), dtype=np.min_scalar_type(len(self.starts)))
        for k in range(len(self.starts) - 1):
            codes[self.rows[slice(*self.target(k))]] = k
        return codes

    def columns(self, rows: NDArray[np.int64], k: int) -> Columns:
        """Return the columns of some rows of class k."""
        start, stop = self.target(k)
        return np.asarray(start + np.searchsorted(self.rows[start:stop], rows))

    def target(self, k: int) -> tuple[int, int]:
        """Return the columns of class k."""
        return int(self.starts[k]), int(self.starts[k + 1])

    def rest(self, k: int) -> Pieces:
        """Return the columns of all other classes."""
        start, stop = self.target(k)
        ends = int(self.starts[-1])
        return [piece for piece in ((0, start), (stop, ends)) if piece[0] < piece[1]]


def candidates_of(
    order: ClassOrder, targets: Sequence[int], order_or_seed: np.random.SeedSequence | Rows
) -> CandidateOrder:
    """Return the columns of each target class in the order in which they become candidates."""
    if isinstance(order_or_seed, np.random.SeedSequence):
        ends = {k: order.target(k) for k in targets}
        return {
            k: start + stream(order_or_seed, ORDER, k).permutation(stop - start) for k, (start, stop) in ends.items()
        }
    columns = np.argsort(order.rows)[order_or_seed]
    classes = np.searchsorted(order.starts, columns, side="right") - 1
    return {k: columns[classes == k] for k in targets}


def as_order(order: Any, n_points: int) -> Rows:
    """Return row numbers that a user gives as the order of candidates; refuse what is no permutation."""
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ParameterError(f"order must be a sequence of row numbers, got {rows.dtype} of shape {rows.shape}")
    if not np.array_equal(np.sort(rows), np.arange(n_points)):
        raise ParameterError(f"order must hold every row number from 0 to {n_points - 1} once")
    return rows.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PatternGroups:
    """Groups of points of equal class and pattern, sorted by class and first point; those of chunks can be joined."""

    words: Words  # shape (n_words, n_groups)
    codes: Ints  # the class of each
    sizes: Ints  # how many points each has
    firsts: Ints  # the first of these
    ranks: Ints  # the place of the first candidate among them

    @classmethod
    def of(cls, words: Words, codes: Ints, firsts: Ints, ranks: Ints) -> PatternGroups:
        """Return points as groups."""
        return cls.joined([cls(words, codes, np.ones(len(codes), dtype=np.int64), firsts, ranks)])

    @classmethod
    def joined(cls, parts: Sequence[PatternGroups]) -> PatternGroups:
        """Return the groups of all parts; words are copied twice at most."""
        codes, all_sizes, firsts, all_ranks = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "sizes", "firsts", "ranks")
        )
        by_class = np.lexsort((firsts, codes))
        own = np.empty_like(by_class)
        own[by_class] = np.arange(len(own))
        words = np.empty((len(parts[0].words), len(codes)), dtype=np.uint64)
        ends = np.cumsum([len(part) for part in parts])
        for part, end in zip(parts, ends, strict=True):
            words[:, own[end - len(part) : end]] = part.words
        chosen, places = distinct_columns(words, codes[by_class])
        sizes = np.zeros(len(chosen), dtype=np.int64)
        ranks = np.full(len(chosen), NO_RANK)
        np.add.at(sizes, places, all_sizes[by_class])
        np.minimum.at(ranks, places, all_ranks[by_class])
        keep = by_class[chosen]
        few = words if len(chosen) == len(codes) else np.take(words, chosen, axis=1)
        return cls(few, codes[keep], sizes, firsts[keep], ranks)

    def head(self, n_bits: int) -> PatternGroups:
        """Return the groups that there are by the first bits alone."""
        words = BitMatrix(self.words, 64 * len(self.words)).head(n_bits).words
        return PatternGroups.joined([replace(self, words=words)])

    def take(self, places: Ints) -> PatternGroups:
        """Return some of them."""
        return PatternGroups(
            np.take(self.words, places, axis=1), self.codes[places], self.sizes[places], self.firsts[places],
            self.ranks[places],
        )  # fmt: skip

    @property
    def n_bytes(self) -> int:
        """The memory that they take."""
        return self.words.nbytes + 4 * self.codes.nbytes

    def __len__(self) -> int:
        return len(self.codes)


def distinct_columns(words: Sequence[Words] | Words, codes: Ints | None = None) -> tuple[Ints, Ints]:
    """Return the first of equal columns (and codes), ascending, and for every column the place of its first."""
    words = [*words] if codes is None else [*words, codes.astype(np.uint64)]
    _, firsts, places = np.unique(hashes_of(words), return_index=True, return_inverse=True)
    if len(firsts) < len(places) and any(bool((word[firsts][places] != word).any()) for word in words):
        # Two different columns share a hash, which hardly ever happens.
        _, firsts, places = np.unique(np.stack(words, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return firsts[order], rank[places.ravel()]


def hashes_of(words: Sequence[Words] | Words) -> Words:
    """Return a hash of every column."""
    hashes = np.zeros(len(words[0]), dtype=np.uint64)
    for word in words:
        hash_line(word, hashes)
    return hashes


class Support(NamedTuple):
    """Columns that a detector rests on, with dual coefficients: positive in the target, negative in the rest."""

    columns: Ints
    dual_coef: Ints


@dataclass
class Cover:
    """Detectors of one class, in the order in which they were accepted; columns, not rows."""

    anchors: list[int] = field(default_factory=list)
    limits: list[Any] = field(default_factory=list)
    witnesses: list[int] = field(default_factory=list)
    coverage: list[int] = field(default_factory=list)
    uncovered: Columns = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_rejected: int = 0
    # Detectors count with masks, of what may not be on at each anchor; or with weights.
    bits: BitMatrix | None = None
    weights: list[NDArray[np.int8]] | None = None
    supports: list[Support] | None = None


@dataclass(frozen=True, eq=False)
class UniquePatterns:
    """Evidence whose columns stand for one or more points each; points are numbered class by class."""

    evidence: Evidence
    order: ClassOrder  # of the columns; their ``rows`` are their first points
    candidates: CandidateOrder  # columns, for each target class
    sizes: Ints  # how many points each column stands for
    leaders: Ints  # the point of each column that becomes a candidate first
    members: Callable[[Columns], Columns]  # from some columns to their points, ascending

    @classmethod
    def of_evidence(cls, evidence: Evidence, order: ClassOrder, candidates: CandidateOrder) -> UniquePatterns:
        """Return unique columns of evidence about points in class order; with values instead of bits, all of them."""
        everyone = ClassOrder(np.arange(int(order.starts[-1])), order.starts)
        if isinstance(evidence, Counts):
            blocks = list(zip(evidence.patterns.words, evidence.may_be_on.words, strict=True))
            exact = evidence.may_be_on is evidence.patterns
            return cls.of_blocks(blocks, evidence.patterns.n_bits, everyone, candidates, evidence.threads, exact=exact)
        return cls(evidence, everyone, candidates, np.ones_like(everyone.rows), everyone.rows, lambda columns: columns)

    @classmethod
    def of_blocks(
        cls, blocks: Sequence[tuple[Words, Words]], n_bits: int, order: ClassOrder, candidates: CandidateOrder,
        threads: Threads, *, exact: bool,
    ) -> UniquePatterns:  # fmt: skip
        """Return equal patterns of a class as one, from words (on, maybe) of points in row order."""
        # Patterns are equal if what may be on is, too. Only patterns that differ are ever copied.
        count, last = n_words(n_bits), last_word(n_bits)
        halves = list(zip(*blocks[:count], strict=True))[: 1 if exact else 2]
        keys = [word for half in halves for word in (*half[:-1], half[-1] & last)]
        codes, position = order.codes(), np.empty_like(order.rows)
        position[order.rows] = np.arange(len(order.rows))
        chosen, places = distinct_columns(keys, codes)
        firsts = position[chosen]
        by_class = np.argsort(firsts)
        own = np.empty_like(by_class)
        own[by_class] = np.arange(len(own))
        places, rows = own[places][order.rows], chosen[by_class]
        sizes, ranks = np.bincount(places, minlength=len(rows)).astype(np.int64), np.full(len(rows), NO_RANK)
        for points in candidates.values():
            np.minimum.at(ranks, places[points], np.arange(len(points)))
        on, *maybe = (BitMatrix.of_words(half, n_bits, rows, threads.map) for half in halves)
        groups = PatternGroups(on.words, codes[rows].astype(np.int64), sizes, firsts[by_class], ranks)
        return cls.of_groups(
            groups, Counts(on, threads, *maybe), candidates, len(order.starts) - 1,
            lambda columns: np.flatnonzero(np.isin(places, columns)),
        )  # fmt: skip

    @classmethod
    def of_groups(
        cls, groups: PatternGroups, evidence: Evidence, candidates: CandidateOrder, n_classes: int,
        members: Callable[[Columns], Columns],
    ) -> UniquePatterns:  # fmt: skip
        """Return the columns that groups are, with the evidence about them."""
        starts = np.searchsorted(groups.codes, np.arange(n_classes + 1))
        candidates_by_class: dict[int, Columns] = {}
        leaders = groups.firsts.copy()
        for k, points in candidates.items():
            own = slice(starts[k], starts[k + 1])
            candidates_by_class[k] = starts[k] + np.argsort(groups.ranks[own], kind="stable")
            leaders[own] = points[groups.ranks[own]]
        order = ClassOrder(groups.firsts, starts)
        return cls(evidence, order, candidates_by_class, groups.sizes, leaders, members)

    def in_points(self, cover: Cover) -> Cover:
        """Return a cover of columns as one of points: with masks, anchors are what was examined first."""
        firsts = self.order.rows
        anchors = firsts if cover.supports is not None else self.leaders
        return replace(
            cover,
            anchors=anchors[cover.anchors].tolist(),
            witnesses=firsts[cover.witnesses].tolist(),
            uncovered=self.members(cover.uncovered) if len(cover.uncovered) else cover.uncovered,
            supports=None
            if cover.supports is None
            else [Support(firsts[c], dual_coef) for c, dual_coef in cover.supports],
        )
