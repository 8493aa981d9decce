"""Equal points: those whose labels contradict each other, and repeated ones."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import hash_rows
from .._support.console import counted, user_stacklevel
from ..exceptions import ConflictWarning, ContradictoryLabelsError
from .matrices import ChunkedPoints, Matrix, Rows, dense_rows, row_tiles

Codes = NDArray[np.int64]

COMPARED = 1024  # rows compared at a time, where hashes agree
LOOKED_UP = 2**20  # hashes looked up at a time: 8 MB of places


def hashes_of(X: Matrix) -> NDArray[np.uint64]:
    """Return a hash of every row: equal rows have equal ones."""
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for tile in row_tiles(X):
        hash_rows(dense_rows(X, tile), hashes[tile])
    return hashes


def conflicts(X: Matrix, y: Codes) -> list[NDArray[np.intp]]:
    """Return groups of equal rows with more than one label, by their first row."""
    parts = X.hashed_rows() if isinstance(X, ChunkedPoints) else iter([(np.arange(X.shape[0]), hashes_of(X))])
    groups = [group for rows, hashes in parts for group in _conflicts_among(X, y, rows, hashes)]
    return sorted(groups, key=lambda group: int(group[0]))


def _conflicts_among(X: Matrix, y: Codes, rows: Rows, hashes: NDArray[np.uint64]) -> list[NDArray[np.intp]]:
    """Return the groups among ascending rows that hold all of their hashes."""
    # Most data repeat no row: numbers alone are sorted much faster than places by numbers.
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):
        return []
    found = np.empty(len(hashes), dtype=bool)
    for low in range(0, len(hashes), LOOKED_UP):
        tile = hashes[low : low + LOOKED_UP]
        places = np.minimum(np.searchsorted(repeated, tile), len(repeated) - 1)
        found[low : low + LOOKED_UP] = repeated[places] == tile
    rows, hashes = rows[found], hashes[found]
    order = np.argsort(hashes, kind="stable")
    rows, hashes, labels = rows[order], hashes[order], y[rows[order]]
    several = np.unique(hashes[1:][(hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1])])
    ends = (np.searchsorted(hashes, several, side=side) for side in ("left", "right"))
    groups = [group for start, stop in zip(*ends, strict=True) for group in _equal_rows(X, rows[start:stop])]
    return [group for group in groups if (y[group] != y[group[0]]).any()]


def _equal_rows(X: Matrix, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split rows of one hash into groups of equal rows, single rows left out."""
    groups = []
    while len(rows) > 1:
        first = dense_rows(X, rows[:1])
        parts = (dense_rows(X, rows[start : start + COMPARED]) for start in range(0, len(rows), COMPARED))
        same = np.concatenate([(part == first).all(axis=1) for part in parts])
        if same.sum() > 1:
            groups.append(rows[same])
        rows = rows[~same]
    return groups


def conflict_pairs(groups: list[NDArray[np.intp]], y: Codes) -> list[tuple[int, int]]:
    """Return for each group its first row, paired with the first row of every other label in it."""
    pairs = []
    for group in groups:
        labels, firsts = np.unique(y[group], return_index=True)
        pairs += [(int(group[0]), int(group[first])) for first in sorted(firsts[labels != y[group[0]]])]
    return pairs


def refuse_conflicts(X: Matrix, y: Codes, exact_in: str | None = None) -> None:
    """Raise :class:`ContradictoryLabelsError` if equal points carry different labels, where no majority may decide."""
    groups = conflicts(X, y)
    if groups:
        raise ContradictoryLabelsError(conflict_pairs(groups, y), exact_in, may_vote=False)


def majority_labels(groups: list[NDArray[np.intp]], y: Codes) -> Codes:
    """Return labels with each group's majority label throughout (the lowest code on a tie)."""
    resolved = y.copy()
    for group in groups:
        resolved[group] = np.bincount(y[group]).argmax()
    return resolved


def resolve_conflicts(X: Matrix, y: Codes, how: str, exact_in: str | None = None) -> Codes:
    """Return labels that agree on equal points: others are refused ("raise"), or outvoted with a warning."""
    groups = conflicts(X, y)
    if not groups:
        return y
    if how == "raise":
        raise ContradictoryLabelsError(conflict_pairs(groups, y), exact_in)
    kept = majority_labels(groups, y)
    warnings.warn(
        f"{counted(len(groups), 'group')} of equal points with different labels: the majority of each overrules "
        f"{counted(int((kept != y).sum()), 'row')}",
        ConflictWarning,
        stacklevel=user_stacklevel(),
    )
    return kept


def overruled_rows(X: Matrix, y: Codes, left_out: Rows) -> Rows:
    """Return rows that are left out and equal a kept one of another label, ascending: no function fits both."""
    kept = np.ones(len(y), dtype=bool)
    kept[left_out] = False
    overruled = []
    for group in conflicts(X, y) if len(left_out) else ():
        labels = y[group[kept[group]]]
        overruled += [int(row) for row in group[~kept[group]] if (labels != y[row]).any()]
    return np.array(sorted(overruled), dtype=np.int64)


def distinct_rows(X: Matrix, codes: Codes) -> tuple[Rows, Rows]:
    """Return first rows of equal points of one class, and for every row the place of its first in them."""
    # Two different rows of one hash count as distinct, and so do, harmlessly, further copies of the second.
    hashes = hashes_of(X)
    order = np.lexsort((codes, hashes))
    is_new = np.append(True, (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0))
    firsts = np.empty(len(order), dtype=np.int64)
    firsts[order] = order[is_new][np.cumsum(is_new) - 1]
    repeated = np.flatnonzero(firsts != np.arange(len(firsts)))
    for start in range(0, len(repeated), COMPARED):
        rows = repeated[start : start + COMPARED]
        same = (dense_rows(X, rows) == dense_rows(X, firsts[rows])).all(axis=1)
        firsts[rows[~same]] = rows[~same]
    return np.unique(firsts, return_inverse=True)
