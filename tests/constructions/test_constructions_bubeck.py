"""Bubeck's construction: sizes of its formula, labels in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import naive_certificate
import numpy as np
import pytest
from random_problems import (
    DEGENERATE,
    size,
    wide_labels,
)
from sklearn.datasets import load_digits

from exactfit import ParameterError, certify
from exactfit.constructions import Bubeck
from exactfit.constructions.base import spaced_levels
from exactfit.constructions.bubeck import bubeck_size


@pytest.mark.parametrize("k", [2, 4])
def test_bubeck_has_the_size_of_its_formula(k) -> None:
    X, y = wide_labels(k=k)
    made = Bubeck().construct(X, y, random_state=0)
    n_groups = len(made.trace.coverage)
    assert size(made.network) == bubeck_size(n_groups, 10)
    assert n_groups <= 15  # ceil(150 / 10)
    assert made.trace.coverage.sum() == 150


@pytest.mark.parametrize("case", DEGENERATE)
def test_bubeck_has_the_labels_at_all_points_in_exact_arithmetic(case) -> None:
    X, y = DEGENERATE[case]()
    network = Bubeck().construct(X, y, random_state=0).network
    levels = spaced_levels(y.max() + 1)
    for x, code in zip(X, y, strict=True):
        (output,) = naive_certificate.chain_outputs(network, x)
        assert abs(output - Fraction(levels[code])) < 1e-6


def test_groups_of_several_labels_carry_an_affine_function() -> None:
    """All ten points in one group, of ten labels: the slope cannot be zero."""
    X, y = np.random.default_rng(0).standard_normal((10, 12)), np.arange(10)
    network = Bubeck(group_size=5).construct(X, y, random_state=0).network
    assert network.widths == (8, 1)
    tilted, plain = network.layers[0].weights.values[:2]
    assert np.abs(tilted - plain).max() > 0
    np.testing.assert_array_equal(network.decide(X), y)


def test_bubeck_on_all_digits() -> None:
    X, y = load_digits(return_X_y=True)
    network = Bubeck().construct(X, y, random_state=0).network
    certificate = certify(network, X, y)
    assert certificate.holds
    assert certificate.float64_safe
    assert np.abs(network(X)[:, 0] - spaced_levels(10)[y]).max() < 1e-6


def test_bubeck_refuses_wrong_options() -> None:
    with pytest.raises(ParameterError, match="group_size"):
        Bubeck(group_size=0)
