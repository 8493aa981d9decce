"""Radius, separation and angles: exact, with the pair, whatever the path to it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.problems import problems
from helpers.processes import PATHS, take_path
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_moons

from exactfit import DataError, ParameterError
from exactfit.geometry import angular_separation, radius, separation


def moons() -> tuple[Any, Any]:
    X, y = make_moons(1000, noise=0.05, random_state=0)
    return X / np.linalg.norm(X, axis=1).max(), y


@pytest.mark.parametrize("path", PATHS)
@given(problem=problems())
def test_smallest_angles_are_those_of_exact_numbers(path: str, problem: Any) -> None:
    X, y = problem
    with pytest.MonkeyPatch.context() as patch:
        take_path(path, patch)
        for labels in (y, None):
            directed = [row for row in range(len(X)) if X[row].any()]
            if len(directed) < 2 or (labels is not None and len(set(y[directed])) < 2):
                with pytest.raises(DataError, match="direction"):
                    angular_separation(X, labels)
                continue
            found = angular_separation(X, labels)
            assert found.value == pytest.approx(naive.angle(*X[list(naive.narrowest(X, labels))]), abs=1e-14)
            assert found.value == pytest.approx(naive.angle(*X[list(found.rows)]), abs=1e-14)


@pytest.mark.parametrize("d", [3, 40, 300])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_many_features_and_far_from_the_origin(d: int, offset: float) -> None:
    rng = np.random.default_rng(d)
    X, y = rng.normal(size=(24, d)) + offset, rng.integers(0, 3, 24)
    X[7] = X[23] + 1e-4
    for data in (X, X.astype(np.float32)):
        exact = data.astype(np.float64)
        assert separation(data, y).rows == naive.closest(exact, y)
        assert separation(data).rows == (7, 23)
        narrowest = naive.angle(*exact[list(naive.narrowest(exact, y))])
        assert angular_separation(data, y, n_jobs=2).value == pytest.approx(narrowest, abs=1e-14)


def test_a_distance_beyond_float64_is_refused() -> None:
    with pytest.raises(DataError, match="too large"):
        separation([[1.5e308], [-1.5e308]], [0, 1])
    with pytest.raises(DataError, match="too large"):
        radius([[1.5e308, 1.5e308]], center=False)


@given(problem=problems(kinds=("grid", "halves")), shift=st.integers(-8, 8), power=st.integers(-20, 20))
def test_translation_and_scaling_that_are_exact_change_nothing_but_the_value(
    problem: Any, shift: int, power: int
) -> None:
    X, y = problem
    before, after = separation(X, y), separation((X + shift) * 2.0**power, y)
    assert (after.rows, after.value) == (before.rows, before.value * 2.0**power)
    assert radius(X * 2.0**power) == radius(X) * 2.0**power


@given(problem=problems(), flip=st.booleans())
def test_mirror_images_and_exchanged_axes_change_nothing(problem: Any, flip: bool) -> None:
    X, y = problem
    moved = np.ascontiguousarray((-X if flip else X)[:, ::-1])
    assert separation(moved, y) == separation(X, y)
    assert radius(moved) == pytest.approx(radius(X), rel=1e-15)


@given(problem=problems(kinds=("interval",)), turn=st.floats(0, 6.3))
def test_rotation_keeps_distances_and_angles(problem: Any, turn: float) -> None:
    X, y = problem
    if X.shape[1] < 2 or len(set(y[X.any(axis=1)])) < 2:
        return
    rotation = np.eye(X.shape[1])
    rotation[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    turned = X @ rotation.T
    assert separation(turned, y).value == pytest.approx(separation(X, y).value, rel=1e-9, abs=1e-14)
    assert angular_separation(turned, y).value == pytest.approx(angular_separation(X, y).value, abs=1e-7)


@given(problem=problems(), which=st.lists(st.integers(0, 100), max_size=5))
def test_duplicates_change_nothing(problem: Any, which: list[int]) -> None:
    X, y = problem
    rows = np.array([k % len(X) for k in which], dtype=int)
    again, labels = np.concatenate([X, X[rows]]), np.concatenate([y, y[rows]])
    assert separation(again, labels) == separation(X, y)


@pytest.mark.parametrize("kind", ["float32", "csr", "csc", "frame", "list", "integers", "order F"])
def test_every_kind_of_input_gives_the_same(kind: str) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    same: Any = {
        "float32": X.astype(np.float32),
        "csr": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "frame": pd.DataFrame(X),
        "list": X.tolist(),
        "integers": X.astype(np.int64),
        "order F": np.asfortranarray(X),
    }[kind]
    labels = pd.Series(y.astype(str)) if kind == "frame" else y
    assert separation(same, labels).rows == separation(X, y).rows
    assert angular_separation(same, labels).value == angular_separation(X, y).value
    assert radius(same) == radius(X)


def test_parallel_points_have_no_angle() -> None:
    rays = np.arange(1, 3001)[:, None] * np.array([[1.0, 3.0]])
    assert angular_separation(rays, np.arange(3000) % 2).value < 1e-15
    X = np.concatenate([rays[:100], [[1.0, 3.0000001], [5.0, 1.0]]])
    y = np.repeat([0, 1], [100, 2])
    assert angular_separation(X, y).value == pytest.approx(naive.angle(X[0], X[100]), abs=1e-15)


def test_equal_points_of_different_labels() -> None:
    X, y = [[1.0, 2.0], [0.0, 0.0], [-0.0, 0.0], [1.0, 2.0]], [0, 1, 0, 1]
    assert separation(X, y).value == 0.0
    assert separation(X, y).rows == (0, 3)


def test_two_moons_has_the_published_angle() -> None:
    X, y = moons()
    assert angular_separation(X, y).value == pytest.approx(2.4414607e-6, abs=5e-14)


def test_radius() -> None:
    assert radius([[3.0, 4.0], [0.0, 1.0]], center=False) == 5.0
    assert radius([[3.0, 4.0], [1.0, 4.0]]) == 1.0


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], "row 1"),
        ([[1.0], [np.inf]], [0, 1], "row 1"),
        ([1.0, 2.0], [0, 1], "shape"),
        ([[1.0], [2.0]], [0, 1, 1], "one label for each"),
        ([[1.0], [2.0]], [1, 1], "only one class"),
        ([["a"], ["b"]], [0, 1], "numbers"),
        ([[1j], [2j]], [0, 1], "real numbers"),
        (np.empty((0, 2)), [], "at least one row"),
        ([[2**60 + 1], [0]], [0, 1], "2\\*\\*53"),
        ([[1.0], [2.0]], [0.0, np.nan], "NaN"),
    ],
)
def test_bad_input_is_refused(X: Any, y: Any, message: str) -> None:
    for function in (separation, angular_separation):
        with pytest.raises(DataError, match=message):
            function(X, y)


def test_bad_options_are_refused() -> None:
    with pytest.raises(ParameterError, match="n_jobs"):
        separation([[1.0], [2.0]], [0, 1], n_jobs=0)
    with pytest.raises(DataError, match="single point"):
        separation([[1.0]])


@pytest.mark.data
def test_angles_of_images() -> None:
    """All 70,000 are measured by ``python -m benchmarks geometry``."""
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    from exactfit.lab import load_dataset

    data = load_dataset("mnist", folder)
    X, y = data.X[:2500], data.y[:2500]
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    angles = np.arccos(np.clip(units @ units.T, -1, 1))
    np.fill_diagonal(angles, np.inf)
    assert angular_separation(X, n_jobs=2).value == pytest.approx(angles.min(), rel=1e-6)
    angles[y[:, None] == y[None, :]] = np.inf
    assert angular_separation(X, y, n_jobs=2).value == pytest.approx(angles.min(), rel=1e-6)
