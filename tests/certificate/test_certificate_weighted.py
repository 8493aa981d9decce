"""Certificates of weighted detectors: judged as exact fractions judge them, also after a single change."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import naive_certificate as naive
import numpy as np
import pytest
from constructors import PROBLEMS
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit import InterpolatingClassifier, Recipe, certify, fixed_width, load, save
from exactfit.network import Network

FORMATS = {"float64": np.float64, "float32": np.float32}


def changed(network: Network, unit: int, bit: int | None, amount: int) -> Network:
    """The network with one weight or limit (bit None) of a detector moved."""
    first, second, last = network.layers
    values, limits = second.weights.values.copy(), second.bias.copy()
    if bit is None:
        limits[unit] += amount
    else:
        values[unit, bit] = np.clip(int(values[unit, bit]) + amount, -127, 127)
    other = replace(second, weights=replace(second.weights, values=values), bias=limits)
    return replace(network, layers=(first, other, last))


@given(
    seed=st.integers(0, 30), width=st.sampled_from([3, 8, 30]), target=st.sampled_from([None, "all"]), data=st.data()
)
@settings(max_examples=60)
def test_single_changes_are_judged_as_fractions_judge_them(seed, width, target, data):
    X, y = PROBLEMS[data.draw(st.sampled_from(["two moons", "three classes", "grid"]))]()
    X, y = X[:18], y[:18]
    made = fixed_width(X, y, width, Recipe(detectors="weighted", target=target), seed).network
    if not made.widths[1]:
        return
    unit = data.draw(st.integers(0, made.widths[1] - 1))
    bit = data.draw(st.one_of(st.none(), st.integers(0, width - 1)))
    network = changed(made, unit, bit, data.draw(st.sampled_from([-200, -3, -1, 1, 2, 200])))
    same = (network.layers[1].weights.values == made.layers[1].weights.values).all()
    assert (network.digest == made.digest) == (bool(same) and bit is not None)
    certificate = certify(network, X, y)
    assert certificate.errors.tolist() == naive.wrong_rows(network, X, y)
    assert certificate.slack == naive.slack(network, X, y, Fraction(1, 2))
    assert certificate.holds == (not certificate.n_errors)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_what_is_proved_in_a_format_holds_in_every_order_of_sums(problem, form):
    X, y = PROBLEMS[problem]()
    X, y = X[:15].astype(form).astype(np.float64), y[:15]
    network = fixed_width(X, y, 25, Recipe(detectors="weighted", exact_in=form), 0).network
    errors = set(certify(network, X, y, arithmetic=form).errors.tolist())
    rng = np.random.default_rng(0)
    for row in sorted(set(range(len(X))) - errors):
        for order in naive.ORDERS:
            assert naive.runtime(network, X[row], FORMATS[form], order, rng) == y[row]
        assert naive.runtime(network, X[row], FORMATS[form], naive.in_turn, rng, fused=True) == y[row]


def test_sums_that_float32_may_round_are_not_proved_in_float32():
    X, y = PROBLEMS["two moons"]()
    made = fixed_width(X, y, 200, Recipe(detectors="weighted", exact_in="float32"), 0).network
    seen = X.astype(np.float32).astype(np.float64)
    assert certify(made, seen, y, arithmetic="float32").holds
    sizes = np.abs(made.layers[1].weights.values.astype(int)).sum(axis=1)
    rest = int(2**24 - sizes[0] - made.layers[1].bias[0])
    assert certify(changed(made, 0, None, rest), seen, y).float32_safe is not True
    assert not certify(changed(made, 0, None, rest + 1), seen, y, arithmetic="float32").holds


def test_a_saved_model_proves_the_same(tmp_path):
    X, y = PROBLEMS["three classes"]()
    model = InterpolatingClassifier(detectors="weighted", random_state=0).fit(X, y)
    save(model, tmp_path / "a.exactfit")
    again = load(tmp_path / "a.exactfit")
    assert again.network_.digest == model.network_.digest
    assert certify(again, X, y).holds
    for name in ("support", "shares", "support_starts"):
        assert getattr(again.trace_, name).tolist() == getattr(model.trace_, name).tolist()
    assert again.detectors == "weighted"
