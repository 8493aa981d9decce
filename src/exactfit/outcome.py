"""Outcomes of a construction."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """Closed list of endings; the value is a short name, ``message`` the advice.

    Examples
    --------
    >>> from exactfit import Outcome
    >>> Outcome.INTERPOLATES.interpolates
    True
    >>> print(Outcome.POINTS_MISSED.message)
    some training points are claimed by no detector of their class:
    raise width, or use width="adaptive", which always interpolates
    """

    INTERPOLATES = "interpolates"
    POINTS_MISSED = "points missed"
    CONFLICTS_OVERRULED = "conflicts overruled"
    POINTS_GIVEN_UP = "points given up"
    MARGIN_MISSED = "margin missed"

    @property
    def interpolates(self) -> bool:
        """Whether every training point is classified correctly."""
        return self in (Outcome.INTERPOLATES, Outcome.MARGIN_MISSED)

    @property
    def message(self) -> str:
        """The outcome in words, with a remedy."""
        if self is Outcome.POINTS_MISSED:
            return (
                "some training points are claimed by no detector of their class: "
                'raise width, or use width="adaptive", which always interpolates'
            )
        return (
            "every training point is classified correctly"
            + {
                Outcome.INTERPOLATES: "",
                Outcome.CONFLICTS_OVERRULED: " but those that equal a point of another label: "
                "correct the labels or add a feature that tells them apart",
                Outcome.POINTS_GIVEN_UP: " but those given up as noise, which the certificate lists: "
                "use noise=0 to fit them too",
                Outcome.MARGIN_MISSED: ", but some without the margin, which the certificate lists: "
                'raise width, lower the margin, or use width="adaptive", which reaches it',
            }[self]
        )
