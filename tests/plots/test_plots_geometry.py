"""Pictures of the geometry show what was found, in the plane that shows most of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.problems import moons
from matplotlib import pyplot as plt
from matplotlib.collections import PatchCollection
from sklearn.datasets import load_digits

from exactfit import DataError, Description, ParameterError, describe
from exactfit.geometry import (
    mutual_covering,
)
from exactfit.plots import plot_covering, plot_description


@pytest.fixture(scope="module")
def described() -> Description:
    return describe(*moons(200))


def n_circles(ax: Any) -> int:
    return sum(len(each.get_paths()) for each in ax.collections if isinstance(each, PatchCollection))


def test_pictures_show_what_was_found(described: Description) -> None:
    X, y = moons(200)
    assert described.covering is not None
    ax = plot_covering(described.covering, X, y)
    assert n_circles(ax) == 2 * (described.covering.n_target + described.covering.n_rest)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    figure, axes = plt.subplots(1, 3)
    balls, distances, sizes = plot_description(described, X, y, axes)
    assert [balls, distances, sizes] == list(axes)
    assert n_circles(balls) == n_circles(ax)
    assert sum(patch.get_height() for patch in distances.patches) == 200
    labels = [text.get_text() for text in sizes.get_legend().get_texts()]
    assert any(label.startswith("limit forecast") for label in labels)
    figure.canvas.draw()


def test_parts_that_were_left_out_are_named() -> None:
    X, y = moons(200)
    balls, distances, sizes = plot_description(describe(X, y, time_limit=1e-9), X, y)
    assert n_circles(balls) == 0
    assert [text.get_text() for ax in (distances, sizes) for text in ax.texts] == [
        "distances: left out",
        "calibration: left out",
    ]


def test_many_balls_are_drawn_in_part() -> None:
    X, y = load_digits(return_X_y=True)
    labels = np.where(y == 8, "eight", "other")
    covering = mutual_covering(X, labels, target="eight", constant=0.5, n_draws=4)
    assert covering.n_target + covering.n_rest > 60
    ax = plot_covering(covering, X, labels, legend=False)
    assert 0 < n_circles(ax) < 2 * (covering.n_target + covering.n_rest)
    with pytest.raises(DataError, match="other labels"):
        plot_covering(covering, X, y)


def test_many_features_are_drawn_in_the_plane_of_the_principal_components() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5)) * [1.0, 9.0, 0.5, 4.0, 0.1] + 3
    y = np.arange(500) % 2
    ax, *_ = plot_description(describe(X, y, time_limit=1e-9), X, y)
    drawn = np.concatenate([np.asarray(each.get_offsets()) for each in ax.collections])
    order = np.argsort(y, kind="stable")
    assert abs(np.corrcoef(drawn[:, 0], X[order, 1])[0, 1]) > 0.99
    assert abs(np.corrcoef(drawn[:, 1], X[order, 3])[0, 1]) > 0.99


def test_anything_but_a_description_is_refused_in_a_line() -> None:
    with pytest.raises(ParameterError, match="Description"):
        plot_description(*(np.zeros((500, 2)),) * 3)
