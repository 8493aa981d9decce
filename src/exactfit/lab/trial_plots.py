"""Pictures of trials: a quantity over two axes of a grid, or along one, a line for each value of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import ParameterError
from ..plots.style import LINES, axes_for, color, documented, marker
from .axes import (
    MANY_RUNS,
    SURE,
    WORDS,
    Cells,
    Floats,
    cells_of,
    check_axis,
    edges_of,
    in_short,
    label_axis,
    named,
    other_axis,
    shown,
    table_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

COLORS = {"probability": "cividis", "detectors": "viridis_r"}
MISSING = "0.85"
BAND = 0.18  # opacity: overlapping bands still show their lines
WHISKER = 0.55  # opacity of the bars that stand for bands where runs are few
WHISKER_SHIFT = 0.006  # of the axis, from line to line: bars of different lines stand side by side
LEVELS = 5  # lines of equal width in a heatmap, at most
SMOOTH = 25  # columns over this is the spread of the smoothing along a line, in columns
LEAST_SPREAD = 0.8  # columns, where there are few of them
FINER = 8  # points of a drawn line to a column of cells
VALUES = ("probability", "detectors")
LEGEND_LINE = 40  # letters that a line of a legend holds beside its samples of lines
# A legend above the axes, small enough for four names.
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "fontsize": 8, "handlelength": 2.6,
}  # fmt: skip


@documented
def plot_heatmap(
    records: Any,
    ax: Axes | None = None,
    *,
    value: str = "probability",
    x: str = "lambda",
    y: str = "n",
    contour: bool = True,
    levels: bool = False,
    colorbar: bool = True,
) -> Axes:
    """Draw a quantity over a grid of cells, with a dashed line where 99 % of the networks interpolate.

    Parameters
    ----------
    records : records
        Of trials or of cells: a structured array, a data frame or a list of dictionaries.
    {ax}
    value : {"probability", "detectors"}
        Interpolation probability, or mean width of the second layer.
    x, y : {"n", "lambda", "N"}
        Axes of the picture; the third one must have a single value.
    contour : bool
        Draw the line of 99 %: where probability, made monotone along ``y``, first reaches it, smoothed along ``x``.
    levels : bool
        Draw lines of equal value, smoothed.
    colorbar : bool

    {axes}

    Examples
    --------
    >>> from exactfit.lab import plot_heatmap
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
        if levels:
            _draw_levels(own, columns, rows, table)
        if contour:
            _draw_border(own, cells, x, y)
        label_axis(own, "x", x)
        label_axis(own, "y", y)
        if colorbar:
            bar = own.figure.colorbar(mesh, ax=own, label=WORDS[value], pad=0.02)
            bar.outline.set_visible(False)
            label_axis(bar.ax, "y", value)
    return own


def _draw_border(ax: Axes, cells: Cells, x: str, y: str) -> None:
    """The border between cells below 99 % and the others, dashed, light on dark and dark on light."""
    columns, rows, table = table_of(cells, x, y, "probability")
    line = _rounded(columns, border(rows, table))
    for ink, width in (("white", 2.6), ("black", 1.3)) if np.isfinite(line[1]).sum() > 1 else ():
        ax.plot(*line, color=ink, linestyle=(0, (4, 2.2)), linewidth=width, gid="border")


