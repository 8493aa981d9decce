"""Rows of Dask collections, in chunks of any sizes, and answers as such."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Threads, usable_memory
from ..certificate import Certificate
from ..construct.evidence import Columns, Counts
from ..construct.hyperplanes import Hyperplanes
from ..construct.patterns import Patterns
from ..construct.unique_patterns import CandidateOrder, ClassOrder, PatternGroups, UniquePatterns
from ..data import ChunkedPoints, Codes, ExactSum, Floats, Rows, new_digest, not_finite, refuse_empty
from ..data.point_set import exact_square
from ..exceptions import DataError, TooLargeError
from ..network.bits import BitMatrix, n_words
from ..options import Options
from . import tasks
from .runner import Runner, dask_module, delayed

logger = logging.getLogger(__name__)

SORTED_HASH = 40  # bytes that it takes to sort a hash with its row
MERGED = 2**26  # bytes of groups that are joined at a time


@dataclass(eq=False)
class Shards(ChunkedPoints):
    """Points of a Dask collection: chunks that stay where they are, with global row numbers."""

    chunks: list[Any]  # each one a matrix or frame of some rows, delayed, in order
    starts: NDArray[np.int64]  # the number of each chunk's first row, and of all rows
    surveys: list[tasks.Survey]
    runner: Runner
    memory: int
    labels: NDArray[Any] | None = None  # once they are known, digests of rows come along with the radius, in one pass
    shape: tuple[int, int] = field(init=False)
    radii: dict[bytes, float] = field(init=False, default_factory=dict)
    known_digest: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.shape = int(self.starts[-1]), self.surveys[0].n_features

    @classmethod
    def of(cls, X: Any, runner: Runner, memory: int | None = None) -> Shards:
        """Go once over all chunks, for their lengths, which Dask may not know, and refuse numbers that will not do."""
        chunks = row_chunks(X)
        memory = usable_memory() if memory is None else memory
        known = X.shape[0] if hasattr(X, "chunks") else np.nan
        with_hashes = known * SORTED_HASH <= memory  # False for an unknown number
        surveys = runner.run([delayed(tasks.survey_chunk)(chunk, with_hashes) for chunk in chunks], "survey")
        starts = np.concatenate([[0], np.cumsum([one.n_rows for one in surveys])]).astype(np.int64)
        for start, one in zip(starts, surveys, strict=False):
            if one.not_finite >= 0:
                raise not_finite(start + one.not_finite)
        features = {one.n_features for one in surveys}
        if len(features) > 1:
            raise DataError(f"chunks of X must have the same features, got {sorted(features)} of them")
        refuse_empty((int(starts[-1]), *features))
        return cls(chunks, starts, surveys, runner, memory)

    def __getitem__(self, rows: Any) -> Floats:
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        homes = self._homes(wanted)
        there = np.unique(homes)
        places = [np.flatnonzero(homes == home) for home in there]
        jobs = [
            delayed(tasks.rows_of_chunk)(self.chunks[home], wanted[place] - self.starts[home])
            for home, place in zip(there, places, strict=True)
        ]
        found = np.empty((len(wanted), self.shape[1]))
        for place, part in zip(places, self.runner.run(jobs, "rows") if jobs else [], strict=True):
            found[place] = part
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def _homes(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the chunk of each row; empty chunks have none."""
        return np.asarray(np.searchsorted(self.starts, rows, side="right") - 1)

    def mean(self) -> Floats:
        """Return the mean of the exact sum, merged from those of chunks."""
        total = ExactSum(self.shape[1])
        for one in self.surveys:
            total.merge(one.total)
        return total.over(len(self))

    def radius(self, origin: Floats) -> float:
        """Return the largest distance from a point, of all chunks'."""
        # Chunks are read once: where labels are known, digests of rows come along with the radius.
        key = origin.tobytes()
        if key not in self.radii:
            found = self.runner.stream(self._labelled(tasks.radius_of_chunk, self.labels, delayed(origin)), "radius")
            own, digest = _joined(self.shape, found)
            self.known_digest = None if self.labels is None else digest
            self.radii[key] = max(own.values())
        return self.radii[key]

    def closest_pair(self, codes: Codes) -> tuple[float, tuple[int, int]]:
        """Return the closest pair of any two chunks; of several, that of least exact square, and the first rows."""
        # The closest pair lies in one chunk or in two, and whoever looks at two chunks together sees both cases.
        full = np.flatnonzero(np.diff(self.starts)).tolist()
        meetings = list(combinations(full, 2)) or [(full[0], full[0])]
        short, rows = codes.astype(np.min_scalar_type(int(codes.max()))), np.arange(len(self))
        both = [np.concatenate([rows[slice(*self.starts[k : k + 2])] for k in meeting]) for meeting in meetings]
        jobs = [
            delayed(tasks.closest_of_chunks)(self.chunks[i], self.chunks[j], short[own])
            for (i, j), own in zip(meetings, both, strict=True)
        ]
        gaps, places = zip(*self.runner.run(jobs, "distances"), strict=True)
        closest = {
            (int(own[a]), int(own[b])) for gap, (a, b), own in zip(gaps, places, both, strict=True) if gap == min(gaps)
        }
        return min(gaps), min(closest, key=lambda pair: (exact_square(*self[np.array(pair)]), pair))

    def hashed_rows(self) -> Iterator[tuple[Rows, NDArray[np.uint64]]]:
        """Yield hashes of the survey; where they are too many for this memory, in parts, with a pass for each."""
        hashes = np.concatenate([one.hashes for one in self.surveys])
        if len(hashes) == len(self):
            self.surveys = [one._replace(hashes=np.empty(0, np.uint64)) for one in self.surveys]  # wanted once
            yield np.arange(len(self)), hashes
            return
        n_parts = -(-len(self) * SORTED_HASH // self.memory)
        for part in range(n_parts):
            jobs = [delayed(tasks.hashes_of_chunk)(chunk, part, n_parts) for chunk in self.chunks]
            rows, found = zip(*self.runner.run(jobs, f"hashes {part + 1} of {n_parts}"), strict=True)
            firsts = self.starts[:-1].tolist()
            yield np.concatenate([first + own for first, own in zip(firsts, rows, strict=True)]), np.concatenate(found)

    def _own(self, order: ClassOrder, candidates: CandidateOrder) -> list[tasks.Own]:
        """Return classes and candidates of the rows of every chunk, in few bytes."""
        # Ranks in 32 bits: they travel to the workers with every pass.
        codes, ranks = order.codes(), np.full(len(self) if candidates else 0, tasks.SHORT_NO_RANK, dtype=np.uint32)
        for columns in candidates.values():
            ranks[order.rows[columns]] = np.arange(len(columns), dtype=np.uint32)
        return [tasks.Own(int(low), codes[low:high], ranks[low:high]) for low, high in pairwise(self.starts)]

    def groups(self, planes: Hyperplanes, order: ClassOrder, candidates: CandidateOrder) -> PatternGroups | None:
        """Return all rows by class and pattern, None if these do not fit in this memory."""
        waiting = list[PatternGroups]()
        jobs = self._each(tasks.groups_of_chunk, self._own(order, candidates), delayed(planes))
        for _, found in self.runner.stream(jobs, "patterns"):
            waiting.append(found)
            # Joining sorts all of them, so parts wait until together they are as many as what is joined.
            if sum(part.n_bytes for part in waiting[1:]) > max(waiting[0].n_bytes, MERGED):
                waiting = [PatternGroups.joined(waiting)]
                if waiting[0].n_bytes > self.memory:
                    return None
        groups = PatternGroups.joined(waiting)
        return groups if groups.n_bytes <= self.memory else None

    def members(self, planes: Hyperplanes, order: ClassOrder, groups: PatternGroups) -> tuple[Rows, Rows]:
        """Return rows that are in some groups, ascending, and the place of its group for each."""
        jobs = self._each(tasks.members_of_chunk, self._own(order, {}), delayed(planes), delayed(groups))
        rows, places = zip(*self.runner.run(jobs, "rows"), strict=True)
        return np.concatenate(rows), np.concatenate(places)

    def unique_patterns(
        self, planes: Hyperplanes, order: ClassOrder, candidates: CandidateOrder, threads: Threads
    ) -> UniquePatterns:
        """Return the unique patterns of all rows, which have to fit in this memory."""
        groups = self.groups(planes, order, candidates)
        if groups is None:
            raise TooLargeError(
                f"the distinct patterns of {planes.count} hyperplanes exceed what memory allows ({self.memory:,} "
                "bytes): use a smaller width, or raise memory_limit"
            )
        return self.as_unique(planes, order, candidates, groups, threads)

    def as_unique(
        self, planes: Hyperplanes, order: ClassOrder, candidates: CandidateOrder, groups: PatternGroups,
        threads: Threads,
    ) -> UniquePatterns:  # fmt: skip
        """Return groups of rows as groups of columns."""
        n_classes = len(order.starts) - 1
        starts = np.searchsorted(groups.codes, np.arange(n_classes + 1))
        firsts = [order.columns(groups.firsts[a:b], k) for k, (a, b) in enumerate(pairwise(starts))]

        def members(columns: Columns) -> Columns:
            wanted = groups.take(columns)
            rows, places = self.members(planes, order, wanted)
            codes = wanted.codes[places]
            return np.concatenate([order.columns(rows[codes == k], int(k)) for k in np.unique(codes)])

        evidence = Counts(BitMatrix(groups.words, planes.count), threads)
        named = replace(groups, firsts=np.concatenate(firsts))
        return UniquePatterns.of_groups(named, evidence, candidates, n_classes, members)

    def patterns(self, planes: Hyperplanes, options: Options) -> Patterns:
        """Return the patterns of all rows side by side, if they fit in this memory."""
        needed = len(self) * 8 * n_words(planes.count) * (2 if options.has_open_bits else 1)
        if needed > self.memory:
            raise TooLargeError(
                f"a margin needs the patterns of all {len(self)} points here, {needed:,} bytes, memory_limit allows "
                f"{self.memory:,}: use margin=0, for which distinct ones will do, a smaller width, or a larger limit"
            )
        one, how = delayed(planes), delayed(options)
        jobs = [delayed(tasks.bits_of_chunk)(chunk, one, how) for chunk in self.chunks]
        return Patterns.joined(self.runner.run(jobs, "bits"))

    def digest(self, y: NDArray[Any]) -> str:
        """Return the digest of all rows, as :func:`exactfit.data.data_digest` does."""
        if self.known_digest is not None and y is self.labels:
            return self.known_digest
        found = self.runner.stream(self._labelled(tasks.digests_of_chunk, y), "digest")
        return _joined(self.shape, ((place, (None, digests)) for place, digests in found))[1]

    def certify(self, model: Any, y: NDArray[Any], options: dict[str, Any]) -> Certificate:
        """Return the certificate of all rows, joined from those of chunks."""
        found = self.runner.stream(self._labelled(tasks.certified_chunk, y, delayed(model), delayed(options)), "proofs")
        made, digest = _joined(self.shape, found)
        return Certificate.joined([one for _, one in sorted(made.items()) if one is not None], digest)

    def _labelled(self, work: Callable[..., Any], y: NDArray[Any] | None, *arguments: Any) -> list[Any]:
        """Return a task for every chunk and its labels, if there are such."""
        labels = [None if y is None else y[low:high] for low, high in pairwise(self.starts)]
        return self._each(work, labels, *arguments)

    def _each(self, work: Callable[..., Any], owns: Sequence[Any], *arguments: Any) -> list[Any]:
        """Return a task for every chunk and what belongs to it."""
        return [delayed(work)(chunk, own, *arguments) for chunk, own in zip(self.chunks, owns, strict=True)]


def _joined(
    shape: tuple[int, int], results: Iterable[tuple[int, tuple[Any, NDArray[np.uint8]]]]
) -> tuple[dict[int, Any], str]:
    """Return results of chunks by their place, and the digest of all rows, joined in order as those of chunks come."""
    found, digest, early, following = dict[int, Any](), new_digest(shape), dict[int, NDArray[np.uint8]](), 0
    for place, (own, digests) in results:
        found[place], early[place] = own, digests
        while following in early:
            digest.update(early.pop(following))
            following += 1
    return found, digest.hexdigest()


def is_collection(data: Any) -> bool:
    """Return whether something is a Dask collection."""
    return bool(dask_module("dask").is_dask_collection(data))


def row_chunks(X: Any) -> list[Any]:
    """Return the chunks of an array or frame, each with all features of some rows."""
    if not is_collection(X):
        raise DataError(
            f"X must be a Dask array or frame, got {type(X).__name__}: InterpolatingClassifier takes others"
        )
    if getattr(X, "ndim", 2) != 2:
        raise DataError(f"X must have rows and columns, got {X.ndim} dimensions")
    if hasattr(X, "columns"):
        _refuse_words(X)
    elif X.numblocks[1] > 1:
        logger.info("features of X lie in %d chunks: they are joined", X.numblocks[1])
        X = X.rechunk({1: -1})
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _refuse_words(frame: Any) -> None:
    """Refuse columns of a frame that hold no numbers."""
    kinds = {name: getattr(dtype, "numpy_dtype", dtype) for name, dtype in frame.dtypes.items()}
    words = [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    if words:
        raise DataError(
            f"columns {words} of X hold no numbers: encode them first, the same for all parts, or leave them out"
        )


def lazy_rows(X: Any, work: Callable[..., NDArray[Any]], argument: Any, like: NDArray[Any]) -> Any:
    """Return a function of every chunk and one argument as a Dask array; ``like`` is its result for no rows."""
    da = dask_module("dask.array")
    chunks = row_chunks(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(chunks)
    one = delayed(argument)
    parts = [
        da.from_delayed(delayed(work)(chunk, one), shape=(length, *like.shape[1:]), dtype=like.dtype)
        for chunk, length in zip(chunks, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def gathered_labels(y: Any, runner: Runner) -> Any:
    """Return all labels of a Dask collection; others as they are."""
    if not is_collection(y):
        return y
    parts = runner.run(list(np.ravel(np.array(y.to_delayed(), dtype=object))), "labels")
    return tasks.joined_rows(parts)
