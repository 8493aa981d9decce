"""Tasks: functions of a chunk and small things, which can run anywhere, any number of times; patterns that stay there.

Unique patterns that are too many for one memory stay in parts where they are: masks and limits travel, and candidates
go in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import lowest_counts
from .._support.console import silent
from .._support.threads import SERIAL, Executor
from ..certificate import Certificate, certify
from ..construct.evidence import BlockSizing, Columns, Pieces, masks_of
from ..construct.hyperplanes import Hyperplanes, largest_distance
from ..construct.patterns import Patterns, patterns_of
from ..construct.unique_patterns import NO_RANK, PatternGroups, distinct_columns
from ..data import ExactSum, Floats, Matrix, Points, Rows, as_matrix, exact_sum, finite_points, row_digests
from ..data.equal import hashes_of
from ..data.labelled import DIGEST_BYTES
from ..data.matrices import canonical, dense_rows, refuse_masked
from ..data.pairs import closest_pair
from ..network.bits import BitMatrix, Words, n_words
from ..network.sides import sides
from ..options import Options
from .runner import Runner, dask_module, delayed

SHORT_NO_RANK = 2**32 - 1  # no candidate, in 32 bits
NO_DIGESTS = np.empty((0, DIGEST_BYTES), dtype=np.uint8)
# A round trip takes some 50 ms, in which a core counts as many words; a block of 256 candidates shares it.
THERE = BlockSizing(2**26, 256)
NOT_CLAIMED = int(np.iinfo(np.int32).max)


class Survey(NamedTuple):
    """What one look at a chunk tells."""

    n_rows: int
    n_features: int
    not_finite: int  # the first row with NaN or infinity, or -1
    total: ExactSum
    hashes: NDArray[np.uint64]  # none if they are too many to be kept


class Own(NamedTuple):
    """What the client knows of the rows of a chunk."""

    first: int  # the number of the first
    codes: NDArray[Any]
    ranks: NDArray[Any]  # of candidates; none: there are no candidates

    def all_ranks(self) -> Rows:
        """As :class:`~exactfit.construct.unique_patterns.PatternGroups` takes them."""
        if not len(self.ranks):
            return np.full(len(self.codes), NO_RANK)
        ranks = self.ranks.astype(np.int64)
        ranks[self.ranks == SHORT_NO_RANK] = NO_RANK
        return ranks


def checked(chunk: Any) -> Matrix:
    """A chunk behind the gate; it may be empty."""
    return finite_points(as_matrix(chunk))


def survey_chunk(chunk: Any, with_hashes: bool) -> Survey:
    """Shape, sum and perhaps hashes of a chunk, if its numbers are finite."""
    matrix = as_matrix(chunk, "a chunk of X")
    n_rows, d = matrix.shape
    bad = _first_not_finite(matrix)
    if bad >= 0:
        return Survey(n_rows, d, bad, ExactSum(0), np.empty(0, dtype=np.uint64))
    matrix = finite_points(matrix)
    return Survey(n_rows, d, bad, exact_sum(matrix), hashes_of(matrix) if with_hashes else np.empty(0, np.uint64))


def _first_not_finite(matrix: Matrix) -> int:
    points = Points(matrix)
    for start, stop in points.ranges():
        fine = np.isfinite(points.tile(start, stop)).all(axis=1)
        if not fine.all():
            return start + int(np.argmin(fine))
    return -1


def radius_of_chunk(chunk: Any, labels: NDArray[Any] | None, origin: Floats) -> tuple[float, NDArray[np.uint8]]:
    """Largest distance of its rows from ``origin``, 0 without any; and their digests, none without labels."""
    matrix = checked(chunk)
    return largest_distance(matrix, origin), NO_DIGESTS if labels is None else digests_of_chunk(matrix, labels)


def joined_rows(parts: Sequence[Any]) -> Any:
    """Chunks of one kind as one: frames or series, CSR matrices, arrays."""
    if hasattr(parts[0], "iloc"):
        return dask_module("pandas").concat(parts)
    if hasattr(parts[0], "tocsr"):
        return sp.vstack([canonical(part, "a chunk of X") for part in parts], format="csr")
    for part in parts:  # NumPy would forget the mask
        refuse_masked(part, "a chunk")
    return np.concatenate(parts)


def closest_of_chunks(one: Any, other: Any, codes: NDArray[Any]) -> tuple[float, tuple[int, int]]:
    """Distance and places of the closest pair of different classes among the rows of both; infinity without any."""
    if len(np.unique(codes)) < 2:
        return np.inf, (-1, -1)
    return closest_pair(joined_rows([checked(one), checked(other)]), codes.astype(np.int64), Executor(SERIAL, silent))


def hashes_of_chunk(chunk: Any, part: int, n_parts: int) -> tuple[Rows, NDArray[np.uint64]]:
    """Of the rows whose hash belongs to one of several parts: numbers and hashes."""
    hashes = hashes_of(checked(chunk))
    rows = np.flatnonzero(hashes % np.uint64(n_parts) == part)
    return rows, hashes[rows]


def groups_of_chunk(chunk: Any, own: Own, planes: Hyperplanes) -> PatternGroups:
    """Its rows by class and pattern."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    rows = own.first + np.arange(words.shape[1])
    return PatternGroups.of(words, own.codes.astype(np.int64), rows, own.all_ranks())


