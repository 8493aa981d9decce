"""How kernels are compiled, who is told of it, and the one instruction NumPy does not lend them.

Loading the compiler takes half a second, so it is loaded when the first kernel is called, and not when kernels
are imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial, update_wrapper
from operator import contains
from threading import RLock
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = RLock()  # kernels are first called from several threads


class Kernel:
    """A function that the compiler gets to see when it is first called, here or by another kernel.

    Every kernel is of a class of its own, whose ``__call__`` becomes what the compiler made of it: from then on
    calls go straight there.

    Parameters
    ----------
    function : callable
    make : callable
        Makes of the function what other kernels can call.
    """

    def __new__(cls, function: Callable[..., Any], *_: Any, **__: Any) -> Kernel:
        return super().__new__(type(function.__name__, (cls,), {}))

    def __init__(self, function: Callable[..., Any], make: Callable[[Any], Any]) -> None:
        self.function, self._make = function, make
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self.ready(*args)

    @cached_property
    def ready(self) -> Any:
        """What the compiler makes of it. It looks names up in the function's module: there, kernels get ready too."""
        with _lock:
            if "ready" not in vars(self):
                _load_compiler()
                self.ready = self._make(self.function)
                type(self).__call__ = staticmethod(self.ready)  # type: ignore[method-assign]
                names = self.function.__globals__
                for name, value in list(names.items()):
                    if isinstance(value, Kernel):
                        names[name] = value.ready
            return vars(self)["ready"]


def compiled(function: Function) -> Function:
    """Compile on first call; cache on disk where some folder is writable."""
    return cast(Function, Kernel(function, _compile_and_cache))


def inlined(function: Function) -> Function:
    """Compile into every caller: for steps of hot loops that must see the caller's arrays as its own."""
    return cast(Function, Kernel(function, partial(_compile, inline="always")))


def _compile(function: Any, **options: Any) -> Any:
    from numba import njit

    return njit(nogil=True, **options)(function)


def _compile_and_cache(function: Any) -> Any:
    from .cache import KernelCache

    kernel = _compile(function)
    with suppress(RuntimeError):  # there is no folder for the cache
        kernel._cache = KernelCache(function)
    return kernel


def _as_instruction(function: Any) -> Any:
    from numba.extending import intrinsic

    return intrinsic(function)


@partial(Kernel, make=_as_instruction)
def popcount(_typing: Any, word: Any) -> Any:
    """Number of set bits of a uint64, as int64."""
    from numba import types

    if word != types.uint64:
        raise TypeError(f"popcount takes uint64, got {word}")

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


class _Watch:
    """Counts what is compiled, and tells it; what is read from the cache is not compiled."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._count, self._began = tell, 0, False

    def notify(self, event: Any) -> None:
        """A kernel that calls others begins before they do, and ends after them."""
        if event.is_end:
            self._count += 1
            self._tell(self._count)
        elif not self._began:
            self._began = True
            self._tell(0)


_watches: list[_Watch] = []


# Whether the compiler is there already: small work does without, rather than wait for it.
is_loaded: Callable[[], bool] = partial(contains, sys.modules, "numba")


@cache
def _load_compiler() -> None:
    """Load it, and have it tell whoever watches."""
    from numba.core.event import Listener, register

    class Listening(Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: Any) -> None:
            for watch in _watches:
                watch.notify(event)

        on_end = on_start

    register("numba:compile", Listening())


@contextmanager
def watched(tell: Callable[[int], None]) -> Iterator[None]:
    """Tell how many kernels have been compiled meanwhile: 0 when the first one begins, and nothing if none does."""
    if is_loaded():
        _load_compiler()
    watch = _Watch(tell)
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)
