"""Pictures of the plane: regions of classes and detectors, cells of hyperplanes, balls in which points may move."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_integer
from ..certificate import certify
from ..construct import Construction
from ..data import class_indices
from ..exceptions import ParameterError
from ..network import Network
from ..network.detector_network import DetectorNetwork
from ..network.sides import sides
from .plane import Codes, Floats, Picture, draw_balls, hyperplanes_of, network_of, trace_of
from .style import GREY, INK, axes_for, color, documented, need_matplotlib, style, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_TILE = 2**15  # grid points evaluated at a time
REGION_TINT = 0.25  # strength of a class's colour where it is the answer
DETECTOR_TINT = 0.45  # strength of the colour that one detector adds
WHITE = 1.0, 1.0, 1.0
HATCH = "////"  # where a network is undecided
# Of the palette and of its lighter half, neighbours unlike in hue; black is for points and outlines.
DETECTOR_COLORS = (0, 1, 2, 6, 4, 3, 5, 8, 9, 10, 14, 12, 11, 13)
PURE_TINT = 0.35  # strength of a class's colour in a cell of that class alone
MIXED_TINT = 0.25, 0.75  # of black: in a cell with hardly any point of another class, and half of each
MOST_RINGS = 400  # more would hide the points
BALL_ALPHA = 0.1  # opacity of a ball around a point
SHADES = 0.12, 0.5  # strength of a detector's colour at its limit, and where its count is lowest
GROWTH = 12  # pictures of the growing first layer
LAST = 6  # times as long as others the last picture is shown
DPI = 90  # dots to an inch of a GIF: small files that screens show at about their size


@documented
def plot_regions(
    model: Any, X: ArrayLike, y: ArrayLike, *,
    ax: Axes | None = None, resolution: int = 400, anchors: bool = True, detectors: bool = False,
    hyperplanes: int = 0, legend: bool = True, outlines: bool = True, equal: bool | None = None,
) -> Axes:  # fmt: skip
    """Draw the decision regions of a model of two features, and points by class.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction, Network or other fitted classifier
        Of two features.
    {plane}
    {resolution}
    anchors : bool
        Mark the detectors' anchors with stars, if ``X`` and ``y`` are what the model was
        fitted on (their rows are known then only).
    detectors : bool
        Colour the region in which each detector fires instead of the classes.
    hyperplanes : int
        Number of hyperplanes to draw as thin lines, from the first on.
    legend : bool
    outlines : bool
        Draw the borders of regions as thin lines; regions thinner than a line look better without.
    {equal}

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_regions
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
    >>> ax = plot_regions(model, X, y, resolution=100)
    """
    count = check_integer("hyperplanes", hyperplanes, at_least=0)
    picture = Picture.of(model, X, y, resolution, equal)
    answers = _decide(model, picture)
    # With detectors, colours stand for them, and points are drawn in ink.
    fires = _fires(network_of(model), picture.grid) if detectors else ()
    painted = [(where, DETECTOR_COLORS[k % len(DETECTOR_COLORS)]) for k, where in enumerate(fires)]
    # The last entry is for an answer of -1: undecided, and white.
    tints = [WHITE if detectors else tint(k, REGION_TINT) for k in range(len(picture.classes))]
    image = np.array([*tints, WHITE])[answers]
    for where, own in painted:
        image[where] += DETECTOR_TINT * (np.array(tint(own, 1.0)) - image[where])
    trace = trace_of(model, X, y) if anchors else None
    with axes_for(ax, picture.size) as axes:
        picture.show(axes, image, INK if detectors else None)
        if not detectors and (answers < 0).any():
            where = picture.square(answers < 0)
            hatched = axes.contourf(*picture.axes, where, levels=[0.5, 1.5], colors="none", hatches=[HATCH], zorder=0.2)
            hatched.set(edgecolor=GREY, linewidth=0.0)
            axes.fill([np.nan], [np.nan], facecolor="white", edgecolor=GREY, lw=0.5, hatch=HATCH, label="undecided")
        borders = [(where, color(own)) for where, own in painted]
        if not detectors or len(picture.classes) == 2:
            borders += [(answers == k, INK) for k in range(len(picture.classes))]
        # An answer is 0 or 1 on the grid, and its border is where a half is crossed.
        for where, line in borders if outlines else []:
            picture.contour(axes, where, 0.5, colors=[line], linewidths=0.7, zorder=1)
        if count:
            weights, biases = hyperplanes_of(network_of(model))
            picture.lines(axes, weights[:count], biases[:count], 0.5)
        look: Any = {"color": INK, "edgecolors": "white"} if detectors else {}
        picture.scatter(axes, **look)
        if trace is not None and len(trace.anchors):
            size = float(np.clip(4500 / len(trace.anchors), 60, 170))
            star: Any = {"edgecolors": INK, "linewidths": 0.9, "marker": "*", "s": size, "zorder": 3.0}
            picture.scatter(axes, trace.anchors, **star | look)
            axes.scatter([], [], marker="*", s=100, color=INK, label="anchor")
        if legend:
            picture.legend(axes)
    return axes


def _decide(model: Any, picture: Picture) -> Codes:
    """Return the positions of the model's answers on the grid, -1 where a network is undecided."""
    if isinstance(model, Network | Construction):
        network = network_of(model)
        return class_indices(network.decide(picture.grid), sorted(network.decoder.classes))
    with warnings.catch_warnings():
        # The grid's columns are the model's own two, in order, without their names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return class_indices(np.asarray(model.predict(picture.grid)), picture.classes)


