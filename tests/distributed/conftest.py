"""What tests of Dask share: its synchronous scheduler, unless a client is there; afterwards all is as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _synchronous() -> Iterator[None]:
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield
