"""Tasks: functions of a chunk and small things, which can run anywhere, any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._support.console import silent
from .._support.threads import SERIAL, Work
from ..certificate import Certificate, certify
from ..construct.distinct import NO_RANK, Groups, distinct_columns
from ..construct.hyperplanes import Hyperplanes, largest_distance, nearest_row
from ..construct.patterns import Patterns, patterns_of
from ..construct.recipe import Recipe
from ..data import ExactSum, Floats, Matrix, Points, Rows, as_matrix, exact_sum, finite_points, row_digests
from ..data.equal import hashes_of
from ..data.labelled import DIGEST_BYTES
from ..data.matrices import dense_rows
from ..data.pairs import closest_pair
from ..network.sides import sides
from .runner import dask_module

SHORT_NO_RANK = 2**32 - 1  # no candidate, in 32 bits
NO_DIGESTS = np.empty((0, DIGEST_BYTES), dtype=np.uint8)


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
        """As :class:`~exactfit.construct.distinct.Groups` takes them."""
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
    matrix = as_matrix(chunk)
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
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def closest_of_chunks(one: Any, other: Any, codes: NDArray[Any]) -> tuple[float, tuple[int, int]]:
    """Distance and places of the closest pair of different classes among the rows of both; infinity without any."""
    if len(np.unique(codes)) < 2:
        return np.inf, (-1, -1)
    return closest_pair(joined_rows([checked(one), checked(other)]), codes.astype(np.int64), Work(SERIAL, silent))


def hashes_of_chunk(chunk: Any, part: int, n_parts: int) -> tuple[Rows, NDArray[np.uint64]]:
    """Of the rows whose hash belongs to one of several parts: numbers and hashes."""
    hashes = hashes_of(checked(chunk))
    rows = np.flatnonzero(hashes % np.uint64(n_parts) == part)
    return rows, hashes[rows]


def groups_of_chunk(chunk: Any, planes: Hyperplanes, own: Own) -> Groups:
    """Its rows by class and pattern."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    rows = own.first + np.arange(words.shape[1])
    return Groups.of(words, own.codes.astype(np.int64), rows, own.all_ranks())[0]


def members_of_chunk(chunk: Any, planes: Hyperplanes, own: Own, wanted: Groups) -> tuple[Rows, Rows]:
    """Rows that are in some groups, and the place of its group for each."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    keys = [
        np.concatenate([w, c.astype(np.uint64)[None]]) for w, c in ((wanted.words, wanted.codes), (words, own.codes))
    ]
    places = distinct_columns(np.concatenate(keys, axis=1))[1][len(wanted) :]
    rows = np.flatnonzero(places < len(wanted))
    return own.first + rows, places[rows]


def bits_of_chunk(chunk: Any, planes: Hyperplanes, options: Recipe) -> Patterns:
    """Sides of its rows, open ones among them if the options leave any."""
    return patterns_of(checked(chunk), planes, options, SERIAL)


def rows_of_chunk(chunk: Any, rows: NDArray[np.intp]) -> Floats:
    """Some of its rows."""
    return dense_rows(checked(chunk), rows)


def nearest_of_chunk(chunk: Any, points: Floats, candidates: list[NDArray[np.intp]]) -> list[tuple[float, int]]:
    """For each point the nearest of those candidates that are its rows, with its square; row -1 without any."""
    matrix = checked(chunk)
    return [
        nearest_row(matrix, point, rows) if len(rows) else (np.inf, -1)
        for point, rows in zip(points, candidates, strict=True)
    ]


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
