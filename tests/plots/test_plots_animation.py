"""The moving picture has a picture for every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt
from PIL import Image

from exactfit import (
    ExactfitError,
)
from exactfit.plots import (
    animate_construction,
)


def test_an_animation_is_a_gif_with_a_picture_for_every_step(model: Any, moons: Any, tmp_path: Path) -> None:
    path = animate_construction(model, *moons, tmp_path / "moons.gif", detectors=2, resolution=20)
    with Image.open(path) as film:
        assert (film.format, film.n_frames > 5) == ("GIF", True)
    assert plt.get_fignums() == []
    with pytest.raises(ExactfitError, match=r"must end in \.gif"):
        animate_construction(model, *moons, tmp_path / "moons.png")
