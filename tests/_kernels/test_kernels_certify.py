"""The compiled half of certificates against fractions and loops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.certificate_twins import ORDERS, affine
from helpers.problems import masks_of, random_bits
from hypothesis import example, given
from hypothesis import strategies as st

from exactfit._kernels import certify
from exactfit._kernels.certify import factors_of
from exactfit._kernels.enclosures import quantum
from exactfit._kernels.rounding import FLOAT32, gamma
from exactfit.certificate.layers import as_integers, facts_of, round_down
from exactfit.certificate.paper_form import FirstLayer, decide_bits

seeds = st.integers(0, 10**6)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=6))
@example([0.0, -0.0])
@example([5e-324])
@example([1e200, 1e-200])
def test_facts_of_a_row(row: list[float]) -> None:
    facts = facts_of(np.array([row]))
    square = sum(Fraction(value) ** 2 for value in row)
    assert facts.terms[0] == np.count_nonzero(row)
    norm = facts.norms[0]
    if np.isfinite(norm):
        assert Fraction(norm) ** 2 >= square
        assert Fraction(norm) ** 2 <= square * (1 + Fraction(2) ** -40) or norm < 1e-300
    assert facts.quanta[0] == min((quantum(value) for value in row if value), default=certify.ANY_QUANTUM)


def test_facts_of_sparse_rows_are_those_of_the_array():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((50, 7)) * (rng.random((50, 7)) < 0.3)
    matrix[3], matrix[4] = rng.standard_normal(7), 0.0
    for found, expected in zip(facts_of(sp.csr_array(matrix)), facts_of(matrix), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_facts_of_many_rows_are_those_of_each(dtype):
    matrix = np.random.default_rng(0).standard_normal((5, 7)).astype(dtype)
    matrix[1], matrix[2, 3:] = 0.0, 0.0
    norms, terms, quanta = np.empty(5), np.empty(5, dtype=np.int64), np.empty(5, dtype=np.int64)
    certify.find_facts(matrix, norms, terms, quanta)
    assert terms.tolist() == [7, 0, 3, 7, 7]
    for row, norm, grid in zip(matrix.tolist(), norms.tolist(), quanta.tolist(), strict=True):
        square = sum(Fraction(value) ** 2 for value in row)
        assert square <= Fraction(norm) ** 2 <= square * (1 + Fraction(2) ** -40)
        parts = [Fraction(value) / Fraction(2) ** grid for value in row if value]
        assert all(part.denominator == 1 for part in parts)
        assert not parts or any(part.numerator % 2 for part in parts)


def problem(rng):
    """Points, hyperplanes (some of them cuts, many through the first point), and their products."""
    d, n = int(rng.integers(1, 5)), int(rng.choice([5, 66]))
    X, W = rng.standard_normal((4, d)).astype(np.float32).astype(float), rng.standard_normal((n, d)).astype(np.float32)
    if rng.random() < 0.4:
        X, W = np.round(2 * X) / 2, np.round(2 * W) / 2
    W *= rng.random((n, d)) < rng.choice([0.5, 1.0])
    cuts = rng.random(n) < 0.3
    W[cuts] = 0.0
    W[cuts, rng.integers(0, d, cuts.sum())] = 2.0 ** rng.integers(-2, 3, cuts.sum())
    b = np.where(rng.random(n) < 0.6, -(W.astype(float) @ X[0]), rng.standard_normal(n))
    if rng.random() < 0.5:
        b = b.astype(np.float32).astype(float)
    return X, W, b


def answers(x, w, b, number, rng):
    terms = [*(number(a) * number(c) for a, c in zip(w, x, strict=True)), number(b)]
    return {bool(order(terms, rng) > 0) for order in ORDERS}


def products(form, X, W, b):
    """A block of hyperplanes, held as an array or as a CSR array, and its products with the points."""
    ((_, planes, found),) = FirstLayer(form(W), b).products(X)
    return planes, found


FORMS = [np.array, sp.csr_array]


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds)
def test_bits_are_exact_and_those_not_open_hold_in_every_evaluation(form, seed):
    rng = np.random.default_rng(seed)
    X, W, b = problem(rng)
    bits, gaps = decide_bits(FirstLayer(form(W), b), X, facts_of(X))
    nearest = gaps.min(axis=0)
    for j in range(len(b)):
        exact = [affine(W[j], x, b[j]) for x in X]
        assert Fraction(float(nearest[j])) <= min(map(abs, exact))
        for i, x in enumerate(X):
            on, open64, open32 = (bool(int(words[i, j // 64]) >> j % 64 & 1) for words in bits)
            assert on == (exact[i] > 0)
            assert open64 or answers(x, W[j], b[j], np.float64, rng) == {on}
            assert open32 or answers(x, W[j], b[j], np.float32, rng) == {on}


@pytest.mark.parametrize("form", FORMS)
def test_plain_bits_are_not_open(form):
    rng = np.random.default_rng(0)
    X, W, b = rng.standard_normal((30, 10)), rng.standard_normal((64, 10)).astype(np.float32), rng.standard_normal(64)
    bits, _ = decide_bits(FirstLayer(form(W), b), X, facts_of(X))
    assert not bits.open64.any()
    assert sum(int(word).bit_count() for word in bits.open32.ravel()) < 5


def test_a_sparse_hyperplane_is_only_as_uncertain_as_the_features_that_it_looks_at():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (30, 6)) * np.array([1.0, 1.0, 1.0, 1e9, 0.1, 1e-30])
    W, b = np.zeros((64, 6), dtype=np.float32), rng.integers(-9, 9, 64) / 1.0  # many points on hyperplanes
    W[:, :3] = rng.choice([-2, -1, 0, 1], (64, 3))
    open32 = []
    for form in FORMS:
        bits, _ = decide_bits(FirstLayer(form(W), b), X, facts_of(X))
        np.testing.assert_array_equal(bits.on[:, 0], masks_of(X[:, :3] @ W[:, :3].T + b > 0)[:, 0])
        open32.append(bits.open32.any())
    assert open32 == [True, False]


@given(seeds)
def test_factors_of_a_hyperplane_are_its_weights_and_what_they_meet(seed):
    rng = np.random.default_rng(seed)
    X, W, b = problem(rng)
    for form in FORMS:
        planes = FirstLayer(form(W), b).planes
        for j in range(len(b)):
            weights, numbers = factors_of(planes, j, X[0])
            places = np.arange(len(X[0])) if form is np.array else np.flatnonzero(W[j])
            np.testing.assert_array_equal(weights, W[j, places])
            np.testing.assert_array_equal(numbers, X[0, places])


def test_hyperplanes_without_any_weight_look_at_nothing():
    planes, found = products(sp.csr_array, np.ones((2, 3)), np.zeros((2, 3)), np.array([1.0, -1.0]))
    assert factors_of(planes, 1, np.ones(3))[1].shape == (0,)
    bits, gaps = certify.TileBits(*(np.zeros((2, 1), dtype=np.uint64) for _ in range(3))), np.empty((2, 2))
    certify.examine(found, np.ones((2, 3)), facts_of(np.ones((2, 3))), planes, 0, bits, gaps)
    assert [words.ravel().tolist() for words in bits] == [[1, 1], [0, 0], [0, 0]]


def test_numbers_are_multiples_of_their_common_quantum():
    assert certify.common_quantum(np.array([6.0, 0.0, 0.75])) == -2
    assert certify.common_quantum(np.zeros(2)) == certify.common_quantum(np.empty(0)) == certify.ANY_QUANTUM


def test_a_hyperplane_errs_by_as_much_as_its_number_of_weights_says():
    planes = FirstLayer(sp.csr_array(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 3.0]])), np.zeros(3)).planes
    expected = [gamma(terms, FLOAT32.unit) for terms in range(3)]
    assert certify.factors_in(planes, FLOAT32).tolist() == expected


@pytest.mark.parametrize("n_masks", [0, 1, 63, 130])
def test_counts_of_masked_bits(n_masks):
    bits, masks = random_bits(1, 9, 70, 0.4), random_bits(2, max(n_masks, 1), 70)[:n_masks]
    counts = np.empty((9, n_masks), dtype=np.int64)
    certify.count_masked(masks_of(bits), masks_of(masks) if n_masks else np.empty((0, 2), dtype=np.uint64), counts)
    np.testing.assert_array_equal(counts, bits.astype(int) @ masks.T)


def test_best_margins_of_own_and_other_classes():
    rng = np.random.default_rng(0)
    mine, theirs = rng.integers(-9, 9, (2, 7, 5))
    owners, own, (inside, outside) = rng.integers(0, 3, 5), rng.integers(0, 4, 7), np.full((2, 7), -100)
    certify.best_margins(mine, theirs, owners, own, inside, outside)
    for i in range(7):
        assert inside[i] == max(mine[i, owners == own[i]], default=-100)
        assert outside[i] == max(theirs[i, owners != own[i]], default=-100)


vectors = st.integers(1, 5).flatmap(lambda d: st.tuples(*(st.lists(finite, min_size=d, max_size=d) for _ in range(2))))


@given(vectors, finite)
@example(([1e300, -1e300], [1e8, 1e8]), 5e-324)
@example(([1e-300, 1e-300], [1e-300, -1e-300]), 0.0)
@example(([1.7e308] * 4, [1.7e308] * 4), -1.7e308)
@example(([5e-324], [-5e-324]), 0.0)
@example(([3.0, 3.0], [0.1, -0.1]), 0.0)
def test_sides_are_exact_over_the_whole_range(vectors, b) -> None:
    w, x = vectors
    exact = affine(w, x, b)
    with np.errstate(all="ignore"):
        bits, gaps = decide_bits(FirstLayer(np.array([w]), np.array([b])), np.array([x]), facts_of(np.array([x])))
    assert bits.on.tolist() == [[int(exact > 0)]]
    assert 0 <= Fraction(float(gaps[0, 0])) <= abs(exact)


@given(st.lists(finite, max_size=4))
def test_numbers_are_integers_times_a_power_of_two(numbers) -> None:
    integers, quantum = as_integers(np.array(numbers))
    assert quantum <= 0
    assert [integer * Fraction(2) ** quantum for integer in integers] == [Fraction(number) for number in numbers]
    for integer in map(abs, integers):
        exact, found = integer * Fraction(2) ** quantum, Fraction(round_down(integer, quantum))
        assert exact * (1 - Fraction(2) ** -52) - Fraction(2) ** -1022 <= found <= exact
