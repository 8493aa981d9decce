"""Sums over points, rounded once: the same for every order of rows, tile and partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import DIGIT_BITS, DIGITS, add_exactly, carry
from ..network.sides import dense_rows, row_tiles
from .matrices import Floats, Matrix
from .parted import PartedPoints

# Digits count multiples of the smallest float64 number.
PLACES = 1074


class ExactSum:
    """The exact sum of rows of float64 numbers, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.sums import ExactSum
    >>> total = ExactSum(1)
    >>> total.add(np.array([[1e300], [1.0], [-1e300]]))
    >>> total.over(2)
    array([0.5])
    """

    def __init__(self, n_columns: int) -> None:
        self.digits = np.zeros((n_columns, DIGITS), dtype=np.int64)

    def add(self, rows: Floats) -> None:
        """Rows of finite numbers, fewer than 2^30."""
        add_exactly(np.ascontiguousarray(rows, dtype=np.float64).view(np.int64), self.digits)
        carry(self.digits)

    def merge(self, other: ExactSum) -> None:
        """What another sum has come to."""
        self.digits += other.digits
        carry(self.digits)

    def over(self, count: int) -> Floats:
        """The sums over a number, each rounded once."""
        return np.array([total / (count << PLACES) for total in self._integers()], dtype=np.float64)

    def _integers(self) -> list[int]:
        low = self.digits[:, :-1].astype("<u4")
        tops = self.digits[:, -1].tolist()
        shift = DIGIT_BITS * (DIGITS - 1)
        return [int.from_bytes(line.tobytes(), "little") + (top << shift) for line, top in zip(low, tops, strict=True)]


def mean(X: Matrix) -> Floats:
    """Mean of the rows: the exact sum over their number, rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.data.sums import mean
    >>> mean(np.array([[0.1], [0.2], [0.3]]))
    array([0.2])
    """
    return X.mean() if isinstance(X, PartedPoints) else exact_sum(X).over(X.shape[0])


def exact_sum(X: Matrix) -> ExactSum:
    """Sum of the rows; those of parts can be merged."""
    total = ExactSum(X.shape[1])
    for tile in row_tiles(X):
        total.add(dense_rows(X, tile))
    return total


def mean_and_deviation(values: Floats) -> tuple[float, float]:
    """Mean of some numbers and the root of their mean square deviation from it, both from exact sums.

    Numbers are scaled by a power of two first, so that squares neither overflow nor vanish.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled: NDArray[np.float64] = np.ldexp(values, -exponent)[:, None]
    middle = mean(scaled)
    deviations = scaled - middle
    spread = np.sqrt(mean(deviations * deviations))
    return float(np.ldexp(middle[0], exponent)), float(np.ldexp(spread[0], exponent))
