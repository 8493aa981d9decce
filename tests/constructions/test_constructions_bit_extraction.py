"""Keys of points, and tapes of registers: bumps, tables, codes and gates over whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers.problems import problems, random_problem
from hypothesis import given
from hypothesis import strategies as st

from exactfit.constructions.base import distinct_points
from exactfit.constructions.deep_narrow import (
    Sum,
    Tape,
    hat,
    integer_keys,
    pack,
    pass_if_on,
    plateau,
    step,
    take_bit,
)
from exactfit.network import Decoder

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
