"""Sparse matrices that store a place several times, and masked arrays: the same everywhere that points come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import exactfit
from exactfit import InterpolatingClassifier, RepairedClassifier, TableModel, certify, find_suspects, geometry
from exactfit.construct import adaptive_width
from exactfit.data import Labelled, as_points, data_digest
from exactfit.data.matrices import canonical
from exactfit.exceptions import ContradictoryLabelsError, DataError

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 2
MODEL = InterpolatingClassifier(random_state=0).fit(X, Y)
MADE = adaptive_width(X, Y, random_state=0)
REPAIRED = RepairedClassifier(LogisticRegression().fit(X, Y)).fit(X, Y)


def _in_dask(use: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(points: Any, y: Any) -> Any:
        da = pytest.importorskip("dask.array")
        dense = np.arange(float(points.shape[0]))[:, None] * np.ones(points.shape[1])
        chunk = da.from_array(dense, chunks=(4, points.shape[1])).map_blocks(
            lambda rows: points[int(rows[0, 0]) : int(rows[-1, 0]) + 1] if rows.size else points[:0], meta=points[:0]
        )
        return use(chunk, y)

    return run


def _dask_fit(points: Any, y: Any) -> Any:
    from exactfit.distributed import DaskInterpolatingClassifier

    return DaskInterpolatingClassifier(random_state=0).fit(points, y).network_.digest


def _dask_model() -> Any:
    from exactfit.distributed import DaskInterpolatingClassifier

    model = DaskInterpolatingClassifier(random_state=0)
    model.__dict__.update({name: value for name, value in vars(MODEL).items() if name.endswith("_")})
    return model


# From points and labels to something that can be compared; every public function that takes points has a line here.
ENTRANCES: dict[str, Callable[[Any, Any], Any]] = {
    "fit": lambda X, y: InterpolatingClassifier(random_state=0).fit(X, y).network_.digest,
    "fit in float32": lambda X, y: InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y).predict(X),
    "predict": lambda X, _: MODEL.predict(X),
    "decision_function": lambda X, _: MODEL.decision_function(X),
    "claims": lambda X, _: MODEL.claims(X),
    "explain": lambda X, _: str(list(MODEL.explain(X))),
    "certify": lambda X, y: certify(MODEL, X, y).data_digest,
    "certify a network": lambda X, y: certify(MADE.network, X, y).data_digest,
    "network": lambda X, _: MADE.network(X),
    "decide": lambda X, _: MADE.network.decide(X),
    "construct": lambda X, y: adaptive_width(X, y, random_state=0).network.digest,
    "constructions": lambda X, y: exactfit.constructions.CONSTRUCTORS["yun"].construct(X, y, 0).network.digest,
    "extend": lambda X, y: str(exactfit.extend(MODEL, [(X, y)])),
    "extend with training": lambda X, y: str(exactfit.extend(MADE, [(np.ones((1, 3)), [1])], training=(X, y))),
    "suspects": lambda X, y: find_suspects(X, y, random_state=0).score,
    "repair": lambda X, y: RepairedClassifier(LogisticRegression()).set_params(
        model=LogisticRegression().fit(np.eye(3), [0, 1, 0])
    ).fit(X, y).network_.digest,
    "repaired predict": lambda X, _: REPAIRED.predict(X),
    "repaired certify": lambda X, y: certify(REPAIRED, X, y).data_digest,
    "repaired verify": lambda X, y: REPAIRED.verify(X, y).data_digest,
    "repaired report": lambda X, y: str(REPAIRED.report(X, y)),
    "describe": lambda X, y: str(geometry.describe(X, y)),
    "radius": lambda X, _: geometry.radius(X),
    "separation": geometry.separation,
    "digest": data_digest,
    "dask fit": _in_dask(_dask_fit),
    "dask predict": _in_dask(lambda X, _: _dask_model().predict(X).compute()),
    "dask certify": _in_dask(lambda X, y: _dask_model().certify(X, y).data_digest),
    "dask explain": _in_dask(lambda X, _: str(list(_dask_model().explain(X)))),
}  # fmt: skip


def in_pieces(matrix: np.ndarray, form: str = "csr") -> Any:
    """A sparse matrix that stores every number as two that add up to it exactly, one of them far away."""
    rows, columns = np.indices(matrix.shape).reshape(2, -1)
    halves = matrix.ravel() / 2
    order = np.random.default_rng(1).permutation(2 * matrix.size)
    data, rows, columns = (
        np.concatenate([a, b])[order] for a, b in [(halves, halves), (rows, rows), (columns, columns)]
    )
    if form == "coo":
        return sp.coo_array((data, (rows, columns)), shape=matrix.shape)
    lines, others = (rows, columns) if form == "csr" else (columns, rows)
    by_line = np.argsort(lines, kind="stable")
    size = matrix.shape[0 if form == "csr" else 1]
    starts = np.searchsorted(lines[by_line], np.arange(size + 1))
    kind = sp.csr_array if form == "csr" else sp.csc_array
    return kind((data[by_line], others[by_line], starts), shape=matrix.shape)


FORMS = [(name, form) for name in ENTRANCES for form in (["csr"] if "dask" in name else ["csr", "csc", "coo"])]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_what_is_stored_in_pieces_counts_as_its_sum_and_stays_as_it_was(name: str, form: str) -> None:
    given, before = in_pieces(X, form), in_pieces(X, form)
    np.testing.assert_array_equal(ENTRANCES[name](given, Y), ENTRANCES[name](X, Y))
    for part in ("data", "indices", "indptr") if form != "coo" else ("data", "row", "col"):
        np.testing.assert_array_equal(getattr(given, part), getattr(before, part))


def with_two(first: Any, second: Any, dtype: Any) -> sp.csr_array:
    """Points, in row 7 of which two numbers are stored in column 1."""
    columns, starts = np.tile(np.arange(3), 12), np.arange(0, 37, 3)
    columns = np.insert(columns, 22, 1)
    data = np.insert(np.arange(36) % 5, 22, 0).astype(dtype)
    starts[8:] += 1
    data[22], data[23] = first, second
    return sp.csr_array((data, columns, starts), shape=(12, 3))


TOO_MUCH = {
    "overflow": (1e308, 1e308, np.float64), "negative overflow": (-1e308, -1e308, np.float64),
    "int8": (100, 100, np.int8), "uint8": (200, 100, np.uint8), "int32": (2**31 - 1, 1, np.int32),
    "int64": (2**53 - 1, 2, np.int64), "bool": (True, True, np.bool_),
}  # fmt: skip


@pytest.mark.parametrize("what", TOO_MUCH)
@pytest.mark.parametrize("name", ENTRANCES)
def test_sums_that_the_type_cannot_hold_are_refused_everywhere(name: str, what: str) -> None:
    with pytest.raises(DataError, match=r"stores several entries in column 1.*store one number for each place"):
        ENTRANCES[name](with_two(*TOO_MUCH[what]), Y)


def test_a_sum_of_bytes_that_fits_is_taken() -> None:
    points = as_points(with_two(100, -27, np.int8))
    assert points[[7], [1]] == 73


def test_a_message_says_which_row_and_column() -> None:
    where = "row 7 of X stores several entries in column 1"
    for dtype, held, number in ((np.int8, "int8", 100), (np.int64, "float64", 2**53), (np.float64, "float64", 1e308)):
        with pytest.raises(DataError, match=f"{where}, whose sum {held} cannot hold: store one"):
            MODEL.predict(with_two(number, number, dtype))


def test_the_false_certificate() -> None:
    data = np.array([2.0**24, 1, 1, 2.0**24 + 2, 5.0])
    triple = sp.csr_array((data, np.zeros(5, int), np.array([0, 3, 4, 5])), shape=(3, 1))
    for exact_in in (None, "float64", "float32"):
        with pytest.raises(ContradictoryLabelsError):
            InterpolatingClassifier(exact_in=exact_in).fit(triple, [0, 1, 0])


@pytest.mark.parametrize("seed", range(20))
def test_random_triples_in_float32_give_the_network_of_the_dense_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = (rng.normal(size=90) * 2.0 ** rng.integers(-20, 20, 90)).reshape(30, 3)
    triple = sp.csr_array((data.ravel(), np.zeros(90, int), np.arange(0, 91, 3)), shape=(30, 1))
    y = rng.integers(0, 2, 30)
    model = InterpolatingClassifier(exact_in="float32", random_state=0)
    digest = model.fit(triple.toarray(), y).network_.digest
    assert model.fit(triple, y).network_.digest == digest
    np.testing.assert_array_equal(model.predict(triple), model.predict(triple.toarray()))
    certificate = certify(model, triple, y)
    assert certificate.holds
    assert certificate.data_digest == data_digest(triple.toarray(), y)


PLACES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.floats(-1e6, 1e6, width=32)), max_size=30)


@given(PLACES, st.sampled_from(["csr", "csc", "coo"]), st.booleans())
def test_canonical_form_is_what_numpy_adds_up_in_the_order_stored(places: Any, form: str, cached: bool) -> None:
    rows, columns, data = (np.array(part) for part in zip(*places, strict=True)) if places else np.zeros((3, 0))
    entries = sp.coo_array((data.astype(float), (rows.astype(int), columns.astype(int))), shape=(4, 3))
    expected = np.zeros((4, 3))
    np.add.at(expected, (entries.row, entries.col), entries.data)
    lines = entries.row if form == "csr" else entries.col
    order = np.argsort(lines, kind="stable")
    if form != "coo":
        others = entries.col if form == "csr" else entries.row
        size = 4 if form == "csr" else 3
        starts = np.searchsorted(lines[order], np.arange(size + 1))
        kind = sp.csr_array if form == "csr" else sp.csc_array
        entries = kind((entries.data[order], others[order], starts), shape=(4, 3))
    if cached and form == "csr":
        entries.has_canonical_format = True  # what a matrix says of itself need not be so
    found = canonical(entries)
    assert found.format == "csr"
    for row in range(4):
        own = found.indices[found.indptr[row] : found.indptr[row + 1]]
        assert (np.diff(own) > 0).all()
    np.testing.assert_array_equal(found.toarray(), expected)


def test_canonical_form_is_not_copied() -> None:
    matrix = sp.csr_array(X)
    assert canonical(matrix) is matrix


def test_float32_stays_where_sums_are_float32() -> None:
    short = in_pieces(X.astype(np.float32))
    short.data = short.data.astype(np.float32)
    assert canonical(short).dtype == np.float32
    three = sp.csr_array((np.array([2.0**24, 1, 1], np.float32), np.zeros(3, int), np.array([0, 3])), shape=(1, 1))
    assert canonical(three).toarray().item() == 2.0**24 + 2
    two = sp.csr_array((np.array([2.0**24, 1], np.float32), np.zeros(2, int), np.array([0, 2])), shape=(1, 1))
    assert canonical(two).toarray().item() == 2.0**24 + 1


# ---- Masks -------------------------------------------------------------------------------------------------

MASKED = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
MASKED[7, 1] = np.ma.masked
UNMASKED = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))


@pytest.mark.parametrize("name", ENTRANCES)
def test_masked_points_are_refused_everywhere(name: str) -> None:
    with pytest.raises(DataError, match=r"row \d+ of .* holds masked values: fill them in, or drop such rows"):
        ENTRANCES[name](MASKED, Y)


@pytest.mark.parametrize("name", ["fit", "certify", "predict", "suspects", "dask fit"])
def test_a_mask_that_hides_nothing_is_no_mask(name: str) -> None:
    np.testing.assert_array_equal(ENTRANCES[name](UNMASKED, Y), ENTRANCES[name](X, Y))


LABELLED = ["fit", "certify", "construct", "extend", "suspects", "repair", "repaired verify", "describe", "digest"]


@pytest.mark.parametrize("name", [*LABELLED, "dask fit", "dask certify"])
def test_masked_labels_are_refused_everywhere(name: str) -> None:
    masked = np.ma.masked_array(Y, np.arange(12) == 5)
    with pytest.raises(DataError, match="row 5 of y holds masked values"):
        ENTRANCES[name](X, masked)


def test_masked_chunks_of_labels_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    labels = da.from_array(np.ma.masked_array(Y, np.arange(12) == 5), chunks=4)
    with pytest.raises(DataError, match="masked"):
        _dask_fit(da.from_array(X, chunks=(4, 3)), labels)


def test_lists_of_masked_rows_are_refused() -> None:
    with pytest.raises(DataError, match="row 7 of X holds masked values"):
        Labelled.of(list(MASKED), Y)


@pytest.mark.parametrize("y", [Y, np.ma.masked_array(Y, np.arange(12) == 5)])
def test_tables_refuse_masked_values(y: Any) -> None:
    points = MASKED if not isinstance(y, np.ma.MaskedArray) else X
    with pytest.raises(DataError, match="masked"):
        TableModel(InterpolatingClassifier(random_state=0)).fit(points, y)
