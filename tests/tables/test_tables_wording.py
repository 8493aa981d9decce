"""Sentences about a table, read back from their words, are true of the rows on their side of the hyperplane."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import exactfit
from exactfit import InterpolatingClassifier, TableModel, read_table
from exactfit.conditions import HOLDS, Inequality
from exactfit.network.detector_network import DetectorNetwork
from exactfit.tables.wording import TableWording

DATES = {" on or after ": operator.ge, " before ": operator.lt}
NUMBERS = ("age", "bought", "shipped")


def people(gaps: bool, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    bought = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D")
    days = rng.integers(0, 9, n)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["black", "blue", "green", "red"], n),
            "size": rng.choice(["L", "S"], n),
            "age": rng.integers(18, 80, n).astype(float),
            "bought": bought.strftime("%Y-%m-%d"),
            "shipped": (bought + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d"),
        }
    )
    frame["label"] = np.where(frame["colour"].isin(["red", "green"]) & (days > 4), "late", "fine")
    if gaps:
        frame["age"] = frame["age"].mask(rng.random(n) < 0.2)
        frame["colour"] = frame["colour"].mask(rng.random(n) < 0.1)
    return frame


def fitted(missing: str, tmp_path: Any, scale: str = "none") -> tuple[TableModel, pd.DataFrame]:
    frame, path = people(gaps=missing != "error"), tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    classifier = InterpolatingClassifier(hyperplanes="sparse", width=2048, random_state=0)
    model = TableModel(classifier, scale=scale, missing=missing)  # type: ignore[arg-type]
    return model.fit(read_table(path, label="label", missing=missing)), frame  # type: ignore[arg-type]


def says(sentence: str, frame: pd.DataFrame, filled: pd.DataFrame) -> np.ndarray:
    """Which rows a sentence is true of, read from its words."""
    if sentence.startswith("at least "):
        count, listed = re.fullmatch(r"at least (\d) of these: (.*)", sentence).groups()  # type: ignore[union-attr]
        return sum(says(one, frame, filled).astype(int) for one in listed.split(", ")) >= int(count)
    for word, join in ((" and ", np.logical_and), (" or ", np.logical_or)):
        parts = re.split(rf"{word}(?=\w+ is )", sentence)
        if len(parts) > 1:
            return np.asarray(join.reduce([says(part, frame, filled) for part in parts]))
    if found := re.fullmatch(r"(\w+) is (not )?(.*)", sentence):
        name, negative, listed = found.groups()
        each = listed.split(" or ")
        true = filled[name].isin(each) | (frame[name].isna() if "missing" in each else False)
        return np.asarray(true != bool(negative))
    for words, holds in DATES.items():
        if words in sentence:
            name, date = sentence.split(words)
            return np.asarray(holds(filled[name], date))
    left, relation, right = re.fullmatch(r"(.*) (>=|<=|>|<) (\S+)( days)?", sentence).groups()[:3]  # type: ignore[union-attr]
    total = np.zeros(len(frame))
    for sign, factor, name in re.findall(r"(-|\+)? ?(?:([\d.]+) )?([a-z]+)", left):
        total += (-1 if sign == "-" else 1) * float(factor or 1) * in_days(filled[name])
    return np.asarray(HOLDS[relation](total, float(right)))


def in_days(cells: pd.Series) -> np.ndarray:
    if cells.name == "age":
        return cells.to_numpy(float)
    return (pd.to_datetime(cells) - pd.Timestamp("1970-01-01")).dt.days.to_numpy(float)


@pytest.mark.parametrize("missing", ["error", "impute", "indicator"])
def test_sentences_are_true_of_the_rows_on_their_side(missing: str, tmp_path: Any) -> None:
    model, frame = fitted(missing, tmp_path)
    fills = {field.name: field.fill for field in model.columns if field.fill is not None}
    of_numbers = {name: fill for name, fill in fills.items() if missing == "impute" or name == "age"}
    filled = frame.fillna(of_numbers) if fills else frame
    first = model.classifier_.network_.layers[0]
    sums = first.sums(model.encode(model.table_))
    seen = set()
    for place, one in enumerate(model.explain(model.table_)[:60]):
        for condition in one.conditions:
            text, _, where = condition.text.partition(" where ")
            assert condition.where in (where, text)
            side = (sums[:, condition.hyperplane] > 0) == (sums[place, condition.hyperplane] > 0)
            rows = says(where, frame, filled) if where else np.ones(len(frame), dtype=bool)
            said = says(text, frame, filled)
            assert said[place]
            assert rows[place]
            if text == condition.where:  # categories that say it all
                assert side[said].all()
            else:
                np.testing.assert_array_equal(said[rows], side[rows], condition.text)
            if condition.rate is not None:
                assert condition.rate == pytest.approx(side.mean(), abs=0.05)  # of some of the rows
            seen.add(kind_of(condition.text))
            empty = frame.loc[place].isna()
            used = {
                name for name in frame.columns[empty] if condition.here and re.search(rf"\b{name}\b", condition.text)
            }
            assert ("imputed" in condition.here) >= bool(used & set(fills))
    assert {"number", "date", "days", "where"} <= seen


def kind_of(text: str) -> str:
    if " where " in text:
        return "where"
    if " days" in text:
        return "days"
    if any(words in text for words in DATES):
        return "date"
    return "category" if " is " in text else "number"


@pytest.fixture(scope="module")
def wording(tmp_path_factory: pytest.TempPathFactory) -> TableWording:
    model, _ = fitted("indicator", tmp_path_factory.mktemp("people"))
    return TableWording(model.encoding_, model.table_, None)


def of_indicators(wording: TableWording, weights: dict[str, float], relation: str, threshold: float) -> str | None:
    features = [list(wording.encoding.features).index(name) for name in weights]
    found = wording.sentence(Inequality(features, list(weights.values()), relation, threshold, 0.0, {}), 0)
    return found and found.text


@pytest.mark.parametrize(
    ("weights", "relation", "threshold", "text"),
    [
        ({"colour=red": 1.0}, ">", 0.3, "colour is red"),
        ({"colour=red": 1.0}, "<=", 0.3, "colour is not red"),
        ({"colour=red": 1.0, "colour=green": 1.0}, ">", 0.5, "colour is red or green"),
        ({"colour=red": 1.0, "colour=green": 1.0}, "<", 0.5, "colour is not red or green"),
        ({"colour=red": 1.0, "colour=green": -1.0}, ">", 0.5, "colour is red"),
        ({"colour=red": 1.0, "colour=green": -1.0}, ">=", -0.5, "colour is not green"),
        ({"colour=red": 1.0, "colour=green": 1.0}, "<=", 1.5, None),
        ({"colour=red": 1.0, "size=L": 1.0}, ">", 0.5, "colour is red or size is L"),
        ({"colour=red": 1.0, "size=L": 1.0}, ">", 1.5, "colour is red and size is L"),
        ({"colour=red": 1.0, "size=L": -1.0}, ">", 0.5, "colour is red and size is not L"),
        ({"colour=red": 1.0, "size=L": 1.0}, "<=", 0.5, "colour is not red and size is not L"),
        ({"colour=red": 1.0, "size=L": 1.0}, "<=", 1.5, "colour is not red or size is not L"),
        ({"age is missing": 1.0}, ">", 0.5, "age is missing"),
        ({"age is missing": 1.0}, "<=", 0.5, "age is not missing"),
        (
            {"colour=red": 1.0, "size=L": 1.0, "age is missing": 1.0}, ">", 1.5,
            "at least 2 of these: colour is red, size is L, age is missing",
        ),
        (
            {"colour=red": 1.0, "size=L": 1.0, "age is missing": -1.0}, "<=", 0.5,
            "at least 2 of these: colour is not red, size is not L, age is missing",
        ),
    ],
)  # fmt: skip
def test_sums_of_indicators_are_said_in_words(
    wording: TableWording, weights: dict[str, float], relation: str, threshold: float, text: str | None
) -> None:
    assert of_indicators(wording, weights, relation, threshold) == text
    if text is None:
        return
    # Read back, the words say what the inequality does, whatever a row holds.
    cells = [
        {"colour": colour, "size": size, "age": age}
        for colour in ("black", "green", "red") for size in ("L", "S") for age in (None, 30.0)
    ]  # fmt: skip
    frame = pd.DataFrame(cells)
    on = {
        f"{name}={value}": frame[name] == value
        for name, value in (("colour", "red"), ("colour", "green"), ("size", "L"))
    }
    on["age is missing"] = frame["age"].isna()
    sums = sum(weight * on[name].astype(float) for name, weight in weights.items())
    np.testing.assert_array_equal(says(text, frame, frame), HOLDS[relation](sums, threshold))


def test_dates_and_times_are_written_as_people_write_them(wording: TableWording) -> None:
    (bought,) = (list(wording.encoding.features).index(name) for name in ["bought"])
    day = float((pd.Timestamp("2021-03-05") - pd.Timestamp("1970-01-01")).days)

    def text(relation: str, threshold: float, value: float) -> tuple[str, str]:
        found = wording.sentence(Inequality([bought], [1.0], relation, threshold, value, {}), 0)
        assert found is not None
        assert found.unit == "days"
        return found.text, found.here

    assert text("<=", day - 0.4, day - 1.0) == ("bought before 2021-03-05", "2021-03-04")
    assert text("<", day, day - 1.0) == ("bought before 2021-03-05", "2021-03-04")
    assert text(">", day - 1, day) == ("bought on or after 2021-03-05", "2021-03-05")
    assert text(">", day + 0.25, day + 0.5) == ("bought after 2021-03-05 06:00:00", "2021-03-05 12:00:00")
    assert text("<=", day + 0.25, day + 0.125) == ("bought on or before 2021-03-05 06:00:00", "2021-03-05 03:00:00")


def test_scaled_tables_are_told_in_their_own_units(tmp_path: Any) -> None:
    model, frame = fitted("error", tmp_path, scale="standard")
    loaded_path = tmp_path / "people.exactfit"
    exactfit.save(model, loaded_path)
    for fitted_model in (model, exactfit.load(loaded_path)):  # the latter without its training rows
        for place, one in enumerate(fitted_model.explain(frame.head(20))):
            for condition in one.conditions:
                if condition.features == ("age",):
                    assert condition.here == f"{frame['age'][place]:g}"
                    assert 18 <= condition.threshold <= 80
                said = condition.text.partition(" where ")[0]
                assert says(said, frame, frame)[place], condition.text


def test_thresholds_are_as_short_as_the_training_rows_allow(tmp_path: Any) -> None:
    model, frame = fitted("error", tmp_path)
    exactfit.save(model, tmp_path / "model")
    loaded = exactfit.load(tmp_path / "model")
    assert DetectorNetwork.of(loaded.classifier_.network_).n_detectors
    lengths = [
        sum(len(f"{found.threshold:g}") for one in explained for found in one.conditions if found.features == ("age",))
        for explained in (model.explain(frame.head(60)), loaded.explain(frame.head(60)))
    ]
    assert 0 < lengths[0] < lengths[1]
