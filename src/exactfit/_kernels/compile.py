"""How kernels are compiled, and the one instruction NumPy does not lend them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first call; cache on disk where some folder is writable."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


def inlined(function: Function) -> Function:
    """Compile into every caller: for steps of hot loops that must see the caller's arrays as its own."""
    return njit(nogil=True, inline="always")(function)


@intrinsic
def popcount(_typing: Any, word: Any) -> Any:
    """Number of set bits of a uint64, as int64."""
    if word != types.uint64:
        raise TypeError(f"popcount takes uint64, got {word}")

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate
