"""Figures are closed after each test; examples in docstrings that need more than is there are skipped by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close all figures, or pyplot warns of too many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the example that needs PyTorch."""
    if item.name == "exactfit.export.torch.to_torch":
        item.add_marker("torch")


@pytest.fixture(autouse=True)
def examples_have_what_they_need(request: pytest.FixtureRequest) -> None:
    """Skip an example by the name of what it needs beyond the extra ``test``."""
    if request.node.name == "exactfit.export.torch.to_torch":
        pytest.importorskip("torch")
    elif request.node.name == "exactfit.lab.datasets.load_images" and "EXACTFIT_DATA" not in os.environ:
        pytest.skip("needs MNIST in EXACTFIT_DATA's folder")
