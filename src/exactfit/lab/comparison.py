"""``compare``: every construction and the usual baselines on one data set, split once for all.

Each contender builds, is measured and proves in a process of its own, which reports after every stage; its row says
what was known when it ended. Two things are measured of all alike.

*Sizes.* Weights and biases of all layers are counted, the output's included. Zeros of a dense layer are numbers like
others; those of a sparse one are not stored, and neither are positions. Numbers that several units share are counted
each time, but once in ``distinct``. Bits are those of the plainest format that holds an array exactly: 1 for 0/1 masks,
``bit_length + 1`` for each integer, else 32 for each if float32 holds them all, else 64.

*An upper bound of the robust radius.* From each probe, a training point, goes a segment to the nearest training point
of another label. Somewhere between the answers change; bisection finds such a place. The smallest distance over all
probes bounds the robust radius of whatever gives the answers, network or not, from above.
"""

from __future__ import annotations

import math
import shutil
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame, counted, progress_bar
from .._support.html import element, html_table, joined
from .._support.parameters import check_choice, check_integer, check_number
from .._support.processes import Limits, Reporter
from .._support.threads import n_threads, usable_memory
from ..certificate.radius import Decide, Probes, nearest_others, smallest_change
from ..data import Codes, Floats, Labelled, Rows, resolve_conflicts
from ..data.matrices import dense_rows
from ..exceptions import AssumptionError, ContradictoryLabelsError, DataError, ExactfitError
from ..network import Layer
from ..network.weights import Masks, Sparse
from ..plots.style import GREY, axes_for, check_kind, color, documented, marker, shade
from .harness import INTERRUPTED, Contender, Facts, Kind, choose_contenders, run, text_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HELD_OUT = 0.2  # of every class: enough to tell accuracies of a per cent or so apart, few enough to build on the rest
MEASURING_FRACTION = 0.25  # of the time limit, for the accuracy and for the radius: proofs need the rest
ROW_TILE = 256  # points decided between two looks at the clock
WIDEST_FLOAT = 64  # bits: beyond them integers are no shorter than float64
N_PROBES = 200  # enough to come near the smallest change, few enough for the slowest contender
FEW_CLASSES, FEW_POINTS = 4, 32  # of each class: what it takes to compile all that a contender calls
DEFAULT_WIDTH = 100  # letters of a line where there is no terminal
FIGURE_SIZE = (8.4, 5.0)  # inches, with room for a legend at the side
SIZES = {
    "total_bits": "bits of all weights and biases",
    "parameters": "weights and biases",
    "nonzero": "weights and biases other than zero",
    "neurons": "neurons",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contender of a comparison; None stands for what is not known.

    Attributes
    ----------
    name : str
    kind : {"construction", "trained network", "not a network"}
    depth : int or None
        Layers with an activation, that is without the output.
    neurons : int or None
        Units of all layers, the output's included.
    parameters, nonzero : int or None
        Weights and biases: all, those other than zero.
    distinct : int or None
        Different numbers other than zero, layer by layer: what is left when equal numbers of a layer are shared.
    bits_per_weight, total_bits : int or None
        Bits of the widest weight or bias, and of all that is stored.
    largest_weight : float or None
        Largest absolute value; infinite beyond float64, where ``bits_per_weight`` tells.
    robust_radius : float or None
        Moving every training point by less than this Euclidean distance changes no answer: a lower bound.
    median_radius : float or None
        Half of the training points are proved to keep their answers when they move by this much.
    radius_method : str
        How that is known.
    radius_upper : float or None
        The smallest change found that changes an answer.
    build_seconds : float or None
        Wall time of the construction alone: without start-up, compilation, and what follows.
    accuracy : float or None
        Fraction of the points held out that the network itself gets right; undecided ones are wrong.
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

    def to_dict(self) -> Facts:
        """As JSON can hold it; numbers that are not finite become strings."""
        plain = asdict(self)
        return {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()}


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
        Names that were not done when the comparison was interrupted.

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
        return f"<Comparison: {counted(len(self.rows), 'row')}, {self._headline()}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        table = [[row.name, *(cell(row) for cell in COLUMNS.values())] for row in self.rows]
        notes = [element("div", line) for line in (*self._winners(), *self._reasons())]
        return joined([element("strong", self._headline()), html_table(["", *COLUMNS], table), *notes])

    def to_text(self, width: int | None = None) -> str:
        """Headline, table, winners and reasons, at most ``width`` columns wide (as the terminal by default)."""
        width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if width is None else width
        interrupted = [f"interrupted, so not run: {', '.join(self.missing)}"] if self.missing else []
        fill = partial(textwrap.fill, width=max(width, 20), subsequent_indent="  ", break_on_hyphens=False)
        texts = [self._headline()], self._winners(), self._reasons(), interrupted
        head, *notes = ["\n".join(map(fill, lines)) for lines in texts]
        blocks = text_blocks(self.rows, COLUMNS, width, words=("certified", "radius by"))
        return "\n\n".join([head, *blocks, *filter(None, notes)])

    def _headline(self) -> str:
        held_out = f"{self.n_held_out:,} held out" if self.n_held_out else "none held out"
        return (
            f"built on {self.n_samples:,} points of {self.n_features:,} features "
            f"and {self.n_classes:,} classes, {held_out}; {self.time_limit:g} s each"
        )

    def _reasons(self) -> list[str]:
        return [f"{row.name}: {row.reason}" for row in self.rows if row.reason]

    def _winners(self) -> list[str]:
        """Name the first among the certified networks."""
        lines = []
        if (smallest := self.smallest) is not None:
            lines.append(f"smallest certified network: {smallest.name}, {short_count(smallest.total_bits)} bits")
        if (robust := self.most_robust) is not None:
            lines.append(f"most robust: {robust.name}, at least {short_number(robust.robust_radius)}")
        if (fastest := self.fastest) is not None:
            lines.append(f"fastest to build: {fastest.name}, {short_number(fastest.build_seconds)} s")
        return lines

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

    def to_dict(self) -> Facts:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "missing": list(self.missing), "rows": [row.to_dict() for row in self.rows]}

    def to_frame(self) -> Any:
        """Return a pandas frame, one line for each row, indexed by name."""
        columns = {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(Row)}
        return as_frame(columns).set_index("name")


