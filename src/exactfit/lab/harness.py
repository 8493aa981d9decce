"""Harness of ``compare`` and ``evaluate``: contenders, functions in processes of their own, and tables as text."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._support.console import Progress
from .._support.processes import Limits, OwnProcess, Shared, as_they_end
from .._support.threads import open_executor
from ..certificate import certify
from ..certificate.radius import Decide
from ..constructions import CONSTRUCTORS, Constructor
from ..data import Codes, Floats
from ..data.pairs import nearest_other
from ..exceptions import ParameterError
from ..network import Layer, Network
from ..network.activations import RELU
from ..network.detector_network import LOWEST
from ..network.weights import Dense, Masks, Sparse

Facts = dict[str, Any]
Kind = Literal["construction", "trained network", "not a network"]

TRAINING_FRACTION = 0.8  # of the time limit; the rest is for measuring what was trained
INTERRUPTED = "interrupted"


# ---- Functions in processes of their own ---------------------------------------------------------------------------


def run(
    functions: Mapping[str, Callable[..., None]], held: Any, limits: Limits, progress: Progress
) -> dict[str, tuple[Facts, str]]:
    """Call each ``function(report, held)`` in a process of its own, which is ended when its time or memory is out.

    Return what each reported, and how it ended: "" if all went well. Ctrl-C ends all that run, as "interrupted";
    those that were not started have no entry.
    """
    found, started = dict[str, tuple[Facts, str]](), dict[OwnProcess, str]()
    with tempfile.TemporaryDirectory(prefix="exactfit-") as folder:
        # Written once and mapped by every process, so that memory holds the data once.
        shared = Shared(Path(folder) / "held", held)

        def start(name: str) -> OwnProcess:
            process = OwnProcess(Path(folder) / str(len(started)), limits, functions[name], shared)
            started[process] = name
            return process

        def watch(process: OwnProcess) -> None:
            progress(started[process], round(process.seconds), round(limits.time_limit))

        arriving = as_they_end([partial(start, name) for name in functions], limits.at_once, watch)
        with suppress(KeyboardInterrupt), closing(arriving):
            for process, end in arriving:
                found[started[process]] = process.facts(), end
                progress("done", len(found), len(functions))
        # What was interrupted reported up to then, in files that are about to go.
        return {name: (process.facts(), INTERRUPTED) for process, name in started.items()} | found


# ---- Contenders ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Built:
    """A fitted contender."""

    decide: Decide  # class indices of points
    layers: tuple[Layer, ...] = ()  # empty if it is not a network
    reason: str = ""  # why it falls short, if it does
    # Class indices of points by their scores, as ``InterpolatingClassifier.predict`` has it, where no class or several
    # claim a point; None where ``decide`` leaves no point undecided.
    predict: Decide | None = None
    prove: Callable[[], Facts] = dict  # proved facts, as fields of a row


@dataclass(frozen=True)
class Contender:
    """A row of a comparison: a name, and a function that fits points, class indices and a seed within some seconds."""

    name: str
    kind: Kind
    build: Callable[[Floats, Codes, int, float], Built]
    is_known: bool = True  # whether it may be tried on a few points first: one of a stranger may do anything


def choose_contenders(constructions: Any) -> list[Contender]:
    """Contenders for ``"all"``, a name, a constructor, several of these, or a mapping of names of one's own to them."""
    if isinstance(constructions, str) and constructions == "all":
        constructions = [*CONSTRUCTORS, *BASELINES]
    if isinstance(constructions, Mapping):
        return [_contender(one, str(name)) for name, one in constructions.items()]
    # Rows are found by their names, so these must differ; in a mapping they do.
    several = isinstance(constructions, Iterable) and not isinstance(constructions, str)
    chosen = [_contender(one) for one in (constructions if several else [constructions])]
    names = [contender.name for contender in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"constructions must have different names, got {', '.join(twice)} more than once")
    return chosen


def _contender(one: Any, name: str | None = None) -> Contender:
    if isinstance(one, str):
        if one in BASELINES:
            return BASELINES[one]
        if one not in CONSTRUCTORS:
            names = ", ".join([*CONSTRUCTORS, *BASELINES])
            raise ParameterError(f"no construction is called {one!r}: choose from {names}")
        return constructed(name or one, CONSTRUCTORS[one])
    if isinstance(one, Constructor) and not isinstance(one, type):
        return constructed(name or one.name, one)
    raise ParameterError(f"constructions must be 'all', names, or constructors, got {type(one).__name__}")


def constructed(name: str, constructor: Constructor) -> Contender:
    """Contender that constructs a network and certifies it."""
    is_known = type(constructor).__module__.startswith("exactfit.")
    return Contender(name, "construction", partial(_construct, constructor), is_known)


