"""Tapes of registers: bumps, tables, codes and gates over whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit.constructions.bit_extraction import Sum, Tape, gate, hat, pack, plateau, step, take_bit
from exactfit.network import Decoder

REAL = Decoder("nearest", (0, 1), (0.0, 1.0))


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
    live = tape.carry({"passed": gate(live, "number", "bit", 3)})
    assert evaluate(tape, live["passed"], [bit]) == [number * bit]
