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
MIXER = 0x9E3779B97F4A7C15  # odd: sets the hashes of equal rows apart by their class


def hashes_of(X: Matrix) -> NDArray[np.uint64]:
    """Return a hash of every row: equal rows have equal ones."""
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for tile in row_tiles(X):
        hash_rows(dense_rows(X, tile), hashes[tile])
    return hashes


def first_equal(X: Matrix, rows: Rows, hashes: NDArray[np.uint64], codes: Codes | None = None) -> Rows:
    """Return the first equal row for each of ascending rows, by their hashes; with codes, the first of its class."""
    firsts = rows.copy()
    # Most data repeat no row: numbers alone are sorted much faster than places by numbers.
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):
        return firsts
    places = np.minimum(np.searchsorted(repeated, hashes), len(repeated) - 1)
    left = np.flatnonzero(repeated[places] == hashes)
    groups = places[left]
    while len(left):
        _, heads, of = np.unique(groups, return_index=True, return_inverse=True)
        first = left[heads][of]
        # Different rows may have one hash: those that differ from the first of their hash are a group of their own.
        same = np.empty(len(left), dtype=bool)
        for low in range(0, len(left), COMPARED):
            part = slice(low, low + COMPARED)
            same[part] = (dense_rows(X, rows[left[part]]) == dense_rows(X, rows[first[part]])).all(axis=1)
        if codes is not None:
            same &= codes[rows[left]] == codes[rows[first]]
        firsts[left[same]] = rows[first[same]]
        left, groups = left[~same], groups[~same]
    return firsts


def conflicts(X: Matrix, y: Codes) -> list[NDArray[np.intp]]:
    """Return groups of equal rows with more than one label, by their first row."""
    groups: list[NDArray[np.intp]] = []
    for rows, hashes in X.hashed_rows() if isinstance(X, ChunkedPoints) else [(np.arange(X.shape[0]), hashes_of(X))]:
        firsts = first_equal(X, rows, hashes)
        found = np.flatnonzero(np.isin(firsts, firsts[y[rows] != y[firsts]]))
        order = found[np.argsort(firsts[found], kind="stable")]
        groups += np.split(rows[order], np.flatnonzero(np.diff(firsts[order])) + 1) if len(order) else []
    return sorted(groups, key=lambda group: int(group[0]))


def conflict_pairs(groups: list[NDArray[np.intp]], y: Codes) -> list[tuple[int, int]]:
    """Return for each group its first row, paired with the first row of every other label in it."""
    pairs = []
    # One pair for each label names every contradiction: all pairs of a large group would be too many.
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
    hashes = hashes_of(X) + codes.astype(np.uint64) * np.uint64(MIXER)
    return np.unique(first_equal(X, np.arange(len(codes)), hashes, codes), return_inverse=True)
