"""What is told of tables: how columns were read; explanations with cells and row numbers of the file, and as a page."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pandas as pd
import pytest
from helpers.problems import table_of
from sklearn.datasets import load_digits

import exactfit
from exactfit import DataError, InterpolatingClassifier, ParameterError, TableModel, read_table
from exactfit.tables.explained import described

TEXT = "weight,colour,fruit\n182,red,apple\n,red,apple\n118,yellow,banana\n171,green,apple\n160,green,pear\n"


def fitted(source: object) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0), missing="drop-rows").fit(source, label="fruit")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_frames_show_the_cells_of_the_rows_behind_an_answer(path: Path) -> None:
    frame = pd.read_csv(path)
    found = fitted(frame).explain(frame.dropna()[["weight", "colour"]])
    text = str(found[2])
    anchor = found[2].fires[0].anchor
    line = next(line.split() for line in text.splitlines() if line.split()[0] == str(anchor) and "anchor" in line)
    assert line[-2:] == [f"{frame.loc[anchor, 'weight']:g}", frame.loc[anchor, "colour"]]
    assert line[-3] == frame.loc[anchor, "fruit"]
    assert "answer apple" in text


def test_rows_are_those_of_the_file(path: Path) -> None:
    model = fitted(path)
    found = model.explain(model.read(path, form=exactfit.tables.ReadOptions(missing="drop-rows")))
    assert [one.row for one in found] == [0, 2, 3, 4]
    assert str(found).startswith("row 0: 'apple'")
    for one in found[:]:
        assert {detector.anchor for _, detector in one.roles()} <= {0, 2, 3, 4}
    plain = found[3].to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["row"] == 4
    asked = {"row": "4", "of": "fruit.csv", "part": "answer pear", "weight": "160", "colour": "green"}
    assert plain["cells"][0] == asked


def test_a_loaded_model_is_told_what_it_was_fitted_to(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted(path)
    exactfit.save(model, tmp_path / "m.exactfit")
    loaded = exactfit.load(tmp_path / "m.exactfit")
    rows = pd.read_csv(path).dropna()[["weight", "colour"]]
    assert len(loaded.explain(rows)[0].cells) == 2  # names, and the row itself
    known = loaded.read_training(path)
    with monkeypatch.context() as patch:
        patch.setattr(TableModel, "points_and_labels", None)  # checked once, not again
        assert loaded.explain(rows, training=known)[0].cells == model.explain(rows)[0].cells
    assert loaded.explain(rows, training=path)[0].cells == model.explain(rows)[0].cells
    other = tmp_path / "other.csv"
    other.write_text(TEXT.replace("182", "181"), encoding="utf-8")
    with pytest.raises(DataError, match=r"other.csv does not hold the rows that the model was fitted to"):
        loaded.explain(rows, training=other)


def test_a_pickled_model_takes_no_data_along(path: Path) -> None:
    model = fitted(path)
    again = pickle.loads(pickle.dumps(model))
    assert hasattr(model, "table_")
    assert not hasattr(again, "table_")
    rows = pd.read_csv(path).dropna()
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


def test_the_page_has_tables_and_for_images_pictures(path: Path) -> None:
    page = fitted(path).explain(pd.read_csv(path).dropna()).to_html()
    assert page.count("<table>") == 8  # conditions, then rows, of four
    assert "<td>yellow</td>" in page
    X, y = load_digits(return_X_y=True)
    model = TableModel(InterpolatingClassifier(random_state=0), scale="none").fit(X[:80], y[:80])
    found = model.explain(X[80:82])
    assert found.to_html((8, 8)).count("<img") >= 6
    with pytest.raises(ParameterError, match="images of shape 8,9 are 72 columns"):
        found.to_html((8, 9))


def test_weighted_detectors_show_the_rows_that_they_rest_on(path: Path) -> None:
    model = TableModel(InterpolatingClassifier(detectors="weighted", random_state=0), missing="drop-rows")
    found = model.fit(path, label="fruit").explain(pd.read_csv(path).dropna())
    assert any("support" in line[2] for one in found[:] for line in one.cells)


def test_a_line_about_each_column(path: Path) -> None:
    content = "n,c,d,z,y\n1,u,2020-01-01,5,p\n,v,2020-01-02,5,q\n3,u,2020-01-03,5,p\n"
    table = table_of(path, content, label="y", drop=["z"], missing="impute")
    assert described(table, ["z"]) == [
        ("n", "number, 1 to 3; 1 empty cell imputed"),
        ("c", "category, 2 levels"),
        ("d", "date (year-month-day), as days"),
        ("z", "left out"),
        ("y", "label, 2 classes"),
    ]


def test_many_columns_of_numbers_share_a_line(path: Path) -> None:
    names = ",".join(f"x{k}" for k in range(50))
    table = table_of(path, f"{names},c\n" + ("1," * 50 + "u\n") + ("2," * 50 + "v\n"))
    assert described(table) == [("x0 to x49", "50 columns of numbers, 1 to 2"), ("c", "category, 2 levels")]


def test_anchors_are_rows_of_the_file(path: Path, tmp_path: Path) -> None:
    path.write_text("a,y\n,p\n,q\n0,p\n5,q\n6,p\n1,p\n7,q\n")
    table = read_table(path, label="y", missing="drop-rows")
    model = TableModel(InterpolatingClassifier(random_state=0)).fit(table)
    exactfit.save(model, tmp_path / "m.exactfit")
    for one in (model, exactfit.load(tmp_path / "m.exactfit")):
        found = one.explain(table)
        named = {at.anchor for each in found for _, at in each.roles()} | {
            at.witness for e in found for _, at in e.roles()
        }
        assert named <= set(range(2, 7))
        assert set(found.anchors) == {int(row) + 2 for row in one.classifier_.anchors_}
