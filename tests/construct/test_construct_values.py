"""Values are the fixed-order sums, errors bound them, and limits are right for computed and exact values alike."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import FOR_VALUES, OWN, problems, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.parameters import seed_sequence
from exactfit._support.threads import Threads
from exactfit.construct import Options, adaptive_width, fixed_width, values
from exactfit.construct.hyperplanes import Hyperplanes, make_sampler
from exactfit.construct.patterns import WeightRows
from exactfit.construct.unique_patterns import ClassOrder
from exactfit.construct.values import Values, roundest
from exactfit.exceptions import DataError, NoGapError
from exactfit.network.activations import RELU
from exactfit.network.sides import sides


def evidence_for(X, y, planes, activation=RELU, n_jobs=1):
    order = ClassOrder.of(y)
    patterns = sides(X, planes.weights, planes.biases, rows=order.rows)
    return order, Values(X, order.rows, planes, patterns, activation, Threads(n_jobs))


def drawn(X, y, width, seed=0, **options):
    return make_sampler(X, y, tuple(range(y.max() + 1)), Options(**options), seed_sequence(seed)).first(width)


def weights_of(planes):
    """Weights as an array, and the most that a hyperplane has; None for an array."""
    if not sp.issparse(planes.weights):
        return planes.weights.astype(np.float64), None
    W = planes.weights.toarray().astype(np.float64)
    return W, np.count_nonzero(W, axis=1).max()


def twin_of(X, planes, activation=RELU):
    W, n_terms = weights_of(planes)
    return naive.Values(X, W, planes.biases.tolist(), naive.sides(X, W, planes.biases), activation, n_terms)


def all_of(order):
    return np.arange(len(order.rows))


# ---- Against the twin ------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", [RELU, OWN], ids=["relu", "own"])
@given(problems(kinds=FOR_VALUES), seeds, st.integers(1, 70), st.sampled_from(["gaussian", "bisector", "sparse"]))
def test_values_errors_limits_and_witnesses(activation, problem, seed, width, law):
    X, y = problem
    planes = drawn(X, y, width, seed, hyperplanes=law)
    order, evidence = evidence_for(X, y, planes, activation)
    twin = twin_of(X, planes, activation)
    rows = order.rows.tolist()
    assert evidence.share == twin.share
    assert evidence.values(X).T.tolist() == twin.values
    assert evidence.errors(X).tolist() == twin.errors
    masked_counts = evidence.masked_counts(all_of(order), evidence.select(slice(0, len(y))))
    assert masked_counts.tolist() == [[twin.high(a, x) for x in rows] for a in rows]
    for k in range(y.max() + 1):
        start, stop = order.target(k)
        limits, witnesses = evidence.limits(np.arange(start, stop), order.rest(k))
        rest = [row for row in rows if y[row] != k]
        expected = [naive.limit_of(twin, row, rest) for row in rows[start:stop]]
        assert limits.tolist() == [limit for limit, _ in expected]
        assert order.rows[witnesses].tolist() == [witness for _, witness in expected]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tiles_threads_and_memory_do_not_matter(monkeypatch, n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((90, 3)), np.arange(90) % 3
    planes = drawn(X, y, 100)
    order, plain = evidence_for(X, y, planes)
    anchors, columns = np.array([0, 5, 29]), rng.permutation(90)[:50]
    limits, masked_counts = plain.limits(anchors, order.rest(0)), plain.masked_counts(anchors, columns)
    monkeypatch.setattr(values, "KEPT_BYTES", 0)
    monkeypatch.setattr(values, "COLUMN_TILE", 17)
    for same in (X, sp.csr_array(X), np.asfortranarray(X)):
        _, other = evidence_for(same, y, planes, n_jobs=n_jobs)
        assert other.step == 17
        assert [part.tolist() for part in other.limits(anchors, order.rest(0))] == [part.tolist() for part in limits]
        np.testing.assert_array_equal(other.masked_counts(anchors, columns), masked_counts)
        np.testing.assert_array_equal(other.confusable(5, order.rest(0)), plain.confusable(5, order.rest(0)))


# ---- The proof -------------------------------------------------------------------------------------------


def exact_value(mask, W, B, x):
    return sum((max(naive.exact(w, x, b), Fraction(0)) for m, w, b in zip(mask, W, B, strict=True) if m), Fraction(0))


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e-200, 1e-5, 1e8, 1e200, 1e300])
@pytest.mark.parametrize(
    "options", [{}, {"max_bias": 0.0, "center": False}, {"hyperplanes": "bisector"}, {"hyperplanes": "sparse"}]
)
def test_the_exact_value_lies_within_the_bounds(size, options):
    rng = np.random.default_rng(1)
    X, y = size * (1 + 1e-3 * rng.standard_normal((8, 3))), np.arange(8) % 2
    planes = drawn(X, y, 40, **options)
    order, evidence = evidence_for(X, y, planes)
    W, B = weights_of(planes)[0], planes.biases
    masks = ~evidence.may_be_on.to_bool()
    twin = twin_of(X, planes)
    for column, row in enumerate(order.rows):
        for anchor in range(3):
            exact = exact_value(masks[anchor], W, B, X[row])
            low = twin.low(order.rows[anchor], row)
            high = evidence.masked_counts(np.array([anchor]), np.array([column]))[0, 0]
            assert Fraction(float(low)) <= exact <= Fraction(float(high))


@pytest.mark.parametrize("problem", ["moons", "one ulp"])
def test_limits_are_right_for_exact_values_too(problem):
    """What the network says in float64 is what it would say in exact arithmetic."""
    rng = np.random.default_rng(2)
    X, y = rng.uniform(0.5, 1, (8, 2)), np.arange(8) % 2
    if problem == "one ulp":
        X[1::2] = np.nextafter(X[::2], 2)
    made = adaptive_width(X, y, Options(activation="relu", target="all"), random_state=0)
    assert made.outcome.interpolates
    first, detectors, _ = made.network.layers
    W, B, masks = first.weights.values.astype(np.float64), first.bias, detectors.weights.bits.to_bool()
    fires = [
        [exact_value(mask, W, B, x) < Fraction(limit) for mask, limit in zip(masks, detectors.bias, strict=True)]
        for x in X
    ]
    np.testing.assert_array_equal(fires, made.network.layers[1](np.maximum(first.sums(X), 0)) > 0)
    claims = np.array(fires) @ (made.trace.detector_classes[:, None] == np.arange(2))
    np.testing.assert_array_equal(claims > 0, y[:, None] == np.arange(2))


def test_confusable_columns_are_all_that_are_too_close():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(0.5, 1, (12, 2)), np.arange(12) % 2
    X[3] = np.nextafter(X[0], 2)
    planes = drawn(X, y, 50)
    order, evidence = evidence_for(X, y, planes)
    twin, start = twin_of(X, planes), order.target(0)[0]
    crowd = order.rows[evidence.confusable(start, order.rest(0))].tolist()
    assert order.rows[start] == 0
    assert crowd == [3]
    assert [x for x in range(1, 12, 2) if twin.low(0, x) <= twin.high(0, 0)] == [3]


# ---- Numbers ---------------------------------------------------------------------------------------------


def significant_bits(value):
    digits = int(math.frexp(value)[0] * 2**53)
    return 53 - ((digits & -digits).bit_length() - 1)


@settings(max_examples=300)
@given(st.floats(0, 1e300), st.floats(0, 1e300), st.booleans())
def test_the_roundest_number(low, high, close):
    if close:
        high = low * (1 + 1e-14)
    low, high = min(low, high), max(low, high)
    if low == high:
        high = math.nextafter(low, math.inf)
    got = roundest(low, high)
    assert low < got <= high
    assert got == naive.roundest(low, high)
    assert significant_bits(got) <= significant_bits(high)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 5.0, 4.0), (4.0, 5.0, 5.0), (3.9, 5.0, 4.0), (0.0, 5e-324, 5e-324), (1.0, 1.75, 1.5), (9.0, 15.0, 12.0)],
)
def test_the_roundest_number_by_hand(low, high, expected):
    assert roundest(low, high) == expected


def test_single_powers_of_two_multiply_without_rounding():
    weights = np.array([[0.5, 0.0], [0.0, -4.0], [0.0, 3.0], [1.0, 1.0], [0.0, 0.0], [2.0**-1074, 0.0]])
    for held in (np.array, sp.csr_array):
        rows = WeightRows.of(held(weights))
        assert rows.is_cut.tolist() == [True, True, False, False, False, True]
        assert WeightRows.of(held(weights[:5].astype(np.float32))).is_cut.tolist() == [True, True, False, False, False]
        assert rows.columns[rows.is_cut].tolist() == [0, 1, 0]
        assert rows.leading.tolist() == [0.5, -4.0, 3.0, 1.0, 0.0, 2.0**-1074]
        assert rows.terms.tolist() == [1, 1, 1, 2, 0, 1]


def test_scaled_cuts_cost_no_accuracy():
    """Coordinate cuts, whatever their scale, are left out of the error that grows with the weights."""
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])
    planes = drawn(X, y, 10)
    cut = Hyperplanes(np.array([[0.0, 2.0**60]]), np.array([-(2.0**61)]))
    _, without = evidence_for(X, y, planes)
    _, with_cut = evidence_for(X, y, planes.append(cut))
    np.testing.assert_array_equal(without.errors(X), with_cut.errors(X))


# ---- Refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", OWN], ids=["relu", "own"])
def test_values_that_overflow_are_refused_with_a_remedy(activation):
    X = 1.5e308 * np.array([[1.0, 0.0], [0.9, 0.1], [-0.5, 0.5], [0.1, -0.2]])
    with pytest.raises(DataError, match="negative or not finite on these data: scale the data down"):
        fixed_width(
            X, np.array([0, 1, 0, 1]), 100, Options(activation=activation, max_bias=1.0, center=False), random_state=0
        )


def test_a_sum_that_overflows_downwards_is_refused_too():
    """Minus infinity would pass as zero: partial sums overflow, though the exact value is positive."""
    X, y = np.array([[1.7e308, 5e307, 1.7e308, 1.7e308], [0.0, 0.0, 0.0, 1.0]]), np.array([0, 1])
    planes = Hyperplanes(np.array([[-1.0, -1.0, 1.0, 1.0]]), np.zeros(1))
    assert naive.exact(planes.weights[0], X[0], 0.0) > 0
    _, evidence = evidence_for(X, y, planes)
    with pytest.raises(DataError, match="scale the data down"):
        evidence.values(X)


def test_an_activation_that_turns_negative_is_refused():
    from exactfit import Activation

    def falls(t):
        return np.where(t > 5e3, -1.0, np.maximum(t, 0.0))

    X, y = np.array([[1e6], [-1e6]]), np.array([0, 1])
    with pytest.raises(DataError, match="'falls' gives values that are negative"):
        fixed_width(X, y, 10, Options(activation=Activation("falls", falls)), random_state=0)


def test_points_that_values_cannot_tell_apart_are_refused_with_a_remedy():
    X, y = np.array([[1.0], [0.0], [5e-324]]), np.array([0, 1, 0])
    with pytest.raises(NoGapError, match='use activation="threshold"'):
        adaptive_width(X, y, Options(activation="relu"), random_state=0)
    assert adaptive_width(X, y, random_state=0).outcome.interpolates
