"""Models that tests of plots share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier


@pytest.fixture(scope="module")
def moons() -> tuple[Any, Any]:
    X, y = make_moons(80, noise=0.1, random_state=0)
    return X, np.array(["lower", "upper"])[y]


@pytest.fixture(scope="module")
def model(moons: tuple[Any, Any]) -> InterpolatingClassifier:
    return InterpolatingClassifier.paper(random_state=0).fit(*moons)
