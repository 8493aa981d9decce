"""Means from exact sums: rounded once, whatever the order and the parts."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exactfit.data import ExactSum, mean, mean_and_deviation

finite = st.floats(allow_nan=False, allow_infinity=False)
tables = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=finite)


@given(tables)
def test_means_are_those_of_the_twin(X):
    assert mean(X).tolist() == naive.mean(X).tolist()


@given(tables, st.randoms(use_true_random=False))
def test_order_and_parts_do_not_matter(X, random):
    rows = list(range(len(X)))
    random.shuffle(rows)
    cut = random.randint(0, len(X))
    parts = ExactSum(X.shape[1]), ExactSum(X.shape[1])
    parts[0].add(X[rows[:cut]])
    parts[1].add(X[rows[cut:]])
    parts[0].merge(parts[1])
    assert parts[0].over(len(X)).tolist() == mean(X).tolist()


def test_layout_and_type_do_not_matter():
    X = np.random.default_rng(0).standard_normal((9000, 5)).astype(np.float32)
    for given_as in (np.asfortranarray(X), X.astype(np.float64), sp.csr_array(X)):
        assert mean(given_as).tolist() == mean(X).tolist()


def test_the_largest_numbers_have_a_mean():
    assert mean(np.full((5, 1), np.finfo(np.float64).max)).tolist() == [np.finfo(np.float64).max]


def test_deviations_are_those_of_exact_sums():
    values = np.random.default_rng(1).standard_normal(1000) * 1e150
    middle, deviation = mean_and_deviation(values)
    assert middle == float(sum(map(Fraction, values.tolist())) / 1000)
    spread = math.sqrt(sum((Fraction(v) - Fraction(middle)) ** 2 for v in values.tolist()) / 1000)
    assert math.isclose(deviation, spread, rel_tol=1e-14)
