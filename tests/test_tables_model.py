"""Table models: fit, predict, certify, and their files, whole or refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
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
from exactfit.tables import Format

FRUIT = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n120,yellow,pear\n90,red,pear\n"


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT, encoding="utf-8")
    return path


def fitted(data: Any, target: str | None = None, scale: Any = "standard", **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options), scale=scale).fit(data, target)


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
    model, table = fitted(fruit, "fruit"), read_table(fruit, target="fruit")
    X = model.encode(fruit)
    assert exactfit.certify(model.classifier_, X, table.labels).data_digest == model.certify(table).data_digest
    raw = model.encoding_.raw(table)
    assert ((raw - model.mean_) / model.scale_).tobytes() == X.tobytes()


def test_the_options_of_the_classifier_count(fruit: Path) -> None:
    model = fitted(fruit, "fruit", scale="none", min_width=200)
    assert model.classifier_.width_ >= 200
    assert not model.mean_.any()
    assert TableModel().fit(fruit, target="fruit").certify(fruit).holds


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
    table = read_table(path, target="y", missing="drop-rows")
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
        model.fit(pd.DataFrame({"x": [1, 1], "y": [0, 1]}), "y")
    with pytest.raises(DataError, match="only one class"):
        model.fit(pd.DataFrame({"x": [1, 2], "y": [0, 0]}), "y")
    assert vars(model) == before


def test_what_is_not_said_is_asked_for(fruit: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"say which column of fruit\.csv holds the labels"):
        fitted(fruit)
    with pytest.raises(ParameterError, match="this table has been read already"):
        fitted(read_table(fruit, target="fruit"), "fruit")
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
    assert model.predict(model.read(frame, form=Format(missing="drop-rows"))).tolist() == ["apple"]


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
    "no target": put("table", "target", None),
    "target position": put("table", "target_position", 0),
    "target beyond the table": put("table", "target_position", 3),
    "target position that is none": put("table", "target_position", "2"),
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
