"""Cells in the picture are those of points with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exactfit.plots import plot_cells
from exactfit.plots.plane import Picture
from exactfit.plots.regions import PURE_TINT, WHITE
from exactfit.plots.style import tint

COARSE = 40


def bits_one_by_one(points: Any, weights: Any, biases: Any) -> list[tuple[bool, ...]]:
    lines = list(zip(weights.astype(np.float64), biases, strict=True))
    return [tuple(bool(w @ x + b > 0) for w, b in lines) for x in points]


@pytest.mark.parametrize("drawn", [1, 5, 70])
def test_cells_have_the_colours_of_the_points_with_the_same_bits(model: Any, moons: Any, drawn: int) -> None:
    X, y = moons
    picture, first = Picture.of(model, X, y, COARSE), model.network_.layers[0]
    ax = plot_cells(model, X, y, hyperplanes=drawn, resolution=COARSE)
    pixels = np.asarray(ax.images[0].get_array()).reshape(-1, 3)
    rows = bits_one_by_one(np.concatenate([X, picture.grid]), first.weights.values[:drawn], first.bias[:drawn])
    labels: dict[Any, list[int]] = {}
    for row, code in zip(rows, picture.codes.tolist(), strict=False):
        labels.setdefault(row, []).append(code)
    for row, pixel in zip(rows[len(X) :], pixels, strict=True):
        found = labels.get(row, [])
        if len(set(found)) == 2:
            most = max(found.count(0), found.count(1)) / len(found)
            np.testing.assert_allclose(pixel, 1 - (0.25 + 0.5 * 2 * (1 - most)))
        else:
            np.testing.assert_allclose(pixel, tint(found[0], PURE_TINT) if found else WHITE)


def test_no_cell_of_a_finished_first_layer_is_mixed(model: Any, moons: Any) -> None:
    assert plot_cells(model, *moons, resolution=COARSE).get_title("left").endswith("no point in a mixed cell")
    assert plot_cells(model, *moons, hyperplanes=1, resolution=COARSE).get_title("left").startswith("1 hyperplane: ")
