"""Rows of Dask collections: chunks of any sizes, with global row numbers, looked at where they are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.threads import usable_memory
from ..construct.hyperplanes import nearest, radius
from ..data import (
    Digest,
    ExactSum,
    Floats,
    Matrix,
    PartedPoints,
    Points,
    as_matrix,
    exact_sum,
    finite_points,
    row_digests,
)
from ..data.digest import DIGEST_BYTES
from ..data.equal import hashes_of
from ..exceptions import DataError
from ..network.bits import BitMatrix
from ..network.sides import dense_rows, sides
from .runner import Runner, dask_module

logger = logging.getLogger(__name__)


class Survey(NamedTuple):
    """What one look at a chunk tells."""

    n_rows: int
    n_features: int
    not_finite: int  # the first row with NaN or infinity, or -1
    total: ExactSum
    hashes: NDArray[np.uint64]


# Tasks: functions of a chunk and small things, which can run anywhere, any number of times.


def checked(chunk: Any) -> Matrix:
    """A chunk behind the gate; it may be empty."""
    return finite_points(as_matrix(chunk))


def survey_chunk(chunk: Any) -> Survey:
    """Shape, sum and hashes of a chunk, if its numbers are finite."""
    matrix = as_matrix(chunk)
    n_rows, d = matrix.shape
    bad = _first_not_finite(matrix)
    if bad >= 0:
        return Survey(n_rows, d, bad, ExactSum(0), np.empty(0, dtype=np.uint64))
    matrix = finite_points(matrix)
    return Survey(n_rows, d, bad, exact_sum(matrix), hashes_of(matrix))


def _first_not_finite(matrix: Matrix) -> int:
    points = Points(matrix)
    for start, stop in points.ranges():
        fine = np.isfinite(points.tile(start, stop)).all(axis=1)
        if not fine.all():
            return start + int(np.argmin(fine))
    return -1


def radius_of_chunk(chunk: Any, origin: Floats) -> float:
    """Largest distance of its rows from ``origin``, 0 without any."""
    return radius(checked(chunk), origin)


def bits_of_chunk(chunk: Any, planes: tuple[NDArray[Any], Floats]) -> NDArray[np.uint64]:
    """Packed sides of its rows."""
    return sides(checked(chunk), *planes).words


def rows_of_chunk(chunk: Any, rows: NDArray[np.intp]) -> Floats:
    """Some of its rows."""
    return dense_rows(checked(chunk), rows)


def nearest_of_chunk(chunk: Any, points: Floats, candidates: list[NDArray[np.intp]]) -> list[tuple[float, int]]:
    """For each point the nearest of those candidates that are its rows, with its square; row -1 without any."""
    matrix = checked(chunk)
    return [
        nearest(matrix, point, rows) if len(rows) else (np.inf, -1)
        for point, rows in zip(points, candidates, strict=True)
    ]


def digests_of_chunk(chunk: Any, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Digests of its rows with their labels."""
    points = Points(as_matrix(chunk))
    parts = [row_digests(points.tile(low, high), labels[low:high]) for low, high in points.ranges()]
    return np.concatenate([np.empty((0, DIGEST_BYTES), dtype=np.uint8), *parts])


def answers_of_chunk(chunk: Any, how: tuple[Any, str, NDArray[Any]]) -> NDArray[Any]:
    """What a method of a model says of its rows; the third of ``how`` is that for none."""
    model, method, nothing = how
    matrix = as_matrix(chunk)
    return np.asarray(getattr(model, method)(matrix)) if matrix.shape[0] else nothing


