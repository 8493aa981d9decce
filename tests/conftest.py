"""Settings that every test shares."""

from __future__ import annotations

import os
from pathlib import Path

import numba  # noqa: F401  (small work does without kernels until it is loaded: here kernels are tested)
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, however slow the machine; HYPOTHESIS_PROFILE=thorough looks further.
settings.register_profile(
    "exactfit", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("exactfit"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "exactfit"))

FRUIT = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n120,yellow,pear\n90,red,pear\n"


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """A small table as a file."""
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT, encoding="utf-8")
    return path


@pytest.fixture
def at_fruit(fruit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where that file is, at a plain terminal."""
    monkeypatch.chdir(fruit.parent)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
