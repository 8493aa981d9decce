"""Tensors in the smallest type that holds their numbers, as files have them from format 3 on, and back.

In memory, and for digests of networks, rows and indices are int64 and sparse weights float32 or float64. In a file
lists of integers take the smallest type that holds them all; so do float32 weights of sparse layers if they are
integers, as those of sparse hyperplanes are. There is one way only to pack a tensor, so a file that holds it in
any other is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[Any]

LISTS = ("certificate.", "construction.", "repair.", "table.", "trace.")  # sections whose integers are int64
INDICES = (".weights.indices", ".weights.indptr")  # of sparse layers: int64 as well
WEIGHTS = ".weights.data"  # of sparse layers: float32 where they are packed
SMALL = tuple(np.dtype(name) for name in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4"))
SMALL_WEIGHTS = tuple(np.dtype(name) for name in ("<i1", "<i2"))


def packed(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor as a file has it."""
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


def unpacked(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor of a file as it is in memory."""
    if _is_list(name) and tensor.dtype in SMALL:
        return tensor.astype(np.int64)
    if name.endswith(WEIGHTS) and tensor.dtype in SMALL_WEIGHTS:
        return tensor.astype(np.float32)
    return tensor


def _is_list(name: str) -> bool:
    return name.startswith(LISTS) or name.endswith(INDICES)
