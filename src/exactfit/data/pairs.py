"""The closest pair of points of different classes, and every point's nearest point of another class: exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._kernels.distances import TINY
from .._support.threads import Work
from ..exceptions import DataError
from ..network.sides import dense_rows
from .cloud import Cloud, Floats, exact_distance
from .equal import conflict_pairs, conflicts, distinct_rows
from .labelled import Codes
from .matrices import Matrix, Rows
from .search import Pairs, by_blocks, by_tree, in_few_dimensions

VANISHING = 1e-250  # squares in scale below this have lost digits to underflow, or vanished


def closest_pair(X: Matrix, codes: Codes, work: Work) -> tuple[float, tuple[int, int]]:
    """Distance and rows of the closest pair of different classes."""
    equal = conflicts(X, codes)
    if equal:
        return 0.0, min(conflict_pairs(equal, codes))
    firsts, _ = distinct_rows(X, codes)
    rows = closest_rows(Cloud(X, firsts), codes, work)
    try:
        return exact_distance(*dense_rows(X, np.array(rows))), rows
    except OverflowError as error:
        raise DataError("the data are too large: a distance overflows float64. Scale them down.") from error


def closest_rows(cloud: Cloud, codes: Codes, work: Work) -> tuple[int, int]:
    """The closest pair of different classes, the lower row first."""
    pairs = _search(cloud, codes[cloud.rows], True, work)
    a, b = int(cloud.rows[pairs.left[0]]), int(cloud.rows[pairs.right[0]])
    return min(a, b), max(a, b)


def _search(cloud: Cloud, codes: Codes, shared: bool, work: Work) -> Pairs:
    search = by_tree if in_few_dimensions(cloud, codes) else by_blocks
    return search(cloud, codes, shared, work)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Every point's nearest point of another class.

    ``squares`` are in the cloud's scale, as computed; ``rows`` are exact.
    """

    cloud: Cloud
    squares: Floats
    rows: Rows

    @cached_property
    def distances(self) -> Floats:
        """Distances, to within some roundings; exact where squares in scale vanish."""
        lengths = self.cloud.lengths(self.squares)
        for row in np.flatnonzero(self.squares < VANISHING):
            lengths[row] = exact_distance(*dense_rows(self.cloud.X, np.array([row, self.rows[row]])))
        return lengths

    def closest(self) -> tuple[float, tuple[int, int]]:
        """Distance and rows of the closest pair of all: the lowest of the rows that may attain it, exactly."""
        near = np.flatnonzero(self.squares <= self.squares.min() * (1.0 + 4.0 * self.cloud.share) + TINY)
        a = int(near[self.cloud.winner(near, self.rows[near])])
        b = int(self.rows[a])
        return exact_distance(*dense_rows(self.cloud.X, np.array([a, b]))), (min(a, b), max(a, b))


def nearest_other(X: Matrix, codes: Codes, work: Work) -> Nearest:
    """For every point the exactly nearest one of another class, the lowest row on a tie."""
    firsts, place = distinct_rows(X, codes)
    cloud = Cloud(X, firsts)
    pairs = _search(cloud, codes[firsts], False, work)
    pairs = pairs.take(np.argsort(pairs.left))
    return Nearest(cloud, pairs.squares[place], firsts[pairs.right][place])
