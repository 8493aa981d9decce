"""How often networks interpolate, or how wide they are, over two axes of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...exceptions import ParameterError
from ...plots.style import axes_for
from .axes import SURE, WORDS, Cells, cells_of, check_axis, edges_of, label_axis, other_axis, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"probability": "cividis", "detectors": "viridis_r"}
MISSING = "0.85"


def plot_heatmap(
    records: Any,
    ax: Axes | None = None,
    *,
    value: str = "probability",
    x: str = "lambda",
    y: str = "n",
    contour: bool = True,
    colorbar: bool = True,
) -> Axes:
    """Draw a quantity over a grid of cells, with a dashed line where 99 % of the networks interpolate.

    Parameters
    ----------
    records : records
        Of trials or of cells: a structured array, a data frame or a list of dictionaries.
    ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.
    value : {"probability", "detectors"}
        Interpolation probability, or mean width of the second layer.
    x, y : {"n", "lambda", "N"}
        Axes of the picture; the third one must have a single value.
    contour : bool
        Draw the line of 99 %.
    colorbar : bool

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from exactfit.lab.plots import plot_heatmap
    >>> records = [
    ...     {"n": n, "lambda": lam, "N": 100, "detectors": 9, "missed": int(n < 20), "seconds": 0.1}
    ...     for n in (10, 20, 30)
    ...     for lam in (0.0, 0.5, 1.0)
    ... ]
    >>> plot_heatmap(records).get_ylabel()
    'first-layer width $n$'
    """
    check_axis(value, among=tuple(COLORS))
    cells = cells_of(records)
    third = other_axis(cells, check_axis(x), check_axis(y))
    if third is not None:
        raise ParameterError(f"choose cells of one {third} first: it has several values")
    columns, rows, table = table_of(cells, x, y, value)
    with axes_for(ax) as own:
        limits = (0.0, 1.0) if value == "probability" else (None, None)
        mesh = own.pcolormesh(
            edges_of(columns), edges_of(rows), np.ma.masked_invalid(table), cmap=COLORS[value],
            vmin=limits[0], vmax=limits[1], edgecolors="face", linewidth=0.1,
        )  # fmt: skip
        own.set_facecolor(MISSING)
        own.grid(visible=False)
        if contour:
            _draw_contour(own, cells, x, y)
        label_axis(own, "x", x)
        label_axis(own, "y", y)
        if colorbar:
            bar = own.figure.colorbar(mesh, ax=own, label=WORDS[value], pad=0.02)
            bar.outline.set_visible(False)
            label_axis(bar.ax, "y", value)
    return own


def _draw_contour(ax: Axes, cells: Cells, x: str, y: str) -> None:
    """The border between cells below 99 % and the others, dashed, light on dark and dark on light."""
    columns, rows, table = table_of(cells, x, y, "probability")
    if min(table.shape) < 2 or not (np.nanmin(table) < SURE <= np.nanmax(table)):
        return
    values = np.ma.masked_invalid(table)
    for color, width in (("white", 2.6), ("black", 1.3)):
        ax.contour(columns, rows, values, levels=[SURE], colors=color, linestyles="dashed", linewidths=width)
