"""When random hyperplanes stop separating pairs, and the coordinate cuts that then finish.

Some pairs lie so close together that no reasonable number of random hyperplanes would part
them. The cut ``w = s e_j, b = -s x_j`` through the target point of such a pair always does,
in floating point too: it compares two stored numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.open_pairs import cut_pairs
from ..data.matrices import dense_rows

Ints = NDArray[np.int64]

STALL_STEP = 512  # hyperplanes between two looks at what is open, eight blocks
STALL_FROM = 1024  # hyperplanes: most data are separated by fewer
ROWS_BYTES = 2**26  # dense rows held at once
STEPS = 2**27  # comparisons in one piece of work: well under 0.3 s
NEW_CUTS = 256  # between two sorts of the cuts


@dataclass(frozen=True, eq=False)
class Cuts:
    """Axis-parallel hyperplanes: on iff ``sign * x[feature] > sign * threshold``.

    Attributes
    ----------
    feature : ndarray of int64, shape (n_cuts,)
    sign : ndarray of int8, shape (n_cuts,)
        The weight of that feature: 1 or -1.
    threshold : ndarray of float64, shape (n_cuts,)
        The bias is ``-sign * threshold``.
    origin : ndarray of int64, shape (n_cuts,)
        The row that the cut goes through.
    """

    feature: Ints
    sign: NDArray[np.int8]
    threshold: NDArray[np.float64]
    origin: Ints

    def __len__(self) -> int:
        return len(self.feature)

    @classmethod
    def room(cls, n: int) -> Cuts:
        """Arrays for ``n`` cuts, with nothing in them yet."""
        return cls(np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n), np.empty(n, np.int64))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All columns, in the order above."""
        return self.feature, self.sign, self.threshold, self.origin

    def append(self, other: Cuts) -> Cuts:
        """These cuts and then the others."""
        return Cuts(*(np.concatenate(columns) for columns in zip(self.arrays(), other.arrays(), strict=True)))

    def by_feature(self, n_features: int) -> tuple[NDArray[np.float64], Ints]:
        """Thresholds sorted within (feature, sign), and where each such list begins."""
        key = 2 * self.feature + (self.sign > 0)
        order = np.lexsort((self.threshold, key))
        return self.threshold[order], np.searchsorted(key[order], np.arange(2 * n_features + 1))


def coordinate_cuts(X: Any, pairs: Iterable[tuple[Ints, Ints]], limit: int | None = None) -> Cuts:
    """Cuts that separate all the given pairs.

    For every pair (a, b) in turn that no earlier cut separates: a cut through a, along the
    feature in which the two differ most (the lowest such), with b on the positive side.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n_points, n_features)
    pairs : iterable of (a_rows, b_rows)
        Chunks of pairs of unequal points (fastest where equal a follow each other).
    limit : int, optional
        Stop early once there are more cuts than this.

    Returns
    -------
    Cuts

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct.rescue import coordinate_cuts
    >>> X = np.array([[1.0, 5.0], [np.nextafter(1.0, 2.0), 5.0], [0.5, 5.0]])
    >>> cuts = coordinate_cuts(X, [(np.array([0, 0]), np.array([1, 2]))])
    >>> cuts.feature, cuts.sign, cuts.threshold
    (array([0, 0]), array([ 1, -1], dtype=int8), array([1., 1.]))
    """
    cuts = Cuts.room(0)
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
    """About as many of the first pairs as have few rows: those rows, and the pairs as places among them."""
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
    """The cuts so far and those for the pairs (a, b) of rows of ``values``."""
    done = 0
    while done < len(a):
        new = Cuts.room(NEW_CUTS)
        step, n_new = cut_pairs(values, a[done:], b[done:], cuts.by_feature(values.shape[1]), new.arrays())
        if n_new == step == 0:
            raise AssertionError(f"rows {rows[a[done]]} and {rows[b[done]]} are equal: no cut can separate them")
        feature, sign, threshold, origin = (column[:n_new] for column in new.arrays())
        cuts = cuts.append(Cuts(feature, sign, threshold, rows[origin]))
        done += step
    return cuts


class Stall:
    """Tells when drawing on is no use: 512 more hyperplanes did not halve the open pairs.

    Judged at multiples of 512, from ``max(min_width, 1024)`` draws on.

    Parameters
    ----------
    min_width : int
        The width that is drawn in any case.
    step, first : int
        Other numbers than 512 and 1024.

    Examples
    --------
    >>> from exactfit.construct.rescue import Stall
    >>> stall = Stall(0)
    >>> [n for n in range(64, 1100, 64) if stall.due(n)]
    [512, 1024]
    >>> stall.stalled(512, 10), stall.stalled(1024, 5), stall.stalled(1536, 3)
    (False, False, True)
    """

    def __init__(self, min_width: int, step: int = STALL_STEP, first: int = STALL_FROM) -> None:
        self._step, self._from = step, max(min_width, first)
        self._n, self._open = 0, 0

    def due(self, n: int) -> bool:
        """Whether `stalled` wants to know the open pairs after ``n`` draws."""
        return n % self._step == 0 and n + self._step >= self._from

    def stalled(self, n: int, n_open: int) -> bool:
        """Whether the ``n_open`` pairs after ``n`` draws are more than half of those 512 draws before."""
        before, known = self._open, n == self._n + self._step and self._n > 0
        self._n, self._open = n, n_open
        return known and n >= self._from and 2 * n_open > before
