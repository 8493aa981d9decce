"""The data that all contenders get: checked, split once, put where every process can read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...construct.labels import resolve_conflicts
from ...construct.recipe import check_choice
from ...exceptions import DataError
from ...geometry.problem import Problem
from ...network.sides import dense_rows
from .radius import Probes, choose_probes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

HELD_OUT = 0.2
_ARRAYS = ("X", "y", "rows", "others", "other_codes", "starts", "ends")


@dataclass(frozen=True, eq=False)
class Data:
    """Points to build on, points held out, and probes for the robust radius.

    Attributes
    ----------
    X, y : ndarray
        Four fifths of every class, as class indices.
    rows : ndarray of int64
        Where they stand in the data as given.
    others, other_codes : ndarray
        The points held out, and their class indices.
    starts, ends : ndarray
        See :class:`~exactfit.lab.comparison.radius.Probes`.
    """

    X: Floats
    y: Codes
    rows: Rows
    others: Floats
    other_codes: Codes
    starts: Floats
    ends: Floats

    @property
    def probes(self) -> Probes:
        """Segments to look for changes on."""
        return Probes(self.starts, self.ends)

    def save(self, folder: Path) -> None:
        """Write every array to a file of its own."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Path) -> Data:
        """The same arrays, read from disk as they are needed; writing to them changes no file."""
        return cls(**{name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c")) for name in _ARRAYS})


def prepare(X: Any, y: Any, conflicts: str, seed: int) -> tuple[Data, int]:
    """Check and split; also how many classes there are."""
    problem = _agreeing(Problem.of(X, y), conflicts)
    rng = np.random.default_rng(seed)
    kept, held_out = split(problem.codes, rng)
    points = np.ascontiguousarray(dense_rows(problem.X, slice(0, problem.X.shape[0])), dtype=np.float64)
    train, codes = points[kept], problem.codes[kept]
    probes = choose_probes(train, codes, rng)
    data = Data(train, codes, kept, points[held_out], problem.codes[held_out], probes.starts, probes.ends)
    return data, len(problem.classes)


def _agreeing(problem: Problem, how: str) -> Problem:
    """The same points, equal ones with equal labels."""
    check_choice("conflicts", how, ("raise", "majority"))
    kept = resolve_conflicts(problem.X, problem.codes, how, stacklevel=4)
    left, codes = np.unique(kept, return_inverse=True)
    if len(left) < 2:
        raise DataError("only one class is left after conflicts='majority': correct the labels of equal points")
    return Problem(problem.X, codes.astype(np.int64), problem.classes[left])


def split(codes: Codes, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows to build on and rows held out: a fifth of every class, of a class of one or two none.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparison.data import split
    >>> kept, held_out = split(np.repeat([0, 1, 2], [10, 5, 1]), np.random.default_rng(0))
    >>> len(kept), np.repeat([0, 1, 2], [10, 5, 1])[held_out]
    (13, array([0, 0, 1]))
    """
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out[rows[: round(HELD_OUT * len(rows))]] = True
    return np.flatnonzero(~held_out).astype(np.int64), np.flatnonzero(held_out).astype(np.int64)
