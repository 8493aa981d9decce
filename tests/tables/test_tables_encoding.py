"""From tables to points: which columns, which numbers, and that they are reproducible."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exactfit import DataError, ParameterError, Table, UnseenCategoryWarning, read_table
from exactfit.tables import Encoding, ReadOptions
from exactfit.tables.reading import read_chosen


def table_of(columns: dict[str, list[Any]], **options: Any) -> Table:
    return read_table(pd.DataFrame(columns), **options)


def test_numbers_stay_and_categories_become_indicators() -> None:
    table = table_of({"c": ["b", "a", "b"], "x": [1.0, 2.0, 4.0], "d": ["u", "v", "w"]})
    encoding = Encoding.learn(table, "none")
    assert encoding.features == ("c=a", "c=b", "x", "d=u", "d=v", "d=w")
    assert encoding.encode(table).tolist() == [
        [0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 2.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 4.0, 0.0, 0.0, 1.0],
    ]
    assert not encoding.mean.any()
    assert (encoding.scale == 1).all()


def test_standard_scaling_leaves_indicators_alone() -> None:
    table = table_of({"x": [1.0, 2.0, 6.0], "c": ["b", "a", "b"]})
    encoding = Encoding.learn(table, "standard")
    assert encoding.mean.tolist() == [3.0, 0.0, 0.0]
    assert encoding.scale.tolist() == [math.sqrt(14 / 3), 1.0, 1.0]
    assert encoding.encode(table)[:, 0].tolist() == [(x - 3.0) / math.sqrt(14 / 3) for x in (1.0, 2.0, 6.0)]
    assert (encoding.raw(table) * [1, 0, 0])[:, 0].tolist() == [1.0, 2.0, 6.0]


def naive_moments(values: list[float]) -> tuple[float, float]:
    """Exact sums, rounded once, after division by a power of two."""
    if min(values) == max(values):
        return values[0], 1.0
    exponent = math.frexp(max(map(abs, values)))[1]
    scaled = [math.ldexp(value, -exponent) for value in values]
    mean = float(sum(map(Fraction, scaled)) / len(values))
    squares = float(sum(Fraction((value - mean) * (value - mean)) for value in scaled) / len(values))
    scale = math.ldexp(math.sqrt(squares), exponent)
    return math.ldexp(mean, exponent), scale if scale >= 2.0**-1022 else 1.0


FINITE = st.floats(allow_nan=False, allow_infinity=False, max_value=1e308, min_value=-1e308)


@given(
    values=st.lists(FINITE, min_size=1, max_size=12)
    | st.lists(st.sampled_from([0.1, 0.2, 5e-324]), min_size=1, max_size=9)
)
def test_mean_and_scale_come_from_exact_sums(values: list[float]) -> None:
    table = table_of({"x": values})
    encoding = Encoding.learn(table, "standard")
    mean, scale = naive_moments(values)
    assert (encoding.mean.tolist(), encoding.scale.tolist()) == ([mean], [scale])
    expected = [(value - mean) / scale for value in values]
    assume(all(map(math.isfinite, expected)))
    assert encoding.encode(table)[:, 0].tolist() == expected


def test_a_constant_column_is_zero_and_other_values_keep_their_distance() -> None:
    encoding = Encoding.learn(table_of({"x": [0.1] * 3}), "standard")
    assert encoding.encode(table_of({"x": [0.1, 1.1]})).tolist() == [[0.0], [1.0]]


def test_numbers_too_large_to_be_scaled_are_named() -> None:
    table = table_of({"a": [1.0, 2.0, 2.0], "x": [1.7e308, 1.7e308, -1.7e308]})
    with pytest.raises(DataError, match="column 'x' holds numbers that are too large to be scaled"):
        Encoding.learn(table, "standard").encode(table)
    assert Encoding.learn(table, "none").encode(table).tolist() == [[1.0, 1.7e308], [2.0, 1.7e308], [2.0, -1.7e308]]


def test_the_encoding_does_not_depend_on_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = table_of({"x": rng.normal(size=50).tolist(), "c": rng.choice(list("abc"), 50).tolist()})
    encoding = Encoding.learn(table, "standard")
    expected = encoding.encode(table)
    tiles = [slice(k, min(k + 7, 50)) for k in range(0, 50, 7)]
    monkeypatch.setattr("exactfit.tables.encoding.row_tiles", lambda X: tiles)
    assert encoding.encode(table).tobytes() == expected.tobytes()


def test_unseen_categories_are_zeros_and_one_warning() -> None:
    encoding = Encoding.learn(table_of({"c": ["a", "b"], "d": ["u", "v"], "e": ["p", "q"]}), "standard")
    other = table_of({"c": ["b", "z", "y"], "d": ["w", "u", "v"], "e": ["p", "p", "q"]})
    with pytest.warns(UnseenCategoryWarning) as caught:
        X = encoding.encode(other)
    assert X.tolist() == [[0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]]
    (warning,) = caught
    assert str(warning.message) == (
        "the frame: categories unseen in training, encoded as all zeros: "
        "2 in column 'c' (first 'z' in row 1), 1 in column 'd' (first 'w' in row 0)"
    )


def test_numbers_with_decimal_commas_are_no_categories_unseen() -> None:
    lengths = {"length": ["1,5", "2,25", "1,5"]}
    with pytest.raises(
        DataError, match=r"texts such as '1,5': are they numbers\? Read decimal commas with --decimal ,"
    ):
        Encoding.learn(table_of(lengths), "standard")
    assert len(Encoding.learn(read_table(pd.DataFrame(lengths), categorical=["length"]), "none").features) == 2


def test_too_many_categories_look_like_an_identifier() -> None:
    names = [f"n{k}" for k in range(1001)]
    with pytest.raises(DataError, match="column 'id' has 1,001 different texts in 1,001 rows: is it an identifier"):
        Encoding.learn(table_of({"id": names}), "standard")
    prose = [f"a long story of number {k}" for k in range(40)]
    with pytest.raises(DataError, match="is it free text"):
        Encoding.learn(table_of({"tale": prose}), "standard")
    with pytest.raises(DataError, match=r"is it an identifier, or are these numbers, such as '1.000 €'"):
        Encoding.learn(table_of({"price": [f"{k}.000 €" for k in range(1, 40)]}), "standard")
    assert len(Encoding.learn(table_of({"id": names * 2}), "standard").features) == 1001  # each comes twice
    assert len(Encoding.learn(read_table(pd.DataFrame({"id": names}), categorical=["id"]), "none").features) == 1001


def test_other_scalings_are_refused() -> None:
    with pytest.raises(ParameterError, match="scale must be one of 'standard', 'none'"):
        Encoding.learn(table_of({"x": [1.0]}), "unit")  # type: ignore[arg-type]


# ---------------------------------------------------------------- columns by name and by position


TRAIN = "id,x,colour,label\n7,1,red,p\n8,2,blue,q\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.csv").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "bare.csv").write_text(TRAIN.split("\n", 1)[1], encoding="utf-8")
    return tmp_path


def read_for(encoding: Encoding, path: Path, content: str, labels: bool = False, header: bool = True) -> Table:
    path.write_text(content, encoding="utf-8")
    return read_chosen(path, ReadOptions(header=header), lambda names, named: encoding.choose(names, named, labels))


def learnt(folder: Path, name: str = "train.csv", **options: Any) -> Encoding:
    return Encoding.learn(read_table(folder / name, **{"label": "label", "drop": ["id"], **options}), "none")


@pytest.mark.parametrize(
    "content",
    [
        "x,colour\n5,red\n",
        "colour,x\nred,5\n",
        "colour,more,x,label,id\nred,,5,,x\n",
        "notes,colour,x\n1,red,5\n".replace("1,", "text,"),
    ],
)
def test_columns_are_found_by_name_and_others_passed_over(content: str, folder: Path) -> None:
    encoding = learnt(folder)
    table = read_for(encoding, folder / "new.csv", content)
    assert encoding.encode(table).tolist() == [[5.0, 0.0, 1.0]]
    assert table.labels is None


def test_columns_that_are_missing_are_named(folder: Path) -> None:
    encoding = learnt(folder)
    with pytest.raises(DataError, match="no column 'colour': did you mean 'color'"):
        read_for(encoding, folder / "new.csv", "x,color\n5,red\n")
    with pytest.raises(DataError, match="labels are missing: there is no column 'label'"):
        read_for(encoding, folder / "new.csv", "x,colour\n5,red\n", labels=True)


def test_the_kind_of_a_column_is_that_of_training(folder: Path) -> None:
    encoding = learnt(folder)
    with pytest.raises(DataError, match=r"column 'x' holds numbers, but row 0 \(line 2\) holds the text 'five'"):
        read_for(encoding, folder / "new.csv", "x,colour\nfive,red\n")
    with pytest.warns(UnseenCategoryWarning, match="first '3' in row 0"):
        encoding.encode(read_for(encoding, folder / "new.csv", "x,colour\n5,3\n"))
    with pytest.raises(DataError, match="column 'colour' is numeric here, and categorical for the model"):
        encoding.encode(table_of({"x": [1.0], "colour": [3.0]}))


@pytest.mark.parametrize("content", ["5,red\n", "9,5,red,q\n"])
def test_columns_are_found_by_position_without_a_header(content: str, folder: Path) -> None:
    for encoding in (learnt(folder), learnt(folder, "bare.csv", header=False, label="3", drop=["0"])):
        table = read_for(encoding, folder / "new.csv", content, header=False)
        assert encoding.encode(table).tolist() == [[5.0, 0.0, 1.0]]


def test_labels_by_position(folder: Path) -> None:
    for encoding in (learnt(folder), learnt(folder, "bare.csv", header=False, label="3", drop=["0"])):
        table = read_for(encoding, folder / "new.csv", "9,5,red,q\n", labels=True, header=False)
        assert table.labels is not None
        assert table.labels.tolist() == ["q"]
        with pytest.raises(DataError, match="labels are missing"):
            read_for(encoding, folder / "new.csv", "5,red\n", labels=True, header=False)
        with pytest.raises(
            DataError, match=r"there are 3 columns, and the model takes 2 \(or 4, as when it was fitted\)"
        ):
            read_for(encoding, folder / "new.csv", "9,5,red\n", header=False)


def test_a_model_without_names_takes_a_table_with_names_by_position(folder: Path) -> None:
    encoding = learnt(folder, "bare.csv", header=False, label="3", drop=["0"])
    assert encoding.encode(read_for(encoding, folder / "new.csv", "a,y\n5,red\n")).tolist() == [[5.0, 0.0, 1.0]]


def test_labels_of_npz_are_no_column(folder: Path) -> None:
    np.savez(folder / "t.npz", X=np.array([[1.0, 2.0], [3.0, 4.0]]), y=np.array([0, 1]))
    encoding = Encoding.learn(read_table(folder / "t.npz"), "none")
    table = read_chosen(folder / "t.npz", ReadOptions(), lambda names, named: encoding.choose(names, named, True))
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1]
    assert encoding.encode(table).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert encoding.encode(read_for(encoding, folder / "b.csv", "1,2\n", header=False)).tolist() == [[1.0, 2.0]]


def test_tables_that_were_read_for_something_else(folder: Path) -> None:
    encoding = learnt(folder)
    with pytest.raises(DataError, match="no column 'colour'"):
        encoding.encode(table_of({"x": [1.0]}))
    (folder / "one.csv").write_text("1\n", encoding="utf-8")
    with pytest.raises(DataError, match="has 1 columns, the model takes 2"):
        encoding.encode(read_table(folder / "one.csv", header=False))


def test_no_warning_without_reason(folder: Path) -> None:
    encoding = learnt(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding.encode(read_table(folder / "train.csv", label="label"))
