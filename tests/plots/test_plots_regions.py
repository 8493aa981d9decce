"""Decision regions: what is drawn is what the model says, and only models of two features are drawn."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.contour import QuadContourSet
from matplotlib.lines import AxLine
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from exactfit import DataError, InterpolatingClassifier, MissingDependencyError, Network, ParameterError
from exactfit.network import Decoder, Dense, Layer
from exactfit.network.activations import THRESHOLD
from exactfit.network.sides import sides
from exactfit.plots import plot_regions
from exactfit.plots.regions import DETECTOR_COLORS, DETECTOR_TINT, REGION_TINT, WHITE
from exactfit.plots.style import tint

COARSE = 40


def moons() -> tuple[Any, Any]:
    return make_moons(120, noise=0.1, random_state=0)


def blobs() -> tuple[Any, Any]:
    return make_blobs(90, centers=3, cluster_std=2.0, random_state=0)


def fitted(data: tuple[Any, Any], **options: Any) -> InterpolatingClassifier:
    options = {"random_state": 0, "detectors": "mask"} | options
    return InterpolatingClassifier(**options).fit(*data)


def pixels_of(ax: Any) -> Any:
    """The plane's colours, pixel by pixel, rows from below."""
    (image,) = ax.images
    return np.asarray(image.get_array()).reshape(-1, 3)


def regions_of(ax: Any, n_classes: int) -> Any:
    """The classes that the colours stand for; white, which is undecided, is -1."""
    tints = np.array([*(tint(k, REGION_TINT) for k in range(n_classes)), WHITE])
    found = (pixels_of(ax)[:, None] == tints).all(axis=2)
    assert (found.sum(axis=1) == 1).all()
    return np.where(found[:, -1], -1, found.argmax(axis=1))


def grid_of(ax: Any) -> Any:
    """The grid again, one point at a time: the middle of every pixel, rows from below."""
    (image,) = ax.images
    rows, columns, _ = image.get_array().shape
    left, right, bottom, top = image.get_extent()
    return np.array([
        [left + (right - left) * (j + 0.5) / columns, bottom + (top - bottom) * (i + 0.5) / rows]
        for i in range(rows)
        for j in range(columns)
    ])  # fmt: skip


def square_network() -> Network:
    """Two features, one half-plane for each of two classes: both, none or one of them claims a point."""
    planes = Layer(Dense(np.array([[1.0, 0.0], [0.0, 1.0]])), np.zeros(2), THRESHOLD)
    return Network((planes, Layer(Dense(np.eye(2)), np.zeros(2), None)), Decoder("one_hot", (0, 1)))


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("data", [moons(), blobs()], ids=["two classes", "three classes"])
def test_regions_are_the_predictions(data: tuple[Any, Any]) -> None:
    model = fitted(data)
    ax = plot_regions(model, *data, resolution=COARSE)
    np.testing.assert_array_equal(regions_of(ax, len(model.classes_)), model.predict(grid_of(ax)))


def test_regions_of_a_network_show_where_it_is_undecided() -> None:
    X = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    ax = plot_regions(square_network(), X, [0, 1, 0, 1], resolution=COARSE)
    regions = regions_of(ax, 2)
    np.testing.assert_array_equal(regions, square_network().decide(grid_of(ax)))
    assert set(regions) == {-1, 0, 1}
    assert "undecided" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_picture_is_the_right_way_up() -> None:
    X = np.array([[0.0, -1.0], [0.5, -1.0], [0.0, 1.0], [0.5, 1.0]])
    ax = plot_regions(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X, [0, 0, 1, 1], resolution=COARSE)
    assert ax.images[0].origin == "lower"
    regions = regions_of(ax, 2).reshape(COARSE, COARSE)
    assert regions[0].max() == 0
    assert regions[-1].min() == 1


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_detectors_fire_where_their_masked_sum_is_below_the_limit(activation: str) -> None:
    model = fitted(blobs(), activation=activation)
    ax = plot_regions(model, *blobs(), resolution=20, detectors=True)
    first, second, _ = model.network_.layers
    grid, masks = grid_of(ax), second.weights.bits.to_bool()
    values = sides(grid, first.weights.rows, first.bias).to_bool() if activation == "threshold" else first(grid)
    expected = values.astype(float) @ masks.T.astype(float) < second.bias
    pixels = np.ones((len(grid), 3))
    for k, fires in enumerate(expected.T):  # one colour over the other
        own = np.array(tint(DETECTOR_COLORS[k % len(DETECTOR_COLORS)], 1.0))
        pixels[fires] += DETECTOR_TINT * (own - pixels[fires])
    np.testing.assert_array_equal(pixels_of(ax), pixels)


