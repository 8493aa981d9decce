"""Bounds for chains of layers, against fractions, layer by layer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.certificate_twins import ORDERS, affine
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from exactfit._kernels import enclosures as kernels
from exactfit._kernels.certify import ANY_QUANTUM, Facts
from exactfit._kernels.enclosures import quantum
from exactfit._kernels.rounding import FLOAT32, FLOAT64, gamma
from exactfit.certificate.layers import facts_of

seeds = st.integers(0, 10**6)
finite = st.floats(allow_nan=False, allow_infinity=False)
FORMATS = [(FLOAT32, np.float32), (FLOAT64, np.float64)]


def no_facts(n):
    return Facts(np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64))


def numbers(rng, shape):
    """Signals of every kind: any, whole, or mostly zero."""
    drawn = rng.standard_normal(shape).astype(np.float32).astype(float)
    return (drawn, np.round(4 * drawn), drawn * (rng.random(shape) < 0.3))[int(rng.integers(3))]


def check_facts(values, errors, facts):
    for i in range(values.shape[1]):
        column, off = values[:, i], errors[:, i]
        used = (column != 0) | (off != 0)
        assert Fraction(float(facts.norms[i])) >= sum(
            abs(Fraction(v)) + Fraction(e) for v, e in zip(column.tolist(), off.tolist(), strict=True)
        )
        assert facts.terms[i] == used.sum()
        common = min((quantum(v) for v in column[used].tolist()), default=ANY_QUANTUM) if not off.any() else None
        assert facts.quanta[i] == (kernels.INEXACT if common is None else common)


@given(seeds)
def test_facts_of_signals(seed):
    values = numbers(np.random.default_rng(seed), (5, 4))
    facts = no_facts(4)
    kernels.activate(values, np.zeros_like(values), kernels.LINEAR, *facts)
    check_facts(values, np.zeros_like(values), facts)


def units_of(W, b):
    norms = np.abs(W).sum(axis=1) * (1 + (W.shape[1] + 8) * 2.0**-52)
    return kernels.Units(b, norms, facts_of(W).quanta, facts_of(b[:, None]).quanta)


@pytest.mark.parametrize(("form", "number"), FORMATS)
@given(seed=seeds)
def test_sums_of_a_layer_lie_within_their_radius(form, number, seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    values, W, b = numbers(rng, (d, 3)), numbers(rng, (4, d)), numbers(rng, 4)
    facts = no_facts(3)
    kernels.activate(values, np.zeros_like(values), kernels.LINEAR, *facts)
    inputs, factors = values.copy(), np.array([gamma(t, form.unit) + gamma(t, FLOAT64.unit) for t in facts.terms])
    sums, radii = W @ values, np.abs(W) @ (factors * np.abs(values))
    kernels.enclose(sums, radii, factors, facts, units_of(W, b), d, form)
    for j in range(4):
        for i in range(3):
            exact, radius = affine(W[j], inputs[:, i], b[j]), Fraction(float(radii[j, i]))
            assert abs(Fraction(float(sums[j, i])) - exact) <= radius
            for order in ORDERS:
                terms = [number(a) * number(c) for a, c in zip(W[j], inputs[:, i], strict=True)]
                found = order([*terms, number(b[j])], rng)
                assert abs(Fraction(float(found)) - Fraction(float(sums[j, i]))) <= radius


def test_whole_sums_have_no_radius():
    rng = np.random.default_rng(0)
    values, W, b = (rng.integers(-9, 9, shape).astype(float) for shape in ((5, 3), (4, 5), 4))
    facts = no_facts(3)
    kernels.activate(values, np.zeros_like(values), kernels.LINEAR, *facts)
    factors = np.full(3, 2 * gamma(5, FLOAT32.unit))
    sums, radii = W @ values, np.abs(W) @ (factors * np.abs(values))
    kernels.enclose(sums, radii, factors, facts, units_of(W, b), 5, FLOAT32)
    assert not radii.any()


@pytest.mark.parametrize("kind", [kernels.LINEAR, kernels.STEP, kernels.RAMP])
@given(seed=seeds)
def test_activations_of_intervals(kind, seed):
    rng = np.random.default_rng(seed)
    values, errors = np.round(8 * numbers(rng, (4, 5))) / 8, rng.integers(0, 4, (4, 5)) / 4.0
    before, radii, facts = values.copy(), errors.copy(), no_facts(5)
    kernels.activate(values, errors, kind, *facts)
    answer = {
        kernels.LINEAR: lambda v: v,
        kernels.STEP: lambda v: float(v > 0),
        kernels.RAMP: lambda v: max(v, 0.0),
    }[kind]
    for place in np.ndindex(4, 5):
        low, high = before[place] - radii[place], before[place] + radii[place]
        for inside in (low, before[place], high):
            assert abs(answer(inside) - values[place]) <= errors[place]
    check_facts(values, errors, facts)


@pytest.mark.parametrize(("form", "number"), FORMATS)
@given(seed=seeds)
def test_squared_norms_lie_within_their_radius(form, number, seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    values, errors, facts = np.zeros((d + 1, 3)), np.zeros((d + 1, 3)), no_facts(3)
    values[:d] = numbers(rng, (d, 3))
    kernels.activate(values[:d], errors[:d], kernels.LINEAR, *facts)
    kernels.append_square(values, errors, facts, form)
    for i in range(3):
        point, radius = values[:d, i], Fraction(float(errors[d, i]))
        centre = Fraction(float(values[d, i]))
        assert abs(affine(point, point, 0.0) - centre) <= radius
        for order in ORDERS:
            found = order([number(v) * number(v) for v in point], rng)
            assert abs(Fraction(float(found)) - centre) <= radius
    check_facts(values, errors, facts)


@given(seeds)
def test_sums_in_pairs_keep_twice_the_digits(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 8))
    high = np.ldexp(rng.standard_normal((d, 3)), rng.integers(-30, 30, (d, 3)))
    low = high * rng.uniform(-1, 1, (d, 3)) * 2.0**-54
    W = np.ldexp(rng.standard_normal((4, d)), rng.integers(-30, 30, (4, d))) * (rng.random((4, d)) < 0.7)
    csr, b = sparse.csr_array(W), rng.standard_normal(4)
    out_high, out_low = np.empty((4, 3)), np.empty((4, 3))
    kernels.precise_sums(high, low, csr.data, csr.indices, csr.indptr, b, out_high, out_low)
    for j in range(4):
        for i in range(3):
            exact = affine(W[j], high[:, i], b[j]) + affine(W[j], low[:, i], 0.0)
            size = affine(np.abs(W[j]), np.abs(high[:, i]), abs(b[j]))
            found = Fraction(float(out_high[j, i])) + Fraction(float(out_low[j, i]))
            assert abs(found - exact) <= size * (d + 4) ** 2 * Fraction(2) ** -104
            assert out_high[j, i] + out_low[j, i] == out_high[j, i]


@given(finite.filter(bool))
def test_a_number_is_an_odd_multiple_of_its_quantum(number: float) -> None:
    ratio = Fraction(number) / Fraction(2) ** quantum(number)
    assert ratio.denominator == 1
    assert ratio.numerator % 2 == 1
