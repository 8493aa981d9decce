"""Suspects: every number is the twin's, contradictions are found, wrong labels come first."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive_claims
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from exactfit import DataError, ParameterError, find_suspects, read_table
from exactfit._support.threads import SERIAL, Threads
from exactfit.construct.noise import drawn_patterns
from exactfit.geometry import neighbours
from exactfit.geometry.neighbours import nearest_rows


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.sampled_from([1, 2, 40]), st.integers(1, 12), st.booleans())
def test_every_number_is_the_twins(seed, n, d, k, on_a_grid):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if on_a_grid else rng.normal(size=(n, d))
    y = np.r_[0, 1, rng.integers(0, 3, n - 2)]
    found = find_suspects(X, y, width=100, k=k, random_state=3)
    ratios, conflicts, strangers = naive_claims.suspects(X, y, k)
    np.testing.assert_allclose(found.ball_ratio, ratios, rtol=1e-12)
    np.testing.assert_array_equal(found.conflicts, conflicts)
    np.testing.assert_array_equal(found.strangers, strangers)
    bits = drawn_patterns(X, 100, 3, SERIAL).to_bool()
    claims, support = naive_claims.claims_and_support(bits, y)
    assert (found.claims.tolist(), found.support.tolist()) == (claims, support)
    assert ((found.score >= 0) & (found.score <= 1)).all()


def test_threads_blocks_sparse_and_scale_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 50)) * (rng.random((300, 50)) < 0.5), rng.integers(0, 3, 300)
    whole = nearest_rows(X, y, 4, SERIAL)
    monkeypatch.setattr(neighbours, "LARGEST_BLOCK", 37)
    monkeypatch.setattr(neighbours, "RIGHT_TILE", 64)
    monkeypatch.setattr(neighbours, "PAIRS_AT_ONCE", 100)
    with Threads(2) as threads:
        parts = nearest_rows(X, y, 4, threads)
        sparse = nearest_rows(sp.csr_array(X), y, 4, threads)
        large = nearest_rows(X * 2.0**900, y, 4, threads)
    for a, b, c, d in zip(whole, parts, sparse, large, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(a, d if d.dtype.kind == "i" else d / 2.0**900)


def test_contradictory_rows_are_suspects():
    X, y = load_digits(return_X_y=True)
    X, y = np.vstack([X[:200], X[:1]]), np.append(y[:200], 7)
    found = find_suspects(X, y, random_state=0)
    for row in (0, 200):
        assert found.claims[row] == found.support[row] == found.ball_ratio[row] == 0
        assert found.conflicts[row, 0] == 200 - row
    assert found.top(1).tolist() == [200]


def test_wrong_labels_come_first():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(y), 40, replace=False)
    y[rows] = (y[rows] + rng.integers(1, 10, 40)) % 10
    found = find_suspects(X, y, random_state=0)
    assert np.isin(found.top(40), rows).mean() > 0.8
    again = find_suspects(X, y, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.score, found.score)


def test_the_only_row_of_a_label_and_few_rows():
    found = find_suspects([[0.0], [1.0], [1.5], [4.0]], list("aaab"), k=3)
    assert found.ball_ratio[3] == 0.0
    assert found.conflicts.tolist() == [[3, -1, -1]] * 3 + [[2, 1, 0]]
    assert found.strangers.tolist() == [1, 1, 1, 3]


def test_probabilities_change_the_ranking():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    sure = np.full((400, 10), 0.02 / 9)
    sure[np.arange(400), y] = 0.98
    sure[12, y[12]], sure[12, (y[12] + 1) % 10] = 0.02 / 9, 0.98
    found = find_suspects(X, y, pred_probs=sure, random_state=0)
    assert found.top(1).tolist() == [12]
    assert find_suspects(X, y, random_state=0).top(1).tolist() != [12]


def test_a_model_makes_them_out_of_sample():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300].copy()
    y[7] = 1
    found = find_suspects(X, y, model=KNeighborsClassifier(1), random_state=0)
    assert found.top(1).tolist() == [7]  # in sample 1-NN would be sure of every label
    folds = StratifiedKFold(5, shuffle=True, random_state=int(np.random.SeedSequence(0).generate_state(1)[0]))
    given = cross_val_predict(KNeighborsClassifier(1), X, y, cv=folds, method="predict_proba")
    np.testing.assert_array_equal(find_suspects(X, y, pred_probs=given, random_state=0).score, found.score)


def test_a_class_of_one_row_stops_no_model():
    X, y = load_digits(return_X_y=True)
    found = find_suspects(X[:60], np.append(y[:59], 11), model=GaussianNB(), random_state=0)
    assert np.isfinite(found.score).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pred_probs": np.ones((3, 2))}, r"shape \(4, 2\), got \(3, 2\)"),
        ({"pred_probs": np.full((4, 2), 0.4)}, "row 0 holds"),
        ({"pred_probs": [[0.5, 0.5]] * 3 + [[1.5, -0.5]]}, "row 3 holds"),
        ({"pred_probs": [["a", "b"]] * 4}, "must hold numbers"),
        ({"pred_probs": np.full((4, 2), 0.5), "model": GaussianNB()}, "given twice"),
        ({"model": LinearSVC()}, "predict_proba"),
    ],
)
def test_probabilities_that_are_none_are_refused(options, message):
    with pytest.raises((DataError, ParameterError), match=message):
        find_suspects([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], **options)


def test_a_table_brings_labels_rows_and_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n0,a\n,a\n0.1,a\n0.2,b\n0.3,a\n5,b\n5.1,b\n5.2,b\n", encoding="utf-8")
    table = read_table(path, label="y", missing="drop-rows")
    found = find_suspects(table, k=2, random_state=0)
    assert found.top(1).tolist() == [3]
    assert sorted(found.conflicts[found.places(3)].tolist()) == [2, 4]
    assert find_suspects(read_table(path, drop=["y"], missing="drop-rows"), list("aababbb"), k=2).labels[0] == "a"
    with pytest.raises(ParameterError, match="read without labels"):
        find_suspects(read_table(path, missing="drop-rows"))
    with pytest.raises(ParameterError, match="needs y"):
        find_suspects([[0.0], [1.0]])


@pytest.mark.parametrize("options", [{"width": 0}, {"k": 0}, {"k": 1.5}, {"random_state": "x"}, {"n_jobs": 0}])
def test_options_that_are_none_are_refused(options):
    with pytest.raises(ParameterError):
        find_suspects([[0.0], [1.0]], [0, 1], **options)


def test_data_that_cannot_be_used_are_refused():
    with pytest.raises(DataError, match="only one class"):
        find_suspects([[0.0], [1.0]], [1, 1])
    with pytest.raises(DataError, match="NaN"):
        find_suspects([[0.0], [np.nan]], [0, 1])
