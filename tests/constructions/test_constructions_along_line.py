"""Changes of label along a line: steps between the points that they name, and a triangular system."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import three_labels
from sklearn.datasets import load_digits

from exactfit.constructions import (
    Huang,
    Zhang,
)


def test_lines_need_a_unit_for_each_change_of_label_only() -> None:
    X, y = three_labels(n=400, k=2)
    made = Huang().construct(X, y, random_state=0)
    assert 100 < len(made.trace.anchors) == made.network.widths[1] < 220  # about half of the points
    X, y = load_digits(return_X_y=True)
    assert Huang().construct(X, (y == 0).astype(int), random_state=0).network.widths[1] < 30


def test_a_step_stands_between_the_points_that_it_names() -> None:
    X, y = three_labels()
    made = Huang().construct(X, y, random_state=0)
    line, steps, _ = made.network.layers
    values, trace = line.sums(X)[:, 0], made.trace
    assert (values[trace.witnesses] <= -steps.bias).all()
    assert (values[trace.anchors] > -steps.bias).all()
    assert (y[trace.witnesses] != y[trace.anchors]).all()
    np.testing.assert_array_equal(trace.detector_classes, y[trace.anchors])
    assert trace.coverage.sum() == (values > -steps.bias[0]).sum()


@pytest.mark.parametrize(("ramps", "error"), [(True, 1e-9), (False, 1e-6)])
def test_zhangs_outputs_are_the_labels(ramps, error) -> None:
    X, y = three_labels(n=1000, d=10, k=5)
    outputs = Zhang(ramps=ramps).construct(X, y, random_state=0).network(X)[:, 0]
    assert np.abs(outputs - y).max() < error


def test_slopes_are_the_solution_of_the_triangular_system() -> None:
    X, y = three_labels(n=30)
    made = Zhang(ramps=False).construct(X, y, random_state=0)
    line, relus, output = made.network.layers
    order = made.trace.anchors
    system = np.maximum(line.sums(X)[order] + relus.bias, 0.0)
    assert (np.triu(system, 1) == 0).all()
    assert (np.diag(system) > 0).all()
    np.testing.assert_allclose(output.weights.values[0], np.linalg.solve(system, y[order]), rtol=1e-6, atol=1e-9)
