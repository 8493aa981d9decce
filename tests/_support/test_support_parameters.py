"""Checks of options: what they let through, and messages that say what would be right."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from exactfit._support import parameters
from exactfit.exceptions import ParameterError

STATES = [None, 0, np.random.default_rng(0), np.random.SeedSequence(1)]


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (
            partial(parameters.check_choice, "a", allowed=("x", "y")),
            ["x", "y"],
            ["z", None, 1],
            "a must be one of 'x', 'y'",
        ),
        (
            partial(parameters.check_integer, "a", at_least=2),
            [2, np.int8(3)],
            [1, True, 2.0],
            "a must be an integer >= 2",
        ),
        (partial(parameters.check_flag, "a"), [True, np.False_], [0, 1, None, "yes"], "a must be True or False"),
        (
            partial(parameters.check_number, "a", above=0, at_most=1),
            [1, 0.5, "0.25"],
            [0, 1.5, np.nan, True, "x", None],
            "a must be a finite number > 0 and <= 1",
        ),
        (parameters.check_n_jobs, [None, 1, -1], [0, 1.5, True], "n_jobs must be None or an integer other than 0"),
        (
            parameters.check_random_state,
            STATES,
            [-1, 0.5, "0", True],
            "random_state must be None, an integer >= 0, a RandomState or a Generator",
        ),
    ],
)
def test_values_pass_or_are_refused_with_what_would_be_right(check, good, bad, message) -> None:
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(ParameterError) as caught:
            check(value)
        assert str(caught.value) == f"{message}, got {value!r}"


def test_values_are_shown_by_their_size_where_they_are_large() -> None:
    for value, text in [
        (None, "None"), (np.array(5), "array(5)"), (0.25, "0.25"), ((1, 2), "(1, 2)"),
        (np.zeros((2, 3)), "ndarray of shape (2, 3)"), (np.zeros(0), "ndarray of shape (0,)"),
        (["0123456789"] * 9, "list of length 9"), ("x" * 200, "str of length 200"), (10**90, "int"),
    ]:  # fmt: skip
        assert parameters.shown(value) == text


def test_seeds_are_those_of_numbers_and_one_draw_from_generators() -> None:
    assert parameters.seed_sequence(7).entropy == 7
    root = np.random.SeedSequence(3)
    assert parameters.seed_sequence(root) is root
    drawn, expected = np.random.default_rng(5), np.random.default_rng(5)
    assert parameters.seed_sequence(drawn).entropy == expected.integers(2**63)
    assert drawn.random() == expected.random(), "one draw, and no more"
    legacy, twin = np.random.RandomState(5), np.random.RandomState(5)
    assert parameters.seed_sequence(legacy).entropy == twin.randint(2**31 - 1)
