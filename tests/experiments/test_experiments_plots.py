"""Heatmaps, slices, growth and points: what stands in the pictures, not how they look."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.contour import QuadContourSet
from toys import BIASES, WIDTHS, records

from exactfit.exceptions import DataError, ParameterError
from exactfit.plots import plot_points
from experiments.plots import COLORS, edges_of, in_full, plot_growth, plot_heatmap, plot_slices


def of_kind(ax: plt.Axes, kind: type) -> list:
    return [each for each in ax.get_children() if isinstance(each, kind)]


def border_lines(ax: plt.Axes) -> list:
    return [line for line in ax.lines if line.get_gid() == "border"]


def test_heatmap_shows_every_cell() -> None:
    ax = plot_heatmap(records())
    (mesh,) = of_kind(ax, QuadMesh)
    expected = np.repeat([[0.0], [0.5], [1.0]], 4, axis=1)
    assert np.allclose(np.asarray(mesh.get_array()).reshape(3, 4), expected)
    assert mesh.get_clim() == (0.0, 1.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"maximal bias $\lambda$", "first-layer width $n$")
    assert ax.figure.axes[1].get_ylabel() == "interpolation probability"


def test_heatmap_of_widths() -> None:
    ax = plot_heatmap(records(), value="detectors", colorbar=False)
    (mesh,) = of_kind(ax, QuadMesh)
    assert np.asarray(mesh.get_array()).reshape(3, 4)[2, 0] == pytest.approx(61)
    assert len(ax.figure.axes) == 1


def test_the_line_of_99_percent_is_dashed() -> None:
    lines = border_lines(plot_heatmap(records()))
    assert len(lines) == 2, "black on white"
    heights = lines[1].get_ydata()
    assert ((heights > 20) & (heights <= 40)).all()
    assert lines[1].is_dashed()
    assert border_lines(plot_heatmap(records(), contour=False)) == []


def test_lines_of_equal_width() -> None:
    ax = plot_heatmap(records(), value="detectors", levels=True)
    (lines,) = of_kind(ax, QuadContourSet)
    assert len(lines.levels) >= 2
    missing = [record for record in records() if (record["n"], record["lambda"]) != (40, 1.5)]
    assert of_kind(plot_heatmap(missing, value="detectors", levels=True), QuadContourSet) == []


def test_no_line_where_all_or_none_interpolate() -> None:
    for n in (10, 40):
        same = [record for record in records() if record["n"] == n]
        other = [record | {"n": 2 * n} for record in same]
        assert border_lines(plot_heatmap(same + other)) == []


def test_single_cells_between_the_lines_of_a_grid_do_not_spoil_it() -> None:
    stray = {"n": 33, "lambda": 0.77, "N": 100, "detectors": 5, "missed": 0, "seconds": 0.1}
    (mesh,) = of_kind(plot_heatmap([*records(), stray]), QuadMesh)
    assert np.asarray(mesh.get_array()).size == 12


def test_missing_cells_are_left_blank() -> None:
    some = [record for record in records() if (record["n"], record["lambda"]) != (40, 1.5)]
    (mesh,) = of_kind(plot_heatmap(some), QuadMesh)
    assert np.ma.getmaskarray(mesh.get_array()).sum() == 1


def test_colours_have_an_order_in_grey() -> None:
    for name in COLORS.values():
        red, green, blue = mpl.colormaps[name](np.linspace(0, 1, 32))[:, :3].T
        grey = 0.299 * red + 0.587 * green + 0.114 * blue
        assert (np.diff(grey) > 0).all() or (np.diff(grey) < 0).all()


def test_slices_have_bands_and_markers_where_they_should() -> None:
    ax = plot_slices(records(runs=20), along="n", at=[0, 1])
    lines = [line for line in ax.lines if line.get_linestyle() not in ("None", "")]
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
    assert [line.get_label() for line in lines] == [r"$\lambda$ = 0", r"$\lambda$ = 1"]
    assert lines[0].get_xdata().tolist() == [10, 20, 40]
    assert lines[0].get_ydata().tolist() == [0.0, 0.5, 1.0]
    assert [mark.get_xdata().tolist() for mark in marks] == [[40], [40]]
    assert len(of_kind(ax, PolyCollection)) == 2
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in lines}) == 2
    assert len({line.get_color() for line in lines}) == 2


def test_few_runs_have_bars_in_place_of_bands() -> None:
    ax = plot_slices(records(runs=4), along="n", value="detectors")
    assert of_kind(ax, PolyCollection) == []
    assert [len(bars.get_segments()) for bars in of_kind(ax, LineCollection)] == [len(WIDTHS)] * len(BIASES)
    between = of_kind(plot_slices(records(runs=4), along="n"), LineCollection)
    assert [len(bars.get_segments()) for bars in between] == [1] * len(BIASES), "where some runs interpolate"
    assert of_kind(plot_slices(records(runs=1), along="n"), LineCollection) == []
    assert len(of_kind(plot_slices(records(runs=20), along="n"), PolyCollection)) == len(BIASES)


def test_legends_stand_above_the_curves() -> None:
    ax = plot_slices(records(), along="n")
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_bands_are_the_intervals() -> None:
    ax = plot_slices([record for record in records(runs=20) if record["lambda"] == 0], along="n")
    (band,) = of_kind(ax, PolyCollection)
    corners = band.get_paths()[0].vertices
    at_20 = corners[corners[:, 0] == 20][:, 1]
    assert at_20.min() == pytest.approx(0.2993, abs=1e-3)
    assert at_20.max() == pytest.approx(0.7007, abs=1e-3)
    assert ax.get_legend() is None


@pytest.mark.parametrize("along", ["lambda", "N"])
def test_slices_along_the_other_axes(along: str) -> None:
    own = records() if along == "lambda" else [r for r in records(points=(50, 100)) if r["lambda"] == 1]
    ax = plot_slices(own, along=along, value="detectors")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$n$ = 10", "$n$ = 20", "$n$ = 40"]
    assert ax.get_ylim()[0] > 0, "all widths are large"


def test_widths_start_from_zero_unless_all_are_large() -> None:
    own = [record | {"detectors": record["detectors"] - 55} for record in records()]
    bottom, top = plot_slices(own, value="detectors", along="n").get_ylim()
    assert bottom == 0
    assert top > max(record["detectors"] for record in own)


def test_growth_by_name_and_by_width() -> None:
    own = [record for record in records(points=(50, 100, 1000)) if record["lambda"] == 1]
    by_name = plot_growth({"one": [r for r in own if r["n"] == 10], "two": [r for r in own if r["n"] == 40]})
    assert [text.get_text() for text in by_name.get_legend().get_texts()] == ["one", "two"]
    assert len(plot_growth(own).get_legend().get_texts()) == 3
    with pytest.raises(ParameterError, match="choose cells of one"):
        plot_growth({"one": own})


def test_given_axes_are_drawn_on() -> None:
    figure, axes = plt.subplots(1, 4)
    assert plot_heatmap(records(), axes[0]) is axes[0]
    assert plot_slices(records(), axes[1]) is axes[1]
    own = [record for record in records(points=(50, 100)) if record["lambda"] == 1]
    assert plot_growth(own, axes[2]) is axes[2]
    assert plot_points([[0, 0], [1, 1]], [0, 1], axes[3]) is axes[3]
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: plot_heatmap(records(), value="seconds"), "value must be one of 'probability', 'detectors'"),
        (lambda: plot_heatmap(records(), x="width"), "x must be one of 'n', 'lambda', 'N'"),
        (lambda: plot_heatmap(records(points=(50, 100))), "choose cells of one"),
        (lambda: plot_slices(records(points=(50, 100)), along="n"), "choose cells of one"),
        (lambda: plot_slices(records(), along="n", at=[0.3]), "no cell has lambda = 0.3"),
    ],
)
def test_what_cannot_be_drawn(draw, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        draw()


def test_nothing_to_draw() -> None:
    with pytest.raises(DataError, match="no trials"):
        plot_heatmap([])
    with pytest.raises(DataError, match="X has 1 features, the picture takes 2"):
        plot_points([[0.0]], [0])


def test_edges_lie_halfway() -> None:
    assert edges_of(np.array([0.0, 1.0, 3.0])).tolist() == [-0.5, 0.5, 2.0, 4.0]
    assert edges_of(np.array([10.0])).tolist() == [5.0, 15.0]
    assert [in_full(value) for value in (0.5, 1.0, 1e6)] == ["0.5", "1", "1,000,000"]
