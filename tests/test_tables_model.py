"""Table models: fit, predict, certify, and their files, whole or refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_persistence_damage import drop, forged, header_size, put, refused, swap

import exactfit
from exactfit import (
    ConflictWarning,
    ContradictoryLabelsError,
    DataError,
    InterpolatingClassifier,
    ParameterError,
    TableModel,
    read_table,
)
from exactfit.tables import ReadOptions

FRUIT = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n120,yellow,pear\n90,red,pear\n"


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT, encoding="utf-8")
    return path


def fitted(data: Any, label: str | None = None, scale: Any = "standard", **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options), scale=scale).fit(data, label=label)


def test_a_model_fits_its_table(fruit: Path) -> None:
    model = fitted(fruit, "fruit")
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
    model, table = fitted(fruit, "fruit"), read_table(fruit, label="fruit")
    X = model.encode(fruit)
    assert exactfit.certify(model.classifier_, X, table.labels).data_digest == model.certify(table).data_digest
    raw = model.encoding_.raw(table)
    assert ((raw - model.mean_) / model.scale_).tobytes() == X.tobytes()


def test_the_options_of_the_classifier_count(fruit: Path) -> None:
    model = fitted(fruit, "fruit", scale="none", min_width=200)
    assert model.classifier_.width_ >= 200
    assert not model.mean_.any()
    assert TableModel().fit(fruit, label="fruit").certify(fruit).holds


def test_frames_and_files_give_the_same_model(fruit: Path) -> None:
    one, other = fitted(fruit, "fruit"), fitted(pd.read_csv(fruit), "fruit")
    assert one.classifier_.network_.digest == other.classifier_.network_.digest
    assert other.predict(pd.read_csv(fruit)[["colour", "weight"]]).tolist() == one.predict(fruit).tolist()


def test_labels_are_compared_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,3\n2,q\n3,4\n", encoding="utf-8")
    text = fitted(path, "y")
    path.write_text("x,y\n1,3\n3,4\n", encoding="utf-8")
    whole = fitted(path, "y")
    assert (text.classes_.tolist(), whole.classes_.tolist()) == (["3", "4", "q"], [3, 4])
    assert text.certify(path).holds
    path.write_text("x,y\n1,3\n3,r\n", encoding="utf-8")
    for model in (text, whole):
        assert model.certify(path).errors.tolist() == [1]


def test_contradictions_are_named_by_their_row_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,c,y\n1,a,p\n,a,p\n\n2,b,q\n1,a,q\n2,b,q\n", encoding="utf-8")
    table = read_table(path, label="y", missing="drop-rows")
    with pytest.raises(ContradictoryLabelsError) as caught:
        fitted(table)
    assert caught.value.pairs == ((0, 3),)
    assert "t.csv: rows that are equal after encoding" in str(caught.value)
    assert "rows 0 and 3 (lines 2 and 6)" in str(caught.value)
    assert "--conflicts majority" in str(caught.value)
    with pytest.warns(ConflictWarning):
        assert not fitted(table, conflicts="majority").certify(table).holds


def test_rows_that_only_scaling_makes_equal_are_contradictions(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1e-20,p\n1,p\n2e-20,q\n", encoding="utf-8")
    with pytest.raises(ContradictoryLabelsError, match="rows 0 and 2"):
        fitted(path, "y")
    assert fitted(path, "y", scale="none").certify(path).holds


def test_more_contradictions_than_a_line_can_hold(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [k // 2 for k in range(20)], "y": ["p", "q"] * 10})
    with pytest.raises(ContradictoryLabelsError, match=r"rows 8 and 9; and 5 more\. No function"):
        fitted(frame, "y")


def test_scikit_learns_complaints_are_data_errors(fruit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complain(*_: Any) -> None:
        raise ValueError("Found array with 0 feature(s)")

    monkeypatch.setattr(InterpolatingClassifier, "fit", complain)
    with pytest.raises(DataError, match=r"fruit\.csv: Found array"):
        fitted(fruit, "fruit")


def test_a_refused_table_leaves_the_model_as_it_was(fruit: Path) -> None:
    model = fitted(fruit, "fruit")
    before = dict(vars(model))
    with pytest.raises(ContradictoryLabelsError):
        model.fit(pd.DataFrame({"x": [1, 1], "y": [0, 1]}), label="y")
    with pytest.raises(DataError, match="only one class"):
        model.fit(pd.DataFrame({"x": [1, 2], "y": [0, 0]}), label="y")
    assert vars(model) == before


def test_what_is_not_said_is_asked_for(fruit: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"fruit\.csv was read without labels: name their column with label="):
        fitted(fruit)
    with pytest.raises(ParameterError, match="this table has been read already"):
        fitted(read_table(fruit, label="fruit"), "fruit")
    model = fitted(fruit, "fruit")
    with pytest.raises(ParameterError, match="read without labels"):
        model.certify(model.read(fruit))
    for ask in (TableModel().read, TableModel().predict):
        with pytest.raises(NotFittedError):
            ask(fruit)
    with pytest.raises(NotFittedError):
        exactfit.save(TableModel(), tmp_path / "m")


def test_rows_with_gaps_are_left_out_if_asked(fruit: Path) -> None:
    model = fitted(fruit, "fruit")
    frame = pd.DataFrame({"colour": ["red", None], "weight": [182.0, 1.0]})
    with pytest.raises(DataError, match="1 empty cell"):
        model.predict(frame)
    assert model.predict(model.read(frame, form=ReadOptions(missing="drop-rows"))).tolist() == ["apple"]


# ---------------------------------------------------------------- a scikit-learn estimator

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


def people() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60), "town": rng.choice(["Ulm", "Bonn"], 60)})
    return frame, pd.Series(np.where((frame["age"] > 40) ^ (frame["town"] == "Ulm"), "yes", "no"))


def test_labels_may_be_a_column_or_stand_beside_the_table() -> None:
    frame, y = people()
    aside, inside = fitted_to(frame, y), fitted(frame.assign(answer=y), "answer")
    assert aside.classifier_.network_.digest == inside.classifier_.network_.digest
    assert aside.predict(frame).tolist() == y.tolist()
    assert aside.score(frame, y) == inside.score(frame.assign(answer=y)) == 1.0
    assert aside.score(frame, np.where(y == "yes", "no", "yes")) == 0.0
    assert aside.certify(frame, y).data_digest == inside.certify(frame.assign(answer=y)).data_digest
    assert (aside.n_features_in_, aside.feature_names_in_.tolist()) == (2, ["age", "town"])
    with pytest.raises(DataError, match="the labels are missing"):
        aside.certify(frame)


def fitted_to(X: Any, y: Any, **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options)).fit(X, y)


def test_a_matrix_is_a_table_without_names() -> None:
    frame, y = people()
    for X in (frame.to_numpy(), frame.to_numpy().tolist(), frame[["age"]].to_numpy()):
        model = fitted_to(X, y)
        assert model.score(X, y) == 1.0
        assert not hasattr(model, "feature_names_in_")
    assert fitted_to(frame.to_numpy(), y).features_ == ("0", "1=Bonn", "1=Ulm")
    with pytest.raises(DataError, match=r"the matrix cannot be read: .*dense data is required"):
        fitted_to(sparse.eye_array(60).tocsr(), y)


def test_a_model_fitted_with_labels_aside_comes_back(tmp_path: Path) -> None:
    frame, y = people()
    model = fitted_to(frame, y)
    exactfit.save(model, tmp_path / "m")
    assert exactfit.load(tmp_path / "m").score(frame, y) == 1.0


def test_it_works_inside_scikit_learn() -> None:
    frame, y = people()
    model = TableModel(InterpolatingClassifier(random_state=0))
    assert sorted(model.get_params(deep=False)) == ["classifier", "scale"]
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
    assert str(model.explain(frame)[0]) == str(model.classifier_.explain(X)[0])


def test_labels_are_given_once() -> None:
    frame, y = people()
    with pytest.raises(ParameterError, match="labels are given twice"):
        TableModel().fit(frame, y, label="town")
    with pytest.raises(ParameterError, match="a column is named by label='town'"):
        TableModel().fit(frame, "town")
    with pytest.raises(ParameterError, match="named by label="):
        TableModel().fit(frame, target="town")
    with pytest.raises(TypeError, match="unexpected keyword argument 'labels'"):
        TableModel().fit(frame, labels="town")
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        TableModel().fit(frame, y[:-1])


def test_records_are_shown_in_a_line() -> None:
    frame, y = people()
    table = read_table(frame.assign(answer=y), label="answer")
    model = fitted(table)
    assert repr(table) == "<Table the frame: 60 rows, 2 columns, labels in 'answer'>"
    assert repr(table.columns) == "(<Column 'age': 60 numbers>, <Column 'town': 60 cells of 2 categories>)"
    assert repr(model.columns) == "(Field('age', 0), Field('town', 1, 2 categories))"
    assert repr(model.encoding_) == "<Encoding: 2 columns as 3 features, labels in 'answer'>"
    assert repr(model) == "TableModel(classifier=InterpolatingClassifier(random_state=0))"


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_a_model_comes_back_as_it_was(scale: Any, fruit: Path, tmp_path: Path) -> None:
    model, path = fitted(fruit, "fruit", scale=scale), tmp_path / "m.exactfit"
    exactfit.save(model, path)
    again = exactfit.load(path)
    assert type(again) is TableModel
    assert again.columns == model.columns
    assert (again.scale, again.features_) == (model.scale, model.features_)
    assert again.mean_.tobytes() == model.mean_.tobytes()
    assert again.scale_.tobytes() == model.scale_.tobytes()
    assert again.encoding_.to_dict() == model.encoding_.to_dict()
    assert again.classifier_.network_.digest == model.classifier_.network_.digest
    assert again.predict(fruit).tolist() == model.predict(fruit).tolist()
    assert again.certify(fruit).to_dict() == model.certify(fruit).to_dict()
    octets = path.read_bytes()
    exactfit.save(again, path)
    assert path.read_bytes() == octets


def test_unusual_names_come_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({'quo"te\\': ["ä", "🦀"], "": [1.0, 2.0], "y\n": ["", " "]}).rename(columns={"y\n": "label"})
    frame["label"] = ["é", "\u2028"]
    model = fitted(frame, "label")
    exactfit.save(model, tmp_path / "m")
    assert exactfit.load(tmp_path / "m").predict(frame).tolist() == ["é", "\u2028"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "m"


@pytest.fixture(scope="module")
def small(path: Path) -> bytes:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "c": ["u", "v", "u"], "y": ["a", "b", "ö"]})
    exactfit.save(fitted(frame, "y"), path)
    return path.read_bytes()


def test_every_changed_byte_and_every_cut_is_found(small: bytes, path: Path) -> None:
    for position in range(0, len(small), 3):
        changed = bytearray(small)
        changed[position] ^= 0x01
        message = refused(path, bytes(changed))
        assert position < header_size(small) or "has changed" in message
    for size in range(0, len(small), 31):
        refused(path, small[:size])


def columns(change: Any) -> Any:
    return lambda header, _: change(header["table"]["columns"])


FORGERIES: dict[str, Any] = {
    "no section": drop("table"),
    "no columns": drop("table", "columns"),
    "empty columns": put("table", "columns", []),
    "columns that are none": put("table", "columns", ["x", "c"]),
    "one column": columns(list.pop),
    "columns in another order": columns(list.reverse),
    "more in a column": put("table", "columns", 0, "more", 1),
    "name that is none": put("table", "columns", 0, "name", 1),
    "name twice": put("table", "columns", 0, "name", "c"),
    "position that is none": put("table", "columns", 0, "position", True),
    "negative position": put("table", "columns", 0, "position", -1),
    "position beyond the table": put("table", "columns", 1, "position", 7),
    "categories of numbers": put("table", "columns", 0, "categories", []),
    "categories out of order": put("table", "columns", 1, "categories", ["v", "u"]),
    "category twice": put("table", "columns", 1, "categories", ["u", "u"]),
    "category that is none": put("table", "columns", 1, "categories", ["u", 3]),
    "categories in a text": put("table", "columns", 1, "categories", "uv"),
    "more categories": put("table", "columns", 1, "categories", ["u", "v", "w"]),
    "numbers for categories": put("table", "columns", 1, "categories", None),
    "more in the section": put("table", "code", "print()"),
    "header": put("table", "header", 1),
    "no header, but names": put("table", "header", False),
    "fewer columns than there are": put("table", "n_columns", 1),
    "columns that cannot be counted": put("table", "n_columns", 3.0),
    "no label": put("table", "target", None),
    "label position": put("table", "target_position", 0),
    "label beyond the table": put("table", "target_position", 3),
    "label position that is none": put("table", "target_position", "2"),
    "scale": put("table", "scale", "unit"),
    "scale that is none": put("table", "scale", ["standard"]),
    "no scaling, but numbers": put("table", "scale", "none"),
    "kind": put("kind", "classifier"),
    "unknown kind": put("kind", "tables"),
    "kind that is none": put("kind", ["table"]),
    "no mean": lambda _, tensors: tensors.pop("table.mean"),
    "no deviation": lambda _, tensors: tensors.pop("table.scale"),
    "more tensors": lambda _, tensors: tensors.update({"table.more": np.zeros(3)}),
    "mean that is not finite": swap("table.mean", lambda mean: mean + np.nan),
    "mean of an indicator": swap("table.mean", lambda mean: mean + 1),
    "short mean": swap("table.mean", lambda mean: mean[:-1]),
    "float32 mean": swap("table.mean", lambda mean: mean.astype(np.float32)),
    "square mean": swap("table.mean", lambda mean: mean[:, None]),
    "division by zero": swap("table.scale", lambda scale: scale * [0, 1, 1]),
    "negative deviation": swap("table.scale", lambda scale: -scale),
    "infinite deviation": swap("table.scale", lambda scale: scale * [np.inf, 1, 1]),
    "deviation of an indicator": swap("table.scale", lambda scale: scale * 2),
    "no network": drop("network"),
    "certificate": put("certificate", "holds", False),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_never_written_is_refused(name: str, small: bytes, path: Path) -> None:
    forged(small, path, FORGERIES[name])


def test_saving_over_a_model_leaves_one_file(fruit: Path, tmp_path: Path) -> None:
    model, path = fitted(fruit, "fruit"), tmp_path / "models" / "m"
    path.parent.mkdir()
    for _ in range(2):
        exactfit.save(model, path)
    assert os.listdir(path.parent) == ["m"]
