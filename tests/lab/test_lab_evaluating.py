"""Accuracy on new points: the folds are the same for all, and what is done counts when time is out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import InterpolatingClassifier
from exactfit.exceptions import ParameterError
from exactfit.lab import evaluating

IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def found():
    return exactfit.evaluate(None, *IRIS, n_folds=3, n_repeats=2)


def test_accuracy_is_that_of_scikit_learn_on_the_same_folds(found):
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    scores = cross_val_score(model, *IRIS, cv=folds)
    assert found["1-nn"].accuracy == pytest.approx(scores.mean())
    assert found["majority"].accuracy == pytest.approx(1 / 3, abs=0.02)
    assert found["1-nn"].low < scores.mean() < found["1-nn"].high
    own = make_pipeline(StandardScaler(), InterpolatingClassifier(random_state=0))
    assert found["as given"].accuracy == pytest.approx(cross_val_score(own, *IRIS, cv=folds).mean())
    assert found.complete
    assert {one.folds for one in found.standings} == {6}


def test_shares_and_ranks_lie_between_zero_and_one(found):
    for one in found.standings:
        assert 0 <= one.balanced_accuracy <= 1
        assert 0 <= one.auc <= 1
        assert (one.claimed is None) == (one.options is None)
    assert found["majority"].auc == pytest.approx(0.5)
    assert found["random forest"].auc > 0.95


def test_it_can_be_printed_and_read_by_programs(found):
    assert json.loads(json.dumps(found.to_dict()))["standings"][0]["name"] == "as given"
    assert "near-bisector" in str(found)
    line = found.recommendation.split("#")[0]
    assert isinstance(eval(line, {"InterpolatingClassifier": InterpolatingClassifier}), InterpolatingClassifier)


def test_the_interval_is_wider_than_that_of_independent_runs():
    values = np.array([0.9, 0.92, 0.88, 0.91])
    low, high = evaluating._interval(values, 4)
    assert (high - low) / 2 > 3.18 * values.std(ddof=1) / 2
    assert evaluating._interval(values[:1], 4) == (0.0, 1.0)


def test_what_is_done_counts_when_time_or_patience_is_out(monkeypatch):
    early = exactfit.evaluate(None, *IRIS, time_limit=1e-9)
    assert not early.complete
    assert early.standings == ()
    assert early.recommendation == "nothing was measured"
    calls, scored = [], evaluating._scored

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 14:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(evaluating, "_scored", interrupted)
    some = exactfit.evaluate(None, *IRIS, n_folds=3)
    assert not some.complete
    assert {one.folds for one in some.standings} == {1}


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (3, {}, "evaluate takes an InterpolatingClassifier or options of one, got int"),
        ({"widht": 3}, {}, "has no option 'widht'"),
        (None, {"n_folds": 1}, "n_folds must be a whole number >= 2"),
        (None, {"n_folds": 51}, "a class has 50 points"),
        (None, {"time_limit": -1}, "time_limit must be a finite number > 0"),
    ],
)
def test_what_cannot_be_is_refused(model, options, says):
    with pytest.raises(ParameterError, match=says):
        exactfit.evaluate(model, *IRIS, **options)
