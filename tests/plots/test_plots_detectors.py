"""Pictures of a network's parts: what is drawn is what the network does, and unfit input ends in a short error."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from exactfit import (
    ExactfitError,
    InterpolatingClassifier,
    adaptive_width,
    certify,
    find_suspects,
    lab,
    plots,
)
from exactfit.plots import animate_construction, plot_cells, plot_detector, plot_margins

COARSE = 40
IN_THE_PLANE = (plot_cells, plot_detector, plot_margins)


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("options", [{}, {"target": "all"}, {"activation": "relu"}])
def test_a_detector_claims_as_many_new_points_as_its_trace_says(options: Any, moons: Any) -> None:
    fitted = InterpolatingClassifier.paper(random_state=0, **options).fit(*moons)
    for k, claimed in enumerate(fitted.trace_.coverage[:3].tolist()):
        title = plot_detector(fitted, *moons, detector=k, resolution=COARSE).get_title("left")
        label = fitted.classes_[fitted.trace_.detector_classes[k]]
        assert title.startswith(f"detector {k + 1} of {fitted.n_detectors_}, for {label}: limit ")
        assert title.endswith(f" {claimed} new")


def test_balls_have_the_certified_radii(model: Any, moons: Any) -> None:
    ax = plot_margins(model, *moons, resolution=COARSE)
    radii = certify(model, *moons, radii=True).radii
    assert radii is not None
    (balls,) = [found for found in ax.collections if type(found).__name__ == "PatchCollection"]
    drawn = [path.get_extents().width / 2 for path in balls.get_paths()]
    assert drawn == pytest.approx(radii.tolist(), rel=1e-3)


@pytest.mark.parametrize("draw", IN_THE_PLANE)
def test_legends_show_the_labels_themselves(draw: Any, model: Any, moons: Any) -> None:
    assert texts(draw(model, *moons, resolution=COARSE))[:2] == ["lower", "upper"]
    X, y = moons
    made = adaptive_width(X, (y == "upper").astype(int), random_state=0)
    assert texts(draw(made, X, y, resolution=COARSE))[:2] == ["lower", "upper"]


@pytest.mark.parametrize("draw", IN_THE_PLANE)
def test_it_draws_where_it_is_told(draw: Any, model: Any, moons: Any) -> None:
    ax = plt.subplots()[1]
    assert draw(model, *moons, ax, resolution=COARSE) is ax
    blobs = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
    draw(InterpolatingClassifier.paper(random_state=0).fit(*blobs), *blobs, ax, resolution=COARSE)


RAGGED = [[1.0, 2.0], [3.0]] * 50
UNFIT = (
    None, "abc", 3, object(), [1, 2, 3], {"a": 1}, np.zeros((3, 5)), [["a", "b"]], np.full((3, 2), np.nan), RAGGED,
    [object() for _ in range(100)],
)  # fmt: skip
DRAWN = [
    (home, name)
    for home in (plots, lab)
    for name in home.__all__
    if name.startswith("plot_") and name not in {"plot_growth"}
]


@pytest.mark.parametrize(("home", "name"), DRAWN, ids=[name for _, name in DRAWN])
def test_unfit_input_ends_in_a_short_error(home: Any, name: str, model: Any, moons: Any) -> None:
    draw = getattr(home, name)
    known = {
        "model": model, "X": moons[0], "y": moons[1], "point": [0.0, 0.0], "points": moons[0], "image_shape": (1, 2),
        "models": {"one": model}, "suspects": find_suspects(*moons),
        "explanations": model.explain(moons[0]),
    }  # fmt: skip
    needed = [each for each in inspect.signature(draw).parameters.values() if each.default is each.empty]
    for what in needed:
        for unfit in UNFIT:
            given = {each.name: known.get(each.name) for each in needed} | {what.name: unfit}
            with pytest.raises((ExactfitError, NotFittedError)) as caught:
                draw(**given)
            assert len(str(caught.value)) < 250


@pytest.mark.parametrize("draw", IN_THE_PLANE)
def test_axes_of_another_kind_are_refused(draw: Any, model: Any, moons: Any) -> None:
    with pytest.raises(ExactfitError, match="ax must be matplotlib axes"):
        draw(model, *moons, ax="here")


def test_an_animation_is_a_gif_with_a_picture_for_every_step(model: Any, moons: Any, tmp_path: Path) -> None:
    path = animate_construction(model, *moons, tmp_path / "moons.gif", detectors=2, resolution=20)
    with Image.open(path) as film:
        assert (film.format, film.n_frames > 5) == ("GIF", True)
    assert plt.get_fignums() == []
    with pytest.raises(ExactfitError, match=r"must end in \.gif"):
        animate_construction(model, *moons, tmp_path / "moons.png")
