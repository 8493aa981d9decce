"""A comparison of constructions: size against robust radius."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._support.parameters import check_choice
from ..exceptions import DataError
from ..plots.style import GREY, axes_for, check_kind, color, documented, marker, shade
from .comparison import Comparison, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


SIZES = {
    "total_bits": "bits of all weights and biases",
    "parameters": "weights and biases",
    "nonzero": "weights and biases other than zero",
    "neurons": "neurons",
}
FIGURE_SIZE = (8.4, 5.0)


@documented
def plot_comparison(comparison: Comparison, ax: Axes | None = None, *, size: str = "total_bits") -> Axes:
    """Draw each network's size against its robust radius.

    A filled marker is the proved lower bound, the hollow one above it the smallest change
    found that changes an answer; the truth lies on the line between. Where nothing is proved
    there is the hollow one alone. The dashed line is half the separation: a network that fits
    all points cannot have more. Names stand beside the picture, from the smallest network to the largest.

    Parameters
    ----------
    comparison : Comparison
    {ax}
    size : {"total_bits", "parameters", "nonzero", "neurons"}

    {axes}

    Examples
    --------
    >>> from exactfit.lab.comparison import Comparison, Row
    >>> from exactfit.lab import plot_comparison
    >>> row = Row(name="baum", kind="construction", total_bits=4800, robust_radius=1e-6, radius_upper=1e-3)
    >>> facts = {"n_samples": 80, "n_held_out": 20, "n_features": 2, "n_classes": 2, "time_limit": 60.0}
    >>> ax = plot_comparison(Comparison((row,), **facts, memory_limit=2**30, random_state=0))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['baum']
    """
    check_kind(comparison, Comparison, "compare")
    check_choice("size", size, tuple(SIZES))
    rows = [row for row in comparison.rows if getattr(row, size) and (row.robust_radius or row.radius_upper)]
    rows.sort(key=lambda row: float(getattr(row, size)))
    if not rows:
        raise DataError("there is no network with a size and a radius to draw")
    with axes_for(ax, FIGURE_SIZE) as own:
        own.set(xscale="log", yscale="log", xlabel=SIZES[size], ylabel="robust radius: proved, and at most")
        named = [_draw(own, index, row, getattr(row, size)) for index, row in enumerate(rows)]
        named += _draw_limit(own, comparison)
        own.margins(0.08)
        own.legend(handles=named, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return own


def _draw(ax: Axes, index: int, row: Row, size: float) -> Line2D:
    low, high = row.robust_radius or None, row.radius_upper or None
    look: dict[str, Any] = {"color": color(index), "marker": marker(index), "markersize": 7, "linestyle": ""}
    look |= {"markeredgecolor": shade(index, 0.75), "label": row.name}
    if low is not None and high is not None:
        ax.plot([size, size], [low, high], color=shade(index, 0.75), linewidth=1.0, alpha=0.6)
    hollow = ax.plot(size, high, markerfacecolor="white", **look) if high is not None else []
    filled = ax.plot(size, low, **look) if low is not None else []
    return (filled or hollow)[0]


def _draw_limit(ax: Axes, comparison: Comparison) -> list[Line2D]:
    """Half the separation, as the row of the nearest neighbour knows it."""
    look: dict[str, Any] = {"color": GREY, "linewidth": 1.0, "linestyle": "--", "label": "half the separation"}
    return [
        ax.axhline(row.robust_radius, **look) for row in comparison.rows if row.name == "1-nn" and row.robust_radius
    ]
