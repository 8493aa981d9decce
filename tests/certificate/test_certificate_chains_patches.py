"""Patches before a model: verdicts against fractions, given answers, and radii."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit import ParameterError, certify
from exactfit.certificate.chains import answers_digest, prove_switched
from exactfit.certificate.record import ProofEffort
from exactfit.data import Points
from exactfit.network import Decoder, Dense, Layer, Masks, Network, WeightedMasks
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix
from exactfit.network.network import SwitchedNetwork


def outputs_for(rng, n_units: int) -> Layer:
    owners = rng.integers(0, 3, n_units)
    own = BitMatrix.from_bool(owners[None, :] == np.arange(3)[:, None])
    return Layer(Masks(own, 1), np.zeros(3, dtype=np.int64), None)


def random_patches(rng, kind: str, d: int) -> Network:
    """Few patches of any kind over a grid, so that several classes fire, or none, or one on the edge."""
    n = int(rng.integers(1, 5))
    decoder = Decoder("one_hot", (0, 1, 2))
    if kind == "ball":
        centres = rng.integers(-2, 3, (n, d)).astype(float)
        weights = np.column_stack([2 * centres, np.full(n, -1.0)])
        units = Layer(Dense(weights), rng.integers(1, 5, n) - (centres**2).sum(axis=1), THRESHOLD)
        return Network((units, outputs_for(rng, n)), decoder, "append_squared_norm")
    first = Layer(Dense(rng.integers(-2, 3, (5, d)).astype(float)), rng.integers(-1, 2, 5).astype(float), THRESHOLD)
    counters = (
        Masks(BitMatrix.from_bool(rng.random((n, 5)) < 0.5), -1)
        if kind == "mask"
        else WeightedMasks(rng.integers(-3, 4, (n, 5)).astype(np.int8), -1)
    )
    return Network((first, Layer(counters, rng.integers(0, 3, n), THRESHOLD), outputs_for(rng, n)), decoder)


def random_model(rng, d: int) -> Network:
    first = Layer(Dense(rng.integers(-2, 3, (3, d)).astype(float)), rng.integers(-1, 2, 3).astype(float), RELU)
    last = Layer(Dense(rng.integers(-2, 3, (3, 3)).astype(float)), rng.integers(-1, 2, 3).astype(float), None)
    return Network((first, last), Decoder("argmax", (0, 1, 2)))


def exact_answer(switched: SwitchedNetwork, x) -> int:
    patched = naive.chain_answer(switched.patches, x)
    return patched if patched >= 0 else naive.chain_answer(switched.model, x)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ball", "mask", "weighted"]))
@settings(max_examples=120)
def test_what_is_proved_is_true_and_little_else_is_missed(seed, kind) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 3))
    switched = SwitchedNetwork(random_patches(rng, kind, d), random_model(rng, d))
    X = rng.integers(-2, 3, (9, d)).astype(float)
    truth = np.array([exact_answer(switched, x) for x in X])
    assert switched.decide(X).tolist() == truth.tolist()
    wrong = rng.random(9) < 0.2
    y = np.where(wrong, (truth + 1) % 3, truth)
    assert certify(switched, X, y).errors.tolist() == np.flatnonzero(wrong).tolist()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ball", "mask", "weighted"]))
@settings(max_examples=60)
def test_answers_that_are_given_stand_in_for_the_model(seed, kind) -> None:
    rng = np.random.default_rng(seed)
    switched = SwitchedNetwork(random_patches(rng, kind, 2), random_model(rng, 2))
    X, answers = rng.integers(-2, 3, (9, 2)).astype(float), rng.integers(0, 3, 9)
    patched = np.array([naive.chain_answer(switched.patches, x) for x in X])
    y = np.where(rng.random(9) < 0.3, rng.integers(0, 3, 9), np.where(patched >= 0, patched, answers))
    verdict = prove_switched(switched, Points(X), y, ProofEffort(), 2**20, answers)
    assert verdict.right["exact"].tolist() == (np.where(patched >= 0, patched, answers) == y).tolist()


def test_a_patch_of_the_own_class_may_be_open_where_another_claims_the_point() -> None:
    """The third root of a tenth is at the edge of the first ball as far as float32 can tell, and inside the second."""
    centres = np.array([[0.0], [0.5], [9.0]])
    squares = np.array([0.1 ** (2 / 3), 0.25, 0.25])
    units = Layer(Dense(np.column_stack([2 * centres, np.full(3, -1.0)])), squares - centres[:, 0] ** 2, THRESHOLD)
    own = Masks(BitMatrix.from_bool(np.array([[True, True, False], [False, False, True]])), 1)
    output = Layer(own, np.zeros(2, dtype=np.int64), None)
    patches = Network((units, output), Decoder("one_hot", (0, 1)), "append_squared_norm")
    switched = SwitchedNetwork(patches, None)
    points, wrong = Points(np.array([[0.1 ** (1 / 3)], [0.25]])), np.array([1, 1])
    verdict = prove_switched(switched, points, np.array([0, 0]), ProofEffort(), 0, wrong)
    assert verdict.right["float32"].tolist() == [True, True]
    assert not prove_switched(switched, points, wrong, ProofEffort(), 0, wrong).right["float32"].any()


def test_radii_of_a_repaired_model_are_those_of_patch_or_model() -> None:
    model = Network((Layer(Dense(np.array([[0.0], [1.0]])), np.zeros(2), None),), Decoder("argmax", (0, 1)))
    ball = Layer(Dense(np.array([[6.0, -1.0]])), np.array([0.25 - 9.0]), THRESHOLD)  # |x - 3| < 1/2
    owner = Layer(Masks(BitMatrix.from_bool(np.array([[True], [False]])), 1), np.zeros(2, dtype=np.int64), None)
    switched = SwitchedNetwork(Network((ball, owner), Decoder("one_hot", (0, 1)), "append_squared_norm"), model)
    certificate = certify(switched, np.array([[3.0], [2.0], [-1.0]]), [0, 1, 0], radii=True)
    assert certificate.holds
    np.testing.assert_allclose(certificate.radii, [0.5, 0.5, 0.5], rtol=1e-6)  # the last by a Lipschitz bound
    with pytest.raises(ParameterError, match="one network"):
        certify(switched, np.array([[3.0]]), [0], attack=True)


def test_patches_alone_cannot_decide() -> None:
    patches = random_patches(np.random.default_rng(0), "ball", 2)
    with pytest.raises(ParameterError, match="no chain of layers"):
        SwitchedNetwork(patches, None).decide(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="one_hot"):
        SwitchedNetwork(random_model(np.random.default_rng(0), 2), None)


def test_the_digest_of_answers_is_that_of_their_octets() -> None:
    assert answers_digest(np.array([3, 1])) != answers_digest(np.array([1, 3]))
    assert answers_digest(np.array([3, 1], dtype=np.int32)) == answers_digest(np.array([3, 1]))
