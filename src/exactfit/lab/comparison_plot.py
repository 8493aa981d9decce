"""A comparison of constructions: size against robust radius."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.parameters import check_choice
from ..exceptions import DataError
from ..plots.style import GREY, INK, axes_for, check_kind, color, documented, marker, shade
from .comparison import Comparison, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox


SIZES = {
    "total_bits": "bits of all weights and biases",
    "parameters": "weights and biases",
    "nonzero": "weights and biases other than zero",
    "neurons": "neurons",
}
FIGURE_SIZE = (7.2, 5.0)
# Where a name may stand, in points from its marker: beside it if that is free, else farther away, at any angle.
_TURNS = (0, 8, 1, 15, 7, 9, 2, 14, 6, 10, 4, 12, 3, 13, 5, 11)
_PLACES = [
    (reach * math.cos(turn * math.pi / 8), reach * math.sin(turn * math.pi / 8))
    for reach in (7, 13, 20, 28, 37, 47, 58, 70, 85, 100, 120)
    for turn in _TURNS
]
_NEAR = 10  # points; a name farther away gets a line to its marker


@documented
def plot_comparison(comparison: Comparison, ax: Axes | None = None, *, size: str = "total_bits") -> Axes:
    """Draw each network's size against its robust radius.

    A filled marker is the proved lower bound, the hollow one above it the smallest change
    found that changes an answer; the truth lies on the line between. Where nothing is proved
    there is the hollow one alone. The dashed line is half the separation: a network that fits
    all points cannot have more.

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
    >>> [text.get_text() for text in ax.texts]
    ['baum']
    """
    check_kind(comparison, Comparison, "compare")
    check_choice("size", size, tuple(SIZES))
    rows = [row for row in comparison.rows if getattr(row, size) and (row.robust_radius or row.radius_upper)]
    if not rows:
        raise DataError("there is no network with a size and a radius to draw")
    with axes_for(ax, FIGURE_SIZE) as own:
        own.set(xscale="log", yscale="log", xlabel=SIZES[size], ylabel="robust radius: proved, and at most")
        points = [_draw(own, index, row, getattr(row, size)) for index, row in enumerate(rows)]
        _draw_limit(own, comparison)
        own.margins(0.12, 0.08)
        _write_names(own, points)
    return own


@dataclass(frozen=True)
class _Point:
    """A network in the picture: its name goes beside ``at``, and clear of all ``taken``."""

    name: str
    at: tuple[float, float]
    taken: tuple[tuple[float, float], ...]
    color: str


def _draw(ax: Axes, index: int, row: Row, size: float) -> _Point:
    low, high = row.robust_radius or None, row.radius_upper or None
    look: dict[str, Any] = {"color": color(index), "marker": marker(index), "markersize": 7, "linestyle": ""}
    look["markeredgecolor"] = shade(index, 0.75)
    if low is not None and high is not None:
        ax.plot([size, size], [low, high], color=color(index), linewidth=1.0, alpha=0.6)
    if high is not None:
        ax.plot(size, high, markerfacecolor="white", **look)
    if low is not None:
        ax.plot(size, low, **look)
    heights = [height for height in (low, high) if height is not None]
    return _Point(row.name, (size, heights[0]), tuple((size, height) for height in heights), color(index))


def _draw_limit(ax: Axes, comparison: Comparison) -> None:
    """Half the separation, as the row of the nearest neighbour knows it."""
    for row in comparison.rows:
        if row.name == "1-nn" and row.robust_radius:
            ax.axhline(row.robust_radius, color=GREY, linewidth=1.0, linestyle="--", label="half the separation")
            ax.legend(loc="best")


def _write_names(ax: Axes, points: Sequence[_Point]) -> None:
    """Put every name where it covers no marker and no other name."""
    ax.figure.canvas.figure.draw_without_rendering()  # settles the scales, on which distances in the picture depend
    taken = [_box(ax, spot) for point in points for spot in point.taken]
    for point in sorted(points, key=lambda point: point.at):
        text = _name(ax, point, (0.0, 0.0))
        size, at = text.get_window_extent(), ax.transData.transform(point.at)
        text.remove()
        place = min(_PLACES, key=lambda place: _crowd(ax, _moved(ax, size, at, place), taken))
        _name(ax, point, place)
        taken.append(_moved(ax, size, at, place))


def _crowd(ax: Axes, box: Bbox, taken: Sequence[Bbox]) -> int:
    """How many others a name would cover; the frame counts for many."""
    frame = ax.get_window_extent()
    inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    return sum(box.overlaps(other) for other in taken) + (0 if inside else len(taken))


def _moved(ax: Axes, size: Bbox, at: Any, place: tuple[float, float]) -> Bbox:
    """The box of a name at a place, in pixels."""
    from matplotlib.transforms import Bbox

    (x, y), (across, up) = at + np.array(place) * ax.figure.dpi / 72, _sides(place)
    return Bbox.from_bounds(x + (across - 1) * size.width / 2, y + (up - 1) * size.height / 2, size.width, size.height)


def _sides(place: tuple[float, float]) -> tuple[int, int]:
    """Which way a name grows from its place: -1, 0 or 1, to the right and upwards."""
    across, up = (0 if abs(value) < 1e-9 else int(math.copysign(1, value)) for value in place)
    return across, up


def _name(ax: Axes, point: _Point, place: tuple[float, float]) -> Any:
    across, up = _sides(place)
    far = math.hypot(*place) > _NEAR
    return ax.annotate(
        point.name, point.at, place, textcoords="offset points", fontsize=8, color=INK,
        ha={-1: "right", 0: "center", 1: "left"}[across], va={-1: "top", 0: "center", 1: "bottom"}[up],
        arrowprops={"arrowstyle": "-", "color": point.color, "linewidth": 0.6, "shrinkB": 3} if far else None,
    )  # fmt: skip


def _box(ax: Axes, spot: tuple[float, float]) -> Bbox:
    """The square that a marker takes, in pixels."""
    from matplotlib.transforms import Bbox

    x, y = ax.transData.transform(spot)
    half = 4.5 * ax.figure.dpi / 72
    return Bbox.from_extents(x - half, y - half, x + half, y + half)
