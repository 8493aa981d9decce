"""Everything exactfit raises or warns of.

::

    ExactfitError
    ├── DataError (ValueError)                  the data cannot be used as given
    │   └── ContradictoryLabelsError            equal points with different labels
    ├── ParameterError (ValueError)             an option has a value it cannot have
    ├── TooLargeError (MemoryError)             the request would not fit in memory
    ├── ConstructionError (RuntimeError)        no interpolating network came out
    │   ├── WidthLimitError                     ``max_width`` hyperplanes were not enough
    │   └── NoGapError                          rounding leaves no room for a limit
    ├── ModelFileError (ValueError)             a saved model is damaged, foreign or too new
    └── MissingDependencyError (ImportError)    an optional package is not installed

    ExactfitWarning (UserWarning)
    ├── InterpolationWarning                    a fixed width missed some points
    └── ConflictWarning                         labels were changed to resolve conflicts

Every error is also an ordinary Python exception, so code that already guards
scikit-learn estimators with ``except ValueError`` keeps working.
"""

from __future__ import annotations

from collections.abc import Sequence


class ExactfitError(Exception):
    """Base of every error that exactfit raises on its own account."""


class DataError(ExactfitError, ValueError):
    """The data cannot be used as given."""


class ContradictoryLabelsError(DataError):
    """Equal points carry different labels, so no function can fit them.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Row pairs in conflict: for each group of equal points, its first row
        paired with the first row of every other label in the group.
    """

    SHOWN = 10

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.pairs = tuple((int(a), int(b)) for a, b in pairs)
        shown = ", ".join(f"({a}, {b})" for a, b in self.pairs[: self.SHOWN])
        more = len(self.pairs) - self.SHOWN
        super().__init__(
            f"{len(self.pairs)} conflicts: equal points with different labels, in rows {shown}"
            f"{f' and {more} more' if more > 0 else ''}. No function can fit both. "
            "Correct the labels, add a feature that tells the points apart, "
            'or pass conflicts="majority".'
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.pairs,)


class ParameterError(ExactfitError, ValueError):
    """An option has a value it cannot have."""


class TooLargeError(ExactfitError, MemoryError):
    """The request would not fit in memory; raised before anything is allocated."""


class ConstructionError(ExactfitError, RuntimeError):
    """No interpolating network came out."""


class WidthLimitError(ConstructionError):
    """The adaptive loop reached ``max_width`` with points still unseparated."""


class NoGapError(ConstructionError):
    """Rounding errors of a real-valued activation leave no room for a limit."""


class ModelFileError(ExactfitError, ValueError):
    """A saved model is damaged, foreign, or written by a newer version."""


class MissingDependencyError(ExactfitError, ImportError):
    """An optional package is not installed."""


class ExactfitWarning(UserWarning):
    """Base of every warning that exactfit gives."""


class InterpolationWarning(ExactfitWarning):
    """The network does not classify every training point correctly."""


class ConflictWarning(ExactfitWarning):
    """Labels of equal points were changed to the majority label."""
