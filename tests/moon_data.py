"""Two moons, as the tests of the geometry take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons


def moons(n: int = 300) -> tuple[Any, Any]:
    return make_moons(n, noise=0.05, random_state=0)


def unit_moons() -> tuple[Any, Any]:
    X, y = moons()
    return X / np.linalg.norm(X, axis=1).max(), y
