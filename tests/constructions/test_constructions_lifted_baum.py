"""Random codes first: slabs of codes (LiftedBaum) and batches of sparse codes (Vershynin)."""

from __future__ import annotations

import naive_certificate
import numpy as np
import pytest
from random_problems import random_labels, size
from sklearn.datasets import load_digits

from exactfit import ParameterError, certify
from exactfit.constructions import LiftedBaum, Vershynin
from exactfit.constructions.base import n_outputs
from exactfit.constructions.lifted_baum import lifted_baum_size
from exactfit.constructions.vershynin import vershynin_size


def close_pair():
    X, y = random_labels(20)
    return np.concatenate([X, X[:1] + np.array([1e-14, 0, 0, 0, 0, 0])]), np.append(y, 1 - y[0])


@pytest.mark.parametrize("k", [2, 3])
def test_sizes_are_those_of_the_formulas(k) -> None:
    X, y = random_labels(k=k)
    made = LiftedBaum().construct(X, y, random_state=0)
    n_slabs = len(made.trace.coverage)
    assert size(made.network) == lifted_baum_size(made.trace.n_drawn, n_slabs, 6, n_outputs(k))
    made = Vershynin().construct(X, y, random_state=0)
    n_batches = len(made.trace.coverage)
    assert size(made.network) == vershynin_size(made.trace.n_drawn, n_batches, 6, n_outputs(k))
    assert made.trace.coverage.sum() == np.sort(np.bincount(y))[:-1].sum()


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin(64)])
def test_codes_and_answers_in_exact_arithmetic(constructor) -> None:
    X, y = random_labels(24, d=3, k=3)
    network = constructor.construct(X, y, random_state=0).network
    assert [naive_certificate.chain_answer(network, x) for x in X] == y.tolist()


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin()])
def test_points_that_random_hyperplanes_do_not_part_get_a_cut(constructor) -> None:
    X, y = close_pair()
    made = constructor.construct(X, y, random_state=0)
    assert made.trace.n_rescued == 1
    assert made.network.widths[0] == made.trace.n_drawn + 1
    np.testing.assert_array_equal(made.network.decide(X), y)


@pytest.mark.parametrize("constructor", [LiftedBaum(), Vershynin()])
def test_digits_are_certified(constructor) -> None:
    X, y = load_digits(return_X_y=True)
    network = constructor.construct(X, y, random_state=0).network
    assert certify(network, X, y).holds


def test_wider_lifts_need_fewer_slabs() -> None:
    X, y = random_labels(300)
    slabs = [LiftedBaum(width).construct(X, y, random_state=0).network.widths[1] for width in (64, 256)]
    assert slabs[1] < slabs[0]
    assert LiftedBaum(group_size=5).construct(X, y, random_state=0).network.widths[1] > slabs[0]


def test_a_lift_too_narrow_grows() -> None:
    X, y = random_labels()
    made = LiftedBaum(width=2).construct(X, y, random_state=0)
    assert made.network.widths[0] > 2
    np.testing.assert_array_equal(made.network.decide(X), y)


@pytest.mark.parametrize(
    ("constructor", "wrong"),
    [(LiftedBaum, {"width": 0}), (LiftedBaum, {"group_size": 0}), (Vershynin, {"width": -1})],
)
def test_wrong_options_are_refused(constructor, wrong) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        constructor(**wrong)
