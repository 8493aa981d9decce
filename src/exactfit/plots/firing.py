"""Pictures of detectors: one by one, as the width grows, with weights in place of masks; film of a construction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_integer, check_integers
from .._support.processes import write_atomically
from ..construct import Options, Trace, fixed_width
from ..exceptions import ParameterError
from ..network.detector_network import DetectorNetwork
from .plane import Floats, Picture, draw_balls, hyperplanes_of, network_of, trace_of
from .regions import plot_cells, plot_regions
from .style import GREY, INK, LINES, axes_for, color, documented, need_matplotlib, style, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_TILE = 4096  # points of the grid whose bits are held at a time
SHADES = 0.12, 0.5  # strength of a detector's colour at its limit, and where its count is lowest
WIDTHS_DRAWN = 4  # by default, each three times the one before
REGION_ALPHA = 0.3  # opacity of one detector's region
GROWTH = 12  # pictures of the growing first layer
LAST = 6  # times as long as others the last picture is shown
DPI = 90  # dots to an inch of a GIF: small files that screens show at about their size


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
    {training}
    detector : int
        Its number, in the order in which they were chosen, from 0.
    {look}

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
    picture, found, trace, k = _read(model, X, y, resolution, detector)
    one = found.take(np.array([k]), found.limits[[k]])
    heights, counts = one.counts(picture.grid)[0], one.counts(picture.points)[0]
    limit, own_class = found.limits[k], int(found.classes[found.outputs[k]])
    new = (counts < limit) & (picture.codes == own_class)
    # Points of the class that earlier detectors of it fire on.
    earlier = np.flatnonzero(found.outputs[:k] == found.outputs[k])
    old = np.zeros(len(picture.points), dtype=bool)
    if len(earlier):
        fires = found.take(earlier, found.limits[earlier]).counts(picture.points) < found.limits[earlier][:, None]
        old = fires.any(axis=0) & (picture.codes == own_class)
    with axes_for(ax, picture.size) as own:
        # White where the detector is silent, stronger the lower its count.
        low, high = SHADES
        depth = np.clip((limit - heights) / max(limit - int(one.floors[0]), 1), 0.0, 1.0)
        strength = np.where(heights < limit, low + (high - low) * depth, 0.0)
        picture.show(own, np.asarray(1 - strength[:, None] * (1 - np.array(tint(own_class, 1.0)))))
        picture.contour(own, heights, limit - 0.5, colors=[INK], linewidths=1.0, zorder=1)
        inside = picture.codes == own_class
        picture.points_by_class(own, np.flatnonzero(~inside))
        picture.points_by_class(own, np.flatnonzero(old), color=[tint(own_class, 0.35)], linewidths=0.0)
        picture.points_by_class(own, np.flatnonzero(inside & ~old & ~new), color=GREY, linewidths=0.0)
        picture.points_by_class(own, np.flatnonzero(new & ~old))
        more = []
        if trace is not None:
            draw_star(own, picture.points[trace.anchors[k]])
            across, up = picture.points[trace.witnesses[k]]
            own.scatter(across, up, s=110, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=5)
            more = [("*", INK, "anchor"), ("$\u25cb$", INK, "witness")]
        said = f"limit {limit:,}" if found.half else f"limit {limit:.3g}"
        label = picture.classes[own_class]
        own.set_title(f"detector {k + 1} of {found.n_detectors}, for {label}: {said}, {int((new & ~old).sum()):,} new")
        if legend:
            picture.legend(own, more)
    return own


def _read(
    model: Any, X: ArrayLike, y: ArrayLike, resolution: int, detector: int
) -> tuple[Picture, DetectorNetwork, Trace | None, int]:
    """Picture, detectors, their trace if it is known, and the number of the one to draw."""
    picture, found, trace = (
        Picture.of(model, X, y, resolution),
        DetectorNetwork.of(network_of(model)),
        trace_of(model, X, y),
    )
    # Networks of other constructions have traces without anchors, and a construction may come with other data.
    if trace is not None and (not len(trace.anchors) or trace.anchors.max() >= len(picture.points)):
        trace = None
    k = check_integer("detector", detector, at_least=0)
    if k >= len(found.limits):
        raise ParameterError(f"detector={k}: the network has {len(found.limits)}, numbered from 0")
    return picture, found, trace, k


def draw_star(ax: Axes, anchor: Floats) -> None:
    """Mark an anchor."""
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
    {training}
    detector : int
        Its number, from 0.
    widths : sequence of int, optional
        By default four, up to all hyperplanes.
    {look}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import Options, fixed_width
    >>> from exactfit.plots import plot_limit_shape
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> made = fixed_width(X, y, 500, random_state=0)
    >>> ax = plot_limit_shape(made, X, y, widths=[50, 500], resolution=50)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', 'anchor', 'n = 50', 'n = 500', 'ball of the limit']
    """
    picture, found, trace, k = _read(model, X, y, resolution, detector)
    if trace is None:
        raise ParameterError("this needs the anchor: give the classifier or construction with its training data")
    anchor, numbers = int(trace.anchors[k]), _widths(widths, found.n_hyperplanes)
    rest = picture.codes != picture.codes[anchor]
    away = float(np.linalg.norm(picture.points[rest] - picture.points[anchor], axis=1).min())
    # The same picture, large enough for the ball.
    left, right, bottom, top = picture.extent
    (across, up), ball = picture.points[anchor].tolist(), 1.1 * away
    extent = min(left, across - ball), max(right, across + ball), min(bottom, up - ball), max(top, up + ball)
    picture = replace(picture, extent=extent)
    at_points = _prefix_counts(picture.points, found, picture.points[anchor], numbers)
    on_grid = _prefix_counts(picture.grid, found, picture.points[anchor], numbers)
    with axes_for(ax, picture.size) as own:
        picture.show(own, np.ones((len(picture.grid), 3)))
        picture.points_by_class(own)
        draw_star(own, picture.points[anchor])
        more = [("*", INK, "anchor")]
        for j, n in enumerate(numbers):
            line = color((2, 6, 4, 0, 3)[j % 5])
            # The limit is the lowest count of the rest; its edge is drawn halfway to the integer below.
            level = at_points[j][rest].min() - 0.5
            picture.contour(own, on_grid[j], level, colors=[line], linewidths=1.6, zorder=3, linestyles=[LINES[j % 5]])
            more.append(("_", line, f"n = {n:,}"))
        ring: Any = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2, "linestyles": "dashed", "zorder": 3}
        draw_balls(own, picture.points[[anchor]], np.array([away]), **ring)
        own.set_title("where the detector ends, as hyperplanes become more")
        if legend:
            picture.legend(own, [*more, ("$--$", INK, "ball of the limit")])
    return own


