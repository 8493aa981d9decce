"""A comparison as a record: winners, text, JSON, frame; and as a picture whose names can be read."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from exactfit import Comparison, DataError, ParameterError
from exactfit.lab import plot_comparison
from exactfit.lab.comparison import Row

FACTS = {
    "n_samples": 8, "n_held_out": 2, "n_features": 3, "n_classes": 2, "time_limit": 60.0,
    "memory_limit": 2**30, "random_state": 0,
}  # fmt: skip


def a_row(**facts) -> Row:
    usual = {
        "depth": 2, "neurons": 1234, "parameters": 50_618, "nonzero": 1, "distinct": 1, "bits_per_weight": 64,
        "total_bits": 2_300_000, "largest_weight": 2.5, "robust_radius": 0.0123, "radius_method": "nearest hyperplane",
        "radius_upper": 0.5, "build_seconds": 0.25, "accuracy": 0.875, "certified": True, "proof": "counts",
    }  # fmt: skip
    return Row(**{"name": "some", "kind": "construction", **usual, **facts})


def a_table() -> Comparison:
    rows = (
        a_row(name="small", total_bits=10, build_seconds=3.0),
        a_row(name="robust", robust_radius=0.25),
        a_row(name="quick", build_seconds=0.001, largest_weight=float("inf")),
        a_row(name="liar", total_bits=1, robust_radius=9.0, build_seconds=0.0, certified=False),
        Row(name="1-nn", kind="not a network", robust_radius=8.0, radius_method="half the separation, exact"),
        Row(name="late", kind="construction", reason="time limit of 60 s, while building " + "and building " * 9),
    )
    return Comparison(rows, **FACTS, missing=("never",))


def test_winners_are_certified() -> None:
    table = a_table()
    winners = table.smallest, table.most_robust, table.fastest
    assert [row.name for row in winners if row is not None] == ["small", "robust", "quick"]
    assert replace(table, rows=table.rows[3:]).smallest is None


@pytest.mark.parametrize("width", [40, 60, 80, 100, 300])
def test_the_text_fits_the_terminal(width: int) -> None:
    text = a_table().to_text(width)
    assert max(map(len, text.splitlines())) <= width
    flat = " ".join(text.split())
    for words in (
        "built on 8 points of 3 features", "certified", "max weight", "radius >=", "radius <=", "radius by", "held out",
        "2.30M", "87.5 %", "0.0123", "not a network", "half the separation, exact", "late: time limit of 60 s",
        "smallest certified network: small, 10 bits", "most robust: robust, at least 0.25", "interrupted",
    ):  # fmt: skip
        assert words in flat
    blocks = [block for block in text.split("\n\n") if "robust" in block and "1-nn" in block]
    assert len(blocks) == (1 if width == 300 else len(blocks))
    assert all(block.splitlines()[1].startswith("small") for block in blocks)


def test_the_width_is_the_terminals(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    assert str(a_table()) == a_table().to_text(61)


def test_a_comparison_as_json() -> None:
    plain = json.loads(json.dumps(a_table().to_dict(), allow_nan=False))
    assert plain["missing"] == ["never"]
    assert plain["n_samples"] == 8
    assert plain["rows"][2]["largest_weight"] == "inf"
    assert plain["rows"][5]["neurons"] is None
    assert set(plain["rows"][0]) == {field.name for field in fields(Row)}


def test_a_comparison_as_a_frame() -> None:
    frame = a_table().to_frame()
    assert list(frame.index) == ["small", "robust", "quick", "liar", "1-nn", "late"]
    assert frame.loc["robust", "robust_radius"] == 0.25
    assert frame.loc["late", "reason"].startswith("time limit")
    assert np.isnan(frame.loc["1-nn", "neurons"])


def comparison_of(*rows: Row) -> Comparison:
    return Comparison(rows, **FACTS)


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
