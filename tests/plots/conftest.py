"""What tests of pictures share: no window, no figure left open, and a model of two moons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons() -> tuple[Any, Any]:
    X, y = make_moons(80, noise=0.1, random_state=0)
    return X, np.array(["lower", "upper"])[y]


@pytest.fixture(scope="module")
def model(moons: tuple[Any, Any]) -> InterpolatingClassifier:
    return InterpolatingClassifier.paper(random_state=0).fit(*moons)
