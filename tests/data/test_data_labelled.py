"""What the classifier takes, and what it refuses: with a clear error, and nothing changed."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from helpers.problems import plain
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from exactfit import (
    ConflictWarning,
    DataError,
    InterpolatingClassifier,
    InterpolationWarning,
    NoGapError,
    ParameterError,
    TooLargeError,
    WidthLimitError,
    certify,
)
from exactfit.data import data_digest

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


def small():
    """A grid of small whole numbers with two labels, and any way to hold them."""
    X = np.array([[i, j, (i * j) % 3] for i in range(6) for j in range(6)])
    return X, (X.sum(axis=1) % 2).astype(int)


def fits(X, y, **options):
    """A model that was fitted and proved right."""
    model = InterpolatingClassifier(random_state=0, **options).fit(X, y)
    assert model.interpolates_
    np.testing.assert_array_equal(model.predict(X), y)
    assert certify(model, X, y).holds
    return model


# ---------------------------------------------------------------- kinds of input

KINDS = {
    "int64": np.asarray,
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: X.astype(np.uint64),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(np.float64),
    "big-endian": lambda X: X.astype(">f8"),
    "read-only": lambda X: np.frombuffer(X.astype(np.float64).tobytes()).reshape(X.shape),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "CSR, integers": sp.csr_array,
    "CSC, integers": sp.csc_matrix,
    "COO, float32": lambda X: sp.coo_array(X.astype(np.float32)),
    "LIL": lambda X: sp.lil_array(X.astype(np.float64)),
    "CSR, 64-bit indices": lambda X: _long_indices(sp.csr_array(X.astype(np.float64))),
    "CSR, zeros stored": lambda X: _stored_zeros(X.astype(np.float64)),
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "pandas, numbered": pd.DataFrame,
    "pandas, mixed": lambda X: pd.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1], "c": X[:, 2] * 1.0}),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]).astype("Int64"),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    "polars, mixed": lambda X: pl.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1], "c": X[:, 2] * 1.0}),
}


def _long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _stored_zeros(X):
    columns = np.tile(np.arange(X.shape[1]), len(X))
    return sp.csr_array((X.ravel(), columns, np.arange(len(X) + 1) * X.shape[1]), shape=X.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_give_the_same_network(kind):
    X, y = small()
    held, plain = KINDS[kind](X), fits(X, y)
    model = InterpolatingClassifier(random_state=0).fit(held, y)
    assert model.network_.digest == plain.network_.digest
    assert model.certificate_.data_digest == plain.certificate_.data_digest
    np.testing.assert_array_equal(model.predict(held), y)
    np.testing.assert_array_equal(model.decision_function(held), plain.decision_function(X))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(make):
    X, y = small()
    frame = make({"height": X[:, 0], "age": X[:, 1], "id": X[:, 2]})
    model = fits(frame, y)
    assert model.feature_names_in_.tolist() == ["height", "age", "id"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "height", "id"]])


def test_booleans():
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=bool)
    model = fits(X, X[:, 0] ^ X[:, 1] ^ X[:, 2])
    assert model.classes_.tolist() == [False, True]
    assert model.network_.digest == fits(X.astype(float), X.sum(axis=1) % 2).network_.digest


LABELS = {
    "strings": lambda y: np.array(["no", "yes"])[y],
    "objects": lambda y: np.array(["no", "yes"], dtype=object)[y],
    "booleans": lambda y: y == 1,
    "negative": lambda y: 2 * y - 1,
    "floats": lambda y: y * 1.0,
    "uint8": lambda y: y.astype(np.uint8),
    "list": lambda y: y.tolist(),
    "series of strings": lambda y: pd.Series(np.array(["no", "yes"])[y]),
    "category": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
    "nullable booleans": lambda y: pd.Series(y == 1, dtype="boolean"),
    "pandas strings": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="string"),
    "polars": lambda y: pl.Series(np.array(["no", "yes"])[y]),
    "shifted index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind):
    X, y = small()
    labels = LABELS[kind](y)
    model = InterpolatingClassifier(random_state=0).fit(X, labels)
    assert model.predict(X).tolist() == list(labels)
    assert model.network_.digest == fits(X, y).network_.digest
    assert model.score(X, labels) == 1.0


@pytest.mark.parametrize(
    ("kind", "letter"), [("booleans", "b"), ("nullable booleans", "b"), ("nullable", "i"), ("uint8", "u")]
)
def test_labels_keep_their_type(kind, letter):
    X, y = small()
    model = InterpolatingClassifier().fit(X, LABELS[kind](y))
    assert model.classes_.dtype.kind == model.predict(X).dtype.kind == letter


# ---------------------------------------------------------------- data at the edge

EDGES = {
    "one sample per class": (np.array([[1.0, 2.0], [3.0, 4.0]]), [0, 1]),
    "one sample of each of many classes": (np.arange(20.0).reshape(10, 2), list("abcdefghij")),
    "constant features": (np.array([[7.0, 1.0, 0.0], [7.0, 2.0, 0.0], [7.0, 3.0, 0.0]]), [0, 1, 0]),
    "duplicated features": (np.repeat(np.arange(12.0)[:, None], 5, axis=1), [0, 1, 1] * 4),
    "duplicated rows": (np.repeat(np.arange(8.0)[:, None], 4, axis=0), np.repeat([0, 1, 1, 0, 1, 0, 0, 1], 4)),
    "one dimension": (np.random.default_rng(0).standard_normal((300, 1)), np.arange(300) % 2),
    "more features than samples": (np.random.default_rng(0).standard_normal((5, 500)), [0, 1, 2, 1, 0]),
    "far from the origin": (1e8 + np.arange(30.0)[:, None], np.arange(30) % 3),
    "huge and tiny": (np.array([[1e300, 1e-300], [1e-300, 1e300], [-1e300, 0.0], [1e-300, 1e-300]]), [0, 1, 1, 0]),
    "huge and tiny in one column": (np.array([[1e300], [1e-300], [-1e-300], [0.0], [-1e300]]), [0, 1, 0, 1, 0]),
    "subnormal": (np.array([[5e-324], [0.0], [1e-323]]), [0, 1, 0]),
    "neighbours": (np.array([[1.0], [np.nextafter(1.0, 2.0)], [np.nextafter(1.0, 0.0)]]), [0, 1, 2]),
    "neighbours, huge": (np.array([[1e300], [np.nextafter(1e300, 0.0)]]), ["up", "down"]),
}


@pytest.mark.parametrize("options", [{}, {"target": "all"}, {"hyperplanes": "bisector"}])
@pytest.mark.parametrize("edge", EDGES)
def test_data_at_the_edge(edge, options):
    X, y = EDGES[edge]
    fits(X, y, **options)


TOO_WIDE_FOR_RELU = "huge and tiny in one column"


@pytest.mark.parametrize("edge", [edge for edge in EDGES if edge != TOO_WIDE_FOR_RELU])
def test_data_at_the_edge_for_relu(edge):
    X, y = EDGES[edge]
    fits(X, y, activation="relu")


def test_relu_says_so_where_float64_is_not_wide_enough():
    X, y = EDGES[TOO_WIDE_FOR_RELU]
    with pytest.raises(NoGapError, match='activation="threshold"'):
        fits(X, y, activation="relu", hyperplanes="bisector")


def test_data_whose_mean_overflows_are_refused():
    with pytest.raises(DataError, match="Scale them down"):
        plain().fit([[1.7e308], [1.6e308], [1.5e308]], [0, 1, 0])


@pytest.mark.parametrize("options", [{}, {"activation": "relu"}, {"width": 256}])
def test_points_far_outside_get_an_answer(options):
    X, y = small()
    model = plain(random_state=0, **options).fit(X, y)
    far = np.array([[1.7e308, -1.7e308, 1.7e308], [-1.7e308, 1.7e308, 5e-324]])
    assert np.isfinite(model.decision_function(far)).all()
    assert set(model.predict(far)) <= {0, 1}


# ---------------------------------------------------------------- refusals

X_GOOD, Y_GOOD = small()
X_FLOAT = X_GOOD.astype(float)


def with_entry(value):
    X = X_FLOAT.copy()
    X[4, 1] = value
    return X


BAD_DATA = {
    "NaN": (with_entry(np.nan), Y_GOOD, "NaN"),
    "infinity": (with_entry(-np.inf), Y_GOOD, "infinity"),
    "sparse NaN": (sp.csr_array(with_entry(np.nan)), Y_GOOD, "NaN"),
    "frame with NaN": (pd.DataFrame(with_entry(np.nan)), Y_GOOD, "NaN"),
    "NaN label": (X_FLOAT, np.where(np.arange(36) == 3, np.nan, Y_GOOD), "row 3 of y holds NaN"),
    "no rows": (np.empty((0, 3)), np.empty(0), "0 sample"),
    "no columns": (np.empty((36, 0)), Y_GOOD, "0 feature"),
    "one dimension": (X_FLOAT[:, 0], Y_GOOD, r"shape \(36,\). Reshape your data"),
    "three dimensions": (X_FLOAT[:, :, None], Y_GOOD, r"rows and columns, got shape \(36, 3, 1\)"),
    "words": (
        X_FLOAT.astype(str).astype(object) + "x",
        Y_GOOD,
        "numbers only: could not convert.*exactfit.TableModel takes",
    ),
    "complex": (X_FLOAT + 1j, Y_GOOD, "Complex data not supported: convert them first$"),
    "complex columns": (pd.DataFrame(X_FLOAT + 1j), Y_GOOD, "Complex data not supported: convert them first$"),
    "complex labels": (X_FLOAT, Y_GOOD + 1j, "y must hold real numbers, got complex.*convert them first$"),
    "ragged": ([[1.0], [1.0, 2.0]], [0, 1], "inhomogeneous"),
    "one class": (X_FLOAT, np.zeros(36), "one class, 0.0"),
    "one sample": (X_FLOAT[:1], Y_GOOD[:1], "one class"),
    "continuous labels": (X_FLOAT, np.linspace(0, 1, 36), "continuous"),
    "two label columns": (
        X_FLOAT,
        np.column_stack([Y_GOOD, Y_GOOD]),
        r"one label for each.*got shape \(36, 2\)",
    ),
    "too few labels": (X_FLOAT, Y_GOOD[:-1], r"one label for each of the 36 rows of X, got shape \(35,\)"),
    "too many labels": (X_FLOAT, np.append(Y_GOOD, 1), r"one label for each.*got shape \(37,\)"),
    "no labels": (X_FLOAT, None, "requires y to be passed"),
    "mixed labels": (X_FLOAT, np.array([1, "a"] * 18, dtype=object), "label"),
    "missing label": (X_FLOAT, np.array(["a", None, "b"] * 12, dtype=object), "labels of one kind"),
    "missing nullable label": (X_FLOAT, pd.Series([None, 0, 1] * 12, dtype="Int64"), "row 0 of y holds NaN"),
    "bytes as labels": (X_FLOAT, np.array([b"a", b"b"] * 18), "labels of one kind.*bytes"),
    "conflict": (np.vstack([X_FLOAT, X_FLOAT[:1]]), np.append(Y_GOOD, 1 - Y_GOOD[0]), r"1 conflict: .*\(0, 36\)"),
    "conflict of zeros": (np.array([[0.0, 1.0], [-0.0, 1.0]]), [0, 1], r"1 conflict: .*\(0, 1\)"),
}

BAD_OPTIONS = {
    "width": [0, -1, 2.5, 64.0, "wide", True, None, np.array([64]), np.nan],
    "min_width": [-1, 0.5, "wide", None, True],
    "max_width": [0, -1, 2.5, "wide", True],
    "max_bias": [-1.0, np.nan, np.inf, "diameter", None, True],
    "center": [1, "yes", None],
    "hyperplanes": ["uniform", None, 3],
    "image_shape": [(1, 2), 2, "2"],
    "fallback_cuts": [1, "yes", None],
    "activation": ["sigmoid", None, lambda t: t],
    "target": ["neither", 7],
    "conflicts": ["ignore", None, 0],
    "n_jobs": [0, 1.5, "all"],
    "random_state": [-1, 1.5, "seed", True],
    "verbose": ["loud", 0.5, None],
}
ALLOWED = {
    "width": "'adaptive' or an integer",
    "max_bias": "'radius' or a",
    "hyperplanes": "'gaussian', 'bisector'",
    "activation": "'threshold', 'relu'|has no name",
    "target": r"\[0, 1\], 'all' or None",
    "conflicts": "'raise', 'majority'",
}


def assert_refused(model, X, y, error, match):
    """Fit fails, and leaves an unfitted model unfitted and a fitted one just as it was."""
    options = model.get_params()
    model.set_params(**InterpolatingClassifier(random_state=0).get_params())
    for fitted in (False, True):
        if fitted:
            model.set_params(**InterpolatingClassifier(random_state=0).get_params()).fit(X_FLOAT, Y_GOOD)
        model.set_params(**options)
        before = dict(vars(model))
        with pytest.raises(error, match=match):
            model.fit(X, y)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.set_params(n_jobs=1).predict(X_FLOAT), Y_GOOD)


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_refused_and_nothing_changes(case):
    X, y, match = BAD_DATA[case]
    assert_refused(InterpolatingClassifier(), X, y, ValueError, match)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD_OPTIONS.items() for value in values])
def test_bad_options_are_refused_and_nothing_changes(name, value):
    model = InterpolatingClassifier().set_params(**{name: value})
    match = f"^{name}.*{ALLOWED[name]}" if name in ALLOWED and name != "activation" else ALLOWED.get(name, f"^{name}")
    assert_refused(model, X_FLOAT, Y_GOOD, ParameterError, match)


@pytest.mark.parametrize("name", [*BAD_OPTIONS, "margin", "noise", "exact_in", "detectors"])
def test_options_that_are_arrays_are_refused_without_their_numbers(name):
    with pytest.raises(ParameterError, match=r"ndarray of shape \(3,\)"):
        InterpolatingClassifier(**{name: np.array([0.25, 0.5, 0.75])}).fit(X_FLOAT, Y_GOOD)


def test_a_width_that_memory_cannot_hold_is_refused_before_anything_is_allocated():
    for option in ("width", "min_width"):
        model = InterpolatingClassifier(detectors="mask").set_params(**{option: 10**13})
        assert_refused(model, X_FLOAT, Y_GOOD, TooLargeError, r"width=10000000000000 needs [\d,]{19,} bytes")


def test_a_construction_that_fails_changes_nothing():
    X, y = EDGES["neighbours"]
    model = InterpolatingClassifier(hyperplanes="bisector").fit(X_FLOAT, Y_GOOD)
    before = dict(vars(model))
    with pytest.raises(WidthLimitError):
        model.set_params(max_width=1500, fallback_cuts=False).fit(X, y)
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == {
        name: value for name, value in before.items() if name.endswith("_")
    }


def test_options_that_are_not_needed_are_checked_too():
    for option in ({"min_width": -1}, {"max_width": "wide"}, {"max_bias": -1.0, "hyperplanes": "bisector"}):
        assert_refused(InterpolatingClassifier(64, **option), X_FLOAT, Y_GOOD, ParameterError, next(iter(option)))


def test_min_width_above_max_width_is_refused():
    model = InterpolatingClassifier(min_width=200, max_width=100)
    assert_refused(model, X_FLOAT, Y_GOOD, ParameterError, "max_width=100 is below min_width=200")


@pytest.mark.parametrize(
    ("kind", "options", "X", "y"),
    [
        (InterpolationWarning, {"width": 1}, X_FLOAT, Y_GOOD),
        (ConflictWarning, {"conflicts": "majority"}, np.vstack([X_FLOAT, X_FLOAT]), np.append(Y_GOOD, 1 - Y_GOOD)),
    ],
)
def test_a_warning_turned_into_an_error_changes_nothing(kind, options, X, y):
    assert_refused(InterpolatingClassifier(random_state=0, **options), X, y, kind, "points")


# ---------------------------------------------------------------- integers that float64 cannot hold

LARGE = 2**53 + 1
INTEGERS = X_GOOD.astype(np.int64)
INTEGERS[7, 1] = LARGE
SUMMED = sp.csr_array(([2**52, 2**52 + 1, 1], ([0, 0, 1], [1, 1, 0])), shape=(36, 2))
SUMMED.sum_duplicates()  # SciPy 1.13 leaves the entries side by side
BEYOND = {
    "int64": (INTEGERS, "1"),
    "negative": (-INTEGERS, "1"),
    "uint64": (INTEGERS.astype(np.uint64) << np.uint64(1), "1"),
    "Fortran": (np.asfortranarray(INTEGERS), "1"),
    "lists": (INTEGERS.tolist(), "1"),
    "lists with floats": ([[0.5, LARGE], [1.5, 2]] * 18, "1"),
    "lists beyond int64": ([[0, 2**70], [1, 2]] * 18, "1"),
    "lists beyond float64": ([[0, 10**400], [1, 2]] * 18, "1"),
    "objects": (INTEGERS.astype(object), "1"),
    "CSR": (sp.csr_array(INTEGERS), "1"),
    "CSC": (sp.csc_matrix(INTEGERS), "1"),
    "COO": (sp.coo_array(INTEGERS), "1"),
    "CSR, summed": (SUMMED, "1"),
    "pandas": (pd.DataFrame({"size": X_FLOAT[:, 0], "id": INTEGERS[:, 1]}), "'id'"),
    "pandas, numbered": (pd.DataFrame(INTEGERS, columns=[10, 20, 30]), "20"),
    "pandas, nullable": (pd.DataFrame({"size": X_FLOAT[:, 0], "id": pd.array(INTEGERS[:, 1])}), "'id'"),
    "pandas, objects": (pd.DataFrame({"size": X_FLOAT[:, 0], "id": INTEGERS[:, 1].astype(object)}), "'id'"),
    "polars": (pl.DataFrame({"size": X_FLOAT[:, 0], "id": INTEGERS[:, 1]}), "'id'"),
}


@pytest.mark.parametrize("kind", BEYOND)
def test_integers_beyond_2_to_the_53_are_refused_by_column(kind):
    X, column = BEYOND[kind]
    assert_refused(InterpolatingClassifier(), X, Y_GOOD, DataError, rf"^column {column} holds integers beyond 2\*\*53")


@pytest.mark.parametrize("kind", ["int64", "lists with floats", "CSR", "pandas", "polars"])
def test_predict_refuses_them_too(kind):
    X, _ = BEYOND[kind]
    small_enough = pd.DataFrame({"size": X_FLOAT[:, 0], "id": X_FLOAT[:, 1]})
    named = kind in ("pandas", "polars")
    model = InterpolatingClassifier().fit(small_enough if named else X_FLOAT[:, : np.shape(X)[1]], X_GOOD[:, 0] % 2)
    with pytest.raises(DataError, match=r"holds integers beyond 2\*\*53"):
        model.predict(X)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2**53], [-(2**53)], [0]]),
        [[2**53], [1e300], [0]],
        pd.DataFrame({"a": [2**53, -(2**53), 0], "b": [1e300, -1e300, 2.0**60]}),
        sp.csr_array(np.array([[2**53], [-(2**53)], [0]])),
    ],
)
def test_integers_up_to_2_to_the_53_and_large_floats_are_fine(X):
    model = InterpolatingClassifier(random_state=0).fit(X, [0, 1, 0])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 0])


# ---------------------------------------------------------------- before fit, and other points


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_answers_need_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(InterpolatingClassifier(), method)(X_FLOAT)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    ("X", "match"),
    [
        (X_FLOAT[:, :2], "2 features.*expecting 3"),
        (sp.csr_array(X_FLOAT[:, :2]), "2 features.*expecting 3"),
        (with_entry(np.nan), "NaN"),
        (with_entry(np.inf), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (X_FLOAT[0], r"rows and columns, got shape \(3,\). Reshape your data: reshape\(-1, 1\)"),
        (X_FLOAT + 1j, "Complex data not supported: convert them first$"),
    ],
)
def test_points_that_do_not_fit_are_refused(method, X, match):
    model = InterpolatingClassifier().fit(X_FLOAT, Y_GOOD)
    with pytest.raises(ValueError, match=match):
        getattr(model, method)(X)


# ---------------------------------------------------------------- random_state


def digest(random_state):
    return InterpolatingClassifier(random_state=random_state).fit(X_FLOAT, Y_GOOD).network_.digest


@pytest.mark.parametrize("make", [lambda: 5, lambda: np.int64(5), np.random.RandomState, np.random.default_rng])
def test_a_seed_decides_the_network(make):
    make_seed = make if make() == 5 else lambda: make(5)
    assert digest(make_seed()) == digest(make_seed())


def test_no_seed_is_another_network_every_time():
    assert digest(None) != digest(None)


def test_generators_move_on_by_one_draw_a_fit():
    generator, twin = np.random.default_rng(1), np.random.default_rng(1)
    first = digest(generator)
    twin.integers(2**63)
    assert generator.bit_generator.state == twin.bit_generator.state
    assert digest(generator) != first


def test_a_generator_is_not_drawn_from_for_refused_data():
    generator = np.random.default_rng(1)
    with pytest.raises(ValueError, match="NaN"):
        InterpolatingClassifier(random_state=generator).fit(with_entry(np.nan), Y_GOOD)
    assert generator.bit_generator.state == np.random.default_rng(1).bit_generator.state


def test_refitting_starts_afresh():
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = InterpolatingClassifier(random_state=0).fit(pd.DataFrame(X_FLOAT, columns=["a", "b", "c"]), Y_GOOD)
    again = model.fit(X, y)
    assert again is model
    check_is_fitted(model)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    assert model.network_.digest == InterpolatingClassifier(random_state=0).fit(X, y).network_.digest
