from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from exactfit.data import data_digest
from exactfit.exceptions import DataError

X = np.array([[0.5, -0.0, 3.0], [1.0, 2.0, 0.0], [0.0, 0.0, -7.25]])
y = np.array([0, 1, 0])
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    "same",
    [
        X.astype(np.float32),
        np.asfortranarray(X),
        X.tolist(),
        np.repeat(X, 2, axis=0)[::2],
        X + 0.0,
        sp.csr_array(X),
        sp.csc_array(X),
        sp.csr_matrix(X),
        sp.coo_array(X),
        sp.csr_array(X.astype(np.float32)),
        pd.DataFrame(X, columns=NAMES),
        pd.DataFrame(X.astype(np.float32), columns=NAMES, index=[5, 1, 9]),
        pl.DataFrame(X, schema=NAMES),
    ],
    ids=lambda same: f"{type(same).__module__}.{type(same).__name__}",
)
def test_the_same_numbers_have_one_digest(same) -> None:
    assert data_digest(same, y) == data_digest(X, y)


def test_whole_numbers_count_as_floats() -> None:
    whole = np.array([[1, -2], [3, 0]])
    frame = pd.DataFrame({"a": [1, 3], "b": [-2.0, 0.0]})
    expected = data_digest(whole.astype(float), [0, 1])
    assert data_digest(whole, [0, 1]) == data_digest(whole.astype(np.uint8) * 0 + whole, [0, 1]) == expected
    assert data_digest(frame, [0, 1]) == expected


@pytest.mark.parametrize(
    "same",
    [[0, 1, 0], (0, 1, 0), y.astype(np.int8), y.astype(object), np.array(["0", "1", "0"]), pd.Series(y), pl.Series(y)],
    ids=lambda same: f"{type(same).__name__}-{getattr(same, 'dtype', '')}",
)
def test_labels_count_as_strings(same) -> None:
    assert data_digest(X, same) == data_digest(X, y)


def test_truth_values_and_mixed_labels() -> None:
    assert data_digest(X, np.array([True, False, True])) == data_digest(X, ["True", "False", "True"])
    mixed = np.array(["a", 1, np.int64(2)], dtype=object)
    assert data_digest(X, mixed) == data_digest(X, ["a", "1", "2"])


@pytest.mark.parametrize(
    ("other_X", "other_y"),
    [
        (X, [0, 0, 1]),
        (X[::-1], y),
        (X.reshape(1, 9), [0]),
        (X[:, :2], y),
        (np.where(X == 0.5, np.nextafter(0.5, 1.0), X), y),
        (X, ["01", "", "0"]),
    ],
)
def test_other_data_have_another_digest(other_X, other_y) -> None:
    assert data_digest(other_X, other_y) != data_digest(X, y)


def test_labels_cannot_run_into_each_other() -> None:
    assert data_digest(X, ["ab", "c", ""]) != data_digest(X, ["a", "bc", ""])
    assert data_digest(np.empty((2, 0)), ["1", "2"]) != data_digest(np.empty((2, 0)), ["12", ""])


def test_tiles_do_not_matter() -> None:
    many = np.random.default_rng(0).normal(size=(3000, 2))
    labels = np.arange(3000) % 7
    assert data_digest(many, labels) == data_digest(sp.csr_array(many), labels.astype(np.int16))


def test_a_million_labels_take_little_time() -> None:
    labels = np.arange(1_000_000) % 10
    start = time.perf_counter()
    data_digest(np.zeros((1_000_000, 1)), labels)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("bad_X", "bad_y", "says"),
    [
        (X[0], y, "rows and columns"),
        (X, y[:2], "one label for each of the 3 rows"),
        (X, y[:, None], "one label for each"),
        (np.array([["a", "b"]]), [0], "real numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(bad_X, bad_y, says) -> None:
    with pytest.raises(DataError, match=says):
        data_digest(bad_X, bad_y)
