"""Empty cells are filled, and marked if asked, as the training table taught; labels that are quantities are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.problems import table_of

import exactfit
from exactfit import DataError, InterpolatingClassifier, TableModel, read_table
from exactfit.tables import Encoding
from exactfit.tables.encoding import refuse_measure


def test_labels_that_look_like_a_quantity_are_refused(path: Path) -> None:
    path.write_text("x,price\n" + "".join(f"{k},{100 + 7 * (k // 3)}\n" for k in range(90)))
    model = TableModel(InterpolatingClassifier(random_state=0))
    with pytest.raises(DataError, match=r"30 different values in 90 rows: is this a quantity"):
        model.fit(path, label="price")
    assert len(model.fit(read_table(path, label="price", categorical=["price"])).classes_) == 30


@pytest.mark.parametrize("step", [0.5, 1])
def test_fractions_as_labels_are_a_quantity_however_many_rows_there_are(path: Path, step: float) -> None:
    path.write_text("x,wage\n" + "".join(f"{k},{step * (k % 30)}\n" for k in range(600)))
    if step == 1:  # many rows of each whole number: classes
        refuse_measure(read_table(path, label="wage"))
    else:
        with pytest.raises(DataError, match=r"30 different values in 600 rows: is this a quantity"):
            TableModel().fit(path, label="wage")


GAPS = "a,b,y\n1,u,p\n,v,q\n2,,p\n8,v,q\n"


def test_the_median_and_the_most_frequent_category_fill_gaps(path: Path) -> None:
    table = table_of(path, GAPS, label="y", missing="impute")
    X = Encoding.learn(table, "none").encode(table)
    assert X.tolist() == [[1, 1, 0], [2, 0, 1], [2, 0, 1], [8, 0, 1]]


def test_indicators_say_which_cells_were_empty(path: Path) -> None:
    table = table_of(path, GAPS, label="y", missing="indicator")
    encoding = Encoding.learn(table, "none")
    assert encoding.features == ("a", "a is missing", "b=u", "b=v", "b is missing")
    assert encoding.encode(table).tolist() == [[1, 0, 1, 0, 0], [2, 1, 0, 1, 0], [2, 0, 0, 0, 1], [8, 0, 0, 1, 0]]


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_what_was_learned_is_kept_in_the_file(missing: str, path: Path, tmp_path: Path) -> None:
    path.write_text(GAPS.replace("2,,p", "2,,q"))  # filled, it equals the row before
    model = TableModel(InterpolatingClassifier(random_state=0), missing=missing).fit(path, label="y")  # type: ignore[arg-type]
    exactfit.save(model, tmp_path / "m.exactfit")
    again = exactfit.load(tmp_path / "m.exactfit")
    (tmp_path / "new.csv").write_text("b,a\n,\nu,2\n")
    assert np.array_equal(again.encode(tmp_path / "new.csv"), model.encode(tmp_path / "new.csv"))
    assert again.missing == missing
    assert again.certify(path).holds
    assert again.columns == model.columns


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_training_fills_columns_without_any_filled_cell(missing: str, path: Path) -> None:
    path.write_text("a,b,c,y\n1,u,2024-01-05,p\n,v,2024-01-20,q\n2,,2024-02-03,p\n8,v,,q\n")
    model = TableModel(InterpolatingClassifier(random_state=0), missing=missing).fit(path, label="y")  # type: ignore[arg-type]
    (filled,) = model.encode(pd.DataFrame({"a": [2.0], "b": ["v"], "c": ["2024-01-20"]})).tolist()  # what is usual
    filled = dict(zip(model.features_, filled, strict=True))
    filled |= {"b=v": float(missing == "impute")}  # an indicator takes the place of a category
    filled |= {name: 1.0 for name in model.features_ if name.endswith("is missing")}
    (path.parent / "new.csv").write_text("a,b,c\n,,\n")
    nans = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [np.nan]})
    for empty in (path.parent / "new.csv", nans, nans.astype(object)):
        assert model.encode(empty).tolist() == [list(filled.values())]
        assert model.encoding_.raw(empty).tolist() == model.encoding_.raw(model.read(empty)).tolist()


def test_a_column_that_is_empty_in_training_is_named(path: Path) -> None:
    table = table_of(path, "a,b\n1,\n2,\n", missing="impute")
    with pytest.raises(DataError, match="column 'b' has no filled cell: leave it out with --drop b"):
        Encoding.learn(table, "none")


def test_a_model_that_did_not_learn_to_fill_says_so() -> None:
    model = TableModel(InterpolatingClassifier(random_state=0)).fit([[1.0], [2.0]], ["p", "q"])
    with pytest.raises(DataError, match="fitted without --missing impute"):
        model.predict(read_table(np.array([[np.nan], [1.0]]), missing="impute"))
