"""``evaluate``: what to expect on new points, by repeated stratified folds, beside the usual classifiers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import progress_bar
from .._support.parameters import check_flag, check_number, check_whole
from ..construct.recipe import recipe_of
from ..data import Labelled
from ..estimators import InterpolatingClassifier
from ..exceptions import ConflictWarning, InterpolationWarning, ParameterError, UnseenCategoryWarning
from ..options import PAPER
from ..tables import Encoding, Table
from .contenders import usual_classifiers
from .evaluation import GIVEN, End, Evaluation, Scores, Standing

Rows = NDArray[np.int64]
# From the rows of the training part and of the new ones to the points of both.
Split = Callable[[Rows, Rows], tuple[Any, Any]]

# What each setting buys: one change to the model as given, in the order of the table.
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": PAPER,
    "gaussian hyperplanes": {"hyperplanes": "gaussian"},
    "1024 hyperplanes": {"min_width": 1024},
    "masks": {"detectors": "mask"},
    "weighted detectors": {"detectors": "weighted", "selection": "random"},
    "margin 25%": {"margin": "25%"},
    "one network": {"n_networks": 1},
    "10 networks": {"n_networks": 10},
}


def evaluate(
    model: Any, X: Any, y: Any = None, *, n_folds: int = 5, n_repeats: int = 2, scale: bool = True,
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
    >>> found = exactfit.evaluate({"n_networks": 3}, *load_iris(return_X_y=True), n_folds=3, n_repeats=1)
    >>> found["1-nn"].folds, found["as given"].accuracy > 0.9, found["majority"].accuracy < 0.4
    (3, True, True)
    """
    from sklearn.model_selection import RepeatedStratifiedKFold

    counts = check_whole("n_folds", n_folds, at_least=2), check_whole("n_repeats", n_repeats, at_least=1)
    end = time.monotonic() + (np.inf if time_limit is None else check_number("time_limit", time_limit, above=0.0))
    check_flag("scale", scale)
    contenders = _contenders(_own(model), random_state)
    split, data = _table_folds(X, y, scale) if isinstance(X, Table) else _array_folds(X, y, scale)
    smallest = int(np.bincount(data.codes).min())
    if smallest < counts[0]:
        raise ParameterError(f"a class has {smallest} points: n_folds={n_folds} needs as many of each; give less folds")
    folds = RepeatedStratifiedKFold(n_splits=counts[0], n_repeats=counts[1], random_state=random_state)
    done: dict[str, list[Scores]] = {}
    total = counts[0] * counts[1] * len(contenders)
    ended: End = "time limit"
    try:
        with progress_bar(bool(verbose)) as progress:
            for name, scores in _measured(contenders, data, folds, split, end):
                done.setdefault(name, []).append(scores)
                progress("fits", sum(map(len, done.values())), total)
    except KeyboardInterrupt:
        ended = "interrupted"
    if sum(map(len, done.values())) == total:
        ended = "all folds"
    standings = tuple(_standings(done, contenders, counts[0]))
    return Evaluation(standings, len(data), len(data.classes), ended)


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
    """The model as given, the usual classifiers, and the model with one setting changed."""
    seed = {"random_state": random_state}
    own = {GIVEN: InterpolatingClassifier(**seed | given)}
    recipe_of(own[GIVEN])
    settings = {name: InterpolatingClassifier(**seed | given | more) for name, more in SETTINGS.items()}
    new = {
        name: model for name, model in settings.items() if _can_be(model) and _changed(model) != _changed(own[GIVEN])
    }
    return own | usual_classifiers(random_state) | new


def _can_be(model: InterpolatingClassifier) -> bool:
    """Whether a setting goes with the other options."""
    try:
        recipe_of(model)
    except ParameterError:
        return False
    return True


def _array_folds(X: Any, y: Any, scale: bool) -> tuple[Split, Labelled]:
    """Points that are numbers already."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import StandardScaler

    data = Labelled.of(X, y)

    def split(train: Rows, test: Rows) -> tuple[Any, Any]:
        old, new = data.X[train], data.X[test]
        if not scale:
            return old, new
        scaler = StandardScaler(with_mean=not issparse(old)).fit(old)
        return scaler.transform(old), scaler.transform(new)

    return split, data


def _table_folds(table: Table, y: Any, scale: bool) -> tuple[Split, Labelled]:
    """Points that each fold learns to make from its training part."""
    labels = table.labels if y is None else y
    if labels is None:
        raise ParameterError(f"{table.name} was read without labels: name their column, or pass them as y")

    def split(train: Rows, test: Rows) -> tuple[Any, Any]:
        old = table.taken(train)
        encoding = Encoding.learn(old, "standard" if scale else "none")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)
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


def fold_scores(model: Any, points: tuple[Any, Any], codes: tuple[Any, Any]) -> Scores:
    """Fit a fresh copy of a classifier to old points, and score its answers on new ones; labels are class codes."""
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
        "auc": _auc(fitted, points[1], codes[1]),
        "claimed": None if claimed is None else float(claimed.mean()),
        "accuracy_claimed": None if claimed is None or not claimed.any() else float(right[claimed].mean()),
        "seconds": seconds,
    }


def _claimed(model: Any, X: Any) -> NDArray[np.bool_] | None:
    """Which points exactly one class claims; None where only one class has detectors, or for other models."""
    if not isinstance(model, InterpolatingClassifier) or model.network_.widths[-1] == 1:
        return None
    return ~model.abstains(X)


def _auc(model: Any, X: Any, codes: Any) -> float | None:
    """Area under the curve of each class against the rest, averaged; None if a class is missing."""
    from sklearn.metrics import roc_auc_score

    present = np.unique(codes)
    if not np.array_equal(present, model.classes_):
        return None
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    if scores.ndim == 1 or len(present) == 2:
        return float(roc_auc_score(codes, scores if scores.ndim == 1 else scores[:, 1]))
    return float(np.mean([roc_auc_score(codes == k, scores[:, k]) for k in present]))


def _standings(done: dict[str, list[Scores]], contenders: Mapping[str, Any], n_folds: int) -> Iterator[Standing]:
    """What all have done, the model as given first and its settings behind it."""
    whole = max(1, min(len(done.get(name, ())) for name in contenders))
    for name in sorted(done, key=lambda name: not isinstance(contenders[name], InterpolatingClassifier)):
        model, options = contenders[name], None
        if isinstance(model, InterpolatingClassifier):
            options = {key: value for key, value in _changed(model).items() if key != "random_state"}
        yield Standing.of(name, done[name][:whole], done[GIVEN][:whole], n_folds, options)
