"""Pictures of the geometry: balls over the data, distances between classes, predicted and actual sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import check_wholes
from ..data import Labelled, Matrix
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..geometry.ball_covers import ClassCover
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
    """A mean and two orthonormal directions, shape (2, d): the axes themselves in at most two dimensions.

    In more, the first two principal components; of very many features, those of some rows.
    """
    d = int(X.shape[1])
    if d <= 2:
        return np.zeros(d), np.eye(2, d)
    if d > COVARIANCE_FEATURES:
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
    middle, directions = principal_plane(problem.X)
    with axes_for(ax) as own:
        _draw_points(own, problem, middle, directions)
        covers = _covers(covering, problem)
        least = _smallest_drawn([cover for cover, _ in covers])
        for cover, k in covers:
            drawn = np.flatnonzero(np.diff(cover.starts) >= least)
            _draw_balls(own, cover.radii[drawn], _flat(problem.X, cover.centers[drawn], middle, directions), k)
        plane = problem.X.shape[1] <= 2
        names = ("$x_1$", "$x_2$") if plane else ("first principal component", "second")
        own.set(xlabel=names[0], ylabel=names[1])
        own.set_aspect("equal", adjustable="datalim")
        if legend:
            columns = min(len(problem.classes), 5)
            own.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, markerscale=1.6)
    return own


def _smallest_drawn(covers: list[ClassCover]) -> int:
    """How many points a ball has to hold to be drawn."""
    sizes = np.sort(np.concatenate([np.diff(cover.starts) for cover in covers]))[::-1]
    return 0 if len(sizes) <= MOST_BALLS else int(sizes[MOST_BALLS - 1])


def _covers(covering: MutualCovering, problem: Labelled) -> list[tuple[ClassCover, int]]:
    codes = {label: k for k, label in enumerate(problem.classes.tolist())}
    if any(pair.label not in codes for pair in covering.pairs):
        raise DataError("the covering is of data with other labels")
    covers = [(pair.target, codes[pair.label]) for pair in covering.pairs]
    if len(covers) == 1 and len(codes) == 2:
        covers.append((covering.pairs[0].rest, 1 - covers[0][1]))
    return covers


def _flat(X: Matrix, rows: Any, middle: Floats, directions: Floats) -> Floats:
    parts = [(dense_rows(X, rows[start : start + 4096]) - middle) @ directions.T for start in range(0, len(rows), 4096)]
    return np.concatenate([np.empty((0, 2)), *parts])


def _draw_points(ax: Axes, problem: Labelled, middle: Floats, directions: Floats) -> None:
    n = len(problem.codes)
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(np.intp))
    points, codes = _flat(problem.X, rows, middle, directions), problem.codes[rows]
    size = float(np.clip(4000 / len(rows), 1.5, 20))
    for k, label in enumerate(problem.classes.tolist()):
        own = points[codes == k]
        ax.scatter(
            own[:, 0], own[:, 1], s=size, marker=marker(k), color=color(k), edgecolors=[shade(k)], linewidths=0.3,
            label=str(label), zorder=2,
        )  # fmt: skip


def _draw_balls(ax: Axes, radii: Floats, centers: Floats, k: int) -> None:
    alpha = min(BALL_ALPHA, 0.6 / max(len(radii), 1))
    draw_balls(ax, centers, radii, facecolors=color(k), alpha=alpha, linewidths=0, zorder=0.5)
    draw_balls(ax, centers, radii, facecolors="none", edgecolors=color(k), linewidths=0.7, zorder=1)
    ax.scatter(centers[:, 0], centers[:, 1], s=30, marker="*", color=INK, linewidths=0, zorder=4)
    ax.autoscale_view()


@documented
def plot_distances(description: Description, ax: Axes | None = None) -> Axes:
    """Draw how far the points are from the nearest one of another label.

    Parameters
    ----------
    description : Description
    {drawn}

    Examples
    --------
    >>> import exactfit
    >>> from exactfit.plots import plot_distances
    >>> ax = plot_distances(exactfit.describe(*exactfit.geometry.make_parallel_lines(10)))
    >>> ax.get_xlabel()
    'distance to the nearest point of another label'
    """
    check_kind(description, Description, "describe")
    with axes_for(ax) as own:
        own.set(xlabel="distance to the nearest point of another label", ylabel="points")
        if description.distances is None or description.separation is None:
            return _left_out(own, "distances")
        own.hist(description.distances, bins=BINS, color=color(0), alpha=0.85)
        own.set_ylim(top=1.15 * own.get_ylim()[1])
        own.axvline(description.separation.value, color=color(4), linewidth=1.2, linestyle=LINES[1])
        own.annotate(
            f"separation {description.separation.value:.4g}", (description.separation.value, 0.97),
            xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points", va="top", color=shade(4),
        )  # fmt: skip
    return own


@documented
def plot_sizes(description: Description, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw predicted against actual numbers of detectors, over the width.

    Parameters
    ----------
    description : Description
    {ax}
    legend : bool

    {axes}

    Examples
    --------
    >>> import exactfit
    >>> from exactfit.plots import plot_sizes
    >>> ax = plot_sizes(exactfit.describe(*exactfit.geometry.make_parallel_lines(10)))
    >>> ax.get_xscale()
    'log'
    """
    check_kind(description, Description, "describe")
    with axes_for(ax) as own:
        own.set(xlabel="width", ylabel="detectors", xscale="log")
        if description.calibration is None:
            _left_out(own, "calibration")
        else:
            _draw_calibration(own, description.calibration)
        if description.limit is not None:
            forecast = description.limit.n_detectors
            own.axhline(forecast, color=INK, linewidth=1.2, linestyle=LINES[1], label=f"limit forecast, {forecast:,}")
        if description.covering is not None:
            count = description.covering.n_target
            own.axhline(count, color=color(2), linewidth=1.2, linestyle=LINES[2], label=f"covering, $M^-$ = {count:,}")
        _count_upwards(own)
        if legend and own.get_legend_handles_labels()[1]:
            own.legend()
    return own


