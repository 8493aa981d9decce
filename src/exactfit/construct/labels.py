"""Points that cannot be used: not finite, or equal to one of another label."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import hash_rows
from ..exceptions import ConflictWarning, ContradictoryLabelsError, DataError
from ..network.sides import dense_rows, row_tiles

Matrix = Any
Codes = NDArray[np.int64]


def conflicts(X: Matrix, y: Codes) -> list[NDArray[np.intp]]:
    """Groups of equal rows (-0.0 equals 0.0) with more than one label, by their first row.

    Rows are hashed; where rows of one hash differ in label they are compared for real.
    """
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for tile in row_tiles(X):
        hash_rows(dense_rows(X, tile), hashes[tile])
    order = np.argsort(hashes, kind="stable")
    ordered, labels = hashes[order], y[order]
    same = ordered[1:] == ordered[:-1]
    suspicious = np.unique(ordered[1:][same & (labels[1:] != labels[:-1])])
    starts = np.searchsorted(ordered, suspicious, side="left")
    stops = np.searchsorted(ordered, suspicious, side="right")
    groups = [
        group
        for start, stop in zip(starts, stops, strict=True)
        for group in _really_equal(X, order[start:stop])
        if len(np.unique(y[group])) > 1
    ]
    return sorted(groups, key=lambda group: int(group[0]))


def _really_equal(X: Matrix, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split rows of one hash into groups of truly equal rows, single rows left out."""
    groups = []
    while len(rows) > 1:
        first = dense_rows(X, rows[:1])
        same = np.concatenate(
            [(dense_rows(X, rows[start : start + 1024]) == first).all(axis=1) for start in range(0, len(rows), 1024)]
        )
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


def refuse_not_finite(X: Matrix) -> None:
    """Raise :class:`DataError` if a point holds NaN or infinity."""
    for tile in row_tiles(X):
        wrong = ~np.isfinite(dense_rows(X, tile)).all(axis=1)
        if wrong.any():
            raise DataError(
                f"row {tile.start + int(wrong.argmax())} of X holds NaN or infinity: drop or fill such values"
            )


def refuse_conflicts(X: Matrix, y: Codes, exact_in: str | None = None) -> None:
    """Raise :class:`ContradictoryLabelsError` if equal points carry different labels; X is rounded to ``exact_in``."""
    groups = conflicts(X, y)
    if groups:
        raise ContradictoryLabelsError(conflict_pairs(groups, y), exact_in)


def majority_labels(groups: list[NDArray[np.intp]], y: Codes) -> Codes:
    """Labels with each group's majority label throughout (the lowest code on a tie)."""
    resolved = y.copy()
    for group in groups:
        resolved[group] = np.bincount(y[group]).argmax()
    return resolved


def resolve_conflicts(X: Matrix, y: Codes, how: str, stacklevel: int, exact_in: str | None = None) -> Codes:
    """Labels that agree on equal points: others are refused ("raise"), or overruled by the majority with a warning."""
    groups = conflicts(X, y)
    if not groups:
        return y
    if how == "raise":
        raise ContradictoryLabelsError(conflict_pairs(groups, y), exact_in)
    kept = majority_labels(groups, y)
    warnings.warn(
        f"{len(groups)} groups of equal points carry different labels; "
        f"{np.count_nonzero(kept != y)} rows lose to the majority of their group",
        ConflictWarning,
        stacklevel=stacklevel + 1,
    )
    return kept
