"""Points of every kind as a matrix of finite numbers, checked once; chunked points; exact sums over rows."""

from __future__ import annotations

import mmap
import numbers
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.rounding import EXACT_INTEGERS
from .._kernels.rows import DIGIT_BITS, DIGITS, add_exactly, carry
from ..exceptions import DataError

Matrix = Any
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

ROW_TILE = 1024  # rows: a few megabytes for images, and enough that a kernel's start does not matter
TILE_NUMBERS = 2**22  # of a dense tile of rows: 32 MB
PLACES = 1074  # digits of exact sums count multiples of the smallest float64 number, 2^-1074


def as_points(X: Any, name: str = "X", n_features: int | None = None, *, or_none: bool = False) -> Matrix:
    """Return points as a finite float32 or float64 array or CSR matrix, with 0.0 for -0.0; some, unless ``or_none``."""
    matrix = as_matrix(X, name)
    if not or_none:
        refuse_empty(matrix.shape, name)
    if n_features is not None:
        refuse_other_features(matrix.shape[1], n_features, name)
    return finite_points(matrix, name)


def refuse_empty(shape: tuple[int, ...], name: str = "X") -> None:
    """Refuse data without rows or columns."""
    if not all(shape):
        raise DataError(f"{name} must have at least one row and one column, got shape {tuple(shape)}")


def refuse_other_features(given: int, wanted: int, name: str = "X", taker: str = "network") -> None:
    """Refuse points of another number of features."""
    if given != wanted:
        raise DataError(f"{name} has {given} features, the {taker} takes {wanted}")


def not_finite(row: int, name: str = "X") -> DataError:
    """Return the error for the first row, or label, that is no finite number."""
    return DataError(f"row {row} of {name} holds NaN or infinity: drop or fill such values")


def not_real(name: str = "X") -> DataError:
    """Return the error for complex numbers, in words that scikit-learn's checks look for."""
    return DataError(f"{name} must hold real numbers, got complex ones. Complex data not supported: convert them first")


def not_numbers(error: Exception, name: str = "X") -> DataError:
    """Return the error for words and other objects."""
    return DataError(f"{name} must hold numbers only: {error}. exactfit.TableModel takes categories and dates too")


def refuse_misshapen(X: Any, name: str = "X") -> None:
    """Refuse data without rows and columns, in words that scikit-learn's checks look for, and complex numbers."""
    given = X if hasattr(X, "shape") else _as_array(X, name)
    if len(given.shape) != 2:
        remedy = "Reshape your data: reshape(-1, 1) if it is one feature, reshape(1, -1) if it is one point"
        raise DataError(f"{name} must have rows and columns, got shape {tuple(given.shape)}. {remedy}")
    types = getattr(given, "dtypes", [getattr(given, "dtype", None)])
    if any(getattr(dtype, "kind", None) == "c" for dtype in types):
        raise not_real(name)


def refuse_masked(X: Any, name: str = "X") -> None:
    """Refuse masked arrays with masked entries, and lists of such: numbers below a mask are no data."""
    # NumPy makes plain arrays of lists of masked rows, and the masks are lost.
    parts = X if isinstance(X, list | tuple) else [X]
    for row, part in enumerate(parts):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            first = int(np.argwhere(np.ma.getmaskarray(np.atleast_1d(part)))[0, 0]) if part is X else row
            raise DataError(f"row {first} of {name} holds masked values: fill them in, or drop such rows")