def test_detectors_together_are_the_target_class() -> None:
    model = fitted(moons(), target=1)
    fires = (pixels_of(plot_regions(model, *moons(), resolution=COARSE, detectors=True)) != WHITE).any(axis=1)
    regions = regions_of(plot_regions(model, *moons(), resolution=COARSE), 2)
    np.testing.assert_array_equal(fires, regions == 1)


def lines_of(ax: Any) -> list[Any]:
    return [line for line in ax.lines if isinstance(line, AxLine)]


def test_lines_are_the_first_hyperplanes() -> None:
    model = fitted(moons())
    ax = plot_regions(model, *moons(), resolution=COARSE, hyperplanes=5)
    first = model.network_.layers[0]
    planes = first.weights.rows.toarray()
    drawn = lines_of(ax)
    assert len(drawn) == 5
    for line, weights, bias in zip(drawn, planes, first.bias, strict=False):
        on_it = np.array([line.get_xy1(), line.get_xy2()])
        np.testing.assert_allclose(on_it @ weights + bias, 0.0, atol=1e-12)


def test_a_hyperplane_without_direction_is_left_out() -> None:
    planes = Layer(Dense(np.array([[0.0, 0.0], [0.0, 1.0]])), np.array([1.0, 0.0]), THRESHOLD)
    network = Network((planes, Layer(Dense(np.ones((1, 2))), np.zeros(1), None)), Decoder("sign", (0, 1)))
    assert len(lines_of(plot_regions(network, [[0.0, 0.0], [1.0, 1.0]], [1, 1], hyperplanes=2))) == 1


def stars(ax: Any) -> Any:
    """Where the anchors' stars are, in no order."""
    star = matplotlib.markers.MarkerStyle("*")
    shape = star.get_path().transformed(star.get_transform()).vertices
    found = [c.get_offsets() for c in ax.collections if c.get_paths() and _same(c.get_paths()[0].vertices, shape)]
    return np.concatenate([np.empty((0, 2)), *found])


def _same(vertices: Any, shape: Any) -> bool:
    return vertices.shape == shape.shape and np.allclose(vertices, shape)


def test_anchors_are_stars() -> None:
    X, y = blobs()
    model = fitted((X, y))
    drawn = stars(plot_regions(model, X, y, resolution=COARSE))
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(X[model.anchors_], axis=0))
    assert len(stars(plot_regions(model, X, y, resolution=COARSE, anchors=False))) == 0


def test_other_data_than_the_training_data_get_no_stars() -> None:
    X, y = moons()
    model = fitted((X, y))
    assert len(stars(plot_regions(model, X[1:], y[1:], resolution=COARSE))) == 0
    assert len(stars(plot_regions(model, X, 1 - y, resolution=COARSE))) == 0


# ---------------------------------------------------------------- any data, any axes


def test_labels_may_be_strings() -> None:
    X, y = moons()
    names = np.array(["low", "high"])[y]
    ax = plot_regions(fitted((X, names)), X, names, resolution=COARSE)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["high", "low", "anchor"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_names_the_axes(frame: Any) -> None:
    X, y = moons()
    table = frame({"left": X[:, 0], "up": X[:, 1]})
    ax = plot_regions(fitted((table, y)), table, y, resolution=COARSE)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("left", "up")
    assert len(stars(ax)) > 0
    np.testing.assert_array_equal(pixels_of(ax), pixels_of(plot_regions(fitted((X, y)), X, y, resolution=COARSE)))


def test_any_classifier_can_be_drawn() -> None:
    X, y = moons()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    ax = plot_regions(model, X, y, resolution=COARSE)
    np.testing.assert_array_equal(regions_of(ax, 2), model.predict(grid_of(ax)))


@pytest.mark.parametrize(
    ("scale", "expected"),
    [((1.0, 1.0), 1.0), ((1.0, 1e6), "auto"), ((1e6, 1.0), "auto"), ((0.0, 1.0), 1.0), ((1e9, 1e9), 1.0)],
)
def test_scales_are_equal_where_ranges_are_comparable(scale: tuple[float, float], expected: Any) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.9], [0.4, 1.0]]) * scale
    ax = plot_regions(fitted((X, [0, 1, 0])), X, [0, 1, 0], resolution=COARSE)
    assert ax.get_aspect() == expected


