"""Open pairs where bits may be open: a pair is separated only where no evaluation can doubt it.

A hyperplane surely separates a
point a of a target class from a point b of the rest if its bit is surely off at a and surely on at b. So a point
shows what may be on while it is a, and what is surely on while it is b: it plays two parts, each with one word a
block, and :class:`OpenPairs` serves for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._support.threads import Threads
from ..network.bits import Words
from .separation import BUDGET, Ints, OpenPairs, Runs, runs_without


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
    >>> from exactfit.construct.sure_pairs import SurePairs
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

    def draw(self, rng: np.random.Generator, count: int, others: int = 1) -> tuple[Ints, Ints]:
        """``count`` random rows that are first in open pairs, and for each so many seconds."""
        a, b = super().draw(rng, count, others)
        return self._first[a], b - len(self._first)

    def iter_point_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """The open pairs of points as rows (a, b), sorted, in chunks of bounded size."""
        for a, b in super().iter_point_pairs():
            yield self._first[a], b - len(self._first)
