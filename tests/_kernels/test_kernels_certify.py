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
from exactfit._kernels.enclosures import factors_of, quantum
from exactfit._kernels.rounding import FLOAT32, gamma
from exactfit.certificate.layers import facts_of
from exactfit.certificate.paper_form import FirstLayer

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
    planes, found = products(form, X, W, b)
    bits = certify.TileBits(*(np.zeros((len(X), 3), dtype=np.uint64) for _ in range(3)))
    gaps = np.empty((len(X), len(b)))
    certify.examine(found, X, facts_of(X), planes, 1, bits, gaps)
    nearest = gaps.min(axis=0)
    assert not any(words[:, 0].any() for words in bits)
    for j in range(len(b)):
        exact = [affine(W[j], x, b[j]) for x in X]
        assert Fraction(float(nearest[j])) <= min(map(abs, exact))
        for i, x in enumerate(X):
            on, open64, open32 = (bool(int(words[i, 1 + j // 64]) >> j % 64 & 1) for words in bits)
            assert on == (exact[i] > 0)
            assert open64 or answers(x, W[j], b[j], np.float64, rng) == {on}
            assert open32 or answers(x, W[j], b[j], np.float32, rng) == {on}


@pytest.mark.parametrize("form", FORMS)
def test_plain_bits_are_not_open(form):
    rng = np.random.default_rng(0)
    X, W, b = rng.standard_normal((30, 10)), rng.standard_normal((64, 10)).astype(np.float32), rng.standard_normal(64)
    bits = certify.TileBits(*(np.zeros((30, 1), dtype=np.uint64) for _ in range(3)))
    planes, found = products(form, X, W, b)
    certify.examine(found, X, facts_of(X), planes, 0, bits, np.empty((30, 64)))
    assert not bits.open64.any()
    assert sum(int(word).bit_count() for word in bits.open32.ravel()) < 5


def test_a_sparse_hyperplane_is_only_as_uncertain_as_the_features_that_it_looks_at():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (30, 6)) * np.array([1.0, 1.0, 1.0, 1e9, 0.1, 1e-30])
    W, b = np.zeros((64, 6), dtype=np.float32), rng.integers(-9, 9, 64) / 1.0  # many points on hyperplanes
    W[:, :3] = rng.choice([-2, -1, 0, 1], (64, 3))
    open32 = []
    for form in FORMS:
        bits = certify.TileBits(*(np.zeros((30, 1), dtype=np.uint64) for _ in range(3)))
        planes, found = products(form, X, W, b)
        certify.examine(found, X, facts_of(X), planes, 0, bits, np.empty((30, 64)))
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
def test_best_margins_of_own_and_other_classes(n_masks):
    rng = np.random.default_rng(n_masks)
    low, masks = random_bits(1, 9, 70, 0.4), random_bits(2, max(n_masks, 1), 70)[:n_masks]
    high = low | random_bits(3, 9, 70, 0.1)
    limits, owners, own = rng.integers(0, 40, n_masks), rng.integers(0, 3, n_masks), rng.integers(0, 4, 9)
    inside, outside = np.empty(9, dtype=np.int64), np.empty(9, dtype=np.int64)
    packed = masks_of(masks) if n_masks else np.empty((0, 2), dtype=np.uint64)
    certify.best_margins(masks_of(low), masks_of(high), packed, limits, owners, own, inside, outside)
    for i in range(9):
        of_own = [limits[m] - (masks[m] & high[i]).sum() for m in range(n_masks) if owners[m] == own[i]]
        others = [limits[m] - (masks[m] & low[i]).sum() for m in range(n_masks) if owners[m] != own[i]]
        assert inside[i] == max(of_own, default=certify.NOTHING)
        assert outside[i] == max(others, default=certify.NOTHING)


def exact_gaps(X, W, b, masks, limits):
    """limit - masked sum of max(<w, x> + b, 0), for every point and detector."""
    heights = [[max(affine(w, x, bias), Fraction(0)) for w, bias in zip(W, b, strict=True)] for x in X]
    return [
        [Fraction(limit) - sum((h for h, m in zip(row, mask, strict=True) if m), Fraction(0))
         for mask, limit in zip(masks, limits.tolist(), strict=True)]
        for row in heights
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds)
def test_ramp_values_lie_within_their_proved_gaps(form, seed):
    rng = np.random.default_rng(seed)
    X, W, b = problem(rng)
    masks, owners, own = rng.random((5, len(b))) < 0.5, rng.integers(0, 2, 5), rng.integers(0, 2, len(X))
    limits = rng.exponential(4, 5)
    at_limit = exact_gaps(X, W, b, masks, np.zeros(5))
    limits[:2] = [-float(at_limit[0][m]) for m in range(2)]  # a point at the limit, up to rounding
    (planes, heights), errors = products(form, X, W, b), np.zeros((2, len(X)))
    certify.ramp(heights, X, facts_of(X), planes, *errors)
    errors *= 1 + (len(b) + 8) * 2.0**-52
    detectors = certify.RampDetectors(limits, owners, np.ones(5), masks_of(masks))
    values = heights @ masks.T.astype(float)
    ends = np.full((4, len(X)), -np.inf)
    safe = np.zeros((2, len(X)), dtype=bool), np.ones((2, len(X)), dtype=bool)
    gaps = certify.Gaps(*ends, *safe, np.zeros(len(X)), np.full(len(X), np.inf))
    certify.best_gaps(values, *errors, len(b), detectors, own, gaps)
    exact = exact_gaps(X, W, b, masks, limits)
    for i in range(len(X)):
        of_own = [gap for gap, owner in zip(exact[i], owners, strict=True) if owner == own[i]]
        others = [gap for gap, owner in zip(exact[i], owners, strict=True) if owner != own[i]]
        for found, low, high in ((of_own, gaps.own_low, gaps.own_high), (others, gaps.other_low, gaps.other_high)):
            if found:
                assert Fraction(float(low[i])) <= max(found) <= Fraction(float(high[i]))
        assert not gaps.safe_own[:, i].any() or max(of_own) > 0
        assert not gaps.safe_other[:, i].any() or max(others, default=Fraction(-1)) < 0
        claims = certify.exact_claims(values[i], errors[0, i], len(b), detectors, own[i], X[i], planes)
        assert claims == (any(gap > 0 for gap in of_own), any(gap > 0 for gap in others))
