"""Vardi: groups of keys, padded or not. Park: folds, segments and short codes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers import twins as naive_layers
from helpers.problems import nonzero, problems, random_problem, widest
from hypothesis import given
from hypothesis import strategies as st

from exactfit import ParameterError, certify
from exactfit.constructions import Park, Vardi
from exactfit.constructions.base import distinct_points
from exactfit.constructions.deep_narrow import (
    Sum,
    Tape,
    best_layout,
    compress_keys,
    fold,
    hat,
    integer_keys,
    label_bits,
    pack,
    pass_if_on,
    plateau,
    step,
    take_bit,
)
from exactfit.network import Decoder


def vardi_size(n_groups, group, key_bits, label_bits):
    """Hidden layers and neurons (the output included)."""
    depth = 1 + 2 * (n_groups - 1) + group * (2 * key_bits + 3)
    first_key = 13 * key_bits + 3 * label_bits + 13
    return depth, 1 + 9 * (n_groups - 1) + group * first_key + (group - 1) * (2 * key_bits + 3) + 1


def park_size(n_folds, n_segments, n_cells, cell, label_bits):
    """Hidden layers and neurons (the output included)."""
    depth = 2 + 2 * (n_folds + n_segments - 1 + n_cells - 1 + cell * label_bits)
    fixed = 1 + 5 * n_folds + 7 * (n_segments - 1) + 9 * (n_cells - 1) + 1
    reading = cell * (9 * label_bits + 2) + 1
    if cell > 1:
        reading += 2 * (cell - 1) + 2 * (label_bits - 1) + 2 * label_bits * (cell - 2) + 1
    return depth, fixed + reading


@pytest.mark.parametrize(
    ("n", "n_classes", "group"), [(2, 2, None), (20, 2, 1), (23, 3, 5), (30, 5, 30), (120, 9, None)]
)
def test_vardi_has_the_size_that_it_says(n, n_classes, group):
    X, y = random_problem(n, 4, n_classes)
    network = Vardi(group).construct(X, y, random_state=1).network
    found, c = integer_keys(distinct_points(X, y), np.random.SeedSequence(1), gap=2), label_bits(n_classes)
    sizes = [group] if group else range(1, n + 1)
    predicted = {k: vardi_size(-(-n // k), k, found.n_bits, c) for k in sizes}
    k = min(predicted, key=predicted.get)  # the shallowest is taken
    assert (len(network.layers) - 1, network.n_neurons) == predicted[k]
    assert max(network.widths) <= 10
    assert nonzero(network) <= 4 * network.n_neurons + X.shape[1]
    assert widest(network) <= max(k * found.n_bits, *(w.bit_length() for w in found.weights))


@pytest.mark.parametrize("group", [2, 3, 4, 7, 50])
def test_vardi_counts_a_padded_key_once(group):
    """The last group repeats its last key; were its label repeated, too, the output would be a multiple of it."""
    X, y = random_problem(9, 2, 4)
    found = integer_keys(distinct_points(X, y), np.random.SeedSequence(0), gap=2)
    y[found.order[-1]] = 3
    y[found.order[:4]] = range(4)
    network = Vardi(group).construct(X, y, random_state=0).network
    assert network(X)[:, 0].tolist() == y.tolist()


def test_vardi_hits_a_key_and_nothing_beside_it():
    """A point belongs to a key on [key, key + 1] and no longer from a distance of one on, whatever the label."""
    X, y = np.array([[0.0], [4.0], [11.0], [30.0]]), np.array([2, 1, 3, 0])
    found = integer_keys(distinct_points(X, y), np.random.SeedSequence(0), gap=2)
    (weight,), bias = found.weights, found.bias
    network = Vardi(2).construct(X, y, random_state=0).network
    label = dict(zip(found.keys, y[found.order].tolist(), strict=True))
    for z in range(found.keys[-1] + 4):
        x = Fraction(z - bias, weight)
        if Fraction(float(x)) == x:
            expected = label.get(z, label.get(z - 1, 0))
            assert network(np.array([[float(x)]]))[0, 0] == expected


both = pytest.mark.parametrize("constructor", [Vardi(), Park()], ids=["vardi", "park"])


@both
def test_outputs_are_labels_exactly_and_nothing_is_rounded_anywhere(constructor):
    X, y = random_problem(12, 3, 3)
    network = constructor.construct(X, y, random_state=0).network
    assert network(X)[:, 0].tolist() == y.tolist()
    strangers = np.random.default_rng(1).standard_normal((4, 3)) * [[1.0], [1e-3], [1e5], [1e300]]
    near = np.nextafter(X[:3], np.inf)
    for x in np.concatenate([strangers, near, X[:2]]):
        assert network(x[None, :])[0].tolist() == naive_layers.outputs(network, x.tolist())


@both
@pytest.mark.parametrize(
    "x",
    [
        1.0 + np.arange(9) * 2.0**-52,
        np.array([-1e300, -1.0, 0.0, 5e-324, 1e-300, 1.0, 1e300]),
        np.arange(8) * 2.0**600,
    ],
    ids=["neighbours", "all sizes", "far apart"],
)
def test_points_may_be_as_close_and_as_far_as_floats_can_be(constructor, x):
    y = np.arange(len(x)) % 3
    network = constructor.construct(x[:, None], y, random_state=0).network
    assert network(x[:, None])[:, 0].tolist() == y.tolist()


@both
@given(data=problems(), seed=st.integers(0, 3))
def test_whatever_the_points_they_are_fitted(constructor, data, seed):
    X, y = data
    network = constructor.construct(X, y, random_state=seed).network
    assert network(X)[:, 0].tolist() == list(y)


@both
def test_the_certificate_is_one_of_whole_numbers(constructor):
    X, y = random_problem(15, 2, 3)
    network = constructor.construct(X, y, random_state=0).network
    assert certify(network, X, y).holds
    y[4] = (y[4] + 1) % 3
    assert certify(network, X, y).errors.tolist() == [4]


def test_options_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match="group_size must be an integer >= 1, got 0"):
        Vardi(group_size=0)
    with pytest.raises(ParameterError, match="cell must be an integer >= 1, got -1"):
        Park(cell=-1)


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
    layout = compress_keys(np.array(keys, dtype=object), length)
    segment = [max(j for j, start in enumerate(layout.starts) if start <= key) for key in keys]
    assert layout.places.tolist() == [key + layout.shifts[j] for key, j in zip(keys, segment, strict=True)]
    assert len(set(layout.places.tolist())) == len(keys)
    assert layout.places.min() == 0
    assert all(start % length == 0 for start in layout.starts)


@pytest.mark.parametrize(
    ("n", "n_classes", "cell"), [(2, 2, None), (20, 2, 1), (23, 3, 2), (30, 5, 60), (150, 9, None)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_park_has_the_size_that_it_says(n, n_classes, cell, whole):
    X, y = random_problem(n, 4, n_classes, whole=whole)
    network = Park(cell).construct(X, y, random_state=1).network
    found, c = integer_keys(distinct_points(X, y), np.random.SeedSequence(1)), label_bits(n_classes)
    borders, folded = fold(found.keys)
    layout = best_layout(folded, c, cell)
    size = park_size(len(borders), len(layout.starts), len(layout.cells), layout.cell, c)
    assert (len(network.layers) - 1, network.n_neurons) == size
    assert cell in {None, layout.cell}
    assert max(network.widths) <= 10
    assert nonzero(network) <= 4 * network.n_neurons + X.shape[1]
    assert widest(network) <= max(found.n_bits, layout.cell * c, *(w.bit_length() for w in found.weights)) + 1


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


REAL = Decoder("nearest", (0, 1), (0.0, 1.0))
ROOT = np.random.SeedSequence(0)


def evaluate(tape, total, values):
    return tape.finish(total, REAL)(np.array(values, dtype=float)[:, None])[:, 0].tolist()


def test_bumps_are_what_they_say_between_whole_numbers_too():
    values = [0, 2, 3, 3.25, 4, 4.5, 5, 5.75, 6, 7, 100]

    def bump(make):
        tape = Tape([1], 0)
        return evaluate(tape, tape.advance({}, {"bump": make(tape.key)})["bump"], values)

    assert bump(lambda v: step(v, 4)) == [0, 0, 0, 0.25, 1, 1, 1, 1, 1, 1, 1]
    assert bump(lambda v: hat(v, 4)) == [0, 0, 0, 0.25, 1, 0.5, 0, 0, 0, 0, 0]
    assert bump(lambda v: plateau(v, Sum({}, 4))) == [0, 0, 0, 0.25, 1, 1, 1, 0.25, 0, 0, 0]


def test_a_table_is_looked_up():
    tape = Tape([1], 0)
    live = tape.look_up({"key": tape.key}, "key", [0, 3, 10], {"a": [7, 2**80, 0], "b": [0, 0, 5]})
    assert list(live) == ["key", "a", "b"]
    network = tape.finish(live["a"] + 2**100 * live["b"], REAL)
    expected = [7, 7, 2**80, 2**80, 5 * 2**100, 5 * 2**100]
    assert network(np.array([[0.0], [2.0], [3.0], [9.0], [10.0], [1e6]]))[:, 0].tolist() == expected


@given(numbers=st.lists(st.integers(0, 7), min_size=1, max_size=5))
def test_numbers_come_out_of_a_code_as_they_went_in(numbers):
    code = pack(numbers, 3)
    for i, number in enumerate(numbers):
        tape = Tape([0], code)
        live = {"code": tape.key}
        for place in reversed(range(3 * len(numbers))):
            live = tape.advance(live, {"bit": step(live["code"], 1 << place)})
            take_bit(live, "bit", "code", place, f"number {place // 3}")
        assert evaluate(tape, live[f"number {len(numbers) - 1 - i}"], [0.0]) == [number]
        assert code >> 3 * (len(numbers) - 1 - i) & 7 == number


@pytest.mark.parametrize(("number", "bit"), [(0, 0), (0, 1), (5, 0), (7, 0), (7, 1), (1, 1)])
def test_a_gate_lets_a_number_through_or_nothing(number, bit):
    tape = Tape([1], 0)
    live = {"number": Sum({}, number), "bit": tape.key}
    live = tape.carry({"passed": pass_if_on(live, "number", "bit", 3)})
    assert evaluate(tape, live["passed"], [bit]) == [number * bit]


@pytest.mark.parametrize("gap", [1, 2])
@given(data=problems(), seed=st.integers(0, 2))
def test_keys_are_exact_and_apart(gap, data, seed):
    points = distinct_points(*data)
    found = integer_keys(points, np.random.SeedSequence(seed), gap)
    values = [
        sum(w * Fraction(v) for w, v in zip(found.weights, x, strict=True)) + found.bias for x in points.X.tolist()
    ]
    assert [values[i] // 1 for i in found.order] == found.keys
    assert all(b - a >= gap for a, b in pairwise(found.keys))
    assert found.keys[0] == 0
    assert gap == 2 or all(value.denominator == 1 for value in values)


def test_keys_are_hardly_longer_than_a_random_direction_asks_for():
    """Gaps of N values on a line are about 1 / N^2 of their range: some 2 log2 N bits, and a few."""
    for whole in (False, True):
        points = distinct_points(*random_problem(1000, 10, 2, whole=whole))
        assert integer_keys(points, ROOT, gap=2).n_bits <= 2 * np.log2(1000) + 6
    assert integer_keys(points, ROOT).n_bits <= 2 * np.log2(1000) + 5
