"""Points that are not in one memory: what the constructions ask of them, and nothing more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..network.bits import BitMatrix

Floats = NDArray[np.float64]


class PartedPoints(ABC):
    """Rows that lie in parts, elsewhere, and have passed the gate where they are.

    Stands where a matrix stands. ``mean``, ``radius``, ``hashes_of`` and ``patterns_of``, which go over all
    points, leave that to the parts and join what comes back in the order of rows; everything else fetches
    rows by their number.

    Attributes
    ----------
    shape : tuple of int
        Points and features.
    memory : int
        Bytes that a first layer with the patterns of all points may take here.
    """

    shape: tuple[int, int]
    memory: int

    @abstractmethod
    def __getitem__(self, rows: Any) -> Floats:
        """Rows by their number, in the given order."""

    @abstractmethod
    def nearest(self, points: Floats, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
        """For each of some points the nearest of its candidates, one line of rows each; the least on a tie."""

    @abstractmethod
    def mean(self) -> Floats:
        """See :func:`exactfit.data.mean`."""

    @abstractmethod
    def radius(self, origin: Floats) -> float:
        """Largest distance of a row from ``origin``."""

    @abstractmethod
    def hashes(self) -> NDArray[np.uint64]:
        """A hash of every row."""

    @abstractmethod
    def sides(self, weights: NDArray[Any], biases: Floats) -> BitMatrix:
        """See :func:`exactfit.network.sides.sides`."""
