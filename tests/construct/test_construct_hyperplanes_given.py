"""Given hyperplanes and order: the network that would have been drawn, and refusals of what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import problems, seeds, some_options
from hypothesis import given
from hypothesis import strategies as st

from exactfit.construct import Options, fixed_width
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.exceptions import ParameterError

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
XOR = np.array([0, 1, 1, 0])
PLANES = np.eye(2), [-0.5, -0.5]


def drawn_order(y, seed):
    """All rows, each class in the order that the seed gives it."""
    root, order = np.random.SeedSequence(seed), []
    for k in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == k)
        order += rows[stream(root, ORDER, k).permutation(len(rows))].tolist()
    return order


@given(problems(), some_options(), st.integers(1, 100), seeds, st.sampled_from(["mask", "weighted"]))
def test_what_was_drawn_given_back_makes_the_same_network(problem, recipe, width, seed, detectors):
    X, y = problem
    if detectors == "weighted":
        recipe = Options(detectors="weighted", conflicts=recipe.conflicts, target=recipe.target)
    drawn = fixed_width(X, y, width, recipe, seed)
    first = drawn.network.layers[0]
    planes = (first.weights.values, first.bias)
    again = fixed_width(X, y, options=recipe, hyperplanes=planes, order=drawn_order(y, seed))
    assert again.network.digest == drawn.network.digest
    assert again.trace.witnesses.tolist() == drawn.trace.witnesses.tolist()


def test_the_order_decides_who_becomes_an_anchor():
    X, y = np.arange(6.0)[:, None], np.array([1, 1, 1, 0, 0, 0])
    planes = np.ones((1, 1)), [-2.5]
    anchors = [
        fixed_width(X, y, hyperplanes=planes, order=order).trace.anchors.tolist()
        for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 1, 0, 2, 4, 5])
    ]
    assert anchors == [[0], [2], [1]]


def test_hyperplanes_that_float32_does_not_hold_stay_as_they_are():
    made = fixed_width(SQUARE, XOR, hyperplanes=(np.full((2, 2), 0.1), [0.3, -0.1]))
    assert made.network.layers[0].weights.values.tolist() == [[0.1, 0.1], [0.1, 0.1]]
    assert made.network.layers[0].bias.tolist() == [0.3, -0.1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hyperplanes": 3}, "pair"),
        ({"hyperplanes": (np.eye(2), ["a", "b"])}, "numbers"),
        ({"hyperplanes": (np.eye(2), [0.5])}, r"\(2, 2\) and \(1,\)"),
        ({"hyperplanes": (np.eye(3), [0.5, 0.5, 0.5])}, "3 weights each"),
        ({"hyperplanes": (np.empty((0, 2)), [])}, "shape"),
        ({"hyperplanes": (np.eye(2), [0.5, np.inf])}, "finite"),
        ({"hyperplanes": PLANES, "width": 3}, "contradicts"),
        ({"order": [0, 1, 2, 3]}, "width"),
        ({"hyperplanes": PLANES, "order": [0, 1, 2]}, "every row number from 0 to 3"),
        ({"hyperplanes": PLANES, "order": [0, 1, 2, 2]}, "every row number"),
        ({"hyperplanes": PLANES, "order": [0.0, 1.0, 2.0, 3.0]}, "row numbers"),
        ({"hyperplanes": PLANES, "options": Options(noise=0.25)}, "noise=0"),
        ({"hyperplanes": (np.eye(2), [0.1, 0.1]), "options": Options(exact_in="float32")}, "float32 holds"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(options, message):
    with pytest.raises(ParameterError, match=message):
        fixed_width(SQUARE, XOR, **options)
