"""Pictures of the geometry: balls over the data, distances between classes, predicted and actual sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Labelled, Matrix
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..geometry.calibration import Calibration
from ..geometry.covering import MutualCovering
from ..geometry.report import Description
from .plane import Floats, draw_balls
from .style import GREY, INK, LINES, axes_for, check_kind, color, documented, marker, need_matplotlib, shade, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 4000  # more would only hide one another
MOST_BALLS = 60  # the largest ones; more would hide the points
COVARIANCE_FEATURES = 2000  # beyond, a covariance matrix is too much for a picture
BALL_ALPHA = 0.12  # opacity of a ball; less where many overlap
BINS = 60  # of a histogram
THREE_PANELS = 13.2, 4.0  # inches, side by side


def principal_plane(X: Matrix) -> tuple[Floats, Floats]:
    """Mean and first two principal directions, shape (2, d): the axes themselves in at most two dimensions."""
    d = int(X.shape[1])
    if d <= 2:
        return np.zeros(d), np.eye(2, d)
    if d > COVARIANCE_FEATURES:
        # Of very many features, the components of some rows.
        rows = dense_rows(X, np.linspace(0, X.shape[0] - 1, min(X.shape[0], 1000)).astype(np.intp))
        middle = rows.mean(axis=0)
        directions = np.linalg.svd(rows - middle, full_matrices=False)[2][:2]
    else:
        middle = sum((dense_rows(X, tile).sum(axis=0) for tile in row_tiles(X)), np.zeros(d)) / X.shape[0]
        spread = np.zeros((d, d))
        for tile in row_tiles(X):
            centred = dense_rows(X, tile) - middle
            spread += centred.T @ centred
        directions = np.linalg.eigh(spread)[1][:, ::-1].T[:2]
    # Of a direction and its opposite, the one whose largest entry is positive: the same picture everywhere.
    largest = np.abs(directions).argmax(axis=1)
    return middle, directions * np.sign(directions[np.arange(2), largest])[:, None]


@documented
def plot_covering(
    covering: MutualCovering, X: Any, y: Any, ax: Axes | None = None, *, legend: bool = True
) -> Axes:  # fmt: skip
    """Draw the data and the balls of a mutual covering.

    With more than two features, in the plane of the first two principal components, where a
    ball shows as a disc of its radius. With several targets, each label's own balls.

    Parameters
    ----------
    covering : MutualCovering
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    {ax}
    legend : bool

    {axes}
        With at most 4,000 points, and the 60 balls that hold most points.

    Examples
    --------
    >>> import exactfit
    >>> from exactfit.plots import plot_covering
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.5)
    >>> ax = plot_covering(exactfit.geometry.mutual_covering(X, y), X, y)
    """
    check_kind(covering, MutualCovering, "mutual_covering")
    problem = Labelled.of(X, y)
    codes = {label: k for k, label in enumerate(problem.classes.tolist())}
    if any(pair.label not in codes for pair in covering.pairs):
        raise DataError("the covering is of data with other labels")
    covers = [(pair.target, codes[pair.label]) for pair in covering.pairs]
    # The rest is drawn where it is a class; of several classes, each shows its own balls.
    if len(covers) == 1 and len(codes) == 2:
        covers.append((covering.pairs[0].rest, 1 - covers[0][1]))
    sizes = np.sort(np.concatenate([np.diff(cover.starts) for cover, _ in covers]))[::-1]
    least = 0 if len(sizes) <= MOST_BALLS else sizes[MOST_BALLS - 1]  # points in the smallest ball that is drawn
    middle, directions = principal_plane(problem.X)
    with axes_for(ax) as own:
        _draw_points(own, problem, middle, directions)
        for cover, k in covers:
            drawn = np.flatnonzero(np.diff(cover.starts) >= least)
            centers, radii = _flat(problem.X, cover.centers[drawn], middle, directions), cover.radii[drawn]
            alpha = min(BALL_ALPHA, 0.6 / max(len(radii), 1))
            draw_balls(own, centers, radii, facecolors=color(k), alpha=alpha, linewidths=0, zorder=0.5)
            draw_balls(own, centers, radii, facecolors="none", edgecolors=color(k), linewidths=0.7, zorder=1)
            own.scatter(centers[:, 0], centers[:, 1], s=30, marker="*", color=INK, linewidths=0, zorder=4)
            own.autoscale_view()
        names = ("$x_1$", "$x_2$") if problem.X.shape[1] <= 2 else ("first principal component", "second")
        own.set(xlabel=names[0], ylabel=names[1])
        own.set_aspect("equal", adjustable="datalim")
        if legend:
            columns = min(len(problem.classes), 5)
            own.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, markerscale=1.6)
    return own


def _flat(X: Matrix, rows: Any, middle: Floats, directions: Floats) -> Floats:
    parts = [(dense_rows(X, rows[start : start + 4096]) - middle) @ directions.T for start in range(0, len(rows), 4096)]
    return np.concatenate([np.empty((0, 2)), *parts])


def _draw_points(ax: Axes, problem: Labelled, middle: Floats, directions: Floats) -> None:
    n = len(problem.codes)
    # Evenly spaced rows of the data, if there are too many to be seen.
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(np.intp))
    points, codes = _flat(problem.X, rows, middle, directions), problem.codes[rows]
    size = float(np.clip(4000 / len(rows), 1.5, 20))
    for k, label in enumerate(problem.classes.tolist()):
        own = points[codes == k]
        ax.scatter(
            own[:, 0], own[:, 1], s=size, marker=marker(k), color=color(k), edgecolors=[shade(k)], linewidths=0.3,
            label=str(label), zorder=2,
        )  # fmt: skip


def plot_description(
    description: Description, X: Any, y: Any, axes: Sequence[Axes] | None = None
) -> NDArray[np.object_]:
    """Draw a description: data and balls, distances to other labels, predicted and actual sizes.

    Parameters
    ----------
    description : Description
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
        The data that were described.
    axes : sequence of three matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.

    Returns
    -------
    ndarray of three matplotlib axes

    Examples
    --------
    >>> import exactfit
    >>> from exactfit.plots import plot_description
    >>> X, y = exactfit.geometry.make_parallel_lines(10)
    >>> axes = plot_description(exactfit.describe(X, y), X, y)
    >>> len(axes)
    3
    """
    check_kind(description, Description, "describe")
    if axes is None:
        need_matplotlib()
        import matplotlib.pyplot as plt

        with style():
            return plot_description(description, X, y, plt.subplots(1, 3, figsize=THREE_PANELS)[1])
    if not isinstance(axes, Sequence | np.ndarray) or len(axes) != 3:
        raise ParameterError("axes must be three, as plt.subplots(1, 3) makes them")
    first, second, third = axes
    covering = description.covering
    if covering is None:
        problem = Labelled.of(X, y)
        _draw_points(first, problem, *principal_plane(problem.X))
    else:
        plot_covering(covering, X, y, first)
        title = f"mutual covering, {covering.n_target} + {covering.n_rest} balls"
        if len(covering.pairs) > 1:
            title = f"coverings, {min(covering.n_target, MOST_BALLS)} of {covering.n_target} balls"
        first.set_title(title)
    _draw_distances(second, description)
    _draw_sizes(third, description)
    return np.array([first, second, third], dtype=object)


def _draw_distances(ax: Axes, description: Description) -> None:
    """Histogram of the distances from the points to the nearest one of another label."""
    ax.set(xlabel="distance to the nearest point of another label", ylabel="points")
    ax.set_title("distances to other labels")
    if description.distances is None or description.separation is None:
        _left_out(ax, "distances")
        return
    ax.hist(description.distances, bins=BINS, color=color(0), alpha=0.85)
    # Above the bars, so that the text stays clear of them.
    ax.set_ylim(top=1.15 * ax.get_ylim()[1])
    ax.axvline(description.separation.value, color=color(4), linewidth=1.2, linestyle=LINES[1])
    ax.annotate(
        f"separation {description.separation.value:.4g}", (description.separation.value, 0.97),
        xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points", va="top", color=shade(4),
    )  # fmt: skip


def _draw_sizes(ax: Axes, description: Description) -> None:
    """Predicted and actual numbers of detectors, over the width."""
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel="width", ylabel="detectors", xscale="log")
    ax.set_title("predicted and actual size")
    if description.calibration is None:
        _left_out(ax, "calibration")
    else:
        _draw_calibration(ax, description.calibration)
    if description.limit is not None:
        forecast = description.limit.n_detectors
        ax.axhline(forecast, color=INK, linewidth=1.2, linestyle=LINES[1], label=f"limit forecast, {forecast:,}")
    if description.covering is not None:
        count = description.covering.n_target
        ax.axhline(count, color=color(2), linewidth=1.2, linestyle=LINES[2], label=f"covering, $M^-$ = {count:,}")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    if ax.get_legend_handles_labels()[1]:
        ax.legend()


def _draw_calibration(ax: Axes, calibration: Calibration) -> None:
    # A little beyond the widths seen, where the interval begins to open.
    widths = np.array([fit.width for fit in calibration.fits])
    line = np.unique(np.geomspace(widths.min() / 1.3, widths.max() * 2, 60).astype(int))
    predicted = [calibration.detectors(int(width)) for width in line]
    values = [one.value for one in predicted]
    lows, highs = [one.low for one in predicted], [one.high for one in predicted]
    ax.fill_between(line, lows, highs, color=color(0), alpha=0.15, linewidth=0)
    ax.plot(line, values, color=color(0), label=f"predicted, {100 * calibration.confidence:g} % interval")
    found = [fit.detectors for fit in calibration.fits]
    ax.plot(widths, found, linestyle="", marker="o", markersize=3.5, color=color(1), label="networks built")
    ax.set_xticks(sorted(set(widths.tolist())), [f"{width:,}" for width in sorted(set(widths.tolist()))])
    ax.minorticks_off()
    width = calibration.width()
    ax.axvline(width.value, color=GREY, linewidth=1.0, linestyle=LINES[2], label="width that interpolates")


def _left_out(ax: Axes, part: str) -> None:
    ax.text(0.5, 0.5, f"{part}: left out", transform=ax.transAxes, ha="center", va="center", color=GREY)