def short_count(value: int | None) -> str:
    """Format a size: 9,876, 50.6k, 2.30M."""
    if value is None:
        return "-"
    for size, unit, letter in ((10**12, 10**12, "T"), (10**9, 10**9, "G"), (10**6, 10**6, "M"), (10**4, 1000, "k")):
        if value >= size:
            return f"{value / unit:#.3g}".rstrip(".") + letter
    return f"{value:,}"


def short_number(value: float | None) -> str:
    """Format a number to three digits."""
    return "-" if value is None else f"{value:.3g}"


def short_fraction(value: float | None) -> str:
    """Format a fraction in per cent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def certified_by(row: Row) -> str:
    """Return the method of the proof, or why there is none."""
    return row.proof if row.certified else "no" if row.kind == "construction" else row.kind


COLUMNS: dict[str, Callable[[Row], str]] = {
    "certified": certified_by,
    "depth": lambda row: short_count(row.depth),
    "neurons": lambda row: short_count(row.neurons),
    "parameters": lambda row: short_count(row.parameters),
    "nonzero": lambda row: short_count(row.nonzero),
    "distinct": lambda row: short_count(row.distinct),
    "bits": lambda row: short_count(row.bits_per_weight),
    "total bits": lambda row: short_count(row.total_bits),
    "max weight": lambda row: short_number(row.largest_weight),
    "radius >=": lambda row: short_number(row.robust_radius),
    "median": lambda row: short_number(row.median_radius),
    "radius <=": lambda row: short_number(row.radius_upper),
    "seconds": lambda row: short_number(row.build_seconds),
    "held out": lambda row: short_fraction(row.accuracy),
    "by predict": lambda row: short_fraction(row.predict_accuracy),
    "radius by": lambda row: row.radius_method,
}


@dataclass(frozen=True, eq=False)
class Split:
    """Points to build on, points held out, and probes for the robust radius."""

    X: Floats
    y: Codes  # class indices
    rows: Rows  # of the data as given
    others: Floats  # held out
    other_codes: Codes
    probes: Probes


def compare(
    X: Any, y: Any, constructions: Any = "all", time_limit: float = 60.0, *, memory_limit: int | None = None,
    conflicts: str = "raise", random_state: int = 0, n_jobs: int | None = None, verbose: bool = False,
) -> Comparison:  # fmt: skip
    """Build networks by every construction, certify them, and put them side by side.

    Four fifths of every class, the same for all, are built on; the rest is held out. Each
    construction runs in a process of its own and is ended when its time or memory is out;
    its row then says so. Ctrl-C ends the comparison and leaves the rows so far.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    constructions : "all", name, Constructor, or several of these
        Names are those of ``exactfit.constructions.CONSTRUCTORS`` and, as baselines that are not
        certified, ``"1-nn"``, ``"decision-tree"`` and ``"mlp"``. A mapping gives rows names
        of one's own: ``{"small groups": Baum(group_size=3)}``.
    time_limit : float
        Seconds for each: to build, evaluate and certify. Starting a process and compiling do not count.
    memory_limit : int or None
        Bytes for each, data that all share left out; half of the machine's memory by default.
        Kept where the system tells how much a process uses (Linux, macOS).
    conflicts : {"raise", "majority"}
        What to do about equal points with different labels, as in ``InterpolatingClassifier``.
    random_state : int
        Seed of the split, the probes and every construction. The same seed gives the same
        table, apart from seconds and from what the time limit cuts short.
    n_jobs : int or None
        How many to run at a time. Seconds are most comparable one at a time, the default.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> comparison = exactfit.compare(*load_iris(return_X_y=True), "huang")
    >>> comparison.n_samples, comparison.n_held_out, comparison["huang"].certified
    (120, 30, True)
    """
    contenders = choose_contenders(constructions)
    seconds = check_number("time_limit", time_limit, above=0.0)
    memory = usable_memory() // 2 if memory_limit is None else check_integer("memory_limit", memory_limit, at_least=1)
    seed = check_integer("random_state", random_state, at_least=0)
    check_choice("conflicts", conflicts, ("raise", "majority"))
    data, n_classes = prepare(X, y, conflicts, seed)
    functions = {one.name: partial(contend, contender=one, random_state=seed, time_limit=seconds) for one in contenders}
    with progress_bar(bool(verbose)) as progress:
        found = run(functions, data, Limits(seconds, memory, n_threads(n_jobs)), progress)
    rows = []
    for one in contenders:
        facts, end = found.get(one.name, ({}, INTERRUPTED))
        stage = facts.pop("stage", "starting")
        if end == INTERRUPTED:
            continue
        # Whoever was ended, or ended by itself, in the middle of a stage keeps what is known from the stages before.
        if stage not in ("done", "failed"):
            built = "built, but not certified: " if "build_seconds" in facts else ""
            facts["reason"] = f"{built}{end or 'ended with exit code 0'}, while {stage}"
        rows.append(Row(name=one.name, kind=one.kind, **facts))
    there = {row.name for row in rows}
    return Comparison(
        rows=tuple(rows),
        n_samples=len(data.y),
        n_held_out=len(data.other_codes),
        n_features=data.X.shape[1],
        n_classes=n_classes,
        time_limit=seconds,
        memory_limit=memory,
        random_state=seed,
        missing=tuple(one.name for one in contenders if one.name not in there),
    )


def prepare(X: Any, y: Any, conflicts: str, random_state: int) -> tuple[Split, int]:
    """Check and split; also return how many classes there are."""
    given = Labelled.of(X, y)
    left, codes = np.unique(resolve_conflicts(given.X, given.codes, conflicts), return_inverse=True)
    if len(left) < 2:
        raise DataError("only one class is left after conflicts='majority': correct the labels of equal points")
    # One generator for split and probes, whatever is compared: the same seed gives all tables the same points.
    rng = np.random.default_rng(random_state)
    kept, held_out = hold_out(codes, rng)
    points = np.ascontiguousarray(dense_rows(given.X, slice(0, given.X.shape[0])), dtype=np.float64)
    probes = choose_probes(points[kept], codes[kept], rng)
    return Split(points[kept], codes[kept], kept, points[held_out], codes[held_out], probes), len(left)


def hold_out(codes: Codes, random_state: np.random.Generator, fraction: float = HELD_OUT) -> tuple[Rows, Rows]:
    """Rows to build on and rows held out: a fraction of every class, rounded, of which one stays at least."""
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        rows = random_state.permutation(np.flatnonzero(codes == code))
        held_out[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~held_out).astype(np.int64), np.flatnonzero(held_out).astype(np.int64)


def choose_probes(X: Floats, codes: Codes, random_state: np.random.Generator, count: int = N_PROBES) -> Probes:
    """Segments to the nearest points of other labels from some points, drawn without replacement."""
    rows = np.sort(random_state.choice(len(codes), min(count, len(codes)), replace=False))
    return Probes(X[rows], X[nearest_others(X, codes, rows)])


def contend(report: Reporter, data: Split, contender: Contender, random_state: int, time_limit: float) -> None:
    """Build, measure, prove; report after each."""
    if contender.is_known:
        # Import and compile whatever would count as building time otherwise, on a few points of some classes. The clock
        # of the time limit starts with the first report, so none of this counts.
        found = [np.flatnonzero(data.y == code)[:FEW_POINTS] for code in np.unique(data.y)[:FEW_CLASSES]]
        few = np.sort(np.concatenate(found))
        with suppress(ExactfitError):  # too few points for some recipes; they compile when they run
            contender.build(data.X[few], np.unique(data.y[few], return_inverse=True)[1], 0, 0.0).prove()
    report(stage="building")
    limit = MEASURING_FRACTION * time_limit
    try:
        start = time.perf_counter()
        built = contender.build(data.X, data.y, random_state, time_limit)
        report(stage="measuring", build_seconds=time.perf_counter() - start, reason=built.reason)
        if built.layers:
            report(**sizes(built.layers))
        bare = accuracy(built.decide, data, limit)
        report(accuracy=bare, predict_accuracy=bare if built.predict is None else None)
        if built.predict is not None:
            report(predict_accuracy=accuracy(built.predict, data, limit))
        report(stage="certifying", radius_upper=smallest_change(built.decide, data.probes, limit))
        # Last, since it may take longest: a row without a proof has all the rest.
        proof = built.prove()
        report(**{**proof, "stage": "done", "reason": built.reason or proof.get("reason", "")})
    except Exception as error:
        # In one line, with rows as the caller's data have them.
        if isinstance(error, AssumptionError):
            error = AssumptionError(error.assumption, [int(data.rows[row]) for row in error.rows], error.remedy)
        elif isinstance(error, ContradictoryLabelsError):
            error = ContradictoryLabelsError([(int(data.rows[a]), int(data.rows[b])) for a, b in error.pairs])
        text = " ".join(str(error).split())
        kind = "" if isinstance(error, ExactfitError) else f"{type(error).__name__}: "
        report(stage="failed", reason=f"{kind}{text}".removesuffix(": "))


def accuracy(decide: Decide, data: Split, time_limit: float) -> float | None:
    """Return the fraction of the points held out that are right, None if there are none or time is out."""
    end, right, total = time.monotonic() + time_limit, 0, len(data.other_codes)
    for start in range(0, total, ROW_TILE):
        tile = slice(start, start + ROW_TILE)
        right += int(np.count_nonzero(decide(data.others[tile]) == data.other_codes[tile]))
        if time.monotonic() > end and start + ROW_TILE < total:
            return None
    return right / total if total else None


def sizes(layers: Sequence[Layer]) -> Facts:
    """Count what layers hold, as fields of a row."""
    stored = [(_stored(layer), layer.bias) for layer in layers]
    formats = [bits_of(array) for pair in stored for array in pair]
    for index, layer in enumerate(layers):
        if isinstance(layer.weights, Masks):  # one bit each, where all others are as wide as their numbers ask for
            formats[2 * index] = 1, math.prod(layer.weights.shape)
    try:
        largest = max(float(np.abs(array).max(initial=0)) for pair in stored for array in pair)
    except OverflowError:  # integers beyond float64
        largest = math.inf
    different = [np.unique(np.concatenate([np.unique(array) for array in pair])) for pair in stored]
    return {
        "depth": sum(layer.activation is not None for layer in layers),
        "neurons": sum(layer.n_units for layer in layers),
        "parameters": sum(layer.n_units * (layer.weights.shape[1] + 1) for layer in layers),  # as papers count
        "nonzero": sum(layer.weights.n_nonzero + int(np.count_nonzero(layer.bias)) for layer in layers),
        "distinct": sum(int(np.count_nonzero(array)) for array in different),
        "bits_per_weight": max(widest for widest, _ in formats),
        "total_bits": sum(total for _, total in formats),
        "largest_weight": largest,
    }


def _stored(layer: Layer) -> NDArray[Any]:
    """Numbers that a layer's weights hold; of masks the two there are."""
    weights = layer.weights
    if isinstance(weights, Masks):
        return np.array([0, weights.sign] if weights.n_nonzero else [0])
    return np.ravel(weights.matrix.data if isinstance(weights, Sparse) else weights.values)


