"""The ways that a search for close points can take, forced by its constants."""

from __future__ import annotations

import pytest

from exactfit.data import pairs

PATHS = {
    "tree": {},
    "float64 blocks": {"TREE_DIMENSION": 0, "LEFT_TILE": 4, "RIGHT_TILE": 3},
    "float32 blocks": {"TREE_DIMENSION": 0, "DOUBLE_DIMENSION": 0, "LEFT_TILE": 4, "RIGHT_TILE": 3},
    "few contenders": {"TREE_DIMENSION": 0, "MOST_CONTENDERS": 3, "LEFT_TILE": 4, "RIGHT_TILE": 3},
}


def take_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for constant, value in PATHS[name].items():
        monkeypatch.setattr(pairs, constant, value)
