"""Pictures of trials: a quantity over two axes of a grid, or along one, a line for each value of another.

Records are whatever pandas makes a frame of: trials, or cells as ``per_cell`` makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from exactfit import DataError, ParameterError
from exactfit.plots.style import LINES, axes_for, color, marker

from .trials import SMOOTH, SURE, Floats, border, per_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

WORDS = {
    "n": "first-layer width $n$",
    "lambda": r"maximal bias $\lambda$",
    "N": "number of samples $N$",
    "probability": "interpolation probability",
    "detectors": "second-layer width",
}
SYMBOLS = {"n": "n", "lambda": r"\lambda", "N": "N"}
AXES = tuple(SYMBOLS)
MANY_RUNS = 20  # from which on an interval is drawn as a band: wider ones would flood a panel
MOSTLY = 0.5  # fraction of its cells that a row or column needs to be drawn
COLORS = {"probability": "cividis", "detectors": "viridis_r"}
VALUES = tuple(COLORS)
MISSING = "0.85"
BAND = 0.18  # opacity: overlapping bands still show their lines
WHISKER = 0.55  # opacity of the bars that replace bands where runs are few
WHISKER_SHIFT = 0.006  # of the axis, from line to line: bars of different lines are side by side
LEVELS = 5  # lines of equal width in a heatmap, at most
FINER = 8  # points of a drawn line to a column of cells
LEGEND_LINE = 40  # letters that a line of a legend holds beside its samples of lines
# A legend above the axes, where no curve is, small enough for four names; long ones take two lines.
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "fontsize": 8, "handlelength": 2.6,
}  # fmt: skip


def plot_heatmap(
    records: Any, ax: Axes | None = None, *, value: str = "probability", x: str = "lambda", y: str = "n",
    contour: bool = True, levels: bool = False, colorbar: bool = True,
) -> Axes:  # fmt: skip
    """Draw a quantity over two axes of a grid, with a dashed line where 99 % of the networks interpolate.

    ``levels`` adds lines of equal value, smoothed.

    Examples
    --------
    >>> from experiments.plots import plot_heatmap
    >>> trial = {"N": 100, "detectors": 9, "missed": 0, "seconds": 0.1}
    >>> records = [trial | {"n": n, "lambda": lam} for n in (10, 20, 30) for lam in (0.0, 0.5, 1.0)]
    >>> plot_heatmap(records).get_ylabel()
    'first-layer width $n$'
    """
    check(value=(value, VALUES), x=(x, AXES), y=(y, AXES))
    cells = cells_of(records)
    third = other_axis(cells, x, y)
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
        label_axes(own, x=x, y=y)
        if colorbar:
            bar = own.figure.colorbar(mesh, ax=own, label=WORDS[value], pad=0.02)
            bar.outline.set_visible(False)
            label_axes(bar.ax, y=value)
    return own


def _draw_border(ax: Axes, cells: pd.DataFrame, x: str, y: str) -> None:
    """Draw the border between cells below 99 % and the others, dashed, light on dark and dark on light."""
    from scipy.interpolate import PchipInterpolator

    columns, rows, table = table_of(cells, x, y, "probability")
    heights = border(rows, table)
    there = np.flatnonzero(np.isfinite(heights))
    if len(there) > 2 and np.all(np.diff(there) == 1):  # a line without gaps is drawn without corners
        fine = np.linspace(columns[there[0]], columns[there[-1]], FINER * len(there))
        columns, heights = fine, PchipInterpolator(columns[there], heights[there])(fine)
    for ink, width in (("white", 2.6), ("black", 1.3)) if len(there) > 1 else ():
        ax.plot(columns, heights, color=ink, linestyle=(0, (4, 2.2)), linewidth=width, gid="border")


def _draw_levels(ax: Axes, columns: Floats, rows: Floats, table: Floats) -> None:
    """Draw lines of equal value; none where cells are missing."""
    from matplotlib.ticker import MaxNLocator
    from scipy.interpolate import RectBivariateSpline
    from scipy.ndimage import gaussian_filter

    if min(table.shape) < 3 or np.isnan(table).any():
        return
    smooth = gaussian_filter(table, [size / SMOOTH / 2 for size in table.shape], mode="nearest")
    wanted = MaxNLocator(LEVELS).tick_values(smooth.min(), smooth.max())[1:-1]
    x, y = (np.linspace(places[0], places[-1], FINER * len(places)) for places in (columns, rows))
    finer = RectBivariateSpline(rows, columns, smooth, kx=2, ky=2)(y, x)
    lines = ax.contour(x, y, finer, levels=wanted, colors="white", linewidths=0.8, alpha=0.9)
    ax.clabel(lines, fontsize=7, fmt=in_short)


def plot_slices(
    records: Any, ax: Axes | None = None, *, value: str = "probability", along: str = "n",
    at: Sequence[float] | None = None, legend: bool = True,
) -> Axes:  # fmt: skip
    r"""Draw a quantity along one axis, one line for each value of the other, or for those in ``at``.

    Bands are 95 % confidence intervals (Wilson's for probabilities, Student's for means); those of fewer than 20 runs
    are thin bars, which leave a panel readable. Markers are where at least 99 % of the runs interpolate.

    Examples
    --------
    >>> from experiments.plots import plot_slices
    >>> trial = {"N": 100, "detectors": 9, "missed": 0, "seconds": 0.1}
    >>> records = [trial | {"n": n, "lambda": lam} for n in (10, 20, 30) for lam in (0.0, 0.5, 1.0)]
    >>> ax = plot_slices(records, along="n", at=[0, 1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['$\\lambda$ = 0', '$\\lambda$ = 1']
    """
    check(value=(value, VALUES), along=(along, AXES))
    cells = cells_of(records)
    by = other_axis(cells, along)
    groups = {"": cells}
    if by is not None:
        wanted = values_there(cells, by, at)
        if not wanted:
            raise ParameterError(f"no cell has {by} = {', '.join(map(in_full, at or ()))}")
        groups = {named(by, each): cells[cells[by] == each] for each in wanted}
    return draw_lines(groups, ax, value=value, along=along, legend=legend)


def plot_growth(
    records: Mapping[str, Any] | Any, ax: Axes | None = None, *, value: str = "detectors", legend: bool = True
) -> Axes:
    """Draw the width of the second layer against the number of samples: one line for each name of a mapping to records.

    Without names it is one line for each width of the first layer.

    Examples
    --------
    >>> from experiments.plots import plot_growth
    >>> def records(size):
    ...     trial = {"n": 500, "lambda": 0.5, "missed": 0, "seconds": 0.1}
    ...     return [trial | {"N": N, "detectors": size} for N in (100, 200)]
    >>> plot_growth({"1 vs 8": records(40), "1 vs 9": records(30)}).get_xlabel()
    'number of samples $N$'
    """
    if not isinstance(records, Mapping):
        return plot_slices(records, ax, value=value, along="N", legend=legend)
    check(value=(value, VALUES))
    groups = {str(name): cells_of(each) for name, each in records.items()}
    for cells in groups.values():
        if other_axis(cells, "N") is not None:
            raise ParameterError(f"choose cells of one {WORDS['n']} and one {WORDS['lambda']} for each name")
    return draw_lines(groups, ax, value=value, along="N", legend=legend)


def draw_lines(
    groups: Mapping[str, pd.DataFrame], ax: Axes | None, *, value: str, along: str, legend: bool = True
) -> Axes:
    """Draw one line with band and markers for every group of cells."""
    every = pd.concat(groups.values())
    with axes_for(ax) as own:
        for index, (name, cells) in enumerate(groups.items()):
            in_order, shift = cells.sort_values(along), index - (len(groups) - 1) / 2
            _draw_line(own, in_order, index, value, along, name)
            _draw_intervals(own, in_order, index, value, along, WHISKER_SHIFT * float(np.ptp(every[along])) * shift)
        label_axes(own, x=along, y=value)
        if value == "probability":
            own.set_ylim(-0.03, 1.03)
        elif every[value].min() < every[value].max() / 2:  # widths from 0, unless they are all large
            own.set_ylim(0, 1.05 * float(every[[value, f"{value}_high"]].max().max()))
        if legend and any(groups):
            letters = sum(len(name.replace(r"\lambda", "x").replace("$", "")) for name in groups)
            own.legend(handles=legend_handles(groups), ncols=4 if letters <= LEGEND_LINE else 2, **ABOVE)
    return own


def _draw_line(ax: Axes, cells: pd.DataFrame, index: int, value: str, along: str, name: str) -> None:
    own, sure = color(index), cells[cells["probability"] >= SURE]
    ax.plot(cells[along], cells[value], color=own, linestyle=LINES[index % len(LINES)], label=name, zorder=2)
    if len(sure):
        ax.plot(
            sure[along], sure[value], linestyle="", marker=marker(index), markersize=4.5, color=own,
            markeredgecolor="white", markeredgewidth=0.5, zorder=3,
        )  # fmt: skip


def _draw_intervals(ax: Axes, cells: pd.DataFrame, index: int, value: str, along: str, shift: float) -> None:
    """Draw a band where there are many runs, thin bars where there are few (none where all or none interpolate)."""
    low, high, many = f"{value}_low", f"{value}_high", cells["runs"] >= MANY_RUNS
    if many.any():
        band: dict[str, Any] = {"where": many, "color": color(index), "alpha": BAND, "linewidth": 0, "zorder": 1}
        ax.fill_between(cells[along], cells[low], cells[high], **band)
    few = cells[~many & (cells["runs"] > 1)]
    if value == "probability":
        few = few[(few[value] > 0) & (few[value] < 1)]
    if len(few):
        ax.vlines(few[along] + shift, few[low], few[high], color=color(index), alpha=WHISKER, linewidth=0.8, zorder=1)


def legend_handles(names: Iterable[str]) -> list[Line2D]:
    """Return lines with their markers, which the picture has only where runs interpolate."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=color(k), linestyle=LINES[k % len(LINES)], marker=marker(k), markersize=4.5, label=name)
        for k, name in enumerate(names)
    ]


def check(**given: tuple[str, tuple[str, ...]]) -> None:
    """Refuse a word that is not one of the known ones."""
    for name, (value, known) in given.items():
        if value not in known:
            raise ParameterError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def cells_of(records: Any) -> pd.DataFrame:
    """Return records of cells; refuse an empty table."""
    try:
        cells = per_cell(records)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ParameterError(
            f"this is drawn of trials or cells, as read_trials and per_cell give them, got {type(records).__name__}"
        ) from error
    if not len(cells):
        raise DataError("there are no trials to draw")
    return cells


def values_there(cells: pd.DataFrame, by: str, at: Sequence[float] | None) -> list[float]:
    """Return those of the wanted values that cells have; all by default."""
    there = np.unique(cells[by]).astype(float)
    return [float(each) for each in (there if at is None else at) if np.isclose(there, each, rtol=1e-12, atol=0).any()]


def other_axis(cells: pd.DataFrame, *taken: str) -> str | None:
    """Return the axis with several values beside those taken; None if there is none."""
    several = [name for name in AXES if name not in taken and cells[name].nunique() > 1]
    if len(several) > 1:
        both = " and ".join(several)
        raise ParameterError(f"choose cells of one {several[1]} first: {both} both have several values")
    return several[0] if several else None


def table_of(cells: pd.DataFrame, x: str, y: str, value: str) -> tuple[Floats, Floats, Floats]:
    """Return columns (x), rows (y) and a table of values, NaN where there is no cell."""
    table = cells.pivot(index=y, columns=x, values=value)
    # Single cells between the lines of a grid do not make a picture: rows and columns are drawn if half of them is.
    there = table.notna()
    rows, columns = there.mean(axis=1) >= MOSTLY, there.mean() >= MOSTLY
    if rows.any() and columns.any():
        table = table.loc[rows, columns]
    return table.columns.to_numpy(float), table.index.to_numpy(float), table.to_numpy(float)


def edges_of(centres: Floats) -> Floats:
    """Return borders between neighbours, halfway; the outer ones as far out as the next are in."""
    if len(centres) == 1:
        half = max(abs(float(centres[0])) / 2, 0.5)
        return np.array([centres[0] - half, centres[0] + half])
    middles = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middles[0]], middles, [2 * centres[-1] - middles[-1]]])


