"""``find_suspects``: what a first layer, the nearest rows and, if asked, a model say about every label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.parameters import check_whole, seed_sequence
from .._support.threads import at_work
from ..construct.noise import Claims, drawn_patterns
from ..data import Labelled, distinct_rows
from ..exceptions import ParameterError
from ..geometry.neighbours import nearest_rows
from ..tables import Encoding, Table
from .listing import Suspects
from .scores import (
    REACH,
    Floats,
    Neighbourhood,
    Witnesses,
    ball_ratios,
    checked_probabilities,
    cross_validated,
)


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
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactfit import find_suspects
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1
    >>> find_suspects(X, y, random_state=0).top(1)
    array([7])
    >>> find_suspects(X, y, model=GaussianNB(), random_state=0).top(1)
    array([7])
    """
    check_whole("width", width, at_least=1)
    check_whole("k", k, at_least=1)
    root, problem = seed_sequence(random_state), _labelled(X, y)
    given = _probabilities(problem, pred_probs, model, int(root.generate_state(1)[0]))
    points, codes = problem.X, problem.codes
    with at_work(n_jobs, verbose) as work:
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
