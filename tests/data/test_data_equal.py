"""Equal points with different labels are found, whatever their hashes, and named by their rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from exactfit.data import conflict_pairs, conflicts, finite_points, majority_labels, refuse_conflicts
from exactfit.data import equal as labels
from exactfit.exceptions import ContradictoryLabelsError, DataError

few_values = st.lists(
    st.tuples(st.sampled_from([0.0, -0.0, 1.0, 5e-324]), st.sampled_from([0.0, 1.0]), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


def split(rows):
    return np.array([[a, b] for a, b, _ in rows]), np.array([label for *_, label in rows])


def naive_conflicts(X, y):
    groups = {}
    for row, point in enumerate(X.tolist()):
        groups.setdefault(tuple(value + 0.0 for value in point), []).append(row)
    return sorted(group for group in groups.values() if len({int(y[row]) for row in group}) > 1)


def as_lists(groups):
    return [group.tolist() for group in groups]


@given(few_values)
def test_conflicts_are_all_found(rows):
    X, y = split(rows)
    assert as_lists(conflicts(X, y)) == naive_conflicts(X, y)
    assert as_lists(conflicts(sp.csr_array(X), y)) == naive_conflicts(X, y)
    assert as_lists(conflicts(X.astype(np.float32).astype(np.float64), y)) == naive_conflicts(X.astype(np.float32), y)


@pytest.mark.parametrize("n_hashes", [1, 2])
def test_rows_of_one_hash_are_compared_for_real(monkeypatch, n_hashes):
    def poor_hash(rows, hashes):
        hashes[:] = np.arange(len(rows)) * 0 + (rows[:, 0] > 0) % n_hashes

    monkeypatch.setattr(labels, "hash_rows", poor_hash)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    assert naive_conflicts(X, y)
    assert as_lists(conflicts(X, y)) == naive_conflicts(X, y)


@given(few_values, st.integers(1, 7))
def test_conflicts_do_not_depend_on_tiles(rows, tile):
    X, y = split(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "COMPARED", tile)
        assert as_lists(conflicts(X, y)) == naive_conflicts(X, y)


def test_many_rows_in_many_tiles():
    X = np.arange(10_000.0)[:, None] * np.ones(3)
    y = np.zeros(10_000, dtype=np.int64)
    X[[17, 9000]], y[9000] = X[5000], 1
    assert as_lists(conflicts(X, y)) == [[17, 5000, 9000]]


def test_pairs_name_the_first_row_and_the_first_of_each_other_label():
    X = np.array([[1.0], [2.0], [1.0], [1.0], [2.0], [1.0], [3.0], [2.0]])
    y = np.array([2, 0, 1, 1, 0, 0, 1, 1])
    groups = conflicts(X, y)
    assert as_lists(groups) == [[0, 2, 3, 5], [1, 4, 7]]
    assert conflict_pairs(groups, y) == [(0, 2), (0, 5), (1, 7)]
    with pytest.raises(ContradictoryLabelsError) as caught:
        refuse_conflicts(X, y)
    assert caught.value.pairs == ((0, 2), (0, 5), (1, 7))
    assert "leave one of them out" in str(caught.value)  # there is no option to name


def test_equal_points_of_one_label_are_no_conflict():
    X = np.array([[0.0], [-0.0], [1.0]])
    refuse_conflicts(X, np.array([1, 1, 0]))
    with pytest.raises(ContradictoryLabelsError, match=r"1 conflict: .*\(0, 1\)"):
        refuse_conflicts(X, np.array([1, 0, 0]))


def test_neighbours_are_not_equal():
    X = np.array([[1.0, 0.0], [np.nextafter(1.0, 2.0), 0.0], [1.0, 5e-324]])
    refuse_conflicts(X, np.array([0, 1, 2]))


def test_majority_wins_and_the_lowest_label_on_a_tie():
    X = np.array([[1.0], [1.0], [1.0], [2.0], [2.0], [3.0], [3.0]])
    y = np.array([0, 2, 2, 1, 0, 1, 1])
    resolved = majority_labels(conflicts(X, y), y)
    assert resolved.tolist() == [2, 2, 2, 0, 0, 1, 1]
    assert y.tolist() == [0, 2, 2, 1, 0, 1, 1]
    refuse_conflicts(X, resolved)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_points_that_are_not_finite_are_refused_by_row(wrong):
    X = np.ones((5000, 2))
    X[4500, 1] = wrong
    for same in (X, sp.csr_array(X), X.astype(np.float32)):
        with pytest.raises(DataError, match="row 4500 of X holds NaN or infinity"):
            finite_points(same)
    finite_points(X[:4500])
