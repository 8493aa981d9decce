"""Sizes of networks, and the smallest change that changes an answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import PROBLEMS
from hypothesis import given
from hypothesis import strategies as st

import exactfit
from exactfit.certificate.radius import Probes, smallest_change
from exactfit.constructions import CONSTRUCTORS
from exactfit.lab.comparison import bits_of, choose_probes, sizes
from exactfit.network import Layer
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix
from exactfit.network.weights import Dense, Integers, Masks, Sparse

SMALL = ("two moons", "three classes")


def test_dense_layers_count_every_number() -> None:
    hidden = Layer(Dense(np.array([[0.1, 0.0, -2.5], [0.1, 7.0, 0.0]])), np.array([0.1, 0.0]), RELU)
    output = Layer(Dense(np.array([[3.0, -4.0]])), np.array([0.5]), None)
    # 6 + 2 float64 numbers of 64 bits, of which 0.1, -2.5 and 7 differ; bits of 3 and -4: 3 + 4; 0.5 as float32: 32.
    assert sizes([hidden, output]) == {
        "depth": 1, "neurons": 3, "parameters": 11, "nonzero": 5 + 3, "distinct": 3 + 3, "bits_per_weight": 64,
        "total_bits": 6 * 64 + 2 * 64 + 3 + 4 + 32, "largest_weight": 7.0,
    }  # fmt: skip


def test_masks_take_one_bit_and_sparse_weights_only_what_they_hold() -> None:
    cuts = Layer(Sparse(sp.csr_array(np.array([[0.0, 1.5], [0.0, 0.0]]))), np.array([0.25, 0.25]), THRESHOLD)
    detectors = Layer(
        Masks(BitMatrix.from_bool(np.array([[True, False], [True, True], [False, False]])), -1),
        np.array([2, 1, 0]), THRESHOLD,
    )  # fmt: skip
    # One weight and two biases of 32 bits; six mask bits; biases 2, 1, 0 take 3 + 2 + 1 bits.
    assert sizes([cuts, detectors]) == {
        "depth": 2, "neurons": 5, "parameters": 2 * 3 + 3 * 3, "nonzero": 1 + 2 + 3 + 2, "distinct": 2 + 3,
        "bits_per_weight": 32, "total_bits": 32 + 64 + 6 + 6, "largest_weight": 2.0,
    }  # fmt: skip


def test_integers_of_any_size_count_their_bits() -> None:
    huge = 2**1500
    weights = np.array([[huge, 0], [1, -3]], dtype=object)
    layer = Layer(Integers(weights), np.array([0, huge], dtype=object), RELU)
    assert sizes([layer]) == {
        "depth": 1, "neurons": 2, "parameters": 6, "nonzero": 4, "distinct": 3, "bits_per_weight": 1502,
        "total_bits": 1502 + 1 + 2 + 3 + 1 + 1502, "largest_weight": float("inf"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        (np.array([], dtype=np.float64), (0, 0)),
        (np.array([0.0]), (1, 1)),
        (np.array([2.0**52, 1.0]), (54, 56)),
        (np.array([1e300]), (64, 64)),  # whole, but no integer format is that wide: float64
        (np.array([2.0**100]), (32, 32)),
        (np.array([-128, 127], dtype=np.int64), (9, 17)),
        (np.array([0.1], dtype=np.float32), (32, 32)),
        (np.array([0.1, 0.5]), (64, 128)),
    ],
)
def test_bits_are_those_of_the_plainest_format(values: np.ndarray, bits: tuple[int, int]) -> None:
    assert bits_of(values) == bits


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1))
def test_bits_of_whole_floats_are_those_of_integers(values: list[int]) -> None:
    each = [value.bit_length() + 1 for value in values]
    assert bits_of(np.array(values, dtype=np.float64)) == (max(each), sum(each))


def test_probes_lead_to_the_nearest_point_of_another_label(monkeypatch) -> None:
    monkeypatch.setattr("exactfit.certificate.radius.ROW_TILE", 7)
    X, y = PROBLEMS["three classes"]()
    probes = choose_probes(X, y, np.random.default_rng(0), count=20)
    rows = [int(np.flatnonzero((start == X).all(axis=1))[0]) for start in probes.starts]
    assert len(set(rows)) == 20
    for row, end in zip(rows, probes.ends, strict=True):
        distances = np.where(y == y[row], np.inf, np.linalg.norm(X - X[row], axis=1))
        np.testing.assert_array_equal(end, X[distances.argmin()])


@given(
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6),
    st.floats(1e-9, 1.0),
)
def test_the_smallest_change_is_where_one_answer_changes(places: list[float], scale: float) -> None:
    """One crossing on each segment, at a known share of its way."""
    cuts = np.array(places)
    starts = np.column_stack([np.zeros(len(cuts)), np.arange(len(cuts))])
    ends = starts + np.array([scale, 0.0])

    def decide(points):
        return points[:, 0] > scale * cuts[points[:, 1].round().astype(int)]

    found = smallest_change(decide, Probes(starts, ends))
    assert found is not None
    assert scale * cuts.min() * (1 - 1e-12) <= found <= scale * cuts.min() * (1 + 1e-5)


def test_where_no_answer_changes_none_is_found() -> None:
    probes = Probes(np.zeros((3, 1)), np.ones((3, 1)))
    assert smallest_change(lambda points: np.zeros(len(points)), probes) is None


def test_out_of_time_the_change_so_far_counts() -> None:
    probes = Probes(np.zeros((1, 1)), np.ones((1, 1)))
    found = smallest_change(lambda points: points[:, 0] > 0.1, probes, time_limit=-1.0)
    assert found == pytest.approx(0.5)


@pytest.mark.parametrize("problem", SMALL)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_no_smaller_change_is_found_than_is_proved_harmless(name: str, problem: str) -> None:
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name].construct(X, y, random_state=0).network
    certificate = exactfit.certify(network, X, y)
    assert certificate.holds
    found = smallest_change(network.decide, choose_probes(X, y, np.random.default_rng(0)))
    assert found is not None
    assert certificate.robust_radius is None or certificate.robust_radius <= found
