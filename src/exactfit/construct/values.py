"""Evidence for real-valued activations: sums in one fixed order, with proven bounds.

The value of a mask at a point x is the float64 number that ``affine`` and
``sum_masked`` define. For ReLU it differs from the exact real number by at most

    E(x, v) = e(x) + share * v,

with v the computed value: a hyperplane's sum of d products (the most of any, where few features each are looked at)
and its bias, in order, errs
by at most gamma_{d+1} (|w_i| |x| + |b_i|), ReLU does not enlarge it, and adding up to n
such non-negative values errs by at most gamma_n of their sum. So, generously,
e(x) = 1.05 (d + 2) u (|x| sum |w_i| + sum |b_i|) + tiny and share = 1.05 (n + 4) u. A
hyperplane with a single weight, a power of two, multiplies without rounding and rounds
once when the bias is added: its error is a share of its own value, so it is left out of
the sums in e(x). Both the computed and the exact value lie between v - E and v + E.

With m the smallest v - E over the rest, a detector claims the points with v + E < m, and
any limit above the largest claimed v + E and not above m is right for the computed and
for the exact values alike. The float64 number with the fewest significant bits is taken.

A user's own activation has no such proof: e = 0 and share = 2^-40, a nominal allowance.

With ``exact_in``, E is to hold for limit - value in every evaluation in a format, in any order of sums. Let u be
its unit roundoff and eta its smallest normal number. By ``certificate/paper_form.py`` each hyperplane errs by at most
gamma_(d+5) (|w_i| |x| + |b_i| + pad (|w_i| + |x| + 1)), and limit - value by another gamma_(n+2) (value + limit).
A claimed point has value < limit, so (v + e)(1 + 2 gamma) < limit is enough; a point of the rest has value > limit,
and v (1 - 2 gamma) - e > limit is. Hence share = 2.2 (n + 8) u, and e(x) with 1.1 (d + 6) (u + 4 2^-53), which
pays for the float64 sum here too. The pads are left in for hyperplanes with a single weight. Limits are
rounded down to the format before anything is held against them. All that holds if nothing overflows, in
units outside a mask too (0 times infinity is NaN): every |w_i| |x| + |b_i|, and for hyperplanes with a single
weight each product, has to stay below a quarter of the range, and so have all values of a point together,
which no partial sum and no limit exceeds. Otherwise the construction ends in an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import affine, sparse_affine
from .._kernels.limits import highest_sums, lowest_sums
from .._kernels.rows import norms_of
from .._support.threads import Threads
from ..data.matrices import TILE_NUMBERS, dense_rows
from ..exceptions import DataError, NoGapError
from ..network.activations import Activation
from ..network.bits import BitMatrix
from .evidence import Columns, Pieces, first_lowest, masks_of
from .hyperplanes import Hyperplanes
from .patterns import FORMATS, WeightRows

Matrix = Any
Floats = NDArray[np.float64]

COLUMN_TILE = 512  # points at a time, at most: their values stay in the cache while masks pass
TILE_WORK = 2**28  # multiplications for a tile of points: short enough that Ctrl-C is answered
KEPT_BYTES = 2**28  # values of all points are kept up to 256 MiB, and computed again beyond
U64 = 2.0**-53  # unit roundoff of float64
OWN_SHARE = 2.0**-40  # relative error granted to a user's activation, of which nothing is known: 2^13 roundings


@dataclass(eq=False)
class Values:
    """Evidence for ReLU and users' own activations; values are kept while they fit, else computed again."""

    X: Matrix
    rows: Columns
    planes: Hyperplanes
    may_be_on: BitMatrix  # bits: masks are its complement
    activation: Activation
    threads: Threads
    exact_in: str | None = None

    def __post_init__(self) -> None:
        weights, n, is_own = self.planes.weights, self.planes.count, self.activation.is_own
        normals = WeightRows.of(weights)
        self._plane_norms, self._cut_columns, self._cut_weights = normals.norms, normals.columns, normals.leading
        self._rough = rough = ~normals.is_cut
        # The most products that a sum has.
        n_terms = int(normals.terms.max(initial=0)) if sp.issparse(weights) else weights.shape[1]
        at_once = TILE_NUMBERS // weights.shape[1]
        self.step = max(16, min(COLUMN_TILE, TILE_WORK // max(1, len(normals.numbers)), at_once))
        self._kept: dict[int, tuple[Floats, Floats]] | None = {} if 8 * n * len(self.rows) <= KEPT_BYTES else None
        self.share, pad = OWN_SHARE if is_own else 1.05 * (n + 4) * U64, 0.0
        rate = 0.0 if is_own else 1.05 * (n_terms + 2) * U64
        if self.exact_in is not None:
            form = FORMATS[self.exact_in]
            self.share, pad = 2.2 * (n + 8) * form.unit, form.pad
            rate = 1.1 * (n_terms + 6) * (form.unit + 4 * U64) if (n_terms + 6) * form.unit < 0.05 else math.inf
        with np.errstate(over="ignore"):
            norms, biases = normals.norms, np.abs(self.planes.biases)
            pads = pad * (_total(norms) + n) if pad else 0.0
            self._slope = rate * (_total(norms[rough]) + n * pad)
            self._offset = rate * (_total(biases[rough]) + pads) + (4 * pad or (1e-300 if rate else 0.0))

    def tile(self, index: int) -> tuple[Floats, Floats]:
        """Return values (n, columns) and errors (columns,) of one tile of columns."""
        if self._kept is not None and index in self._kept:
            return self._kept[index]
        start = index * self.step
        points = dense_rows(self.X, self.rows[start : start + self.step])
        made = self.values(points), self.errors(points)
        if self.exact_in is not None:
            self._refuse_overflow(points, *made, FORMATS[self.exact_in].huge)
        if self._kept is not None:
            self._kept[index] = made
        return made

    def values(self, points: Floats) -> Floats:
        """Return the first layer's values at some points, shape (n, points)."""
        sums = np.empty((self.planes.count, len(points)))
        with np.errstate(over="ignore", invalid="ignore"):
            columns, weights = np.ascontiguousarray(points.T), self.planes.weights
            if sp.issparse(weights):
                parts = weights.data, weights.indices, weights.indptr
                sparse_affine(columns, *parts, self.planes.biases, sums)
            else:
                affine(columns, weights, self.planes.biases, sums)
            values = self.activation(sums)
            finite = np.isfinite(values.sum(axis=0)).all() and (self.activation.is_own or np.isfinite(sums).all())
        if not finite or not (values >= 0).all():
            raise DataError(
                f"activation {self.activation.name!r} gives values that are negative or not finite on these data: "
                "scale the data down"
            )
        return np.ascontiguousarray(values)

    def _refuse_overflow(self, points: Floats, values: Floats, errors: Floats, huge: float) -> None:
        """Refuse points at which some evaluation in the format might leave its range."""
        exact, norms, biases = ~self._rough, self._plane_norms, np.abs(self.planes.biases)
        with np.errstate(over="ignore", invalid="ignore"):
            rough = _norms(points) * norms[~exact].max(initial=0.0) + biases[~exact].max(initial=0.0)
            # Of one weight each: no sum.
            products = np.abs(points[:, self._cut_columns[exact]] * self._cut_weights[exact])
            together = values.sum(axis=0) * (1.0 + self.share) + errors
            largest = [norms, _norms(points), 1.001 * rough, biases, products, 4.0 * together]
        if not all((numbers < huge).all() for numbers in largest):
            wider = ', exact_in="float64"' if self.exact_in == "float32" else ""
            raise NoGapError(
                f"values of activation {self.activation.name!r} overflow {self.exact_in} on these data: "
                f'use activation="threshold"{wider}, or scale the data down'
            )

    def errors(self, points: Floats) -> Floats:
        """Return e(x) for some points."""
        with np.errstate(over="ignore"):
            return self._slope * _norms(points) + self._offset

    def cost(self, rest: Pieces) -> int:
        """Return the number of values to add up for one candidate's limit."""
        return self.planes.count * sum(stop - start for start, stop in rest)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[Floats, Columns]:
        """Return m for every anchor, 0 where the anchor itself is not below it, and the column that set it."""
        masks = masks_of(self.may_be_on, anchors)

        def work(piece: tuple[int, int, int]) -> tuple[Floats, Columns]:
            index, low, high = piece
            values, errors = self.tile(index)
            lowest, where = np.full(len(masks), np.inf), np.full(len(masks), -1)
            part = slice(low - index * self.step, high - index * self.step)
            lowest_sums(np.ascontiguousarray(values[:, part]), errors[part], self.share, masks, low, lowest, where)
            return lowest, where

        pieces = [piece for start, stop in rest for piece in _tile_pieces(start, stop, self.step)]
        lowest, where = first_lowest(self.threads.map(work, pieces))
        own = np.array([self.masked_counts(anchors[k : k + 1], anchors[k : k + 1])[0, 0] for k in range(len(anchors))])
        if self.exact_in == "float32":  # the largest float32 numbers not above
            with np.errstate(over="ignore"):
                short = lowest.astype(np.float32)
            lowest = np.where(short > lowest, np.nextafter(short, np.float32(-np.inf)), short).astype(np.float64)
        return np.where(own < lowest, lowest, 0.0), where

    def select(self, columns: Columns | slice) -> Columns:
        """Return the columns themselves."""
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def masked_counts(self, anchors: Columns, selected: Columns) -> Floats:
        """Return v + E for every anchor and selected column."""
        masks = masks_of(self.may_be_on, anchors)
        out = np.empty((len(anchors), len(selected)))

        def work(index: int) -> None:
            here = np.flatnonzero(selected // self.step == index)
            values, errors = self.tile(index)
            at = selected[here] - index * self.step
            part = np.empty((len(masks), len(here)))
            highest_sums(np.ascontiguousarray(values[:, at]), errors[at], self.share, masks, part)
            out[:, here] = part

        self.threads.map(work, np.unique(selected // self.step).tolist())
        return out

    def confusable(self, anchor: int, rest: Pieces) -> Columns:
        """Return the columns of the rest that the anchor's mask may not separate from the anchor."""
        own = self.masked_counts(np.array([anchor]), np.array([anchor]))[0, 0]
        mask = masks_of(self.may_be_on, np.array([anchor]))
        found = []
        for start, stop in rest:
            for index, low, high in _tile_pieces(start, stop, self.step):
                values, errors = self.tile(index)
                upper = np.empty((1, values.shape[1]))
                highest_sums(values, errors, self.share, mask, upper)
                lower = (upper[0] - errors) / (1 + self.share) * (1 - self.share) - errors
                columns = index * self.step + np.flatnonzero(lower * (1 - 1e-12) <= own)
                found.append(columns[(columns >= low) & (columns < high)])
        return np.concatenate(found)

    def stored_limits(self, limits: Floats, highest: Floats) -> list[float]:
        """Return for each the roundest number above ``highest`` and not above the limit."""
        return list(map(roundest, highest.tolist(), limits.tolist()))


def _total(numbers: Floats) -> float:
    """Return their sum, rounded once; infinite beyond float64, where fsum would raise an error."""
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


def _norms(rows: Floats) -> Floats:
    norms = np.empty(len(rows))
    norms_of(rows, norms)
    return norms


def _tile_pieces(start: int, stop: int, step: int) -> list[tuple[int, int, int]]:
    """Return a range of columns cut at the tiles' edges: (tile, first column, column after the last)."""
    first, last = start // step, (stop - 1) // step
    return [(k, max(start, k * step), min(stop, (k + 1) * step)) for k in range(first, last + 1)]


def roundest(low: float, high: float) -> float:
    """Return the float64 with fewest significant bits in (low, high], the largest of these; 0 <= low < high."""
    exponent = math.frexp(high)[1]
    for bits in range(1, 54):
        unit_exponent = exponent - bits
        rounded = math.ldexp(math.floor(math.ldexp(high, -unit_exponent)), unit_exponent)
        if rounded > low:
            return rounded
    return high
