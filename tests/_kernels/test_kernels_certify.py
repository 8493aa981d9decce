"""The compiled half of certificates against fractions and loops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kernel_inputs import masks_of, random_bits
from naive_certificate import ORDERS, affine

from exactfit._kernels import certify
from exactfit._kernels.enclosures import quantum
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


@given(seeds)
def test_bits_are_exact_and_those_not_open_hold_in_every_evaluation(seed):
    rng = np.random.default_rng(seed)
    X, W, b = problem(rng)
    planes = FirstLayer(W, b).block(0, len(b))
    bits = certify.TileBits(*(np.zeros((len(X), 3), dtype=np.uint64) for _ in range(3)))
    gaps = np.empty((len(X), len(b)))
    certify.examine(X @ planes.weights.T, X, facts_of(X), planes, 1, bits, gaps)
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


def test_plain_bits_are_not_open():
    rng = np.random.default_rng(0)
    X, W, b = rng.standard_normal((30, 10)), rng.standard_normal((64, 10)).astype(np.float32), rng.standard_normal(64)
    bits = certify.TileBits(*(np.zeros((30, 1), dtype=np.uint64) for _ in range(3)))
    planes = FirstLayer(W, b).block(0, 64)
    certify.examine(X @ planes.weights.T, X, facts_of(X), planes, 0, bits, np.empty((30, 64)))
    assert not bits.open64.any()
    assert sum(int(word).bit_count() for word in bits.open32.ravel()) < 5


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


@given(seeds)
def test_ramp_values_lie_within_their_proved_gaps(seed):
    rng = np.random.default_rng(seed)
    X, W, b = problem(rng)
    masks, owners, own = rng.random((5, len(b))) < 0.5, rng.integers(0, 2, 5), rng.integers(0, 2, len(X))
    limits = rng.exponential(4, 5)
    at_limit = exact_gaps(X, W, b, masks, np.zeros(5))
    limits[:2] = [-float(at_limit[0][m]) for m in range(2)]  # a point at the limit, up to rounding
    planes, errors = FirstLayer(W, b).block(0, len(b)), np.zeros((2, len(X)))
    heights = X @ planes.weights.T
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
        claims = certify.exact_claims(values[i], errors[0, i], len(b), detectors, own[i], X[i], planes.weights, b)
        assert claims == (any(gap > 0 for gap in of_own), any(gap > 0 for gap in others))
