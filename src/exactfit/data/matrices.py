"""Points of every kind as a matrix of finite numbers, checked once; points that lie in parts; exact sums over rows."""

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


def as_points(X: Any, name: str = "X", n_features: int | None = None, *, or_none: bool = False) -> Matrix:
    """Points as a finite float32 or float64 array or CSR matrix, with 0.0 for -0.0; some, unless ``or_none``."""
    matrix = as_matrix(X, name)
    if not or_none:
        refuse_empty(matrix.shape, name)
    if n_features is not None:
        refuse_other_features(matrix.shape[1], n_features, name)
    return finite_points(matrix, name)


def refuse_empty(shape: tuple[int, ...], name: str = "X") -> None:
    """Refuse what has no rows or no columns."""
    if not all(shape):
        raise DataError(f"{name} must have at least one row and one column, got shape {tuple(shape)}")


def refuse_other_features(given: int, wanted: int, name: str = "X", taker: str = "network") -> None:
    """Refuse points of another number of features."""
    if given != wanted:
        raise DataError(f"{name} has {given} features, the {taker} takes {wanted}")


def not_finite(row: int, name: str = "X") -> DataError:
    """What is said of the first row, or label, that is no finite number."""
    return DataError(f"row {row} of {name} holds NaN or infinity: drop or fill such values")


def not_real(name: str = "X") -> DataError:
    """What is said of complex numbers, in words that scikit-learn's checks look for."""
    return DataError(f"{name} must hold real numbers, got complex ones. Complex data not supported: convert them first")


def not_numbers(error: Exception, name: str = "X") -> DataError:
    """What is said of words and other objects."""
    return DataError(f"{name} must hold numbers only: {error}. exactfit.TableModel takes categories and dates too")


def refuse_misshapen(X: Any, name: str = "X") -> None:
    """Refuse what has no rows and columns, in words that scikit-learn's checks look for, and complex numbers."""
    given = X if hasattr(X, "shape") else _as_array(X, name)
    if len(given.shape) != 2:
        remedy = "Reshape your data: reshape(-1, 1) if it is one feature, reshape(1, -1) if it is one point"
        raise DataError(f"{name} must have rows and columns, got shape {tuple(given.shape)}. {remedy}")
    types = getattr(given, "dtypes", [getattr(given, "dtype", None)])
    if any(getattr(dtype, "kind", None) == "c" for dtype in types):
        raise not_real(name)


def as_matrix(X: Any, name: str = "X") -> Matrix:
    """Real numbers in rows and columns, none of them rounded; they may be NaN or infinite."""
    refuse_masked(X, name)
    values = X if sp.issparse(X) else _as_array(X, name)
    refuse_misshapen(values, name)
    values = canonical(values, name) if sp.issparse(X) else values
    if values.dtype.kind not in "fiubO" or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        raise DataError(f"{name} must hold real numbers that float64 can hold, got {values.dtype}: convert them first")
    if may_hold_large_integers(X):
        refuse_inexact_integers(values if sp.issparse(X) else X, range(values.shape[1]))
    dtype: Any = np.float32 if values.dtype == np.float32 else np.float64
    try:
        return values.astype(dtype, copy=False) if sp.issparse(values) else np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise not_numbers(error, name) from error


def refuse_masked(X: Any, name: str = "X") -> None:
    """Refuse masked arrays with masked entries, and lists of such: what lies under a mask is no data."""
    parts = X if isinstance(X, list | tuple) else [X]
    for row, part in enumerate(parts):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            first = int(np.argwhere(np.ma.getmaskarray(np.atleast_1d(part)))[0, 0]) if part is X else row
            raise DataError(f"row {first} of {name} holds masked values: fill them in, or drop such rows")


