"""How far points may move and keep their answers: proved balls around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..certificate import certify
from .plane import Floats, Picture, network_of, trace_of
from .regions import plot_regions
from .style import INK, axes_for, color, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BALL_ALPHA = 0.1  # opacity of a ball around a point


def plot_margins(
    model: Any, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, resolution: int = 300, legend: bool = True
) -> Axes:
    """Draw how far training points may move without changing their answers: a proved ball around each.

    Where the network was built with a margin, a dashed ring of that radius around every point.

    Parameters
    ----------
    model : InterpolatingClassifier, Construction or Network
        Of two features.
    X : array or frame of shape (n_samples, 2)
        Points that the model gets right; those that it gets wrong have no ball.
    y : array of shape (n_samples,)
    ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.
    resolution : int
        Of the regions, in each direction.
    legend : bool

    Returns
    -------
    matplotlib axes

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
        plot_regions(model, X, y, ax=own, resolution=resolution, anchors=False, legend=legend)
        _draw_balls(own, picture, np.nan_to_num(proved.radii))
        if margin:
            _draw_balls(own, picture, np.full(len(picture.points), margin), fill=False)
        least = max(margin, float(proved.robust_radius or 0.0))
        own.set_title(f"every point may move by {least:.3g}, the median by {np.median(proved.radii):.3g}")
    return own


def _draw_balls(ax: Axes, picture: Picture, radii: Floats, *, fill: bool = True) -> None:
    """Balls in the colours of the points' classes, or dashed rings in ink."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    balls = [Circle((float(p[0]), float(p[1])), float(r)) for p, r in zip(picture.points, radii, strict=True)]
    faces = [(*tint(int(k), 1.0), BALL_ALPHA) for k in picture.codes] if fill else "none"
    edges = [color(int(k)) for k in picture.codes] if fill else INK
    line: Any = {"linewidths": 0.6, "linestyles": "solid" if fill else "dashed", "zorder": 1.5}
    ax.add_collection(PatchCollection(balls, facecolors=faces, edgecolors=edges, **line))
