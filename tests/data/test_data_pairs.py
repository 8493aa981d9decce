"""Closest pairs and nearest points of other labels, exactly, whichever way they are searched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.problems import problems
from helpers.processes import PATHS, take_path
from hypothesis import given
from sklearn.datasets import load_digits, make_moons

from exactfit._support.threads import open_executor
from exactfit.data import Labelled, pairs
from exactfit.data.pairs import nearest_other
from exactfit.data.point_set import exact_distance
from exactfit.geometry import angular_separation, separation


@pytest.mark.parametrize("path", PATHS)
@given(problem=problems())
def test_closest_pair_is_that_of_exact_numbers(path: str, problem: Any) -> None:
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        take_path(path, patch)
        found, of_all = separation(X, y), separation(X)
    assert found.rows == naive.closest(X, y)
    assert of_all.rows == naive.closest(X)
    assert found.value == exact_distance(*X[list(found.rows)])
    assert found.labels == tuple(y[list(found.rows)].tolist())


@pytest.mark.parametrize("path", PATHS)
@given(problem=problems())
def test_nearest_points_of_other_labels(path: str, problem: Any) -> None:
    X, y = problem
    with pytest.MonkeyPatch.context() as patch, open_executor(2, False) as work:
        take_path(path, patch)
        checked = Labelled.of(X, y)
        found = nearest_other(checked.X, checked.codes, work)
    assert found.rows.tolist() == naive.nearest_rows(X, y)
    distances = [exact_distance(X[i], X[j]) for i, j in enumerate(found.rows)]
    np.testing.assert_allclose(found.distances, distances, rtol=1e-13)
    assert found.closest() == (exact_distance(*X[list(naive.closest(X, y))]), naive.closest(X, y))


def test_threads_change_nothing() -> None:
    X, y = load_digits(return_X_y=True)
    assert separation(X, y, n_jobs=3) == separation(X, y)
    assert angular_separation(X, n_jobs=3) == angular_separation(X)


def test_many_ties_are_settled_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_CANDIDATES", 100)
    X, y = np.eye(150) * 0.1, np.arange(150) % 2
    assert separation(X, y).rows == (0, 1)
    assert angular_separation(X, y).value == pytest.approx(np.pi / 2)


def test_a_million_points_in_the_plane() -> None:
    X, y = make_moons(100_000, noise=0.05, random_state=0)
    found = separation(X, y, n_jobs=2)
    from scipy.spatial import cKDTree

    distances, _ = cKDTree(X[y == 0]).query(X[y == 1])
    assert found.value == pytest.approx(distances.min(), rel=1e-12)
