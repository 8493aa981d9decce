"""What comes out of a comparison: one row for each contender, the table as text, and size against robust radius."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from .._support.console import as_frame, counted
from .._support.html import element, html_table, joined
from .._support.parameters import check_choice
from ..exceptions import DataError
from ..plots.style import GREY, axes_for, check_kind, color, documented, marker, shade
from .contenders import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

DEFAULT_WIDTH = 100  # letters of a line where there is no terminal
GAP = "  "  # between columns
FIGURE_SIZE = (8.4, 5.0)  # inches, with room for a legend at the side
SIZES = {
    "total_bits": "bits of all weights and biases",
    "parameters": "weights and biases",
    "nonzero": "weights and biases other than zero",
    "neurons": "neurons",
}
_LETTERS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**4, "k"))  # counts below 10,000 are written out


@dataclass(frozen=True, kw_only=True)
class Row:
    """How one contender did; None stands for what is not known.

    Attributes
    ----------
    name : str
    kind : {"construction", "trained network", "not a network"}
    depth, neurons, parameters, nonzero, distinct, bits_per_weight, total_bits, largest_weight
        See ``exactfit.lab.comparing.Sizes``.
    robust_radius : float or None
        Moving every training point by less than this Euclidean distance changes no answer: a lower bound.
    median_radius : float or None
        Half of the training points are proved to keep their answers when they move by this much.
    radius_method : str
        How that is known.
    radius_upper : float or None
        The smallest change found that changes an answer; see ``exactfit.lab.comparing``.
    build_seconds : float or None
        Wall time of the construction alone: without start-up, compilation, and what follows.
    accuracy : float or None
        Share of the points held out that the network itself gets right; undecided ones are wrong.
    predict_accuracy : float or None
        The same by the rule of ``InterpolatingClassifier.predict``, which decides all points by their scores:
        slack for networks of detectors, outputs for others that have one for each class.
    certified : bool
        Whether every training point is proved to be right.
    proof : str
        By which method.
    reason : str
        Why something is missing.

    Examples
    --------
    >>> from exactfit.lab.comparison import Row
    >>> Row(name="baum", kind="construction", reason="time limit of 60 s, while building").certified
    False
    """

    name: str
    kind: Kind
    depth: int | None = None
    neurons: int | None = None
    parameters: int | None = None
    nonzero: int | None = None
    distinct: int | None = None
    bits_per_weight: int | None = None
    total_bits: int | None = None
    largest_weight: float | None = None
    robust_radius: float | None = None
    median_radius: float | None = None
    radius_method: str = ""
    radius_upper: float | None = None
    build_seconds: float | None = None
    accuracy: float | None = None
    predict_accuracy: float | None = None
    certified: bool = False
    proof: str = ""
    reason: str = ""

    def __repr__(self) -> str:
        return f"<Row: {self.name}, {self.kind}, {'certified' if self.certified else 'no certificate'}>"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; numbers that are not finite become strings."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Comparison:
    """A table: one row for each construction and baseline, all built on the same points.

    Attributes
    ----------
    rows : tuple of Row
        In the order asked for.
    n_samples, n_held_out : int
        Points to build on, points held out.
    n_features, n_classes : int
    time_limit : float
        Seconds for each row.
    memory_limit : int
        Bytes for each row.
    random_state : int
    missing : tuple of str
        Names that did not get their turn, because the comparison was interrupted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> comparison = exactfit.compare(*load_iris(return_X_y=True), ["huang", "1-nn"])
    >>> [(row.name, row.certified, row.depth) for row in comparison.rows]
    [('huang', True, 1), ('1-nn', False, None)]
    >>> comparison["1-nn"].radius_method
    'half the separation, exact'
    """

    rows: tuple[Row, ...]
    n_samples: int
    n_held_out: int
    n_features: int
    n_classes: int
    time_limit: float
    memory_limit: int
    random_state: int
    missing: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Row:
        return {row.name: row for row in self.rows}[name]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Comparison: {counted(len(self.rows), 'row')}, {_headline(self)}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        table = [[row.name, *(cell(row) for _, cell in _COLUMNS)] for row in self.rows]
        reasons = [f"{row.name}: {row.reason}" for row in self.rows if row.reason]
        said = [element("div", line) for line in (*_winners(self), *reasons)]
        header = ["", *(name for name, _ in _COLUMNS)]
        return joined([element("strong", _headline(self)), html_table(header, table), *said])

    def to_text(self, width: int | None = None) -> str:
        """Headline, table, winners and reasons, at most ``width`` columns wide (as the terminal by default)."""
        width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if width is None else width
        lines = [_winners(self), [f"{row.name}: {row.reason}" for row in self.rows if row.reason]]
        lines += [[f"interrupted, so not run: {', '.join(self.missing)}"] if self.missing else []]
        parts = [_wrapped(_headline(self), width), *_blocks(self.rows, width)]
        parts += ["\n".join(_wrapped(line, width) for line in some) for some in lines]
        return "\n\n".join(part for part in parts if part)

    @property
    def smallest(self) -> Row | None:
        """The certified network of fewest bits."""
        return self._first(lambda row: row.total_bits)

    @property
    def most_robust(self) -> Row | None:
        """The certified network of largest proved robust radius."""
        return self._first(lambda row: None if row.robust_radius is None else -row.robust_radius)

    @property
    def fastest(self) -> Row | None:
        """The certified network built in the shortest time."""
        return self._first(lambda row: row.build_seconds)

    def _first(self, key: Callable[[Row], float | None]) -> Row | None:
        ranked = [(value, row) for row in self.rows if row.certified and (value := key(row)) is not None]
        return min(ranked, key=lambda pair: pair[0])[1] if ranked else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "rows"}
        return {**plain, "missing": list(self.missing), "rows": [row.to_dict() for row in self.rows]}

    def to_frame(self) -> Any:
        """A pandas frame, one line for each row, indexed by name."""
        columns = {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(Row)}
        return as_frame(columns).set_index("name")


def short_count(value: int | None) -> str:
    """A size, in short.

    Examples
    --------
    >>> from exactfit.lab.comparison import short_count
    >>> [short_count(value) for value in (None, 0, 9876, 50_618, 2_300_000)]
    ['-', '0', '9,876', '50.6k', '2.30M']
    """
    if value is None:
        return "-"
    for size, letter in _LETTERS:
        if value >= size:
            unit = 1000 if letter == "k" else size
            return f"{value / unit:#.3g}".rstrip(".") + letter
    return f"{value:,}"


def short_number(value: float | None) -> str:
    """A number to three digits.

    Examples
    --------
    >>> from exactfit.lab.comparison import short_number
    >>> [short_number(value) for value in (None, 0.0, 3.0, 0.01234, 2.4e11, float("inf"))]
    ['-', '0', '3', '0.0123', '2.4e+11', 'inf']
    """
    return "-" if value is None else f"{value:.3g}"


def short_share(value: float | None) -> str:
    """A share in per cent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def certified_by(row: Row) -> str:
    """The method of the proof, or why there is none."""
    return row.proof if row.certified else "no" if row.kind == "construction" else row.kind


