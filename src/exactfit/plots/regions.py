"""Which class a model gives to every point of the plane, with its data on top."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_whole
from ..construct import Construction
from ..data import class_indices
from ..exceptions import ParameterError
from ..network import Masks, Network, WeightedMasks
from ..network.bits import BitMatrix
from .plane import (
    LEGEND_DROP,
    PICTURE_WIDTH,
    Codes,
    Floats,
    anchors_of,
    centres,
    check_data,
    comparable,
    extent_of,
    grid_of,
    hyperplanes_of,
    names_of,
    network_of,
)
from .style import GREY, INK, axes_for, color, documented, marker, need_matplotlib, shade, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

GRID_TILE = 2**15  # grid points evaluated at a time
REGION_TINT = 0.25  # how strong a class's colour is where it is the answer
DETECTOR_TINT = 0.45  # how much of a class's colour one detector adds
WHITE = 1.0, 1.0, 1.0
HATCH = "////"  # where a network is undecided
# Of the palette and of its lighter half, neighbours unlike in hue; black is for points and outlines.
DETECTOR_COLORS = (0, 1, 2, 6, 4, 3, 5, 8, 9, 10, 14, 12, 11, 13)


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
    X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
    {ax}
    {resolution}
    anchors : bool
        Mark the detectors' anchors with stars, if ``X`` and ``y`` are what the model was
        fitted on (their rows are known then only).
    detectors : bool
        Colour the region in which each detector fires instead of the classes.
    hyperplanes : int
        Draw the first so many hyperplanes as thin lines.
    legend : bool
    outlines : bool
        Draw the borders of regions as thin lines; regions thinner than a line look better without.
    equal : bool, optional
        Give both axes the same scale; by default, unless one range is more than four times the other.

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
    display = DecisionRegionDisplay.from_estimator(
        model, X, y, ax=ax, resolution=resolution, anchors=anchors, detectors=detectors, hyperplanes=hyperplanes,
        legend=legend, outlines=outlines, equal=equal,
    )  # fmt: skip
    return display.ax_


@dataclass(eq=False, kw_only=True)
class DecisionRegionDisplay:
    """Decision regions as data, and their picture; made by ``from_estimator``.

    Attributes
    ----------
    classes : tuple
        Labels of the classes.
    regions : ndarray of int, shape (resolution, resolution)
        Position in ``classes`` of every point of the grid, the lowest row first; -1 where a
        network leaves it undecided.
    extent : tuple of float
        Left, right, bottom and top of the grid.
    points : ndarray, shape (n_samples, 2)
    codes : ndarray of int, shape (n_samples,)
        Positions of the points' labels in ``classes``.
    names : tuple of str
        Of the two features.
    anchors : ndarray of int
        Rows of ``points`` to mark with stars.
    fires : ndarray of bool, shape (n_detectors, resolution, resolution), or None
        Where each detector fires.
    lines : ndarray, shape (n_lines, 3)
        Weights and bias of each hyperplane to draw.
    equal : bool
        Whether both axes have the same scale.
    ax_, figure_ : matplotlib axes and figure
        After :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import DecisionRegionDisplay
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
    >>> display = DecisionRegionDisplay.from_estimator(model, X, y, resolution=50)
    >>> display.regions.shape, display.ax_.get_xlabel()
    ((50, 50), '$x_1$')
    """

    classes: tuple[Any, ...]
    regions: Codes
    extent: tuple[float, float, float, float]
    points: Floats
    codes: Codes
    names: tuple[str, str]
    anchors: Codes
    fires: NDArray[np.bool_] | None
    lines: Floats
    equal: bool = True

    @classmethod
    def from_estimator(
        cls, model: Any, X: ArrayLike, y: ArrayLike, *,
        ax: Axes | None = None, resolution: int = 400, anchors: bool = True, detectors: bool = False,
        hyperplanes: int = 0, legend: bool = True, outlines: bool = True, equal: bool | None = None,
    ) -> DecisionRegionDisplay:  # fmt: skip
        """Classify a grid around the points and draw it; see :func:`plot_regions`."""
        need_matplotlib()
        resolution = check_whole("resolution", resolution, at_least=2)
        hyperplanes = check_whole("hyperplanes", hyperplanes, at_least=0)
        points, codes, classes = check_data(model, X, y)
        extent = extent_of(points, comparable(np.ptp(points, axis=0)) if equal is None else equal)
        if equal is None:
            equal = comparable(np.array([extent[1] - extent[0], extent[3] - extent[2]]))
        grid = grid_of(extent, resolution)
        square = (resolution, resolution)
        display = cls(
            classes=classes,
            regions=_decide(model, grid, classes).reshape(square),
            extent=extent,
            points=points,
            codes=codes,
            names=names_of(model, X),
            anchors=anchors_of(model, X, y) if anchors else np.empty(0, dtype=np.intp),
            fires=_fires(network_of(model), grid).reshape(-1, *square) if detectors else None,
            lines=_lines(network_of(model), hyperplanes) if hyperplanes else np.empty((0, 3)),
            equal=equal,
        )
        return display.plot(ax=ax, legend=legend, outlines=outlines)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, outlines: bool = True) -> DecisionRegionDisplay:
        """Draw; a new figure in exactfit's style without ``ax``."""
        with axes_for(ax, self._figure_size()) as own:
            self.ax_: Axes = own
            self.figure_: Figure | SubFigure = self.ax_.figure
            self._draw_plane()
            if outlines:
                self._draw_outlines()
            self._draw_lines()
            self._draw_points()
            self._frame()
            if legend:
                self._add_legend()
        return self

    def _aspect(self) -> float:
        """Width over height of the axes; 4 / 3 where the scales are not comparable."""
        left, right, bottom, top = self.extent
        return (right - left) / (top - bottom) if self.equal else 4 / 3

    def _figure_size(self) -> tuple[float, float]:
        """Inches: room for the axes at their aspect, then for labels, title and legend."""
        return PICTURE_WIDTH, min((PICTURE_WIDTH - 0.8) / self._aspect(), PICTURE_WIDTH) + 1.2

    def _draw_plane(self) -> None:
        n_classes = len(self.classes)
        tints = [WHITE if self.fires is not None else tint(k, REGION_TINT) for k in range(n_classes)]
        image = np.array([*tints, WHITE])[self.regions]
        for k, fires in enumerate(() if self.fires is None else self.fires):
            own = DETECTOR_COLORS[k % len(DETECTOR_COLORS)]
            image[fires] += DETECTOR_TINT * (np.array(tint(own, 1.0)) - image[fires])
        self.ax_.imshow(image, origin="lower", extent=self.extent, interpolation="antialiased", zorder=0)
        if self.fires is None and (self.regions < 0).any():
            undecided = self.ax_.contourf(
                *self._axes(), self.regions < 0, levels=[0.5, 1.5], colors="none", hatches=[HATCH], zorder=0.2
            )
            undecided.set_edgecolor(GREY)
            undecided.set_linewidth(0.0)

    def _draw_outlines(self) -> None:
        for k, fires in enumerate(() if self.fires is None else self.fires):
            self._outline(fires, color(DETECTOR_COLORS[k % len(DETECTOR_COLORS)]))
        for k in range(len(self.classes) if self.fires is None or len(self.classes) == 2 else 0):
            self._outline(self.regions == k, INK)

    def _axes(self) -> tuple[Floats, Floats]:
        """Coordinates of the grid's columns and rows."""
        rows, columns = self.regions.shape
        return centres(self.extent[:2], columns), centres(self.extent[2:], rows)

    def _outline(self, where: NDArray[np.bool_], line_color: str) -> None:
        if where.any() and not where.all():
            self.ax_.contour(*self._axes(), where, levels=[0.5], colors=[line_color], linewidths=0.7, zorder=1)

    def _draw_lines(self) -> None:
        for *weights, bias in self.lines:
            w = np.array(weights)
            nearest = -bias * w / (w @ w)
            along = nearest + np.array([-w[1], w[0]])
            self.ax_.axline(tuple(nearest), tuple(along), color=GREY, linewidth=0.5, zorder=0.5)

    def _faces(self) -> list[str]:
        """Colours of the points: their classes', or ink where colours stand for detectors."""
        return [INK if self.fires is not None else color(k) for k in range(len(self.classes))]

    def _draw_points(self) -> None:
        size = float(np.clip(12000 / len(self.points), 9, 36))
        star_size = float(np.clip(4500 / max(len(self.anchors), 1), 60, 170))
        plain = self.fires is not None
        for k in range(len(self.classes)):
            self._scatter(np.flatnonzero(self.codes == k), k, marker(k), size, "white" if plain else shade(k), 2.0)
        for k in range(len(self.classes)):
            rows = self.anchors[self.codes[self.anchors] == k]
            self._scatter(rows, k, "*", star_size, "white" if plain else INK, 3.0)

    def _scatter(self, rows: Codes, k: int, shape: str, size: float, edge: Any, zorder: float) -> None:
        x, y = self.points[rows].T
        width = 0.3 if size < 60 else 0.9
        face = self._faces()[k]
        self.ax_.scatter(x, y, s=size, marker=shape, color=face, edgecolors=edge, linewidths=width, zorder=zorder)

    def _frame(self) -> None:
        left, right, bottom, top = self.extent
        self.ax_.set(xlim=(left, right), ylim=(bottom, top), xlabel=self.names[0], ylabel=self.names[1])
        self.ax_.set_aspect("equal" if self.equal else "auto")

    def _add_legend(self) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        def mark(shape: str, face: str, size: float, label: str) -> Any:
            return Line2D([], [], linestyle="", marker=shape, color=face, markersize=size, label=label)

        faces = self._faces()
        handles = [mark(marker(k), faces[k], 6, str(label)) for k, label in enumerate(self.classes)]
        if len(self.anchors):
            handles.append(mark("*", INK, 10, "anchor"))
        if len(self.lines):
            handles.append(Line2D([], [], color=GREY, linewidth=0.8, label="hyperplane"))
        if self.fires is None and (self.regions < 0).any():
            handles.append(Patch(facecolor="white", edgecolor=GREY, linewidth=0.5, hatch=HATCH, label="undecided"))
        self.ax_.legend(
            handles=handles,
            ncols=min(4, len(handles)),
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            borderaxespad=LEGEND_DROP,
        )


