"""Sums in one fixed order against loops."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from exactfit._kernels import values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 9, 40])
def test_affine_adds_features_in_order_and_then_the_bias(d, dtype):
    rng = np.random.default_rng(d)
    X, W, b = rng.standard_normal((21, d)), rng.standard_normal((13, d)).astype(dtype), rng.standard_normal(13)
    W[3] = 0.0
    W[4, : d // 2] = 0.0
    out = np.empty((13, 21))
    values.affine(np.ascontiguousarray(X.T), W, b, out)
    assert out.tolist() == [[naive.dot(W[i], x) + b[i] for x in X] for i in range(13)]
