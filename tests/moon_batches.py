"""Batches of moons, for what takes a stream of points."""

from __future__ import annotations

from typing import Any

from exactfit.geometry.theorem import make_disc_moons


def moons(n: int, seed: int, noise: float = 0.2) -> tuple[Any, Any]:
    return make_disc_moons(n, noise=noise, random_state=seed)


def batches(n: int = 400, count: int = 3) -> list[tuple[Any, Any]]:
    return [moons(n, 100 + k) for k in range(count)]
