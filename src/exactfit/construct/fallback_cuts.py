"""Fallback where draws no longer separate pairs: stall detection, and cuts along single features.

Some pairs are so close together that no reasonable number of random hyperplanes would separate them. The cut
``w = s e_j, b = -s x_j`` through the target point of such a pair always does, in floating point too: it compares two
stored numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.open_pairs import cut_pairs
from ..data.matrices import dense_rows
from .separation import Ints

STALL_STEP = 512  # hyperplanes between two looks at what is open, eight blocks
STALL_FROM = 1024  # hyperplanes: most data are separated by fewer
ROWS_BYTES = 2**26  # dense rows held at once
STEPS = 2**27  # comparisons in one piece of work: well under 0.3 s
NEW_CUTS = 256  # between two sorts of the cuts


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


def coordinate_cuts(X: Any, pairs: Iterable[tuple[Ints, Ints]]) -> Cuts:
    """Return cuts that separate all the given pairs, which come in chunks of rows (a, b)."""
    # For every pair that no earlier cut separates: a cut through a, along the feature in which the two differ most (the
    # lowest such), with b on the positive side.
    cuts = Cuts.empty(0)
    n_features = X.shape[1]
    max_rows = max(2, ROWS_BYTES // (8 * n_features))
    n = max_rows // 2
    for a, b in pairs:
        done = 0
        while done < len(a):
            n = max(1, min(2 * n, STEPS // n_features, len(a) - done))
            # As many pairs as have few rows, and these as places among the rows.
            rows = np.unique([a[done : done + n], b[done : done + n]])
            while len(rows) > max_rows and n > 1:
                n //= 2
                rows = np.unique([a[done : done + n], b[done : done + n]])
            a_places, b_places = (np.searchsorted(rows, half[done : done + n]) for half in (a, b))
            cuts = _cut_rows(dense_rows(X, rows), rows, a_places, b_places, cuts)
            done += n
    return cuts


def _cut_rows(values: NDArray[np.float64], rows: Ints, a: Ints, b: Ints, cuts: Cuts) -> Cuts:
    """Return the cuts so far and those for the pairs (a, b) of rows of ``values``."""
    done = 0
    while done < len(a):
        # Thresholds sorted within (feature, sign), and where each such list begins.
        key = 2 * cuts.feature + (cuts.sign > 0)
        order = np.lexsort((cuts.threshold, key))
        before = cuts.threshold[order], np.searchsorted(key[order], np.arange(2 * values.shape[1] + 1))
        new = Cuts.empty(NEW_CUTS).arrays()
        step, n_new = cut_pairs(values, a[done:], b[done:], before, new)
        if n_new == step == 0:
            raise AssertionError(f"rows {rows[a[done]]} and {rows[b[done]]} are equal: no cut can separate them")
        *columns, origin = (column[:n_new] for column in new)
        both = zip(cuts.arrays(), (*columns, rows[origin]), strict=True)
        cuts = Cuts(*(np.concatenate(pair) for pair in both))
        done += step
    return cuts


class Stall:
    """Stall detection: drawing on is no use if ``step`` more hyperplanes did not halve the open pairs.

    Asked after multiples of ``step`` draws, from ``max(min_width, first)`` on.
    """

    def __init__(self, min_width: int, step: int = STALL_STEP, first: int = STALL_FROM) -> None:
        self._step, self._from = step, max(min_width, first)
        self._n, self._open = 0, 0

    def due(self, n: int) -> bool:
        """Return whether `stalled` needs the number of open pairs after ``n`` draws."""
        return n % self._step == 0 and n + self._step >= self._from

    def stalled(self, n: int, n_open: int) -> bool:
        """Return whether the ``n_open`` pairs after ``n`` draws are more than half of those ``step`` draws before."""
        before, known = self._open, n == self._n + self._step and self._n > 0
        self._n, self._open = n, n_open
        return known and n >= self._from and 2 * n_open > before
