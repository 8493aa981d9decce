"""Cells in the picture are those of points with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exactfit.plots import (
    plot_cells,
)
from exactfit.plots.plane import Picture
from exactfit.plots.regions import _cells

COARSE = 40


def bits_one_by_one(points: Any, weights: Any, biases: Any) -> list[tuple[bool, ...]]:
    lines = list(zip(weights.astype(np.float64), biases, strict=True))
    return [tuple(bool(w @ x + b > 0) for w, b in lines) for x in points]


@pytest.mark.parametrize("drawn", [1, 5, 70])
def test_cells_are_those_of_points_with_the_same_bits(model: Any, moons: Any, drawn: int) -> None:
    X, y = moons
    picture, first = Picture.of(model, X, y, COARSE), model.network_.layers[0]
    weights, biases = first.weights.values[:drawn], first.bias[:drawn]
    counts, here, of_grid = _cells(picture, weights, biases)
    rows = bits_one_by_one(np.concatenate([X, picture.grid]), weights, biases)
    for cell in np.unique(here):
        assert len({rows[i] for i in np.flatnonzero(here == cell)}) == 1
    assert len(set(rows)) == len(np.unique(np.concatenate([here, of_grid])))
    assert counts.sum() == len(X)


def test_no_cell_of_a_finished_first_layer_is_mixed(model: Any, moons: Any) -> None:
    assert plot_cells(model, *moons, resolution=COARSE).get_title("left").endswith("no point in a mixed cell")
    assert plot_cells(model, *moons, hyperplanes=1, resolution=COARSE).get_title("left").startswith("1 hyperplane: ")
