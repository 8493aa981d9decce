"""How kernels are compiled, who is told of it, and the one instruction NumPy does not lend them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit, types
from numba.core.event import Listener, register, unregister
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


class _Watch(Listener):  # type: ignore[misc]  # numba has no types
    """Counts what is compiled, and tells it; what is read from the cache is not compiled."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._count, self._began = tell, 0, False

    def on_start(self, event: Any) -> None:
        if not self._began:  # a kernel that calls others begins before they do, and ends after them
            self._began = True
            self._tell(0)

    def on_end(self, event: Any) -> None:
        self._count += 1
        self._tell(self._count)


@contextmanager
def watched(tell: Callable[[int], None]) -> Iterator[None]:
    """Tell how many kernels have been compiled meanwhile: 0 when the first one begins, and nothing if none does."""
    watch = _Watch(tell)
    register("numba:compile", watch)
    try:
        yield
    finally:
        unregister("numba:compile", watch)
