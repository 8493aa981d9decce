"""What the tests of tables share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a table may be written."""
    return tmp_path / "t.csv"
