"""Dates are known by how they are written, or refused where day and month could be either."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.problems import error_of, table_of

import exactfit
from exactfit import DataError, InterpolatingClassifier, ParameterError, TableModel, read_table
from exactfit.tables import Encoding


@pytest.mark.parametrize(
    ("written", "days"),
    [
        (["1970-01-02", "1969-12-31"], [1, -1]),
        (["1970/1/2", "1970/1/3"], [1, 2]),
        (["02.01.1970", "13.01.1970"], [1, 12]),
        (["13/01/1970", "02/01/1970"], [12, 1]),
        (["01/13/1970", "01/02/1970"], [12, 1]),
        (["1970-01-02T12:00:00Z", "1970-01-02 06:00"], [1.5, 1.25]),
        (["1970-01-02T12:00+12:00", "1970-01-02"], [1, 1]),
        (["12:00", "06:00:00"], [0.5, 0.25]),
    ],
)
def test_ways_to_write_dates(written: list[str], days: list[float], path: Path) -> None:
    table = table_of(path, "d\n" + "".join(f"{cell}\n" for cell in written))
    assert table.columns[0].kind == "date"
    assert table.columns[0].values.tolist() == days


def test_frames_hold_dates_too() -> None:
    table = read_table(pd.DataFrame({"d": pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00"])}))
    assert table.columns[0].values.tolist() == [1.0, 2.5]


def test_day_and_month_that_could_be_either_are_refused(path: Path) -> None:
    message = error_of(path, "d,x\n01/02/2020,1\n03/04/2020,2\n")
    assert "day and month could be either" in message
    assert "--drop d" in message
    assert table_of(path, "d\n01/02/2020\n", categorical=["d"]).columns[0].kind == "categorical"


def test_a_stray_among_dates_is_named(path: Path) -> None:
    days = "".join(f"2020-01-{day:02}\n" for day in range(1, 29))
    message = error_of(path, f"d\n{days}soon\n")
    assert "holds dates (year-month-day), but row 28 (line 30) holds 'soon'" in message
    assert "--missing-values 'soon' --missing drop-rows" in message
    remedied = table_of(path, f"d\n{days}soon\n", missing_values=["soon"], missing="drop-rows")
    assert len(remedied) == 28
    model = TableModel(InterpolatingClassifier(random_state=0)).fit(remedied, np.arange(28) % 2)
    path.write_text("d\n2020-01-01\n17.3.2020\n")
    with pytest.raises(DataError, match=r"written as year-month-day for this model, but row 1 \(line 3\) holds '17.3"):
        model.read(path)


def test_parts_become_features(path: Path) -> None:
    table = table_of(path, "d\n1970-01-02 13:30\n1971-03-01\n", date_parts=["hour", "month", "weekday"])
    encoding = Encoding.learn(table, "none")
    assert encoding.features == ("d", "d month", "d weekday", "d hour")
    assert encoding.encode(table).tolist() == [[1.5625, 1, 5, 13], [424, 3, 1, 0]]
    assert "date_parts must be among year" in error_of(path, "d\n1\n", ParameterError, date_parts=["era"])


def test_models_keep_how_dates_are_written(path: Path, tmp_path: Path) -> None:
    table = table_of(path, "d,y\n13/01/2020,p\n02/03/2020,q\n05/06/2020,p\n", label="y", date_parts=["month"])
    exactfit.save(TableModel(InterpolatingClassifier(random_state=0)).fit(table), tmp_path / "m.exactfit")
    model = exactfit.load(tmp_path / "m.exactfit")
    new = table_of(tmp_path / "n.csv", "d\n13/01/2020\n")
    assert np.array_equal(model.encode(new)[0], model.encode(table)[0])
    (tmp_path / "n.csv").write_text("d\n02/03/2020\n")  # alone it could be either
    assert np.array_equal(model.encode(tmp_path / "n.csv")[0], model.encode(table)[1])
