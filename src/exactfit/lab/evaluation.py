"""``evaluate``: what to expect on new points, by repeated stratified folds, beside the usual classifiers."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame, counted, progress_bar
from .._support.parameters import check_integer, check_number
from .._support.processes import Limits
from ..data import Labelled
from ..data.labelled import as_labels
from ..estimators import InterpolatingClassifier
from ..exceptions import ConflictWarning, InterpolationWarning, ParameterError, UnseenCategoryWarning
from ..options import PAPER, Options
from ..tables import Encoding, Table, TableModel
from .harness import INTERRUPTED, Facts, run, text_blocks, usual_classifiers

Scores = dict[str, float | None]
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows of the training part and of the test part
End = Literal["all folds", "time limit", "interrupted"]

LEVEL = 0.95  # of all intervals
GIVEN = "as given"  # the model that was asked about
METRICS = ("balanced_accuracy", "auc", "claimed", "accuracy_claimed", "seconds")
OF_ARRAYS = "from exactfit import InterpolatingClassifier; model = InterpolatingClassifier({}).fit(X, y)"
OF_TABLES = (
    "from exactfit import InterpolatingClassifier, TableModel; "
    "model = TableModel(InterpolatingClassifier({{}}), scale={!r}).fit({})"
)
# What each setting buys: one change to the model as given, in the order of the table.
SETTINGS: dict[str, Facts] = {
    "the paper's": PAPER,
    "gaussian hyperplanes": {"hyperplanes": "gaussian"},
    "1024 hyperplanes": {"min_width": 1024},
    "masks": {"detectors": "mask"},
    "weighted detectors": {"detectors": "weighted"},
    "margin 25%": {"margin": "25%"},
}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Means over folds of one classifier.

    Attributes
    ----------
    name : str
    folds : int
    accuracy : float
    low, high : float or None
        A 95 % interval for the accuracy, as wide as folds that share training points ask for (Nadeau and Bengio).
        One fold has none, nor have folds that all reach the same.
    gain : float
        Accuracy beyond that of the model as given, on the same folds.
    gain_low, gain_high : float or None
        An interval for that, so wide that those of all settings hold together (Bonferroni): one of them is chosen.
    balanced_accuracy : float
    auc : float or None
        One class against the rest, averaged over classes; None where a class has no point in some fold.
    claimed, accuracy_claimed : float or None
        Fraction of new points that exactly one class claims, and the accuracy on those; None where that has no meaning.
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
    low: float | None
    high: float | None
    gain: float
    gain_low: float | None
    gain_high: float | None
    balanced_accuracy: float
    auc: float | None
    claimed: float | None
    accuracy_claimed: float | None
    seconds: float
    options: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        found: Sequence[Scores],
        given: Sequence[Scores],
        n_folds: int,
        options: dict[str, Any] | None,
        n_settings: int = 1,
    ) -> Standing:
        """Average scores over folds, beside those of the model as given on the same folds."""
        own, base = (np.array([one["accuracy"] for one in some], dtype=np.float64) for some in (found, given))
        low, high = interval(own, n_folds)
        there: dict[str, Any] = {name: [one[name] for one in found if one[name] is not None] for name in METRICS}
        means: dict[str, Any] = {name: float(np.mean(some)) if some else None for name, some in there.items()}
        gain_low, gain_high = interval(own - base, n_folds, n_settings)
        return cls(
            name=name, folds=len(found), accuracy=float(own.mean()),
            low=None if low is None else max(0.0, low), high=None if high is None else min(1.0, high),
            gain=float((own - base).mean()), gain_low=gain_low, gain_high=gain_high, options=options, **means,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<Standing: {self.name}, accuracy {self.accuracy:.1%}, {counted(self.folds, 'fold')}>"


@dataclass(frozen=True)
class Evaluation:
    """A table: the model, its settings and the usual classifiers on the same folds.

    Attributes
    ----------
    standings : tuple of Standing
    n_samples, n_classes : int
    end : {"all folds", "time limit", "interrupted"}
        What ended it; if not that all folds were done, the standings are about those that all classifiers have done.
    missing : dict
        Names of what was not measured, and why.
    line : str
        Code that fits the model, with ``{}`` for its options.

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
    missing: dict[str, str] = field(default_factory=dict)
    line: str = OF_ARRAYS

    def __getitem__(self, name: str) -> Standing:
        return {one.name: one for one in self.standings}[name]

    @property
    def complete(self) -> bool:
        """Whether all folds were done."""
        return self.end == "all folds"

    @property
    def recommended(self) -> Standing | None:
        """The model as given, or the best setting that is better beyond chance; None if nothing was measured.

        Beyond chance: the whole interval of the gain is above zero.
        """
        # Only what options of the estimator give can be recommended; other classifiers stand beside it.
        ours = [one for one in self.standings if one.options is not None]
        better = [one for one in ours if one.name == GIVEN or (one.gain_low or 0.0) > 0]
        return max(better, key=lambda one: one.accuracy, default=None)

    @property
    def reason(self) -> str:
        """Accuracy to expect of it, why it is recommended, and which classifier is better."""
        best = self.recommended
        if best is None:
            return "nothing was measured"
        expected, why = f"{best.accuracy:.1%}", "no setting was measured"
        n_settings = sum(one.options is not None for one in self.standings) - 1
        if n_settings:
            why = "no setting is better beyond chance" if best.folds > 1 else "one fold tells no setting from chance"
        if best.gain_low and best.gain_high:
            # The accuracy of what was chosen for its accuracy is too high; the lower end of its gain is not.
            expected = f"at least {self[GIVEN].accuracy + best.gain_low:.1%}"
            gain = f"{100 * best.gain_low:+.1f} to {100 * best.gain_high:+.1f} points"
            why = f"{gain}, corrected for choosing among {counted(n_settings, 'setting')}"
        others = [one for one in self.standings if one.options is None]
        rival = max(others, key=lambda one: one.accuracy, default=best)
        beaten = f"; {rival.name} reaches {rival.accuracy:.1%}" if rival.accuracy > best.accuracy else ""
        return f"{expected} on new points, {why}{beaten}"

    @property
    def recommendation(self) -> str:
        """One line to paste: the model that is recommended as it was measured, fitted to all points; and why."""
        if self.recommended is None:
            return self.reason
        options = ", ".join(f"{name}={value!r}" for name, value in (self.recommended.options or {}).items())
        return f"{self.line.format(options)}  # {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "standings"}
        more = {"complete": self.complete, "recommendation": self.recommendation}
        return plain | more | {"standings": [asdict(one) for one in self.standings]}

    def to_frame(self) -> Any:
        """Return a pandas frame, one line for each classifier, indexed by name."""
        names = [field.name for field in fields(Standing)]
        return as_frame({name: [getattr(one, name) for one in self.standings] for name in names}).set_index("name")

    def __repr__(self) -> str:
        return f"<Evaluation: {counted(len(self.standings), 'classifier')}, {self._headline()}>"

    def _headline(self) -> str:
        folds = self.standings[0].folds if self.standings else 0
        ended = "" if self.complete else f" ({self.end})"
        return f"{self.n_samples:,} points, {self.n_classes} classes, {counted(folds, 'fold')}{ended}"

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.recommendation}"

    def table(self) -> str:
        """Return the means that were measured, and the names of what was not."""
        missing = [
            f"not measured ({why}): {', '.join(k for k, v in self.missing.items() if v == why)}"
            for why in dict.fromkeys(self.missing.values())
        ]
        return "\n".join([self._headline(), *text_blocks(self.standings, COLUMNS), *missing])


