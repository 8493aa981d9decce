"""A record shows what it is about in a line or two, however large its arrays are."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from exactfit import InterpolatingClassifier, adaptive_width, certify, extend
from exactfit.network import BitMatrix, Dense, Integers, Layer, Masks, Sparse, object_array
from exactfit.network.activations import THRESHOLD
from exactfit.network.detectors import Detectors


def records():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.integers(3, size=300)
    model = InterpolatingClassifier(min_width=500, random_state=0).fit(X, y)
    made = adaptive_width(X, y)
    explained = model.explain(X)
    bits = BitMatrix.from_bool(X > 0)
    yield from (explained, explained[0], explained[0].other, explained.standings)
    yield from (certify(model, X, np.roll(y, 1)), model.certificate_, model.network_, model.trace_, model.outcome_)
    yield from (made, extend(made, [(X, y)]), Detectors.of(made.network), bits)
    yield from (Dense(X), Sparse(sp.csr_array(X)), Masks(bits, -1), Integers(object_array(range(4), (2, 2))))
    yield Layer(Dense(X), np.zeros(300), THRESHOLD)
    yield from made.network.layers
    yield made.network.decoder


def test_it_fits_in_a_few_lines():
    for record in records():
        text = repr(record)
        assert type(record).__name__ in text or "certificate" in text
        assert len(text) < 300
        assert "array" not in text
