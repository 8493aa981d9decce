"""Fallback where draws no longer separate pairs: stall detection, coordinate cuts, bisectors that reach a margin.

Some pairs are so close together that no reasonable number of random hyperplanes would separate them. The cut
``w = s e_j, b = -s x_j`` through the target point of such a pair always does, in floating point too: it compares two
stored numbers.

Half the separation bounds every margin: a point halfway between two labels has one answer at most. The bisector
of a pair keeps half of the pair's distance to both, so every margin below half the separation can be
reached by bisectors of pairs that are still open. Each closes its own pair at least, so there is an end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from .._kernels.open_pairs import cut_pairs
from .._kernels.rows import norms_of
from .._support.parameters import shown
from .._support.threads import Executor
from ..data import ChunkedPoints, Codes, Matrix, Rows
from ..data.matrices import dense_rows
from ..data.pairs import closest_pair
from ..exceptions import AssumptionError
from ..network.bits import BitMatrix
from ..options import Options, percentage
from .evidence import Counts
from .hyperplanes import Hyperplanes, between, in_format_of
from .separation import Ints, OpenPairs
from .unique_patterns import ClassOrder, Cover, Support
from .weighted import UNIT

STALL_STEP = 512  # hyperplanes between two looks at what is open, eight blocks
STALL_FROM = 1024  # hyperplanes: most data are separated by fewer
ROWS_BYTES = 2**26  # dense rows held at once
STEPS = 2**27  # comparisons in one piece of work: well under 0.3 s
NEW_CUTS = 256  # between two sorts of the cuts
LISTED = 2**20  # open pairs looked at for one block of bisectors: 16 MB of row numbers
PAIRS_AT_ONCE = 2**14  # whose differences are held while their lengths are found: 100 MB for images of 784 pixels


@dataclass(frozen=True, eq=False)
class Cuts:
    """Axis-parallel hyperplanes: on iff ``sign * x[feature] > sign * threshold``."""

    feature: Ints
    sign: NDArray[np.int8]  # the weight of that feature: 1 or -1
    threshold: NDArray[np.float64]  # the bias is -sign * threshold
    origin: Ints  # the row that the cut goes through

    def __len__(self) -> int:
        return len(self.feature)

    @classmethod
    def empty(cls, n: int) -> Cuts:
        """Return arrays for ``n`` cuts, with nothing in them yet."""
        return cls(np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n), np.empty(n, np.int64))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all columns, in the order above."""
        return self.feature, self.sign, self.threshold, self.origin

    def append(self, other: Cuts) -> Cuts:
        """Return these cuts and then the others."""
        return Cuts(*(np.concatenate(columns) for columns in zip(self.arrays(), other.arrays(), strict=True)))

    def by_feature(self, n_features: int) -> tuple[NDArray[np.float64], Ints]:
        """Return thresholds sorted within (feature, sign), and where each such list begins."""
        key = 2 * self.feature + (self.sign > 0)
        order = np.lexsort((self.threshold, key))
        return self.threshold[order], np.searchsorted(key[order], np.arange(2 * n_features + 1))


