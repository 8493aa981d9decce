"""Detectors over sparse hyperplanes: what their dense twins say, and wide data that are never dense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import PROBLEMS, dense_twin, documents

from exactfit import Options, adaptive_width, fixed_width
from exactfit.network import Decoder, Layer, Masks, Network, Sparse
from exactfit.network.activations import RELU
from exactfit.network.bits import BitMatrix
from exactfit.network.detector_network import DetectorNetwork

RECIPES = {
    "masks": Options(hyperplanes="sparse"),
    "weights": Options(hyperplanes="sparse", detectors="weighted", target="all"),
    "relu": Options(hyperplanes="sparse", activation="relu"),
    "long rows too": Options(hyperplanes="sparse", margin="30%"),
    "float32": Options(hyperplanes="sparse", max_features=(2, 6), exact_in="float32"),
}


@pytest.mark.parametrize("options", RECIPES)
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_everything_is_as_the_dense_twin_says(problem, options):
    X, y = PROBLEMS[problem]()
    network = adaptive_width(X, y, RECIPES[options], 0).network
    twin = dense_twin(network)
    points = np.concatenate([X, np.random.default_rng(0).normal(size=(700, X.shape[1]))])
    found, other = DetectorNetwork.of(network), DetectorNetwork.of(twin)
    np.testing.assert_array_equal(network(points), twin(points))
    np.testing.assert_array_equal(found.slack(points), other.slack(points))
    np.testing.assert_array_equal(found.counts(points), other.counts(points))
    np.testing.assert_array_equal(found.claims(points), other.claims(points))
    for given in (points, sp.csr_array(points), points[:1], points[:0]):
        np.testing.assert_array_equal(found.class_slack(given), other.class_slack(given))
        np.testing.assert_array_equal(found.predict_codes(given), other.predict_codes(given))
        np.testing.assert_array_equal(network.decide(given), twin.decide(given))


def test_close_sums_of_relu_are_decided_exactly():
    """0.1 + 0.2 rounds up to the limit: in float64 the detector would not fire, exactly it does."""
    weights = sp.csr_array(([1.0, 1.0], ([0, 1], [90_000, 5])), shape=(2, 100_000))
    masks = Layer(Masks(BitMatrix.from_bool(np.ones((1, 2), dtype=bool)), -1), np.array([0.1 + 0.2]), RELU)
    out = Layer(Masks(BitMatrix.from_bool(np.ones((1, 1), dtype=bool)), -1), np.zeros(1), None)
    network = Network((Layer(Sparse(weights), np.zeros(2), RELU), masks, out), Decoder("sign", (1, 0)))
    X = sp.csr_array(([0.1, 0.2, 7.0, 0.5], ([0, 0, 0, 1], [90_000, 5, 17, 5])), shape=(3, 100_000))
    assert DetectorNetwork.of(network).predict_codes(X).tolist() == [1, 0, 1]
    slack = DetectorNetwork.of(network).class_slack(X)[:, 0]
    assert 0 < slack[0] < 1e-15
    assert slack[1] < 0 < slack[2]


def test_features_that_no_hyperplane_looks_at_are_not_read():
    X, y = documents(60, 5000)
    network = fixed_width(X, y, 100, Options(hyperplanes="sparse", activation="relu"), 0).network
    narrow, columns = DetectorNetwork.of(network).narrow
    assert len(columns) == narrow.normals.shape[1] <= 400
    dense = X.toarray()
    np.testing.assert_array_equal(narrow.slack(dense[:, columns]), DetectorNetwork.of(network).slack(dense))
    dense[:, np.setdiff1d(np.arange(5000), columns)] = 1e300
    np.testing.assert_array_equal(
        DetectorNetwork.of(network).class_slack(dense), DetectorNetwork.of(network).class_slack(X)
    )


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_answers_about_text_take_little_memory(activation):
    X, y = documents(600, 100_000)
    network = fixed_width(X[:90], y[:90], 200, Options(hyperplanes="sparse", activation=activation), 0).network
    DetectorNetwork.of(network).class_slack(X[:600])
    tracemalloc.start()
    slack = DetectorNetwork.of(network).class_slack(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert slack.shape == (600, 3)
    assert peak < 40e6 < 600 * 100_000 * 8 / 10