def canonical(X: Matrix, name: str = "X") -> Matrix:
    """Return a sparse matrix as CSR with sorted columns, each stored once; the given matrix stays as it is.

    Entries that are stored several times are added up in float64, in the order in which they are stored; a sum that the
    matrix's own type cannot hold is refused, since NumPy and SciPy would give infinity or wrap around.
    """
    # SciPy adds up repeated entries of COO in their own type, which may wrap or round: rows are sorted here instead.
    csr = X if X.format == "csr" else X.tocsr() if X.format == "csc" else _sorted_rows(X.tocoo(copy=False))
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    # What a matrix says of itself is not asked: its arrays may have been changed since.
    steps = np.diff(csr.indices)
    same_row = rows[1:] == rows[:-1]
    if not (same_row & (steps <= 0)).any():
        return csr
    order = np.lexsort((csr.indices, rows))
    rows, columns, data = rows[order], csr.indices[order], csr.data[order]
    is_first = np.append(True, (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]))
    rows, columns, summed = rows[is_first], columns[is_first], _added_up(data, is_first)
    if isinstance(summed, int):
        held = csr.dtype if csr.dtype.itemsize < 8 else "float64"  # sums of int64 have to be exact there as well
        raise DataError(
            f"row {rows[summed]} of {name} stores several entries in column {columns[summed]}, whose sum {held} "
            f"cannot hold: store one number for each place"
        )
    indptr = np.searchsorted(rows, np.arange(csr.shape[0] + 1))
    return sp.csr_array((summed, columns, indptr.astype(csr.indptr.dtype)), shape=csr.shape)


def _sorted_rows(entries: Any) -> Matrix:
    """A COO matrix as CSR, every entry kept."""
    order = np.argsort(entries.row, kind="stable")
    indptr = np.searchsorted(entries.row[order], np.arange(entries.shape[0] + 1))
    return sp.csr_array((entries.data[order], entries.col[order], indptr), shape=entries.shape)


def _added_up(data: NDArray[Any], is_first: NDArray[np.bool_]) -> NDArray[Any] | int:
    """Sums of consecutive entries from each first one to the next, or the number of a sum that cannot be held."""
    places = np.cumsum(is_first) - 1
    counts = np.bincount(places)
    values = data.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = np.bincount(places, values), np.bincount(places, np.abs(values))
    if data.dtype.kind in "iub":
        low, high = (0, 1) if data.dtype.kind == "b" else (np.iinfo(data.dtype).min, np.iinfo(data.dtype).max)
        fits = (sums >= low) & (sums <= high) & (sizes < EXACT_INTEGERS)
    else:  # an entry that is no finite number is refused as such, later
        fits = np.isfinite(sums) | ~np.isfinite(np.maximum.reduceat(np.abs(values), np.flatnonzero(is_first)))
    repeated = counts > 1
    if not fits[repeated].all():
        return int(np.flatnonzero(repeated & ~fits)[0])
    firsts = data[is_first]
    kept = sums.astype(data.dtype) if data.dtype.kind in "iub" else sums
    if data.dtype == np.float32 and (sums.astype(np.float32) == sums).all():
        kept = sums.astype(np.float32)
    return np.where(repeated, kept, firsts)