def _fires(network: Network, points: Floats) -> NDArray[np.bool_]:
    """Return the table of the points at which each detector fires, shape (n_detectors, n_points)."""
    found, tiles = DetectorNetwork.of(network), range(0, len(points), GRID_TILE)
    fires = [found.counts(points[start : start + GRID_TILE]) < found.limits[:, None] for start in tiles]
    return np.concatenate(fires, axis=1)


@documented
def plot_cells(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    hyperplanes: int | None = None, resolution: int = 400, legend: bool = True,
) -> Axes:  # fmt: skip
    """Draw how hyperplanes cut the plane into cells, coloured by the labels of the points in them.

    A cell with points of one class has its colour, a cell with points of several is grey, the darker the
    more it mixes them, and an empty one white. Points in mixed cells have rings: detectors cannot tell them
    from one another.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features.
    {plane}
    hyperplanes : int, optional
        Number of hyperplanes, from the first on, to watch the first layer grow; all by default.
    {look}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import adaptive_width
    >>> from exactfit.plots import plot_cells
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> made = adaptive_width(X, y, random_state=0)
    >>> plot_cells(made, X, y, hyperplanes=4, resolution=50).get_title("left")
    '4 hyperplanes: 50 points in mixed cells'
    """
    picture = Picture.of(model, X, y, resolution)
    weights, biases = hyperplanes_of(network_of(model))
    if hyperplanes is not None:
        count = check_integer("hyperplanes", hyperplanes, at_least=1)
        weights, biases = weights[:count], biases[:count]
    # Points are in one cell if all their bits are equal.
    words = sides(np.concatenate([picture.points, picture.grid]), weights, biases).words
    cells = np.unique(words, axis=1, return_inverse=True)[1].ravel()
    here, of_grid = np.split(cells, [len(picture.points)])
    counts = np.zeros((cells.max() + 1, len(picture.classes)), dtype=np.int64)
    np.add.at(counts, (here, picture.codes), 1)
    total, most = counts.sum(axis=1), counts.max(axis=1)
    colors = np.array([tint(k, PURE_TINT) for k in range(counts.shape[1])])[counts.argmax(axis=1)]
    colors[total == 0] = WHITE
    # Grey, the darker the fewer points of a cell are of its most frequent class.
    low, high = MIXED_TINT
    strength = np.clip(low + (high - low) * 2 * (1 - most / np.maximum(total, 1)), 0, high)
    is_mixed = most < total
    colors[is_mixed] = 1 - strength[is_mixed, None]
    mixed = is_mixed[here]
    with axes_for(ax, picture.size) as axes:
        picture.show(axes, colors[of_grid])
        picture.lines(axes, weights, biases)
        picture.scatter(axes)
        rings = picture.points[np.flatnonzero(mixed)[:MOST_RINGS]]
        axes.scatter(rings[:, 0], rings[:, 1], s=52, facecolors="none", edgecolors=INK, linewidths=0.9, zorder=4)
        axes.scatter([], [], marker="s", color="0.5", label="mixed cell")
        n, found = len(biases), f"{mixed.sum():,} points in mixed cells" if mixed.any() else "no point in a mixed cell"
        axes.set_title(f"{n:,} hyperplane{'s' if n > 1 else ''}: {found}")
        if legend:
            picture.legend(axes)
    return axes