def _count_upwards(ax: Axes) -> None:
    """Whole numbers from zero on the vertical axis."""
    from matplotlib.ticker import MaxNLocator

    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_calibration(ax: Axes, calibration: Calibration) -> None:
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


def _left_out(ax: Axes, part: str) -> Axes:
    ax.text(0.5, 0.5, f"{part}: left out", transform=ax.transAxes, ha="center", va="center", color=GREY)
    return ax


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
    if description.covering is None:
        problem = Labelled.of(X, y)
        _draw_points(first, problem, *principal_plane(problem.X))
    else:
        plot_covering(description.covering, X, y, first)
        first.set_title(_balls_title(description.covering))
    plot_distances(description, second).set_title("distances to other labels")
    plot_sizes(description, third).set_title("predicted and actual size")
    return np.array([first, second, third], dtype=object)


def _balls_title(covering: MutualCovering) -> str:
    if len(covering.pairs) > 1:
        shown = min(covering.n_target, MOST_BALLS)
        return f"coverings, {shown} of {covering.n_target} balls"
    return f"mutual covering, {covering.n_target} + {covering.n_rest} balls"


@documented
def plot_limit(
    fits: Mapping[float, Mapping[int, Sequence[int]]], forecast: Sequence[int], ax: Axes | None = None, *,
    legend: bool = True,
) -> Axes:  # fmt: skip
    r"""Draw the number of detectors at growing width and max_bias against the limit's forecast.

    Parameters
    ----------
    fits : mapping of max_bias to mapping of width to numbers of detectors
        One line for each max_bias: the mean, with the range over the networks of one width.
    forecast : sequence of int
        Detectors of ``limit_cover``, one for each of several orders.
    {ax}
    legend : bool

    {axes}

    Examples
    --------
    >>> from exactfit.plots import plot_limit
    >>> ax = plot_limit({1.0: {100: [9, 8], 1000: [6, 5]}}, [5, 5])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['$\\lambda$ = 1', 'limit forecast']
    """
    if not isinstance(fits, Mapping) or not all(isinstance(numbers, Mapping) for numbers in fits.values()):
        raise ParameterError("fits must map each max_bias to a mapping of widths to numbers of detectors")
    limits = check_wholes("forecast", forecast, at_least=0)
    with axes_for(ax) as own:
        for index, (max_bias, numbers) in enumerate(fits.items()):
            widths = sorted(numbers)
            lows, highs = [min(numbers[n]) for n in widths], [max(numbers[n]) for n in widths]
            means = [float(np.mean(numbers[n])) for n in widths]
            own.vlines(widths, lows, highs, color=color(index), linewidth=1.0)
            own.plot(
                widths, means, color=color(index), marker=marker(index), markersize=4.5, linestyle=LINES[index % 5],
                label=rf"$\lambda$ = {max_bias:g}",
            )  # fmt: skip
        own.axhspan(min(limits), max(limits), color=GREY, alpha=0.2, linewidth=0)
        own.axhline(float(np.mean(limits)), color=INK, linewidth=1.4, label="limit forecast")
        own.set(xlabel="width $n$", ylabel="detectors", xscale="log")
        _count_upwards(own)
        if legend:
            own.legend()
    return own
