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
from .style import GREY, INK, axes_for, check_axes, color, documented, marker, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Extent = tuple[float, float, float, float]  # left, right, bottom and top

MARGIN = 0.06  # around the points, as a share of their range
SQUARE_UP_TO = 4.0  # ranges of both features that differ by more have no scale in common
PICTURE_WIDTH = 6.0  # inches
LEGEND_DROP = 3.6  # in units of the font: below ticks and labels
SIZE = 4.8, 3.6  # inches, of a picture of points alone
POINTS_MARGIN = 0.05  # around them, as a share of their range


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


def anchors_of(model: Any, X: ArrayLike, y: ArrayLike) -> Codes:
    """Rows that detectors are built on, if these are the data that the model was fitted on."""
    trace = trace_of(model, X, y)
    return np.asarray(() if trace is None else trace.anchors, dtype=np.intp)


def _data_for(model: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Codes, tuple[Any, ...]]:
    """Points, the positions of their labels, and the labels of the classes, for a model of two features."""
    # Networks and constructions know no labels and no names of features.
    bare = isinstance(model, Network | Construction)
    if not bare:
        check_fitted(model)
    if (n := network_of(model).n_features if bare else int(model.n_features_in_)) != 2:
        raise DataError(f"this is drawn of a model of 2 features, and this one has {n}: fit it on two columns")
    points = dense_rows(as_points(X), slice(None))
    if points.shape[1] != 2:
        raise DataError(f"X must have 2 columns, got shape {points.shape}")
    return points, *_classes(model, bare, as_labels(y, len(points)))


def _classes(model: Any, bare: bool, labels: NDArray[Any]) -> tuple[Codes, tuple[Any, ...]]:
    """Positions of the labels among the classes, and the classes."""
    # Bare networks know class indices only: as many other labels are taken for them, in their order.
    classes = sorted(network_of(model).decoder.classes) if bare else model.classes_.tolist()
    codes = class_indices(labels, classes)
    if (codes < 0).any():
        found = distinct_labels(labels)
        if bare and len(found) == len(classes):
            return np.searchsorted(found, labels), tuple(found.tolist())
        unknown = np.unique(labels[codes < 0]).tolist()
        raise DataError(f"y holds labels that the model does not know: {', '.join(map(repr, unknown[:5]))}")
    return codes, tuple(classes)


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, in their order."""
    try:
        return np.unique(labels)
    except TypeError as error:
        raise DataError(f"the labels in y have no order ({error}): use numbers or text") from None


def _comparable(size: Floats) -> bool:
    """Return whether the ranges of both features are of one order, so that equal scales show something."""
    return bool(size.max() <= SQUARE_UP_TO * size.min())


def _extent(points: Floats, equal: bool) -> Extent:
    """Bounding box of the points with a margin, the same on all sides where scales are equal."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = high - low
    # A range of zero still needs an interval of its own, in proportion to where it is.
    pad = MARGIN * np.where(equal, size.max(), size) * (1 if _comparable(size) else 1.5)
    pad = np.where(pad > 0, pad, np.maximum(np.abs(low), 1.0))
    (left, bottom), (right, top) = low - pad, high + pad
    return float(left), float(right), float(bottom), float(top)


