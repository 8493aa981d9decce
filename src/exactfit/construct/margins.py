"""A margin: what it is in units of X, and the bisectors that reach it where the chosen law does not.

Half the separation bounds every margin: a point halfway between two labels has one answer at most. The bisector
of a pair keeps half of the pair's distance to both, so every margin below half the separation can be
reached by bisectors of pairs that are still open. Each closes its own pair at least, so there is an end.
"""

from __future__ import annotations

import numpy as np

from .._kernels.rows import norms_of
from .._support.threads import Work
from ..data import Codes, Matrix, PartedPoints, Rows
from ..data.matrices import dense_rows
from ..data.pairs import closest_pair
from ..exceptions import AssumptionError
from ..network.bits import WORD_BITS, BitMatrix
from .distinct import ClassOrder, Cover
from .evidence import Counts
from .halfspaces import UNIT, Support
from .hyperplanes import Hyperplanes, between, in_format_of
from .recipe import Recipe, percentage
from .separation import Ints, OpenPairs

LISTED = 2**20  # open pairs looked at for one block of bisectors: 16 MB of row numbers


def margin_of(options: Recipe, X: Matrix, codes: Codes, out: Rows, work: Work) -> float:
    """The margin as a distance; refuses one that no network can have. ``out`` are rows that were left out before."""
    share = percentage(options.margin) if isinstance(options.margin, str) else None
    if share is None and isinstance(
        X, PartedPoints
    ):  # to look at all pairs takes long; no bisector closes too close ones
        return float(options.margin)
    gap, (a, b) = closest_pair(X, codes, work)
    margin = float(options.margin) if share is None else gap / 2.0 * (share / 100.0)
    if 2.0 * margin >= gap:
        rows = np.delete(np.arange(len(codes) + len(out)), out)
        raise AssumptionError(
            f"margin={options.margin!r}",
            (rows[a], rows[b]),
            f"They have different labels and are only {gap:.6g} apart: use a margin below {gap / 2.0:.6g}.",
        )
    return margin


def open_bisectors(X: Matrix, pairs: OpenPairs, options: Recipe, rng: np.random.Generator) -> Hyperplanes:
    """A block of bisectors of open pairs: from points in random order, each to the nearest that it is open with."""
    a, b = _some_pairs(pairs)
    distances = np.empty(len(a))
    for start in range(0, len(a), 2**14):
        part = slice(start, start + 2**14)
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
    """The first open pairs, as many as are looked at."""
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
    """Detectors for points that none claims with the margin: right where they stand, and the rest keeps its margin.

    The evidence counts the rest's bits that are surely on within the margin, but anchors and claims as they stand.
    Points stay listed as uncovered; returned is what masks are the complement of, anchors of such detectors included.
    """
    words = masked.words.copy()
    for k, cover in zip(targets, covers, strict=True):
        waiting = cover.uncovered
        while len(waiting):
            anchor, selected = waiting[:1], evidence.select(waiting)
            limits, witnesses = evidence.limits(anchor, order.rest(k))
            claimed = (evidence.heights(anchor, selected) < limits[:, None])[0]
            if limits[0] > 0:
                words[:, anchor] = evidence.highest.words[:, anchor]
                cover.accept(anchor, limits.tolist(), witnesses, np.array([claimed.sum()]))
                _as_weights(cover, evidence.highest, int(anchor[0]), int(witnesses[0]))
            claimed[0] = True  # examined, if not claimed
            waiting = waiting[~claimed]
    return BitMatrix(words, masked.n_bits)


def _as_weights(cover: Cover, patterns: BitMatrix, anchor: int, witness: int) -> None:
    """The mask of an anchor as weights, where the cover has weights."""
    if cover.weights is None or cover.supports is None:
        return
    cover.weights.append((~patterns.take(np.array([anchor])).to_bool()[0]).astype(np.int8))
    cover.supports.append(Support(np.array([anchor, witness]), np.array([UNIT, -UNIT])))
