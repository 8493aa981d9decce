"""The picture of a comparison: what is drawn, and that names can be read."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from exactfit import Comparison, DataError, ParameterError
from exactfit.lab import plot_comparison
from exactfit.lab.comparison import Row

FACTS = {"n_samples": 8, "n_held_out": 2, "n_features": 3, "n_classes": 2, "time_limit": 60.0}


def comparison_of(*rows: Row) -> Comparison:
    return Comparison(rows, **FACTS, memory_limit=2**30, random_state=0)


def row(name: str, size: int | None, low: float | None, high: float | None) -> Row:
    return Row(name=name, kind="construction", total_bits=size, neurons=size, robust_radius=low, radius_upper=high)


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_bounds_are_markers_and_what_is_unknown_is_left_out() -> None:
    known, unproved, sizeless = (
        row("known", 100, 1e-3, 1e-1),
        row("unproved", 1000, None, 1e-2),
        row("no", None, 1.0, 2.0),
    )
    ax = plot_comparison(comparison_of(known, unproved, sizeless))
    drawn = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.lines if line.get_linestyle() == "None"
    ]
    assert sorted(drawn) == [(100, 1e-3), (100, 1e-1), (1000, 1e-2)]
    assert names(ax) == ["known", "unproved"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_half_the_separation_is_a_line() -> None:
    neighbour = Row(name="1-nn", kind="not a network", robust_radius=0.25)
    ax = plot_comparison(comparison_of(row("known", 100, 1e-3, 1e-1), neighbour))
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [0.25]
    assert names(ax) == ["known", "half the separation"]


def test_names_stand_beside_the_picture_by_size() -> None:
    rng = np.random.default_rng(0)
    rows = [row(f"construction-{k}", int(10 ** rng.uniform(4, 6)), 10 ** rng.uniform(-8, -3), 0.1) for k in range(20)]
    ax = plot_comparison(comparison_of(*rows))
    assert names(ax) == [one.name for one in sorted(rows, key=lambda one: one.total_bits or 0)]
    looks = {(handle.get_marker(), handle.get_color()) for handle in ax.get_legend().legend_handles}
    assert len(looks) == 20
    ax.figure.draw_without_rendering()
    legend, frame, whole = ax.get_legend().get_window_extent(), ax.get_window_extent(), ax.figure.bbox
    assert frame.x1 < legend.x0
    assert legend.x1 <= whole.x1
    assert whole.y0 <= legend.y0 < legend.y1 <= whole.y1


def test_another_size_and_other_axes() -> None:
    figure = plt.figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert plot_comparison(comparison_of(row("known", 100, 1e-3, 1e-1)), ax, size="neurons") is ax
    assert ax.get_xlabel() == "neurons"
    with pytest.raises(ParameterError, match="size must be one of"):
        plot_comparison(comparison_of(), size="weight")


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(DataError, match="no network with a size and a radius"):
        plot_comparison(comparison_of(row("no", None, None, None)))
