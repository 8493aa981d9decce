"""One look for all pictures: colours, markers, lines, and the context that sets them.

Colours are those of Okabe and Ito, which people with colour-blindness tell apart, ordered
so that neighbours differ in lightness too. Every class also has its own marker, so that
nothing rests on colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Channels = tuple[float, float, float]
Draw = TypeVar("Draw", bound=Callable[..., Any])

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#F0E442", "#CC79A7", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "h")
# Beside their colours, curves differ in how they are dashed.
LINES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
INK = "#222222"
GREY = "#8C8C8C"

# What docstrings of pictures say in the same words.
_WORDS = {
    "{ax}": """ax : matplotlib axes, optional
        Where to draw; a new figure in exactfit's style by default.""",
    "{resolution}": """resolution : int
        Points of the plane that are looked at along each axis.""",
    "{axes}": """Returns
    -------
    matplotlib axes""",
}

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
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.4,
    "lines.linewidth": 1.6,
}


def documented(draw: Draw) -> Draw:
    """The function, its docstring with the words that pictures share in place of their names in braces."""
    for name, words in _WORDS.items():
        draw.__doc__ = (draw.__doc__ or "").replace(name, words)
    return draw


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
    colors = {"axes.prop_cycle": matplotlib.cycler(color=PALETTE)}
    with matplotlib.rc_context({**_SETTINGS, **colors, **(settings or {})}):
        yield


def need_matplotlib() -> Any:
    """The matplotlib package, or an error that says how to get it."""
    try:
        import matplotlib as package
    except ImportError as error:
        raise MissingDependencyError("pictures need matplotlib: pip install matplotlib") from error
    return package


def color(index: int) -> str:
    """The colour of class ``index``: the palette, then the palette made lighter, then all over again.

    Examples
    --------
    >>> from exactfit.plots.style import color, marker
    >>> color(0), marker(0)
    ('#0072B2', 'o')
    >>> color(8), marker(8)
    ('#73B1D5', '>')
    """
    own = PALETTE[index % len(PALETTE)]
    lighter = index // len(PALETTE) % 2 == 1
    return _hexadecimal(_towards(_channels(own), 1.0, 0.45)) if lighter else own


def marker(index: int) -> str:
    """The marker of class ``index``; with the colour it is unique up to 176 classes."""
    return MARKERS[index % len(MARKERS)]


def tint(index: int, strength: float) -> Channels:
    """The colour of class ``index`` mixed with white: 0 is white, 1 the colour itself.

    Examples
    --------
    >>> from exactfit.plots.style import tint
    >>> tint(7, 0.25)
    (0.75, 0.75, 0.75)
    """
    return _towards(_channels(color(index)), 1.0, 1 - strength)


def shade(index: int, strength: float = 0.6) -> Channels:
    """The colour of class ``index`` mixed with black: 0 is black, 1 the colour itself.

    Examples
    --------
    >>> from exactfit.plots.style import shade
    >>> shade(0, 0.0)
    (0.0, 0.0, 0.0)
    """
    return _towards(_channels(color(index)), 0.0, 1 - strength)


def _channels(hexadecimal: str) -> Channels:
    """Red, green and blue, from 0 to 1."""
    red, green, blue = (int(hexadecimal[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def _hexadecimal(channels: Channels) -> str:
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in channels)


def _towards(channels: Channels, end: float, share: float) -> Channels:
    """A share of the way to white (1) or black (0)."""
    red, green, blue = (channel + share * (end - channel) for channel in channels)
    return red, green, blue


@contextmanager
def axes_for(ax: Axes | None, size: tuple[float, float] | None = None) -> Iterator[Axes]:
    """The given axes, or new ones in exactfit's style."""
    need_matplotlib()
    from matplotlib import pyplot as plt

    if ax is not None:
        check_axes(ax)
    with style() if ax is None else nullcontext():
        yield plt.subplots(figsize=size)[1] if ax is None else ax


def check_axes(ax: Any) -> None:
    """Refuse what nothing can be drawn on."""
    need_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ParameterError(f"ax must be matplotlib axes, as plt.subplots() makes them, got {type(ax).__name__}")


def check_kind(value: Any, kind: type, maker: str) -> None:
    """Refuse a picture of anything but what it is made for.

    Examples
    --------
    >>> from exactfit import Suspects
    >>> from exactfit.plots.style import check_kind
    >>> check_kind(3, Suspects, "find_suspects")
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: this picture is of a Suspects, as find_suspects makes it, got int
    """
    if not isinstance(value, kind):
        raise ParameterError(f"this picture is of a {kind.__name__}, as {maker} makes it, got {type(value).__name__}")
