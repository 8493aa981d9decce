"""Exact numbers: whole numbers over one power of two, which is what floating-point numbers are.

Sums and products with whole numbers keep the power of two, so that layers of integer weights
never round, whatever real numbers come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Objects = NDArray[np.object_]

DIGITS = 53  # binary digits of a float64


def object_array(values: Sequence[Any], shape: tuple[int, ...]) -> Objects:
    """Python numbers as an object array; NumPy must not turn them into its own."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


@dataclass(frozen=True, eq=False)
class Dyadic:
    """The numbers ``numerators / 2**shift``, exactly.

    Parameters
    ----------
    numerators : ndarray of Python integers, shape (points, units)
    shift : int
        Zero or more.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.dyadic import Dyadic
    >>> halves = Dyadic.of(np.array([[0.5, -3.0]]))
    >>> halves.numerators, halves.shift
    (array([[1, -6]], dtype=object), 1)
    >>> halves.affine(np.array([[7, 2]], dtype=object), np.array([10], dtype=object)).numbers()
    array([[Fraction(15, 2)]], dtype=object)
    """

    numerators: Objects
    shift: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Dyadic:
        """Floating-point numbers, or whole numbers of any kind, as they are."""
        if values.dtype.kind != "f":
            return cls(values.astype(object), 0)
        if not np.isfinite(values).all():
            raise ValueError("integer weights take finite numbers only")
        digits, exponents = odd_parts(values)
        shift = max(0, -int(exponents.min(initial=0)))
        return cls(digits.astype(object) << (exponents + shift).astype(object), shift)

    def affine(self, weights: Objects, bias: Objects) -> Dyadic:
        """``weights @ self + bias`` for whole weights and biases, one row per point."""
        out = np.empty((len(self.numerators), len(weights)), dtype=object)
        columns = self.numerators.T
        for unit, (row, constant) in enumerate(zip(weights, bias, strict=True)):
            total: Any = _whole(constant) << self.shift
            for index in np.flatnonzero(row):
                total = total + columns[index] * row[index]
            out[:, unit] = total
        return Dyadic(out, self.shift)

    def clipped(self) -> Dyadic:
        """Zero where negative."""
        return Dyadic(np.maximum(self.numerators, 0), self.shift)

    def numbers(self) -> Objects:
        """Python integers or, where these will not do, fractions."""
        if not self.shift:
            return self.numerators
        whole = 1 << self.shift
        values = self.numerators.ravel().tolist()
        return object_array([Fraction(value, whole) for value in values], self.numerators.shape)


def _whole(constant: Any) -> int:
    if constant != int(constant):
        raise ValueError(f"a layer of integer weights has whole biases, got {constant}")
    return int(constant)


def odd_parts(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Finite floating-point numbers as ``odd * 2**exponent``; zero as 0 * 2**0.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.dyadic import odd_parts
    >>> odd_parts(np.array([0.75, -12.0, 0.0]))
    (array([ 3, -3,  0]), array([-2,  2,  0]))
    """
    mantissas, exponents = np.frexp(values.astype(np.float64))
    whole = np.ldexp(mantissas, DIGITS).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    zeros = np.where(whole == 0, 0, zeros).astype(np.int64)
    return whole >> zeros, np.where(whole == 0, 0, exponents - DIGITS + zeros).astype(np.int64)
