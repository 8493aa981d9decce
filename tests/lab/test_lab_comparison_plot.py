"""The picture of a comparison: what is drawn, and that names can be read."""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from exactfit import Comparison, DataError, ParameterError
from exactfit.lab import plot_comparison
from exactfit.lab.comparison import Row

FACTS = {"n_samples": 8, "n_held_out": 2, "n_features": 3, "n_classes": 2, "time_limit": 60.0}


def comparison_of(*rows: Row) -> Comparison:
    return Comparison(rows, **FACTS, memory_limit=2**30, random_state=0)


def row(name: str, size: int | None, low: float | None, high: float | None) -> Row:
    return Row(name=name, kind="construction", total_bits=size, neurons=size, robust_radius=low, radius_upper=high)


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
    assert sorted(text.get_text() for text in ax.texts) == ["known", "unproved"]
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_legend()) == ("log", "log", None)


def test_half_the_separation_is_a_line() -> None:
    neighbour = Row(name="1-nn", kind="not a network", robust_radius=0.25)
    ax = plot_comparison(comparison_of(row("known", 100, 1e-3, 1e-1), neighbour))
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [0.25]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["half the separation"]


@pytest.mark.parametrize("seed", range(3))
def test_names_overlap_neither_each_other_nor_the_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [row(f"construction-{k}", int(10 ** rng.uniform(4, 6)), 10 ** rng.uniform(-8, -3), 0.1) for k in range(20)]
    ax = plot_comparison(comparison_of(*rows))
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 20
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


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