def _construct(constructor: Constructor, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
    network = constructor.construct(X, y, random_state=random_state).network
    predict: Decide | None = None
    if network.detectors is not None:
        predict = network.detectors.predict_codes
    elif network.decoder.kind == "one_hot":
        predict = partial(by_largest_output, network)
    return Built(network.decide, network.layers, predict=predict, prove=partial(_certified, network, X, y))


def _certified(network: Network, X: Floats, y: Codes) -> Facts:
    """Certify a network from its numbers and the points alone."""
    try:
        certificate = certify(network, X, y, radii=True)
    except ParameterError:  # nothing is known of how far single points may move
        certificate = certify(network, X, y)
    proved, reason = certificate.method != "evaluation", ""
    if not certificate.holds:
        reason = f"the certificate fails for {certificate.n_errors} of {certificate.n_samples} points"
    elif not proved:
        reason = "no proof is known: right by evaluation only"
    return {
        "certified": certificate.holds and proved,
        "proof": certificate.method or "",
        "robust_radius": certificate.robust_radius,
        "median_radius": None if certificate.radii is None else float(np.median(certificate.radii)),
        "radius_method": certificate.radius_method or "",
        "reason": reason,
    }


def by_largest_output(network: Network, points: Floats) -> Codes:
    """Return the class of each point with the largest output; of several, the one of the clearest unit."""
    # Outputs often count units that fire, so that many are equal: then the largest sum decides that a unit of the last
    # hidden layer has whose weight for the class is positive; the lower class on a tie.
    *before, hidden, last = network.layers
    unfired = Network((*before, replace(hidden, activation=None)), network.decoder, network.input_map)
    sums, outputs = unfired(points).astype(np.float64), network(points).astype(np.float64)
    weights = last.weights
    if isinstance(weights, Masks):
        positive = weights.bits.to_bool() & (weights.sign > 0)
    else:
        positive = (weights.rows.toarray() if isinstance(weights, Sparse) else weights.values) > 0
    clearest = np.stack([sums[:, own].max(axis=1, initial=LOWEST) for own in positive], axis=1)
    among = np.where(outputs == outputs.max(axis=1, keepdims=True), clearest, -np.inf)
    return np.asarray(np.asarray(network.decoder.classes, dtype=np.int64)[among.argmax(axis=1)])


def usual_classifiers(random_state: int) -> Facts:
    """Return scikit-learn's usual classifiers as they come; those that need scaling have a scaler before them."""
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return {
        "majority": DummyClassifier(),
        "1-nn": make_pipeline(StandardScaler(with_mean=False), KNeighborsClassifier(1)),
        "decision tree": DecisionTreeClassifier(random_state=random_state),
        "logistic regression": make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000)),
        "random forest": RandomForestClassifier(random_state=random_state),
        "gradient boosting": HistGradientBoostingClassifier(random_state=random_state),
    }


def _off_the_shelf(name: str, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
    decide = usual_classifiers(random_state)[name.replace("-", " ")].fit(X, y).predict
    wrong = int(np.count_nonzero(decide(X) != y))
    return Built(decide, reason=f"{wrong} of {len(y)} training points wrong" if wrong else "")


def _nearest_neighbour(X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
    from sklearn.neighbors import KNeighborsClassifier

    def prove() -> Facts:
        # Half the distance to the nearest other label: no farther point is nearer, and halfway two may be.
        with open_executor(None, False) as work:
            nearest = nearest_other(X, y, work)
        return {
            "robust_radius": float(np.nextafter(nearest.closest()[0] / 2, 0.0)),
            "median_radius": float(np.nextafter(np.median(nearest.distances) / 2, 0.0)),
            "radius_method": "half the separation, exact",
        }

    return Built(KNeighborsClassifier(n_neighbors=1).fit(X, y).predict, prove=prove)


def _trained_network(X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
    """Train scikit-learn's MLPClassifier on standardised features until no training point is wrong, or time is out."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    end = time.monotonic() + TRAINING_FRACTION * time_limit
    scaler, model = StandardScaler().fit(X), MLPClassifier(random_state=random_state)
    scaled, wrong, epochs = scaler.transform(X), len(y), 0
    # One epoch at least, so that there is a network whatever the time limit.
    while wrong and (not epochs or time.monotonic() < end):
        model.partial_fit(scaled, y, classes=np.unique(y))
        wrong, epochs = int(np.count_nonzero(model.predict(scaled) != y)), epochs + 1
    # The scaling of features is absorbed in the first layer.
    weights, biases = list(model.coefs_), list(model.intercepts_)
    weights[0] = weights[0] / scaler.scale_[:, None]
    biases[0] = biases[0] - scaler.mean_ @ weights[0]
    hidden = [RELU] * (len(weights) - 1)
    layers = (
        Layer(Dense(np.ascontiguousarray(matrix.T)), bias, activation)
        for matrix, bias, activation in zip(weights, biases, [*hidden, None], strict=True)
    )
    reason = f"{wrong} of {len(y)} training points wrong after {epochs} epochs" if wrong else ""
    return Built(lambda points: np.asarray(model.predict(scaler.transform(points))), tuple(layers), reason)


_OTHERS = ("decision-tree", "logistic-regression", "random-forest", "gradient-boosting")
BASELINES = {
    "1-nn": Contender("1-nn", "not a network", _nearest_neighbour),
    **{name: Contender(name, "not a network", partial(_off_the_shelf, name)) for name in _OTHERS},
    "mlp": Contender("mlp", "trained network", _trained_network),
}


# ---- Tables as text ------------------------------------------------------------------------------------------------


def text_blocks(
    rows: Sequence[Any], columns: Mapping[str, Callable[[Any], str]], width: float = np.inf, words: Sequence[str] = ()
) -> list[str]:
    """Table of rows in blocks of at most ``width`` letters; each begins with the names. Words are set at the left."""
    cell_of: dict[str, Callable[[Any], str]] = {"": attrgetter("name"), **columns}
    aligned = []
    for title, cell in cell_of.items():
        cells = [title, *map(cell, rows)]
        put = str.ljust if title in ("", *words) else str.rjust
        aligned.append([put(text, max(map(len, cells))) for text in cells])
    names, *others = aligned
    blocks = [names]
    for column in others:
        if blocks[-1] is not names and len(blocks[-1][0]) + 2 + len(column[0]) > width:
            blocks.append(names)
        blocks[-1] = ["  ".join(pair) for pair in zip(blocks[-1], column, strict=True)]
    return ["\n".join(line.rstrip() for line in block) for block in blocks]
