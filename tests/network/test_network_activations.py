"""Activations are zero up to zero and positive beyond, or refused with the reason."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit import Activation
from exactfit.exceptions import ParameterError
from exactfit.network.activations import RELU, THRESHOLD, as_activation

TINY = float(np.nextafter(0.0, 1.0))


def squared(t):
    return np.maximum(t, 0.0) ** 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_standard_two(t):
    assert THRESHOLD(np.array([t])).tolist() == [1.0 if t > 0 else 0.0]
    assert RELU(np.array([t])).tolist() == [t if t > 0 else 0.0]


def test_zero_is_off_and_the_smallest_number_is_on():
    edge = np.array([-TINY, -0.0, 0.0, TINY])
    assert THRESHOLD(edge).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert RELU(edge).tolist() == [0.0, 0.0, 0.0, TINY]


@pytest.mark.parametrize(
    ("activation", "kind"), [(THRESHOLD, "is_threshold"), (RELU, "is_relu"), (Activation("own", squared), "is_own")]
)
def test_each_is_of_one_kind(activation, kind):
    assert [name for name in ("is_threshold", "is_relu", "is_own") if getattr(activation, name)] == [kind]


def test_a_function_of_the_same_name_is_not_the_standard_one():
    impostor = Activation("relu", squared)
    assert impostor.is_own
    assert impostor != RELU


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda t: t, r"must be zero for t <= 0, but is -1e-300 at t = -1e-300"),
        (lambda t: np.maximum(t, 0.0) + 1e-9, r"must be zero for t <= 0, but is 1e-09 at t = 0.0"),
        (lambda t: (t >= 0).astype(float), r"must be zero for t <= 0, but is 1.0 at t = 0.0"),
        (lambda t: np.where(t < -1e200, 1.0, np.maximum(t, 0)), r"must be zero for t <= 0, but is 1.0 at t = -1e\+300"),
        (lambda t: np.maximum(t - 0.05, 0.0), r"must be positive and finite for t > 0, but is 0.0 at t = 0.001"),
        (lambda t: np.where(t > 5, np.nan, np.maximum(t, 0)), r"positive and finite for t > 0, but is nan at t = 7.5"),
        (lambda t: np.where(t > 50, np.inf, np.maximum(t, 0)), r"positive and finite for t > 0, but is inf at t = 100"),
        (lambda t: np.where(t > 0, -1.0, 0.0), r"must be positive and finite for t > 0, but is -1.0 at t = 0.001"),
        (lambda t: np.maximum(t, 0).sum(), r"must keep the shape of its input"),
        (lambda t: np.maximum(t, 0)[:-1], r"must keep the shape of its input"),
        (lambda t: t.missing, r"failed on a float64 array"),
        (lambda t: ["x"] * len(t), r"failed on a float64 array"),
    ],
)
def test_anything_else_is_refused_with_the_reason(function, reason):
    with pytest.raises(ParameterError, match=reason):
        Activation("mine", function)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_is_needed(name):
    with pytest.raises(ParameterError, match="name must be a non-empty string"):
        Activation(name, squared)


def test_a_callable_is_needed():
    with pytest.raises(ParameterError, match="'mine' needs a callable, got 3"):
        Activation("mine", 3)


def test_probing_leaves_the_probes_alone():
    def in_place(t):
        np.maximum(t, 0.0, out=t)
        return t

    Activation("first", in_place)
    Activation("second", in_place)
    with pytest.raises(ParameterError, match="t <= 0"):
        Activation("identity", lambda t: t)


@pytest.mark.parametrize(("given", "made"), [("threshold", THRESHOLD), ("relu", RELU), (RELU, RELU)])
def test_names_and_activations_are_understood(given, made):
    assert as_activation(given) is made


def test_a_named_function_becomes_an_activation_of_that_name():
    made = as_activation(squared)
    assert (made.name, made.function, made.is_own) == ("squared", squared, True)


def test_names_that_cannot_be_saved_under_are_refused():
    with pytest.raises(ParameterError, match=r"pass exactfit.Activation\(name, function\)"):
        as_activation(lambda t: np.maximum(t, 0))
    with pytest.raises(ParameterError, match="one of 'threshold', 'relu'"):
        as_activation("sigmoid")
    with pytest.raises(ParameterError, match="has no name"):
        as_activation(3)


def test_a_function_may_not_take_a_standard_name():
    def relu(t):
        return np.maximum(t, 0.0)

    with pytest.raises(ParameterError, match="'relu' belongs to a built-in activation: rename the function"):
        as_activation(relu)


@pytest.mark.parametrize("activation", [THRESHOLD, RELU, Activation("squared", squared)])
def test_pickling_keeps_the_kind(activation):
    twin = pickle.loads(pickle.dumps(activation))
    assert twin == activation
    assert twin.is_own == activation.is_own
