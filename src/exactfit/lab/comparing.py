"""``compare``: every construction and the usual baselines on one data set, split once for all.

Each contender builds, is looked at and proves in a process of its own, which reports after every stage; its row says
what was known when it ended. Two things are measured of all alike.

*Sizes.* Weights and biases of all layers are counted, the output's included. Zeros of a dense layer are numbers like
others; those of a sparse one are not stored, and neither are positions. Numbers that several units share are counted
each time, but once in ``distinct``. Bits are those of the plainest format that holds an array exactly: 1 for 0/1 masks,
``bit_length + 1`` for each whole number, else 32 for each if float32 holds them all, else 64.

*An upper bound of the robust radius.* From each probe, a training point, goes a segment to the nearest training point
of another label. Somewhere between the answers change; bisection finds such a place. The smallest distance over all
probes bounds the robust radius of whatever gives the answers, network or not, from above.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, progress_bar
from .._support.parameters import check_choice, check_integer, check_number
from .._support.processes import Limits, OwnProcess, Reporter, Shared, as_they_end
from .._support.threads import n_threads, usable_memory
from ..certificate.radius import Decide, Probes, nearest_others, smallest_change
from ..data import Labelled, resolve_conflicts
from ..data.matrices import dense_rows
from ..exceptions import AssumptionError, ContradictoryLabelsError, DataError, ExactfitError
from ..network import Layer
from ..network.weights import Masks, Sparse
from .comparison import Comparison, Row
from .contenders import Contender, choose_contenders

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

HELD_OUT = 0.2  # of every class: enough to tell accuracies of a per cent or so apart, few enough to build on the rest
LOOKING_SHARE = 0.25  # of the time limit, for the accuracy and for the radius: proofs need the rest
ROW_TILE = 256  # points decided between two looks at the clock
WIDEST_FLOAT = 64  # bits: beyond them whole numbers are no shorter than float64
N_PROBES = 200  # enough to come near the smallest change, few enough for the slowest contender
FEW_CLASSES, FEW_POINTS = 4, 32  # of each class: what it takes to compile all that a contender calls


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
    data, n_classes = prepare(X, y, conflicts, seed)
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder, progress_bar(bool(verbose)) as progress:
        rows = _rows(contenders, data, Path(folder), Limits(seconds, memory, n_threads(n_jobs)), seed, progress)
    names = [contender.name for contender in contenders]
    return Comparison(
        rows=tuple(rows[name] for name in names if name in rows),
        n_samples=len(data.y),
        n_held_out=len(data.other_codes),
        n_features=data.X.shape[1],
        n_classes=n_classes,
        time_limit=seconds,
        memory_limit=memory,
        random_state=seed,
        missing=tuple(name for name in names if name not in rows),
    )


def _rows(
    contenders: list[Contender], data: Split, folder: Path, limits: Limits, random_state: int, progress: Progress
) -> dict[str, Row]:
    """Rows by name; those so far if it is interrupted."""
    rows, at_work, shared = dict[str, Row](), dict[OwnProcess, Contender](), Shared(folder / "data", data)

    def start(contender: Contender) -> OwnProcess:
        own = folder / f"contender-{contender.name.encode().hex()}"
        process = OwnProcess(own, limits, contend, shared, contender, random_state, limits.time_limit)
        at_work[process] = contender
        return process

    def watch(process: OwnProcess) -> None:
        progress(at_work[process].name, round(process.seconds), round(limits.time_limit))

    arriving = as_they_end([partial(start, contender) for contender in contenders], limits.at_once, watch)
    with suppress(KeyboardInterrupt), closing(arriving):
        for process, end in arriving:
            contender = at_work[process]
            rows[contender.name] = _row(contender, process.facts(), end)
            progress("constructions", len(rows), len(contenders))
    return rows


def _row(contender: Contender, facts: dict[str, Any], end: str) -> Row:
    """What a contender reported, and how it ended if it did not finish."""
    stage = facts.pop("stage", "starting")
    if stage not in ("done", "failed"):
        built = "built, but not certified: " if "build_seconds" in facts else ""
        facts["reason"] = f"{built}{end or 'ended with exit code 0'}, while {stage}"
    return Row(name=contender.name, kind=contender.kind, **facts)


@dataclass(frozen=True, eq=False)
class Split:
    """Points to build on, points held out, and probes for the robust radius."""

    X: Floats
    y: Codes  # class indices
    rows: Rows  # where they stand in the data as given
    others: Floats  # held out
    other_codes: Codes
    starts: Floats  # of probes, see certificate.radius.Probes
    ends: Floats


def prepare(X: Any, y: Any, conflicts: str, random_state: int) -> tuple[Split, int]:
    """Check and split; also how many classes there are."""
    given = _agreeing(Labelled.of(X, y), conflicts)
    rng = np.random.default_rng(random_state)
    kept, held_out = hold_out(given.codes, rng)
    points = np.ascontiguousarray(dense_rows(given.X, slice(0, given.X.shape[0])), dtype=np.float64)
    train, codes = points[kept], given.codes[kept]
    probes = choose_probes(train, codes, rng)
    data = Split(train, codes, kept, points[held_out], given.codes[held_out], probes.starts, probes.ends)
    return data, len(given.classes)


def _agreeing(given: Labelled, how: str) -> Labelled:
    """The same points, equal ones with equal labels."""
    check_choice("conflicts", how, ("raise", "majority"))
    kept = resolve_conflicts(given.X, given.codes, how)
    left, codes = np.unique(kept, return_inverse=True)
    if len(left) < 2:
        raise DataError("only one class is left after conflicts='majority': correct the labels of equal points")
    return Labelled(given.X, given.y, codes.astype(np.int64), given.classes[left])


def hold_out(codes: Codes, random_state: np.random.Generator, share: float = HELD_OUT) -> tuple[Rows, Rows]:
    """Rows to build on and rows held out: a share of every class, rounded, of which one stays at least.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparing import hold_out
    >>> kept, held_out = hold_out(np.repeat([0, 1, 2], [10, 5, 1]), np.random.default_rng(0))
    >>> len(kept), np.repeat([0, 1, 2], [10, 5, 1])[held_out]
    (13, array([0, 0, 1]))
    """
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        rows = random_state.permutation(np.flatnonzero(codes == code))
        held_out[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~held_out).astype(np.int64), np.flatnonzero(held_out).astype(np.int64)


def choose_probes(X: Floats, codes: Codes, random_state: np.random.Generator, count: int = N_PROBES) -> Probes:
    """Segments from some points, drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparing import choose_probes
    >>> X, codes = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    >>> probes = choose_probes(X, codes, np.random.default_rng(0))
    >>> probes.starts.ravel(), probes.ends.ravel()
    (array([0., 1., 3.]), array([3., 3., 1.]))
    """
    rows = np.sort(random_state.choice(len(codes), min(count, len(codes)), replace=False))
    return Probes(X[rows], X[nearest_others(X, codes, rows)])


def contend(report: Reporter, data: Split, contender: Contender, random_state: int, time_limit: float) -> None:
    """Build, look, prove; report after each."""
    if contender.is_known:
        warm_up(contender, data)
    report(stage="building")
    try:
        _stages(contender, data, random_state, time_limit, report)
    except Exception as error:
        report(stage="failed", reason=in_one_line(error, data.rows))


def warm_up(contender: Contender, data: Split) -> None:
    """Import and compile whatever would count as building time otherwise, on a few points of some classes."""
    found = [np.flatnonzero(data.y == code)[:FEW_POINTS] for code in np.unique(data.y)[:FEW_CLASSES]]
    few = np.sort(np.concatenate(found))
    points, codes = data.X[few], np.unique(data.y[few], return_inverse=True)[1]
    with suppress(ExactfitError):  # too few points for some recipes; they compile when they run
        contender.prove(contender.build(points, codes, 0, 0.0), points, codes)


def _stages(contender: Contender, data: Split, random_state: int, time_limit: float, report: Reporter) -> None:
    start = time.perf_counter()
    built = contender.build(data.X, data.y, random_state, time_limit)
    report(stage="measuring", build_seconds=time.perf_counter() - start, reason=built.reason)
    if built.layers:
        report(**asdict(sizes(built.layers)))
    bare = accuracy(built.decide, data, LOOKING_SHARE * time_limit)
    report(accuracy=bare, predict_accuracy=bare if built.predict is None else None)
    if built.predict is not None:
        report(predict_accuracy=accuracy(built.predict, data, LOOKING_SHARE * time_limit))
    probes = Probes(data.starts, data.ends)
    report(stage="certifying", radius_upper=smallest_change(built.decide, probes, LOOKING_SHARE * time_limit))
    proof = asdict(contender.prove(built, data.X, data.y))
    report(stage="done", **{**proof, "reason": built.reason or proof["reason"]})


def accuracy(decide: Decide, data: Split, time_limit: float) -> float | None:
    """Share of the points held out that are right, None if there are none or time is out."""
    end, right, total = time.monotonic() + time_limit, 0, len(data.other_codes)
    for start in range(0, total, ROW_TILE):
        tile = slice(start, start + ROW_TILE)
        right += int(np.count_nonzero(decide(data.others[tile]) == data.other_codes[tile]))
        if time.monotonic() > end and start + ROW_TILE < total:
            return None
    return right / total if total else None


def in_one_line(error: Exception, rows: Any) -> str:
    """What went wrong, in one line, with rows as the caller's data have them."""
    if isinstance(error, AssumptionError):
        error = AssumptionError(error.assumption, [int(rows[row]) for row in error.rows], error.remedy)
    elif isinstance(error, ContradictoryLabelsError):
        error = ContradictoryLabelsError([(int(rows[a]), int(rows[b])) for a, b in error.pairs])
    text = " ".join(str(error).split())
    return text if isinstance(error, ExactfitError) else f"{type(error).__name__}: {text}".removesuffix(": ")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a network.

    Attributes
    ----------
    depth : int
        Layers with an activation, that is without the output.
    neurons : int
        Units of all layers, the output's included.
    parameters : int
        Weights and biases, zeros included.
    nonzero : int
        Those other than zero.
    distinct : int
        Different numbers other than zero, layer by layer: what is left when equal numbers of a layer are shared.
    bits_per_weight : int
        Bits of the widest weight or bias.
    total_bits : int
        Bits of all that is stored.
    largest_weight : float
        Largest absolute value; infinite beyond float64, where ``bits_per_weight`` tells.
    """

    depth: int
    neurons: int
    parameters: int
    nonzero: int
    distinct: int
    bits_per_weight: int
    total_bits: int
    largest_weight: float


def sizes(layers: Sequence[Layer]) -> Sizes:
    """Count what layers hold.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.activations import THRESHOLD
    >>> from exactfit.lab.comparing import sizes
    >>> from exactfit.network import Dense, Layer
    >>> cuts = Layer(Dense(np.array([[0.1, 3.0], [0.1, 0.0]])), np.array([-0.5, 0.25]), THRESHOLD)
    >>> output = Layer(Dense(np.array([[1.0, -1.0]])), np.array([0.0]), None)
    >>> sizes([cuts, output])
    Sizes(depth=1, neurons=3, parameters=9, nonzero=7, distinct=6, bits_per_weight=64, total_bits=325, largest_weight=3.0)
    """  # noqa: E501  (a record is printed in one line)
    parts = [_layer(layer) for layer in layers]
    widest = {"bits_per_weight", "largest_weight"}  # of all layers; the rest adds up
    together = {field.name: max if field.name in widest else sum for field in fields(Sizes)}
    return Sizes(**{name: combine(getattr(part, name) for part in parts) for name, combine in together.items()})


def _layer(layer: Layer) -> Sizes:
    weights, bias = _stored(layer), layer.bias
    is_mask = isinstance(layer.weights, Masks)
    widest, bits = (1, math.prod(layer.weights.shape)) if is_mask else bits_of(weights)
    bias_widest, bias_bits = bits_of(bias)
    return Sizes(
        depth=int(layer.activation is not None),
        neurons=layer.n_units,
        parameters=layer.n_units * (layer.weights.shape[1] + 1),  # as papers count: what is zero has its place
        nonzero=layer.weights.n_nonzero + int(np.count_nonzero(bias)),
        distinct=_n_different(weights, bias),
        bits_per_weight=max(widest, bias_widest),
        total_bits=bits + bias_bits,
        largest_weight=max(_largest(weights), _largest(bias)),
    )


def _stored(layer: Layer) -> NDArray[Any]:
    """The numbers that a layer's weights hold; of masks the two there are."""
    weights = layer.weights
    if isinstance(weights, Masks):
        return np.array([0, weights.sign] if weights.n_nonzero else [0])
    return np.ravel(weights.matrix.data if isinstance(weights, Sparse) else weights.values)


def bits_of(values: NDArray[Any]) -> tuple[int, int]:
    """Bits of the widest of some numbers, and of all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparing import bits_of
    >>> bits_of(np.array([0.0, -1.0, 5.0])), bits_of(np.array([0.5, 2.0])), bits_of(np.array([0.1, 2.0]))
    ((4, 7), (32, 64), (64, 128))
    """
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


def _n_different(weights: NDArray[Any], bias: NDArray[Any]) -> int:
    """How many different numbers, zero left out."""
    if object in (weights.dtype, bias.dtype):
        return len({*weights.tolist(), *bias.tolist()} - {0})
    both = np.concatenate([np.unique(weights), np.unique(bias)])  # float32 and small integers turn into float64
    return int(np.count_nonzero(np.unique(both)))


def _largest(values: NDArray[Any]) -> float:
    if not values.size:
        return 0.0
    try:
        return float(np.abs(values).max())
    except OverflowError:
        return math.inf
