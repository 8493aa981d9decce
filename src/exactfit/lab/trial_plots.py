"""Pictures of trials: a quantity over two axes of a grid, or along one, a line for each value of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import check_choice, fill_docstring
from ..exceptions import DataError, ParameterError
from ..plots.style import LINES, axes_for, color, documented, marker
from .trials import AXES, SMOOTH, SURE, Floats, border, per_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Cells = NDArray[np.void]

WORDS = {
    "n": "first-layer width $n$",
    "lambda": r"maximal bias $\lambda$",
    "N": "number of samples $N$",
    "probability": "interpolation probability",
    "detectors": "second-layer width",
}
SYMBOLS = {"n": "n", "lambda": r"\lambda", "N": "N"}
MANY_RUNS = 20  # from which on an interval is drawn as a band: wider ones would flood a panel
MOSTLY = 0.5  # share of its cells that a row or column needs to be drawn
COLORS = {"probability": "cividis", "detectors": "viridis_r"}
VALUES = tuple(COLORS)
MISSING = "0.85"
BAND = 0.18  # opacity: overlapping bands still show their lines
WHISKER = 0.55  # opacity of the bars that stand for bands where runs are few
WHISKER_SHIFT = 0.006  # of the axis, from line to line: bars of different lines stand side by side
LEVELS = 5  # lines of equal width in a heatmap, at most
FINER = 8  # points of a drawn line to a column of cells
LEGEND_LINE = 40  # letters that a line of a legend holds beside its samples of lines
# A legend above the axes, where no curve is, small enough for four names; long ones stand in two lines.
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "fontsize": 8, "handlelength": 2.6,
}  # fmt: skip


of_cells = fill_docstring(
    records="""records : records
        Of trials or of cells: a structured array, a data frame or a list of dictionaries.""",
    value="""value : {"probability", "detectors"}
        Interpolation probability, or mean width of the second layer.""",
)


@documented
@of_cells
def plot_heatmap(
    records: Any, ax: Axes | None = None, *, value: str = "probability", x: str = "lambda", y: str = "n",
    contour: bool = True, levels: bool = False, colorbar: bool = True,
) -> Axes:  # fmt: skip
    """Draw a quantity over a grid of cells, with a dashed line where 99 % of the networks interpolate.

    Parameters
    ----------
    {records}
    {ax}
    {value}
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
    >>> trial = {"N": 100, "detectors": 9, "missed": 0, "seconds": 0.1}
    >>> records = [trial | {"n": n, "lambda": lam} for n in (10, 20, 30) for lam in (0.0, 0.5, 1.0)]
    >>> plot_heatmap(records).get_ylabel()
    'first-layer width $n$'
    """
    check_choice("value", value, VALUES)
    check_choice("x", x, AXES)
    check_choice("y", y, AXES)
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


def _draw_levels(ax: Axes, columns: Floats, rows: Floats, table: Floats) -> None:
    """Lines of equal value; cells that are not there are left out."""
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


@documented
@of_cells
def plot_slices(
    records: Any, ax: Axes | None = None, *, value: str = "probability", along: str = "n",
    at: Sequence[float] | None = None, legend: bool = True,
) -> Axes:  # fmt: skip
    r"""Draw a quantity along one axis, one line for each value of the other.

    Bands are 95 % confidence intervals (Wilson's for probabilities, Student's for means); those of fewer than 20 runs
    are thin bars, which leave a panel readable. Markers are where at least 99 % of the runs interpolate.

    Parameters
    ----------
    {records}
    {ax}
    {value}
    along : {"n", "lambda", "N"}
        The horizontal axis.
    at : sequence of float, optional
        Values of the other axis to draw a line for; all by default.
    legend : bool

    {axes}

    Examples
    --------
    >>> from exactfit.lab import plot_slices
    >>> trial = {"N": 100, "detectors": 9, "missed": 0, "seconds": 0.1}
    >>> records = [trial | {"n": n, "lambda": lam} for n in (10, 20, 30) for lam in (0.0, 0.5, 1.0)]
    >>> ax = plot_slices(records, along="n", at=[0, 1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['$\\lambda$ = 0', '$\\lambda$ = 1']
    """
    check_choice("value", value, VALUES)
    check_choice("along", along, AXES)
    cells = cells_of(records)
    by = other_axis(cells, along)
    groups: dict[str, Cells] = {"": cells}
    if by is not None:
        wanted = values_there(cells, by, at)
        if not wanted:
            raise ParameterError(f"no cell has {by} = {', '.join(map(in_full, at or ()))}")
        groups = {named(by, each): cells[cells[by] == each] for each in wanted}
    return draw_lines(groups, ax, value=value, along=along, legend=legend)


def values_there(cells: Cells, by: str, at: Sequence[float] | None) -> list[float]:
    """Those of the wanted values that cells have; all by default."""
    there = np.unique(cells[by]).astype(float)
    return [float(each) for each in (there if at is None else at) if np.isclose(there, each, rtol=1e-12, atol=0).any()]


def draw_lines(groups: Mapping[str, Cells], ax: Axes | None, *, value: str, along: str, legend: bool = True) -> Axes:
    """One line with band and markers for every group of cells."""
    with axes_for(ax) as own:
        reach = np.ptp(np.concatenate([cells[along] for cells in groups.values()]).astype(float))
        for index, (name, cells) in enumerate(groups.items()):
            in_order, shift = np.sort(cells, order=along), WHISKER_SHIFT * reach * (index - (len(groups) - 1) / 2)
            _draw_line(own, in_order, index, value, along, name)
            _draw_intervals(own, in_order, color(index), value, along, shift)
        label_axes(own, x=along, y=value)
        _set_limits(own, np.concatenate(list(groups.values())), value)
        if legend and any(groups):
            letters = sum(len(name.replace(r"\lambda", "x").replace("$", "")) for name in groups)
            own.legend(handles=legend_handles(groups), ncols=4 if letters <= LEGEND_LINE else 2, **ABOVE)
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
    check_choice("value", value, VALUES)
    groups = {str(name): cells_of(each) for name, each in records.items()}
    for cells in groups.values():
        if other_axis(cells, "N") is not None:
            raise ParameterError(f"choose cells of one {WORDS['n']} and one {WORDS['lambda']} for each name")
    return draw_lines(groups, ax, value=value, along="N", legend=legend)


def cells_of(records: Any) -> Cells:
    """Records of cells; refuses an empty table."""
    try:
        cells = per_cell(records)
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ParameterError(
            f"this is drawn of trials or cells, as read_trials and per_cell give them, got {type(records).__name__}"
        ) from error
    if not len(cells):
        raise DataError("there are no trials to draw")
    return cells


def other_axis(cells: Cells, *taken: str) -> str | None:
    """The axis with several values beside those taken; None if there is none."""
    several = [name for name in AXES if name not in taken and len(np.unique(cells[name])) > 1]
    if len(several) > 1:
        both = " and ".join(several)
        raise ParameterError(f"choose cells of one {several[1]} first: {both} both have several values")
    return several[0] if several else None


def table_of(cells: Cells, x: str, y: str, value: str) -> tuple[Floats, Floats, Floats]:
    """Values in rows (y) and columns (x), not a number where there is no cell.

    Rows and columns of which less than half is there are left out: single cells between
    the lines of a grid do not make a picture.
    """
    columns, rows = np.unique(cells[x]), np.unique(cells[y])
    table = np.full((len(rows), len(columns)), np.nan)
    table[np.searchsorted(rows, cells[y]), np.searchsorted(columns, cells[x])] = cells[value]
    there = ~np.isnan(table)
    keep_rows, keep_columns = there.mean(axis=1) >= MOSTLY, there.mean(axis=0) >= MOSTLY
    if not keep_rows.any() or not keep_columns.any():
        keep_rows, keep_columns = np.ones_like(keep_rows), np.ones_like(keep_columns)
    return columns[keep_columns].astype(float), rows[keep_rows].astype(float), table[np.ix_(keep_rows, keep_columns)]


def edges_of(centres: Floats) -> Floats:
    """Borders between neighbours, halfway; the outer ones as far out as the next are in."""
    if len(centres) == 1:
        half = max(abs(float(centres[0])) / 2, 0.5)
        return np.array([centres[0] - half, centres[0] + half])
    middles = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middles[0]], middles, [2 * centres[-1] - middles[-1]]])


def in_full(value: float) -> str:
    """A number as people write it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def named(axis: str, value: float) -> str:
    """A value of an axis in words."""
    return f"${SYMBOLS[axis]}$ = {in_full(value)}"


def in_short(value: float, largest: float | None = None) -> str:
    """A large number as it fits below an axis, written like the largest one there.

    Examples
    --------
    >>> from exactfit.lab.trial_plots import in_short
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
    """The words for axes x and y, and thousands as people write them."""
    for which, name in names.items():
        axis = getattr(ax, f"{which}axis")
        axis.set_label_text(WORDS[name])
        if name in {"N", "detectors", "n"}:
            axis.set_major_formatter(lambda value, _, axis=axis: in_short(value, max(axis.get_view_interval())))
