"""Margins: the distance asked for, hyperplanes that reach it, and detectors for points that cannot have it.

Half the separation bounds every margin: a point halfway between two labels has one answer at most. The bisector of a
pair keeps half of the pair's distance to both, so every margin below half the separation can be reached by bisectors
of pairs that are still open. Each closes its own pair at least, so there is an end.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from .._kernels.counting import WORD_BITS
from .._kernels.rows import norms_of
from .._support.console import silent
from .._support.parameters import shown
from .._support.threads import Executor, Threads
from ..data import ChunkedPoints, Codes, Matrix, Rows
from ..data.matrices import dense_rows
from ..data.pairs import closest_pair
from ..exceptions import AssumptionError
from ..network.bits import BitMatrix
from ..options import Options, percentage
from .cover import mask_cover
from .evidence import Counts
from .hyperplanes import Hyperplanes, between, in_format_of
from .separation import OpenPairs
from .unique_patterns import ClassOrder, Cover, Support
from .weighted import UNIT

LISTED = 2**20  # open pairs looked at for one block of bisectors: 16 MB of row numbers
PAIRS_AT_ONCE = 2**14  # whose differences are held while their lengths are found: 100 MB for images of 784 pixels


def margin_of(options: Options, X: Matrix, codes: Codes, rows: Rows, work: Executor) -> float:
    """Return the margin as a distance; refuse one that no network can have. ``rows`` are the users' numbers of rows."""
    fraction = percentage(options.margin) if isinstance(options.margin, str) else None
    if fraction is None and isinstance(X, ChunkedPoints):
        return float(options.margin)  # to look at all pairs takes long; no bisector closes too close ones
    gap, (a, b) = closest_pair(X, codes, work)
    margin = float(options.margin) if fraction is None else gap / 2.0 * (fraction / 100.0)
    if 2.0 * margin >= gap:
        raise AssumptionError(
            f"margin={margin:.6g}" if fraction is None else f"margin={shown(options.margin)}",
            (rows[a], rows[b]),
            f"They have different labels and are only {gap:.6g} apart: use a margin below {gap / 2.0:.6g}.",
        )
    return margin


def open_bisectors(X: Matrix, pairs: OpenPairs, options: Options, rng: np.random.Generator) -> Hyperplanes:
    """Return bisectors of open pairs: from points in random order, each to the nearest that it is open with."""
    # Chunks of pairs hold as many as are looked at, or are all there is.
    a, b = (np.concatenate(half)[:LISTED] for half in zip(*islice(pairs.iter_point_pairs(), 2), strict=True))
    distances = np.empty(len(a))
    for start in range(0, len(a), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        norms_of(dense_rows(X, b[part]) - dense_rows(X, a[part]), distances[part])
    points, place = np.unique(a, return_inverse=True)
    turn = rng.permutation(len(points))[place]
    order = np.lexsort((b, distances, turn))
    # The nearest partner of every point, then the second nearest of every point, and so on.
    _, firsts, sizes = np.unique(turn[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(firsts, sizes)
    chosen = order[np.lexsort((turn[order], rank))[:WORD_BITS]]
    filled = np.resize(chosen, WORD_BITS)  # repeats, if pairs are few: the width ends before them
    return in_format_of(between(dense_rows(X, a[filled]), dense_rows(X, b[filled])), options.exact_in)


def claim_without_margin(
    sure: BitMatrix, exact: BitMatrix, order: ClassOrder, covers: dict[int, Cover], threads: Threads
) -> None:
    """Add detectors for points that no detector claims with the margin; they stay listed as uncovered."""
    # They are right where the points are, and the rest keeps its margin: limits count the rest's bits that are surely
    # on within the margin, but masks and claims count bits as they are.
    evidence = Counts(sure, threads, exact)
    for k, cover in covers.items():
        start, stop = order.target(k)
        waiting = np.zeros(stop - start, dtype=np.int64)
        waiting[cover.uncovered - start] = 1
        more = mask_cover(evidence, (start, stop), order.rest(k), cover.uncovered, silent, waiting)
        cover.anchors += more.anchors
        cover.limits += more.limits
        cover.witnesses += more.witnesses
        cover.coverage += more.coverage
        bits = exact.take(np.array(more.anchors, dtype=np.intp))
        if cover.bits is not None:
            cover.bits = BitMatrix(np.concatenate([cover.bits.words, bits.words], axis=1), bits.n_bits)
        if cover.weights is not None and cover.supports is not None:
            cover.weights += list((~bits.to_bool()).astype(np.int8))
            pairs = zip(more.anchors, more.witnesses, strict=True)
            cover.supports += [Support(np.array(pair), np.array([UNIT, -UNIT])) for pair in pairs]
