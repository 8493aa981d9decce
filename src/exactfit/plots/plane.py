"""Plane of a picture: its model, the labelled points and the grid around them; and pictures of points alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.parameters import check_integer
from ..construct import Construction, Trace
from ..data import as_labels, as_points, class_indices, data_digest, refuse_other_features
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError
from ..network import Dense, Network, Sparse
from .style import GREY, axes_for, color, documented, marker, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Extent = tuple[float, float, float, float]  # left, right, bottom and top

MARGIN = 0.06  # around the points, as a fraction of their range
SQUARE_UP_TO = 4.0  # ranges of both features that differ by more have no scale in common
PICTURE_WIDTH = 6.0  # inches
LEGEND_DROP = 3.6  # in units of the font: below ticks and labels
SIZE = 4.8, 3.6  # inches, of a picture of points alone


def network_of(model: Any) -> Network:
    """Return the network of a model, a construction or of itself."""
    # A network itself, a fitted classifier, a construction.
    for found in (model, getattr(model, "network_", None), getattr(model, "network", None)):
        if isinstance(found, Network):
            return found
    check_fitted(model)
    raise ParameterError(f"this is drawn of a network, and {type(model).__name__} has none")


def check_fitted(model: Any) -> None:
    """Refuse anything but a fitted classifier."""
    if not (hasattr(model, "fit") and hasattr(model, "predict")) or isinstance(model, type):
        raise ParameterError(
            f"pictures are of a fitted classifier, a construction or a network, got {type(model).__name__}"
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)


def trace_of(model: Any, X: ArrayLike, y: ArrayLike) -> Trace | None:
    """Return the trace of a model if these are the data that it was built on."""
    if isinstance(model, Construction):
        return model.trace
    # Traces name rows: for other data they would point anywhere.
    trace = getattr(model, "trace_", None)
    same = trace is not None and model.certificate_.data_digest == data_digest(X, y)
    return trace if same else None


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, in their order."""
    try:
        return np.unique(labels)
    except TypeError as error:
        raise DataError(f"the labels in y have no order ({error}): use numbers or text") from None


