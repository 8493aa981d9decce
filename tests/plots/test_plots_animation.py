"""The moving picture has a picture for every step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import make_moons

from exactfit import (
    ExactfitError,
    InterpolatingClassifier,
)
from exactfit.plots import (
    animate_construction,
)

matplotlib.use("Agg")
plt: Any = pytest.importorskip("matplotlib.pyplot")


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


def test_an_animation_is_a_gif_with_a_picture_for_every_step(model: Any, moons: Any, tmp_path: Path) -> None:
    path = animate_construction(model, *moons, tmp_path / "moons.gif", detectors=2, resolution=20)
    with Image.open(path) as film:
        assert (film.format, film.n_frames > 5) == ("GIF", True)
    assert plt.get_fignums() == []
    with pytest.raises(ExactfitError, match=r"must end in \.gif"):
        animate_construction(model, *moons, tmp_path / "moons.png")
