"""Labelled points in the plane, and the frame around a network that interpolates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import as_labels, as_points
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError
from .plane import LEGEND_DROP, SQUARE_UP_TO, distinct_labels
from .style import INK, axes_for, check_axes, color, marker, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 4.8, 3.6
MARGIN = 0.05  # around the points, as a share of their range


def plot_points(
    X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    names: Sequence[str] | None = None, legend: bool = True, equal: bool | None = None,
) -> Axes:  # fmt: skip
    """Draw points of two features by class.

    Parameters
    ----------
    X : array of shape (n_samples, 2)
    y : array of n_samples labels
    ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.
    names : sequence of str, optional
        Of the classes, if ``y`` holds class indices 0..K-1; the labels themselves by default.
    legend : bool
    equal : bool, optional
        Give both axes the same scale; by default, unless one range is more than four times the other.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from exactfit.plots import plot_points
    >>> ax = plot_points([[0.0, 0.0], [1.0, 1.0]], [0, 1], names=["lower", "upper"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['lower', 'upper']
    """
    points = dense_rows(as_points(X), slice(None))
    labels = as_labels(y, len(points))
    if points.shape[1] != 2:
        raise DataError(
            f"points of two features with a label each can be drawn, got shapes {points.shape}, {labels.shape}"
        )
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise ParameterError(f"names must be a list with the name of each class, got {type(names).__name__}")
    classes = distinct_labels(labels).tolist() if names is None else range(len(names))
    size = float(np.clip(9000 / max(len(points), 1), 1.5, 36))
    with axes_for(ax, SIZE) as own:
        for k, label in enumerate(classes):
            across, up = points[labels == label].T
            own.scatter(
                across, up, s=size, marker=marker(k), color=color(k), edgecolors=[shade(k)],
                linewidths=0.3 if size > 4 else 0.0, label=str(names[k] if names else label),
            )  # fmt: skip
        own.set(xlabel="$x_1$", ylabel="$x_2$")
        across, up = np.ptp(points, axis=0)
        if equal is None:
            equal = max(across, up) <= SQUARE_UP_TO * min(across, up)
        own.set_aspect("equal" if equal else "auto")
        own.margins(MARGIN if equal else 2 * MARGIN)
        if equal:  # the same room on all sides, however thin the set
            pad = MARGIN * max(across, up) or 1.0
            own.set(xlim=_around(points[:, 0], pad), ylim=_around(points[:, 1], pad))
        if legend:
            own.legend(
                loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=LEGEND_DROP, ncols=4,
                markerscale=max(1.0, 5 / size**0.5),
            )  # fmt: skip
    return own


def _around(values: NDArray[np.float64], pad: float) -> tuple[float, float]:
    return float(values.min()) - pad, float(values.max()) + pad


def frame(ax: Axes, interpolates: bool) -> Axes:
    """A thick dashed frame around axes whose network interpolates, a thin one around others.

    Examples
    --------
    >>> from exactfit.plots import frame, plot_points
    >>> ax = frame(plot_points([[0.0, 0.0], [1.0, 1.0]], [0, 1]), True)
    >>> ax.spines["top"].get_linewidth()
    2.6
    """
    check_axes(ax)
    for spine in ax.spines.values():
        spine.set(visible=True, color=INK, linewidth=2.6 if interpolates else 0.6)
        spine.set_linestyle((0, (4, 2)) if interpolates else "solid")
    return ax