def _per_cent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


COLUMNS: dict[str, Callable[[Standing], str]] = {
    "accuracy": lambda one: _per_cent(one.accuracy),
    "95 % interval": lambda one: "-" if one.low is None else f"{one.low:.1%} - {one.high:.1%}",
    "gain": lambda one: f"{100 * one.gain:+.1f}",
    "balanced": lambda one: _per_cent(one.balanced_accuracy),
    "AUC": lambda one: "-" if one.auc is None else f"{one.auc:.3f}",
    "claimed": lambda one: _per_cent(one.claimed),
    "right": lambda one: _per_cent(one.accuracy_claimed),
    "seconds": lambda one: f"{one.seconds:.2g}",
}


def interval(values: NDArray[np.float64], n_folds: int, n_together: int = 1) -> tuple[float, float] | tuple[None, None]:
    """Student's interval of a mean over folds; ``n_together`` of them hold together with that probability."""
    from scipy.stats import t

    mean, n = float(values.mean()), len(values)
    # One value has none; nor have equal ones, which do not tell how much others would differ.
    if n < 2 or np.ptp(values) == 0:
        return None, None
    # Training parts overlap, so the variance is over 1/n + test/train in place of 1/n (Nadeau and Bengio).
    spread = float(np.sqrt((1 / n + 1 / (n_folds - 1)) * values.var(ddof=1)))
    half = float(t.ppf(1 - (1 - LEVEL) / 2 / n_together, n - 1)) * spread
    return mean - half, mean + half


