"""How a network comes about, as a moving picture: the first layer grows, then detectors are chosen one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.parameters import check_whole
from .._support.processes import write_whole
from ..exceptions import ParameterError
from ..network.detectors import Detectors
from .firing import plot_detector
from .plane import Picture, hyperplanes_of, network_of
from .regions import plot_regions
from .style import need_matplotlib, style
from .tessellation import plot_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[..., Any]

GROWTH = 12  # pictures of the growing first layer
LAST = 6  # how much longer the last picture stands than others
DPI = 90


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
        The training data.
    y : array of shape (n_samples,)
    path : path
        Of the file, with the ending ``.gif``.
    detectors : int
        How many at most, the first ones.
    frame_time : float
        Seconds that each picture stands.
    resolution : int
        Points of the plane that are looked at along each axis.

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
    steps = list(_steps(model, X, y, check_whole("detectors", detectors, at_least=0), resolution))
    frames = [Image.fromarray(_pixels(draw, picture.size)).quantize(64) for draw in steps]
    times = [int(1000 * frame_time)] * (len(frames) - 1) + [int(1000 * frame_time * LAST)]
    frames[0].save(octets := BytesIO(), format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    write_whole(to, octets.getvalue(), "the animation")
    return to


def _steps(model: Any, X: ArrayLike, y: ArrayLike, detectors: int, resolution: int) -> Iterator[Draw]:
    """What is drawn, one picture after the other."""
    width = len(hyperplanes_of(network_of(model))[1])
    for n in np.unique(np.geomspace(1, width, GROWTH).astype(int)).tolist():
        yield partial(plot_cells, model, X, y, hyperplanes=n, resolution=resolution)
    for k in range(min(detectors, len(Detectors.of(network_of(model)).limits))):
        yield partial(plot_detector, model, X, y, detector=k, resolution=resolution)
    yield partial(_regions, model, X, y, resolution=resolution)


def _regions(model: Any, X: ArrayLike, y: ArrayLike, ax: Axes, resolution: int) -> Axes:
    own = plot_regions(model, X, y, ax=ax, resolution=resolution)
    own.set_title("the regions")
    return own


def _pixels(draw: Draw, size: tuple[float, float]) -> Any:
    """A picture as an array of its pixels; no figure stays behind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=size, dpi=DPI)
        canvas: Any = FigureCanvasAgg(figure)
        draw(ax=figure.subplots())
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]
