"""Bits of points: exact ones, or those on which every evaluation in a format agrees.

With ``exact_in`` a network has to be right in every evaluation in that format, whatever the order
of sums, fused or not. Then a bit has three states: surely on, surely off, open. A point's ``on`` are
the bits that are surely on, its ``maybe`` those that are on or open. Every evaluation's bits lie between.
Masks are the bits that are surely off at the anchor, limits count what is surely on in the rest, and a
point is claimed if what may be on stays below the limit: the detector then answers the same in
every evaluation. Without ``exact_in`` bits are exact, and the two are one.

With a ``margin`` r the same holds for every place within r of a point: a bit is open as well when the
point's distance to its hyperplane is at most r, that is |<w, x> + b| <= r |w|; and a format's rounding bound is
taken at |x| + r.

A hyperplane surely separates a point a of a target class from a point b of the rest if its bit is surely off at a
and surely on at b. So a point shows what may be on while it is a, and what is surely on while it is b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.rounding import EXACT, FLOAT32, FLOAT64, SurePlanes, SureRows, sure_bits
from .._kernels.rows import line_facts, norms_of
from .._support.threads import SERIAL, Threads, single_threaded_blas
from ..data import ChunkedPoints, copied, is_mapped
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError
from ..network.bits import BitMatrix, Words, n_words
from ..network.sides import sides
from ..options import Options
from .hyperplanes import Hyperplanes

Matrix = Any
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FORMATS = {"float64": FLOAT64, "float32": FLOAT32}
TILE_ENTRIES = 2**20  # values of one tile of points with all hyperplanes: 8 MiB a thread

BlockBits = tuple[Words, Words]  # of 64 hyperplanes: of every point a word of ``on``, and one of ``maybe``


@dataclass(frozen=True, eq=False)
class Patterns:
    """Bits of many points: ``on`` in every evaluation, ``maybe`` in some; one and the same where bits are exact."""

    on: BitMatrix
    maybe: BitMatrix

    @property
    def blocks(self) -> list[BlockBits]:
        """The bits of all points, 64 hyperplanes at a time."""
        if self.maybe is self.on:
            return [(words, words) for words in self.on.words]
        return list(zip(self.on.words, self.maybe.words, strict=True))

    @classmethod
    def from_blocks(
        cls, blocks: list[BlockBits], n_bits: int, rows: NDArray[np.intp] | None = None, threads: Threads = SERIAL
    ) -> Patterns:
        """Return the first ``n_bits`` bits of consecutive blocks, of all points or of the given ones, in order."""
        on, maybe = zip(*blocks[: n_words(n_bits)], strict=True)
        bits = BitMatrix.of_words(on, n_bits, rows, threads.map)
        return cls(bits, bits if are_exact(blocks) else BitMatrix.of_words(maybe, n_bits, rows, threads.map))

    @classmethod
    def joined(cls, parts: Sequence[Patterns]) -> Patterns:
        """Return the bits of all points of consecutive parts."""
        n_bits = parts[0].on.n_bits
        on = BitMatrix(np.concatenate([part.on.words for part in parts], axis=1), n_bits)
        if all(part.maybe is part.on for part in parts):
            return cls(on, on)
        return cls(on, BitMatrix(np.concatenate([part.maybe.words for part in parts], axis=1), n_bits))

    def take(self, rows: NDArray[np.intp] | slice) -> Patterns:
        """Return the given rows, in the given order."""
        on = self.on.take(rows)
        return Patterns(on, on if self.maybe is self.on else self.maybe.take(rows))

    def append(self, other: Patterns) -> Patterns:
        """Return the bits of ``other`` after those of each row."""
        on, maybe = (
            BitMatrix.from_bool(np.concatenate([bits.to_bool(), more.to_bool()], axis=1))
            for bits, more in ((self.on, other.on), (self.maybe, other.maybe))
        )
        return Patterns(on, on if self.maybe is self.on and other.maybe is other.on else maybe)


def are_exact(blocks: list[BlockBits]) -> bool:
    """Return whether no bit is open."""
    return all(on is maybe for on, maybe in blocks)


def patterns_of(
    X: Matrix, planes: Hyperplanes, options: Options, threads: Threads, rows: NDArray[np.intp] | None = None
) -> Patterns:
    """Return the bits of all points, or of the given rows in order; in the options the margin is a distance."""
    if isinstance(X, ChunkedPoints):
        found: Patterns = X.patterns(planes, options)
        return found if rows is None else found.take(rows)
    if not options.has_open_bits:
        bits = sides(X, planes.weights, planes.biases, rows=rows, threads=threads)
        return Patterns(bits, bits)
    rows, weights = np.arange(X.shape[0]) if rows is None else rows, planes.weights.astype(np.float64)
    normals, longest = WeightRows.of(weights), weights.shape[1]
    if sp.issparse(weights):
        longest = int(np.diff(normals.starts).max(initial=0))
    block = SurePlanes(
        normals.numbers, normals.starts, normals.features, planes.biases, _raised(normals.norms, longest),
        normals.terms, np.where(normals.is_cut, normals.columns, -1), normals.leading,
    )  # fmt: skip
    on = np.zeros((n_words(planes.count), len(rows)), dtype=np.uint64)
    maybe = np.zeros_like(on)
    step = max(16, TILE_ENTRIES // max(planes.count, X.shape[1]))
    form, margin = FORMATS.get(options.exact_in or "", EXACT), float(options.margin)

    def work(start: int) -> None:
        tile = dense_rows(X, rows[start : start + step])
        with np.errstate(all="ignore"):  # what overflows is not sure
            products = np.ascontiguousarray((weights @ tile.T).T)
        points = SureRows(tile, norms_above(tile), np.count_nonzero(tile, axis=1))
        sure_bits(products, points, margin, block, form, start, on, maybe)

    with single_threaded_blas():
        threads.map(work, range(0, len(rows), step))
    return Patterns(BitMatrix(on, planes.count), BitMatrix(maybe, planes.count))


class WeightRows(NamedTuple):
    """Weights of hyperplanes, dense or sparse, one row of numbers after the other, with what bounds need to know."""

    numbers: Floats  # row j is numbers[starts[j]:starts[j + 1]]
    starts: Ints
    features: Ints  # of the same places; empty where every row has all features
    norms: Floats
    terms: Ints  # numbers other than zero of each row
    firsts: Ints  # where the first of these is

    @classmethod
    def of(cls, weights: Any) -> WeightRows:
        """Return the rows of an array or a CSR array."""
        n, d = weights.shape
        starts, features = d * np.arange(n + 1), np.arange(0)
        if sp.issparse(weights):
            starts, features = weights.indptr.astype(np.int64), weights.indices.astype(np.int64)
        numbers = (weights.data if sp.issparse(weights) else weights.ravel()).astype(np.float64, copy=False)
        rows = cls(numbers, starts, features, np.empty(n), *np.empty((2, n), dtype=np.int64))
        line_facts(numbers, starts, rows.norms, rows.terms, rows.firsts)
        return rows

    @property
    def is_cut(self) -> NDArray[np.bool_]:
        """Whether each has a single weight, a power of two: its products are not rounded."""
        return np.asarray((self.terms == 1) & (np.abs(np.frexp(self.leading)[0]) == 0.5))

    @property
    def leading(self) -> Floats:
        """The first weight of each row that is not zero; zero where there is none."""
        return np.where(self.terms > 0, np.append(self.numbers, 0.0)[self.firsts], 0.0)

    @property
    def columns(self) -> Ints:
        """The feature of the leading weight; 0 where there is none."""
        places = np.where(self.terms > 0, self.firsts, self.starts[:-1])
        if len(self.features):
            return np.where(self.terms > 0, np.append(self.features, 0)[places], 0)
        return places - self.starts[:-1]


def norms_above(rows: Floats) -> Floats:
    """Return Euclidean norms, rounded up: d squares, d additions and a root err by less than (d + 4) 2^-52 of them."""
    norms = np.empty(len(rows))
    norms_of(rows, norms)
    return _raised(norms, rows.shape[1])


def _raised(norms: Floats, n_numbers: int) -> Floats:
    """Return norms of ``n_numbers`` numbers, raised by more than they may err by."""
    return np.asarray(norms * (1.0 + (n_numbers + 8) * 2.0**-52) + 5e-324)


def rounded(X: Matrix, exact_in: str | None) -> Matrix:
    """Return points as the format holds them; X itself without ``exact_in``."""
    if exact_in != "float32" or X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        short = copied(X, np.float32) if is_mapped(X) else X.astype(np.float32)
    parts = [short.data] if hasattr(short, "indptr") else (short[tile] for tile in row_tiles(short))
    if not all(np.isfinite(part).all() for part in parts):
        raise DataError('X holds numbers that are too large for float32: scale them down, or use exact_in="float64"')
    return short
