"""Bits of points: exact ones, or those that every evaluation in a format agrees on; and the pairs these leave open.

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
and surely on at b. So a point shows what may be on while it is a, and what is surely on while it is b: it plays two
parts, each with one word a block, and :class:`OpenPairs` serves for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.rounding import EXACT, FLOAT32, FLOAT64, SurePlanes, SureRows, roomy_bits, sure_bits
from .._kernels.rows import line_facts, norms_of
from .._support.threads import SERIAL, Threads, single_threaded_blas
from ..data import ChunkedPoints, copied, is_mapped
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError
from ..network.bits import BitMatrix, Words, n_words
from ..network.sides import sides
from ..options import Options
from .hyperplanes import Hyperplanes
from .separation import BUDGET, Ints, OpenPairs, Runs, runs_without

Matrix = Any
Floats = NDArray[np.float64]

FORMATS = {"float64": FLOAT64, "float32": FLOAT32}
TILE_ENTRIES = 2**20  # values of one tile of points with all hyperplanes: 8 MiB a thread

Line = tuple[Words, Words]


@dataclass(frozen=True, eq=False)
class Patterns:
    """Bits of many points: ``on`` in every evaluation, ``maybe`` in some; one and the same where bits are exact."""

    on: BitMatrix
    maybe: BitMatrix

    @classmethod
    def exact(cls, bits: BitMatrix) -> Patterns:
        """Bits without a doubt."""
        return cls(bits, bits)

    @property
    def lines(self) -> list[Line]:
        """Word by word: the same word of all points, of ``on`` and of ``maybe``."""
        if self.maybe is self.on:
            return [(words, words) for words in self.on.words]
        return list(zip(self.on.words, self.maybe.words, strict=True))

    @classmethod
    def from_lines(
        cls, lines: list[Line], n_bits: int, rows: NDArray[np.intp] | None = None, threads: Threads = SERIAL
    ) -> Patterns:
        """The first ``n_bits`` bits of consecutive lines, of all points or of the given ones, in order."""
        on, maybe = zip(*lines[: n_words(n_bits)], strict=True)
        bits = BitMatrix.of_lines(on, n_bits, rows, threads.map)
        return cls(bits, bits if are_exact(lines) else BitMatrix.of_lines(maybe, n_bits, rows, threads.map))

    @classmethod
    def joined(cls, parts: Sequence[Patterns]) -> Patterns:
        """The bits of all points of consecutive parts."""
        n_bits = parts[0].on.n_bits
        on = BitMatrix(np.concatenate([part.on.words for part in parts], axis=1), n_bits)
        if all(part.maybe is part.on for part in parts):
            return cls.exact(on)
        return cls(on, BitMatrix(np.concatenate([part.maybe.words for part in parts], axis=1), n_bits))

    def take(self, rows: NDArray[np.intp] | slice) -> Patterns:
        """The given rows, in the given order."""
        return self._both(lambda bits: bits.take(rows))

    def append(self, other: Patterns) -> Patterns:
        """The bits of ``other`` after those of each row."""
        if self.maybe is self.on and other.maybe is other.on:
            return Patterns.exact(_joined(self.on, other.on))
        return Patterns(_joined(self.on, other.on), _joined(self.maybe, other.maybe))

    def _both(self, change: Callable[[BitMatrix], BitMatrix]) -> Patterns:
        on = change(self.on)
        return Patterns(on, on if self.maybe is self.on else change(self.maybe))


def are_exact(lines: list[Line]) -> bool:
    """Whether no bit is open."""
    return all(word is other for word, other in lines)


def _joined(bits: BitMatrix, more: BitMatrix) -> BitMatrix:
    return BitMatrix.from_bool(np.concatenate([bits.to_bool(), more.to_bool()], axis=1))


def patterns_of(
    X: Matrix, planes: Hyperplanes, options: Options, threads: Threads, rows: NDArray[np.intp] | None = None
) -> Patterns:
    """Bits of points (all, or the given rows, in order): exact, or as they surely are with the options.

    The margin is a distance by now.
    """
    if isinstance(X, ChunkedPoints):
        found: Patterns = X.patterns(planes, options)
        return found if rows is None else found.take(rows)
    if not options.has_open_bits:
        return Patterns.exact(sides(X, planes.weights, planes.biases, rows=rows, threads=threads))
    return _sure_sides(X, planes, options, threads, np.arange(X.shape[0]) if rows is None else rows)


def _sure_sides(X: Matrix, planes: Hyperplanes, options: Options, threads: Threads, rows: NDArray[np.intp]) -> Patterns:
    weights = planes.weights.astype(np.float64)
    block = _sure_planes(weights, planes.biases)
    on = np.zeros((n_words(planes.count), len(rows)), dtype=np.uint64)
    maybe = np.zeros_like(on)
    step = max(16, TILE_ENTRIES // max(planes.count, X.shape[1]))
    form, margin = FORMATS.get(options.exact_in or "", EXACT), float(options.margin)

    def work(start: int) -> None:
        tile = dense_rows(X, rows[start : start + step])
        with np.errstate(all="ignore"):  # what overflows is not sure
            products = np.ascontiguousarray((weights @ tile.T).T)
        if margin:
            roomy_bits(products, norms_above(tile), margin, block, form, start, on, maybe)
        else:
            points = SureRows(tile, norms_above(tile), np.count_nonzero(tile, axis=1))
            sure_bits(products, points, block, form, start, on, maybe)

    with single_threaded_blas():
        threads.map(work, range(0, len(rows), step))
    return Patterns(BitMatrix(on, planes.count), BitMatrix(maybe, planes.count))


class Lines(NamedTuple):
    """Weights of hyperplanes, dense or sparse, one line of numbers after the other, with what bounds need to know.

    Line j is ``numbers[starts[j]:starts[j + 1]]``, for the features of the same places in ``features``, or for all
    where these are empty. It has ``terms[j]`` numbers other than zero, the first of them at ``firsts[j]``.
    """

    numbers: Floats
    starts: Ints
    features: Ints
    norms: Floats
    terms: Ints
    firsts: Ints

    @classmethod
    def of(cls, weights: Any) -> Lines:
        """Lines of an array or a CSR array."""
        n, d = weights.shape
        starts, features = d * np.arange(n + 1), np.arange(0)
        if sp.issparse(weights):
            starts, features = weights.indptr.astype(np.int64), weights.indices.astype(np.int64)
        numbers = (weights.data if sp.issparse(weights) else weights.ravel()).astype(np.float64, copy=False)
        lines = cls(numbers, starts, features, np.empty(n), *np.empty((2, n), dtype=np.int64))
        line_facts(numbers, starts, lines.norms, lines.terms, lines.firsts)
        return lines

    @property
    def is_cut(self) -> NDArray[np.bool_]:
        """Which have a single weight, a power of two: their products are not rounded."""
        return np.asarray((self.terms == 1) & (np.abs(np.frexp(self.leading)[0]) == 0.5))

    @property
    def leading(self) -> Floats:
        """The first weight of each line that is not zero; zero where there is none."""
        return np.where(self.terms > 0, np.append(self.numbers, 0.0)[self.firsts], 0.0)

    @property
    def columns(self) -> Ints:
        """The feature of the leading weight; 0 where there is none."""
        places = np.where(self.terms > 0, self.firsts, self.starts[:-1])
        if len(self.features):
            return np.where(self.terms > 0, np.append(self.features, 0)[places], 0)
        return places - self.starts[:-1]


def _sure_planes(weights: Any, biases: Floats) -> SurePlanes:
    """Return hyperplanes, dense or sparse, with what bounds need to know of each."""
    lines, longest = Lines.of(weights), weights.shape[1]
    if sp.issparse(weights):
        longest = int(np.diff(lines.starts).max(initial=0))
    return SurePlanes(
        lines.numbers, lines.starts, lines.features, biases, _raised(lines.norms, longest), lines.terms,
        np.where(lines.is_cut, lines.columns, -1), lines.leading,
    )  # fmt: skip


def norms_above(rows: Floats) -> Floats:
    """Euclidean norms, rounded up: d squares, d additions and a root err by less than (d + 4) 2^-52 of them."""
    norms = np.empty(len(rows))
    norms_of(rows, norms)
    return _raised(norms, rows.shape[1])


def _raised(norms: Floats, n_numbers: int) -> Floats:
    """Norms of so many numbers, raised by more than they may err by."""
    return np.asarray(norms * (1.0 + (n_numbers + 8) * 2.0**-52) + 5e-324)


def rounded(X: Matrix, exact_in: str | None) -> Matrix:
    """Points as the format holds them; X itself without ``exact_in``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct.patterns import rounded
    >>> rounded(np.array([[0.1]]), "float32").dtype, rounded(np.array([[0.1]]), "float64")
    (dtype('float32'), array([[0.1]]))
    """
    if exact_in != "float32" or X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        short = copied(X, np.float32) if is_mapped(X) else X.astype(np.float32)
    parts = [short.data] if hasattr(short, "indptr") else (short[tile] for tile in row_tiles(short))
    if not all(np.isfinite(part).all() for part in parts):
        raise DataError('X holds numbers that are too large for float32: scale them down, or use exact_in="float64"')
    return short


def _parts_against(own: Ints, n_classes: int) -> Runs:
    """Part k of ``own`` against the parts after them, one for each class, but for its own class."""
    counts, begin, end = runs_without(own, n_classes)
    runs_of = np.concatenate([counts, np.zeros(n_classes, np.int64)])
    first, last = (begin + len(own)).astype(np.int32), (end + len(own)).astype(np.int32)
    return Runs(runs_of, first, last, int((end - begin).sum()))


class SurePairs(OpenPairs):
    """As :class:`OpenPairs`, over points whose bits may be open.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.threads import Threads
    >>> from exactfit.construct.patterns import SurePairs
    >>> with Threads(1) as threads:
    ...     pairs = SurePairs(np.array([0, 1]), [0], threads=threads)
    ...     pairs.add(np.array([0b0, 0b1], dtype=np.uint64), np.array([0b1, 0b1], dtype=np.uint64))
    ...     print(pairs.closed)  # the bit may be on at the first point, too
    ...     pairs.add(np.array([0b0, 0b1], dtype=np.uint64), np.array([0b0, 0b1], dtype=np.uint64))
    ...     print(pairs.closed, pairs.needed_width())
    False
    True 65
    """

    def __init__(self, y: Ints, targets: Sequence[int], *, threads: Threads, budget: int = BUDGET) -> None:
        classes, codes = np.unique(y, return_inverse=True)
        wanted = np.flatnonzero(np.isin(classes, np.asarray(targets, dtype=np.int64)))
        part = np.full(len(classes), -1)
        part[wanted] = np.arange(len(wanted))
        self._first = np.flatnonzero(part[codes] >= 0)
        parts = np.concatenate([part[codes[self._first]], len(wanted) + codes])
        super().__init__(parts, (), threads=threads, budget=budget, pairs=_parts_against(wanted, len(classes)))

    def add(self, words: Words, maybe: Words | None = None) -> None:
        """Take the next block: what is surely on at every point, and what may be."""
        high = words if maybe is None else maybe
        super().add(np.concatenate([high[self._first], words]))

    def iter_point_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """The open pairs of points as rows (a, b), sorted, in chunks of bounded size."""
        for a, b in super().iter_point_pairs():
            yield self._first[a], b - len(self._first)
