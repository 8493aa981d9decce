"""Experiments in files: parts of a TOML file, and how one is written."""

from __future__ import annotations

from pathlib import Path

GRID = """
[grid]
width = { first = 10, last = 40, step = 10 }
max_bias = [0, 0.5, 1]
"""


ONE_FIGURE = """
[[figure]]
kind = "data"
"""


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name
