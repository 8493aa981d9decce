"""Empty cells are filled, and marked if asked, as the training table taught; labels that are quantities are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from table_files import table_of

import exactfit
from exactfit import DataError, InterpolatingClassifier, TableModel, read_table
from exactfit.tables import Encoding


def test_labels_that_look_like_a_quantity_are_refused(path: Path) -> None:
    path.write_text("x,price\n" + "".join(f"{k},{100 + 7 * (k // 3)}\n" for k in range(90)))
    model = TableModel(InterpolatingClassifier(random_state=0))
    with pytest.raises(DataError, match=r"30 different values in 90 rows: is this a quantity"):
        model.fit(path, label="price")
    assert len(model.fit(read_table(path, label="price", categorical=["price"])).classes_) == 30


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


def test_a_model_that_did_not_learn_to_fill_says_so() -> None:
    model = TableModel(InterpolatingClassifier(random_state=0)).fit([[1.0], [2.0]], ["p", "q"])
    with pytest.raises(DataError, match="fitted without --missing impute"):
        model.predict(read_table(np.array([[np.nan], [1.0]]), missing="impute"))
