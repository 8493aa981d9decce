"""Where detectors fire: one by one, as the width grows, and with weights instead of masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_whole, check_wholes
from ..construct import Construction, Recipe, Trace, fixed_width
from ..exceptions import ParameterError
from ..network import Network
from ..network.detectors import Detectors
from ..network.sides import sides
from .plane import Floats, Picture, hyperplanes_of, network_of, trace_of
from .style import GREY, INK, LINES, axes_for, color, documented, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_TILE = 4096  # points of the grid whose bits are held at a time
SHADES = 0.12, 0.5  # strength of a detector's colour at its limit, and where its count is lowest
WIDTHS_DRAWN = 4  # by default, each three times the one before
REGION_ALPHA = 0.3  # opacity of one detector's region


@documented
def plot_detector(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    detector: int = 0, resolution: int = 300, legend: bool = True,
) -> Axes:  # fmt: skip
    """Draw one detector: where it fires, its anchor, its witness and its limit.

    The region is the darker the lower the count; it ends where the count reaches the limit, which is the count
    at the witness (ring). Points of the class that earlier detectors claim are pale, those that no detector has
    claimed yet grey.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features. A bare network knows no anchors and witnesses.
    X : array or frame of shape (n_samples, 2)
        The training data.
    y : array of shape (n_samples,)
    {ax}
    detector : int
        Its number, in the order in which they were chosen, from 0.
    {resolution}
    legend : bool

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import adaptive_width
    >>> from exactfit.plots import plot_detector
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> made = adaptive_width(X, y, random_state=0)
    >>> plot_detector(made, X, y, resolution=50).get_title("left").startswith("detector 1 of")
    True
    """
    picture, found, trace = _read(model, X, y, resolution)
    k = _checked(detector, found)
    one = found.take(np.array([k]), found.limits[[k]])
    heights, counts = one.heights(picture.grid)[0], one.heights(picture.points)[0]
    limit, own_class = found.limits[k], int(found.classes[found.owners[k]])
    new = (counts < limit) & (picture.codes == own_class)
    old = _claimed_before(found, k, picture, own_class)
    with axes_for(ax, picture.size) as own:
        picture.show(own, _shaded(heights, limit, int(one.floors[0]), own_class))
        picture.contour(own, heights, limit - 0.5, colors=[INK], linewidths=1.0, zorder=1)
        _draw_claims(own, picture, new & ~old, old, own_class)
        more = _mark(own, picture, trace, k)
        said = f"limit {limit:,}" if found.half else f"limit {limit:.3g}"
        label = picture.classes[own_class]
        own.set_title(f"detector {k + 1} of {found.n_detectors}, for {label}: {said}, {int((new & ~old).sum()):,} new")
        if legend:
            picture.legend(own, more)
    return own


def _read(model: Any, X: ArrayLike, y: ArrayLike, resolution: int) -> tuple[Picture, Detectors, Trace | None]:
    picture, network = Picture.of(model, X, y, resolution), network_of(model)
    trace = trace_of(model, X, y)
    if trace is not None and (not len(trace.anchors) or trace.anchors.max() >= len(picture.points)):
        trace = None
    return picture, Detectors.of(network), trace


def _checked(detector: int, found: Detectors) -> int:
    k = check_whole("detector", detector, at_least=0)
    if k >= len(found.limits):
        raise ParameterError(f"detector={k}: the network has {len(found.limits)}, numbered from 0")
    return k


def _claimed_before(found: Detectors, k: int, picture: Picture, own_class: int) -> NDArray[np.bool_]:
    """Points of the class that earlier detectors of it fire on."""
    earlier = np.flatnonzero(found.owners[:k] == found.owners[k])
    if not len(earlier):
        return np.zeros(len(picture.points), dtype=bool)
    fires = found.take(earlier, found.limits[earlier]).heights(picture.points) < found.limits[earlier][:, None]
    return np.asarray(fires.any(axis=0) & (picture.codes == own_class))


def _shaded(heights: NDArray[Any], limit: Any, floor: int, k: int) -> Floats:
    """Colours of the grid: white where the detector is silent, stronger the lower its count."""
    low, high = SHADES
    depth = np.clip((limit - heights) / max(limit - floor, 1), 0.0, 1.0)
    strength = np.where(heights < limit, low + (high - low) * depth, 0.0)
    return np.asarray(1 - strength[:, None] * (1 - np.array(tint(k, 1.0))))


def _draw_claims(
    ax: Axes, picture: Picture, new: NDArray[np.bool_], old: NDArray[np.bool_], own_class: int
) -> None:  # fmt: skip
    inside = picture.codes == own_class
    picture.points_by_class(ax, np.flatnonzero(~inside))
    pale = {"color": [tint(own_class, 0.35)], "linewidths": 0.0}
    picture.points_by_class(ax, np.flatnonzero(old), **pale)
    picture.points_by_class(ax, np.flatnonzero(inside & ~old & ~new), color=GREY, linewidths=0.0)
    picture.points_by_class(ax, np.flatnonzero(new))


def _mark(ax: Axes, picture: Picture, trace: Trace | None, k: int) -> list[tuple[str, str, str]]:
    """Anchor and witness, and what the legend says of them."""
    if trace is None:
        return []
    anchor, witness = picture.points[trace.anchors[k]], picture.points[trace.witnesses[k]]
    draw_star(ax, anchor)
    ax.scatter(witness[0], witness[1], s=110, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=5)
    return [("*", INK, "anchor"), ("$\u25cb$", INK, "witness")]


def draw_star(ax: Axes, anchor: Floats) -> None:
    """An anchor."""
    ax.scatter(anchor[0], anchor[1], marker="*", s=190, color=INK, edgecolors="white", linewidths=0.9, zorder=5)


@documented
def plot_limit_shape(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    detector: int = 0, widths: Sequence[int] | None = None, resolution: int = 300, legend: bool = True,
) -> Axes:  # fmt: skip
    """Draw how a detector's region becomes a ball as hyperplanes become more.

    A line for each width n: where the detector on this anchor would end if the first n hyperplanes were all;
    dashed the ball of the limit, which ends at the nearest point of another class.

    Parameters
    ----------
    model : InterpolatingClassifier or Construction
        Of two features, with masks; the more hyperplanes, the rounder.
    X : array or frame of shape (n_samples, 2)
        The training data.
    y : array of shape (n_samples,)
    {ax}
    detector : int
        Its number, from 0.
    widths : sequence of int, optional
        By default four, up to all hyperplanes.
    {resolution}
    legend : bool

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import Recipe, fixed_width
    >>> from exactfit.plots import plot_limit_shape
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> made = fixed_width(X, y, 500, random_state=0)
    >>> ax = plot_limit_shape(made, X, y, widths=[50, 500], resolution=50)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', 'anchor', 'n = 50', 'n = 500', 'ball of the limit']
    """
    picture, found, trace = _read(model, X, y, resolution)
    k = _checked(detector, found)
    if trace is None:
        raise ParameterError("this needs the anchor: give the classifier or construction with its training data")
    anchor, numbers = int(trace.anchors[k]), _widths(widths, len(found.planes))
    rest = picture.codes != picture.codes[anchor]
    away = float(np.linalg.norm(picture.points[rest] - picture.points[anchor], axis=1).min())
    picture = _around(picture, picture.points[anchor], 1.1 * away)
    at_points = _prefix_counts(picture.points, found, picture.points[anchor], numbers)
    on_grid = _prefix_counts(picture.grid, found, picture.points[anchor], numbers)
    with axes_for(ax, picture.size) as own:
        picture.show(own, np.ones((len(picture.grid), 3)))
        picture.points_by_class(own)
        draw_star(own, picture.points[anchor])
        more = [("*", INK, "anchor")]
        for j, n in enumerate(numbers):
            line = color((2, 6, 4, 0, 3)[j % 5])
            level = at_points[j][rest].min() - 0.5
            picture.contour(own, on_grid[j], level, colors=[line], linewidths=1.6, zorder=3, linestyles=[LINES[j % 5]])
            more.append(("_", line, f"n = {n:,}"))
        _draw_ball(own, picture.points[anchor], away)
        own.set_title("where the detector ends, as hyperplanes become more")
        if legend:
            picture.legend(own, [*more, ("$--$", INK, "ball of the limit")])
    return own


def _around(picture: Picture, centre: Floats, away: float) -> Picture:
    """The same picture, large enough for a ball."""
    (left, right), (bottom, top) = picture.extent[:2], picture.extent[2:]
    (low_x, low_y), (high_x, high_y) = centre - away, centre + away
    extent = (
        min(left, float(low_x)), max(right, float(high_x)), min(bottom, float(low_y)), max(top, float(high_y))
    )  # fmt: skip
    return replace(picture, extent=extent)


def _widths(widths: Sequence[int] | None, most: int) -> list[int]:
    if widths is None:
        return sorted({max(most // 3**power, 1) for power in range(WIDTHS_DRAWN)})
    numbers = check_wholes("widths", widths, at_least=1)
    if max(numbers, default=0) > most or not numbers:
        raise ParameterError(f"widths must be between 1 and the network's {most}, got {numbers}")
    return numbers


def _prefix_counts(points: Floats, found: Detectors, anchor: Floats, widths: list[int]) -> list[NDArray[np.int64]]:
    """For each width, how many of the first so many bits that are off at the anchor are on at each point."""
    mask = ~sides(anchor[None, :], found.planes, found.first.bias).to_bool()[0]
    counts = np.empty((len(widths), len(points)), dtype=np.int64)
    for start in range(0, len(points), GRID_TILE):
        tile = slice(start, start + GRID_TILE)
        on = sides(points[tile], found.planes, found.first.bias).to_bool() & mask
        for j, n in enumerate(widths):
            counts[j, tile] = on[:, :n].sum(axis=1)
    return list(counts)


def _draw_ball(ax: Axes, centre: Floats, radius: float) -> None:
    from matplotlib.patches import Circle

    where = float(centre[0]), float(centre[1])
    ax.add_patch(Circle(where, radius, fill=False, edgecolor=INK, linewidth=1.2, linestyle="dashed", zorder=3))


@documented
def plot_masks_and_weights(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, resolution: int = 300, legend: bool = True
) -> Axes:
    """Draw where detectors fire with masks (lines) and with weights (filled), over the same hyperplanes.

    The model's own detectors are one of the two; the others are chosen for the picture.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features, with threshold activation.
    X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
    {ax}
    {resolution}
    legend : bool

    {axes}

    Examples
    --------
    >>> from exactfit import fixed_width
    >>> from exactfit.geometry import make_parallel_lines
    >>> from exactfit.plots import plot_masks_and_weights
    >>> X, y = make_parallel_lines(10, distance=0.2)
    >>> plot_masks_and_weights(fixed_width(X, y, 300, random_state=0), X, y, resolution=50).get_title("left")
    'masks need 6 detectors, weights 1'
    """
    picture, network = Picture.of(model, X, y, resolution), network_of(model)
    found = Detectors.of(network)
    if not found.half:
        raise ParameterError("weights and masks are compared for the threshold activation only")
    other = _other_kind(picture, network, found)
    masks, weights = (other, found) if found.are_weighted else (found, other)
    with axes_for(ax, picture.size) as own:
        picture.show(own, _filled(weights.slack(picture.grid) > 0))
        for k, line in enumerate(masks.slack(picture.grid)):
            picture.contour(own, line, 0.0, colors=[INK], linewidths=0.8, zorder=1, linestyles=[LINES[k % 5]])
        picture.points_by_class(own)
        own.set_title(f"masks need {masks.n_detectors:,} detectors, weights {weights.n_detectors:,}")
        if legend:
            picture.legend(own, [("_", INK, "mask"), ("s", color(2), "weights")])
    return own


def _other_kind(picture: Picture, network: Network, found: Detectors) -> Detectors:
    """Detectors of the other kind over the same hyperplanes and for the same classes."""
    target = found.classes[0] if found.decoder.kind == "sign" else "all" if len(picture.classes) == 2 else None
    kind = "mask" if found.are_weighted else "weighted"
    made: Construction = fixed_width(
        picture.points, picture.codes, recipe=Recipe(detectors=kind, target=target), random_state=0,
        hyperplanes=hyperplanes_of(network),
    )  # fmt: skip
    return Detectors.of(made.network)


def _filled(fires: NDArray[np.bool_]) -> Floats:
    """Colours of the grid: one detector's region over the other."""
    colors = np.ones((fires.shape[1], 3))
    for k, where in enumerate(fires):
        colors[where] += REGION_ALPHA * (np.array(tint((2, 6, 3, 5)[k % 4], 1.0)) - colors[where])
    return colors
