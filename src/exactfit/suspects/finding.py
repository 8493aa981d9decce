"""``find_suspects``: how probable every label is, by the nearest rows and, if asked, a model; duplicates and outliers.

Each kind of evidence is weighted by how well it tells labels apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.parameters import check_integer, seed_sequence
from .._support.threads import open_executor
from ..construct.noise import Claims, drawn_patterns
from ..data import Codes, Labelled, distinct_rows
from ..exceptions import DataError, ParameterError
from ..geometry.neighbours import NOBODY, nearest_rows
from ..tables import Encoding, Table
from .listing import Floats, Rows, Suspects

FOLDS = 5  # of the cross-validation that makes probabilities out of sample
SUM_TOLERANCE = 1e-3  # by which the probabilities of a row may miss 1: those of float32 models do by 1e-6
REACH = 4  # times k: neighbours that are looked at
CLOSENESS = 4.0  # unit of closeness: its weight is then about as large as that of the votes
LEAST = 1e-3  # least probability of a model that is believed: folds of thousands of rows cannot show less
RIDGE = 1e-4  # multiple of the squared weights that is added to the loss
AT_RANDOM = 0.02  # share of unlikely labels at random from which on they are the kind to look for (docs/suspects.md)
ROUNDS = 300  # of expectation maximisation, after which the third digit does not change
MISTAKEN = 0.05  # share of wrong labels that rates of mistakes start from, whatever the classes
RATE_ROUNDS = 2  # in which the rates are counted anew: more rounds overfit few rows (docs/suspects.md)
RIGHT_BEFORE, WRONG_BEFORE = 1.0, 0.1  # rows of each class, and of each pair of classes, that count before any is seen
ENOUGH = 20  # labels that are not the likeliest, for each class: fewer say nothing about which classes are confused
MOST_RATES = 2**22  # pairs of classes beyond which no rates are counted: 32 MiB
TILE_ENTRIES = 2**20  # probabilities held at a time: 8 MiB
FIT_ENTRIES = 2**22  # probabilities by which weights are fitted: three numbers need no more


def find_suspects(
    X: Any,
    y: ArrayLike | None = None,
    *,
    pred_probs: ArrayLike | None = None,
    model: Any = None,
    width: int = 512,
    k: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Suspects:
    """Find rows whose labels look wrong, rows that are there twice, and rows far from all others.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or Table
        A table brings its labels, is encoded with standard scaling, and its cells are shown.
    y : array of shape (n_samples,), optional
    pred_probs : array of shape (n_samples, n_classes), optional
        Out-of-sample probabilities of the labels, in sorted order, from any model: used beside the nearest rows.
    model : scikit-learn classifier with ``predict_proba``, optional
        Makes such probabilities here, in five-fold cross-validation.
    width : int
        Hyperplanes over which ``claims`` and ``support`` are counted.
    k : int
        How many neighbours to look at.
    random_state : int, RandomState, Generator or None
        For the hyperplanes and the folds.
    n_jobs : int or None
        Threads. Changes no result.
    verbose : bool
        Whether to show progress bars on standard error.

    Returns
    -------
    Suspects

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import find_suspects
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1
    >>> find_suspects(X, y, random_state=0).top(1)
    array([7])
    >>> from sklearn.naive_bayes import GaussianNB
    >>> find_suspects(X, y, model=GaussianNB(), random_state=0).top(1)
    array([7])
    """
    check_integer("width", width, at_least=1)
    check_integer("k", k, at_least=1)
    root = seed_sequence(random_state)
    if isinstance(X, Table):
        labels = X.labels if y is None else y
        if labels is None:
            raise ParameterError(f"{X.name} was read without labels: read it with label=..., or pass them as y")
        problem = Labelled.of(Encoding.learn(X, "standard").encode(X), labels)
    elif y is None:
        raise ParameterError("find_suspects needs y, the labels of the rows; a table may hold them itself")
    else:
        problem = Labelled.of(X, y)
    points, codes, n_classes = problem.X, problem.codes, len(problem.classes)
    if pred_probs is not None and model is not None:
        raise ParameterError("probabilities are given twice: leave out pred_probs, or model")
    given = None if pred_probs is None else checked_probabilities(pred_probs, len(problem), n_classes)
    if model is not None:
        given = cross_validated(model, points, codes, int(root.generate_state(1)[0]))
    with open_executor(n_jobs, verbose) as work:
        patterns = drawn_patterns(points, width, root, work.threads)
        counted = Claims.over(patterns, codes, work.threads, work.progress)
        own, others, to_own, to_other = nearest_rows(points, codes, REACH * k, work.threads, work.progress)
    evidence = LabelEvidence(*merged(own, to_own, others, to_other), codes, n_classes, k, given)
    score, likeliest = evidence.suspicion()
    # The distance to another label, over its median among the nearest rows of the same label.
    around = np.where(own[:, :k] == NOBODY, np.nan, to_other[own[:, :k], 0])
    around[own[:, 0] == NOBODY] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(to_other[:, 0] == 0, 0.0, to_other[:, 0] / np.nanmedian(around, axis=1))
    near, distances = evidence.near, evidence.distances
    strangers = np.count_nonzero((codes[near] != codes[:, None])[:, :k] & (near[:, :k] != NOBODY), axis=1)
    # Of one class for this: equal rows with different labels are equal as well.
    firsts, places = distinct_rows(points, np.zeros_like(codes))
    found = Suspects(
        score=score,
        suggested=problem.classes[likeliest],
        claims=counted.claims,
        support=counted.support,
        ball_ratio=ratios,
        strangers=strangers.astype(np.int64),
        conflicts=others[:, :k],
        to_conflict=to_other[:, 0],
        nearest=distances[:, 0],
        away=distances[:, min(k, len(codes) - 1) - 1],
        first_equal=firsts[places],
        labels=problem.classes[codes],
        rows=np.arange(len(codes)),
    )
    return found.of_table(X) if isinstance(X, Table) else found


def merged(own: Rows, to_own: Floats, others: Rows, to_other: Floats) -> tuple[Rows, Floats]:
    """Return the nearest rows whatever their labels, the nearest first, of equally near ones the first; distances."""
    distances, rows = np.hstack([to_own, to_other]), np.hstack([own, others])
    order = np.lexsort((rows, distances), axis=1)[:, : own.shape[1]]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(distances, order, axis=1)


class LabelEvidence:
    """Evidence for and against labels: neighbours' votes, their closeness, and a model if there is one."""

    def __init__(
        self, near: Rows, distances: Floats, codes: Codes, n_classes: int, k: int, given: Floats | None = None
    ) -> None:
        self.near, self.distances = near, distances  # NOBODY, infinitely far, where there are no more
        self.codes, self.n_classes, self.k, self.given = codes, n_classes, k, given
        self.prior = np.bincount(codes, minlength=n_classes) / len(codes)

    def logs(self, rows: Rows) -> list[Floats]:
        """Return the logarithm of every label's probability at some rows, by each kind of evidence."""
        distances, is_there, at = self.distances[rows], self.near[rows] != NOBODY, np.arange(len(rows))
        labels = self.codes[self.near[rows]]
        # Distances are relative to that of the last neighbour; 0 where all are equal to the row.
        last = np.max(distances, axis=1, where=np.isfinite(distances), initial=0.0, keepdims=True)
        relative = np.divide(distances, last, where=last > 0, out=np.zeros_like(distances))
        # A neighbour at t counts exp(-t^2); one more row, for all the data, spreads over the labels as these do.
        weights = np.where(is_there, np.exp(-(relative**2)), 0.0)
        cells = at[:, None] * self.n_classes + labels
        counts = np.bincount(cells.ravel(), weights.ravel(), minlength=len(rows) * self.n_classes)
        votes = np.log((counts.reshape(-1, self.n_classes) + self.prior) / (weights.sum(axis=1, keepdims=True) + 1.0))
        # The mean distance of the k nearest of every label; one that is not there counts as the last neighbour.
        sums, seen = np.zeros_like(votes), np.zeros(votes.shape, dtype=np.int64)
        for place, of in enumerate(labels.T):
            taken = np.flatnonzero(is_there[:, place] & (seen[at, of] < self.k))
            sums[taken, of[taken]] += relative[taken, place]
            seen[taken, of[taken]] += 1
        logs = [votes, -CLOSENESS * (sums + (self.k - seen)) / self.k]
        return logs if self.given is None else [*logs, np.log(np.maximum(self.given[rows], LEAST))]

    def weights(self) -> Floats:
        """Return the weights by which the labels are likeliest, fitted to rows evenly spread."""
        step = -(-len(self.codes) * self.n_classes // FIT_ENTRIES)
        rows = np.arange(0, len(self.codes), step)
        return pool_weights(self.logs(rows), self.codes[rows])

    def tiles(self, weights: Floats, rates: Floats | None) -> Iterator[tuple[Codes, Floats]]:
        """Yield the labels of some rows after others, and the probabilities of all labels there.

        With ``rates`` of mistakes, those of the labels that the rows should bear.
        """
        step = max(1, TILE_ENTRIES // self.n_classes)
        for start in range(0, len(self.codes), step):
            rows = np.arange(start, min(start + step, len(self.codes)))
            joint, codes = _pooled(self.logs(rows), weights), self.codes[rows]
            if rates is not None:
                joint *= rates[codes]
                joint /= joint.sum(axis=1, keepdims=True)
            yield codes, joint

    def probabilities(self, weights: Floats, rates: Floats | None = None) -> tuple[Floats, Floats, Codes]:
        """Return the probability of every row's own label, that of the likeliest other one, and the likeliest label."""
        own, other, best = [], [], []
        for codes, joint in self.tiles(weights, rates):
            best.append(joint.argmax(axis=1))
            at = np.arange(len(codes)), codes
            own.append(joint[at])
            joint[at] = 0.0
            other.append(joint.max(axis=1))
        return np.concatenate(own), np.concatenate(other), np.concatenate(best)

    def mistake_rates(self, weights: Floats) -> Floats:
        """Return how often a row that should bear a label (columns) bears each (rows)."""
        rates = np.full((self.n_classes, self.n_classes), MISTAKEN / (self.n_classes - 1))
        np.fill_diagonal(rates, 1.0 - MISTAKEN)
        # Counted by the probabilities, which change with the rates: again in each of a few rounds.
        for _ in range(RATE_ROUNDS):
            counts = RIGHT_BEFORE * np.eye(self.n_classes) + WRONG_BEFORE
            for codes, joint in self.tiles(weights, rates):
                np.add.at(counts, codes, joint)
            rates = counts / counts.sum(axis=0)
        return rates

    def suspicion(self) -> tuple[Floats, Codes]:
        """Return how suspicious every label is, from 0 to 1, and the likeliest label."""
        # Wrong labels of any kind are found by how improbable they are. Labels that were mistaken for a class that is
        # easily confused with theirs are not improbable: there, rows are found by how far another label is ahead, with
        # the rates at which classes are mistaken for each other. With a model and more than two classes the data show
        # which kind there is; else the first is taken. Too few doubtful labels say nothing about rates.
        weights = self.weights()
        own, other, best = self.probabilities(weights)
        if self.given is None or self.n_classes < 3 or random_share(own, other, self.n_classes) >= AT_RANDOM:
            return 1.0 - own, best
        if np.count_nonzero(own < other) >= ENOUGH * self.n_classes and self.n_classes**2 <= MOST_RATES:
            own, other, best = self.probabilities(weights, self.mistake_rates(weights))
        return (1.0 - own + other) / 2.0, best


def random_share(own: Floats, other: Floats, n_classes: int) -> float:
    """Return the share that looks drawn at random, of labels that are not the likeliest of their row."""
    unlikely = own < other
    if not unlikely.any():
        return 0.0
    # The others are drawn by the probabilities, among all labels but the likeliest. The share by which these labels
    # are likeliest is found by expectation maximisation.
    chance, expected = 1.0 / (n_classes - 1), own[unlikely] / (1.0 - other[unlikely])
    share = 0.5
    for _ in range(ROUNDS):
        share = float(np.mean(share * chance / (share * chance + (1.0 - share) * expected)))
    return share


def _pooled(logs: list[Floats], weights: Floats) -> Floats:
    """Return weighted logarithms added up, as probabilities."""
    joint = sum((weight * each for weight, each in zip(weights, logs, strict=True)), np.zeros_like(logs[0]))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def pool_weights(logs: list[Floats], codes: Codes) -> Floats:
    """Return the weights of a logarithmic pool, none negative, by which the labels are likeliest."""
    from scipy.optimize import minimize

    at = np.arange(len(codes))

    # The log loss is convex in the weights; the ridge keeps them finite where labels are told apart without a mistake.
    def loss(weights: Floats) -> tuple[float, Floats]:
        joint = _pooled(logs, weights)
        slopes = [float(((joint * each).sum(axis=1) - each[at, codes]).mean()) for each in logs]
        lost = -float(np.log(np.maximum(joint[at, codes], np.finfo(np.float64).tiny)).mean())
        return lost + RIDGE * float(weights @ weights), np.array(slopes) + 2 * RIDGE * weights

    start = np.full(len(logs), 1.0 / len(logs))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(logs))
    return np.asarray(found.x, dtype=np.float64)


def checked_probabilities(given: Any, n_rows: int, n_classes: int) -> Floats:
    """Return probabilities of all labels for every row; refuse anything else."""
    try:
        found: Floats = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"pred_probs must hold numbers: {error}") from error
    if found.shape != (n_rows, n_classes):
        raise DataError(
            f"pred_probs must have a row for each row of the data and a column for each label, in sorted order: "
            f"shape ({n_rows}, {n_classes}), got {found.shape}"
        )
    wrong = ~(
        np.isfinite(found).all(axis=1) & (found >= 0).all(axis=1) & (np.abs(found.sum(axis=1) - 1) <= SUM_TOLERANCE)
    )
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"pred_probs must hold probabilities that add up to 1 in every row; row {row} holds {found[row].tolist()}"
        )
    return found


def cross_validated(model: Any, X: Any, codes: Codes, seed: int) -> Floats:
    """Return probabilities of all labels at every row by a classifier that was fitted to the other folds."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"model must be a scikit-learn classifier with predict_proba, got {type(model).__name__}: "
            "wrap it in CalibratedClassifierCV, or pass pred_probs"
        )
    # Stratified, so that most folds hold every class; a class of one row is missing in one.
    folds = StratifiedKFold(max(2, min(FOLDS, int(np.bincount(codes).max()))), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # in a fold without it, it is improbable
        warnings.filterwarnings("ignore", "Number of classes in training fold")
        found = cross_val_predict(clone(model), X, codes, cv=folds, method="predict_proba")
    return checked_probabilities(found, len(codes), int(codes.max()) + 1)
