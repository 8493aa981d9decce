"""Figures that an example in a docstring draws are closed after it: pyplot keeps them, and warns of too many."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def figures_of_examples_are_closed(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each."""
    yield
    if isinstance(request.node, pytest.DoctestItem) and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
