"""Helpers that know nothing of networks: public names on first use, threads, processes, files, words for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package whose public names are loaded when first used.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping
        From a module, as seen from the package, to the names that it defines.
    packages : sequence of str
        Subpackages that are public themselves.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    public = [*home_of, *packages]

    def get(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{home_of.get(name, name)}")
        value = getattr(home, name) if name in home_of else home
        setattr(sys.modules[package], name, value)  # so that the next use asks nobody
        return value

    return public, get, lambda: public
