"""Weights of a layer, of every kind that a :class:`~exactfit.Network` holds, and exact sums of integer ones.

Floating-point numbers are integers over a power of two. Sums and products with integers keep that power, so that layers
of integer weights never round, whatever real numbers come in.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import PLANES, weigh, weight_planes
from .._support.threads import SERIAL, Threads, split
from ..exceptions import DataError
from .bits import BitMatrix, n_words

Objects = NDArray[np.object_]

DIGITS = 53  # binary digits of a float64
THREADED_WORDS = 2**19  # fewer words are weighed faster than they are shared out among threads


def object_array(values: Sequence[Any], shape: tuple[int, ...]) -> Objects:
    """Return Python numbers as an object array; NumPy must not turn them into its own.

    Examples
    --------
    >>> from exactfit.network import object_array
    >>> object_array([2**70, 1], (2,)).dtype
    dtype('O')
    """
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


@dataclass(frozen=True, eq=False)
class Dyadic:
    """The numbers ``numerators / 2**shift``, exactly: Python integers of shape (points, units), shift >= 0."""

    numerators: Objects
    shift: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Dyadic:
        """Return floating-point numbers, or integers of any kind, as they are."""
        if values.dtype.kind != "f":
            return cls(values.astype(object), 0)
        if not np.isfinite(values).all():
            raise DataError("integer weights take finite numbers only")
        digits, exponents = odd_parts(values)
        shift = max(0, -int(exponents.min(initial=0)))
        return cls(digits.astype(object) << (exponents + shift).astype(object), shift)

    def affine(self, weights: Objects, bias: Objects) -> Dyadic:
        """Return ``weights @ self + bias`` for integer weights and biases, one row per point."""
        out, columns = np.empty((len(self.numerators), len(weights)), dtype=object), self.numerators.T
        for unit, (row, constant) in enumerate(zip(weights, bias, strict=True)):
            if constant != int(constant):
                raise ValueError(f"a layer of integer weights has integer biases, got {constant}")
            total: Any = int(constant) << self.shift
            for index in np.flatnonzero(row):
                total = total + columns[index] * row[index]
            out[:, unit] = total
        return Dyadic(out, self.shift)

    def clipped(self) -> Dyadic:
        """Return zero where these are negative."""
        return Dyadic(np.maximum(self.numerators, 0), self.shift)

    def numbers(self) -> Objects:
        """Return Python integers or, where these will not do, fractions."""
        if not self.shift:
            return self.numerators
        values = self.numerators.ravel().tolist()
        return object_array([Fraction(value, 1 << self.shift) for value in values], self.numerators.shape)


def odd_parts(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return finite floating-point numbers as ``odd * 2**exponent``; zero as 0 * 2**0."""
    mantissas, exponents = np.frexp(values.astype(np.float64))
    digits = np.ldexp(mantissas, DIGITS).astype(np.int64)
    # digits & -digits is the lowest bit that is set: a power of two, whose exponent frexp tells.
    zeros = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    zeros = np.where(digits == 0, 0, zeros).astype(np.int64)
    return digits >> zeros, np.where(digits == 0, 0, exponents - DIGITS + zeros).astype(np.int64)


class _Matrix:
    """A matrix of weights, in an array ``values`` unless a subclass says otherwise."""

    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of units and of inputs."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_nonzero(self) -> int:
        """Number of weights other than zero."""
        return int(np.count_nonzero(self.values))

    def __repr__(self) -> str:
        units, inputs = self.shape
        return f"<{type(self).__name__}: {units:,} units of {inputs:,} inputs>"


@dataclass(frozen=True, eq=False, repr=False)
class Dense(_Matrix):
    """Weights as a float32 or float64 array of shape (units, inputs).

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import Dense
    >>> Dense(np.array([[1.0, 0.0], [0.5, 2.0]])).n_nonzero
    3
    """

    values: NDArray[Any]
    kind = "dense"

    def take(self, units: NDArray[Any]) -> Dense:
        """Return some of the units."""
        return Dense(self.values[units])

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, for a digest or a file."""
        return {"values": self.values}


@dataclass(frozen=True, eq=False, repr=False)
class Masks(_Matrix):
    """Weights 0 or ``sign``, packed: one row of ``bits`` per unit.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import BitMatrix, Masks
    >>> Masks(BitMatrix.from_bool(np.array([[True, False, True]])), -1).n_nonzero
    2
    """

    bits: BitMatrix
    sign: int
    kind = "masks"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of units and of inputs."""
        return self.bits.words.shape[1], self.bits.n_bits

    @property
    def n_nonzero(self) -> int:
        """Number of weights other than zero."""
        return int(np.bitwise_count(self.bits.words).sum())

    def take(self, units: NDArray[Any]) -> Masks:
        """Return some of the units."""
        return Masks(self.bits.take(units), self.sign)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, for a digest or a file."""
        meta = np.array([self.bits.n_bits, self.sign], dtype=np.int64)
        return {"words": self.bits.words, "bits_sign": meta}


@dataclass(frozen=True, eq=False, repr=False)
class WeightedMasks(_Matrix):
    """Weights ``sign`` times a small integer: an int8 array of shape (units, inputs), over bits.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import WeightedMasks
    >>> WeightedMasks(np.array([[-3, 0, 127]], dtype=np.int8), -1).shape
    (1, 3)
    """

    values: NDArray[np.int8]
    sign: int
    kind = "weighted"

    @cached_property
    def planes(self) -> NDArray[np.uint64]:
        """Weights bit by bit, packed as patterns are: shape (units, 8, words)."""
        planes = np.empty((len(self.values), PLANES, n_words(self.values.shape[1])), dtype=np.uint64)
        for weights, packed in zip(self.values, planes, strict=True):
            weight_planes(weights, packed)
        return planes

    def take(self, units: NDArray[Any]) -> WeightedMasks:
        """Return some of the units."""
        return WeightedMasks(self.values[units], self.sign)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, for a digest or a file."""
        return {"values": self.values, "sign": np.array([self.sign], dtype=np.int64)}


