"""The bound of what an evaluation may err by, against evaluations in every order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_certificate import ORDERS, affine

from exactfit._kernels.rounding import FLOAT32, FLOAT64, error_bound, gamma


@pytest.mark.parametrize("form", [FLOAT32, FLOAT64])
@given(terms=st.integers(0, 10**6))
def test_gamma_is_rounded_up(form, terms):
    part = (terms + 5) * Fraction(form.unit)
    assert Fraction(gamma(terms, form.unit)) >= part / (1 - part)
    assert gamma(terms, form.unit) <= float(part / (1 - part)) * (1 + 1e-11)


def test_gamma_says_when_it_knows_nothing():
    assert gamma(2**22, FLOAT32.unit) == np.inf
    assert error_bound(0.1, FLOAT32.huge, 1.0, 1.0, FLOAT32) == np.inf
    assert error_bound(0.1, 1.0, FLOAT32.huge, 1.0, FLOAT32) == np.inf


@pytest.mark.parametrize(("form", "number"), [(FLOAT32, np.float32), (FLOAT64, np.float64)])
@given(seed=st.integers(0, 10**6), exponent=st.sampled_from([0, 0, -70, 40]))
def test_no_evaluation_errs_by_more(form, number, seed, exponent):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    w, x = (np.ldexp(rng.standard_normal(d).astype(number), exponent) for _ in range(2))
    b = number(rng.choice([0.0, 1.0, -float(w.astype(float) @ x.astype(float))]))
    size = float(np.abs(w).astype(float) @ np.abs(x).astype(float)) * (1 + 1e-12) + abs(float(b))
    norms = [float(np.linalg.norm(v.astype(float))) * (1 + 1e-12) for v in (x, w)]
    bound = error_bound(gamma(d, form.unit), size, *norms, form)
    for order in ORDERS:
        found = order([*(a * c for a, c in zip(w, x, strict=True)), b], rng)
        assert abs(Fraction(float(found)) - affine(w, x, b)) <= Fraction(bound)
