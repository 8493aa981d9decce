"""The check of a covering finds every fault, and decides the closest calls in more digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.problems import problems
from hypothesis import given
from hypothesis import strategies as st

from exactfit import DataError, ParameterError
from exactfit.geometry import (
    is_mutual_covering,
)


def as_arguments(balls: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{side}_{name}": part for side in balls for name, part in zip(("centers", "radii"), balls[side], strict=True)
    }


@given(data=st.data(), problem=problems(kinds=("grid", "halves", "interval"), max_points=7))
def test_the_check_finds_what_the_naive_one_finds(data: Any, problem: Any) -> None:
    X, y = problem
    target = data.draw(st.sampled_from(sorted(set(y.tolist()))))
    sizes = st.sampled_from([0.0, 0.5, 1.0, 2.0**0.5, 0.25])
    balls = {}
    for side in ("target", "rest"):
        rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=4, unique=True))
        balls[side] = rows, [data.draw(sizes) for _ in rows]
    max_bias = data.draw(st.sampled_from([0.5, 2.0, 5.0]))
    if set(balls["target"][0]) & set(balls["rest"][0]):
        return
    check = is_mutual_covering(
        X, y, target=target, max_bias=max_bias, constant=0.5, center=False, **as_arguments(balls)
    )
    expected = naive.broken_conditions(X, y, target, balls, max_bias, 0.5)
    assert {(failure.condition, failure.side, failure.row) for failure in check.failures} == expected
    assert bool(check) == (not expected)


def test_every_condition_is_named_with_its_place() -> None:
    X, y = np.array([[0.0], [0.1], [3.0], [3.2]]), np.array([1, 1, 0, 0])
    balls: dict[str, Any] = {"target": ([0], [0.1]), "rest": ([2], [3.2 - 3.0])}

    def failing(**changes: Any) -> set[tuple[str, str, int]]:
        arguments = as_arguments(balls) | {"target": 1, "max_bias": 3.2, "constant": 1.0, "center": False} | changes
        check = is_mutual_covering(X, y, **arguments)
        assert all(str(failure.row) in failure.detail for failure in check.failures if failure.row >= 0)
        return {(failure.condition, failure.side, failure.row) for failure in check.failures}

    assert failing(rest_radii=[0.2 + 1e-9]) == set()
    assert failing(rest_radii=[0.1]) == {("cover", "rest", 3)}
    assert failing(max_bias=3.0) == {("max_bias", "both", -1)} | failing(max_bias=3.0, target_radii=[0.1]) - set()
    assert ("radius", "target", 0) in failing(target_radii=[3.0])
    assert ("class", "target", 3) in failing(target_centers=[3], target_radii=[0.1])
    assert failing(rest_radii=[0.21], separation=3.5) == {("separation", "both", 0)}
    assert failing(rest_radii=[0.21], separation=3.0) == set()


def test_the_closest_calls_are_decided_in_more_digits() -> None:
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    arguments: dict[str, Any] = {
        "target": 1, "max_bias": 1.0, "target_centers": [1], "rest_centers": [0], "rest_radii": [0.0],
    }  # fmt: skip
    assert is_mutual_covering(X, y, target_radii=[1.0], **arguments)  # f(1) = 1 exactly
    assert not is_mutual_covering(X, y, target_radii=[np.nextafter(1.0, 2.0)], **arguments)


def test_bad_proposals_are_refused() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    good: dict[str, Any] = {"target_centers": [1], "target_radii": [0.1], "rest_centers": [0], "rest_radii": [0.1]}
    with pytest.raises(DataError, match="no row"):
        is_mutual_covering(X, y, target=1, max_bias=1.0, **good | {"target_centers": [7]})
    for change in ({"target_radii": [-1.0]}, {"target_radii": None}, {"rest_centers": []}, {"rest_radii": [1.0, 2.0]}):
        with pytest.raises(ParameterError):
            is_mutual_covering(X, y, target=1, max_bias=1.0, **good | change)
    with pytest.raises(ParameterError, match="target"):
        is_mutual_covering(X, y, max_bias=1.0, **good)
    with pytest.raises(ParameterError, match="max_bias"):
        is_mutual_covering(X, y, target=1, **good)
    with pytest.raises(ParameterError, match="MutualCovering"):
        is_mutual_covering(X, y, "balls")  # type: ignore[arg-type]
