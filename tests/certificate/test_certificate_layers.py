"""Layers and decoders as proofs read them: numbers only, the first of two levels, what softmax does to close calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.networks import STEPS

from exactfit.certificate import certify
from exactfit.exceptions import DataError
from exactfit.network import Decoder, Dense, Layer, Network


def test_ties_of_the_nearest_level_go_to_the_first() -> None:
    half = Network((Layer(Dense(np.array([[1.0]])), np.zeros(1), None),), Decoder("nearest", (1, 0), (1.0, 0.0)))
    certificate = certify(half, np.array([[0.5], [np.nextafter(0.5, 0.0)]]), [1, 0])
    assert (certificate.holds, certificate.method, certificate.float64_safe) == (True, "rational", False)
    assert certify(half, np.array([[0.5]]), [0]).errors.tolist() == [0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_networks_that_hold_no_numbers_are_refused(bad) -> None:
    for index, layer in enumerate(STEPS.layers):
        broken = [*STEPS.layers]
        broken[index] = replace(layer, bias=np.full(layer.n_units, bad))
        with pytest.raises(DataError, match=f"layer {index}"):
            certify(replace(STEPS, layers=tuple(broken)), np.array([[1.0]]), [0])


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("form", [np.float32, np.float64])
def test_no_softmax_ties_what_is_called_safe(form) -> None:
    rng = np.random.default_rng(0)
    largest = rng.normal(0, 10, 4000).astype(form)
    gaps = form(2.0) ** -rng.integers(0, 60, 4000).astype(form)
    X = np.column_stack([largest, largest - gaps]).astype(np.float64)
    eye = Network((Layer(Dense(np.eye(2)), np.zeros(2), None),), Decoder("argmax", (1, 0)))
    unsafe = certify(eye, X, np.ones(4000, dtype=int), arithmetic=form.__name__).errors
    safe = np.setdiff1d(np.arange(4000), unsafe)
    shares = softmax(X.astype(form))[safe]
    logs = np.log(shares)
    assert 900 < len(safe) < 4000
    assert (shares[:, 0] > shares[:, 1]).all()
    assert (logs[:, 0] > logs[:, 1]).all()
    assert (1 / (1 + np.exp(-(X[safe, 0] - X[safe, 1]).astype(form))) > form(0.5)).all()
