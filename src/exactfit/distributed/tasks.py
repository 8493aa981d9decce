"""Tasks: functions of a chunk and small things, which can run anywhere, any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._support.console import silent
from .._support.threads import SERIAL, Executor
from ..certificate import Certificate, certify
from ..construct.hyperplanes import Hyperplanes, largest_distance
from ..construct.patterns import Patterns, patterns_of
from ..construct.unique_patterns import NO_RANK, PatternGroups, distinct_columns
from ..data import ExactSum, Floats, Matrix, Points, Rows, as_matrix, exact_sum, finite_points, row_digests
from ..data.equal import hashes_of
from ..data.labelled import DIGEST_BYTES
from ..data.matrices import canonical, dense_rows, refuse_masked
from ..data.pairs import closest_pair
from ..network.sides import sides
from ..options import Options
from .runner import dask_module

SHORT_NO_RANK = 2**32 - 1  # no candidate, in 32 bits
NO_DIGESTS = np.empty((0, DIGEST_BYTES), dtype=np.uint8)


class Survey(NamedTuple):
    """Result of one look at a chunk."""

    n_rows: int
    n_features: int
    not_finite: int  # the first row with NaN or infinity, or -1
    total: ExactSum
    hashes: NDArray[np.uint64]  # none if they are too many to be kept


class Own(NamedTuple):
    """Numbers, classes and candidates among the rows of a chunk, as the client knows them."""

    first: int  # the number of the first row
    codes: NDArray[Any]
    ranks: NDArray[Any]  # of candidates; none: there are no candidates


def checked(chunk: Any) -> Matrix:
    """Return a chunk as a matrix of finite numbers; it may be empty."""
    return finite_points(as_matrix(chunk))


def survey_chunk(chunk: Any, with_hashes: bool) -> Survey:
    """Return shape, sum and perhaps hashes of a chunk, if its numbers are finite."""
    matrix, none = as_matrix(chunk, "a chunk of X"), np.empty(0, dtype=np.uint64)
    (n_rows, d), points = matrix.shape, Points(matrix)
    for start, stop in points.ranges():
        fine = np.isfinite(points.tile(start, stop)).all(axis=1)
        if not fine.all():
            return Survey(n_rows, d, start + int(np.argmin(fine)), ExactSum(0), none)
    matrix = finite_points(matrix)
    return Survey(n_rows, d, -1, exact_sum(matrix), hashes_of(matrix) if with_hashes else none)


def radius_of_chunk(chunk: Any, labels: NDArray[Any] | None, origin: Floats) -> tuple[float, NDArray[np.uint8]]:
    """Return the largest distance of its rows from ``origin``, 0 without any; and digests, none without labels."""
    matrix = checked(chunk)
    return largest_distance(matrix, origin), NO_DIGESTS if labels is None else digests_of_chunk(matrix, labels)


def joined_rows(parts: Sequence[Any]) -> Any:
    """Join chunks of one kind: frames or series, CSR matrices, arrays."""
    if hasattr(parts[0], "iloc"):
        return dask_module("pandas").concat(parts)
    if hasattr(parts[0], "tocsr"):
        return sp.vstack([canonical(part, "a chunk of X") for part in parts], format="csr")
    for part in parts:  # NumPy would forget the mask
        refuse_masked(part, "a chunk")
    return np.concatenate(parts)


def closest_of_chunks(one: Any, other: Any, codes: NDArray[Any]) -> tuple[float, tuple[int, int]]:
    """Return the closest pair of different classes among the rows of both: distance, infinity without any, and rows."""
    if len(np.unique(codes)) < 2:
        return np.inf, (-1, -1)
    return closest_pair(joined_rows([checked(one), checked(other)]), codes.astype(np.int64), Executor(SERIAL, silent))


def hashes_of_chunk(chunk: Any, part: int, n_parts: int) -> tuple[Rows, NDArray[np.uint64]]:
    """Return numbers and hashes of the rows whose hash belongs to one of several parts."""
    hashes = hashes_of(checked(chunk))
    rows = np.flatnonzero(hashes % np.uint64(n_parts) == part)
    return rows, hashes[rows]


def groups_of_chunk(chunk: Any, own: Own, planes: Hyperplanes) -> PatternGroups:
    """Group its rows by class and pattern."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    ranks = np.full(len(own.codes), NO_RANK)
    if len(own.ranks):
        ranks = np.where(own.ranks == SHORT_NO_RANK, NO_RANK, own.ranks.astype(np.int64))
    rows = own.first + np.arange(words.shape[1])
    return PatternGroups.of(words, own.codes.astype(np.int64), rows, ranks)


def members_of_chunk(chunk: Any, own: Own, planes: Hyperplanes, wanted: PatternGroups) -> tuple[Rows, Rows]:
    """Return its rows that are in some groups, and the place of its group for each."""
    words = sides(checked(chunk), planes.weights, planes.biases).words
    keys = np.vstack([np.hstack([wanted.words, words]), np.hstack([wanted.codes, own.codes]).astype(np.uint64)])
    places = distinct_columns(keys)[1][len(wanted) :]
    rows = np.flatnonzero(places < len(wanted))
    return own.first + rows, places[rows]


def bits_of_chunk(chunk: Any, planes: Hyperplanes, options: Options) -> Patterns:
    """Return the sides of its rows, open ones among them if the options leave any."""
    return patterns_of(checked(chunk), planes, options, SERIAL)


def rows_of_chunk(chunk: Any, rows: NDArray[np.intp]) -> Floats:
    """Return some of its rows."""
    return dense_rows(checked(chunk), rows)


def digests_of_chunk(chunk: Any, labels: NDArray[Any]) -> NDArray[np.uint8]:
    """Return digests of its rows with their labels."""
    points = Points(as_matrix(chunk))
    parts = [row_digests(points.tile(low, high), labels[low:high]) for low, high in points.ranges()]
    return np.concatenate([NO_DIGESTS, *parts])


def certified_chunk(
    chunk: Any, labels: NDArray[Any], model: Any, options: dict[str, Any]
) -> tuple[Certificate | None, NDArray[np.uint8]]:
    """Return the certificate of a model about its rows, None without any; and the digests of these."""
    matrix = as_matrix(chunk)
    certificate = certify(model, matrix, labels, **options) if matrix.shape[0] else None
    return certificate, digests_of_chunk(matrix, labels)


def answers_of_chunk(chunk: Any, how: tuple[Any, str, NDArray[Any]]) -> NDArray[Any]:
    """Return the answers of a method of a model; the third of ``how`` are those for no rows."""
    model, method, nothing = how
    matrix = as_matrix(chunk)
    return np.asarray(getattr(model, method)(matrix)) if matrix.shape[0] else nothing
