"""Exact sides of hyperplanes.

:func:`sides` answers, for every point x and hyperplane (w, b), whether <w, x> + b > 0 as exact arithmetic on the stored
numbers would; a point on the hyperplane belongs to the off side. So the answer cannot depend on batches, threads, BLAS,
memory layout or the order of rows.

An entry is a point and a hyperplane. It is decided in two steps:

1. A filter computes <w, x> + b in floating point, with a bound of its error: ``_SparseWeights`` for sparse hyperplanes,
   ``_LowDimension`` and ``_HighDimension`` for dense ones. Above each stands the proof of its bound. An entry that is
   not larger than the bound is in doubt.
2. ``settle`` (``_kernels/signs.py``) decides doubtful entries: in float64, else with compensated sums, else in
   integers.

A few points go another way as long as the compiler is not loaded: ``plain_sides``, with fractions as its last step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import signs as kernels
from .._kernels.compile import is_loaded
from .._kernels.counting import WORD_BITS
from .._kernels.rows import FEATURE_BLOCK, find_nonzeros, multiply_nonzeros
from .._support.threads import SERIAL, Threads, single_threaded_blas
from ..data.matrices import dense_rows, row_tiles
from .bits import BitMatrix, last_word

Matrix = Any
Floats = NDArray[np.float64]
Parts = Iterator[tuple[int, NDArray[np.float32]]]

LOW_DIMENSION = 16  # features up to which one float64 kernel is used instead of float32 products
COLUMN_TILE = 512  # hyperplanes to a matrix product; a multiple of 64, so that it fills whole words
TILE_ENTRIES = 2**22  # products held at a time by each thread: 16 MB
REFERENCE_ROWS = 64  # points that the middle of the data is taken from; any point is right, the middle is sharper
WIDE = 256  # from so many hyperplanes on, looking for columns in which all points agree pays
ALIKE_ONE_IN = 32  # and only if at least one column in so many is such
MANY_ZEROS = 4  # products of what is not zero, if that is at most one number in so many
SMALL_WORK = 2**30  # products of numbers: a fifth of a second of NumPy's, where loading the compiler takes half of one
FEW_POINTS = 4  # points whose sides of sparse hyperplanes are decided one after the other
FEW_IN_DOUBT = 2048  # sides that fractions decide, each in 0.1 ms or less: less than loading the compiler takes
U32, U64 = 2.0**-24, 2.0**-53  # unit roundoff of float32 and float64


def sides(
    X: Matrix,
    weights: Matrix,
    biases: Floats,
    *,
    rows: NDArray[np.intp] | None = None,
    threads: Threads = SERIAL,
    tile: int | None = None,
) -> BitMatrix:
    """Return a bit for each point and hyperplane: whether <w, x> + b > 0.

    X is an array or CSR matrix, of which ``rows`` are taken (all by default); weights are an array, or a CSR array
    without duplicates. ``tile``, the points per piece of work, changes nothing but speed.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.sides import sides
    >>> sides(np.array([[0.1], [0.3]]), np.array([[3.0]]), np.array([-0.3])).to_bool().T
    array([[ True,  True]])
    """
    n_points = X.shape[0] if rows is None else len(rows)
    n, d = weights.shape
    # A few points do without kernels as long as the compiler is not loaded, which takes longer than they do: NumPy's
    # float64 products, then fractions for what these leave in doubt.
    if not is_loaded() and is_small(n_points, n, d):
        few = plain_sides(dense_rows(X, slice(None) if rows is None else rows), weights, biases)
        if few is not None:
            return BitMatrix.from_bool(few)
    words = np.zeros((-(-n // WORD_BITS), n_points), dtype=np.uint64)
    biases = np.require(biases, np.float64, ["C", "W"])
    if n and n_points:
        kind: type[_SparseWeights | _LowDimension | _HighDimension] = _SparseWeights
        if not sp.issparse(weights):
            kind = _LowDimension if d <= LOW_DIMENSION else _HighDimension
            weights = np.require(weights, requirements=["C", "W"])
        decide = kind(X, weights, biases, rows, words)
        step = tile or max(16, min(decide.row_tile, TILE_ENTRIES // decide.n_columns))
        pieces = [(start, min(start + step, n_points)) for start in range(0, n_points, step)]
        with single_threaded_blas() if decide.uses_blas else nullcontext():
            if len(pieces) == 1:
                decide(pieces[0])
            else:
                threads.map(decide, pieces)
    return BitMatrix(words, n)


def is_small(n_points: int, n: int, d: int) -> bool:
    """Return whether products of few points are done before the compiler would be loaded."""
    return max(n_points, REFERENCE_ROWS) * n * d <= SMALL_WORK


def plain_sides(points: Floats, weights: Matrix, biases: Floats) -> NDArray[np.bool_] | None:
    """Return sides by NumPy, SciPy and fractions alone, one row for each point; None if too many are in doubt."""
    # Summed in any order, with or without fused multiply-adds, d products and a bias err by at most (d + 2) u times
    # the sum of their sizes, of which at least half is found, and by what d products lose when they underflow.
    normals, d = weights.astype(np.float64), weights.shape[1]
    with np.errstate(all="ignore"):
        sums = (normals @ points.T).T + biases
        sizes = (abs(normals) @ np.abs(points).T).T + np.abs(biases)
        in_doubt = ~(np.abs(sums) > (d + 2) * (2 * U64 * sizes + 4 * 5e-324))
    if np.count_nonzero(in_doubt) > FEW_IN_DOUBT:
        return None
    on = sums > 0
    for row, unit in np.argwhere(in_doubt).tolist():
        normal = normals[[unit]].toarray()[0] if sp.issparse(normals) else normals[unit]
        numbers = zip(points[row].tolist(), normal.tolist(), strict=True)
        total = sum((Fraction(x) * Fraction(w) for x, w in numbers if x and w), Fraction(float(biases[unit])))
        on[row, unit] = total > 0
    return np.asarray(on)


class _Filter:
    """Points and hyperplanes, and the words that their sides are written to, piece by piece of the points."""

    uses_blas = False
    row_tile = 4096

    def __init__(
        self, X: Matrix, weights: Matrix, biases: Floats, rows: NDArray[np.intp] | None, words: NDArray[np.uint64]
    ) -> None:
        self.X, self.weights, self.biases, self.rows, self.words = X, weights, biases, rows, words
        self.n_columns = int(weights.shape[1])  # features of a point that are held at a time
        if sp.issparse(weights):
            starts, features = weights.indptr.astype(np.int64), weights.indices.astype(np.int64)
            self.planes = kernels.SparsePlanes(starts, features, weights.data.astype(np.float64), biases)
        else:
            starts = self.n_columns * np.arange(len(biases) + 1)
            self.planes = kernels.SparsePlanes(starts, np.arange(0), weights.ravel(), biases)

    @cached_property
    def lone(self) -> NDArray[np.int64]:
        """Where a hyperplane has one weight only: its place among those that are stored; -1 of other hyperplanes."""
        if sp.issparse(self.weights):
            return np.where(np.diff(self.weights.indptr) == 1, 0, -1).astype(np.int64)
        nonzero = self.weights != 0
        return np.where(nonzero.sum(axis=1) == 1, nonzero.argmax(axis=1), -1).astype(np.int64)

    def take(self, start: int, stop: int) -> Floats:
        """Return some of the points, dense."""
        return dense_rows(self.X, slice(start, stop) if self.rows is None else self.rows[start:stop])


# Proof of the bound: that of ``_LowDimension`` below, with k in place of d where a hyperplane looks at k features. Of
# many features, points are made dense only in those that some hyperplane looks at.
class _SparseWeights(_Filter):
    """Filter of sparse hyperplanes: gather their features, add, test and pack in one float64 kernel."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        features = self.planes.features
        self.columns = np.arange(self.n_columns)
        # Of very many columns, as text has, those that no hyperplane looks at are not even gathered.
        self.narrow = self.n_columns > LOW_DIMENSION + 4 * len(features)
        if self.narrow:
            self.columns, features = np.unique(features, return_inverse=True)
        self.n_columns, self.planes = max(1, len(self.columns)), self.planes._replace(features=features)

    def __call__(self, piece: tuple[int, int]) -> None:
        start, stop = piece
        rows = slice(start, stop) if self.rows is None else self.rows[start:stop]
        columns, tile = self.columns, self.X[rows]
        if self.narrow:
            tile, columns = tile[:, columns], np.arange(len(columns))
        tile = dense_rows(tile, slice(None))
        doubtful = np.zeros((len(self.words), len(tile)), dtype=np.uint64)
        if len(tile) < FEW_POINTS:
            kernels.decide_sparse_few(tile, columns, self.planes, start, self.words, doubtful)
        else:
            kernels.decide_sparse(tile, columns, self.planes, start, self.words, doubtful)
        if doubtful.any():
            kernels.settle(tile, columns, self.planes, self.lone, 0, start, self.words, doubtful)


