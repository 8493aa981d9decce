"""Points on a line: the values are the network's own, and no rounding can swap what must stay apart."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.problems import PROBLEMS, problems
from hypothesis import given
from hypothesis import strategies as st

from exactfit import AssumptionError
from exactfit.constructions.base import distinct_points
from exactfit.constructions.line import FEWEST_BITS, MOST_BITS, TRIES, Line, _integer_bits, lines
from exactfit.network import Dense, Layer

ROOT = np.random.SeedSequence(0)


def exact_values(X, direction) -> list[Fraction]:
    return [sum(Fraction(a) * Fraction(w) for a, w in zip(row, direction, strict=True)) for row in X.tolist()]


def evaluations(X, direction):
    """The same products, summed in several orders."""
    yield X @ direction
    yield X[:, ::-1] @ direction[::-1]
    yield np.array([math.fsum(row * direction) for row in X])
    yield np.array([sum(sorted(row * direction)) for row in X])


def lines_or_refusal(points, seed, apart) -> list[Line]:
    refusal = None
    try:
        return lines(points, np.random.SeedSequence(seed), apart)
    except AssumptionError as error:
        refusal = error
    assert set(refusal.rows) <= set(points.rows.tolist())
    assert len(refusal.rows) > 1
    return []


@pytest.mark.parametrize("apart", ["labels", "points"])
@given(data=problems(), seed=st.integers(0, 3))
def test_no_evaluation_swaps_what_must_stay_apart(apart, data, seed) -> None:
    points = distinct_points(*data)
    for line in lines_or_refusal(points, seed, apart):
        projection = Layer(Dense(line.direction[None, :]), np.zeros(1), None)
        np.testing.assert_array_equal(projection.sums(points.X)[:, 0], line.values)
        exact = exact_values(points.X, line.direction)
        for value, error, truth in zip(line.values, line.errors, exact, strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(error)
        places = line.changes(points.y) if apart == "labels" else np.arange(len(points) - 1)
        for place, middle in zip(places, line.middles()[places], strict=True):
            below, above = line.order[: place + 1], line.order[place + 1 :]
            assert max(exact[i] for i in below) <= Fraction(middle) < min(exact[i] for i in above)
            for values in evaluations(points.X, line.direction):
                assert values[below].max() <= middle < values[above].min()


def test_the_best_line_has_the_fewest_changes_then_the_widest_gap() -> None:
    X, y = PROBLEMS["two moons"]()
    points = distinct_points(X, y)
    found = lines(points, ROOT)
    changes = [len(line.changes(points.y)) for line in found]
    assert changes == sorted(changes)
    assert changes[0] < changes[-1]
    by_gap = lines(points, ROOT, "points")
    gaps = [line.gaps for line in by_gap]
    relative = [(high - low).min() / np.ptp(line.values) for line, (low, high) in zip(by_gap, gaps, strict=True)]
    assert relative == sorted(relative, reverse=True)
    assert len(by_gap) == TRIES


def test_two_separated_classes_change_once() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    points = distinct_points(rng.standard_normal((60, 8)) + 4.0 * y[:, None] * (np.arange(8) == 3), y)
    assert len(lines(points, ROOT)[0].changes(points.y)) == 1


@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**100])
def test_whole_numbers_are_projected_without_rounding(scale) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (40, 24)) * scale
    points = distinct_points(X, rng.integers(0, 2, 40))
    for line in lines(points, ROOT):
        assert not line.errors.any()
        assert [Fraction(value) for value in line.values] == exact_values(X, line.direction)


def test_weights_are_as_large_as_sums_allow() -> None:
    assert _integer_bits(np.array([[3.0, 0.0], [0.0, -1.0]])) == MOST_BITS
    assert _integer_bits(np.array([[2.0**30, 2.0**30, 1.0]])) == 21
    assert _integer_bits(np.array([[0.1]])) < FEWEST_BITS
    assert _integer_bits(np.array([[1e300, 1e-300]])) == 0
    assert _integer_bits(np.zeros((2, 2))) == 0


def test_neighbouring_floats_are_told_apart_along_a_feature() -> None:
    points = distinct_points(*PROBLEMS["close pairs"]())
    line = lines(points, ROOT)[0]
    assert np.count_nonzero(line.direction) == 1
    assert not line.errors.any()


def test_points_that_meet_on_every_line_are_named() -> None:
    one_up = np.nextafter(1.0, 2.0)
    X = np.array([[1.0, 1 / 3], [one_up, 1 / 3], [1.0, 0.7], [1.0, np.nextafter(0.7, 1.0)], [5.0, 9.0]])
    points = distinct_points(X, np.array([0, 1, 1, 0, 1]))
    with pytest.raises(AssumptionError, match=r"points of different labels lie apart .* rows 0, 1, 2, 3\b"):
        lines(points, ROOT)[0]


def test_equal_values_of_one_label_are_no_change() -> None:
    line = Line.through(np.array([[1.0, 5.0], [1.0, 7.0], [2.0, 0.0]]), np.array([1.0, 0.0]), exact=True)
    assert line.changes(np.array([1, 1, 0])).tolist() == [1]
    low, high = line.gaps
    assert (low < high).tolist() == [False, True]
