"""``evaluate``: what to expect on new points, by repeated stratified folds, beside the usual classifiers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame, counted, progress_bar
from .._support.parameters import check_choice, check_number, check_whole
from ..construct.recipe import recipe_of
from ..data import Labelled
from ..estimators import InterpolatingClassifier
from ..exceptions import ParameterError, UnseenCategoryWarning
from ..options import PAPER
from ..tables import Encoding, Table
from ..tables.encoding import SCALINGS, Scaling, column_moments
from .contenders import Scores, fold_scores, usual_classifiers

Rows = NDArray[np.int64]
# From the rows of the training part and of the new ones to the points of both.
Split = Callable[[Rows, Rows], tuple[Any, Any]]
End = Literal["all folds", "time limit", "interrupted"]

LEVEL = 0.95  # of all intervals
GIVEN = "as given"  # the model that was asked about
METRICS = ("balanced_accuracy", "auc", "claimed", "accuracy_claimed", "seconds")
_TABLE = "{:<22} {:>8} {:>15} {:>7} {:>8} {:>6} {:>8} {:>6} {:>8}"
# What each setting buys: one change to the model as given, in the order of the table.
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": PAPER,
    "gaussian hyperplanes": {"hyperplanes": "gaussian"},
    "1024 hyperplanes": {"min_width": 1024},
    "masks": {"detectors": "mask"},
    "weighted detectors": {"detectors": "weighted"},
    "margin 25%": {"margin": "25%"},
}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one classifier did: means over folds.

    Attributes
    ----------
    name : str
    folds : int
    accuracy : float
    low, high : float
        A 95 % interval for the accuracy, as wide as folds that share training points ask for (Nadeau and Bengio).
    gain, gain_low, gain_high : float
        Accuracy beyond that of the model as given, on the same folds, and an interval for that.
    balanced_accuracy : float
    auc : float or None
        One class against the rest, averaged over classes; None where a class has no point in some fold.
    claimed, accuracy_claimed : float or None
        Share of new points that exactly one class claims, and the accuracy on those; None where that has no meaning.
    seconds : float
        For a fold: to fit and to answer.
    options : dict or None
        Of our own estimator, those that are not its defaults.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.lab import evaluate
    >>> found = evaluate({"min_width": 200}, *load_iris(return_X_y=True), n_folds=2, n_repeats=1)["1-nn"]
    >>> found.name, found.low <= found.accuracy <= found.high
    ('1-nn', True)
    """

    name: str
    folds: int
    accuracy: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    balanced_accuracy: float
    auc: float | None
    claimed: float | None
    accuracy_claimed: float | None
    seconds: float
    options: dict[str, Any] | None = None

    @classmethod
    def of(
        cls, name: str, found: Sequence[Scores], given: Sequence[Scores], n_folds: int, options: dict[str, Any] | None
    ) -> Standing:
        """The means of what was found on some folds, beside what the model as given reached there."""
        own, base = (np.array([one["accuracy"] for one in some], dtype=np.float64) for some in (found, given))
        low, high = interval(own, n_folds)
        there: dict[str, Any] = {name: [one[name] for one in found if one[name] is not None] for name in METRICS}
        means: dict[str, Any] = {name: float(np.mean(some)) if some else None for name, some in there.items()}
        gain_low, gain_high = interval(own - base, n_folds)
        return cls(
            name=name, folds=len(found), accuracy=float(own.mean()), low=max(0.0, low), high=min(1.0, high),
            gain=float((own - base).mean()), gain_low=gain_low, gain_high=gain_high, options=options, **means,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<Standing: {self.name}, accuracy {self.accuracy:.1%}, {counted(self.folds, 'fold')}>"

    def __str__(self) -> str:
        return _TABLE.format(
            self.name, f"{self.accuracy:.1%}", f"{self.low:.1%} - {self.high:.1%}", f"{100 * self.gain:+.1f}",
            f"{self.balanced_accuracy:.1%}", "-" if self.auc is None else f"{self.auc:.3f}", _share(self.claimed),
            _share(self.accuracy_claimed), f"{self.seconds:.2g}",
        )  # fmt: skip


@dataclass(frozen=True)
class Evaluation:
    """A table: how the model, its settings and the usual classifiers did on the same folds.

    Attributes
    ----------
    standings : tuple of Standing
    n_samples, n_classes : int
    end : {"all folds", "time limit", "interrupted"}
        What ended it; if not that all folds were done, the standings are about those that all classifiers have done.

    Examples
    --------
    >>> import exactfit
    >>> exactfit.Evaluation((), n_samples=4, n_classes=2, end="time limit").recommendation
    'nothing was measured'
    """

    standings: tuple[Standing, ...]
    n_samples: int
    n_classes: int
    end: End

    def __getitem__(self, name: str) -> Standing:
        return {one.name: one for one in self.standings}[name]

    @property
    def complete(self) -> bool:
        """Whether all folds were done."""
        return self.end == "all folds"

    @property
    def recommendation(self) -> str:
        """One line to paste: the model as given, or the best setting that is better beyond chance; and who is better.

        Beyond chance: the whole interval of the gain is above zero.
        """
        ours = [one for one in self.standings if one.options is not None]
        if not ours:
            return "nothing was measured"
        best = max((one for one in ours if one.name == GIVEN or one.gain_low > 0), key=lambda one: one.accuracy)
        others = [one for one in self.standings if one.options is None]
        rival = max(others, key=lambda one: one.accuracy, default=best)
        why = "no setting is better beyond chance"
        if best.name != GIVEN:
            why = f"{100 * best.gain:+.1f} points ({100 * best.gain_low:+.1f} to {100 * best.gain_high:+.1f})"
        beaten = f"; {rival.name} reaches {rival.accuracy:.1%}" if rival.accuracy > best.accuracy else ""
        options = ", ".join(f"{name}={value!r}" for name, value in (best.options or {}).items())
        return f"InterpolatingClassifier({options})  # {best.accuracy:.1%} on new points, {why}{beaten}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "standings"}
        more = {"complete": self.complete, "recommendation": self.recommendation}
        return plain | more | {"standings": [asdict(one) for one in self.standings]}

    def to_frame(self) -> Any:
        """A pandas frame, one line for each classifier, indexed by name."""
        names = [field.name for field in fields(Standing)]
        return as_frame({name: [getattr(one, name) for one in self.standings] for name in names}).set_index("name")

    def __repr__(self) -> str:
        return f"<Evaluation: {counted(len(self.standings), 'classifier')}, {self._headline()}>"

    def _headline(self) -> str:
        folds = self.standings[0].folds if self.standings else 0
        ended = "" if self.complete else f" ({self.end})"
        return f"{self.n_samples:,} points, {self.n_classes} classes, {counted(folds, 'fold')}{ended}"

    def __str__(self) -> str:
        titles = ("", "accuracy", "95 % interval", "gain", "balanced", "AUC", "claimed", "right", "seconds")
        return "\n".join([self._headline(), _TABLE.format(*titles), *map(str, self.standings), "", self.recommendation])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def interval(values: NDArray[np.float64], n_folds: int) -> tuple[float, float]:
    """Student's interval; training parts overlap, so the variance is over 1/n + test/train in place of 1/n.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.evaluation import interval
    >>> low, high = interval(np.array([0.8, 0.9, 0.7]), n_folds=3)
    >>> round(low, 2), round(high, 2)
    (0.41, 1.19)
    """
    from scipy.stats import t

    mean, n = float(values.mean()), len(values)
    if n < 2:
        return -1.0, 1.0
    share = 1 / n + 1 / (n_folds - 1)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * float(np.sqrt(share * values.var(ddof=1)))
    return mean - half, mean + half


def evaluate(
    model: Any, X: Any, y: Any = None, *, n_folds: int = 5, n_repeats: int = 2, scale: Scaling = "standard",
    time_limit: float | None = None, random_state: int = 0, verbose: bool = False,
) -> Evaluation:  # fmt: skip
    """Measure how often a model is right on new points, beside its settings and the usual classifiers.

    All see the same folds, scaled alike by what the training part of a fold says. Ctrl-C or the time limit end it,
    and leave the folds that all classifiers have done (or, in the first fold, the classifiers that are done).

    Parameters
    ----------
    model : InterpolatingClassifier, mapping of its options, or None for its defaults
        Equal points with different labels get the majority's, unless options say otherwise.
    X : array, sparse matrix, frame or Table, shape (n_samples, n_features)
        A table is encoded anew in every fold: means, deviations, and what fills empty cells.
    y : sequence of n_samples labels
        A table may hold its labels itself.
    n_folds, n_repeats : int
        Stratified folds, and how often they are drawn.
    scale : {"standard", "none"}
        Standard: features are centred and divided by their deviation in the training part (sparse ones only divided).
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

    n_folds, n_repeats = check_whole("n_folds", n_folds, at_least=2), check_whole("n_repeats", n_repeats, at_least=1)
    end = time.monotonic() + (np.inf if time_limit is None else check_number("time_limit", time_limit, above=0.0))
    check_choice("scale", scale, SCALINGS)
    contenders = _contenders(_asked(model), random_state)
    split, data = _table_folds(X, y, scale) if isinstance(X, Table) else _array_folds(X, y, scale)
    smallest = int(np.bincount(data.codes).min())
    if smallest < n_folds:
        raise ParameterError(f"a class has {smallest} points: n_folds={n_folds} needs as many of each; give less folds")
    folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=random_state)
    total = n_folds * n_repeats * len(contenders)
    ended: End = "time limit"
    done: dict[str, list[Scores]] = {}
    try:
        with progress_bar(bool(verbose)) as progress:
            for name, scores in _measured(contenders, data, folds, split, end):
                done.setdefault(name, []).append(scores)
                progress("fits", sum(map(len, done.values())), total)
    except KeyboardInterrupt:
        ended = "interrupted"
    if sum(map(len, done.values())) == total:
        ended = "all folds"
    return Evaluation(tuple(_standings(done, contenders, n_folds)), len(data), len(data.classes), ended)


def _asked(model: Any) -> dict[str, Any]:
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
    """The model as given, the usual classifiers, and the model with one setting changed."""
    own = InterpolatingClassifier(**{"random_state": random_state} | given)
    recipe_of(own)
    new: dict[str, Any] = {}
    for name, more in SETTINGS.items():
        model = InterpolatingClassifier(**{"random_state": random_state} | given | more)
        with suppress(ParameterError):  # a setting that does not go with the other options
            recipe_of(model)
            if _changed(model) != _changed(own):
                new[name] = model
    return {GIVEN: own} | usual_classifiers(random_state) | new


def _array_folds(X: Any, y: Any, scale: Scaling) -> tuple[Split, Labelled]:
    """Points that are numbers already."""
    data = Labelled.of(X, y)

    def split(train: Rows, test: Rows) -> tuple[Any, Any]:
        old, new = data.X[train], data.X[test]
        return _scaled(old, new) if scale == "standard" else (old, new)

    return split, data


def _scaled(old: Any, new: Any) -> tuple[Any, Any]:
    """Points by what the old ones say: to the last bit as a table model scales them, unless they are sparse."""
    if isinstance(old, np.ndarray):
        middle, deviation = np.array([column_moments(np.ascontiguousarray(column)) for column in old.T]).T
        return (old - middle) / deviation, (new - middle) / deviation
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=False).fit(old)
    return scaler.transform(old), scaler.transform(new)


def _table_folds(table: Table, y: Any, scale: Scaling) -> tuple[Split, Labelled]:
    """Points that each fold learns to make from its training part."""
    labels = table.labels if y is None else y
    if labels is None:
        raise ParameterError(f"{table.name} was read without labels: name their column, or pass them as y")

    def split(train: Rows, test: Rows) -> tuple[Any, Any]:
        old = table.taken(train)
        encoding = Encoding.learn(old, scale)
        with warnings.catch_warnings(action="ignore", category=UnseenCategoryWarning):
            return encoding.encode(old), encoding.encode(table.taken(test))

    return split, Labelled.of(Encoding.learn(table, "none").encode(table), labels)


def _measured(
    contenders: Mapping[str, Any], data: Labelled, folds: Any, split: Split, end: float
) -> Iterator[tuple[str, Scores]]:
    """Fold by fold, every contender's scores, until time is out."""
    for train, test in folds.split(np.zeros(len(data)), data.codes):
        points = split(train, test)
        for name, model in contenders.items():
            if time.monotonic() > end:
                return
            yield name, fold_scores(model, points, (data.codes[train], data.codes[test]))


def _standings(done: dict[str, list[Scores]], contenders: Mapping[str, Any], n_folds: int) -> Iterator[Standing]:
    """What all have done, the model as given first and its settings behind it."""
    whole = max(1, min(len(done.get(name, ())) for name in contenders))
    for name in sorted(done, key=lambda name: not isinstance(contenders[name], InterpolatingClassifier)):
        model, options = contenders[name], None
        if isinstance(model, InterpolatingClassifier):
            options = {key: value for key, value in _changed(model).items() if key != "random_state"}
        yield Standing.of(name, done[name][:whole], done[GIVEN][:whole], n_folds, options)
