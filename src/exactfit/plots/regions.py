"""Which class a model gives to every point of the plane, with its data on top."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.options import check_whole
from ..data import as_labels, as_points, class_indices, is_digest_of
from ..exceptions import DataError, ParameterError
from ..network import Dense, Masks, Network, WeightedMasks
from ..network.bits import BitMatrix
from ..network.sides import dense_rows
from .style import GREY, INK, color, marker, need_matplotlib, shade, style, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MARGIN = 0.06  # around the points, as a share of their range
GRID_TILE = 2**15  # grid points evaluated at a time
REGION_TINT = 0.25  # how strong a class's colour is where it is the answer
DETECTOR_TINT = 0.45  # how much of a class's colour one detector adds
WHITE = 1.0, 1.0, 1.0
HATCH = "////"  # where a network is undecided
# Of the palette and of its lighter half, neighbours unlike in hue; black is for points and outlines.
DETECTOR_COLORS = (0, 1, 2, 6, 4, 3, 5, 8, 9, 10, 14, 12, 11, 13)
SQUARE_UP_TO = 4.0
PICTURE_WIDTH = 6.0  # inches
LEGEND_DROP = 3.6  # in units of the font: below ticks and labels


def plot_regions(
    model: Any, X: ArrayLike, y: ArrayLike, *,
    ax: Axes | None = None, resolution: int = 400, anchors: bool = True, detectors: bool = False,
    hyperplanes: int = 0, legend: bool = True, outlines: bool = True, equal: bool | None = None,
) -> Axes:  # fmt: skip
    """Draw the decision regions of a model of two features, and points by class.

    Parameters
    ----------
    model : InterpolatingClassifier, Network or other fitted classifier
        Of two features. For a network, ``y`` holds class indices.
    X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
    ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.
    resolution : int
        Points of the plane that are classified along each axis.
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

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_regions
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
    >>> ax = plot_regions(model, X, y, resolution=100)
    >>> ax.figure.savefig("moons.png")  # doctest: +SKIP
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
        points, codes, classes = _check_data(model, X, y)
        extent = _extent(points, _comparable(np.ptp(points, axis=0)) if equal is None else equal)
        if equal is None:
            equal = _comparable(np.array([extent[1] - extent[0], extent[3] - extent[2]]))
        grid = _grid(extent, resolution)
        square = (resolution, resolution)
        display = cls(
            classes=classes,
            regions=class_indices(_decide(model, grid), classes).reshape(square),
            extent=extent,
            points=points,
            codes=codes,
            names=_names(model, X),
            anchors=_anchors(model, X, y) if anchors else np.empty(0, dtype=np.intp),
            fires=_fires(_network(model), grid).reshape(-1, *square) if detectors else None,
            lines=_lines(_network(model), hyperplanes) if hyperplanes else np.empty((0, 3)),
            equal=equal,
        )
        return display.plot(ax=ax, legend=legend, outlines=outlines)

    def plot(self, *, ax: Axes | None = None, legend: bool = True, outlines: bool = True) -> DecisionRegionDisplay:
        """Draw; a new figure in exactfit's style without ``ax``."""
        need_matplotlib()
        from matplotlib import pyplot as plt

        with style() if ax is None else nullcontext():
            self.ax_: Axes = plt.subplots(figsize=self._figure_size())[1] if ax is None else ax
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
        return _centres(self.extent[:2], columns), _centres(self.extent[2:], rows)

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


def _network(model: Any) -> Network:
    network = model if isinstance(model, Network) else getattr(model, "network_", None)
    if not isinstance(network, Network):
        raise ParameterError(f"detectors and hyperplanes are those of a network, and {type(model).__name__} has none")
    return network


def _n_features(model: Any) -> int:
    if isinstance(model, Network):
        return model.n_features
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ParameterError(
            f"decision regions are those of a fitted classifier or a network, got {type(model).__name__}"
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    return int(model.n_features_in_)


def _check_data(model: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Codes, tuple[Any, ...]]:
    """Points, the positions of their labels, and the labels of the classes."""
    if (n := _n_features(model)) != 2:
        raise DataError(f"decision regions need a model of 2 features, this one has {n}: fit it on two columns")
    points = dense_rows(as_points(X), slice(None))
    if points.shape[1] != 2:
        raise DataError(f"X must have 2 columns, got shape {points.shape}")
    labels = as_labels(y, len(points))
    classes = sorted(model.decoder.classes) if isinstance(model, Network) else model.classes_.tolist()
    codes = class_indices(labels, classes)
    if (codes < 0).any():
        unknown = np.unique(labels[codes < 0]).tolist()
        raise DataError(f"y holds labels that the model does not know: {', '.join(map(repr, unknown[:5]))}")
    return points, codes, tuple(classes)


def _comparable(size: Floats) -> bool:
    """Whether the ranges of both features are of one order, so that equal scales show something."""
    return bool(size.max() <= SQUARE_UP_TO * size.min())


def _extent(points: Floats, equal: bool) -> tuple[float, float, float, float]:
    """The points' bounding box with a margin, the same on all sides where scales are equal."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = high - low
    pad = MARGIN * np.where(equal, size.max(), size) * (1 if _comparable(size) else 1.5)
    pad = np.where(pad > 0, pad, np.maximum(np.abs(low), 1.0))
    (left, bottom), (right, top) = low - pad, high + pad
    return float(left), float(right), float(bottom), float(top)


def _centres(ends: tuple[float, float], count: int) -> Floats:
    """Middles of ``count`` equal pieces."""
    low, high = ends
    return low + (high - low) * (np.arange(count) + 0.5) / count


def _grid(extent: tuple[float, float, float, float], resolution: int) -> Floats:
    """All points of the grid, row by row from below."""
    x, y = np.meshgrid(_centres(extent[:2], resolution), _centres(extent[2:], resolution))
    return np.column_stack([x.ravel(), y.ravel()])


def _decide(model: Any, grid: Floats) -> NDArray[Any]:
    if isinstance(model, Network):
        return model.decide(grid)
    with warnings.catch_warnings():
        # The grid's columns are the model's own two, in order, without their names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(model.predict(grid))


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
    """Weights and bias of the first hyperplanes."""
    first = network.layers[0]
    if not isinstance(first.weights, Dense) or network.input_map != "identity":
        raise ParameterError("hyperplanes can be drawn for a dense first layer on the features themselves only")
    table = np.column_stack([first.weights.values, first.bias]).astype(np.float64)[:count]
    return table[np.flatnonzero((table[:, :2] != 0).any(axis=1))]


def _anchors(model: Any, X: ArrayLike, y: ArrayLike) -> Codes:
    """Rows that detectors are built on, if these are the data that the model was fitted on."""
    rows = getattr(model, "anchors_", None)
    if rows is None or not is_digest_of(model.certificate_.data_digest, X, y):
        return np.empty(0, dtype=np.intp)
    return np.asarray(rows, dtype=np.intp)


def _names(model: Any, X: ArrayLike) -> tuple[str, str]:
    given = getattr(model, "feature_names_in_", getattr(X, "columns", None))
    first, second = ("$x_1$", "$x_2$") if given is None else (str(name) for name in given)
    return first, second