def hyperplanes_of(network: Network) -> tuple[Floats, Floats]:
    """Return weights and biases of the first layer."""
    first = network.layers[0]
    weights = first.weights
    if not isinstance(weights, Dense | Sparse) or network.input_map != "identity":
        raise ParameterError("hyperplanes can be drawn for a first layer on the features themselves only")
    lines = weights.rows.toarray() if isinstance(weights, Sparse) else weights.values
    return np.asarray(lines, dtype=np.float64), np.asarray(first.bias, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Picture:
    """Labelled points in the plane with a grid around them, and how they are drawn."""

    points: Floats
    codes: Codes  # positions of the points' labels in ``classes``
    classes: tuple[Any, ...]
    names: tuple[str, str]  # of the two features
    extent: Extent
    equal: bool  # whether both axes have the same scale
    resolution: int  # points of the grid along each axis

    @classmethod
    def of(cls, model: Any, X: ArrayLike, y: ArrayLike, resolution: int, equal: bool | None = None) -> Picture:
        """Lay out the picture of a model of two features and its data."""
        resolution = check_integer("resolution", resolution, at_least=2)
        # Networks and constructions know no labels and no names of features.
        bare = isinstance(model, Network | Construction)
        if not bare:
            check_fitted(model)
        if (n := network_of(model).n_features if bare else int(model.n_features_in_)) != 2:
            raise DataError(f"this is drawn of a model of 2 features, and this one has {n}: fit it on two columns")
        points = dense_rows(as_points(X), slice(None))
        if points.shape[1] != 2:
            raise DataError(f"X must have 2 columns, got shape {points.shape}")
        labels = as_labels(y, len(points))
        classes = sorted(network_of(model).decoder.classes) if bare else model.classes_.tolist()
        codes = class_indices(labels, classes)
        # Bare networks know class indices only: as many other labels are taken for them, in their order.
        if bare and (codes < 0).any() and len(found := distinct_labels(labels)) == len(classes):
            codes, classes = np.searchsorted(found, labels), found.tolist()
        if (codes < 0).any():
            unknown = np.unique(labels[codes < 0]).tolist()
            raise DataError(f"y holds labels that the model does not know: {', '.join(map(repr, unknown[:5]))}")
        extent, equal = extent_of(points, equal)
        given = getattr(model, "feature_names_in_", getattr(X, "columns", None))
        first, second = ("$x_1$", "$x_2$") if given is None else map(str, given)
        return cls(points, codes, tuple(classes), (first, second), extent, equal, resolution)

    @property
    def size(self) -> tuple[float, float]:
        """Size of the figure in inches: axes at their aspect, then labels, title and legend."""
        left, right, bottom, top = self.extent
        aspect = (right - left) / (top - bottom) if self.equal else 4 / 3
        return PICTURE_WIDTH, min((PICTURE_WIDTH - 0.8) / aspect, PICTURE_WIDTH) + 1.2

    @property
    def axes(self) -> tuple[Floats, Floats]:
        """Coordinates of the grid's columns and rows."""
        left, right, bottom, top = self.extent
        # Middles of equal pieces, so that every pixel shows the answer at its own centre.
        steps, n = np.arange(self.resolution) + 0.5, self.resolution
        return left + (right - left) * steps / n, bottom + (top - bottom) * steps / n

    @property
    def grid(self) -> Floats:
        """All points of the grid, row by row from below."""
        return np.stack(np.meshgrid(*self.axes), axis=-1).reshape(-1, 2)

    def square(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values at the points of the grid as rows and columns."""
        return values.reshape(self.resolution, self.resolution, *values.shape[1:])

    def show(self, ax: Axes, colors: Floats, face: str | None = None) -> None:
        """Draw the plane in the given colours, and its frame; name the classes for the legend."""
        ax.imshow(self.square(colors), origin="lower", extent=self.extent, interpolation="antialiased", zorder=0)
        left, right, bottom, top = self.extent
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=self.names[0], ylabel=self.names[1])
        ax.set_aspect("equal" if self.equal else "auto")
        # Points of one class are drawn in several calls and sizes: the legend's marks are drawn apart, without points.
        for k, label in enumerate(self.classes):
            ax.scatter([], [], s=36, marker=marker(k), color=face or color(k), label=str(label))

    def contour(self, ax: Axes, values: NDArray[Any], level: float, **look: Any) -> None:
        """Draw the line along which values cross a level, if they do."""
        if values.min() < level < values.max():
            ax.contour(*self.axes, self.square(values), levels=[level], **look)

    def lines(self, ax: Axes, weights: Floats, biases: Floats, width: float | None = None) -> None:
        """Draw hyperplanes as thin lines, the thinner the more there are unless a width is given."""
        width = float(np.clip(12 / max(len(biases), 1), 0.15, 0.8)) if width is None else width
        are_lines = weights.any(axis=1)
        for w, b in zip(weights[are_lines], biases[are_lines], strict=True):
            # Through the point of the line that is nearest to the origin.
            x, y = -b * w / (w @ w)
            ax.axline((x, y), (x - w[1], y + w[0]), color=GREY, linewidth=width, zorder=0.5)
        # The lines themselves may be too thin for a legend.
        if are_lines.any():
            ax.plot([], [], color=GREY, linewidth=0.8, label="hyperplane")

    def scatter(self, ax: Axes, rows: NDArray[Any] | None = None, **look: Any) -> None:
        """Draw the points, or some of them, each class in its colour and marker unless the look says otherwise."""
        # Smaller the more there are, so that points do not hide one another.
        size = float(np.clip(12000 / len(self.points), 9, 36))
        some = slice(None) if rows is None else rows
        look = {"s": size, "zorder": 2.0, "label": None} | look
        scatter_classes(ax, self.points[some], self.codes[some], self.classes, **look)

    def legend(self, ax: Axes) -> None:
        """Draw a legend of whatever has a label, below the plane."""
        count = len(ax.get_legend_handles_labels()[1])
        place: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": LEGEND_DROP}
        ax.legend(ncols=min(4, count), **place)


def extent_of(points: Floats, equal: bool | None) -> tuple[Extent, bool]:
    """Return the bounding box of points with a margin, and whether both axes have the same scale."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = high - low
    comparable = bool(size.max() <= SQUARE_UP_TO * size.min())
    # The same on all sides where scales are equal; a range of zero still needs an interval of its own.
    pad = MARGIN * np.where(comparable if equal is None else equal, size.max(), size)
    pad = np.where(pad > 0, pad, np.maximum(np.abs(low), 1.0))
    (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
    if equal is None:
        equal = max(right - left, top - bottom) <= SQUARE_UP_TO * min(right - left, top - bottom)
    return (left, right, bottom, top), equal


def scatter_classes(ax: Axes, points: Floats, codes: NDArray[Any], labels: Sequence[Any], **look: Any) -> None:
    """Draw points by class, each with its own colour and marker unless the look says otherwise."""
    for k, label in enumerate(labels):
        own = points[codes == k]
        default = {"marker": marker(k), "color": color(k), "edgecolors": [shade(k)], "linewidths": 0.3, "label": label}
        ax.scatter(own[:, 0], own[:, 1], **default | look)


def draw_balls(ax: Axes, centres: Floats, radii: Floats, **look: Any) -> None:
    """Draw circles around points."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    circles = [Circle((x, y), r) for (x, y), r in zip(centres.tolist(), radii.tolist(), strict=True)]
    ax.add_collection(PatchCollection(circles, **look))


@documented
def plot_points(
    X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    names: Sequence[str] | None = None, legend: bool = True, equal: bool | None = None,
) -> Axes:  # fmt: skip
    """Draw points of two features by class.

    Parameters
    ----------
    X : array of shape (n_samples, 2)
    y : array of n_samples labels
    {ax}
    names : sequence of str, optional
        Of the classes, if ``y`` holds class indices 0..K-1; the labels themselves by default.
    legend : bool
    {equal}

    {axes}

    Examples
    --------
    >>> from exactfit.plots import plot_points
    >>> ax = plot_points([[0.0, 0.0], [1.0, 1.0]], [0, 1], names=["lower", "upper"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['lower', 'upper']
    """
    points = dense_rows(as_points(X), slice(None))
    labels = as_labels(y, len(points))
    refuse_other_features(points.shape[1], 2, taker="picture")
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise ParameterError(f"names must be a list with the name of each class, got {type(names).__name__}")
    classes = distinct_labels(labels).tolist() if names is None else list(range(len(names)))
    extent, equal = extent_of(points, equal)
    picture = Picture(
        points, class_indices(labels, classes), tuple(names or classes), ("$x_1$", "$x_2$"), extent, equal, 1
    )
    with axes_for(ax, SIZE) as axes:
        picture.show(axes, np.ones((1, 3)))
        size = float(np.clip(9000 / len(points), 1.5, 36))
        picture.scatter(axes, s=size, linewidths=0.3 if size > 4 else 0.0)
        if legend:
            picture.legend(axes)
    return axes
