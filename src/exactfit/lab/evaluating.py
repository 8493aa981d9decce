"""``evaluate``: what to expect on new points, by repeated stratified folds, beside the usual classifiers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame, progress_bar
from .._support.options import check_number, check_whole
from ..data import labelled_for
from ..estimators import InterpolatingClassifier
from ..exceptions import ConflictWarning, InterpolationWarning, ParameterError

Scores = dict[str, float | None]

LEVEL = 0.95  # of all intervals
METRICS = ("accuracy", "balanced_accuracy", "auc", "claimed", "accuracy_claimed")
BASELINES = ("majority", "1-nn", "logistic regression", "random forest", "gradient boosting")
# What settings buy, beside the model that was asked about: more networks, and hyperplanes that fit the data.
SETTINGS: dict[str, dict[str, Any]] = {
    "7 networks": {"n_networks": 7},
    "near-bisector, 1024": {"hyperplanes": "near-bisector", "min_width": 1024},
    "both": {"n_networks": 7, "hyperplanes": "near-bisector", "min_width": 1024},
}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one classifier did: means over folds.

    Attributes
    ----------
    name : str
    folds : int
    accuracy, balanced_accuracy, auc : float
        AUC is one class against the rest, averaged over classes; NaN where a fold has no such ranking.
    low, high : float
        A 95 % interval for the accuracy, as wide as folds that share training points ask for (Nadeau and Bengio).
    claimed, accuracy_claimed : float or None
        Share of new points that exactly one class claims, and the accuracy on those; None where that has no meaning.
    seconds : float
        For a fold: to fit and to answer.
    options : dict or None
        Of our own estimator, those that are not its defaults.
    """

    name: str
    folds: int
    accuracy: float
    low: float
    high: float
    balanced_accuracy: float
    auc: float
    claimed: float | None
    accuracy_claimed: float | None
    seconds: float
    options: dict[str, Any] | None = None