@documented
def plot_margins(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, resolution: int = 300, legend: bool = True
) -> Axes:
    """Draw how far training points may move without changing their answers: a proved ball around each.

    Where the network was built with a margin, a dashed ring of that radius around every point.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features. Points that it gets wrong have no ball.
    {plane}
    {look}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_margins
    >>> X, y = make_moons(60, noise=0.05, random_state=0)
    >>> model = InterpolatingClassifier(margin="25%", random_state=0).fit(X, y)
    >>> plot_margins(model, X, y, resolution=50).get_title("left").startswith("every point may move by 0.0")
    True
    """
    picture = Picture.of(model, X, y, resolution)
    proved = certify(network_of(model), picture.points, picture.codes, radii=True)
    assert proved.radii is not None
    trace = trace_of(model, X, y)
    margin = 0.0 if trace is None else trace.margin
    with axes_for(ax, picture.size) as axes:
        plot_regions(model, X, y, ax=axes, resolution=resolution, anchors=False, legend=legend)
        look: Any = {"linewidths": 0.6, "zorder": 1.5, "edgecolors": [color(k) for k in picture.codes.tolist()]}
        look["facecolors"] = [(*tint(k, 1.0), BALL_ALPHA) for k in picture.codes.tolist()]
        # Points that are wrong or given up have no radius, and no ball.
        draw_balls(axes, picture.points, np.nan_to_num(proved.radii), **look)
        if margin:
            look |= {"facecolors": "none", "edgecolors": INK, "linestyles": "dashed"}
            draw_balls(axes, picture.points, np.full(len(picture.points), margin), **look)
        least = max(margin, float(proved.robust_radius or 0.0))
        axes.set_title(f"every point may move by {least:.3g}, the median by {np.median(proved.radii):.3g}")
    return axes


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
    picture, trace = Picture.of(model, X, y, resolution), trace_of(model, X, y)
    found, k = DetectorNetwork.of(network_of(model)), check_integer("detector", detector, at_least=0)
    if k >= len(found.limits):
        raise ParameterError(f"detector={k}: the network has {len(found.limits)}, numbered from 0")
    one, limit = found.take(np.array([k]), found.limits[[k]]), found.limits[k]
    own = int(found.classes[found.outputs[k]])
    on_grid, inside = one.counts(picture.grid)[0], picture.codes == own
    new = (one.counts(picture.points)[0] < limit) & inside
    # Points of the class that earlier detectors of it fire on.
    earlier = np.flatnonzero(found.outputs[:k] == found.outputs[k])
    old = np.zeros(len(picture.points), dtype=bool)
    if len(earlier):
        fires = found.take(earlier, found.limits[earlier]).counts(picture.points) < found.limits[earlier][:, None]
        old = fires.any(axis=0) & inside
    # White where the detector is silent, stronger the lower its count.
    low, high = SHADES
    depth = np.clip((limit - on_grid) / max(limit - int(one.floors[0]), 1), 0.0, 1.0)
    strength = np.where(on_grid < limit, low + (high - low) * depth, 0.0)
    with axes_for(ax, picture.size) as axes:
        picture.show(axes, 1 - strength[:, None] * (1 - np.array(tint(own, 1.0))))
        # Counts are integers, so the edge of the region is half a count below the limit.
        picture.contour(axes, on_grid, limit - 0.5, colors=[INK], linewidths=1.0, zorder=1)
        picture.scatter(axes, ~inside)
        picture.scatter(axes, old, color=[tint(own, 0.35)], linewidths=0.0)
        picture.scatter(axes, inside & ~old & ~new, color=GREY, linewidths=0.0)
        picture.scatter(axes, new & ~old)
        # Networks of other constructions have traces without anchors, and a construction may come with other data.
        if trace is not None and len(trace.anchors) and trace.anchors.max() < len(picture.points):
            star: Any = {"marker": "*", "color": INK, "edgecolors": "white", "linewidths": 0.9, "s": 190}
            ring: Any = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.6, "s": 110}
            for name, row, look in (("anchor", trace.anchors[k], star), ("witness", trace.witnesses[k], ring)):
                across, up = picture.points[row]
                axes.scatter(across, up, label=name, zorder=5, **look)
        limit_text = f"limit {limit:,}" if found.half else f"limit {limit:.3g}"
        title = f"detector {k + 1} of {found.n_detectors}, for {picture.classes[own]}: {limit_text}"
        axes.set_title(f"{title}, {int((new & ~old).sum()):,} new")
        if legend:
            picture.legend(axes)
    return axes


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
    from matplotlib.animation import PillowWriter
    from matplotlib.figure import Figure

    to = Path(path)
    if to.suffix.lower() != ".gif":
        raise ParameterError(f"a GIF is written, so the path must end in .gif, got {to.name!r}")
    detectors = check_integer("detectors", detectors, at_least=0)
    picture, writer = Picture.of(model, X, y, resolution), PillowWriter(fps=1 / frame_time)  # type: ignore[arg-type]
    # A figure unknown to pyplot: there is nothing to close.
    with style():
        figure = Figure(figsize=picture.size)
        with writer.saving(figure, str(to), DPI):
            for draw in _steps(model, X, y, detectors, resolution):
                figure.clear()
                draw(ax=figure.subplots())
                writer.grab_frame()
            # All frames of the writer last equally long.
            for _ in range(LAST - 1):
                writer.grab_frame()
    return to


def _steps(model: Any, X: ArrayLike, y: ArrayLike, detectors: int, resolution: int) -> Iterator[Callable[..., Any]]:
    """Yield functions that draw the pictures, one after the other."""
    network = network_of(model)
    # Evenly on a logarithmic scale: the first hyperplanes change most.
    for n in np.unique(np.geomspace(1, len(hyperplanes_of(network)[1]), GROWTH).astype(int)).tolist():
        yield partial(plot_cells, model, X, y, hyperplanes=n, resolution=resolution)
    for k in range(min(detectors, len(DetectorNetwork.of(network).limits))):
        yield partial(plot_detector, model, X, y, detector=k, resolution=resolution)
    yield lambda ax: plot_regions(model, X, y, ax=ax, resolution=resolution).set_title("the regions")
