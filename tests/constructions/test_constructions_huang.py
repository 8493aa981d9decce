"""Huang's construction: a step for each change of label, between the points that it names."""

from __future__ import annotations

import numpy as np
from random_problems import three_labels
from sklearn.datasets import load_digits

from exactfit.constructions import (
    Huang,
)


def test_lines_need_a_unit_for_each_change_of_label_only() -> None:
    X, y = three_labels(n=400, k=2)
    n_changes = len(Huang(tries=1).construct(X, y, random_state=0).trace.anchors)
    assert 100 < n_changes < 260  # about half of the points
    assert Huang(tries=50).construct(X, y, random_state=0).network.widths[1] < n_changes
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
