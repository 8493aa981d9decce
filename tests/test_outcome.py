"""Outcomes are a closed list, and each says what to do."""

from __future__ import annotations

import pytest

from exactfit import Outcome


def test_the_list_is_closed():
    assert [outcome.value for outcome in Outcome] == [
        "interpolates",
        "points missed",
        "conflicts overruled",
        "points given up",
        "margin missed",
    ]


def test_two_of_them_interpolate():
    assert [outcome for outcome in Outcome if outcome.interpolates] == [Outcome.INTERPOLATES, Outcome.MARGIN_MISSED]


@pytest.mark.parametrize(
    ("outcome", "remedy"),
    [
        (Outcome.POINTS_MISSED, "raise width"),
        (Outcome.CONFLICTS_OVERRULED, "correct the labels"),
        (Outcome.POINTS_GIVEN_UP, "use noise=0"),
    ],
)
def test_a_failure_names_the_remedy(outcome, remedy):
    assert remedy in outcome.message


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_message_of_its_own(outcome):
    assert [other for other in Outcome if other.message == outcome.message] == [outcome]
