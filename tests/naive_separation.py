"""Slow, obvious twins of `exactfit.construct.separation` and `rescue`: every pair, one hyperplane at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def unpack(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Bits of one block: row per point, column per hyperplane."""
    return np.array([[(int(word) >> i) & 1 == 1 for i in range(64)] for word in words], dtype=bool).reshape(-1, 64)


def all_pairs(y: NDArray[np.int64], targets: Sequence[int]) -> NDArray[np.bool_]:
    """Whether (a, b) has to be separated, as a matrix."""
    wanted = np.isin(y, list(targets))
    return wanted[:, None] & (y[:, None] != y[None, :])


def open_after(is_open: NDArray[np.bool_], on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What one hyperplane leaves open (Algorithm 1, line 6)."""
    return is_open & ~(~on[:, None] & on[None, :])


def open_matrices(
    y: NDArray[np.int64], targets: Sequence[int], blocks: Sequence[NDArray[np.uint64]]
) -> list[NDArray[np.bool_]]:
    """The open pairs after 0, 1, 2, ... hyperplanes (Algorithm 1, lines 3-7)."""
    matrices = [all_pairs(y, targets)]
    for words in blocks:
        for on in unpack(words).T:
            matrices.append(open_after(matrices[-1], on))
    return matrices


def open_matrix(
    y: NDArray[np.int64], targets: Sequence[int], blocks: Sequence[NDArray[np.uint64]]
) -> NDArray[np.bool_]:
    """The open pairs after whole blocks: no bit off in a and on in b."""
    is_open = all_pairs(y, targets)
    for words in blocks:
        is_open &= (words[None, :] & ~words[:, None]) == 0
    return is_open


def n_group_pairs(is_open: NDArray[np.bool_], y: NDArray[np.int64], blocks: Sequence[NDArray[np.uint64]]) -> int:
    """How many pairs of groups are open, a group being the points of one class and pattern."""
    _, group = np.unique(np.stack([y.astype(np.uint64), *blocks]), axis=1, return_inverse=True)
    a, b = np.nonzero(is_open)
    return len(np.unique(group[a] * len(y) + group[b]))


def cut_separates(x_a: NDArray[np.float64], x_b: NDArray[np.float64], cut: tuple[int, int, float]) -> bool:
    """Whether a is on the off side of the cut and b on the positive one."""
    j, s, t = cut
    return bool(s * x_a[j] <= s * t < s * x_b[j])


def coordinate_cuts(
    X: NDArray[np.float64], pairs: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, int, float], int]]:
    """(feature, sign, threshold) and row of a cut for every pair that none before it separates."""
    cuts: list[tuple[tuple[int, int, float], int]] = []
    for a, b in pairs:
        if not any(cut_separates(X[a], X[b], cut) for cut, _ in cuts):
            with np.errstate(over="ignore"):
                j = int(np.argmax(np.abs(X[b] - X[a])))
            cuts.append(((j, 1 if X[b, j] > X[a, j] else -1, float(X[a, j])), a))
    return cuts
