"""Products of sparse rows against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from exactfit._kernels import nonzeros


@pytest.mark.parametrize("block", [1, 7, 8, 9, 256])
@pytest.mark.parametrize("n", [1, 64, 130])
def test_products_of_what_is_not_zero(n, block):
    """Whole numbers, so that sums are exact in any order; rows with 0 to 40 of them."""
    rng = np.random.default_rng(n)
    X = np.array([rng.permutation(np.repeat([1, 0], [k, 50 - k])) for k in range(41)])
    X = (X * rng.integers(1, 9, X.shape)).astype(np.float32)
    weights = rng.integers(-8, 9, (n, 50)).astype(np.float32)
    starts, features = np.empty(len(X) + 1, dtype=np.int64), np.empty(np.count_nonzero(X), dtype=np.int64)
    values, total = np.empty(len(features), dtype=np.float32), np.zeros((len(X), n), dtype=np.float32)
    nonzeros.find_nonzeros(X, starts, features, values)
    assert starts.tolist() == [0, *np.cumsum(np.count_nonzero(X, axis=1))]
    assert features.tolist() == np.nonzero(X)[1].tolist()
    assert values.tolist() == X[np.nonzero(X)].tolist()
    nonzeros.multiply_nonzeros(starts, features, values, np.ascontiguousarray(weights.T), block, total)
    np.testing.assert_array_equal(total, X.astype(np.int64) @ weights.T.astype(np.int64))
