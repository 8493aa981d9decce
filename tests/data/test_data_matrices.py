"""-0.0 and 0.0 are one number, and give one network; means are rounded once, whatever the order and the parts."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exactfit import InterpolatingClassifier, Options, TableModel, adaptive_width
from exactfit.construct.patterns import rounded
from exactfit.constructions import CONSTRUCTORS
from exactfit.data import ExactSum, Labelled, as_points, is_mapped, mean, mean_and_deviation

RNG = np.random.default_rng(0)
X = np.where(RNG.random((30, 4)) < 0.5, 0.0, RNG.normal(size=(30, 4)).round(1))
X = X[np.unique(X, axis=0, return_index=True)[1]] + 0.0
Y = np.arange(len(X)) % 3
NEGATIVE = np.where(X == 0, -0.0, X)
MIXED = np.where((X == 0) & (RNG.random(X.shape) < 0.5), -0.0, X)


def stored(matrix: np.ndarray) -> sp.csr_array:
    """A CSR matrix that stores every entry, its zeros too."""
    rows, columns = np.indices(matrix.shape).reshape(2, -1)
    return sp.csr_array((matrix.ravel(), (rows, columns)), shape=matrix.shape)


FORMS = {
    "negative": NEGATIVE, "mixed": MIXED, "sparse": sp.csr_array(X), "stored": stored(MIXED),
    "frame": pd.DataFrame(MIXED), "column-major": np.asfortranarray(MIXED), "list": MIXED.tolist(),
}  # fmt: skip
RECIPES = {
    "bisector": {"hyperplanes": "bisector"},
    "cuts": {"max_bias": 1e-9, "center": False},  # draws through the origin stall
    "relu": {"activation": "relu", "hyperplanes": "bisector"},
    "float32": {"exact_in": "float32", "hyperplanes": "bisector"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_zeros_of_both_signs_give_one_network(form: str, recipe: str) -> None:
    options = Options(**RECIPES[recipe])
    digest = adaptive_width(X, Y, options, 0).network.digest
    assert adaptive_width(FORMS[form], Y, options, 0).network.digest == digest
    named = {option.name: getattr(options, option.name) for option in fields(Options)}
    model = InterpolatingClassifier(**named, random_state=0).fit(FORMS[form], Y)
    assert model.network_.digest == digest


def test_zeros_of_both_signs_give_one_network_for_tables() -> None:
    digests = set()
    for matrix in (X, NEGATIVE, MIXED):
        frame = pd.DataFrame(matrix, columns=list("abcd")).assign(y=Y)
        model = TableModel(InterpolatingClassifier(hyperplanes="bisector", random_state=0), scale="none")
        digests.add(model.fit(frame, label="y").classifier_.network_.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_zeros_of_both_signs_give_one_network_whatever_the_construction(name: str) -> None:
    codes = Y % 2
    made = []
    for matrix in (X, NEGATIVE, MIXED):
        try:
            made.append(CONSTRUCTORS[name](matrix, codes, 0).network.digest)
        except Exception as error:
            made.append(str(error))
    assert len(set(made)) == 1


def test_the_gate_keeps_what_needs_no_change() -> None:
    assert as_points(X) is X
    assert not np.signbit(as_points(MIXED)[as_points(MIXED) == 0]).any()


finite = st.floats(allow_nan=False, allow_infinity=False)
tables = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=finite)


@given(tables)
def test_means_are_those_of_the_twin(X):
    assert mean(X).tolist() == naive.mean(X).tolist()


@given(tables, st.randoms(use_true_random=False))
def test_order_and_parts_do_not_matter(X, random):
    rows = list(range(len(X)))
    random.shuffle(rows)
    cut = random.randint(0, len(X))
    parts = ExactSum(X.shape[1]), ExactSum(X.shape[1])
    parts[0].add(X[rows[:cut]])
    parts[1].add(X[rows[cut:]])
    parts[0].merge(parts[1])
    assert parts[0].over(len(X)).tolist() == mean(X).tolist()


def test_layout_and_type_do_not_matter():
    X = np.random.default_rng(0).standard_normal((9000, 5)).astype(np.float32)
    for given_as in (np.asfortranarray(X), X.astype(np.float64), sp.csr_array(X)):
        assert mean(given_as).tolist() == mean(X).tolist()


def test_the_largest_numbers_have_a_mean():
    assert mean(np.full((5, 1), np.finfo(np.float64).max)).tolist() == [np.finfo(np.float64).max]


def test_deviations_are_those_of_exact_sums():
    values = np.random.default_rng(1).standard_normal(1000) * 1e150
    middle, deviation = mean_and_deviation(values)
    assert middle == float(sum(map(Fraction, values.tolist())) / 1000)
    spread = math.sqrt(sum((Fraction(v) - Fraction(middle)) ** 2 for v in values.tolist()) / 1000)
    assert math.isclose(deviation, spread, rel_tol=1e-14)


# ---------------------------------------------------------------- points in files


@pytest.fixture
def mapped(tmp_path: Path) -> np.ndarray:
    """Points of 16 MB in a file, some of them negative zeros."""
    X = np.random.default_rng(0).normal(size=(40_000, 50))
    X[::7, 3] = -0.0
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_what_lies_in_a_file_is_known(mapped: np.ndarray) -> None:
    assert all(is_mapped(X) for X in (mapped, np.asarray(mapped), mapped[5:9], np.asarray(mapped)[:, 1:]))
    assert not any(is_mapped(X) for X in (mapped[[1, 2]], np.zeros((2, 2)), None, sp.eye_array(3)))


@pytest.mark.parametrize(
    "copy",
    [
        as_points,
        lambda X: rounded(X, "float32"),
        lambda X: Labelled(X, np.arange(len(X)), np.arange(len(X)), np.arange(len(X))).take(np.arange(1, len(X))).X,
    ],
    ids=["zeros", "rounded", "rows"],
)
def test_a_copy_of_points_in_a_file_lies_in_a_file(mapped: np.ndarray, copy: Callable[[Any], Any]) -> None:
    tracemalloc.start()
    found = copy(mapped)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert is_mapped(found)
    assert peak < mapped.nbytes / 2
    expected = copy(np.array(mapped))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert not (np.signbit(found) & (found == 0)).any()


@pytest.mark.parametrize("options", [{"exact_in": "float32"}, {"noise": 0.1}, {"exact_in": "float32", "noise": 0.1}])
def test_points_in_a_file_give_the_same_network(mapped: np.ndarray, options: dict[str, Any]) -> None:
    X, y = mapped[:120], np.arange(120) % 3
    here, there = (InterpolatingClassifier(random_state=0, **options).fit(points, y) for points in (np.array(X), X))
    assert here.network_.digest == there.network_.digest
    np.testing.assert_array_equal(here.predict(np.array(X)), there.predict(X))
