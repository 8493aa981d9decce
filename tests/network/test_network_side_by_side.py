"""Networks side by side in one add up what fires in any of them."""

from __future__ import annotations

import numpy as np
import pytest

from exactfit.construct import Options, fixed_width
from exactfit.network.detector_network import side_by_side


def some_networks(count: int, detectors: str, seed: int = 0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    options = Options(detectors=detectors)
    return X, [fixed_width(X, y, 20 + 7 * k, options, random_state=seed + k).network for k in range(count)]


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_the_one_network_adds_up_what_fires_in_any(detectors) -> None:
    X, networks = some_networks(3, detectors)
    np.testing.assert_array_equal(side_by_side(networks)(X), sum(one(X) for one in networks))