@dataclass(eq=False)
class Shards(PartedPoints):
    """Points of a Dask collection, surveyed.

    Parameters
    ----------
    chunks : list of Delayed
        Each one a matrix or frame of some rows, in order.
    starts : ndarray of int64, shape (n_chunks + 1,)
        The number of each chunk's first row, and of all rows.
    surveys : list of Survey
    runner : Runner
    memory : int
        See :class:`PartedPoints`.
    """

    chunks: list[Any]
    starts: NDArray[np.int64]
    surveys: list[Survey]
    runner: Runner
    memory: int
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.shape = int(self.starts[-1]), self.surveys[0].n_features

    @classmethod
    def of(cls, X: Any, runner: Runner, memory: int | None = None) -> Shards:
        """One pass over all chunks: their lengths, which Dask may not know, and whether their numbers will do."""
        chunks = row_chunks(X)
        surveys = runner.run([_task(survey_chunk)(chunk) for chunk in chunks], "survey")
        starts = np.concatenate([[0], np.cumsum([one.n_rows for one in surveys])]).astype(np.int64)
        for start, one in zip(starts, surveys, strict=False):
            if one.not_finite >= 0:
                raise DataError(f"row {start + one.not_finite} of X holds NaN or infinity: drop or fill such values")
        features = {one.n_features for one in surveys}
        if len(features) > 1:
            raise DataError(f"chunks of X must have the same features, got {sorted(features)} of them")
        if not starts[-1] or features == {0}:
            raise DataError(f"X must have at least one row and one column, got shape {(int(starts[-1]), *features)}")
        return cls(chunks, starts, surveys, runner, usable_memory() if memory is None else memory)

    def __getitem__(self, rows: Any) -> Floats:
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        homes = self._homes(wanted)
        there = np.unique(homes)
        places = [np.flatnonzero(homes == home) for home in there]
        tasks = [
            _task(rows_of_chunk)(self.chunks[home], wanted[place] - self.starts[home])
            for home, place in zip(there, places, strict=True)
        ]
        found = np.empty((len(wanted), self.shape[1]))
        for place, part in zip(places, self.runner.run(tasks, "rows") if tasks else [], strict=True):
            found[place] = part
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def nearest(self, points: Floats, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
        """The nearest of each chunk's nearest, the least row on a tie."""
        lines = [np.unique(rows) for rows in candidates]
        shared = _shared(points)
        homes = np.unique(self._homes(np.concatenate(lines)))
        tasks = [_task(nearest_of_chunk)(self.chunks[k], shared, [self._own(rows, k) for rows in lines]) for k in homes]
        found = self.runner.run(tasks, "rows")
        firsts = self.starts[homes].tolist()
        return np.array(
            [
                min((square, first + row) for first, (square, row) in zip(firsts, of_point, strict=True) if row >= 0)[1]
                for of_point in zip(*found, strict=True)
            ]
        )

    def _homes(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The chunk of each row; empty chunks have none."""
        return np.asarray(np.searchsorted(self.starts, rows, side="right") - 1)

    def _own(self, rows: NDArray[np.intp], chunk: int) -> NDArray[np.intp]:
        """Those of some sorted rows that are in a chunk, numbered from its first."""
        low, high = np.searchsorted(rows, self.starts[chunk : chunk + 2])
        return np.asarray(rows[low:high] - self.starts[chunk])

    def mean(self) -> Floats:
        """Of the exact sum, merged from those of chunks."""
        total = ExactSum(self.shape[1])
        for one in self.surveys:
            total.merge(one.total)
        return total.over(len(self))

    def radius(self, origin: Floats) -> float:
        """The largest of all chunks'."""
        return float(max(self._each(radius_of_chunk, origin, "radius")))

    def hashes(self) -> NDArray[np.uint64]:
        """As the survey found them."""
        return np.concatenate([one.hashes for one in self.surveys])

    def sides(self, weights: NDArray[Any], biases: Floats) -> BitMatrix:
        """Every chunk's, side by side."""
        words = self._each(bits_of_chunk, (weights, biases), "bits")
        return BitMatrix(np.concatenate(words, axis=1), len(biases))

    def _each(self, work: Callable[..., Any], argument: Any, what: str) -> list[Any]:
        """A function of every chunk and one argument, which is in the graph once."""
        shared = _shared(argument)
        return self.runner.run([_task(work)(chunk, shared) for chunk in self.chunks], what)

    def digest(self, y: NDArray[Any]) -> str:
        """As :func:`exactfit.data.data_digest`: digests of rows come from where the rows are."""
        tasks = [
            _task(digests_of_chunk)(chunk, y[low:high])
            for chunk, (low, high) in zip(self.chunks, pairwise(self.starts), strict=True)
        ]
        digest = Digest(self.shape)
        for part in self.runner.run(tasks, "digest"):
            digest.join(part)
        return digest.hexdigest()


def _task(work: Callable[..., Any]) -> Any:
    """A function as a task: named by what it is given, so that the same work has the same name."""
    return dask_module("dask").delayed(work, pure=True, traverse=False)


def _shared(argument: Any) -> Any:
    """What many tasks take, once in the graph: with it, tasks can run again wherever they are."""
    return dask_module("dask").delayed(argument, pure=True, traverse=False)


def is_collection(data: Any) -> bool:
    """Whether Dask holds it."""
    return bool(dask_module("dask").is_dask_collection(data))


def row_chunks(X: Any) -> list[Any]:
    """The chunks of an array or frame, each with all features of some rows."""
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
    """Columns of a frame must hold numbers."""
    kinds = {name: getattr(dtype, "numpy_dtype", dtype) for name, dtype in frame.dtypes.items()}
    words = [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    if words:
        raise DataError(
            f"columns {words} of X hold no numbers: encode them first, the same for all parts, or leave them out"
        )


def lazy_rows(X: Any, work: Callable[..., NDArray[Any]], argument: Any, like: NDArray[Any]) -> Any:
    """A function of every chunk and one argument as a Dask array, one row for each; ``like`` is one without any."""
    da = dask_module("dask.array")
    chunks = row_chunks(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(chunks)
    shared = _shared(argument)
    parts = [
        da.from_delayed(_task(work)(chunk, shared), shape=(length, *like.shape[1:]), dtype=like.dtype)
        for chunk, length in zip(chunks, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def gathered_labels(y: Any, runner: Runner) -> Any:
    """Labels of a Dask collection, all of them here; others as they are."""
    if not is_collection(y):
        return y
    parts = runner.run(list(np.ravel(np.array(y.to_delayed(), dtype=object))), "labels")
    if hasattr(parts[0], "iloc"):
        return dask_module("pandas").concat(parts)
    return np.concatenate(parts)