@dataclass(frozen=True)
class Evaluation:
    """A table: how the model, its settings and the usual classifiers did on the same folds.

    Attributes
    ----------
    standings : tuple of Standing
    n_samples, n_classes : int
    complete : bool
        Whether all folds were done; else these are the ones that time or patience allowed.

    Examples
    --------
    >>> import exactfit
    >>> exactfit.Evaluation((), n_samples=4, n_classes=2, complete=False).recommendation
    'nothing was measured'
    """

    standings: tuple[Standing, ...]
    n_samples: int
    n_classes: int
    complete: bool

    def __getitem__(self, name: str) -> Standing:
        return {one.name: one for one in self.standings}[name]

    @property
    def recommendation(self) -> str:
        """One line to paste: our settings that did best, and what did better still."""
        ours = [one for one in self.standings if one.options is not None]
        if not ours:
            return "nothing was measured"
        best = max(ours, key=lambda one: one.accuracy)
        others = [one for one in self.standings if one.options is None]
        rival = max(others, key=lambda one: one.accuracy, default=best)
        beaten = f"; {rival.name} reaches {rival.accuracy:.1%}" if rival.accuracy > best.accuracy else ""
        options = ", ".join(f"{name}={value!r}" for name, value in (best.options or {}).items())
        return f"InterpolatingClassifier({options})  # {best.accuracy:.1%} on new points{beaten}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "standings"}
        rows = [asdict(one) for one in self.standings]
        for row in rows:
            row["auc"] = None if np.isnan(row["auc"]) else row["auc"]
        return plain | {"recommendation": self.recommendation, "standings": rows}

    def to_frame(self) -> Any:
        """A pandas frame, one line for each classifier, indexed by name."""
        names = [field.name for field in fields(Standing)]
        return as_frame({name: [getattr(one, name) for one in self.standings] for name in names}).set_index("name")

    def __str__(self) -> str:
        head = f"{self.n_samples:,} points, {self.n_classes} classes{'' if self.complete else ', not all folds'}"
        titles = (
            f"{'':<22} {'accuracy':>8} {'95 % interval':>15} {'balanced':>8} {'AUC':>6} {'claimed':>8} {'right':>6}"
        )
        lines = [head, f"{titles} {'seconds':>8}"]
        for one in self.standings:
            between = f"{one.low:.1%} - {one.high:.1%}"
            shares = f"{_share(one.claimed):>8} {_share(one.accuracy_claimed):>6}"
            lines.append(
                f"{one.name:<22} {one.accuracy:>8.1%} {between:>15} {one.balanced_accuracy:>8.1%} {one.auc:>6.3f} "
                f"{shares} {one.seconds:>8.2g}"
            )
        return "\n".join([*lines, "", self.recommendation])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def evaluate(
    model: Any, X: Any, y: Any, *, n_folds: int = 5, n_repeats: int = 2, scale: bool = True,
    time_limit: float | None = None, random_state: int = 0, verbose: bool = False,
) -> Evaluation:  # fmt: skip
    """Measure how often a model is right on new points, beside its settings and the usual classifiers.

    Ctrl-C or the time limit end it between two fits, and leave the folds that all have done.

    Parameters
    ----------
    model : InterpolatingClassifier, mapping of its options, or None for its defaults
        Equal points with different labels get the majority's, unless options say otherwise.
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    n_folds, n_repeats : int
        Stratified folds, and how often they are drawn.
    scale : bool
        Whether features are divided by their deviation in the training part, for all classifiers alike.
    time_limit : float or None
        Seconds for all.
    random_state : int
        Seed of folds and classifiers.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> found = exactfit.evaluate({"min_width": 200}, *load_iris(return_X_y=True), n_folds=3, n_repeats=1)
    >>> found["1-nn"].folds, found["as given"].accuracy > 0.9, found["majority"].accuracy < 0.4
    (3, True, True)
    """
    from sklearn.model_selection import RepeatedStratifiedKFold

    counts = check_whole("n_folds", n_folds, at_least=2), check_whole("n_repeats", n_repeats, at_least=1)
    seconds = np.inf if time_limit is None else check_number("time_limit", time_limit, above=0.0)
    given = _own(model)
    data = labelled_for(InterpolatingClassifier(), X, y)
    contenders = _contenders(given, random_state)
    smallest = int(np.bincount(data.codes).min())
    if smallest < counts[0]:
        raise ParameterError(f"a class has {smallest} points: n_folds={n_folds} needs as many of each; give less folds")
    splits = RepeatedStratifiedKFold(n_splits=counts[0], n_repeats=counts[1], random_state=random_state)
    end, done = time.monotonic() + seconds, dict[str, list[Scores]]()
    total = counts[0] * counts[1] * len(contenders)
    with progress_bar(bool(verbose)) as progress:
        for scores, name in _measured(contenders, data, splits, scale, end):
            done.setdefault(name, []).append(scores)
            progress("fits", sum(map(len, done.values())), total)
    n_done = sum(map(len, done.values()))
    whole = min((len(done.get(name, ())) for name in contenders), default=0)
    standings = [_standing(name, found[: max(whole, 1)], counts[0], contenders[name]) for name, found in done.items()]
    return Evaluation(tuple(standings), len(data), len(data.classes), n_done == total)


def _own(model: Any) -> dict[str, Any]:
    """The options asked about, with the majority's label for equal points."""
    if isinstance(model, InterpolatingClassifier):
        model = _changed(model)
    if model is not None and not isinstance(model, Mapping):
        raise ParameterError(f"evaluate takes an InterpolatingClassifier or options of one, got {type(model).__name__}")
    options = {"conflicts": "majority", **dict(model or {})}
    unknown = options.keys() - InterpolatingClassifier().get_params().keys()
    if unknown:
        raise ParameterError(f"InterpolatingClassifier has no option {sorted(unknown)[0]!r}")
    return options


def _changed(model: InterpolatingClassifier) -> dict[str, Any]:
    """The options of a model that are not defaults."""
    defaults = InterpolatingClassifier().get_params()
    return {name: value for name, value in model.get_params().items() if repr(value) != repr(defaults[name])}


def _contenders(given: dict[str, Any], random_state: int) -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    ours = {"as given": given}
    ours |= {name: given | more for name, more in SETTINGS.items() if given.get("width", "adaptive") == "adaptive"}
    if given.get("hyperplanes") == "local":
        ours = {name: options for name, options in ours.items() if options.get("hyperplanes") == "local"}
    usual = (
        DummyClassifier(),
        KNeighborsClassifier(1),
        LogisticRegression(max_iter=1000),
        RandomForestClassifier(random_state=random_state),
        HistGradientBoostingClassifier(random_state=random_state),
    )
    made = {name: InterpolatingClassifier(**{"random_state": random_state} | options) for name, options in ours.items()}
    return made | dict(zip(BASELINES, usual, strict=True))