def _decide(model: Any, grid: Floats, classes: tuple[Any, ...]) -> Codes:
    """Positions in ``classes`` of what the model answers, -1 where a network leaves it undecided."""
    if isinstance(model, Network | Construction):
        network = network_of(model)
        return class_indices(network.decide(grid), sorted(network.decoder.classes))
    with warnings.catch_warnings():
        # The grid's columns are the model's own two, in order, without their names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return class_indices(np.asarray(model.predict(grid)), classes)


def _fires(network: Network, grid: Floats) -> NDArray[np.bool_]:
    """Where each detector fires, shape (n_detectors, points of the grid)."""
    first, second = network.layers[0], network.layers[1]
    if (
        len(network.layers) != 3
        or not isinstance(second.weights, Masks | WeightedMasks)
        or network.input_map != "identity"
    ):
        raise ParameterError("detectors=True needs a network of hyperplanes, detectors and an output")
    tiles = [second(first(grid[start : start + GRID_TILE])) for start in range(0, len(grid), GRID_TILE)]
    flags = [tile.to_bool() if isinstance(tile, BitMatrix) else np.asarray(tile) > 0 for tile in tiles]
    return np.concatenate(flags).T


def _lines(network: Network, count: int) -> Floats:
    """Weights and bias of the first hyperplanes that are lines."""
    table = np.column_stack(hyperplanes_of(network)).astype(np.float64)[:count]
    return table[np.flatnonzero((table[:, :2] != 0).any(axis=1))]
