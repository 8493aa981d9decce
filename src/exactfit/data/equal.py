"""Equal points: those whose labels contradict each other, and those that are there twice."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import hash_rows
from .._support.console import counted, user_stacklevel
from ..exceptions import ConflictWarning, ContradictoryLabelsError
from .matrices import ChunkedPoints, Matrix, Rows, dense_rows, row_tiles

Codes = NDArray[np.int64]

# Rows compared at a time, where hashes agree.
COMPARED = 1024
SOUGHT = 2**20  # hashes looked up at a time: 8 MB of places


def hashes_of(X: Matrix) -> NDArray[np.uint64]:
    """A hash of every row: equal rows have equal ones."""
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for tile in row_tiles(X):
        hash_rows(dense_rows(X, tile), hashes[tile])
    return hashes


def conflicts(X: Matrix, y: Codes) -> list[NDArray[np.intp]]:
    """Groups of equal rows with more than one label, by their first row.

    Rows are hashed; where rows of one hash differ in label they are compared for real.
    """
    parts = X.hashed_rows() if isinstance(X, ChunkedPoints) else iter([(np.arange(X.shape[0]), hashes_of(X))])
    groups = [group for rows, hashes in parts for group in _conflicts_among(X, y, rows, hashes)]
    return sorted(groups, key=lambda group: int(group[0]))


def _conflicts_among(X: Matrix, y: Codes, rows: Rows, hashes: NDArray[np.uint64]) -> list[NDArray[np.intp]]:
    """Groups among ascending rows that hold all of their hashes."""
    rows, hashes = _repeated(rows, hashes)
    by_hash = np.argsort(hashes, kind="stable")
    hashes, order = hashes[by_hash], rows[by_hash]
    labels = y[order]
    same = hashes[1:] == hashes[:-1]
    suspicious = np.unique(hashes[1:][same & (labels[1:] != labels[:-1])])
    starts = np.searchsorted(hashes, suspicious, side="left")
    stops = np.searchsorted(hashes, suspicious, side="right")
    return [
        group
        for start, stop in zip(starts, stops, strict=True)
        for group in _really_equal(X, order[start:stop])
        if len(np.unique(y[group])) > 1
    ]


def _repeated(rows: Rows, hashes: NDArray[np.uint64]) -> tuple[Rows, NDArray[np.uint64]]:
    """Those whose hash is there more than once; numbers alone are sorted much faster than places by numbers."""
    ordered = np.sort(hashes)
    often = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(often):
        return rows[:0], hashes[:0]
    tiles = (slice(low, low + SOUGHT) for low in range(0, len(hashes), SOUGHT))
    found = np.concatenate([_is_among(hashes[tile], often) for tile in tiles])
    return rows[found], hashes[found]


def _is_among(values: NDArray[np.uint64], ascending: NDArray[np.uint64]) -> NDArray[np.bool_]:
    places = np.searchsorted(ascending, values)
    return np.asarray(ascending[np.minimum(places, len(ascending) - 1)] == values)


def _really_equal(X: Matrix, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split rows of one hash into groups of truly equal rows, single rows left out."""
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
    """For each group its first row, paired with the first row of every other label in it."""
    pairs = []
    for group in groups:
        labels, firsts = np.unique(y[group], return_index=True)
        for first in sorted(firsts[labels != y[group[0]]]):
            pairs.append((int(group[0]), int(group[first])))
    return pairs


def refuse_conflicts(X: Matrix, y: Codes) -> None:
    """Raise :class:`ContradictoryLabelsError` if equal points carry different labels, where no majority may decide."""
    groups = conflicts(X, y)
    if groups:
        raise ContradictoryLabelsError(conflict_pairs(groups, y), may_vote=False)


def majority_labels(groups: list[NDArray[np.intp]], y: Codes) -> Codes:
    """Labels with each group's majority label throughout (the lowest code on a tie)."""
    resolved = y.copy()
    for group in groups:
        resolved[group] = np.bincount(y[group]).argmax()
    return resolved


def resolve_conflicts(X: Matrix, y: Codes, how: str, exact_in: str | None = None) -> Codes:
    """Labels that agree on equal points: others are refused ("raise"), or overruled by the majority with a warning."""
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
    """Of rows that are left out, those that equal a kept one of another label, ascending: no function fits both."""
    out = np.zeros(len(y), dtype=bool)
    out[left_out] = True
    found = [
        int(row)
        for group in (conflicts(X, y) if len(left_out) else ())
        for row in group[out[group]]
        if (y[group[~out[group]]] != y[row]).any()
    ]
    return np.array(sorted(found), dtype=np.int64)


def distinct_rows(X: Matrix, codes: Codes) -> tuple[Rows, Rows]:
    """First rows of equal points of one class, and for every row the place of its first in them.

    Rows are hashed and compared; two different rows of one hash count as distinct, and so
    do, harmlessly, further copies of the second.
    """
    hashes = hashes_of(X)
    order = np.lexsort((codes, hashes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]) | (codes[order[1:]] != codes[order[:-1]])
    firsts = np.empty(len(order), dtype=np.int64)
    firsts[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    repeated = np.flatnonzero(firsts != np.arange(len(firsts)))
    for start in range(0, len(repeated), COMPARED):
        rows = repeated[start : start + COMPARED]
        same = (dense_rows(X, rows) == dense_rows(X, firsts[rows])).all(axis=1)
        firsts[rows[~same]] = rows[~same]
    return np.unique(firsts, return_inverse=True)
