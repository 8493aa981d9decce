"""The theorems' numbers, and predictions from a few networks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers.problems import unit_moons
from sklearn.datasets import load_iris

from exactfit import ContradictoryLabelsError, ParameterError
from exactfit.geometry import bounds, make_alternating_line, mutual_covering, separation


def test_bounds_are_their_formulas() -> None:
    X, y = unit_moons()
    covering = mutual_covering(X, y, 1.5)
    found = bounds(X, y, eta=0.01, covering=covering, constants=(2.0, 3.0, 5.0))
    delta = separation(X, y).value
    assert found.termination_width == math.ceil(2 * 1.5 / delta * math.log(150 * 150 / 0.01))
    log = math.log(2 * covering.n_target * covering.n_rest / 0.01)
    n = math.ceil(3 * 1.5 / covering.separation * log + 5 * 1.5 * covering.omega)
    m = covering.n_target
    assert (found.width, found.detectors) == (n, m)
    assert found.neurons == n + m + 1
    assert found.parameters == n * 3 + m * (n + 1) + m + 1
    assert found.width_interval[0] <= found.width <= found.width_interval[1]
    assert json.loads(json.dumps(found.to_dict()))["constants"] == [2.0, 3.0, 5.0]


def test_several_classes_share_eta() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[np.r_[:100, 110:140]], y[np.r_[:100, 110:140]]
    covering = mutual_covering(X, y, n_draws=100)
    found = bounds(X, y, eta=0.3, covering=covering)
    widths = [
        covering.max_bias / pair.separation * math.log(2 * pair.target.count * pair.rest.count / 0.1)
        + covering.max_bias * pair.complexity()
        for pair in covering.pairs
    ]
    assert found.width == math.ceil(max(widths))
    assert found.neurons == found.width + found.detectors + 3


def test_bounds_make_a_covering_when_none_is_given() -> None:
    X, y = make_alternating_line(4)
    found = bounds(X, y, target=1, max_bias=2.0)
    assert (found.detectors, found.max_bias) == (4, 2.0)
    assert "unknown constants" in str(found)


def test_bad_input_of_bounds_is_refused() -> None:
    X, y = unit_moons()
    for options in (
        {"eta": 0.0},
        {"eta": 1.0},
        {"eta": "small"},
        {"covering": 3},
        {"max_bias": 0.1},
        {"constants": 1},
        {"constants": (1, 0, 1)},
    ):
        with pytest.raises(ParameterError):
            bounds(X, y, **options)
    with pytest.raises(ContradictoryLabelsError):
        bounds([[0.0], [0.0]], [0, 1])
