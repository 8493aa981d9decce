"""Pictures of the plane: classes that a model answers, cells of its hyperplanes, balls in which points may move."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_integer
from ..certificate import certify
from ..construct import Construction
from ..data import class_indices
from ..network import Network
from ..network.detector_network import DetectorNetwork
from ..network.sides import sides
from .plane import Codes, Floats, Picture, anchors_of, draw_balls, hyperplanes_of, network_of, trace_of
from .style import GREY, INK, axes_for, color, documented, tint

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
    answers = _decide(model, picture.grid, picture.classes)
    # With detectors, colours stand for them, and points are drawn in ink.
    fires = _fires(network_of(model), picture.grid) if detectors else ()
    painted = [(where, DETECTOR_COLORS[k % len(DETECTOR_COLORS)]) for k, where in enumerate(fires)]
    # The last entry is for an answer of -1: undecided, and white.
    tints = [WHITE if detectors else tint(k, REGION_TINT) for k in range(len(picture.classes))]
    image = np.array([*tints, WHITE])[answers]
    for where, own in painted:
        image[where] += DETECTOR_TINT * (np.array(tint(own, 1.0)) - image[where])
    stars = anchors_of(model, X, y) if anchors else np.empty(0, dtype=np.intp)
    lines = np.empty((0, 3))
    if count:
        lines = np.column_stack(hyperplanes_of(network_of(model))).astype(np.float64)[:count]
        lines = lines[(lines[:, :2] != 0).any(axis=1)]  # the others are no lines
    with axes_for(ax, picture.size) as drawn:
        from matplotlib.lines import Line2D

        picture.show(drawn, image)
        marks: list[Any] = [("*", INK, "anchor")] if len(stars) else []
        if len(lines):
            marks.append(Line2D([], [], color=GREY, linewidth=0.8, label="hyperplane"))
        if not detectors and (answers < 0).any():
            marks.append(_hatch_undecided(drawn, picture, answers))
        if outlines:
            borders = [(where, color(own)) for where, own in painted]
            if not detectors or len(picture.classes) == 2:
                borders += [(answers == k, INK) for k in range(len(picture.classes))]
            for where, line in borders:
                picture.contour(drawn, where, 0.5, colors=[line], linewidths=0.7, zorder=1)
        picture.lines(drawn, lines[:, :2], lines[:, 2], 0.5)
        look: Any = {"color": INK, "edgecolors": "white"} if detectors else {}
        picture.points_by_class(drawn, **look)
        star: Any = {"marker": "*", "s": float(np.clip(4500 / max(len(stars), 1), 60, 170)), "zorder": 3.0}
        picture.points_by_class(drawn, stars, **{"edgecolors": INK, **look}, linewidths=0.9, **star)
        if legend:
            picture.legend(drawn, marks, INK if detectors else None)
    return drawn


def _hatch_undecided(ax: Axes, picture: Picture, answers: Codes) -> Any:
    """Hatch the region where a network is undecided; return its mark for the legend."""
    from matplotlib.patches import Patch

    where = picture.square(answers < 0)
    hatched = ax.contourf(*picture.axes, where, levels=[0.5, 1.5], colors="none", hatches=[HATCH], zorder=0.2)
    hatched.set_edgecolor(GREY)
    hatched.set_linewidth(0.0)
    return Patch(facecolor="white", edgecolor=GREY, linewidth=0.5, hatch=HATCH, label="undecided")


def _decide(model: Any, grid: Floats, classes: tuple[Any, ...]) -> Codes:
    """Positions in ``classes`` of the model's answers, -1 where a network is undecided."""
    if isinstance(model, Network | Construction):
        network = network_of(model)
        return class_indices(network.decide(grid), sorted(network.decoder.classes))
    with warnings.catch_warnings():
        # The grid's columns are the model's own two, in order, without their names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return class_indices(np.asarray(model.predict(grid)), classes)


