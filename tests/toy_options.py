"""A small table and a sweep over options on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HEAD = """title = "Points"
runs = 2
held_out = 0.25
[data]
file = "points.csv"
label = "kind"
scale = "none"
[grid]
"""
GRID = """construction = ["default", "1-nn"]
detectors = ["mask", "weighted"]
"""


def write_points(folder: Path) -> None:
    """The table that the sweep is about."""
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'ab'[int(x > y)]}" for x, y in rng.normal(size=(40, 2))]
    (folder / "points.csv").write_text("\n".join(["x,y,kind", *rows]), encoding="utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "points.toml"
    path.write_text(text, encoding="utf-8")
    return path