def bits_of(values: NDArray[Any]) -> tuple[int, int]:
    """Return the bits of the widest of some numbers, and of all of them."""
    if not values.size:
        return 0, 0
    if values.dtype == object:
        each = [int(value).bit_length() + 1 for value in values.flat]
        return max(each), sum(each)
    if values.dtype.kind in "iu" or (values == np.trunc(values)).all():
        lengths = np.frexp(np.abs(values.astype(np.float64)))[1] + 1  # frexp's exponent is the bit length
        if lengths.max() <= WIDEST_FLOAT:
            return int(lengths.max()), int(lengths.sum())
    with np.errstate(over="ignore"):  # what overflows is not equal
        width = 32 if (values.astype(np.float32) == values).all() else WIDEST_FLOAT
    return width, width * values.size


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
    named = []
    with axes_for(ax, FIGURE_SIZE) as own:
        own.set(xscale="log", yscale="log", xlabel=SIZES[size], ylabel="robust radius: proved, and at most")
        # A legend beside the picture in place of names in it: two dozen names would cover the markers.
        for index, row in enumerate(rows):
            x, low, high = getattr(row, size), row.robust_radius, row.radius_upper
            look: Facts = {"color": color(index), "marker": marker(index), "markersize": 7, "linestyle": ""}
            look |= {"markeredgecolor": shade(index, 0.75), "label": row.name}
            if low and high:
                own.plot([x, x], [low, high], color=shade(index, 0.75), linewidth=1.0, alpha=0.6)
            hollow = own.plot(x, high, markerfacecolor="white", **look) if high else []
            filled = own.plot(x, low, **look) if low else []
            named.append((filled or hollow)[0])
        for row in comparison.rows:
            if row.name == "1-nn" and row.robust_radius:
                look = {"color": GREY, "linewidth": 1.0, "linestyle": "--", "label": "half the separation"}
                named.append(own.axhline(row.robust_radius, **look))
        own.margins(0.08)
        own.legend(handles=named, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return own