def _measured(
    contenders: Mapping[str, Any], data: Any, splits: Any, scale: bool, end: float
) -> Iterator[tuple[Scores, str]]:
    """Fold by fold, every contender's scores, until time or patience is out."""
    try:
        for train, test in splits.split(np.zeros(len(data)), data.codes):
            points = _scaled(data.X[train], data.X[test], scale)
            for name, model in contenders.items():
                if time.monotonic() > end:
                    return
                yield _scored(model, points, (data.codes[train], data.codes[test]), len(data.classes)), name
    except KeyboardInterrupt:
        return


def _scaled(train: Any, test: Any, scale: bool) -> tuple[Any, Any]:
    if not scale:
        return train, test
    from scipy.sparse import issparse
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not issparse(train)).fit(train)
    return scaler.transform(train), scaler.transform(test)


def _scored(model: Any, points: tuple[Any, Any], codes: tuple[Any, Any], n_classes: int) -> Scores:
    from sklearn.base import clone
    from sklearn.metrics import balanced_accuracy_score

    start = time.perf_counter()
    with warnings.catch_warnings():
        for expected in (ConflictWarning, InterpolationWarning):
            warnings.simplefilter("ignore", expected)
        fitted = clone(model).fit(points[0], codes[0])
        answers = fitted.predict(points[1])
    seconds = time.perf_counter() - start
    right = answers == codes[1]
    claimed = _claimed(fitted, points[1])
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(balanced_accuracy_score(codes[1], answers)),
        "auc": _auc(fitted, points[1], codes[1], n_classes),
        "claimed": None if claimed is None else float(claimed.mean()),
        "accuracy_claimed": None if claimed is None or not claimed.any() else float(right[claimed].mean()),
        "seconds": seconds,
    }


def _claimed(model: Any, X: Any) -> NDArray[np.bool_] | None:
    """Which points exactly one class claims; None where only one class has detectors, or for other models."""
    if not isinstance(model, InterpolatingClassifier) or model.network_.widths[-1] == 1:
        return None
    return ~model.abstains(X)


def _auc(model: Any, X: Any, codes: Any, n_classes: int) -> float:
    """Area under the curve of each class against the rest, averaged; NaN if a class is missing."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(codes)) < n_classes:
        return float("nan")
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    if scores.ndim == 1 or n_classes == 2:
        return float(roc_auc_score(codes, scores if scores.ndim == 1 else scores[:, 1]))
    return float(np.mean([roc_auc_score(codes == k, scores[:, k]) for k in range(n_classes)]))


def _standing(name: str, found: list[Scores], n_folds: int, model: Any) -> Standing:
    accuracies = np.array([one["accuracy"] for one in found], dtype=np.float64)
    low, high = _interval(accuracies, n_folds)
    means = {metric: _mean([one[metric] for one in found]) for metric in (*METRICS[1:], "seconds")}
    options = None
    if isinstance(model, InterpolatingClassifier):
        options = {key: value for key, value in _changed(model).items() if key != "random_state"}
    return Standing(
        name=name,
        folds=len(found),
        accuracy=float(accuracies.mean()),
        low=low,
        high=high,
        balanced_accuracy=float(means["balanced_accuracy"] or 0.0),
        auc=float("nan") if means["auc"] is None else means["auc"],
        claimed=means["claimed"],
        accuracy_claimed=means["accuracy_claimed"],
        seconds=float(means["seconds"] or 0.0),
        options=options,
    )


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def _interval(accuracies: NDArray[np.float64], n_folds: int) -> tuple[float, float]:
    """Student's interval; training parts overlap, so the variance is over 1/n + test/train in place of 1/n."""
    from scipy.stats import t

    mean, n = float(accuracies.mean()), len(accuracies)
    if n < 2:
        return 0.0, 1.0
    share = 1 / n + 1 / (n_folds - 1)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * float(np.sqrt(share * accuracies.var(ddof=1)))
    return max(0.0, mean - half), min(1.0, mean + half)