def _rounded(columns: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """A line without corners through the same points, that overshoots nowhere; as it is if it has gaps."""
    from scipy.interpolate import PchipInterpolator

    there = np.flatnonzero(np.isfinite(heights))
    if len(there) < 3 or np.any(np.diff(there) > 1):
        return columns, heights
    fine = np.linspace(columns[there[0]], columns[there[-1]], FINER * len(there))
    return fine, PchipInterpolator(columns[there], heights[there])(fine)


def border(rows: Floats, table: Floats, level: float = SURE) -> Floats:
    """For each column, the row from which on a probability is at least ``level``; not a number if none or all are.

    Probabilities are made monotone first, each column by itself; then the line is smoothed over the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.trial_plots import border
    >>> border(np.array([10.0, 20.0, 30.0]), np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.9]]))
    array([29.8,  nan])
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.optimize import isotonic_regression

    heights = np.full(table.shape[1], np.nan)
    for k, column in enumerate(table.T):
        there = np.isfinite(column)
        shares, places = isotonic_regression(column[there]).x, rows[there]
        first = int(np.searchsorted(shares, level))
        if 0 < first < len(shares):
            below, above = shares[first - 1 : first + 1]
            heights[k] = np.interp((level - below) / (above - below), [0, 1], places[first - 1 : first + 1])
    there = np.isfinite(heights)
    if there.sum() > 2:
        found = heights[there]
        mirrored = np.concatenate([2 * found[0] - found[:0:-1], found, 2 * found[-1] - found[-2::-1]])  # keeps the ends
        spread = max(LEAST_SPREAD, len(heights) / SMOOTH)
        heights[there] = gaussian_filter1d(mirrored, spread)[len(found) - 1 : 2 * len(found) - 1]
    return heights


def _draw_levels(ax: Axes, columns: Floats, rows: Floats, table: Floats) -> None:
    """Lines of equal value; cells that are not there are left out."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator
    from scipy.interpolate import RectBivariateSpline
    from scipy.ndimage import gaussian_filter

    if min(table.shape) < 3 or np.isnan(table).any():
        return
    smooth = gaussian_filter(table, [size / SMOOTH / 2 for size in table.shape], mode="nearest")
    wanted = MaxNLocator(LEVELS).tick_values(smooth.min(), smooth.max())[1:-1]
    x, y = (np.linspace(places[0], places[-1], FINER * len(places)) for places in (columns, rows))
    finer = RectBivariateSpline(rows, columns, smooth, kx=2, ky=2)(y, x)
    lines = ax.contour(x, y, finer, levels=wanted, colors="white", linewidths=0.8, alpha=0.9)
    ax.clabel(lines, fontsize=7, fmt=FuncFormatter(lambda value, _: in_short(value)))


@documented
def plot_slices(
    records: Any,
    ax: Axes | None = None,
    *,
    value: str = "probability",
    along: str = "n",
    at: Sequence[float] | None = None,
    legend: bool = True,
) -> Axes:
    r"""Draw a quantity along one axis, one line for each value of the other.

    Bands are 95 % confidence intervals (Wilson's for probabilities, Student's for means); those of
    fewer than 20 runs are drawn as thin bars, which leave a panel readable. Markers are where at
    least 99 % of the runs interpolate.

    Parameters
    ----------
    records : records
        Of trials or of cells: a structured array, a data frame or a list of dictionaries.
    {ax}
    value : {"probability", "detectors"}
        Interpolation probability, or mean width of the second layer.
    along : {"n", "lambda", "N"}
        The horizontal axis.
    at : sequence of float, optional
        Values of the other axis to draw a line for; all by default.
    legend : bool

    {axes}

    Examples
    --------
    >>> from exactfit.lab import plot_slices
    >>> records = [
    ...     {"n": n, "lambda": lam, "N": 100, "detectors": 9, "missed": int(n < 20), "seconds": 0.1}
    ...     for n in (10, 20, 30)
    ...     for lam in (0.0, 0.5, 1.0)
    ... ]
    >>> ax = plot_slices(records, along="n", at=[0, 1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['$\\lambda$ = 0', '$\\lambda$ = 1']
    """
    check_axis(value, among=VALUES)
    cells = cells_of(records)
    by = other_axis(cells, check_axis(along))
    groups: dict[str, Cells] = {"": cells}
    if by is not None:
        wanted = _wanted(cells, by, at)
        groups = {named(by, each): cells[cells[by] == each] for each in wanted}
    return draw_lines(groups, ax, value=value, along=along, legend=legend)


def _wanted(cells: Cells, by: str, at: Sequence[float] | None) -> list[float]:
    """Those of the wanted values that the records have."""
    there = np.unique(cells[by]).astype(float)
    if at is None:
        return [float(each) for each in there]
    found = [float(each) for each in at if np.isclose(there, each, rtol=1e-12, atol=0).any()]
    if not found:
        raise ParameterError(f"no cell has {by} = {', '.join(map(shown, at))}")
    return found


def draw_lines(groups: Mapping[str, Cells], ax: Axes | None, *, value: str, along: str, legend: bool = True) -> Axes:
    """One line with band and markers for every group of cells."""
    with axes_for(ax) as own:
        reach = np.ptp(np.concatenate([cells[along] for cells in groups.values()]).astype(float))
        for index, (name, cells) in enumerate(groups.items()):
            _draw_line(own, np.sort(cells, order=along), index, value, along, name)
            shift = WHISKER_SHIFT * reach * (index - (len(groups) - 1) / 2)
            _draw_intervals(own, np.sort(cells, order=along), color(index), value, along, shift)
        label_axis(own, "x", along)
        label_axis(own, "y", value)
        _set_limits(own, np.concatenate(list(groups.values())), value)
        if legend and any(groups):
            _add_legend(own, groups)
    return own


def _set_limits(ax: Axes, cells: Cells, value: str) -> None:
    """Probabilities from 0 to 1; widths from 0, unless they are all large."""
    if value == "probability":
        ax.set_ylim(-0.03, 1.03)
    elif cells[value].min() < cells[value].max() / 2:
        ax.set_ylim(0, 1.05 * np.nanmax([cells[value], cells[f"{value}_high"]]))


def _draw_line(ax: Axes, cells: Cells, index: int, value: str, along: str, name: str) -> None:
    x, own = cells[along], color(index)
    ax.plot(x, cells[value], color=own, linestyle=LINES[index % len(LINES)], label=name, zorder=2)
    sure = cells["probability"] >= SURE
    if sure.any():
        ax.plot(
            x[sure], cells[value][sure], linestyle="", marker=marker(index), markersize=4.5, color=own,
            markeredgecolor="white", markeredgewidth=0.5, zorder=3,
        )  # fmt: skip


def _draw_intervals(ax: Axes, cells: Cells, ink: str, value: str, along: str, shift: float) -> None:
    """A band where there are many runs, thin bars where there are few (none where all or none interpolate)."""
    x, low, high = cells[along], cells[f"{value}_low"], cells[f"{value}_high"]
    many = cells["runs"] >= MANY_RUNS
    if many.any():
        ax.fill_between(x, low, high, where=many, color=ink, alpha=BAND, linewidth=0, zorder=1)
    few = ~many & (cells["runs"] > 1)
    if value == "probability":
        few &= (cells[value] > 0) & (cells[value] < 1)
    if few.any():
        ax.vlines(x[few] + shift, low[few], high[few], color=ink, alpha=WHISKER, linewidth=0.8, zorder=1)


def legend_handles(names: Iterable[str]) -> list[Line2D]:
    """Lines with their markers, which stand in the picture only where runs interpolate."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=color(k), linestyle=LINES[k % len(LINES)], marker=marker(k), markersize=4.5, label=name)
        for k, name in enumerate(names)
    ]


def _add_legend(ax: Axes, names: Iterable[str]) -> None:
    """Above the axes, where no curve is; long names in two lines."""
    names = list(names)
    letters = sum(len(name.replace(r"\lambda", "x").replace("$", "")) for name in names)
    ax.legend(handles=legend_handles(names), ncols=4 if letters <= LEGEND_LINE else 2, **ABOVE)


@documented
def plot_growth(
    records: Mapping[str, Any] | Any, ax: Axes | None = None, *, value: str = "detectors", legend: bool = True
) -> Axes:
    """Draw the width of the second layer against the number of samples.

    Parameters
    ----------
    records : mapping of name to records, or records
        One line for each name; without names, one for each width of the first layer.
    {ax}
    value : {"detectors", "probability"}
    legend : bool

    {axes}

    Examples
    --------
    >>> from exactfit.lab import plot_growth
    >>> def records(size):
    ...     trial = {"n": 500, "lambda": 0.5, "missed": 0, "seconds": 0.1}
    ...     return [trial | {"N": N, "detectors": size} for N in (100, 200)]
    >>> plot_growth({"1 vs 8": records(40), "1 vs 9": records(30)}).get_xlabel()
    'number of samples $N$'
    """
    if not isinstance(records, Mapping):
        return plot_slices(records, ax, value=value, along="N", legend=legend)
    check_axis(value, among=VALUES)
    groups = {str(name): cells_of(each) for name, each in records.items()}
    for cells in groups.values():
        if other_axis(cells, "N") is not None:
            raise ParameterError(f"choose cells of one {WORDS['n']} and one {WORDS['lambda']} for each name")
    return draw_lines(groups, ax, value=value, along="N", legend=legend)
