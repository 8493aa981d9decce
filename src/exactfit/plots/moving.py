"""How far points may move and keep their answers: proved balls around them, and how many may move how far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..certificate import Certificate, certify
from ..exceptions import ParameterError
from .plane import Floats, Picture, network_of, trace_of
from .regions import plot_regions
from .style import GREY, INK, axes_for, color, documented, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BALL_ALPHA = 0.1  # opacity of a ball around a point
SIZE = 5.6, 4.2  # inches


@documented
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
    {ax}
    {resolution}
    legend : bool

    {axes}

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


@documented
def plot_radii(certificates: Certificate | Mapping[str, Certificate], ax: Axes | None = None) -> Axes:
    """Draw how many points are proved to keep their answers when they move so far.

    A line for each certificate; where a network has a margin, a dashed line at it. Points that are wrong or given up
    may not move at all: a line begins below 1 then.

    Parameters
    ----------
    certificates : Certificate, or mapping of str to Certificate
        With ``radii``: as ``certify(..., radii=True)`` makes them.
    {ax}

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier, certify
    >>> from exactfit.plots import plot_radii
    >>> X, y = make_moons(60, noise=0.05, random_state=0)
    >>> models = {name: InterpolatingClassifier(margin=name, random_state=0).fit(X, y) for name in ("0%", "50%")}
    >>> ax = plot_radii({name: certify(model, X, y, radii=True) for name, model in models.items()})
    >>> ax.get_xscale(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('log', ['0%', '50%'])
    """
    named = certificates if isinstance(certificates, Mapping) else {"": certificates}
    if not all(isinstance(one, Certificate) and one.radii is not None for one in named.values()):
        raise ParameterError("this picture is of certificates with radii, as certify(..., radii=True) makes them")
    with axes_for(ax, SIZE) as own:
        for k, (name, one) in enumerate(named.items()):
            distances, shares = radii_curve(np.asarray(one.radii))
            own.step(distances, shares, where="pre", color=color(k), label=name)
            if one.margin:
                own.axvline(one.margin, color=color(k), linestyle="dashed", linewidth=1.0)
        own.set(xscale="log", ylim=(0, 1.02), xlabel="distance", ylabel="share of points that may move so far")
        own.grid(color=GREY, alpha=0.25)
        if any(named):
            own.legend(loc="lower left")
    return own


def radii_curve(radii: Floats) -> tuple[Floats, Floats]:
    """Radii above zero, ascending, and the share of all points that have at least that.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.plots.moving import radii_curve
    >>> radii_curve(np.array([0.5, 0.0, np.nan, 0.25]))
    (array([0.25, 0.5 ]), array([0.5 , 0.25]))
    """
    above = np.sort(radii[radii > 0])
    return above, np.arange(len(above), 0, -1) / max(len(radii), 1)