def coordinate_cuts(X: Any, pairs: Iterable[tuple[Ints, Ints]], limit: int | None = None) -> Cuts:
    """Return cuts that separate all the given pairs, which come in chunks of rows (a, b); stop above ``limit`` cuts."""
    # For every pair that no earlier cut separates: a cut through a, along the feature in which the two differ most (the
    # lowest such), with b on the positive side.
    cuts = Cuts.empty(0)
    n_points, n_features = X.shape
    max_rows = max(2, ROWS_BYTES // (8 * n_features))
    n = max_rows // 2
    for a, b in pairs:
        done = 0
        while done < len(a):
            n = max(1, min(2 * n, STEPS // n_features))
            some = slice(done, done + n)
            rows, a_places, b_places = _take(a[some], b[some], max_rows, n_points)
            cuts = _cut_rows(dense_rows(X, rows), rows, a_places, b_places, cuts)
            if limit is not None and len(cuts) > limit:
                return cuts
            n = len(a_places)
            done += n
    return cuts


def _take(a: Ints, b: Ints, max_rows: int, n_points: int) -> tuple[Ints, Ints, Ints]:
    """Return the rows of the first pairs, as many pairs as have few rows, and these as places among the rows."""
    taken = np.zeros(n_points, dtype=bool)
    taken[a] = taken[b] = True
    rows = np.flatnonzero(taken)
    if len(rows) > max_rows and len(a) > 1:
        half = len(a) // 2
        return _take(a[:half], b[:half], max_rows, n_points)
    places = np.empty(n_points, np.int64)
    places[rows] = np.arange(len(rows))
    return rows, places[a], places[b]


def _cut_rows(values: NDArray[np.float64], rows: Ints, a: Ints, b: Ints, cuts: Cuts) -> Cuts:
    """Return the cuts so far and those for the pairs (a, b) of rows of ``values``."""
    done = 0
    while done < len(a):
        new = Cuts.empty(NEW_CUTS)
        step, n_new = cut_pairs(values, a[done:], b[done:], cuts.by_feature(values.shape[1]), new.arrays())
        if n_new == step == 0:
            raise AssertionError(f"rows {rows[a[done]]} and {rows[b[done]]} are equal: no cut can separate them")
        feature, sign, threshold, origin = (column[:n_new] for column in new.arrays())
        cuts = cuts.append(Cuts(feature, sign, threshold, rows[origin]))
        done += step
    return cuts


class Stall:
    """Stall detection: drawing on is no use if 512 more hyperplanes did not halve the open pairs.

    Looked at after multiples of ``step`` draws, from ``max(min_width, first)`` on.
    """

    def __init__(self, min_width: int, step: int = STALL_STEP, first: int = STALL_FROM) -> None:
        self._step, self._from = step, max(min_width, first)
        self._n, self._open = 0, 0

    def due(self, n: int) -> bool:
        """Return whether `stalled` needs the number of open pairs after ``n`` draws."""
        return n % self._step == 0 and n + self._step >= self._from

    def stalled(self, n: int, n_open: int) -> bool:
        """Return whether the ``n_open`` pairs after ``n`` draws are more than half of those 512 draws before."""
        before, known = self._open, n == self._n + self._step and self._n > 0
        self._n, self._open = n, n_open
        return known and n >= self._from and 2 * n_open > before


def margin_of(options: Options, X: Matrix, codes: Codes, out: Rows, work: Executor) -> float:
    """Return the margin as a distance; refuse one that no network can have. ``out`` are rows left out before."""
    share = percentage(options.margin) if isinstance(options.margin, str) else None
    if share is None and isinstance(X, ChunkedPoints):
        return float(options.margin)  # to look at all pairs takes long; no bisector closes too close ones
    gap, (a, b) = closest_pair(X, codes, work)
    margin = float(options.margin) if share is None else gap / 2.0 * (share / 100.0)
    if 2.0 * margin >= gap:
        rows = np.delete(np.arange(len(codes) + len(out)), out)
        raise AssumptionError(
            f"margin={margin:.6g}" if share is None else f"margin={shown(options.margin)}",
            (rows[a], rows[b]),
            f"They have different labels and are only {gap:.6g} apart: use a margin below {gap / 2.0:.6g}.",
        )
    return margin


def open_bisectors(X: Matrix, pairs: OpenPairs, options: Options, rng: np.random.Generator) -> Hyperplanes:
    """Return bisectors of open pairs: from points in random order, each to the nearest that it is open with."""
    a, b = _some_pairs(pairs)
    distances = np.empty(len(a))
    for start in range(0, len(a), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        norms_of(dense_rows(X, b[part]) - dense_rows(X, a[part]), distances[part])
    points, place = np.unique(a, return_inverse=True)
    turn = rng.permutation(len(points))[place]
    order = np.lexsort((b, distances, turn))
    firsts = np.flatnonzero(np.r_[True, turn[order][1:] != turn[order][:-1]])
    rank = np.arange(len(order)) - np.repeat(firsts, np.diff(np.r_[firsts, len(order)]))
    chosen = order[np.lexsort((turn[order], rank))[:WORD_BITS]]
    filled = np.resize(chosen, WORD_BITS)  # repeats, if pairs are few: the width ends before them
    return in_format_of(between(dense_rows(X, a[filled]), dense_rows(X, b[filled])), options.exact_in)


def _some_pairs(pairs: OpenPairs) -> tuple[Ints, Ints]:
    """Return the first open pairs."""
    a, b, count = [], [], 0
    for some_a, some_b in pairs.iter_point_pairs():
        a.append(some_a)
        b.append(some_b)
        count += len(some_a)
        if count >= LISTED:
            break
    return np.concatenate(a)[:LISTED], np.concatenate(b)[:LISTED]


def claim_without_margin(
    evidence: Counts, order: ClassOrder, targets: tuple[int, ...], covers: list[Cover], masked: BitMatrix
) -> BitMatrix:
    """Add detectors for points that none claims with the margin; return the bits that masks are the complement of."""
    # They are right where the points are, and the rest keeps its margin: the evidence counts the rest's bits that are
    # surely on within the margin, but anchors and claims as they are. Points stay listed as uncovered.
    words = masked.words.copy()
    for k, cover in zip(targets, covers, strict=True):
        waiting = cover.uncovered
        while len(waiting):
            anchor, selected = waiting[:1], evidence.select(waiting)
            limits, witnesses = evidence.limits(anchor, order.rest(k))
            claimed = (evidence.masked_counts(anchor, selected) < limits[:, None])[0]
            if limits[0] > 0:
                words[:, anchor] = evidence.highest.words[:, anchor]
                weights = (~evidence.highest.take(anchor).to_bool()[0]).astype(np.int8)
                support = Support(np.concatenate([anchor, witnesses]), np.array([UNIT, -UNIT]))
                cover.add(int(anchor[0]), int(limits[0]), int(witnesses[0]), int(claimed.sum()), weights, support)
            claimed[0] = True  # examined, if not claimed
            waiting = waiting[~claimed]
    return BitMatrix(words, masked.n_bits)