def members_of_chunk(chunk: Any, own: Own, planes: Hyperplanes, wanted: PatternGroups) -> tuple[Rows, Rows]:
    """Rows that are in some groups, and the place of its group for each."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    keys = np.vstack([np.hstack([wanted.words, words]), np.hstack([wanted.codes, own.codes]).astype(np.uint64)])
    places = distinct_columns(keys)[1][len(wanted) :]
    rows = np.flatnonzero(places < len(wanted))
    return own.first + rows, places[rows]


def bits_of_chunk(chunk: Any, planes: Hyperplanes, options: Options) -> Patterns:
    """Sides of its rows, open ones among them if the options leave any."""
    return patterns_of(checked(chunk), planes, options, SERIAL)


def rows_of_chunk(chunk: Any, rows: NDArray[np.intp]) -> Floats:
    """Some of its rows."""
    return dense_rows(checked(chunk), rows)


def digests_of_chunk(chunk: Any, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Digests of its rows with their labels."""
    points = Points(as_matrix(chunk))
    parts = [row_digests(points.tile(low, high), labels[low:high]) for low, high in points.ranges()]
    return np.concatenate([NO_DIGESTS, *parts])


def certified_chunk(
    chunk: Any, labels: NDArray[Any], model: Any, options: dict[str, Any]
) -> tuple[Certificate | None, NDArray[np.uint8]]:
    """The certificate of a model about its rows, None without any; and the digests of these."""
    matrix = as_matrix(chunk)
    certificate = certify(model, matrix, labels, **options) if matrix.shape[0] else None
    return certificate, digests_of_chunk(matrix, labels)


def answers_of_chunk(chunk: Any, how: tuple[Any, str, NDArray[Any]]) -> NDArray[Any]:
    """What a method of a model says of its rows; the third of ``how`` is that for none."""
    model, method, nothing = how
    matrix = as_matrix(chunk)
    return np.asarray(getattr(model, method)(matrix)) if matrix.shape[0] else nothing


def split_groups(groups: PatternGroups, n_parts: int) -> list[PatternGroups]:
    """Groups by the first of their words: equal patterns of all chunks meet in one part."""
    mixed = np.bitwise_xor.reduce(groups.words, axis=0) * np.uint64(0x9E3779B97F4A7C15)
    part = (mixed >> np.uint64(40)) % np.uint64(n_parts)
    return [groups.take(np.flatnonzero(part == k)) for k in range(n_parts)]


def join_parts(*parts: PatternGroups) -> PatternGroups:
    """The part of all chunks, equal patterns once."""
    return PatternGroups.joined(parts)


def without_words(groups: PatternGroups) -> PatternGroups:
    """What the client has to know."""
    return replace(groups, words=groups.words[:0])


def words_of_part(groups: PatternGroups, places: Columns) -> Words:
    """Some patterns."""
    return np.ascontiguousarray(groups.words[:, places])


def lowest_of_part(groups: PatternGroups, masks: Words, pieces: Pieces) -> tuple[NDArray[np.int64], Columns]:
    """The limits of masks over ranges of a part, and where they are attained first; -1 where there is nobody."""
    lowest, where = np.full(len(masks), np.iinfo(np.int64).max), np.full(len(masks), -1)
    for piece in pieces:
        lowest_counts(groups.words, *piece, masks, lowest, where)
    return lowest, where


def claims_of_part(
    groups: PatternGroups, masks: Words, limits: NDArray[np.int64], places: Columns
) -> NDArray[np.uint8]:
    """Whom of some places each detector claims, packed."""
    words = words_of_part(groups, places)
    masked_counts = np.empty((len(masks), len(places)), dtype=np.int32)
    count_all(words, 0, len(places), masks, 0, masked_counts)
    return np.packbits(masked_counts < limits[:, None], axis=1)