def test_scales_are_equal_if_asked_for() -> None:
    X = np.array([[0.0, 0.0], [20.0, 1.0], [10.0, 0.0]])
    ax = plot_regions(fitted((X, [0, 1, 0])), X, [0, 1, 0], resolution=COARSE, equal=True)
    assert ax.get_aspect() == 1
    assert ax.get_ylim()[0] < -1, "room as wide as along the longer side"


def test_outlines_can_be_left_out() -> None:
    X, y = moons()
    ax = plot_regions(fitted((X, y)), X, y, resolution=COARSE, outlines=False)
    assert [each for each in ax.collections if isinstance(each, QuadContourSet)] == []


def test_the_given_axes_are_used() -> None:
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    X, y = moons()
    assert plot_regions(fitted((X, y)), X, y, ax=ax, resolution=COARSE, legend=False) is ax
    assert ax.get_legend() is None
    assert plt.get_fignums() == []


def test_without_axes_a_new_figure_comes_and_settings_stay() -> None:
    before = dict(matplotlib.rcParams)
    X, y = moons()
    ax = plot_regions(fitted((X, y)), X, y, resolution=COARSE)
    assert plt.get_fignums() == [ax.figure.number]
    assert not ax.spines["top"].get_visible()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("options", [{}, {"detectors": True, "hyperplanes": 10}, {"legend": False, "anchors": False}])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_are_written_without_a_warning(options: dict[str, Any], kind: str) -> None:
    X, y = blobs()
    ax = plot_regions(fitted((X, y)), X, y, resolution=COARSE, **options)
    ax.figure.savefig(picture := BytesIO(), format=kind)
    assert len(picture.getvalue()) > 1000


# ---------------------------------------------------------------- what is refused


def test_a_model_of_other_features_is_refused() -> None:
    X = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    model = fitted((X, [0, 1]))
    for given in (model, model.network_):
        with pytest.raises(DataError, match="a model of 2 features, and this one has 3"):
            plot_regions(given, X, [0, 1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0, 1.0, 2.0]], [0], "2 columns"),
        ([0.0, 1.0], [0, 1], "rows and columns"),
        (np.empty((0, 2)), [], "at least one row"),
        ([[0.0, np.nan]], [0], "NaN"),
        ([[0.0, 1.0]], [0, 1], "one label for each"),
        ([[0.0, 1.0]], [7], "does not know: 7"),
        ([[0.0, 1.0]], ["a"], "does not know: 'a'"),
    ],
)
def test_data_that_do_not_fit_the_model_are_refused(X: Any, y: Any, message: str) -> None:
    model = fitted(moons())
    with pytest.raises(DataError, match=message):
        plot_regions(model, X, y)


@pytest.mark.parametrize(
    "options", [{"resolution": 1}, {"resolution": 2.5}, {"hyperplanes": -1}, {"hyperplanes": True}]
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        plot_regions(fitted(moons()), *moons(), **options)


@pytest.mark.parametrize("options", [{"detectors": True}, {"hyperplanes": 3}])
def test_detectors_and_hyperplanes_need_a_network_that_has_them(options: dict[str, Any]) -> None:
    X, y = moons()
    with pytest.raises(ParameterError, match="DecisionTreeClassifier has none"):
        plot_regions(DecisionTreeClassifier().fit(X, y), X, y, **options)
    planes = Layer(Dense(np.ones((2, 3))), np.zeros(2), THRESHOLD)
    lifted = Network(
        (planes, Layer(Dense(np.ones((1, 2))), np.zeros(1), None)), Decoder("sign", (0, 1)), "append_squared_norm"
    )
    with pytest.raises(ParameterError):
        plot_regions(lifted, X, y, **options)


def test_a_model_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        plot_regions(InterpolatingClassifier(), *moons())


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(moons())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        plot_regions(model, *moons())


@pytest.mark.parametrize("unfit", [{"a": np.zeros(1000)}, np.zeros(1000), "model"])
def test_an_unfit_model_is_refused_in_a_line(unfit) -> None:
    with pytest.raises(ParameterError, match="fitted classifier") as caught:
        plot_regions(unfit, np.zeros((2, 2)), [0, 1])
    assert len(str(caught.value)) < 120
