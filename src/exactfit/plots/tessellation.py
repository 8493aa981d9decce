"""Cells: how the first layer cuts the plane, and which cells hold one label only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_whole
from ..network.sides import sides
from .plane import Codes, Floats, Picture, hyperplanes_of, network_of
from .style import GREY, INK, axes_for, documented, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PURE_TINT = 0.35  # strength of a class's colour in a cell of that class alone
MIXED_TINT = 0.25, 0.75  # of black: in a cell with hardly any point of another class, and half of each
BLACK = 7  # its place in the palette
MOST_RINGS = 400  # more would hide the points


@documented
def plot_cells(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    hyperplanes: int | None = None, resolution: int = 400, legend: bool = True,
) -> Axes:  # fmt: skip
    """Draw how hyperplanes cut the plane into cells, coloured by the labels of the points in them.

    A cell with points of one class has its colour, a cell with points of several is grey, the darker the
    more it mixes them, and an empty one white. Points in mixed cells have rings: detectors cannot tell them
    from one another.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features.
    X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
    {ax}
    hyperplanes : int, optional
        Only the first so many, to watch the first layer grow; all by default.
    {resolution}
    legend : bool

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import adaptive_width
    >>> from exactfit.plots import plot_cells
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> made = adaptive_width(X, y, random_state=0)
    >>> plot_cells(made, X, y, hyperplanes=4, resolution=50).get_title("left")
    '4 hyperplanes: 50 points in mixed cells'
    >>> plot_cells(made, X, y, resolution=50).get_title("left").endswith(" no point in a mixed cell")
    True
    """
    picture = Picture.of(model, X, y, resolution)
    weights, biases = hyperplanes_of(network_of(model))
    drawn = len(biases)
    if hyperplanes is not None:
        drawn = min(drawn, check_whole("hyperplanes", hyperplanes, at_least=1))
    counts, here, of_grid = _cells(picture, weights[:drawn], biases[:drawn])
    mixed = (counts[here] > 0).sum(axis=1) > 1
    with axes_for(ax, picture.size) as own:
        picture.show(own, _colors(counts)[of_grid])
        picture.lines(own, weights[:drawn], biases[:drawn])
        picture.points_by_class(own)
        rings = picture.points[np.flatnonzero(mixed)[:MOST_RINGS]]
        own.scatter(rings[:, 0], rings[:, 1], s=52, facecolors="none", edgecolors=INK, linewidths=0.9, zorder=4)
        said = f"{mixed.sum():,} points in mixed cells" if mixed.any() else "no point in a mixed cell"
        own.set_title(f"{drawn:,} hyperplane{'s' if drawn > 1 else ''}: {said}")
        if legend:
            picture.legend(own, [("|", GREY, "hyperplane"), ("s", str(0.5), "mixed cell")])
    return own


def _cells(picture: Picture, weights: NDArray[Any], biases: Floats) -> tuple[NDArray[np.int64], Codes, Codes]:
    """Points of each class in each cell, and the cells of the points and of the grid."""
    words = sides(np.concatenate([picture.points, picture.grid]), weights, biases).words
    rows = np.ascontiguousarray(words.T)
    _, cells = np.unique(rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), return_inverse=True)
    here, of_grid = np.split(cells, [len(picture.points)])
    counts = np.zeros((cells.max() + 1, len(picture.classes)), dtype=np.int64)
    np.add.at(counts, (here, picture.codes), 1)
    return counts, here, of_grid


def _colors(counts: NDArray[np.int64]) -> Floats:
    """Of each cell: its class's where there is one, darker grey the more it mixes, white where it is empty."""
    total, most = counts.sum(axis=1), counts.max(axis=1)
    palette = np.array([tint(k, PURE_TINT) for k in range(counts.shape[1])])
    colors = np.where(total[:, None] == 0, 1.0, palette[counts.argmax(axis=1)])
    mixed = most < total
    low, high = MIXED_TINT
    strength = low + (high - low) * 2 * (1 - most[mixed] / total[mixed])
    black = np.array(tint(BLACK, 1.0))
    colors[mixed] = 1 - np.clip(strength, 0, high)[:, None] * (1 - black)
    return colors
