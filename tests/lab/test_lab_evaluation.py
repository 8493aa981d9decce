"""Accuracy on new points: the folds are the same for all, nothing leaks into them, and what is recommended."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import InterpolatingClassifier, TableModel, read_table
from exactfit.exceptions import ParameterError
from exactfit.lab import contenders, evaluation
from exactfit.lab.evaluation import Evaluation, Standing, interval

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
    own = cross_val_score(make_pipeline(StandardScaler(), InterpolatingClassifier(random_state=0)), *IRIS, cv=folds)
    assert found["as given"].accuracy == pytest.approx(own.mean())
    assert found["1-nn"].gain == pytest.approx(scores.mean() - own.mean())
    assert found["1-nn"].gain_low <= found["1-nn"].gain <= found["1-nn"].gain_high
    assert (found["as given"].gain, found["as given"].gain_low) == (0, 0)
    assert found.complete
    assert {one.folds for one in found.standings} == {6}


def test_auc_is_that_of_scikit_learn():
    X, y = IRIS
    model = KNeighborsClassifier(5).fit(X[::2], y[::2])
    expected = roc_auc_score(y[1::2], model.predict_proba(X[1::2]), multi_class="ovr")
    scores = evaluation.fold_scores(KNeighborsClassifier(5), (X[::2], X[1::2]), (y[::2], y[1::2]))
    assert scores["auc"] == pytest.approx(expected)
    assert contenders._auc(model, X[:50], y[:50]) is None


def test_shares_and_ranks_lie_between_zero_and_one(found):
    for one in found.standings:
        assert 0 <= one.balanced_accuracy <= 1
        assert 0 <= one.auc <= 1
        assert (one.claimed is None) == (one.options is None)
    assert found["majority"].auc == pytest.approx(0.5)
    assert found["random forest"].auc > 0.95


def test_every_setting_is_one_change_that_can_be(found):
    names = [one.name for one in found.standings if one.options is not None]
    assert names == ["as given", *evaluation.SETTINGS]
    assert found["1024 hyperplanes"].options == {"conflicts": "majority", "min_width": 1024}
    relu = evaluation._contenders({"activation": "relu"}, 0)
    assert "weighted detectors" not in relu
    assert "1024 hyperplanes" not in evaluation._contenders({"min_width": 1024}, 0)


def test_it_can_be_printed_and_read_by_programs(found):
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["standings"][0]["name"] == "as given"
    assert (plain["end"], plain["complete"]) == ("all folds", True)
    assert "150 points, 3 classes, 6 folds" in str(found)
    line = found.recommendation.split("#")[0]
    assert isinstance(eval(line, {"InterpolatingClassifier": InterpolatingClassifier}), InterpolatingClassifier)


def test_what_is_done_counts_when_time_or_patience_is_out(monkeypatch):
    early = exactfit.evaluate(None, *IRIS, time_limit=1e-9)
    assert (early.end, early.complete, early.standings) == ("time limit", False, ())
    assert early.recommendation == "nothing was measured"
    calls, scored = [], evaluation.fold_scores

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == len(evaluation.SETTINGS) + 9:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(evaluation, "fold_scores", interrupted)
    some = exactfit.evaluate(None, *IRIS, n_folds=3)
    assert some.end == "interrupted"
    assert {one.folds for one in some.standings} == {1}


def test_tables_are_encoded_in_every_fold_by_its_training_part(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'' if k % 7 == 0 else k % 5},{'ab'[k % 2]}" for k in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("x,z,y\n" + "\n".join(lines) + "\n")
    table = read_table(path, label="y", missing="impute")
    seen = []

    def kept(model, points, codes):
        seen.append(points)
        return scored(model, points, codes)

    scored = evaluation.fold_scores
    monkeypatch.setattr(evaluation, "fold_scores", kept)
    monkeypatch.setattr(evaluation, "SETTINGS", {})
    found = exactfit.evaluate(None, table, n_folds=2, n_repeats=1)
    assert found.complete
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0)
    train, test = next(folds.split(np.zeros(40), table.labels))
    model = TableModel(InterpolatingClassifier(conflicts="majority"), missing="impute").fit(table.taken(train))
    np.testing.assert_array_equal(seen[0][0], model.encode(table.taken(train)))
    np.testing.assert_array_equal(seen[0][1], model.encode(table.taken(test)))
    exactfit.evaluate(None, model.encoding_.raw(table), table.labels, n_folds=2, n_repeats=1)
    np.testing.assert_array_equal(seen[0][1][:, 0], seen[len(seen) // 2][1][:, 0])  # arrays as tables, to the last bit
    with pytest.raises(ParameterError, match=r"t.csv was read without labels"):
        exactfit.evaluate(None, read_table(path, missing="impute"))


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        (3, {}, "evaluate takes an InterpolatingClassifier or options of one, got int"),
        ({"widht": 3}, {}, "has no option 'widht'"),
        ({"min_width": -1}, {}, "min_width must be 'auto' or a whole number >= 0"),
        (None, {"n_folds": 1}, "n_folds must be a whole number >= 2"),
        (None, {"n_folds": 51}, "a class has 50 points"),
        (None, {"scale": True}, "scale must be one of 'standard', 'none', got True"),
        (None, {"time_limit": -1}, "time_limit must be a finite number > 0"),
    ],
)
def test_what_cannot_be_is_refused(model, options, says):
    with pytest.raises(ParameterError, match=says):
        exactfit.evaluate(model, *IRIS, **options)


def standing(name, accuracies, options=None):
    scores = [dict.fromkeys(("balanced_accuracy", "auc", "claimed", "accuracy_claimed"), 0.5) for _ in accuracies]
    found = [one | {"accuracy": accuracy, "seconds": 1.0} for one, accuracy in zip(scores, accuracies, strict=True)]
    given = [one | {"accuracy": 0.8} for one in found]
    return Standing.of(name, found, given, 5, options)


@pytest.mark.parametrize(
    ("accuracies", "recommended"),
    [((0.9, 0.91, 0.9), "min_width=70)  # 90.3% on new points, +10.3 points"), ((0.99, 0.7, 0.8), ")  # 80.0%")],
)
def test_a_setting_is_recommended_if_it_is_better_beyond_chance(accuracies, recommended):
    rows = standing("as given", (0.8, 0.8, 0.8), {}), standing("70 hyperplanes", accuracies, {"min_width": 70})
    told = Evaluation((*rows, standing("1-nn", (0.95, 0.95, 0.95))), 10, 2, "all folds").recommendation
    assert recommended in told
    assert told.endswith("; 1-nn reaches 95.0%")


def test_the_interval_is_wider_than_that_of_independent_runs():
    values = np.array([0.9, 0.92, 0.88, 0.91])
    low, high = interval(values, 4)
    assert (high - low) / 2 > 3.18 * values.std(ddof=1) / 2
    assert interval(values[:1], 4) == (-1.0, 1.0)