def _fires(network: Network, grid: Floats) -> NDArray[np.bool_]:
    """Table of the grid's points at which each detector fires, shape (n_detectors, n_points)."""
    found, tiles = DetectorNetwork.of(network), range(0, len(grid), GRID_TILE)
    fires = [found.counts(grid[start : start + GRID_TILE]) < found.limits[:, None] for start in tiles]
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
    >>> plot_cells(made, X, y, resolution=50).get_title("left").endswith(" no point in a mixed cell")
    True
    """
    picture = Picture.of(model, X, y, resolution)
    weights, biases = hyperplanes_of(network_of(model))
    drawn = len(biases)
    if hyperplanes is not None:
        drawn = min(drawn, check_integer("hyperplanes", hyperplanes, at_least=1))
    counts, here, of_grid = _cells(picture, weights[:drawn], biases[:drawn])
    mixed = (counts[here] > 0).sum(axis=1) > 1
    with axes_for(ax, picture.size) as own:
        picture.show(own, _colors(counts)[of_grid])
        picture.lines(own, weights[:drawn], biases[:drawn])
        picture.points_by_class(own)
        rings = picture.points[np.flatnonzero(mixed)[:MOST_RINGS]]
        own.scatter(rings[:, 0], rings[:, 1], s=52, facecolors="none", edgecolors=INK, linewidths=0.9, zorder=4)
        said = f"{mixed.sum():,} points in mixed cells" if mixed.any() else "no point in a mixed cell"
        own.set_title(f"{drawn:,} hyperplane{'s' if drawn > 1 else ''}: {said}")
        if legend:
            picture.legend(own, [("|", GREY, "hyperplane"), ("s", str(0.5), "mixed cell")])
    return own


def _cells(picture: Picture, weights: NDArray[Any], biases: Floats) -> tuple[NDArray[np.int64], Codes, Codes]:
    """Points of each class in each cell, and the cells of the points and of the grid."""
    # Points are in one cell if all their bits are equal: packed rows are compared as plain bytes.
    words = sides(np.concatenate([picture.points, picture.grid]), weights, biases).words
    rows = np.ascontiguousarray(words.T)
    _, cells = np.unique(rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), return_inverse=True)
    here, of_grid = np.split(cells, [len(picture.points)])
    counts = np.zeros((cells.max() + 1, len(picture.classes)), dtype=np.int64)
    np.add.at(counts, (here, picture.codes), 1)
    return counts, here, of_grid


def _colors(counts: NDArray[np.int64]) -> Floats:
    """Colours of cells: the class's where there is one, darker grey the more are mixed, white where it is empty."""
    total, most = counts.sum(axis=1), counts.max(axis=1)
    palette = np.array([tint(k, PURE_TINT) for k in range(counts.shape[1])])
    colors = np.where(total[:, None] == 0, 1.0, palette[counts.argmax(axis=1)])
    mixed = most < total
    low, high = MIXED_TINT
    strength = low + (high - low) * 2 * (1 - most[mixed] / total[mixed])
    colors[mixed] = 1 - np.clip(strength, 0, high)[:, None]
    return colors


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
    with axes_for(ax, picture.size) as own:
        # Points that are wrong or given up have no radius, and no ball.
        plot_regions(model, X, y, ax=own, resolution=resolution, anchors=False, legend=legend)
        faces = [(*tint(int(k), 1.0), BALL_ALPHA) for k in picture.codes]
        edges = [color(int(k)) for k in picture.codes]
        look: Any = {"linewidths": 0.6, "zorder": 1.5}
        draw_balls(own, picture.points, np.nan_to_num(proved.radii), facecolors=faces, edgecolors=edges, **look)
        if margin:
            rings = np.full(len(picture.points), margin)
            draw_balls(own, picture.points, rings, facecolors="none", edgecolors=INK, linestyles="dashed", **look)
        least = max(margin, float(proved.robust_radius or 0.0))
        own.set_title(f"every point may move by {least:.3g}, the median by {np.median(proved.radii):.3g}")
    return own
