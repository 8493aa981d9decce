"""Zhang's construction: a triangular system along a line."""

from __future__ import annotations

import numpy as np
import pytest
from random_problems import three_labels

from exactfit.constructions import (
    Zhang,
)


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
