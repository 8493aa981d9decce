"""A place for files that are forged, and the small model that they start from."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.attacks import model_file


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "m"


@pytest.fixture(scope="module")
def small(path: Path) -> bytes:
    return model_file(path)
