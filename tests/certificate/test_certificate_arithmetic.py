"""Chains in three arithmetics: each decides what the one before leaves open, within the budget."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.networks import whole

from exactfit.certificate import certify
from exactfit.network import Decoder, Dense, Integers, Layer, Network
from exactfit.network.activations import RELU


def test_methods_by_how_much_is_needed() -> None:
    tie = Decoder("nearest", (0, 1), (0.0, 1.0))

    def method(bias, weights=(1.0, -1.0), x=1.0, y=1):
        sums = Layer(Dense(np.array([weights])), np.array([bias]), None)
        copies = Layer(Dense(np.array([[0.1], [0.1]])), np.zeros(2), None)
        found = certify(Network((copies, sums), tie), np.array([[x]]), [y])
        assert found.holds
        return found.method, found.float64_safe

    assert method(0.6) == ("running error bound", True)
    assert method(0.5 + 2.0**-45, x=1e3) == ("double-double", False)
    assert method(0.5, y=0) == ("rational", False)
    whole_layer = Layer(Integers(whole([[2**80, -1]])), whole([-(2**80)]), None)
    found = certify(Network((whole_layer,), Decoder("sign", (0, 1))), np.array([[1.0, 1.0], [1.0, -1.0]]), [0, 1])
    assert (found.holds, found.method, found.float64_safe) == (True, "integer-exact", False)


def test_what_the_budget_leaves_open_is_not_proved() -> None:
    half = Network((Layer(Dense(np.array([[1.0]])), np.zeros(1), None),), Decoder("nearest", (1, 0), (1.0, 0.0)))
    X, y = np.array([[0.5], [0.75], [0.5], [0.25], [0.5]]), [1, 1, 1, 0, 1]
    for operations, errors in [(0, [0, 2, 4]), (8, [2, 4]), (23, [4])]:
        certificate = certify(half, X, y, exact_operations=operations)
        assert (certificate.holds, certificate.errors.tolist(), certificate.slack) == (False, errors, 0.0)
        assert f"{len(errors)} points were neither proved nor refuted" in certificate.note
        assert "exact_operations=24" in str(certificate)
    certificate = certify(half, X, y, exact_operations=24)
    assert (certificate.holds, certificate.note) == (True, "")


def deep_integers(depth: int) -> Network:
    """Doubles and halves a code of many bits: relu(2 v + bit) again and again, then its top bit."""
    width = 2**depth
    double = Layer(Integers(whole([[2, 0], [0, 1]])), whole([0, 0]), RELU)
    add = Layer(Integers(whole([[1, 1], [0, 1]])), whole([0, 0]), RELU)
    step = Layer(Integers(whole([[1, 0], [1, 0]])), whole([1 - width, -width]), RELU)
    output = Layer(Integers(whole([[1, -1]])), whole([0]), None)
    return Network((*[double, add] * depth, step, output), Decoder("nearest", (0, 1), (0.0, 1.0)))


@pytest.mark.parametrize(("depth", "safe"), [(20, True), (100, False), (1500, False)])
def test_deep_networks_of_integers(depth, safe) -> None:
    network, X = deep_integers(depth), np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [2.0, 5.0]])
    y = [naive.chain_answer(network, x) for x in X]
    certificate = certify(network, X, y)
    assert (certificate.holds, certificate.method, certificate.float64_safe) == (True, "integer-exact", safe)
    assert certify(network, X, [1 - code for code in y]).n_errors == len(X)
    assert network.decide(X).tolist() == y
    open_points = certify(network, X, y, exact_operations=0)
    assert open_points.holds == safe


def test_fractions_under_integer_weights() -> None:
    network = Network((Layer(Integers(whole([[3**50]])), whole([-(3**49)]), None),), Decoder("sign", (0, 1)))
    X = np.array([[1 / 3], [np.nextafter(1 / 3, 1.0)]])
    certificate = certify(network, X, [0, 1])
    assert (certificate.holds, certificate.method) == (True, "integer-exact")
    assert network.decide(X).tolist() == [0, 1]
