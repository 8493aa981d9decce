"""What the pictures of experiments share: words for axes, cells in rows and columns, the line below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError, ParameterError
from ..plots.style import GREY
from .statistics import AXES, per_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cells = NDArray[np.void]
Floats = NDArray[np.float64]

WORDS = {
    "n": "first-layer width $n$",
    "lambda": r"maximal bias $\lambda$",
    "N": "number of samples $N$",
    "probability": "interpolation probability",
    "detectors": "second-layer width",
}
SYMBOLS = {"n": "n", "lambda": r"\lambda", "N": "N"}
SURE = 0.99  # share of runs from which on a width is said to interpolate, as in the paper
MANY_RUNS = 20  # from which on an interval is drawn as a band: wider ones would flood a panel
MOSTLY = 0.5  # share of its cells that a row or column needs to be drawn
LETTERS_AN_INCH = 18.0  # of the small line below


def check_axis(name: str, *, among: Sequence[str] = AXES) -> str:
    """Refuse anything but the name of an axis or value."""
    if name not in among:
        raise ParameterError(f"choose one of {', '.join(among)}, got {name!r}")
    return name


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
        raise ParameterError(
            f"choose cells of one {several[1]} first: {' and '.join(several)} both have several values"
        )
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


def shown(value: float) -> str:
    """A number as people write it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def named(axis: str, value: float) -> str:
    """A value of an axis in words."""
    return f"${SYMBOLS[axis]}$ = {shown(value)}"


def in_short(value: float, largest: float | None = None) -> str:
    """A large number as it fits below an axis, written like the largest one there.

    Examples
    --------
    >>> from exactfit.lab.axes import in_short
    >>> [in_short(value) for value in (800, 9500, 25_000, 1_000_000)]
    ['800', '9,500', '25k', '1M']
    >>> [in_short(value, largest=10_400) for value in (0, 500, 9500, 10_000)]
    ['0', '500', '9.5k', '10k']
    """
    if abs(value) >= 10**6:
        return f"{value / 10**6:g}M"
    many = max(abs(value), abs(largest or 0)) >= 10**4
    return f"{value / 10**3:g}k" if many and abs(value) >= 10**3 else shown(value)


def label_axis(ax: Axes, which: str, name: str) -> None:
    """The words for an axis, and thousands as people write them."""
    from matplotlib.ticker import FuncFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_label_text(WORDS[name])
    if name in {"N", "detectors", "n"}:
        axis.set_major_formatter(FuncFormatter(lambda value, _: in_short(value, max(axis.get_view_interval()))))


def note_below(figure: Figure, text: str) -> None:
    """One small line under a figure: what it rests on."""
    text = fill(text, round(LETTERS_AN_INCH * float(figure.get_figwidth())))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=6.5, color=GREY)


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as vector PDF and as PNG; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path.with_name(f"{path.name}.pdf"), path.with_name(f"{path.name}.png")]
    figure.savefig(written[0], metadata={"CreationDate": None})
    figure.savefig(written[1], metadata={"Software": None})
    return written