def hyperplanes_of(network: Network) -> tuple[NDArray[Any], Floats]:
    """Weights and biases of the first layer."""
    first = network.layers[0]
    weights = first.weights
    if not isinstance(weights, Dense | Sparse) or network.input_map != "identity":
        raise ParameterError("hyperplanes can be drawn for a first layer on the features themselves only")
    lines = weights.rows.toarray() if isinstance(weights, Sparse) else weights.values
    return lines, np.asarray(first.bias, dtype=np.float64)


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
        """Lay out the picture of a model and its data."""
        resolution = check_integer("resolution", resolution, at_least=2)
        points, codes, classes = _data_for(model, X, y)
        extent = _extent(points, _comparable(np.ptp(points, axis=0)) if equal is None else equal)
        if equal is None:
            equal = _comparable(np.array([extent[1] - extent[0], extent[3] - extent[2]]))
        given = getattr(model, "feature_names_in_", getattr(X, "columns", None))
        first, second = ("$x_1$", "$x_2$") if given is None else map(str, given)
        return cls(points, codes, classes, (first, second), extent, equal, resolution)

    @property
    def size(self) -> tuple[float, float]:
        """Size of the figure in inches: axes at their aspect, then labels, title and legend."""
        left, right, bottom, top = self.extent
        aspect = (right - left) / (top - bottom) if self.equal else 4 / 3
        return PICTURE_WIDTH, min((PICTURE_WIDTH - 0.8) / aspect, PICTURE_WIDTH) + 1.2

    @property
    def axes(self) -> tuple[Floats, Floats]:
        """Coordinates of the grid's columns and rows: middles of equal pieces."""
        left, right, bottom, top = self.extent
        # Middles, so that every pixel shows the answer at its own centre.
        steps, n = np.arange(self.resolution) + 0.5, self.resolution
        return left + (right - left) * steps / n, bottom + (top - bottom) * steps / n

    @property
    def grid(self) -> Floats:
        """All points of the grid, row by row from below."""
        return np.stack(np.meshgrid(*self.axes), axis=-1).reshape(-1, 2)

    def square(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values at the points of the grid, as rows and columns."""
        return values.reshape(self.resolution, self.resolution, *values.shape[1:])

    def show(self, ax: Axes, colors: Floats) -> None:
        """Draw the plane in the given colours, and its frame."""
        ax.imshow(self.square(colors), origin="lower", extent=self.extent, interpolation="antialiased", zorder=0)
        left, right, bottom, top = self.extent
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=self.names[0], ylabel=self.names[1])
        ax.set_aspect("equal" if self.equal else "auto")

    def contour(self, ax: Axes, values: NDArray[Any], level: float, **style: Any) -> None:
        """Draw the line along which values cross a level, if they do."""
        if values.min() < level < values.max():
            ax.contour(*self.axes, self.square(values), levels=[level], **style)

    def lines(self, ax: Axes, weights: NDArray[Any], biases: Floats, width: float | None = None) -> None:
        """Draw hyperplanes as thin lines, the thinner the more there are unless a width is given."""
        width = float(np.clip(12 / max(len(biases), 1), 0.15, 0.8)) if width is None else width
        for w, b in zip(np.asarray(weights, dtype=np.float64), biases, strict=True):
            if w.any():
                # Through the point of the line that is nearest to the origin.
                nearest = -b * w / (w @ w)
                along = nearest + np.array([-w[1], w[0]])
                ax.axline(tuple(nearest), tuple(along), color=GREY, linewidth=width, zorder=0.5)

    def points_by_class(self, ax: Axes, rows: Codes | None = None, **style: Any) -> None:
        """Draw the points, or some of them, each class in its colour and marker unless the style says otherwise."""
        # Smaller the more there are, so that points do not hide one another.
        some = np.arange(len(self.points)) if rows is None else rows
        size = float(np.clip(12000 / len(self.points), 9, 36))
        for k in range(len(self.classes)):
            own = self.points[some[self.codes[some] == k]]
            look = {"s": size, "marker": marker(k), "color": color(k), "edgecolors": [shade(k)]}
            ax.scatter(own[:, 0], own[:, 1], **{**look, "linewidths": 0.3, "zorder": 2.0, **style})

    def legend(self, ax: Axes, more: Sequence[Any] = (), face: str | None = None) -> None:
        """Draw a legend of the labels, then of further marks: marker, colour and text, or a handle."""
        from matplotlib.lines import Line2D

        marks = [(marker(k), face or color(k), str(label)) for k, label in enumerate(self.classes)]
        handles = [
            Line2D([], [], ls="", marker=one[0], color=one[1], markersize=10 if one[0] == "*" else 6, label=one[2])
            if isinstance(one, tuple)
            else one
            for one in [*marks, *more]
        ]
        ax.legend(
            handles=handles, ncols=min(4, len(handles)), loc="upper center", bbox_to_anchor=(0.5, 0.0),
            borderaxespad=LEGEND_DROP,
        )  # fmt: skip


def draw_balls(ax: Axes, centres: Floats, radii: Floats, **style: Any) -> None:
    """Draw circles around points."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    circles = [Circle((x, y), r) for (x, y), r in zip(centres.tolist(), radii.tolist(), strict=True)]
    ax.add_collection(PatchCollection(circles, **style))


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
    classes = distinct_labels(labels).tolist() if names is None else range(len(names))
    size = float(np.clip(9000 / max(len(points), 1), 1.5, 36))
    with axes_for(ax, SIZE) as own:
        for k, label in enumerate(classes):
            across, up = points[labels == label].T
            own.scatter(
                across, up, s=size, marker=marker(k), color=color(k), edgecolors=[shade(k)],
                linewidths=0.3 if size > 4 else 0.0, label=str(names[k] if names else label),
            )  # fmt: skip
        own.set(xlabel="$x_1$", ylabel="$x_2$")
        across, up = np.ptp(points, axis=0)
        if equal is None:
            equal = _comparable(np.array([across, up]))
        own.set_aspect("equal" if equal else "auto")
        own.margins(POINTS_MARGIN if equal else 2 * POINTS_MARGIN)
        if equal:  # the same margin on all sides, however thin the set
            pad = POINTS_MARGIN * max(across, up) or 1.0
            (left, bottom), (right, top) = points.min(axis=0) - pad, points.max(axis=0) + pad
            own.set(xlim=(left, right), ylim=(bottom, top))
        if legend:
            own.legend(
                loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=LEGEND_DROP, ncols=4,
                markerscale=max(1.0, 5 / size**0.5),
            )  # fmt: skip
    return own


def frame(ax: Axes, interpolates: bool) -> Axes:
    """Draw a thick dashed frame around axes whose network interpolates, a thin one around others.

    Examples
    --------
    >>> from exactfit.plots import frame, plot_points
    >>> ax = frame(plot_points([[0.0, 0.0], [1.0, 1.0]], [0, 1]), True)
    >>> ax.spines["top"].get_linewidth()
    2.6
    """
    check_axes(ax)
    for spine in ax.spines.values():
        spine.set(visible=True, color=INK, linewidth=2.6 if interpolates else 0.6)
        spine.set_linestyle((0, (4, 2)) if interpolates else "solid")
    return ax
