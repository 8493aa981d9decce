"""One look for all pictures: colours, markers, lines, and the context that sets them.

Colours are those of Okabe and Ito, which people with colour-blindness tell apart, ordered so that neighbours differ in
lightness too. Every class also has its own marker, so that nothing rests on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._support.parameters import fill_docstring
from ..exceptions import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Channels = tuple[float, float, float]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#F0E442", "#CC79A7", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "h")
# Beside their colours, curves differ in how they are dashed.
LINES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
INK = "#222222"
GREY = "#8C8C8C"

# Blocks that docstrings of pictures share; a block may hold those after it.
documented = fill_docstring(
    plane="""X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
    {ax}""",
    training="""X : array or frame of shape (n_samples, 2)
    y : array of shape (n_samples,)
        The training data.
    {ax}""",
    look="""{resolution}
    legend : bool

    {axes}""",
    drawn="""{ax}

    {axes}""",
    ax="""ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.""",
    resolution="""resolution : int
        Points of the plane that are looked at along each axis.""",
    equal="""equal : bool, optional
        Give both axes the same scale; by default, unless one range is more than four times the other.""",
    axes="""Returns
    -------
    matplotlib axes""",
)

_SETTINGS: dict[str, Any] = {
    "figure.figsize": (5.6, 4.2),
    "figure.dpi": 120,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",  # nothing is cut off, whatever the aspect of the axes
    "savefig.pad_inches": 0.08,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same picture everywhere
    "font.size": 10,
    "text.color": INK,
    "axes.facecolor": "white",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.prop_cycle": f"cycler(color={list(PALETTE)})",
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.4,
    "lines.linewidth": 1.6,
}


@contextmanager
def style(settings: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Draw in exactfit's style inside a ``with`` block; outside, nothing changes.

    Parameters
    ----------
    settings : mapping, optional
        Further matplotlib settings (rcParams), which win over the style's own.

    Examples
    --------
    >>> import matplotlib
    >>> from exactfit.plots import style
    >>> before = matplotlib.rcParams["axes.spines.top"]
    >>> with style({"font.size": 12}):
    ...     matplotlib.rcParams["axes.spines.top"], matplotlib.rcParams["font.size"]
    (False, 12.0)
    >>> matplotlib.rcParams["axes.spines.top"] == before
    True
    """
    matplotlib = need_matplotlib()
    # In a context of its own: a user's settings are the same before and after.
    with matplotlib.rc_context({**_SETTINGS, **(settings or {})}):
        yield


def need_matplotlib() -> Any:
    """Return the matplotlib package, or raise with the way to get it."""
    try:
        import matplotlib as package
    except ImportError as error:
        raise MissingDependencyError("pictures need matplotlib: pip install matplotlib") from error
    return package


def color(index: int) -> str:
    """Colour of class ``index``: the palette, then the palette made lighter, then all over again."""
    own = PALETTE[index % len(PALETTE)]
    lighter = index // len(PALETTE) % 2 == 1
    return str(need_matplotlib().colors.to_hex(_mixed(own, 1.0, 0.45))).upper() if lighter else own


def marker(index: int) -> str:
    """Marker of class ``index``; with the colour it is unique up to 176 classes."""
    return MARKERS[index % len(MARKERS)]


def tint(index: int, strength: float) -> Channels:
    """Colour of class ``index`` mixed with white: 0 is white, 1 the colour itself."""
    return _mixed(color(index), 1.0, 1 - strength)


def shade(index: int, strength: float = 0.6) -> Channels:
    """Colour of class ``index`` mixed with black: 0 is black, 1 the colour itself."""
    return _mixed(color(index), 0.0, 1 - strength)


def _mixed(own: str, end: float, fraction: float) -> Channels:
    """Channels of a colour moved a fraction of the way to white (1) or black (0)."""
    red, green, blue = (channel + fraction * (end - channel) for channel in need_matplotlib().colors.to_rgb(own))
    return red, green, blue


@contextmanager
def axes_for(ax: Axes | None, size: tuple[float, float] | None = None) -> Iterator[Axes]:
    """Yield the given axes, or new ones in exactfit's style."""
    need_matplotlib()
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes

    if ax is None:
        with style():
            yield plt.subplots(figsize=size)[1]
    elif isinstance(ax, Axes):
        yield ax
    else:
        raise ParameterError(f"ax must be matplotlib axes, as plt.subplots() makes them, got {type(ax).__name__}")


def check_kind(value: Any, kind: type, maker: str) -> None:
    """Refuse anything but the kind of value that a picture is of."""
    if not isinstance(value, kind):
        raise ParameterError(f"this picture is of a {kind.__name__}, as {maker} makes it, got {type(value).__name__}")
