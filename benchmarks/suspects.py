"""How well wrong labels are found: ``python -m benchmarks.suspects [--data FOLDER]``, the tables of docs/suspects.md.

Of a share of the labels each is changed to another one, chosen uniformly. Every method ranks all rows;
average precision and the precision among as many rows as were changed are means over the seeds. 1-NN
disagreement ranks rows whose nearest row bears another label before all others. Logistic regression ranks
by the probability that it gives to the label when that fifth of the data is held out; it stops after 100 iterations.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactfit import find_suspects

from .cases import Data, digits, images

Floats = NDArray[np.float64]

SHARES = (0.01, 0.05, 0.10)
FOLDS = 5
ITERATIONS = 100


def changed(y: NDArray[Any], share: float, seed: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels of which a share is wrong, and which."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    labels, wrong = y.copy(), np.zeros(len(y), dtype=bool)
    n_classes = int(y.max()) + 1
    labels[rows] = (y[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    wrong[rows] = True
    return labels, wrong


def rankings(X: Any, y: NDArray[Any], seed: int, n_jobs: int) -> Iterator[tuple[str, Floats]]:
    """Every method's scores, the most suspicious rows highest."""
    found = find_suspects(X, y, random_state=seed, n_jobs=n_jobs)
    yield "score", found.score
    yield "claims, then support", -(found.claims + found.support / (1.0 + found.support.max()))
    yield "ball ratio", -found.ball_ratio
    nearest = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X, return_distance=False)
    first = np.where(nearest[:, 0] == np.arange(len(y)), nearest[:, 1], nearest[:, 0])
    yield "1-NN disagreement", (y[first] != y).astype(np.float64)
    yield "logistic regression", -_confidence(X, y, seed, n_jobs)


def _confidence(X: Any, y: NDArray[Any], seed: int, n_jobs: int) -> Floats:
    """The probability of every row's label, from the folds that do not hold it."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=ITERATIONS))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose
        given = cross_val_predict(model, X, y, cv=folds, method="predict_proba", n_jobs=n_jobs)
    return np.asarray(given[np.arange(len(y)), np.searchsorted(np.unique(y), y)], dtype=np.float64)


def measure(data: Data, seeds: int, n_jobs: int) -> dict[tuple[str, float], list[tuple[float, float]]]:
    """Average precision and precision at the number of wrong labels, by method and share."""
    X, y = data
    results = defaultdict(list)
    for share in SHARES:
        for seed in range(seeds):
            labels, wrong = changed(y, share, seed)
            for name, scores in rankings(X, labels, seed, n_jobs):
                first = np.argsort(-scores, kind="stable")[: wrong.sum()]
                results[name, share].append((average_precision_score(wrong, scores), wrong[first].mean()))
    return results


def table(results: dict[tuple[str, float], list[tuple[float, float]]]) -> str:
    """A line for each method, in Markdown."""
    heads = [f"AP, {share:.0%} wrong | precision, {share:.0%}" for share in SHARES]
    lines = [f"| ranked by | {' | '.join(heads)} |", f"| --- |{' ---: |' * (2 * len(SHARES))}"]
    for name in dict.fromkeys(name for name, _ in results):
        cells = [f"{value:.3f}" for share in SHARES for value in np.mean(results[name, share], axis=0)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure digits, and MNIST if there are files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with MNIST's files")
    parser.add_argument("--rows", type=int, default=10_000, help="so many of MNIST, the first")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cases = {"digits": digits()}
    if options.data:
        cases[f"MNIST, the first {options.rows:,} rows"] = images("mnist", options.rows, options.data)
    for name, data in cases.items():
        start = time.perf_counter()
        print(f"{name}, {options.seeds} seeds\n\n{table(measure(data, options.seeds, options.jobs))}\n")
        print(f"({time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
