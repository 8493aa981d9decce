"""Examples in docstrings: figures are closed after each, and one that needs more than is there is skipped by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# What an example needs beyond the extra ``test``, and whether it is there.
NEEDS = {
    "exactfit.export.torch.to_torch": ("torch", find_spec("torch") is not None),
    "exactfit.lab.datasets.load_images": ("MNIST in EXACTFIT_DATA's folder", "EXACTFIT_DATA" in os.environ),
}


@pytest.fixture(autouse=True)
def examples_have_what_they_need(request: pytest.FixtureRequest) -> Iterator[None]:
    """Before each; and after each, pyplot forgets its figures, or it would warn of too many."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    needed, is_there = NEEDS.get(request.node.name, ("", True))
    if not is_there:
        pytest.skip(f"needs {needed}")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