_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("certified", certified_by),
    ("depth", lambda row: short_count(row.depth)),
    ("neurons", lambda row: short_count(row.neurons)),
    ("parameters", lambda row: short_count(row.parameters)),
    ("nonzero", lambda row: short_count(row.nonzero)),
    ("distinct", lambda row: short_count(row.distinct)),
    ("bits", lambda row: short_count(row.bits_per_weight)),
    ("total bits", lambda row: short_count(row.total_bits)),
    ("max weight", lambda row: short_number(row.largest_weight)),
    ("radius >=", lambda row: short_number(row.robust_radius)),
    ("median", lambda row: short_number(row.median_radius)),
    ("radius <=", lambda row: short_number(row.radius_upper)),
    ("seconds", lambda row: short_number(row.build_seconds)),
    ("held out", lambda row: short_share(row.accuracy)),
    ("by predict", lambda row: short_share(row.predict_accuracy)),
    ("radius by", lambda row: row.radius_method),
)
_WORDS = {"certified", "radius by"}  # read from the left; numbers are aligned on the right


def _headline(comparison: Comparison) -> str:
    held_out = f"{comparison.n_held_out:,} held out" if comparison.n_held_out else "none held out"
    return (
        f"built on {comparison.n_samples:,} points of {comparison.n_features:,} features "
        f"and {comparison.n_classes:,} classes, {held_out}; {comparison.time_limit:g} s each"
    )


def _wrapped(line: str, width: int) -> str:
    return textwrap.fill(line, max(width, 20), subsequent_indent="  ", break_on_hyphens=False)


