"""Pictures of the geometry: balls over the data, distances between classes, predicted and actual sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Labelled
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError
from ..geometry.covering import MutualCovering, PairCovering
from ..geometry.report import Description
from .plane import draw_balls, scatter_classes
from .style import GREY, INK, LINES, axes_for, check_kind, color, documented, need_matplotlib, shade, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 4000  # more would only hide one another
MOST_NUMBERS = 2**25  # of these points together: fewer where features are very many
MOST_BALLS = 60  # the largest ones; more would hide the points
BALL_ALPHA = 0.12  # opacity of a ball; less where many overlap
BINS = 60  # of a histogram
THREE_PANELS = 13.2, 4.0  # inches, side by side


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
    with axes_for(ax) as axes:
        _draw_covering(axes, covering.pairs, Labelled.of(X, y), legend)
    return axes


def _draw_covering(axes: Axes, pairs: Sequence[PairCovering], problem: Labelled, legend: bool = True) -> None:
    """Draw the data and the balls of mutual coverings, if any."""
    n, d = problem.X.shape
    codes = {label: k for k, label in enumerate(problem.classes.tolist())}
    if any(pair.label not in codes for pair in pairs):
        raise DataError("the covering is of data with other labels")
    covers = [(pair.target, codes[pair.label]) for pair in pairs]
    # The rest is drawn where it is a class; of several classes, each shows its own balls.
    if len(covers) == 1 and len(codes) == 2:
        covers.append((pairs[0].rest, 1 - covers[0][1]))
    sizes = np.sort(np.concatenate([np.empty(0), *(np.diff(cover.starts) for cover, _ in covers)]))[::-1]
    least = 0 if len(sizes) <= MOST_BALLS else sizes[MOST_BALLS - 1]  # points in the smallest ball that is drawn
    # Evenly spaced rows of the data, if there are too many to be seen: the plane is theirs too.
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS, max(2, MOST_NUMBERS // d))).astype(np.intp))
    points = dense_rows(problem.X, rows)
    middle, directions = np.zeros(d), np.eye(d, 2)
    if d > 2:
        from sklearn.decomposition import PCA

        plane = PCA(2, random_state=0).fit(points)
        middle, directions = plane.mean_, plane.components_.T
    size = float(np.clip(4000 / len(rows), 1.5, 20))
    scatter_classes(axes, (points - middle) @ directions, problem.codes[rows], list(codes), s=size, zorder=2)
    for cover, k in covers:
        drawn = np.flatnonzero(np.diff(cover.starts) >= least)
        centers = (dense_rows(problem.X, cover.centers[drawn]) - middle) @ directions
        alpha = min(BALL_ALPHA, 0.6 / max(len(drawn), 1))
        draw_balls(axes, centers, cover.radii[drawn], facecolors=color(k), alpha=alpha, linewidths=0, zorder=0.5)
        edge: Any = {"facecolors": "none", "edgecolors": color(k), "linewidths": 0.7, "zorder": 1}
        draw_balls(axes, centers, cover.radii[drawn], **edge)
        axes.scatter(centers[:, 0], centers[:, 1], s=30, marker="*", color=INK, linewidths=0, zorder=4)
    # Collections of patches do not move the limits by themselves.
    axes.autoscale_view()
    names = ("$x_1$", "$x_2$") if d <= 2 else ("first principal component", "second")
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.set_aspect("equal", adjustable="datalim")
    if legend:
        columns = min(len(codes), 5)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, markerscale=1.6)


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
    _draw_covering(first, covering.pairs if covering else (), Labelled.of(X, y))
    if covering is not None:
        drawn = f"{min(covering.n_target, MOST_BALLS)} of {covering.n_target}"
        count = f"{covering.n_target} + {covering.n_rest}" if len(covering.pairs) == 1 else drawn
        first.set_title(f"mutual covering, {count} balls")
    _draw_distances(second, description)
    _draw_sizes(third, description)
    return np.array([first, second, third], dtype=object)


def _draw_distances(ax: Axes, description: Description) -> None:
    """Draw the histogram of the distances from the points to the nearest one of another label."""
    ax.set(xlabel="distance to the nearest point of another label", ylabel="points")
    ax.set_title("distances to other labels")
    if description.distances is None or description.separation is None:
        _left_out(ax, "distances")
        return
    ax.hist(description.distances, bins=BINS, color=color(0), alpha=0.85)
    # Above the bars, so that the text stays clear of them.
    ax.set_ylim(top=1.15 * ax.get_ylim()[1])
    value = description.separation.value
    ax.axvline(value, color=color(4), linewidth=1.2, linestyle=LINES[1])
    where: Any = {"xycoords": ("data", "axes fraction"), "xytext": (4, 0), "textcoords": "offset points", "va": "top"}
    ax.annotate(f"separation {value:.4g}", (value, 0.97), color=shade(4), **where)


def _draw_sizes(ax: Axes, description: Description) -> None:
    """Draw predicted and actual numbers of detectors, over the width."""
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel="width", ylabel="detectors", xscale="log")
    ax.set_title("predicted and actual size")
    calibration = description.calibration
    if calibration is None:
        _left_out(ax, "calibration")
    else:
        # A little beyond the widths seen, where the interval begins to open.
        widths = [fit.width for fit in calibration.fits]
        line = np.unique(np.geomspace(min(widths) / 1.3, max(widths) * 2, 60).astype(int))
        predicted = [calibration.detectors(int(width)) for width in line]
        lows, highs = [one.low for one in predicted], [one.high for one in predicted]
        ax.fill_between(line, lows, highs, color=color(0), alpha=0.15, linewidth=0)
        interval = f"predicted, {100 * calibration.confidence:g} % interval"
        ax.plot(line, [one.value for one in predicted], color=color(0), label=interval)
        found = [fit.detectors for fit in calibration.fits]
        ax.plot(widths, found, linestyle="", marker="o", markersize=3.5, color=color(1), label="networks built")
        ax.set_xticks(sorted(set(widths)), [f"{width:,}" for width in sorted(set(widths))])
        ax.minorticks_off()
        ax.axvline(calibration.width().value, color=GREY, linewidth=1.0, linestyle=LINES[2], label="interpolates")
    if description.limit is not None:
        count = description.limit.n_detectors
        ax.axhline(count, color=INK, linewidth=1.2, linestyle=LINES[1], label=f"limit forecast, {count:,}")
    if description.covering is not None:
        count = description.covering.n_target
        ax.axhline(count, color=color(2), linewidth=1.2, linestyle=LINES[2], label=f"covering, $M^-$ = {count:,}")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    if ax.get_legend_handles_labels()[1]:
        ax.legend()


def _left_out(ax: Axes, part: str) -> None:
    ax.text(0.5, 0.5, f"{part}: left out", transform=ax.transAxes, ha="center", va="center", color=GREY)