def _as_array(X: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers only: {error}") from error


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Return real numbers in rows and columns, none of them rounded; they may be NaN or infinite."""
    refuse_masked(X, name)
    values = X if sp.issparse(X) else _as_array(X, name)
    refuse_misshapen(values, name)
    values = canonical(values, name) if sp.issparse(X) else values
    if values.dtype.kind not in "fiubO" or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        raise DataError(f"{name} must hold real numbers that float64 can hold, got {values.dtype}: convert them first")
    refuse_inexact_integers(values if sp.issparse(X) else X, range(values.shape[1]))
    # float32 stays as it is: as float64 it would take twice the memory, and be the same numbers.
    dtype: Any = np.float32 if values.dtype == np.float32 else np.float64
    try:
        return values.astype(dtype, copy=False) if sp.issparse(values) else np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise not_numbers(error, name) from error


def canonical(X: Matrix, name: str = "X") -> Matrix:
    """Return a sparse matrix as CSR with sorted columns, each stored once; the given matrix stays as it is.

    Entries that are stored several times are added up in float64, in the order in which they are stored; a sum that the
    matrix's own type cannot hold is refused, since NumPy and SciPy would give infinity or wrap around.
    """
    # What a matrix says of itself is not asked: its arrays may have been changed since.
    if X.format == "csr":
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        if not ((rows[1:] == rows[:-1]) & (np.diff(X.indices) <= 0)).any():
            return X
    entries = X.tocoo(copy=False)  # its own sums of repeated entries may wrap or round: they are not asked for
    order = np.lexsort((entries.col, entries.row))
    rows, columns, data = entries.row[order], entries.col[order], entries.data[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    if not is_first.all():
        summed, fits = _summed(data, is_first)
        rows, columns, data = rows[is_first], columns[is_first], summed
        if not fits.all():
            place = int(np.argmin(fits))
            held = X.dtype if X.dtype.itemsize < 8 else "float64"  # sums of int64 have to be exact there as well
            raise DataError(
                f"row {rows[place]} of {name} stores several entries in column {columns[place]}, whose sum {held} "
                f"cannot hold: store one number for each place"
            )
    indptr = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    return sp.csr_array((data, columns, indptr.astype(columns.dtype)), shape=X.shape)


def _summed(data: NDArray[Any], is_first: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the sums of consecutive entries from each first one to the next, and which of them their type can hold."""
    places, values = np.cumsum(is_first) - 1, data.astype(np.float64)
    is_sum = np.bincount(places) > 1
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = np.bincount(places, values), np.bincount(places, np.abs(values))
    # Sums of integers are exact in float64 as long as no partial sum is beyond 2^53.
    if data.dtype.kind in "iub":
        low, high = (0, 1) if data.dtype.kind == "b" else (np.iinfo(data.dtype).min, np.iinfo(data.dtype).max)
        fits = (sums >= low) & (sums <= high) & (sizes < EXACT_INTEGERS)
        kept = np.where(fits, sums, 0).astype(data.dtype)
    else:  # an entry that is no finite number is refused as such, later
        fits = np.isfinite(sums) | ~np.isfinite(np.maximum.reduceat(np.abs(values), np.flatnonzero(is_first)))
        with np.errstate(over="ignore", invalid="ignore"):
            short = sums.astype(data.dtype)
        kept = short if (short == sums).all() else sums
    return np.where(is_sum, kept, data[is_first]), fits | ~is_sum


def finite_points(matrix: Matrix, name: str = "X") -> Matrix:
    """Refuse NaN and infinity, and write -0.0 as 0.0: they are one number, and must give one network."""
    # A copy is made only if there is something to write: most data hold no -0.0.
    negative = False
    for tile in row_tiles(matrix):
        part = matrix[tile]
        values = part.data if sp.issparse(part) else part
        if not np.isfinite(values).all():
            row = tile.start + int(np.argmin(np.isfinite(dense_rows(matrix, tile)).all(axis=1)))
            raise not_finite(row, name)
        negative = negative or bool((np.signbit(values) & (values == 0)).any())
    return with_canonical_zeros(matrix) if negative else matrix


def with_canonical_zeros(matrix: Matrix) -> Matrix:
    """Return a copy in which every zero is positive."""
    if sp.issparse(matrix):
        matrix = matrix.copy()
        matrix.data += matrix.dtype.type(0)
        return matrix
    return copied(matrix, matrix.dtype) if is_mapped(matrix) else matrix + matrix.dtype.type(0)


def is_mapped(X: Any) -> bool:
    """Return whether an array is in a file, so that it may be larger than memory."""
    # Views and what ``np.asarray`` makes are no memmap themselves, but their last base is.
    while X is not None and not isinstance(X, mmap.mmap):
        X = getattr(X, "base", None)
    return X is not None


def copied(X: NDArray[Any], dtype: Any, rows: Rows | None = None) -> NDArray[Any]:
    """Return rows of a memory-mapped array, or all, as another memory-mapped array, whose zeros are positive."""
    # It is in a temporary file that goes when nobody uses it any more: memory holds a tile of it at a time.
    n_rows = X.shape[0] if rows is None else len(rows)
    with tempfile.TemporaryFile() as file:
        copy = np.memmap(file, dtype, "w+", shape=(n_rows, X.shape[1]))
    for tile in row_tiles(copy):
        with np.errstate(over="ignore"):
            np.add(X[tile if rows is None else rows[tile]].astype(dtype), copy.dtype.type(0), out=copy[tile])
    return copy


def refuse_inexact_integers(given: Matrix, columns: Iterable[int]) -> None:
    """Refuse integers beyond 2^53, which would be rounded in float64, by the name of their column."""
    dtype = getattr(given, "dtype", None)
    # Arrays of floats, booleans or short integers have none; frames and lists have columns of many types.
    if isinstance(dtype, np.dtype) and dtype.kind != "O" and (dtype.kind not in "iu" or dtype.itemsize < 8):
        return
    for column in columns:
        name, values = _column(given, column)
        if values.dtype.kind in "iu" and values.size:
            beyond = values.max() > EXACT_INTEGERS or values.min() < -EXACT_INTEGERS
        else:
            objects: Iterable[Any] = values if values.dtype.kind == "O" else []
            beyond = any(isinstance(one, numbers.Integral) and abs(int(one)) > EXACT_INTEGERS for one in objects)
        if beyond:
            raise DataError(
                f"column {name!r} holds integers beyond 2**53, which float64 cannot hold exactly: "
                "scale it, or leave it out if it is an identifier"
            )


def _column(given: Matrix, column: int) -> tuple[Any, NDArray[Any]]:
    """Return name and values, as they were given."""
    if sp.issparse(given):
        return column, given.tocsc()[:, [column]].toarray().ravel()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        values = given.iloc[:, column] if hasattr(given, "iloc") else given[:, column]
        return list(given.columns)[column], np.asarray(values)
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    return column, array[:, column]


def validated(estimator: Any, X: Any, **options: Any) -> Any:
    """Return the points of an estimator, whose feature names scikit-learn checks."""
    from sklearn.utils.validation import validate_data

    refuse_masked(X)
    refuse_misshapen(X)
    X = canonical(X) if sp.issparse(X) else X
    options |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
    try:
        points = validate_data(estimator, X, **options)
    except OverflowError:  # of an integer that no float64 can hold, even rounded: name its column
        refuse_inexact_integers(X, range(np.shape(X)[1]))
        raise
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise not_numbers(error) from error
    if getattr(getattr(X, "dtype", None), "kind", "O") == "f":  # no integers were rounded
        return finite_points(points)
    # Only columns with a number of 2^53 or more in size are looked at.
    if sp.issparse(points):
        large = np.unique(points.indices[np.abs(points.data) >= EXACT_INTEGERS])
    else:
        large = np.flatnonzero((points.max(axis=0) >= EXACT_INTEGERS) | (points.min(axis=0) <= -EXACT_INTEGERS))
    refuse_inexact_integers(X, map(int, large))
    return finite_points(points)


def dense_rows(X: Matrix, rows: slice | NDArray[np.intp], columns: NDArray[np.int64] | None = None) -> Floats:
    """Return some rows of a dense or sparse matrix as a C-ordered float64 array: all columns, or some."""
    part = X[rows] if columns is None else X[rows][:, columns]
    if sp.issparse(part):
        part = part.toarray()
    # Read-only rows, as of a memory map, are copied: kernels would be compiled anew for them.
    return np.require(part, np.float64, ["C", "W"])


def row_tiles(X: Matrix, most: int = 4096) -> list[slice]:
    """Return slices that walk through the rows, so small that a dense float64 tile stays within 32 MB."""
    step = max(1, min(most, TILE_NUMBERS // max(1, X.shape[1])))
    return [slice(start, min(start + step, X.shape[0])) for start in range(0, X.shape[0], step)]


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of a matrix as float64 tiles, rounded to float32 first if that is the format they are seen in."""

    source: Matrix
    format: str | None = None

    @classmethod
    def of(cls, X: Any) -> Points:
        """Return points of anything that has rows and columns of numbers; there may be none."""
        return X if isinstance(X, Points) else cls(as_matrix(X))

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return int(self.source.shape[0]), int(self.source.shape[1])

    def take(self, rows: Rows) -> Points:
        """Return the points of some rows."""
        return replace(self, source=self.source[rows])

    def whole(self) -> Matrix:
        """Return all rows, in the format that they are seen in, with 0.0 for -0.0: equal points are equal rows."""
        with np.errstate(over="ignore"):
            seen = self.source.astype(np.float32) if self.format == "float32" else self.source
        return with_canonical_zeros(seen)

    def tile(self, start: int, stop: int) -> Floats:
        """Return some rows, in C order."""
        tile = dense_rows(self.source, slice(start, stop))
        with np.errstate(over="ignore"):
            return tile.astype(np.float32).astype(np.float64) if self.format == "float32" else tile

    def checked(self) -> Points:
        """Refuse NaN and infinity, also where a number is too large for the format; return the points."""
        for start, stop in self.ranges():
            fine = np.isfinite(self.tile(start, stop))
            if not fine.all():
                raise not_finite(start + int(np.argmin(fine.all(axis=1))))
        return self

    def ranges(self, size: int = ROW_TILE) -> list[tuple[int, int]]:
        """Return all rows as ranges of at most ``size``: fewer where rows are long, to keep a tile within 32 MB."""
        count, d = self.shape
        size = max(1, min(size, TILE_NUMBERS // max(1, d)))
        return [(start, min(start + size, count)) for start in range(0, count, size)]


class ChunkedPoints(ABC):
    """Chunks of rows, elsewhere, that were checked where they are; used in place of a matrix.

    ``mean``, ``radius``, ``conflicts`` and the constructions, which go over all points, leave that to the chunks and
    join the results in the order of rows; everything else fetches rows by their number.

    Attributes
    ----------
    shape : tuple of int
        Points and features.
    memory : int
        Bytes that a first layer with the patterns of all points may take here.
    """

    shape: tuple[int, int]
    memory: int

    @abstractmethod
    def __getitem__(self, rows: Any) -> Floats:
        """Return rows by their number, in the given order."""

    @abstractmethod
    def mean(self) -> Floats:
        """See :func:`exactfit.data.mean`."""

    @abstractmethod
    def radius(self, origin: Floats) -> float:
        """Return the largest distance of a row from ``origin``."""

    @abstractmethod
    def closest_pair(self, codes: Rows) -> tuple[float, tuple[int, int]]:
        """See :func:`exactfit.data.pairs.closest_pair`."""

    @abstractmethod
    def hashed_rows(self) -> Iterator[tuple[Rows, NDArray[np.uint64]]]:
        """Yield rows and their hashes, those of one hash together: all at once, or in parts of bounded size."""

    @abstractmethod
    def groups(self, planes: Any, order: Any, candidates: Any) -> Any:
        """Return rows by class and pattern, None if these are too many: ``construct.unique_patterns.PatternGroups``."""

    @abstractmethod
    def members(self, planes: Any, order: Any, groups: Any) -> tuple[Rows, Rows]:
        """Return rows that are in some groups, ascending, and the place of its group for each."""

    @abstractmethod
    def unique_patterns(self, planes: Any, order: Any, candidates: Any, threads: Any) -> Any:
        """Return the columns of covers: see :mod:`exactfit.construct.unique_patterns`."""

    @abstractmethod
    def as_unique(self, planes: Any, order: Any, candidates: Any, groups: Any, threads: Any) -> Any:
        """Return the same from groups that are here already."""

    @abstractmethod
    def patterns(self, planes: Any, options: Any) -> Any:
        """Return the bits of every point, all here: see :func:`exactfit.construct.patterns.patterns_of`."""


class ExactSum:
    """Exact sum of rows of float64 numbers, column by column."""

    def __init__(self, n_columns: int) -> None:
        self.digits = np.zeros((n_columns, DIGITS), dtype=np.int64)

    def add(self, rows: Floats) -> None:
        """Add rows of finite numbers, fewer than 2^30."""
        add_exactly(np.ascontiguousarray(rows, dtype=np.float64).view(np.int64), self.digits)
        carry(self.digits)

    def merge(self, other: ExactSum) -> None:
        """Add another sum."""
        self.digits += other.digits
        carry(self.digits)

    def over(self, count: int) -> Floats:
        """Return the sums divided by a number, each rounded once."""
        # Digits below the last are carried, so that each fits 32 bits: they are an integer as they are in memory.
        lows = [int.from_bytes(line.tobytes(), "little") for line in self.digits[:, :-1].astype("<u4")]
        shift = DIGIT_BITS * (DIGITS - 1)
        totals = (low + (top << shift) for low, top in zip(lows, self.digits[:, -1].tolist(), strict=True))
        return np.array([total / (count << PLACES) for total in totals], dtype=np.float64)


def mean(X: Matrix) -> Floats:
    """Return the mean of the rows: the exact sum over their number, rounded once."""
    return X.mean() if isinstance(X, ChunkedPoints) else exact_sum(X).over(X.shape[0])


def exact_sum(X: Matrix) -> ExactSum:
    """Return the sum of the rows; those of chunks can be merged."""
    total = ExactSum(X.shape[1])
    for tile in row_tiles(X):
        total.add(dense_rows(X, tile))
    return total


def mean_and_deviation(values: Floats) -> tuple[float, float]:
    """Return the mean of some numbers and the root of their mean square deviation from it, both from exact sums."""
    # Numbers are scaled by a power of two first, so that squares neither overflow nor vanish.
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled: NDArray[np.float64] = np.ldexp(values, -exponent)[:, None]
    middle = mean(scaled)
    deviations = scaled - middle
    spread = np.sqrt(mean(deviations * deviations))
    return float(np.ldexp(middle[0], exponent)), float(np.ldexp(spread[0], exponent))
