"""Table models: fit, predict, certify, and what scikit-learn asks of an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from helpers.problems import fitted_table, fitted_to, people
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import exactfit
from exactfit import (
    ContradictoryLabelsError,
    DataError,
    InterpolatingClassifier,
    ParameterError,
    TableModel,
    read_table,
)
from exactfit.tables import ReadOptions


def test_a_model_fits_its_table(fruit: Path) -> None:
    model = fitted_table(fruit, "fruit")
    assert model.predict(fruit).tolist() == ["apple", "banana", "apple", "pear", "pear"]
    assert model.classes_.tolist() == ["apple", "banana", "pear"]
    certificate = model.certify(fruit)
    assert certificate.holds
    assert certificate.proof == "recomputed"
    assert certificate.data_digest == model.classifier_.certificate_.data_digest
    assert [(column.name, column.kind) for column in model.columns] == [
        ("weight", "numeric"),
        ("colour", "categorical"),
    ]
    assert model.columns[1].categories == ("green", "red", "yellow")
    assert model.mean_[0] == np.mean([182, 118, 171, 120, 90])
    assert model.scale_[1:].tolist() == [1.0, 1.0, 1.0]
    assert "random_state=0" in repr(model)


def test_points_are_the_encoded_rows(fruit: Path) -> None:
    model, table = fitted_table(fruit, "fruit"), read_table(fruit, label="fruit")
    X = model.encode(fruit)
    assert exactfit.certify(model.classifier_, X, table.labels).data_digest == model.certify(table).data_digest
    raw = model.encoding_.raw(table)
    assert ((raw - model.mean_) / model.scale_).tobytes() == X.tobytes()


def test_the_options_of_the_classifier_count(fruit: Path) -> None:
    model = fitted_table(fruit, "fruit", scale="none", min_width=200)
    assert model.classifier_.width_ >= 200
    assert not model.mean_.any()
    assert TableModel().fit(fruit, label="fruit").certify(fruit).holds


def test_frames_and_files_give_the_same_model(fruit: Path) -> None:
    one, other = fitted_table(fruit, "fruit"), fitted_table(pd.read_csv(fruit), "fruit")
    assert one.classifier_.network_.digest == other.classifier_.network_.digest
    assert other.predict(pd.read_csv(fruit)[["colour", "weight"]]).tolist() == one.predict(fruit).tolist()


def test_labels_are_compared_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,3\n2,q\n3,4\n", encoding="utf-8")
    text = fitted_table(path, "y")
    path.write_text("x,y\n1,3\n3,4\n", encoding="utf-8")
    whole = fitted_table(path, "y")
    assert (text.classes_.tolist(), whole.classes_.tolist()) == (["3", "4", "q"], [3, 4])
    assert text.certify(path).holds
    path.write_text("x,y\n1,3\n3,r\n", encoding="utf-8")
    for model in (text, whole):
        assert model.certify(path).errors.tolist() == [1]


def test_a_refused_table_leaves_the_model_as_it_was(fruit: Path) -> None:
    model = fitted_table(fruit, "fruit")
    before = dict(vars(model))
    with pytest.raises(ContradictoryLabelsError):
        model.fit(pd.DataFrame({"x": [1, 1], "y": [0, 1]}), label="y")
    with pytest.raises(DataError, match="only one class"):
        model.fit(pd.DataFrame({"x": [1, 2], "y": [0, 0]}), label="y")
    assert vars(model) == before


def test_what_is_not_said_is_asked_for(fruit: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"fruit\.csv was read without labels: name their column with label="):
        fitted_table(fruit)
    with pytest.raises(ParameterError, match="this table has been read already"):
        fitted_table(read_table(fruit, label="fruit"), "fruit")
    model = fitted_table(fruit, "fruit")
    with pytest.raises(ParameterError, match="read without labels"):
        model.certify(model.read(fruit))
    for ask in (TableModel().read, TableModel().predict):
        with pytest.raises(NotFittedError):
            ask(fruit)
    with pytest.raises(NotFittedError):
        exactfit.save(TableModel(), tmp_path / "m")


def test_rows_with_gaps_are_left_out_if_asked(fruit: Path) -> None:
    model = fitted_table(fruit, "fruit")
    frame = pd.DataFrame({"colour": ["red", None], "weight": [182.0, 1.0]})
    with pytest.raises(DataError, match="1 empty cell"):
        model.predict(frame)
    assert model.predict(model.read(frame, form=ReadOptions(missing="drop-rows"))).tolist() == ["apple"]


OWN_WORDS = dict.fromkeys(
    ("check_n_features_in_after_fitting", "check_requires_y_none"),
    "refused as it should be, in other words: columns are counted, and labels may be a column",
)


SKIPPED = {"check_array_api_input": "array API input is behind a switch that is off by default"}


# scikit-learn rounds the points for an estimator that takes categories, so that some become equal.
@pytest.mark.filterwarnings("ignore::exactfit.exceptions.ConflictWarning")
@parametrize_with_checks(
    [TableModel(InterpolatingClassifier(conflicts="majority", random_state=0))],
    expected_failed_checks=lambda _: OWN_WORDS,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    try:
        check(estimator)
    except SkipTest:
        pytest.skip(SKIPPED[check.func.__name__])


def test_labels_may_be_a_column_or_stand_beside_the_table() -> None:
    frame, y = people()
    aside, inside = fitted_to(frame, y), fitted_table(frame.assign(answer=y), "answer")
    assert aside.classifier_.network_.digest == inside.classifier_.network_.digest
    assert aside.predict(frame).tolist() == y.tolist()
    assert aside.score(frame, y) == inside.score(frame.assign(answer=y)) == 1.0
    assert aside.score(frame, np.where(y == "yes", "no", "yes")) == 0.0
    assert aside.certify(frame, y).data_digest == inside.certify(frame.assign(answer=y)).data_digest
    assert (aside.n_features_in_, aside.feature_names_in_.tolist()) == (2, ["age", "town"])
    with pytest.raises(DataError, match=r"the labels are missing: .* pass them here too, as y"):
        aside.certify(frame)


def test_a_matrix_is_a_table_without_names() -> None:
    frame, y = people()
    for X in (frame.to_numpy(), frame.to_numpy().tolist(), frame[["age"]].to_numpy()):
        model = fitted_to(X, y)
        assert model.score(X, y) == 1.0
        assert not hasattr(model, "feature_names_in_")
    assert fitted_to(frame.to_numpy(), y).features_ == ("0", "1=Bonn", "1=Ulm")
    with pytest.raises(DataError, match=r"the matrix cannot be read: .*dense data is required"):
        fitted_to(sparse.eye_array(60).tocsr(), y)


@pytest.mark.parametrize("X", [np.arange(60.0) / 7, np.ones((60, 2)) / 7 + 1j])
def test_what_is_no_matrix_is_refused_without_its_numbers(X: Any) -> None:
    with pytest.raises(DataError, match=r"the matrix cannot be read: X must (have|hold)") as caught:
        fitted_to(X, people()[1])
    assert "0.14" not in str(caught.value)


def test_it_works_inside_scikit_learn() -> None:
    frame, y = people()
    model = TableModel(InterpolatingClassifier(random_state=0))
    assert sorted(model.get_params(deep=False)) == ["classifier", "missing", "scale"]
    wide = clone(model).set_params(classifier__min_width=300, scale="none")
    assert (wide.fit(frame, y).classifier_.width_ >= 300, wide.mean_.any()) == (True, False)
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.7
    search = GridSearchCV(model, {"classifier__min_width": [0, 128]}, cv=2).fit(frame, y)
    assert search.predict(frame).tolist() == y.tolist()


def test_scores_and_abstentions_are_those_of_the_classifier() -> None:
    frame, y = people()
    model = fitted_to(frame, y, target="all")
    X = model.encode(frame)
    np.testing.assert_array_equal(model.decision_function(frame), model.classifier_.decision_function(X))
    np.testing.assert_array_equal(model.abstains(frame), model.classifier_.abstains(X))
    assert [one.fires for one in model.explain(frame)] == [one.fires for one in model.classifier_.explain(X)]


def test_labels_are_given_once() -> None:
    frame, y = people()
    with pytest.raises(ParameterError, match="labels are given twice"):
        TableModel().fit(frame, y, label="town")
    with pytest.raises(ParameterError, match="a column is named by label='town'"):
        TableModel().fit(frame, "town")
    with pytest.raises(DataError, match=r"one label for each of the 60 rows of X, got shape \(59,\)"):
        TableModel().fit(frame, y[:-1])
