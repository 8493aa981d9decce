"""Tensors in few bytes, as files have them from format 3 on, and back.

In memory, and for digests of networks, rows and indices are int64 and sparse weights float32 or float64. In a file
lists of integers take the smallest type that holds them all; so do float32 weights of sparse layers if they are
integers, as those of sparse hyperplanes are. From format 4 on the longest lists are bytes instead: seven bits of a
number at a time, the lowest first, the eighth bit set in all but its last. There is one way only to pack a tensor, so a
file that holds it in any other is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ModelFileError
from .container import FORMAT

Tensor = NDArray[Any]

LISTS = ("certificate.", "construction.", "repair.", "table.", "trace.")  # sections whose integers are int64
INDICES = (".weights.indices", ".weights.indptr")  # of sparse layers: int64 as well
WEIGHTS = ".weights.data"  # of sparse layers: float32 where they are packed
SMALL = tuple(np.dtype(name) for name in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4"))
SMALL_WEIGHTS = tuple(np.dtype(name) for name in ("<i1", "<i2"))
# Lists of bytes: those that mostly ascend by little are differences between neighbours, from zero on.
CODED = 4  # the first format that has them
DIFFERENCES = (*INDICES, "trace.support")
BYTES = (*DIFFERENCES, "trace.shares")
LONGEST = 10  # bytes of a 64-bit number


def packed(name: str, tensor: Tensor, form: int = FORMAT) -> Tensor:
    """Return a tensor as a file of a format has it."""
    if form >= CODED and name.endswith(BYTES) and tensor.dtype == np.int64 and tensor.ndim == 1:
        return to_bytes(np.diff(tensor, prepend=0) if name.endswith(DIFFERENCES) else tensor)
    if _is_list(name) and tensor.dtype == np.int64:
        low, high = int(tensor.min(initial=0)), int(tensor.max(initial=0))
        fitting = (small for small in SMALL if np.iinfo(small).min <= low and high <= np.iinfo(small).max)
        return tensor.astype(next(fitting, np.dtype(np.int64)))
    if name.endswith(WEIGHTS) and tensor.dtype == np.float32 and np.isfinite(tensor).all():
        for small in SMALL_WEIGHTS:
            limits = np.iinfo(small)
            if (tensor >= limits.min).all() and (tensor <= limits.max).all():
                short = tensor.astype(small)
                # Bytes, not values: -0.0 would come back as 0.0.
                if short.astype(np.float32).tobytes() == tensor.tobytes():
                    return short
    return tensor


def unpacked(name: str, tensor: Tensor, form: int = FORMAT) -> Tensor:
    """Return a tensor of a file of a format as it is in memory."""
    if form >= CODED and name.endswith(BYTES) and tensor.dtype == np.uint8 and tensor.ndim == 1:
        numbers = from_bytes(tensor)
        return np.cumsum(numbers) if name.endswith(DIFFERENCES) else numbers
    if _is_list(name) and tensor.dtype in SMALL:
        return tensor.astype(np.int64)
    if name.endswith(WEIGHTS) and tensor.dtype in SMALL_WEIGHTS:
        return tensor.astype(np.float32)
    return tensor


def _is_list(name: str) -> bool:
    return name.startswith(LISTS) or name.endswith(INDICES)


def to_bytes(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return numbers in as few groups of seven bits as each needs."""
    # 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: a negative number is as short as a positive one.
    codes = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    n_groups = max(1, -(-int(codes.max(initial=0)).bit_length() // 7))
    groups = codes[:, None] >> np.arange(0, 7 * n_groups, 7, dtype=np.uint64)
    is_kept, goes_on = groups > 0, np.zeros(groups.shape, dtype=np.uint8)
    is_kept[:, 0] = True
    goes_on[:, :-1] = is_kept[:, 1:]
    return (groups.astype(np.uint8) & np.uint8(127) | goes_on << np.uint8(7))[is_kept]


def from_bytes(octets: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers of :func:`to_bytes`."""
    ends = np.flatnonzero(octets < 128) + 1
    starts = np.append(0, ends)[:-1]
    sizes = ends - starts
    if np.append(0, ends)[-1] != len(octets) or sizes.max(initial=0) > LONGEST:
        raise ModelFileError("a list of its numbers is cut off")
    if not len(octets):
        return np.empty(0, dtype=np.int64)
    shifts = 7 * (np.arange(len(octets)) - np.repeat(starts, sizes))
    codes = np.add.reduceat((octets & 127).astype(np.uint64) << shifts.astype(np.uint64), starts)
    return (codes >> 1).view(np.int64) ^ -(codes & 1).view(np.int64)
