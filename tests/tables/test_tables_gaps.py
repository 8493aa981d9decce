"""Empty cells that are filled: learned when a model is fitted, and kept in its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from table_files import error_of, table_of

import exactfit
from exactfit import DataError, InterpolatingClassifier, TableModel, read_table
from exactfit.tables import Encoding

GAPS = "a,b,y\n1,u,p\n,v,q\n2,,p\n8,v,q\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


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


def test_a_nearly_empty_column_is_named_before_its_rows_are_left_out(path: Path) -> None:
    content = "a,b,y\n" + "1,,p\n" * 9 + "2,3,q\n"
    message = error_of(path, content, label="y", missing="drop-rows")
    assert "column 'b' is empty in 9 of 10 rows, which would all be left out for it" in message
    assert "--drop b" in message
    assert "Nearly empty, better left out: --drop b." in error_of(path, content, label="y")
    assert "column 'b' has no filled cell" in error_of(path, "a,b\n1,\n2,\n", missing="impute")


def test_rows_without_a_label_are_left_out_and_told(path: Path) -> None:
    table = table_of(path, "a,y\n1,p\n2,\n,q\n", label="y", missing="impute")
    assert (table.rows.tolist(), table.notes) == ([0, 2], ("1 row without a label is left out",))


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
