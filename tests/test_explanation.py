"""The slack of a class is the largest relative slack of its detectors: positive exactly where the class claims."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from constructors import CONSTRUCTORS, PROBLEMS

from exactfit.explanation import class_slack
from exactfit.explanation import slack as module

LOWEST = -np.finfo(np.float64).max


def parts_of(network):
    first, detectors, output = network.layers
    return {
        "W": first.weights.values.astype(np.float64),
        "B": first.bias,
        "masks": detectors.weights.bits.to_bool(),
        "limits": detectors.bias.tolist(),
        "outputs": output.weights.bits.to_bool().argmax(axis=0),
        "n_outputs": network.widths[-1],
        "activation": first.activation,
    }


@pytest.mark.parametrize("name", CONSTRUCTORS)
@pytest.mark.parametrize("problem", ["three classes", "grid"])
def test_the_same_as_the_twin(name, problem):
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.concatenate([X[:3], np.random.default_rng(0).standard_normal((3, X.shape[1]))])
    np.testing.assert_array_equal(class_slack(network, points), naive.class_slack(points, **parts_of(network)))


@pytest.mark.parametrize("name", CONSTRUCTORS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_positive_exactly_where_the_class_claims(name, problem):
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.concatenate([X, X + 1e-3, np.random.default_rng(1).standard_normal((200, X.shape[1]))])
    slack = class_slack(network, points)
    assert slack.shape == (len(points), network.widths[-1])
    assert (slack != 0).all()
    np.testing.assert_array_equal(slack > 0, network(points) != 0)


@pytest.mark.parametrize("name", ["threshold-fixed-greedy-bisector-all", "relu-fixed-random-bisector-all"])
def test_threads_tiles_and_layout_do_not_matter(monkeypatch, name):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.random.default_rng(2).standard_normal((1500, X.shape[1])).round(1)
    expected = class_slack(network, points)
    np.testing.assert_array_equal(class_slack(network, points, n_jobs=2), expected)
    np.testing.assert_array_equal(class_slack(network, sp.csr_array(points)), expected)
    monkeypatch.setattr(module, "CHUNK_ROWS", 400)
    monkeypatch.setattr(module, "TILE_ROWS", 57)  # a last tile of one row
    np.testing.assert_array_equal(class_slack(network, points, n_jobs=2), expected)
    assert class_slack(network, points[:0]).shape == (0, 3)


@pytest.mark.parametrize("name", ["threshold-too-narrow", "relu-too-narrow"])
def test_an_output_without_detectors_has_the_lowest_slack(name):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    assert network.widths[1] == 0
    assert (class_slack(network, X) == LOWEST).all()
