"""Lines: no rounding swaps points. Steps, ramps and zigzags: labels are met at the size of the formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import certificate_twins as naive_certificate
from helpers.problems import PROBLEMS, chain_size, problems, size, spaced_levels, three_labels
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from exactfit import AssumptionError, certify
from exactfit.constructions import (
    Huang,
    Yun,
    Zhang,
)
from exactfit.constructions.base import distinct_points
from exactfit.constructions.line import (
    FEWEST_BITS,
    MOST_BITS,
    TRIES,
    Line,
    _integer_bits,
    lines,
    served_places,
    zigzags_through,
)
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


def test_lines_need_a_unit_for_each_change_of_label_only() -> None:
    X, y = three_labels(n=400, k=2)
    made = Huang().construct(X, y, random_state=0)
    assert 100 < len(made.trace.anchors) == made.network.widths[1] < 220  # about half of the points
    X, y = load_digits(return_X_y=True)
    assert Huang().construct(X, (y == 0).astype(int), random_state=0).network.widths[1] < 30


def test_a_step_stands_between_the_points_that_it_names() -> None:
    X, y = three_labels()
    made = Huang().construct(X, y, random_state=0)
    line, steps, _ = made.network.layers
    values, trace = line.sums(X)[:, 0], made.trace
    assert (values[trace.witnesses] <= -steps.bias).all()
    assert (values[trace.anchors] > -steps.bias).all()
    assert (y[trace.witnesses] != y[trace.anchors]).all()
    np.testing.assert_array_equal(trace.detector_classes, y[trace.anchors])
    assert trace.coverage.sum() == (values > -steps.bias[0]).sum()


@pytest.mark.parametrize(("ramps", "error"), [(True, 1e-9), (False, 1e-6)])
def test_zhangs_outputs_are_the_labels(ramps, error) -> None:
    X, y = three_labels(n=1000, d=10, k=5)
    outputs = Zhang(ramps=ramps).construct(X, y, random_state=0).network(X)[:, 0]
    assert np.abs(outputs - y).max() < error


def test_slopes_are_the_solution_of_the_triangular_system() -> None:
    X, y = three_labels(n=30)
    made = Zhang(ramps=False).construct(X, y, random_state=0)
    line, relus, output = made.network.layers
    order = made.trace.anchors
    system = np.maximum(line.sums(X)[order] + relus.bias, 0.0)
    assert (np.triu(system, 1) == 0).all()
    assert (np.diag(system) > 0).all()
    np.testing.assert_allclose(output.weights.values[0], np.linalg.solve(system, y[order]), rtol=1e-6, atol=1e-9)


def random_labels(n, d=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, d)), rng.permutation(y)


@pytest.mark.parametrize("n", [*range(3, 27), 100, 500])
def test_every_number_of_points_is_fitted_at_the_size_of_the_formula(n) -> None:
    X, y = random_labels(n)
    network = Yun().construct(X, y, random_state=n).network
    np.testing.assert_allclose(network(X)[:, 0], spaced_levels(3)[y], atol=1e-8)
    places = 2 * max(1, round(np.sqrt(n) / 2))
    groups = -(-n // places)
    assert size(network) == chain_size(5, groups + 1, 2 * places, 1)
    assert network.n_neurons <= 4 * np.sqrt(n) + 6


@pytest.mark.parametrize("n", [2, 7, 16, 30])
def test_labels_are_met_in_exact_arithmetic(n) -> None:
    X, y = random_labels(n, k=2)
    network = Yun().construct(X, y, random_state=0).network
    for x, code in zip(X, y, strict=True):
        (output,) = naive_certificate.chain_outputs(network, x)
        assert abs(output - Fraction(2 * int(code) - 1)) < 1e-9


def test_second_layer_units_saturate_at_all_points_but_one_of_each_group() -> None:
    X, y = random_labels(64)
    network = Yun().construct(X, y, random_state=0).network
    first, second, _ = network.layers
    pairs = second(first(X))
    units = pairs[:, ::2] - pairs[:, 1::2] - 1.0
    served = np.abs(np.abs(units) - 1.0) > 1e-9
    inner = np.abs(spaced_levels(3)[y]) < 1  # at the other levels the served unit is at an end as well
    np.testing.assert_array_equal(served.sum(axis=1), inner)
    np.testing.assert_allclose(units.sum(axis=1) - 1.0, spaced_levels(3)[y], atol=1e-9)


@pytest.mark.parametrize(("groups", "places"), [(7, 6), (5, 2), (1, 4)])
def test_places_alternate_between_even_and_odd(groups, places) -> None:
    before, after = np.sort(np.random.default_rng(0).random((2, groups, places)), axis=2)
    served = served_places(before, after[:, ::-1])
    np.testing.assert_array_equal(np.sort(served, axis=1), np.tile(np.arange(places), (groups, 1)))
    assert ((served[1:] + served[:-1]) % 2 == 1).all()


def test_matching_places_by_height_keeps_weights_smaller(monkeypatch) -> None:
    X, y = random_labels(2500, d=10)
    targets, found = spaced_levels(3)[y], lines(distinct_points(X, y), np.random.SeedSequence(0), "points")

    def sizes():
        return np.array([zigzags_through(line.values[line.order], targets[line.order]).size for line in found])

    def snake(before, after):
        """Every other group served backwards."""
        groups, places = before.shape
        return np.where(np.arange(groups)[:, None] % 2, np.arange(places)[::-1], np.arange(places))

    matched = sizes()
    monkeypatch.setattr("exactfit.constructions.line.served_places", snake)
    assert np.median(sizes() / matched) > 1


def test_the_line_of_the_smallest_zigzags_is_taken() -> None:
    X, y = random_labels(400)
    found = lines(distinct_points(X, y), np.random.SeedSequence(3), "points")
    sizes = [zigzags_through(line.values[line.order], spaced_levels(3)[y[line.order]]).size for line in found]
    direction = Yun().construct(X, y, random_state=3).network.layers[0].weights.values[0]
    np.testing.assert_array_equal(direction, found[int(np.argmin(sizes))].direction)


def test_yun_on_all_digits() -> None:
    X, y = load_digits(return_X_y=True)
    network = Yun().construct(X, y, random_state=0).network
    assert certify(network, X, y).holds
    assert np.abs(network(X)[:, 0] - spaced_levels(10)[y]).max() < 1e-6


def test_points_that_float64_cannot_order_are_named() -> None:
    near = np.nextafter(1.0, 2.0)
    X = np.array([[1.0, 1.0], [near, 1.0], [1.0, near], [near, near], [3.0, 4.0]])
    with pytest.raises(AssumptionError) as refusal:
        Yun().construct(X, np.array([0, 1, 1, 0, 1]), random_state=0)
    assert set(refusal.value.rows) <= set(range(5))
    assert refusal.value.rows