class KeptCounts:
    """Evidence for the cover step from patterns in parts elsewhere; see ``exactfit.construct.evidence``.

    Parameters
    ----------
    parts : list of handles
        Each a :class:`PatternGroups`, sorted by class and first row.
    n_bits : int
    runner : Runner
    """

    block_sizing, threads = THERE, SERIAL

    def __init__(self, parts: Sequence[Any], n_bits: int, runner: Runner) -> None:
        self.parts, self.n_bits, self.runner = parts, n_bits, runner
        known = runner.run([delayed(without_words)(part) for part in parts], "parts")
        names = ("words", "codes", "sizes", "firsts", "ranks")
        every = PatternGroups(*(np.concatenate([getattr(one, name) for one in known], axis=-1) for name in names))
        order = np.lexsort((every.firsts, every.codes))
        self.groups = every.take(order)  # all but their words
        self.homes = np.repeat(np.arange(len(parts)), [len(one) for one in known])[order]
        self.columns = [np.flatnonzero(self.homes == part) for part in range(len(parts))]  # of parts, ascending
        self.masks = np.empty((0, n_words(n_bits)), dtype=np.uint64)  # of the candidates asked for last
        self.asked, self.limited = (np.empty(0, dtype=np.int64) for _ in range(2))

    @property
    def highest(self) -> KeptCounts:
        """Bits are exact: what may be on is what is on."""
        return self

    def _at_home(self, columns: Columns) -> Iterator[tuple[Any, Columns, Columns]]:
        """Every part that holds some of the columns, with where these are among all, and where in the part."""
        homes = self.homes[columns]
        for part in np.unique(homes).tolist():
            own = np.flatnonzero(homes == part)
            yield self.parts[part], own, np.searchsorted(self.columns[part], columns[own])

    def take(self, columns: Columns) -> BitMatrix:
        """The patterns of some columns."""
        words = np.empty((n_words(self.n_bits), len(columns)), dtype=np.uint64)
        homes = list(self._at_home(columns))
        tasks = [delayed(words_of_part)(part, places) for part, _, places in homes]
        for (_, own, _), found in zip(homes, self.runner.run(tasks, "candidates"), strict=True):
            words[:, own] = found
        return BitMatrix(words, self.n_bits)

    def cost(self, rest: Pieces) -> int:
        """Words to count for one candidate's limit."""
        return n_words(self.n_bits) * sum(stop - start for start, stop in rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Algorithm 2, line 5: the least of all parts' least, the first column on a tie."""
        self.asked, self.masks = anchors, masks_of(self.take(anchors), np.arange(len(anchors)))
        masks = delayed(self.masks)
        pieces = [[tuple(np.searchsorted(own, piece).tolist()) for piece in rest] for own in self.columns]
        tasks = [delayed(lowest_of_part)(part, masks, own) for part, own in zip(self.parts, pieces, strict=True)]
        lowest, where = (np.stack(found) for found in zip(*self.runner.run(tasks, "limits"), strict=True))
        columns = np.stack([np.append(own, 2**62)[at] for own, at in zip(self.columns, where, strict=True)])
        best = np.lexsort((columns, lowest), axis=0)[0]
        everyone = np.arange(len(anchors))
        self.limited = lowest[best, everyone]
        return self.limited, columns[best, everyone]

    def select(self, columns: Columns | slice) -> Columns:
        """The columns themselves."""
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def masked_counts(self, anchors: Columns, selected: Columns) -> NDArray[np.int32]:
        """Zero where a detector claims a column, and beyond every limit elsewhere; limits were asked for before."""
        out = np.full((len(anchors), len(selected)), NOT_CLAIMED, dtype=np.int32)
        if not len(anchors):
            return out
        known = np.flatnonzero(np.isin(self.asked, anchors))
        masks, limits = delayed(self.masks[known]), delayed(self.limited[known])
        homes = list(self._at_home(selected))
        tasks = [delayed(claims_of_part)(part, masks, limits, places) for part, _, places in homes]
        for at, found in self.runner.stream(tasks, "claims"):
            own = homes[at][1]
            claimed = np.unpackbits(found, axis=1, count=len(own)).astype(bool)
            out[:, own] = np.where(claimed, 0, NOT_CLAIMED)
        return out

    def stored_limits(self, limits: NDArray[np.int64], _highest: NDArray[np.int32]) -> list[int]:
        """Counts are exact: the limits are the minima themselves."""
        return [int(limit) for limit in limits]
