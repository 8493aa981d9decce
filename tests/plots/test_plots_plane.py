"""Points in the plane."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from exactfit.plots import plot_points


@pytest.fixture(autouse=True)
def pictures() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def test_points_and_their_names() -> None:
    ax = plot_points(np.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2], names=["a", "b", "c"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert ax.get_aspect() == 1
    assert plot_points([[0, 0], [100, 1]], [0, 1], legend=False).get_aspect() == "auto"
    assert plot_points([[0, 0], [100, 1]], [0, 1], legend=False, equal=True).get_ylim() == (-6, 7)


def test_the_legend_shows_the_labels_themselves():
    ax = plot_points(np.arange(8.0).reshape(4, 2), ["dog", "cat", "dog", "cat"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cat", "dog"]