def weigh_words(words: NDArray[np.uint64], weights: NDArray[np.int8], threads: Threads = SERIAL) -> NDArray[np.int32]:
    """Return <weights, bits> for every column of word-major patterns."""
    # Bit by bit of the weights: a weighted count is eight popcounts, each times a power of two.
    planes = np.empty((PLANES, len(words)), dtype=np.uint64)
    weight_planes(weights, planes)
    out = np.empty(words.shape[1], dtype=np.int32)
    if words.size <= THREADED_WORDS:
        weigh(words, 0, len(out), planes, out)
    else:
        parts = split(0, len(out), threads.count)
        threads.map(lambda part: weigh(words, *part, planes, out[slice(*part)]), parts)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Sparse(_Matrix):
    """Weights as a SciPy CSR array of shape (units, inputs).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from exactfit.network import Sparse
    >>> Sparse(sp.csr_array([[0.0, 3.0]])).shape
    (1, 2)
    """

    matrix: Any
    kind = "sparse"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of units and of inputs."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def n_nonzero(self) -> int:
        """Number of weights other than zero."""
        return int(self.matrix.count_nonzero())

    @cached_property
    def rows(self) -> Any:
        """The matrix with the entries of every row in order, each once."""
        csr = sp.csr_array(self.matrix, copy=True)
        csr.sum_duplicates()
        return csr

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, for a digest or a file."""
        csr = self.rows
        return {
            "data": csr.data,
            "indices": csr.indices.astype(np.int64),
            "indptr": csr.indptr.astype(np.int64),
            "shape": np.array(self.shape, dtype=np.int64),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Integers(_Matrix):
    """Weights as Python integers of any size: an object array of shape (units, inputs).

    Nothing is ever rounded: floating-point inputs are integers over a power of two, and so are all values in a chain
    of such layers; biases are integers too.

    Examples
    --------
    >>> from exactfit.network import Integers, object_array
    >>> Integers(object_array([2**70, 0], (1, 2))).n_nonzero
    1
    """

    values: NDArray[np.object_]
    kind = "integers"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, for a digest or a file."""
        return {"text": integers_to_text(self.values), "shape": np.array(self.shape, dtype=np.int64)}


Weights = Dense | Masks | WeightedMasks | Sparse | Integers


def integers_to_text(values: NDArray[np.object_]) -> NDArray[np.uint8]:
    """Return Python integers as hexadecimal text in bytes."""
    text = " ".join(f"{operator.index(value):x}" for value in values.ravel().tolist())
    return np.frombuffer(text.encode(), dtype=np.uint8)


def text_to_integers(text: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Return the integers of :func:`integers_to_text`."""
    return object_array([int(part, 16) for part in text.tobytes().decode("ascii").split()], shape)


def weights_from(kind: str, tensors: Mapping[str, NDArray[Any]]) -> Weights:
    """Make weights of a kind from their ``tensors``."""
    if kind == "dense":
        return Dense(tensors["values"])
    if kind == "masks":
        n_bits, sign = (int(value) for value in tensors["bits_sign"])
        return Masks(BitMatrix(tensors["words"], n_bits), sign)
    if kind == "weighted":
        (sign,) = (int(value) for value in tensors["sign"])
        return WeightedMasks(tensors["values"], sign)
    if kind == "sparse":
        return Sparse(_csr_from(tensors["data"], tensors["indices"], tensors["indptr"], tensors["shape"]))
    if kind == "integers":
        shape = tuple(int(size) for size in tensors["shape"])
        return Integers(text_to_integers(tensors["text"], shape))
    raise ValueError(f"unknown kind of weights {kind!r}")


def _csr_from(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]) -> Any:
    """Make a CSR matrix of parts that may come from anywhere."""
    # SciPy's compiled code believes them, and its own full check passes over an indptr whose last entry is not
    # positive: one wild number, and it reads and writes beyond the end of an array.
    are_lists = all(part.dtype == np.int64 and part.ndim == 1 for part in (indices, indptr, shape))
    if not are_lists or data.ndim != 1 or len(shape) != 2 or min(shape) < 0:
        raise ValueError("a sparse layer needs numbers, int64 indices and a shape")
    rows, columns = (int(size) for size in shape)
    starts = len(indptr) == rows + 1 and indptr[0] == 0 and indptr[-1] == len(indices) == len(data)
    if not starts or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("the rows of a sparse layer do not follow one another")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise ValueError("a sparse layer has weights outside its shape")
    row_starts = np.zeros(len(indices), dtype=bool)
    row_starts[indptr[:-1][indptr[:-1] < len(indices)]] = True
    if not (row_starts[1:] | (indices[1:] > indices[:-1])).all():  # sums of doubled ones would depend on their order
        raise ValueError("a sparse layer has weights out of order, or several for one input")
    return sp.csr_array((data, indices, indptr), shape=(rows, columns))
