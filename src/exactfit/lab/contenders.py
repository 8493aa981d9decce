"""Whoever is compared: constructions, and what people would use otherwise; and how well one does on new points.

The baselines (nearest neighbour, tree, logistic regression, forest, boosting, a network that is trained) stand beside
the constructions to give an idea of sizes, times and accuracy. Nothing about their answers is certified.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.threads import open_executor
from ..certificate import Certificate, certify
from ..certificate.radius import Decide
from ..constructions import CONSTRUCTORS, Constructor
from ..data.pairs import nearest_other
from ..estimators import InterpolatingClassifier
from ..exceptions import ConflictWarning, InterpolationWarning, ParameterError
from ..network import Layer, Network
from ..network.activations import RELU
from ..network.detector_network import LOWEST
from ..network.weights import Dense, Masks, Sparse, Weights

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Scores = dict[str, float | None]
Kind = Literal["construction", "trained network", "not a network"]

TRAINING_SHARE = 0.8  # of the time limit; the rest is for looking at what came out


@dataclass(frozen=True, eq=False)
class Built:
    """What a contender made of the points."""

    decide: Decide  # class indices of points
    layers: tuple[Layer, ...] = ()  # what to count; empty if it is not a network
    network: Network | None = None  # what can be certified
    reason: str = ""  # what it fell short of
    # Class indices of points by their scores, as ``InterpolatingClassifier.predict`` has it, where no class or several
    # claim a point; None where ``decide`` leaves no point undecided.
    predict: Decide | None = None


@dataclass(frozen=True)
class Proof:
    """What is proved of it, and how."""

    certified: bool = False
    proof: str = ""
    robust_radius: float | None = None
    median_radius: float | None = None
    radius_method: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Contender:
    """Builds, then proves what can be proved: nothing, of a baseline."""

    name: str  # as the table shows it
    kind: Kind = field(kw_only=True)  # what comes out

    @property
    def is_known(self) -> bool:
        """Whether it may be tried on a few points first: one of a stranger may do anything."""
        return True

    def build(self, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
        """Fit all points; who can stop early has this many seconds."""
        raise NotImplementedError

    def prove(self, built: Built, X: Floats, y: Codes) -> Proof:
        """What holds for sure."""
        return Proof()


class NearestNeighbour(Contender):
    """The label of the nearest training point. Its robust radius is known: half the separation."""

    def build(self, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
        """Keep the points."""
        from sklearn.neighbors import KNeighborsClassifier

        return _fitted(KNeighborsClassifier(n_neighbors=1), X, y)

    def prove(self, built: Built, X: Floats, y: Codes) -> Proof:
        """Half the distance to the nearest other label: no farther point is nearer, and halfway two may be."""
        with open_executor(None, False) as work:
            nearest = nearest_other(X, y, work)
        return Proof(
            robust_radius=float(np.nextafter(nearest.closest()[0] / 2, 0.0)),
            median_radius=float(np.nextafter(np.median(nearest.distances) / 2, 0.0)),
            radius_method="half the separation, exact",
        )


class OffTheShelf(Contender):
    """A classifier of scikit-learn as it comes; how many training points it misses is its reason."""

    def build(self, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
        """Fit it."""
        built = _fitted(usual_classifiers(random_state)[self.name.replace("-", " ")], X, y)
        wrong = int(np.count_nonzero(built.decide(X) != y))
        return replace(built, reason=f"{wrong} of {len(y)} training points wrong" if wrong else "")


def usual_classifiers(random_state: int) -> dict[str, Any]:
    """What people would use otherwise, as scikit-learn has them; those that need scaling with a scaler before them.

    Examples
    --------
    >>> from exactfit.lab.contenders import usual_classifiers
    >>> list(usual_classifiers(0))[:4]
    ['majority', '1-nn', 'decision tree', 'logistic regression']
    """
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


class TrainedNetwork(Contender):
    """scikit-learn's MLPClassifier, as it comes, on standardised features, trained until no training point is wrong."""

    def build(self, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
        """Train, epoch by epoch, until the training error is zero or time is out."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler

        end = time.monotonic() + TRAINING_SHARE * time_limit
        scaler, model = StandardScaler().fit(X), MLPClassifier(random_state=random_state)
        scaled, wrong, epochs = scaler.transform(X), len(y), 0
        while wrong and (not epochs or time.monotonic() < end):
            model.partial_fit(scaled, y, classes=np.unique(y))
            wrong, epochs = int(np.count_nonzero(model.predict(scaled) != y)), epochs + 1
        reason = f"{wrong} of {len(y)} training points wrong after {epochs} epochs" if wrong else ""
        return Built(
            lambda points: np.asarray(model.predict(scaler.transform(points))), _layers(model, scaler), None, reason
        )


def _fitted(model: Any, X: Floats, y: Codes) -> Built:
    model.fit(X, y)
    return Built(lambda points: np.asarray(model.predict(points)))


def _layers(model: Any, scaler: Any) -> tuple[Layer, ...]:
    """The trained layers, the scaling of features absorbed in the first."""
    (first, *weights), (bias, *biases) = model.coefs_, model.intercepts_
    absorbed = first / scaler.scale_[:, None]
    pairs = [(absorbed, bias - scaler.mean_ @ absorbed), *zip(weights, biases, strict=True)]
    *hidden, output = [Dense(np.ascontiguousarray(matrix.T)) for matrix, _ in pairs]
    shifts: list[NDArray[Any]] = [shift for _, shift in pairs]
    made = [Layer(dense, shift, RELU) for dense, shift in zip(hidden, shifts[:-1], strict=True)]
    return (*made, Layer(output, shifts[-1], None))


OTHERS = ("decision-tree", "logistic-regression", "random-forest", "gradient-boosting")
BASELINES: dict[str, Contender] = {
    "1-nn": NearestNeighbour("1-nn", kind="not a network"),
    **{name: OffTheShelf(name, kind="not a network") for name in OTHERS},
    "mlp": TrainedNetwork("mlp", kind="trained network"),
}


@dataclass(frozen=True, eq=False)
class Constructed(Contender):
    """Network by construction, then certified."""

    constructor: Constructor
    kind: Kind = field(default="construction", kw_only=True)

    @property
    def is_known(self) -> bool:
        """Whether the constructor is one of the library's."""
        return type(self.constructor).__module__.startswith("exactfit.")

    def build(self, X: Floats, y: Codes, random_state: int, time_limit: float) -> Built:
        """Construct the network."""
        network = self.constructor.construct(X, y, random_state=random_state).network
        return Built(network.decide, network.layers, network, predict=_predict_of(network))

    def prove(self, built: Built, X: Floats, y: Codes) -> Proof:
        """Certify it from its numbers and the points alone."""
        try:
            return _proof_of(certify(built.network, X, y, radii=True))
        except ParameterError:  # nothing is known of how far single points may move
            return _proof_of(certify(built.network, X, y))


def _predict_of(network: Network) -> Decide | None:
    """How points are decided that the output leaves undecided; None if it leaves none."""
    if network.detectors is not None:
        return network.detectors.predict_codes
    return partial(by_largest_output, network) if network.decoder.kind == "one_hot" else None


def by_largest_output(network: Network, points: Floats) -> Codes:
    """The class of each point with the largest output; of several, that for which some unit speaks most clearly.

    Outputs often count units that fire, so that many are equal: then the largest sum decides that a unit of
    the last hidden layer has which speaks for the class, that is with a positive weight; the lower class on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import CONSTRUCTORS
    >>> from exactfit.lab.contenders import by_largest_output
    >>> X, y = np.array([[0.0], [4.0], [9.0]]), np.array([0, 1, 2])
    >>> network = CONSTRUCTORS["ball-cover"].construct(X, y, random_state=0).network
    >>> network.decide(np.array([[-40.0]])), by_largest_output(network, np.array([[-40.0]]))
    (array([-1]), array([0]))
    """
    *before, hidden, last = network.layers
    unfired = Network((*before, replace(hidden, activation=None)), network.decoder, network.input_map)
    sums, outputs = unfired(points).astype(np.float64), network(points).astype(np.float64)
    clearest = np.stack([sums[:, own].max(axis=1, initial=LOWEST) for own in _positive(last.weights)], axis=1)
    among = np.where(outputs == outputs.max(axis=1, keepdims=True), clearest, -np.inf)
    return np.asarray(np.asarray(network.decoder.classes, dtype=np.int64)[among.argmax(axis=1)])


def _positive(weights: Weights) -> NDArray[np.bool_]:
    """Which weights are above zero, shape (units, inputs)."""
    if isinstance(weights, Masks):
        return weights.bits.to_bool() & (weights.sign > 0)
    return np.asarray((weights.rows.toarray() if isinstance(weights, Sparse) else weights.values) > 0, dtype=bool)


def _proof_of(certificate: Certificate) -> Proof:
    proved = certificate.method != "evaluation"
    wrong = f"the certificate fails for {certificate.n_errors} of {certificate.n_samples} points"
    return Proof(
        certified=certificate.holds and proved,
        proof=certificate.method or "",
        robust_radius=certificate.robust_radius,
        median_radius=None if certificate.radii is None else float(np.median(certificate.radii)),
        radius_method=certificate.radius_method or "",
        reason=("" if proved else "no proof is known: right by evaluation only") if certificate.holds else wrong,
    )


def choose_contenders(constructions: Any) -> list[Contender]:
    """Contenders for ``"all"``, a name, a constructor, several of these, or a mapping of names of one's own to them.

    Examples
    --------
    >>> from exactfit.lab.contenders import choose_contenders
    >>> [contender.name for contender in choose_contenders(["huang", "1-nn"])]
    ['huang', '1-nn']
    """
    if isinstance(constructions, str) and constructions == "all":
        return [_contender(name) for name in (*CONSTRUCTORS, *BASELINES)]
    if isinstance(constructions, Mapping):
        return [_contender(one, str(name)) for name, one in constructions.items()]
    several = isinstance(constructions, Iterable) and not isinstance(constructions, str)
    chosen = [_contender(one) for one in (constructions if several else [constructions])]
    names = [contender.name for contender in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"constructions must have different names, got {', '.join(twice)} more than once")
    return chosen


def _contender(one: Any, name: str | None = None) -> Contender:
    if isinstance(one, str):
        if one in CONSTRUCTORS:
            return Constructed(name or one, CONSTRUCTORS[one])
        if one in BASELINES:
            return BASELINES[one]
        raise ParameterError(f"no construction is called {one!r}: choose from {', '.join([*CONSTRUCTORS, *BASELINES])}")
    if isinstance(one, Constructor) and not isinstance(one, type):
        return Constructed(name or one.name, one)
    raise ParameterError(f"constructions must be 'all', names, or constructors, got {type(one).__name__}")


def fold_scores(model: Any, points: tuple[Any, Any], labels: tuple[Any, Any]) -> Scores:
    """Fit a fresh copy of a classifier to old points, and score its answers on new ones."""
    from sklearn.base import clone
    from sklearn.metrics import balanced_accuracy_score

    start = time.perf_counter()
    with warnings.catch_warnings():
        for expected in (ConflictWarning, InterpolationWarning):
            warnings.simplefilter("ignore", expected)
        fitted = clone(model).fit(points[0], labels[0])
        answers = fitted.predict(points[1])
    seconds = time.perf_counter() - start
    right = answers == labels[1]
    claimed = None  # where only one class has detectors, and for other models
    if isinstance(fitted, InterpolatingClassifier) and fitted.network_.widths[-1] > 1:
        claimed = ~fitted.abstains(points[1])
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(balanced_accuracy_score(labels[1], answers)),
        "auc": _auc(fitted, points[1], labels[1]),
        "claimed": None if claimed is None else float(claimed.mean()),
        "accuracy_claimed": None if claimed is None or not claimed.any() else float(right[claimed].mean()),
        "seconds": seconds,
    }


def _auc(model: Any, X: Any, labels: Any) -> float | None:
    """Area under the curve of each class against the rest, averaged; None if a class is missing."""
    from sklearn.metrics import roc_auc_score

    if not np.array_equal(np.unique(labels), model.classes_):
        return None
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    if scores.ndim == 1 or len(model.classes_) == 2:
        return float(roc_auc_score(labels, scores if scores.ndim == 1 else scores[:, 1]))
    return float(np.mean([roc_auc_score(labels == one, scores[:, k]) for k, one in enumerate(model.classes_)]))
