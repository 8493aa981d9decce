"""Mean widths: closed forms, honest intervals, upper estimates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import problems
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erf, gammaln

from exactfit import DataError, ParameterError
from exactfit._support.threads import SERIAL, Executor
from exactfit.geometry import mean_width
from exactfit.geometry.widths import mean_widths

OF_A_NORMAL = math.sqrt(2 / math.pi)


def orthoplex_width(d: int) -> float:
    """E max |g_i|, from the distribution of the maximum."""
    return quad(lambda t: 1 - erf(t / math.sqrt(2)) ** d, 0, 20)[0]


def ball_width(k: int) -> float:
    """E |g| of k standard normals."""
    return math.sqrt(2) * math.exp(gammaln((k + 1) / 2) - gammaln(k / 2))


def sphere(n: int) -> Any:
    """Points spread evenly over the sphere in three dimensions."""
    height, turn = 1 - (2 * np.arange(n) + 1) / n, np.pi * (1 + 5**0.5) * np.arange(n)
    across = np.sqrt(1 - height**2)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), height])


CLOSED_FORMS = {
    "a point": ([[3.0, 4.0, 0.0]], 5 * OF_A_NORMAL),
    "the origin": (np.zeros((2, 3)), 0.0),
    "a segment": (np.linspace(-1, 1, 11)[:, None] * [[0.6, 0.8]], OF_A_NORMAL),
    "the orthoplex": (np.concatenate([np.eye(20), -np.eye(20)]), orthoplex_width(20)),
    "half of it": (np.eye(20), orthoplex_width(20)),
    "a disc in a plane": (
        np.column_stack([np.cos(np.linspace(0, 7, 2000)), np.zeros(2000), np.sin(np.linspace(0, 7, 2000))]),
        ball_width(2),
    ),
    "a ball in three dimensions": (np.pad(sphere(4000), ((0, 0), (0, 5))), ball_width(3)),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms_lie_in_the_interval(name: str) -> None:
    A, width = CLOSED_FORMS[name]
    found = mean_width(A, n_draws=4000, random_state=1)
    assert found.low <= width <= found.high
    assert found.value == pytest.approx(width, abs=5 * found.standard_error + 2e-3)


def test_the_interval_holds_its_level() -> None:
    A, width = CLOSED_FORMS["the orthoplex"]
    found = [mean_width(A, n_draws=50, confidence=0.8, random_state=seed) for seed in range(200)]
    held = sum(one.low <= width <= one.high for one in found)
    assert held >= 160
    errors = [(one.value - width) / one.standard_error for one in found]
    assert 0.8 < np.std(errors) < 1.25


@given(problem=problems(kinds=("interval", "grid"), max_points=8), seed=st.integers(0, 5))
def test_many_components_at_once_are_each_what_they_are_alone(problem: Any, seed: int) -> None:
    X, y = problem
    components = [np.flatnonzero(y == k) for k in np.unique(y)]
    members, starts = np.concatenate(components), np.cumsum([0, *map(len, components)])
    centers = np.array([rows[0] for rows in components])
    both = mean_widths(X, members, starts, centers, 40, 0.95, seed, Executor(SERIAL))
    plain = mean_widths(X, members, starts, np.full(len(centers), -1), 40, 0.95, seed, Executor(SERIAL))
    for k, rows in enumerate(components):
        assert both.value[k] == pytest.approx(mean_width(X[rows] - X[centers[k]], n_draws=40, random_state=seed).value)
        assert plain.value[k] == pytest.approx(mean_width(X[rows], n_draws=40, random_state=seed).value)


@given(problem=problems(kinds=("interval",)), factor=st.floats(0.1, 10))
def test_scaling_and_symmetry(problem: Any, factor: float) -> None:
    X, _ = problem
    width = mean_width(X, n_draws=30)
    assert mean_width(factor * X, n_draws=30).value == pytest.approx(factor * width.value)
    assert mean_width(np.concatenate([X, -X, X]), n_draws=30).value == pytest.approx(width.value)


def test_rotation_keeps_the_mean_width() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) * [3.0, 1.0, 1.0, 0.5, 0.1]
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    plain, turned = mean_width(X, n_draws=5000, random_state=0), mean_width(X @ rotation, n_draws=5000, random_state=0)
    assert plain.value == pytest.approx(turned.value, abs=4 * (plain.standard_error + turned.standard_error))


def test_threads_tiles_and_kinds_of_input_change_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    width = mean_width(X, random_state=3)
    assert mean_width(X, random_state=3, n_jobs=2).value == width.value
    assert mean_width(X.astype(np.float64), random_state=3).value == width.value
    assert mean_width(sp.csr_array(X), random_state=3).value == pytest.approx(width.value, rel=1e-12)
    assert mean_width(X, random_state=4).value != width.value
    assert "95 % confidence" in str(width)


def test_more_draws_extend_the_same_draws() -> None:
    X = np.eye(3)
    few, many = mean_width(X, n_draws=32, random_state=0), mean_width(X, n_draws=3200, random_state=0)
    assert many.high - many.low == pytest.approx((few.high - few.low) / 10, rel=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {"n_draws": 1},
        {"n_draws": 2.5},
        {"confidence": 0.0},
        {"confidence": 1.0},
        {"confidence": "high"},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        mean_width(np.eye(3), **options)


def test_bad_data_are_refused() -> None:
    with pytest.raises(DataError, match="row 0"):
        mean_width([[np.nan]])
    with pytest.raises(DataError, match="too large"):
        mean_width([[1.5e308], [-1.5e308]])