def evaluate(
    model: Any, X: Any, y: Any = None, *, n_folds: int = 5, n_repeats: int = 2, time_limit: float | None = None,
    random_state: int = 0, verbose: bool = False,
) -> Evaluation:  # fmt: skip
    """Measure how often a model is right on new points, beside its settings and the usual classifiers.

    All see the same folds. Ctrl-C or the time limit end it, and leave the folds that all classifiers have done (or,
    in the first fold, the classifiers that are done).

    Parameters
    ----------
    model : InterpolatingClassifier, mapping of its options, TableModel, or None for defaults
        Equal points with different labels get the majority's, unless options say otherwise.
    X : array, sparse matrix, frame or Table, shape (n_samples, n_features)
        A table is encoded anew in every fold, as a TableModel does it: means, deviations, and what fills empty cells.
        Anything else is taken as it is; of the usual classifiers, those that need scaling scale for themselves.
    y : sequence of n_samples labels
        A table may hold its labels itself.
    n_folds, n_repeats : int
        Stratified folds, and how often they are drawn.
    time_limit : float or None
        Seconds for all. Fits then run in a process of their own, which is ended when time is out; to start it does
        not count.
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

    n_folds = check_integer("n_folds", n_folds, at_least=2)
    n_repeats = check_integer("n_repeats", n_repeats, at_least=1)
    limit = None if time_limit is None else check_number("time_limit", time_limit, above=0.0)
    contenders = _contenders(model.classifier if isinstance(model, TableModel) else model, random_state)
    line, scale = OF_ARRAYS, None
    if isinstance(X, Table):
        # Each fold makes points of the rows anew.
        labels = X.labels if y is None else y
        if labels is None:
            raise ParameterError(f"{X.name} was read without labels: name their column, or pass them as y")
        data = Labelled.checked(np.empty((len(X), 0)), as_labels(labels, len(X)))
        scale = model.scale if isinstance(model, TableModel) else "standard"
        line = OF_TABLES.format(scale, "X" if y is None else "X, y")
    elif isinstance(model, TableModel):
        raise ParameterError("a TableModel is evaluated on a Table: exactfit.read_table makes one of a file or a frame")
    else:
        data = Labelled.of(X, y)
    # A fold without a point of some class would say nothing about it, and one without training points cannot.
    smallest = int(np.bincount(data.codes).min())
    if smallest < n_folds:
        raise ParameterError(f"a class has {smallest} points: n_folds={n_folds} needs as many of each; give less folds")
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=random_state)
    rows = list(splitter.split(data.codes, data.codes))
    held = contenders, X if scale else data.X, data.y, rows, scale
    facts, ended = _measured(held, limit, len(rows) * len(contenders), bool(verbose))
    scores = facts.get("scores", {name: [] for name in contenders})
    missing = {**facts.get("missing", {}), **{name: ended for name, found in scores.items() if not found}}
    # The folds that all classifiers have done; in the first one, the classifiers that are done.
    n_done = max(1, min(map(len, scores.values())))
    measured = {name: found[:n_done] for name, found in scores.items() if found}
    settings = {name: _changed(contenders[name]) for name in (GIVEN, *SETTINGS) if name in measured}
    standings = tuple(
        Standing.of(name, measured[name], measured[GIVEN], n_folds, settings.get(name), max(1, len(settings) - 1))
        for name in (*settings, *(name for name in measured if name not in settings))
    )
    return Evaluation(standings, len(data), len(data.classes), ended, missing, line)


def _measured(held: Any, time_limit: float | None, n_fits: int, verbose: bool) -> tuple[Facts, End]:
    """Run :func:`measure` here, or in a process of its own if time is limited; return its report and what ended it."""
    with progress_bar(verbose) as progress:
        if time_limit is not None:
            facts, end = run({"evaluation": measure}, held, Limits(time_limit), progress)["evaluation"]
            if "error" in facts:
                raise pickle.loads(bytes.fromhex(facts["error"]))
            if end and end != INTERRUPTED and not end.startswith("time limit"):
                raise ChildProcessError(end)
            return facts, "interrupted" if end == INTERRUPTED else "time limit" if end else "all folds"
        facts = {}

        def report(**more: Any) -> None:
            facts.update(more)
            progress("fits", sum(map(len, facts["scores"].values())), n_fits)

        try:
            measure(report, held)
        except KeyboardInterrupt:
            return facts, "interrupted"
        return facts, "all folds"


def _contenders(model: Any, random_state: int) -> Facts:
    """Return the model as given, the usual classifiers, and the model with one setting changed."""
    if isinstance(model, InterpolatingClassifier):
        model = _changed(model)
    if model is not None and not isinstance(model, Mapping):
        raise ParameterError(f"evaluate takes an InterpolatingClassifier or options of one, got {type(model).__name__}")
    # A fold may part equal points with different labels, so by default none of them ends the evaluation.
    given: Facts = {"random_state": random_state, "conflicts": "majority", **dict(model or {})}
    unknown = given.keys() - InterpolatingClassifier().get_params().keys()
    if unknown:
        raise ParameterError(f"InterpolatingClassifier has no option {sorted(unknown)[0]!r}")
    own, new = InterpolatingClassifier(**given), dict[str, Any]()
    Options.of(own)
    for name, more in SETTINGS.items():
        changed = InterpolatingClassifier(**given | more)
        with suppress(ParameterError):  # a setting that does not go with the other options
            Options.of(changed)
            if _changed(changed) != _changed(own):
                new[name] = changed
    return {GIVEN: own} | usual_classifiers(random_state) | new


def _changed(model: InterpolatingClassifier) -> Facts:
    """Return the options of a model that are not defaults, as Python prints and reads them."""
    defaults = InterpolatingClassifier().get_params()
    given = {name: value for name, value in model.get_params().items() if repr(value) != repr(defaults[name])}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return {name: value for name, value in plain.items() if name != "random_state" or isinstance(value, int)}


def measure(report: Callable[..., None], held: tuple[Facts, Any, NDArray[Any], list[Fold], Any]) -> None:
    """Fit and score every classifier, fold by fold; report after each."""
    contenders, X, y, rows, scale = held
    scores: dict[str, list[Scores]] = {name: [] for name in contenders}
    missing: dict[str, str] = {}
    report(scores=scores, missing=missing)
    for train, test in rows:
        if scale is None:
            points = X[train], X[test]
        else:
            # A table is encoded by its training part, as a TableModel does it.
            old = X.taken(train)
            encoding = Encoding.learn(old, scale)
            with warnings.catch_warnings(action="ignore", category=UnseenCategoryWarning):
                points = encoding.encode(old), encoding.encode(X.taken(test))
        for name in list(scores):
            try:
                scores[name].append(fold_scores(contenders[name], points, (y[train], y[test])))
            except Exception as error:
                # Without the model that was asked about nothing can be compared; the error is the caller's to see.
                if name == GIVEN:
                    report(error=pickle.dumps(error).hex())
                    raise
                missing[name] = " ".join(str(error).split())
                del scores[name]
            report(scores=scores, missing=missing)


def fold_scores(model: Any, points: tuple[Any, Any], labels: tuple[Any, Any]) -> Scores:
    """Fit a fresh copy of a classifier to old points, and score its answers on new ones."""
    from sklearn.base import clone
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score
    from sklearn.preprocessing import label_binarize

    start = time.perf_counter()
    # Parts of the data may hold contradictions, or be too hard for the width: their scores say so.
    with warnings.catch_warnings():
        for expected in (ConflictWarning, InterpolationWarning):
            warnings.simplefilter("ignore", expected)
        fitted = clone(model).fit(points[0], labels[0])
        answers = fitted.predict(points[1])
    seconds, right, classes = time.perf_counter() - start, answers == labels[1], fitted.classes_
    claimed, auc = None, None
    # Where only one class has detectors, all points are claimed or not; other models know no claims.
    if isinstance(fitted, InterpolatingClassifier) and fitted.network_.widths[-1] > 1:
        claimed = ~fitted.abstains(points[1])
    # Each class against the rest, averaged; none if a class is missing among the new points.
    if np.array_equal(np.unique(labels[1]), classes):
        values = getattr(fitted, "decision_function", None) or fitted.predict_proba
        values = values(points[1])
        if values.ndim == 2 and len(classes) == 2:
            values = values[:, 1]
        auc = float(roc_auc_score(label_binarize(labels[1], classes=classes), values))
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(balanced_accuracy_score(labels[1], answers)),
        "auc": auc,
        "claimed": None if claimed is None else float(claimed.mean()),
        "accuracy_claimed": None if claimed is None or not claimed.any() else float(right[claimed].mean()),
        "seconds": seconds,
    }