# Proof of the bound: d products and d additions, each rounded, err by at most (d + 2) 2^-53 (max |x_j| sum |w_j| +
# |b|).
class _LowDimension(_Filter):
    """Filter in few dimensions: project, test and pack in one float64 kernel."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.normals = self.weights.astype(np.float64)
        unit = 1.01 * (self.normals.shape[1] + 2) * U64
        with np.errstate(over="ignore"):
            # The product may underflow; the least number on top makes it an upper bound again.
            self.slopes = unit * np.abs(self.normals).sum(axis=1) + 5e-324
            self.doubts = unit * np.abs(self.biases)

    def __call__(self, piece: tuple[int, int]) -> None:
        tile = self.take(*piece)
        doubtful = np.zeros((len(self.words), len(tile)), dtype=np.uint64)
        kernels.decide_low(tile, self.normals, self.biases, self.slopes, self.doubts, piece[0], self.words, doubtful)
        if doubtful.any():
            kernels.settle(tile, np.arange(0), self.planes, self.lone, 0, piece[0], self.words, doubtful)


class _Gemm:
    """Float32 products of all features, summed over blocks of ``FEATURE_BLOCK`` of them, then over the blocks."""

    def __init__(self, weights: Parts) -> None:
        self.weights = dict(weights)
        d = self.weights[0].shape[1]
        self.blocks = [slice(low, low + FEATURE_BLOCK) for low in range(0, d, FEATURE_BLOCK)]

    def prepare(self, points: NDArray[np.float32]) -> Any:
        """Return a tile of points as :meth:`multiply` takes them."""
        return points

    def multiply(self, points: Any, part: slice) -> NDArray[np.float32]:
        weights = self.weights[part.start]
        total, product = np.empty((2, len(points), len(weights)), dtype=np.float32)
        with np.errstate(all="ignore"):
            np.matmul(points[:, self.blocks[0]], weights[:, self.blocks[0]].T, out=total)
            for block in self.blocks[1:]:
                np.matmul(points[:, block], weights[:, block].T, out=product)
                np.add(total, product, out=total)
        return np.asarray(total)


class _Nonzeros:
    """Float32 products of those features of a point that are not zero, in blocks of as many."""

    def __init__(self, weights: Parts) -> None:
        self.transposed = {low: np.ascontiguousarray(part.T) for low, part in weights}

    def prepare(self, points: NDArray[np.float32]) -> Any:
        """Return the numbers of a tile of points that are not zero, as rows of a CSR matrix."""
        count = np.count_nonzero(points)
        starts, features = np.empty(len(points) + 1, dtype=np.int64), np.empty(count, dtype=np.int64)
        values = np.empty(count, dtype=np.float32)
        find_nonzeros(points, starts, features, values)
        return starts, features, values

    def multiply(self, points: Any, part: slice) -> NDArray[np.float32]:
        starts, features, values = points
        weights = self.transposed[part.start]
        total = np.zeros((len(starts) - 1, weights.shape[1]), dtype=np.float32)
        multiply_nonzeros(starts, features, values, weights, FEATURE_BLOCK, total)
        return total


# Proof of the bound. Let c be any reference point and t = b + <w, c>, so that <w, x> + b = <w, x - c> + t. Rows x - c
# and w are scaled by powers of two to largest entry in [1/2, 1), which is exact, and rounded to float32: relative error
# at most u = 2^-24 an entry (2^-24 + 2^-53 for x - c), or at most 2^-126 in absolute value where float32 underflows.
# Features are cut into blocks of at most K = 256; a block's dot product, summed in float32 in any order, with or
# without fused multiply-adds, errs by at most gamma_K sum |x_j| |w_j|, and adding up the m blocks, in float32 as well,
# by at most m u of the same sum. By Cauchy-Schwarz all of this is at most 1.01 (K + m + 3) u |w| |x - c| in scaled
# units, since (K + m) u is below 1/1000 up to millions of features; the underflows, at most 4 d 2^-126, vanish in it
# because both scaled norms are at least 1/2. Adding t in float64 errs by at most 2 2^-53 (|w| |x - c| + |t|) (1.01
# covers the higher order), and t itself carries the bound that ``shift_biases`` gives.
#
# Columns in which all points agree are left out: with c_j = x_j they add exactly nothing. Products come from a GEMM,
# with c in the middle of the data; or, where most of the data are zeros, c = 0 and only what is not zero is multiplied,
# in blocks of K such features of a point. Norms are rounded up. Rows whose scale leaves float64's range have infinite
# norm, hence all their entries are in doubt; so are results that are not finite.
class _HighDimension(_Filter):
    """Filter in many dimensions: float32 products over blocks of features, around a reference point."""

    uses_blas = True
    row_tile = 256

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        n_padded = len(self.words) * WORD_BITS
        lows = range(0, n_padded, COLUMN_TILE)
        self.parts = [slice(low, min(low + COLUMN_TILE, n_padded)) for low in lows]  # in full words
        # Some rows from all over the data, none if there are few.
        count = self.X.shape[0] if self.rows is None else len(self.rows)
        chosen = np.linspace(0, count - 1, REFERENCE_ROWS if count >= REFERENCE_ROWS else 0).astype(np.intp)
        sample = dense_rows(self.X, chosen if self.rows is None else self.rows[chosen])
        many_zeros = 0 < MANY_ZEROS * np.count_nonzero(sample) <= sample.size
        self.reference = np.zeros(self.weights.shape[1])
        self.columns = np.arange(len(self.reference))
        if not many_zeros and len(sample):
            # A point in the middle of the data, so that a common offset does not blunt the bound.
            with np.errstate(over="ignore", invalid="ignore"):
                middle = sample.mean(axis=0)
            self.reference = middle if np.isfinite(middle).all() else self.reference
            self._leave_out_constants(sample)
        factors, norms = np.ones(n_padded), np.zeros(n_padded)
        self.products = (_Nonzeros if many_zeros else _Gemm)(self._scaled_weights(factors, norms))
        d, summing = len(self.columns), 1.01 * 3 * U64
        slopes = norms * (1.01 * (min(d, FEATURE_BLOCK) + -(-d // FEATURE_BLOCK) + 3) * U32 + summing)
        # t = b + <w, c> in scaled units, and a bound of its error.
        shifted, errors = self.biases.copy(), np.zeros(len(self.biases))
        if self.reference.any():
            kernels.shift_biases(self.weights, self.biases, self.reference, shifted, errors)
        with np.errstate(over="ignore", invalid="ignore"):
            doubts, padding = errors + summing * np.abs(shifted), (0, n_padded - len(shifted))
            offsets, doubts = (np.pad(one, padding) * factors for one in (shifted, doubts))
        self.blocks = [kernels.FilterPlanes(offsets[part], slopes[part], doubts[part]) for part in self.parts]

    def _scaled_weights(self, factors: Floats, norms: Floats) -> Parts:
        """Yield weights scaled to float32, as many at a time as are multiplied at a time; fill factors and norms."""
        origin = np.zeros_like(self.reference)
        for part in self.parts:
            scaled = np.zeros((part.stop - part.start, len(self.columns)), dtype=np.float32)
            rows = self.weights[part]
            used = slice(part.start, part.start + len(rows))
            kernels.scale_rows(rows, origin, self.columns, scaled, factors[used], norms[used])
            yield part.start, scaled

    def _leave_out_constants(self, sample: Floats) -> None:
        """Leave out columns in which all points agree, where there may be many of them."""
        if len(self.weights) < WIDE or sp.issparse(self.X):
            return
        alike = np.flatnonzero((sample == sample[0]).all(axis=0))
        for tile in row_tiles(self.X):
            if ALIKE_ONE_IN * len(alike) < len(self.columns):
                return
            varying = np.zeros(len(alike), dtype=bool)
            kernels.find_varying(dense_rows(self.X, tile), sample[0], alike, varying)
            alike = alike[~varying]
        alike = alike[: len(self.columns) - 1]  # one at least is left to multiply
        self.reference[alike] = sample[0, alike]
        self.columns = np.delete(self.columns, alike)

    def __call__(self, piece: tuple[int, int]) -> None:
        start, stop = piece
        tile = self.take(start, stop)
        scaled = np.empty((len(tile), len(self.columns)), dtype=np.float32)
        rows = kernels.ScaledRows(np.empty(len(tile)), np.empty(len(tile)))
        kernels.scale_rows(tile, self.reference, self.columns, scaled, *rows)
        points = self.products.prepare(scaled)
        for part, planes in zip(self.parts, self.blocks, strict=True):
            products = self.products.multiply(points, part)
            doubtful = np.empty(((part.stop - part.start) // WORD_BITS, len(tile)), dtype=np.uint64)
            tail = last_word(len(self.biases)) if part is self.parts[-1] else last_word(WORD_BITS)
            first_word = part.start // WORD_BITS
            block = kernels.WordBlock(first_word, start, tail)
            kernels.decide_products(products, rows, planes, block, self.words, doubtful)
            if doubtful.any():
                kernels.settle(tile, self.columns, self.planes, self.lone, first_word, start, self.words, doubtful)