def _widths(widths: Sequence[int] | None, most: int) -> list[int]:
    """Validate widths to draw; by default some, up to all hyperplanes."""
    if widths is None:
        return sorted({max(most // 3**power, 1) for power in range(WIDTHS_DRAWN)})
    numbers = check_integers("widths", widths, at_least=1)
    if max(numbers, default=0) > most or not numbers:
        raise ParameterError(f"widths must be between 1 and the network's {most}, got {numbers}")
    return numbers


def _prefix_counts(
    points: Floats, found: DetectorNetwork, anchor: Floats, widths: list[int]
) -> list[NDArray[np.int64]]:
    """Count the bits off at the anchor and on at each point, of the first n hyperplanes for each n."""
    mask = ~found.bits(anchor[None, :]).to_bool()[0]
    # All widths from one evaluation: the first n hyperplanes of a network are those of the narrower one.
    counts = np.empty((len(widths), len(points)), dtype=np.int64)
    for start in range(0, len(points), GRID_TILE):
        tile = slice(start, start + GRID_TILE)
        on = found.bits(points[tile]).to_bool() & mask
        for j, n in enumerate(widths):
            counts[j, tile] = on[:, :n].sum(axis=1)
    return list(counts)


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
    {plane}
    {look}

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
    found = DetectorNetwork.of(network)
    if not found.half:
        raise ParameterError("weights and masks are compared for the threshold activation only")
    # Detectors of the other kind over the same hyperplanes and for the same classes.
    target = found.classes[0] if found.decoder.kind == "sign" else "all" if len(picture.classes) == 2 else None
    options = Options(detectors="mask" if found.are_weighted else "weighted", target=target)
    planes = hyperplanes_of(network)
    made = fixed_width(picture.points, picture.codes, options=options, random_state=0, hyperplanes=planes)
    other = DetectorNetwork.of(made.network)
    masks, weights = (other, found) if found.are_weighted else (found, other)
    with axes_for(ax, picture.size) as own:
        colors = np.ones((len(picture.grid), 3))
        for k, where in enumerate(weights.slack(picture.grid) > 0):  # one detector's region over the other
            colors[where] += REGION_ALPHA * (np.array(tint((2, 6, 3, 5)[k % 4], 1.0)) - colors[where])
        picture.show(own, colors)
        for k, line in enumerate(masks.slack(picture.grid)):
            picture.contour(own, line, 0.0, colors=[INK], linewidths=0.8, zorder=1, linestyles=[LINES[k % 5]])
        picture.points_by_class(own)
        own.set_title(f"masks need {masks.n_detectors:,} detectors, weights {weights.n_detectors:,}")
        if legend:
            picture.legend(own, [("_", INK, "mask"), ("s", color(2), "weights")])
    return own


@documented
def animate_construction(
    model: Any, X: ArrayLike, y: ArrayLike, path: str | os.PathLike[str], *,
    detectors: int = 12, frame_time: float = 0.7, resolution: int = 200,
) -> Path:  # fmt: skip
    """Write a GIF of how a network of two features came about.

    First the hyperplanes, more and more, until no cell mixes labels; then the detectors, one by one; at last the
    regions.

    Parameters
    ----------
    model : InterpolatingClassifier or Construction
        Of two features.
    X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
        The training data.
    path : path
        Of the file, with the ending ``.gif``.
    detectors : int
        How many at most, the first ones.
    frame_time : float
        Seconds that each picture is shown.
    {resolution}

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import adaptive_width
    >>> from exactfit.plots import animate_construction
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> made = adaptive_width(X, y, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate_construction(made, X, y, f"{folder}/moons.gif", detectors=1, resolution=20).suffix
    '.gif'
    """
    need_matplotlib()
    from PIL import Image

    to = Path(path)
    if to.suffix.lower() != ".gif":
        raise ParameterError(f"a GIF is written, so the path must end in .gif, got {to.name!r}")
    picture = Picture.of(model, X, y, resolution)
    steps = list(_steps(model, X, y, check_integer("detectors", detectors, at_least=0), resolution))
    # Pictures of a few flat colours: 64 of them are enough, and make small files.
    frames = [Image.fromarray(_pixels(draw, picture.size)).quantize(64) for draw in steps]
    times = [int(1000 * frame_time)] * (len(frames) - 1) + [int(1000 * frame_time * LAST)]
    frames[0].save(film := BytesIO(), format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    write_atomically(to, film.getvalue(), "the animation")
    return to


def _steps(model: Any, X: ArrayLike, y: ArrayLike, detectors: int, resolution: int) -> Iterator[Callable[..., Any]]:
    """Yield functions that draw the pictures, one after the other."""
    width = len(hyperplanes_of(network_of(model))[1])
    # Evenly on a logarithmic scale: the first hyperplanes change most.
    for n in np.unique(np.geomspace(1, width, GROWTH).astype(int)).tolist():
        yield partial(plot_cells, model, X, y, hyperplanes=n, resolution=resolution)
    for k in range(min(detectors, len(DetectorNetwork.of(network_of(model)).limits))):
        yield partial(plot_detector, model, X, y, detector=k, resolution=resolution)
    yield lambda ax: plot_regions(model, X, y, ax=ax, resolution=resolution).set_title("the regions")


def _pixels(draw: Callable[..., Any], size: tuple[float, float]) -> Any:
    """Draw a picture and return its pixels; no figure stays open."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A canvas of its own, unknown to pyplot: there is nothing to close.
    with style():
        figure = Figure(figsize=size, dpi=DPI)
        canvas: Any = FigureCanvasAgg(figure)
        draw(ax=figure.subplots())
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]
