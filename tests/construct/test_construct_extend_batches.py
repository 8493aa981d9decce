"""Points that come in batches: every kind of them, in bounded memory; bad ones are refused by their number."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.problems import batches, disc_moons
from sklearn.datasets import load_iris

from exactfit import (
    DataError,
    Options,
    ParameterError,
    adaptive_width,
    extend,
    fixed_width,
)


def test_kinds_of_batches() -> None:
    X, y = load_iris(return_X_y=True)
    made = adaptive_width(X, y, Options(), 0)
    plain = extend(made, [(X, y)])
    for same in (X.astype(np.float32).astype(np.float64), sp.csc_array(X), pd.DataFrame(X), X.tolist()):
        other = extend(made, lambda same=same: iter([(same, y)]))  # type: ignore[misc]
        assert other.certificate.n_errors == 0
    assert plain.certificate.holds


def test_memory_is_that_of_a_batch() -> None:
    training = disc_moons(200, 0)
    made = fixed_width(*training, 64, Options(), 0)

    def stream(count: int) -> Any:
        return lambda: (disc_moons(2000, k) for k in range(count))

    def peak(count: int) -> int:
        tracemalloc.start()
        extend(made, stream(count), training=training, most_reported=10)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1)
    assert peak(60) < 2 * peak(3)


def test_bad_batches_are_refused() -> None:
    training = disc_moons(50, 0)
    made = fixed_width(*training, 50, Options(), 0)
    good = batches(count=1)[0]

    def once() -> Iterator[tuple[Any, Any]]:
        yield good

    with pytest.raises(ParameterError, match="twice"):
        extend(made, once())
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="other points the second time"):
        extend(made, lambda: [(rng.normal(size=(5, 2)), np.zeros(5, dtype=int))])
    for batch, message in [
        ((good[0][:, :1], good[1]), "a batch has 1 features, the network takes 2"),
        ((good[0], good[1][:-1]), "one label"),
        ((good[0], good[1] + 5), "does not know"),
        ((good[0] * np.nan, good[1]), "NaN"),
        ((good[0].astype(str), good[1]), "numbers"),
        ("not a pair", "pair"),
        (7, "pair"),
    ]:
        with pytest.raises(DataError, match=message):
            extend(made, [batch])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="most_reported"):
        extend(made, [good], most_reported=-1)
