"""``find_suspects``: how probable every label is, by the nearest rows and, if asked, a model; and what else is odd.

What each of them says counts as far as it tells labels apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
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
SUM_ROOM = 1e-3  # by which the probabilities of a row may miss 1: those of float32 models do by 1e-6
REACH = 4  # times k: how many neighbours are asked
CLOSENESS = 4.0  # unit of closeness: its weight is then about as large as that of the votes
LEAST = 1e-3  # least probability of a model that is believed: folds of thousands of rows cannot tell less
RIDGE = 1e-4  # multiple of the squared weights that is added to what is minimised
AT_RANDOM = 0.02  # share of unlikely labels at random from which on they are the kind to look for (docs/suspects.md)
ROUNDS = 300  # of expectation maximisation, after which the third digit stands
MISTAKEN = 0.05  # share of wrong labels that rates of mistakes start from, whatever the classes
RATE_ROUNDS = 2  # in which the rates are counted anew: more believe what few rows say (docs/suspects.md)
RIGHT_BEFORE, WRONG_BEFORE = 1.0, 0.1  # rows of each class, and of each pair of classes, that count before any is seen
ENOUGH = 20  # labels that are not the likeliest, for each class: fewer say nothing about who is mistaken for whom
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
        Out-of-sample probabilities of the labels, in sorted order, from any model: heard beside the nearest rows.
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
    root, problem = seed_sequence(random_state), _labelled(X, y)
    given = _probabilities(problem, pred_probs, model, int(root.generate_state(1)[0]))
    points, codes = problem.X, problem.codes
    with open_executor(n_jobs, verbose) as work:
        patterns = drawn_patterns(points, width, root, work.threads)
        counted = Claims.over(patterns, codes, work.threads, work.progress)
        own, others, to_own, to_other = nearest_rows(points, codes, REACH * k, work.threads, work.progress)
    around = Neighbourhood.of(own, to_own, others, to_other)
    score, likeliest = Witnesses(around, codes, len(problem.classes), k, given).suspicion()
    firsts, places = distinct_rows(points, np.zeros_like(codes))
    found = Suspects(
        score=score,
        suggested=problem.classes[likeliest],
        claims=counted.claims,
        support=counted.support,
        ball_ratio=ball_ratios(to_other[:, 0], own[:, :k]),
        strangers=around.strangers(codes, k),
        conflicts=others[:, :k],
        to_conflict=to_other[:, 0],
        nearest=around.distances[:, 0],
        away=around.distances[:, min(k, len(codes) - 1) - 1],
        first_equal=firsts[places],
        labels=problem.classes[codes],
        rows=np.arange(len(codes)),
    )
    return found.of_table(X) if isinstance(X, Table) else found


def _labelled(X: Any, y: Any) -> Labelled:
    """Points and labels, of a table or as they are."""
    if not isinstance(X, Table):
        if y is None:
            raise ParameterError("find_suspects needs y, the labels of the rows; a table may hold them itself")
        return Labelled.of(X, y)
    labels = X.labels if y is None else y
    if labels is None:
        raise ParameterError(f"{X.name} was read without labels: read it with label=..., or pass them as y")
    return Labelled.of(Encoding.learn(X, "standard").encode(X), labels)


def _probabilities(problem: Labelled, given: Any, model: Any, seed: int) -> Floats | None:
    if given is not None and model is not None:
        raise ParameterError("probabilities are given twice: leave out pred_probs, or model")
    if given is not None:
        return checked_probabilities(given, len(problem), len(problem.classes))
    return None if model is None else cross_validated(model, problem.X, problem.codes, seed)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nearest rows of every row, whatever their labels, the nearest first; NOBODY where there are no more."""

    rows: Rows
    distances: Floats

    @classmethod
    def of(cls, own: Rows, to_own: Floats, others: Rows, to_other: Floats) -> Neighbourhood:
        """From the nearest rows of the own label and of others; of equally near ones the first row comes first."""
        distances, rows = np.hstack([to_own, to_other]), np.hstack([own, others])
        order = np.lexsort((rows, distances), axis=1)[:, : own.shape[1]]
        return cls(np.take_along_axis(rows, order, axis=1), np.take_along_axis(distances, order, axis=1))

    def strangers(self, codes: Codes, k: int) -> Rows:
        """How many of the k nearest rows bear another label."""
        near = self.rows[:, :k]
        return np.asarray(np.count_nonzero((codes[near] != codes[:, None]) & (near != NOBODY), axis=1), dtype=np.int64)

    def shares(self) -> Floats:
        """Distances as shares of that of the last neighbour; 0 where all are equal to the row."""
        last = np.max(self.distances, axis=1, where=np.isfinite(self.distances), initial=0.0, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(last > 0, self.distances / np.where(last > 0, last, 1.0), 0.0))

    def votes(self, codes: Codes, n_classes: int) -> Floats:
        """What the neighbours say of every label, as logarithms of probabilities.

        A neighbour at a share t of the last one's distance counts exp(-t^2); one more row, which stands for all the
        data, spreads over the labels as these do.
        """
        weights = np.where(self.rows == NOBODY, 0.0, np.exp(-(self.shares() ** 2)))
        cells = np.arange(len(weights))[:, None] * n_classes + codes[self.rows]
        counts = np.bincount(cells.ravel(), weights.ravel(), minlength=len(weights) * n_classes)
        prior = np.bincount(codes, minlength=n_classes) / len(codes)
        return np.asarray(np.log((counts.reshape(-1, n_classes) + prior) / (weights.sum(axis=1, keepdims=True) + 1.0)))

    def closeness(self, codes: Codes, n_classes: int, k: int) -> Floats:
        """Minus the mean share of the distance to the k nearest rows of every label, times CLOSENESS.

        A row that is not among the neighbours counts as the last of them.
        """
        labels, shares = codes[self.rows], self.shares()
        there = self.rows != NOBODY
        near = np.zeros((len(labels), n_classes))
        counts = np.zeros((len(labels), n_classes), dtype=np.int64)
        at = np.arange(len(labels))
        for place in range(labels.shape[1]):
            of = labels[:, place]
            first = there[:, place] & (counts[at, of] < k)
            near[at[first], of[first]] += shares[first, place]
            counts[at[first], of[first]] += 1
        return np.asarray(-CLOSENESS * (near + (k - counts)) / k)