def in_full(value: float) -> str:
    """Return a number as people write it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def named(axis: str, value: float) -> str:
    """Return a value of an axis in words."""
    return f"${SYMBOLS[axis]}$ = {in_full(value)}"


def in_short(value: float, largest: float | None = None) -> str:
    """Return a large number as it fits below an axis, written like the largest one there.

    Examples
    --------
    >>> from experiments.plots import in_short
    >>> [in_short(value) for value in (800, 9500, 25_000, 1_000_000)]
    ['800', '9,500', '25k', '1M']
    >>> [in_short(value, largest=10_400) for value in (0, 500, 9500, 10_000)]
    ['0', '500', '9.5k', '10k']
    """
    if abs(value) >= 10**6:
        return f"{value / 10**6:g}M"
    many = max(abs(value), abs(largest or 0)) >= 10**4
    return f"{value / 10**3:g}k" if many and abs(value) >= 10**3 else in_full(value)


def label_axes(ax: Axes, **names: str) -> None:
    """Label axes x and y in words, and thousands as people write them."""
    for which, name in names.items():
        axis = getattr(ax, f"{which}axis")
        axis.set_label_text(WORDS[name])
        if name in {"N", "detectors", "n"}:
            axis.set_major_formatter(lambda value, _, axis=axis: in_short(value, max(axis.get_view_interval())))
