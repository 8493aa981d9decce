"""Park's construction: folds, segments and short codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_problems import nonzero, random_problem, widest

from exactfit.constructions import Park
from exactfit.constructions.base import distinct_points, whole_keys
from exactfit.constructions.bit_extraction import label_bits
from exactfit.constructions.park import best_plan, compress_keys, fold, park_size


@given(keys=st.sets(st.integers(0, 2**70), min_size=2, max_size=12))
def test_folds_keep_keys_apart_and_halve_the_line(keys):
    keys = sorted(keys)
    borders, folded = fold(keys)
    moved, length = list(keys), keys[-1] + 1
    for border in borders:
        assert 2 * border >= length
        moved = [key - border if key >= border else key for key in moved]
        assert len(set(moved)) == len(moved)
        length = max(moved) + 1
    assert folded.tolist() == moved


@given(keys=st.sets(st.integers(0, 400), min_size=1, max_size=40), length=st.integers(1, 100))
def test_segments_are_pushed_together_without_meeting(keys, length):
    keys = sorted(keys)
    plan = compress_keys(np.array(keys, dtype=object), length)
    segment = [max(j for j, start in enumerate(plan.starts) if start <= key) for key in keys]
    assert plan.places.tolist() == [key + plan.shifts[j] for key, j in zip(keys, segment, strict=True)]
    assert len(set(plan.places.tolist())) == len(keys)
    assert plan.places.min() == 0
    assert all(start % length == 0 for start in plan.starts)


@pytest.mark.parametrize(
    ("n", "n_classes", "cell"), [(2, 2, None), (20, 2, 1), (23, 3, 2), (30, 5, 60), (150, 9, None)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_park_has_the_size_that_it_says(n, n_classes, cell, whole):
    X, y = random_problem(n, 4, n_classes, whole=whole)
    network = Park(cell).construct(X, y, random_state=1).network
    found, c = whole_keys(distinct_points(X, y), 1), label_bits(n_classes)
    borders, folded = fold(found.keys)
    plan = best_plan(folded, c, cell)
    size = park_size(len(borders), len(plan.starts), len(plan.cells), plan.cell, c)
    assert (len(network.layers) - 1, network.n_neurons) == size
    assert cell in {None, plan.cell}
    assert max(network.widths) <= 10
    assert nonzero(network) <= 4 * network.n_neurons + X.shape[1]
    assert widest(network) <= max(found.n_bits, plan.cell * c, *(w.bit_length() for w in found.weights)) + 1


def test_park_with_short_codes_is_exact_in_float64():
    """Every bit is a unit of its own before a large number is multiplied with it, so nothing large cancels."""
    X, y = random_problem(400, 6, 2, whole=True)
    network = Park(cell=50).construct(X, y, random_state=0).network
    values = X
    for layer in network.layers:
        values = values @ layer.weights.values.astype(np.float64).T + layer.bias.astype(np.float64)
        if layer.activation is not None:
            values = np.maximum(values, 0.0)
    assert values[:, 0].tolist() == y.tolist()