def _as_array(X: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers only: {error}") from error


def finite_points(matrix: Matrix, name: str = "X") -> Matrix:
    """Refuse NaN and infinity, and write -0.0 as 0.0: they are one number, and must give one network."""
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
    """A copy in which every zero is positive."""
    if sp.issparse(matrix):
        matrix = matrix.copy()
        matrix.data += matrix.dtype.type(0)
        return matrix
    return copied(matrix, matrix.dtype) if is_mapped(matrix) else matrix + matrix.dtype.type(0)


def is_mapped(X: Any) -> bool:
    """Whether an array lies in a file, so that it may be larger than memory."""
    while X is not None and not isinstance(X, mmap.mmap):
        X = getattr(X, "base", None)
    return X is not None


def copied(X: NDArray[Any], dtype: Any, rows: Rows | None = None) -> NDArray[Any]:
    """Some rows of a memory-mapped array, or all, as another memory-mapped array, whose zeros are positive.

    It lies in a temporary file that goes when nobody uses it any more: memory holds a tile of it at a time.
    """
    n_rows = X.shape[0] if rows is None else len(rows)
    with tempfile.TemporaryFile() as file:
        copy = np.memmap(file, dtype, "w+", shape=(n_rows, X.shape[1]))
    for tile in row_tiles(copy):
        with np.errstate(over="ignore"):
            np.add(X[tile if rows is None else rows[tile]].astype(dtype), copy.dtype.type(0), out=copy[tile])
    return copy


def may_hold_large_integers(given: Matrix) -> bool:
    """False for an array of floats, booleans or short integers; True for what has columns or elements of many types."""
    dtype = getattr(given, "dtype", None)
    return not isinstance(dtype, np.dtype) or dtype.kind == "O" or (dtype.kind in "iu" and dtype.itemsize >= 8)


def refuse_inexact_integers(given: Matrix, columns: Iterable[int]) -> None:
    """Integers beyond 2^53 would be rounded in float64: name their column."""
    for column in columns:
        name, values = _column(given, column)
        if _beyond(values):
            raise DataError(
                f"column {name!r} holds integers beyond 2**53, which float64 cannot hold exactly: "
                "scale it, or leave it out if it is an identifier"
            )


def _column(given: Matrix, column: int) -> tuple[Any, NDArray[Any]]:
    """Name and values, as they were given."""
    if sp.issparse(given):
        return column, given.tocsc()[:, [column]].toarray().ravel()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        values = given.iloc[:, column] if hasattr(given, "iloc") else given[:, column]
        return list(given.columns)[column], np.asarray(values)
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    return column, array[:, column]


def _beyond(values: NDArray[Any]) -> bool:
    """Whether there are integers beyond 2^53."""
    if values.dtype.kind in "iu" and values.size:
        return bool(values.max() > EXACT_INTEGERS or values.min() < -EXACT_INTEGERS)
    if values.dtype.kind != "O":
        return False
    return any(isinstance(value, numbers.Integral) and abs(int(value)) > EXACT_INTEGERS for value in values)


def validated(estimator: Any, X: Any, **options: Any) -> Any:
    """Points of an estimator, whose feature names scikit-learn checks."""
    from sklearn.utils.validation import validate_data

    refuse_masked(X)
    refuse_misshapen(X)
    X = canonical(X) if sp.issparse(X) else X
    options |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
    try:
        points = validate_data(estimator, X, **options)
    except OverflowError:
        refuse_inexact_integers(X, range(np.shape(X)[1]))
        raise
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise not_numbers(error) from error
    if may_hold_large_integers(X):
        refuse_inexact_integers(X, _large_columns(points))
    return finite_points(points)


def _large_columns(X: Matrix) -> Iterable[int]:
    """Columns with a number of 2^53 or more in size."""
    if sp.issparse(X):
        return map(int, np.unique(X.indices[np.abs(X.data) >= EXACT_INTEGERS]))
    return map(int, np.flatnonzero((X.max(axis=0) >= EXACT_INTEGERS) | (X.min(axis=0) <= -EXACT_INTEGERS)))


def dense_rows(X: Matrix, rows: slice | NDArray[np.intp], columns: NDArray[np.int64] | None = None) -> Floats:
    """Some rows of a dense or sparse matrix as a C-ordered float64 array: all columns, or some.

    Read-only rows, as of a memory map, are copied: kernels would be compiled anew for them.
    """
    part = X[rows] if columns is None else X[rows][:, columns]
    if sp.issparse(part):
        part = part.toarray()
    return np.require(part, np.float64, ["C", "W"])


def row_tiles(X: Matrix, most: int = 4096) -> list[slice]:
    """Slices that walk through the rows, so small that a dense float64 tile stays within 32 MB."""
    step = max(1, min(most, TILE_NUMBERS // max(1, X.shape[1])))
    return [slice(start, min(start + step, X.shape[0])) for start in range(0, X.shape[0], step)]


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of a matrix as float64 tiles, rounded to float32 first if that is the format they are seen in."""

    source: Matrix
    format: str | None = None

    @classmethod
    def of(cls, X: Any) -> Points:
        """Points of anything that has rows and columns of numbers; there may be none."""
        return X if isinstance(X, Points) else cls(as_matrix(X))

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return int(self.source.shape[0]), int(self.source.shape[1])

    def take(self, rows: Rows) -> Points:
        """The points of some rows."""
        return replace(self, source=self.source[rows])

    def whole(self) -> Matrix:
        """All rows, in the format that they are seen in, with 0.0 for -0.0: equal points are equal rows."""
        with np.errstate(over="ignore"):
            seen = self.source.astype(np.float32) if self.format == "float32" else self.source
        return with_canonical_zeros(seen)

    def tile(self, start: int, stop: int) -> Floats:
        """Some rows, in C order."""
        tile = dense_rows(self.source, slice(start, stop))
        with np.errstate(over="ignore"):
            return tile.astype(np.float32).astype(np.float64) if self.format == "float32" else tile

    def checked(self) -> Points:
        """These points; refuses NaN and infinity, also where a number is too large for the format."""
        for start, stop in self.ranges():
            fine = np.isfinite(self.tile(start, stop))
            if not fine.all():
                raise not_finite(start + int(np.argmin(fine.all(axis=1))))
        return self

    def ranges(self, size: int = ROW_TILE) -> list[tuple[int, int]]:
        """All rows, as ranges of at most ``size``: fewer where rows are long, so that a tile stays within 32 MB."""
        count, d = self.shape
        size = max(1, min(size, TILE_NUMBERS // max(1, d)))
        return [(start, min(start + size, count)) for start in range(0, count, size)]


class ChunkedPoints(ABC):
    """Rows that lie in parts, elsewhere, and have passed the gate where they are.

    Stands where a matrix stands. ``mean``, ``radius``, ``conflicts`` and the constructions, which go over all
    points, leave that to the parts and join what comes back in the order of rows; everything else fetches
    rows by their number.

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
        """Rows by their number, in the given order."""

    @abstractmethod
    def mean(self) -> Floats:
        """See :func:`exactfit.data.mean`."""

    @abstractmethod
    def radius(self, origin: Floats) -> float:
        """Largest distance of a row from ``origin``."""

    @abstractmethod
    def closest_pair(self, codes: Rows) -> tuple[float, tuple[int, int]]:
        """See :func:`exactfit.data.pairs.closest_pair`."""

    @abstractmethod
    def hashed_rows(self) -> Iterator[tuple[Rows, NDArray[np.uint64]]]:
        """Rows and their hashes, those of one hash together: all at once, or in parts of bounded size."""

    @abstractmethod
    def groups(self, planes: Any, order: Any, candidates: Any) -> Any:
        """Rows by class and pattern, None if these are too many: ``construct.unique_patterns.PatternGroups``."""

    @abstractmethod
    def members(self, planes: Any, order: Any, groups: Any) -> tuple[Rows, Rows]:
        """Rows that are in some groups, ascending, and the place of its group for each."""

    @abstractmethod
    def unique_patterns(self, planes: Any, order: Any, candidates: Any, threads: Any) -> Any:
        """What the cover step works on: see :class:`exactfit.construct.unique_patterns.Distinct`."""

    @abstractmethod
    def as_unique(self, planes: Any, order: Any, candidates: Any, groups: Any, threads: Any) -> Any:
        """The same from groups that are here already."""

    @abstractmethod
    def patterns(self, planes: Any, options: Any) -> Any:
        """Bits of every point, all here: see :func:`exactfit.construct.patterns.patterns_of`."""


# Digits count multiples of the smallest float64 number.
PLACES = 1074


class ExactSum:
    """The exact sum of rows of float64 numbers, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.matrices import ExactSum
    >>> total = ExactSum(1)
    >>> total.add(np.array([[1e300], [1.0], [-1e300]]))
    >>> total.over(2)
    array([0.5])
    """

    def __init__(self, n_columns: int) -> None:
        self.digits = np.zeros((n_columns, DIGITS), dtype=np.int64)

    def add(self, rows: Floats) -> None:
        """Rows of finite numbers, fewer than 2^30."""
        add_exactly(np.ascontiguousarray(rows, dtype=np.float64).view(np.int64), self.digits)
        carry(self.digits)

    def merge(self, other: ExactSum) -> None:
        """What another sum has come to."""
        self.digits += other.digits
        carry(self.digits)

    def over(self, count: int) -> Floats:
        """The sums over a number, each rounded once."""
        return np.array([total / (count << PLACES) for total in self._integers()], dtype=np.float64)

    def _integers(self) -> list[int]:
        low = self.digits[:, :-1].astype("<u4")
        tops = self.digits[:, -1].tolist()
        shift = DIGIT_BITS * (DIGITS - 1)
        return [int.from_bytes(line.tobytes(), "little") + (top << shift) for line, top in zip(low, tops, strict=True)]


def mean(X: Matrix) -> Floats:
    """Mean of the rows: the exact sum over their number, rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.matrices import mean
    >>> mean(np.array([[0.1], [0.2], [0.3]]))
    array([0.2])
    """
    return X.mean() if isinstance(X, ChunkedPoints) else exact_sum(X).over(X.shape[0])


def exact_sum(X: Matrix) -> ExactSum:
    """Sum of the rows; those of parts can be merged."""
    total = ExactSum(X.shape[1])
    for tile in row_tiles(X):
        total.add(dense_rows(X, tile))
    return total


def mean_and_deviation(values: Floats) -> tuple[float, float]:
    """Mean of some numbers and the root of their mean square deviation from it, both from exact sums.

    Numbers are scaled by a power of two first, so that squares neither overflow nor vanish.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled: NDArray[np.float64] = np.ldexp(values, -exponent)[:, None]
    middle = mean(scaled)
    deviations = scaled - middle
    spread = np.sqrt(mean(deviations * deviations))
    return float(np.ldexp(middle[0], exponent)), float(np.ldexp(spread[0], exponent))
