"""How little has to change for an answer to change: an upper bound of the robust radius, found alike for all.

From each probe, a training point, goes a segment to the nearest training point of another label. Somewhere between
the answers change; bisection finds such a place. The smallest distance over all probes bounds the robust radius of
whatever gives the answers, network or not, from above.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Decide = Callable[[Floats], NDArray[Any]]

N_PROBES = 200
ROW_TILE = 4096
PRECISION = 1e-6
MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Probes:
    """Segments from training points to their nearest points of another label, shape (n_probes, n_features)."""

    starts: Floats
    ends: Floats


def choose_probes(X: Floats, codes: Codes, rng: np.random.Generator, count: int = N_PROBES) -> Probes:
    """Segments from some points, drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparison.radius import choose_probes
    >>> X, codes = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    >>> probes = choose_probes(X, codes, np.random.default_rng(0))
    >>> probes.starts.ravel(), probes.ends.ravel()
    (array([0., 1., 3.]), array([3., 3., 1.]))
    """
    rows = np.sort(rng.choice(len(codes), min(count, len(codes)), replace=False))
    starts = X[rows]
    nearest, squares = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), np.inf)
    for low in range(0, len(codes), ROW_TILE):
        tile = X[low : low + ROW_TILE]
        # Squares less those of the starts: enough to compare, and rounding may only choose a near tie.
        found = (tile * tile).sum(axis=1) - 2.0 * (starts @ tile.T)
        found[codes[rows][:, None] == codes[low : low + ROW_TILE]] = np.inf
        best = found.argmin(axis=1)
        closest = found[np.arange(len(rows)), best]
        better = closest < squares
        nearest[better], squares[better] = low + best[better], closest[better]
    return Probes(starts, X[nearest])


def smallest_change(decide: Decide, probes: Probes, seconds: float = np.inf) -> float | None:
    """Smallest change found that changes an answer, None if none was found.

    A probe whose answer cannot change any more before the smallest change so far is left out,
    which changes nothing about the result. When the time is up, the smallest change so far counts.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparison.radius import Probes, smallest_change
    >>> probes = Probes(np.array([[0.0], [4.0]]), np.array([[4.0], [0.0]]))
    >>> round(smallest_change(lambda X: X[:, 0] > 1.0, probes), 5)
    1.0
    """
    end = time.monotonic() + seconds
    own = decide(probes.starts)
    crossing = np.flatnonzero(decide(probes.ends) != own)
    if not len(crossing):
        return None
    search = _Search(probes.starts[crossing], probes.ends[crossing], own[crossing])
    for _ in range(MOST_STEPS):
        if not search.step(decide) or time.monotonic() > end:
            break
    return search.smallest()


class _Search:
    """Bisection on all segments at once; ``low`` and ``high`` are shares of the way."""

    def __init__(self, starts: Floats, ends: Floats, own: NDArray[Any]) -> None:
        self.starts, self.ways, self.own = starts, ends - starts, own
        self.low, self.high = np.zeros(len(starts)), np.ones(len(starts))
        self.lengths = _lengths(self.ways)
        self.changes = self.lengths.copy()

    def step(self, decide: Decide) -> bool:
        """Halve the segments that still matter; whether there were any."""
        coarse = self.high - self.low > PRECISION * self.high
        which = np.flatnonzero(coarse & (self.low * self.lengths < self.changes.min()))
        if not len(which):
            return False
        middle = (self.low[which] + self.high[which]) / 2
        points = self.starts[which] + middle[:, None] * self.ways[which]
        changed = decide(points) != self.own[which]
        self.low[which[~changed]] = middle[~changed]
        self.high[which[changed]] = middle[changed]
        self.changes[which[changed]] = _lengths((points - self.starts[which])[changed])
        return True

    def smallest(self) -> float:
        """Rounded up: it has to stay an upper bound."""
        slack = (self.starts.shape[1] + 4) * 2.0**-52
        return float(self.changes.min() * (1.0 + slack))


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=1))