@dataclass(frozen=True, eq=False)
class Witnesses:
    """All that speaks for and against labels: neighbours' votes, their closeness, and a model if there is one."""

    around: Neighbourhood
    codes: Codes
    n_classes: int
    k: int
    given: Floats | None = None

    def say(self, rows: Rows) -> list[Floats]:
        """What each says of every label at some rows, as logarithms."""
        around = Neighbourhood(self.around.rows[rows], self.around.distances[rows])
        said = [around.votes(self.codes, self.n_classes), around.closeness(self.codes, self.n_classes, self.k)]
        return said if self.given is None else [*said, np.log(np.maximum(self.given[rows], LEAST))]

    def weights(self) -> Floats:
        """How much each counts: as makes the labels likeliest. Of many rows some are asked, evenly spread."""
        step = -(-len(self.codes) * self.n_classes // FIT_ENTRIES)
        rows = np.arange(0, len(self.codes), step)
        return pool_weights(self.say(rows), self.codes[rows])

    def tiles(self, weights: Floats, rates: Floats | None) -> Iterator[tuple[Codes, Floats]]:
        """The labels of some rows after others, and the probabilities of all labels there.

        With ``rates`` of mistakes, those of the labels that the rows should bear.
        """
        step = max(1, TILE_ENTRIES // self.n_classes)
        for start in range(0, len(self.codes), step):
            rows = np.arange(start, min(start + step, len(self.codes)))
            joint, codes = _pooled(self.say(rows), weights), self.codes[rows]
            if rates is not None:
                joint *= rates[codes]
                joint /= joint.sum(axis=1, keepdims=True)
            yield codes, joint

    def probabilities(self, weights: Floats, rates: Floats | None = None) -> tuple[Floats, Floats, Codes]:
        """Of every row's own label, of the likeliest other one, and the likeliest label."""
        own, other, best = [], [], []
        for codes, joint in self.tiles(weights, rates):
            best.append(joint.argmax(axis=1))
            at = np.arange(len(codes)), codes
            own.append(joint[at])
            joint[at] = 0.0
            other.append(joint.max(axis=1))
        return np.concatenate(own), np.concatenate(other), np.concatenate(best)

    def mistake_rates(self, weights: Floats) -> Floats:
        """How often a row that should bear a label (columns) bears each (rows).

        Counted as the probabilities say, which change with the rates: again in each of a few rounds.
        """
        rates = np.full((self.n_classes, self.n_classes), MISTAKEN / (self.n_classes - 1))
        np.fill_diagonal(rates, 1.0 - MISTAKEN)
        for _ in range(RATE_ROUNDS):
            counts = RIGHT_BEFORE * np.eye(self.n_classes) + WRONG_BEFORE
            for codes, joint in self.tiles(weights, rates):
                np.add.at(counts, codes, joint)
            rates = counts / counts.sum(axis=0)
        return rates

    def suspicion(self) -> tuple[Floats, Codes]:
        """How suspicious every label is, from 0 to 1, and the likeliest label.

        Wrong labels of any kind are found by how improbable they are. Those that were mistaken for a class that is
        easily confused with theirs are not improbable: there, it counts how often each class is mistaken for each, and
        rows are found by how far another label is then ahead. With a model and more than two classes there is enough to
        tell which kind there is; else the first is taken. Too few doubtful labels say nothing about rates: the margin
        is then that of the probabilities alone.
        """
        weights = self.weights()
        own, other, best = self.probabilities(weights)
        if self.given is None or self.n_classes < 3 or random_share(own, other, self.n_classes) >= AT_RANDOM:
            return 1.0 - own, best
        if np.count_nonzero(own < other) >= ENOUGH * self.n_classes and self.n_classes**2 <= MOST_RATES:
            own, other, best = self.probabilities(weights, self.mistake_rates(weights))
        return (1.0 - own + other) / 2.0, best


def random_share(own: Floats, other: Floats, n_classes: int) -> float:
    """Of the labels that are not the likeliest of their row, the share that looks drawn at random.

    The others are drawn as the probabilities say, among all labels but the likeliest. It is the share by which these
    labels are likeliest, found by expectation maximisation.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.suspects.finding import random_share
    >>> round(random_share(np.array([0.09, 0.09, 0.001]), np.array([0.9, 0.9, 0.9]), 11), 2)
    0.3
    """
    unlikely = own < other
    if not unlikely.any():
        return 0.0
    chance, foretold = 1.0 / (n_classes - 1), own[unlikely] / (1.0 - other[unlikely])
    share = 0.5
    for _ in range(ROUNDS):
        share = float(np.mean(share * chance / (share * chance + (1.0 - share) * foretold)))
    return share


def _pooled(said: list[Floats], weights: Floats) -> Floats:
    """Weighted logarithms added up, as probabilities."""
    joint = sum((weight * each for weight, each in zip(weights, said, strict=True)), np.zeros_like(said[0]))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def pool_weights(said: list[Floats], codes: Codes) -> Floats:
    """Weights of a logarithmic pool, none negative, by which the labels are likeliest.

    The mean of minus the logarithm of the labels' probabilities is convex in the weights; a small multiple of the
    sum of their squares keeps them finite where the labels are told apart without a mistake.
    """
    from scipy.optimize import minimize

    at = np.arange(len(codes))

    def surprise(weights: Floats) -> tuple[float, Floats]:
        joint = _pooled(said, weights)
        slopes = [float(((joint * each).sum(axis=1) - each[at, codes]).mean()) for each in said]
        lost = -float(np.log(np.maximum(joint[at, codes], np.finfo(np.float64).tiny)).mean())
        return lost + RIDGE * float(weights @ weights), np.array(slopes) + 2 * RIDGE * weights

    start = np.full(len(said), 1.0 / len(said))
    found = minimize(surprise, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(said))
    return np.asarray(found.x, dtype=np.float64)


def ball_ratios(to_other: Floats, own: Rows) -> Floats:
    """Distance to another label, over its median among the nearest rows of the same label."""
    around = np.where(own == NOBODY, np.nan, to_other[own])
    around[own[:, 0] == NOBODY] = np.inf
    middle = np.nanmedian(around, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(to_other == 0, 0.0, to_other / middle)


def checked_probabilities(given: Any, n_rows: int, n_classes: int) -> Floats:
    """Probabilities of all labels for every row; refuses what is none."""
    try:
        said: Floats = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"pred_probs must hold numbers: {error}") from error
    if said.shape != (n_rows, n_classes):
        raise DataError(
            f"pred_probs must have a row for each row of the data and a column for each label, in sorted order: "
            f"shape ({n_rows}, {n_classes}), got {said.shape}"
        )
    wrong = ~(np.isfinite(said).all(axis=1) & (said >= 0).all(axis=1) & (np.abs(said.sum(axis=1) - 1) <= SUM_ROOM))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"pred_probs must hold probabilities that add up to 1 in every row; row {row} holds {said[row].tolist()}"
        )
    return said


def cross_validated(model: Any, X: Any, codes: Codes, seed: int) -> Floats:
    """What a classifier says of every row when it was fitted to the other folds, for all labels."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"model must be a scikit-learn classifier with predict_proba, got {type(model).__name__}: "
            "wrap it in CalibratedClassifierCV, or pass pred_probs"
        )
    folds = StratifiedKFold(max(2, min(FOLDS, int(np.bincount(codes).max()))), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # in a fold without it, it is improbable
        warnings.filterwarnings("ignore", "Number of classes in training fold")
        found = cross_val_predict(clone(model), X, codes, cv=folds, method="predict_proba")
    return checked_probabilities(found, len(codes), int(codes.max()) + 1)