def _blocks(rows: Sequence[Row], width: int) -> list[str]:
    """The table, cut into blocks that fit; each begins with the names."""
    names = _column("", [row.name for row in rows], left=True)
    blocks = [names]
    for title, cell in _COLUMNS:
        column = _column(title, [cell(row) for row in rows], left=title in _WORDS)
        if blocks[-1] is not names and len(blocks[-1][0]) + len(GAP) + len(column[0]) > width:
            blocks.append(names)
        blocks[-1] = [GAP.join(pair) for pair in zip(blocks[-1], column, strict=True)]
    return ["\n".join(line.rstrip() for line in block) for block in blocks]


def _column(title: str, cells: list[str], left: bool) -> list[str]:
    size = max(map(len, [title, *cells]))
    return [text.ljust(size) if left else text.rjust(size) for text in (title, *cells)]


def _winners(comparison: Comparison) -> list[str]:
    """Who is first among the certified networks."""
    smallest, robust, fastest = comparison.smallest, comparison.most_robust, comparison.fastest
    lines = []
    if smallest is not None:
        lines.append(f"smallest certified network: {smallest.name}, {short_count(smallest.total_bits)} bits")
    if robust is not None:
        lines.append(f"most robust: {robust.name}, at least {short_number(robust.robust_radius)}")
    if fastest is not None:
        lines.append(f"fastest to build: {fastest.name}, {short_number(fastest.build_seconds)} s")
    return lines


@documented
def plot_comparison(comparison: Comparison, ax: Axes | None = None, *, size: str = "total_bits") -> Axes:
    """Draw each network's size against its robust radius.

    A filled marker is the proved lower bound, the hollow one above it the smallest change
    found that changes an answer; the truth lies on the line between. Where nothing is proved
    there is the hollow one alone. The dashed line is half the separation: a network that fits
    all points cannot have more. Names stand beside the picture, from the smallest network to the largest.

    Parameters
    ----------
    comparison : Comparison
    {ax}
    size : {"total_bits", "parameters", "nonzero", "neurons"}

    {axes}

    Examples
    --------
    >>> from exactfit.lab.comparison import Comparison, Row
    >>> from exactfit.lab import plot_comparison
    >>> row = Row(name="baum", kind="construction", total_bits=4800, robust_radius=1e-6, radius_upper=1e-3)
    >>> facts = {"n_samples": 80, "n_held_out": 20, "n_features": 2, "n_classes": 2, "time_limit": 60.0}
    >>> ax = plot_comparison(Comparison((row,), **facts, memory_limit=2**30, random_state=0))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['baum']
    """
    check_kind(comparison, Comparison, "compare")
    check_choice("size", size, tuple(SIZES))
    rows = [row for row in comparison.rows if getattr(row, size) and (row.robust_radius or row.radius_upper)]
    rows.sort(key=lambda row: float(getattr(row, size)))
    if not rows:
        raise DataError("there is no network with a size and a radius to draw")
    with axes_for(ax, FIGURE_SIZE) as own:
        own.set(xscale="log", yscale="log", xlabel=SIZES[size], ylabel="robust radius: proved, and at most")
        named = [_draw(own, index, row, getattr(row, size)) for index, row in enumerate(rows)]
        named += _draw_limit(own, comparison)
        own.margins(0.08)
        own.legend(handles=named, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return own


def _draw(ax: Axes, index: int, row: Row, size: float) -> Line2D:
    low, high = row.robust_radius or None, row.radius_upper or None
    look: dict[str, Any] = {"color": color(index), "marker": marker(index), "markersize": 7, "linestyle": ""}
    look |= {"markeredgecolor": shade(index, 0.75), "label": row.name}
    if low is not None and high is not None:
        ax.plot([size, size], [low, high], color=shade(index, 0.75), linewidth=1.0, alpha=0.6)
    hollow = ax.plot(size, high, markerfacecolor="white", **look) if high is not None else []
    filled = ax.plot(size, low, **look) if low is not None else []
    return (filled or hollow)[0]


def _draw_limit(ax: Axes, comparison: Comparison) -> list[Line2D]:
    """Half the separation, as the row of the nearest neighbour knows it."""
    look: dict[str, Any] = {"color": GREY, "linewidth": 1.0, "linestyle": "--", "label": "half the separation"}
    return [
        ax.axhline(row.robust_radius, **look) for row in comparison.rows if row.name == "1-nn" and row.robust_radius
    ]
