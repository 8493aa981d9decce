"""Compilation of kernels on first use, reports of it, and one instruction that NumPy has and numba has not.

Loading the compiler takes half a second, so it is loaded when the first kernel is called, and not when kernels
are imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial, update_wrapper
from operator import contains
from threading import RLock
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = RLock()  # kernels are first called from several threads


class Kernel:
    """A function that the compiler gets to see when it is first called, here or by another kernel."""

    ready: Any = None  # what the compiler made of it

    def __init__(self, function: Callable[..., Any], make: Callable[[Any], Any]) -> None:
        self.function, self.make = function, make
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return (self.ready or self.load())(*args)

    def load(self) -> Any:
        """Make it ready, and with it all kernels that the compiler may meet on the way."""
        with _lock:
            _load_compiler()
            made, waiting = {}, [self]
            while waiting:
                kernel = waiting.pop()
                if kernel not in made:
                    made[kernel] = kernel.ready or kernel.make(kernel.function)
                    waiting += [value for value in kernel.function.__globals__.values() if isinstance(value, Kernel)]
            # The compiler looks names up in a function's module, and knows nothing of this class.
            for kernel in made:
                names = kernel.function.__globals__
                names |= {name: made[value] for name, value in names.items() if isinstance(value, Kernel)}
            for kernel, ready in made.items():
                kernel.ready = ready
            return self.ready


def compiled(function: Function) -> Function:
    """Compile on first call; cache on disk where some folder is writable."""
    return cast(Function, Kernel(function, _compile))


def _compile(function: Any) -> Any:
    from numba import njit

    from .cache import KernelCache

    kernel = njit(nogil=True)(function)
    with suppress(RuntimeError):  # there is no folder for the cache
        kernel._cache = KernelCache(function)
    return kernel


def _as_instruction(function: Any) -> Any:
    from numba.extending import intrinsic

    return intrinsic(function)


@partial(Kernel, make=_as_instruction)
def popcount(_typing: Any, word: Any) -> Any:
    """Count the set bits of a uint64, as int64."""
    from numba import types

    if word != types.uint64:
        raise TypeError(f"popcount takes uint64, got {word}")

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


# Whether the compiler is there already: small work does without, rather than wait for it.
is_loaded: Callable[[], bool] = partial(contains, sys.modules, "numba")
_listeners: list[Callable[[Any], None]] = []


@cache
def _load_compiler() -> None:
    """Load the compiler, and pass what it reports on to all listeners."""
    from numba.core.event import Listener, register

    class Forward(Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            for listener in _listeners:
                listener(event)

        on_end = on_start

    register("numba:compile", Forward())


@contextmanager
def watched(report: Callable[[int], None]) -> Iterator[None]:
    """Report how many kernels have been compiled meanwhile: 0 when the first one begins, nothing if none does."""
    count = -1

    def listen(event: Any) -> None:
        # A kernel that calls others begins before they do, and ends after them; what is read from the cache does not
        # begin at all.
        nonlocal count
        if event.is_end or count < 0:
            count += 1
            report(count)

    if is_loaded():
        _load_compiler()
    _listeners.append(listen)
    try:
        yield
    finally:
        _listeners.remove(listen)
