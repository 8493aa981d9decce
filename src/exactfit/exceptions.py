"""Everything exactfit raises or warns of.

::

    ExactfitError
    ├── DataError (ValueError)                  the data cannot be used as given
    │   └── ContradictoryLabelsError            equal points with different labels
    ├── ParameterError (ValueError)             an option has a value it cannot have
    ├── TooLargeError (MemoryError)             the request would not fit in memory
    ├── ConstructionError (RuntimeError)        no interpolating network came out
    │   ├── WidthLimitError                     ``max_width`` hyperplanes were not enough
    │   ├── NoGapError                          rounding leaves no room for a limit
    │   └── AssumptionError                     a published recipe needs more of the points than they have
    ├── ClusterError (RuntimeError)             a cluster has lost its workers, or what they held
    ├── ModelFileError (ValueError)             a saved model is damaged, foreign or too new
    └── MissingDependencyError (ImportError)    an optional package is not installed

    ExactfitWarning (UserWarning)
    ├── InterpolationWarning                    a fixed width missed some points
    ├── ConflictWarning                         labels were changed to resolve conflicts
    └── UnseenCategoryWarning                   a table holds categories that the model was not fitted to

Every error is also an ordinary Python exception, so code that already guards
scikit-learn estimators with ``except ValueError`` keeps working.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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
    exact_in : str or None
        The format in which they are equal, if it is a matter of rounding.
    may_vote : bool
        Whether there is an option by which the majority decides.
    """

    SHOWN = 10

    def __init__(self, pairs: Sequence[tuple[int, int]], exact_in: str | None = None, may_vote: bool = True) -> None:
        self.pairs, self.exact_in = tuple((int(a), int(b)) for a, b in pairs), exact_in
        self.may_vote = may_vote
        shown = ", ".join(f"({a}, {b})" for a, b in self.pairs[: self.SHOWN])
        more, count = len(self.pairs) - self.SHOWN, len(self.pairs)
        super().__init__(
            f"{count} conflict{'s' if count != 1 else ''}: equal points {f'(in {exact_in}) ' if exact_in else ''}"
            f"with different labels, in rows {shown}{f' and {more} more' if more > 0 else ''}. No function can "
            "fit both. Correct the labels, add a feature that tells the points apart, "
            + ('or pass conflicts="majority".' if may_vote else "or leave one of them out.")
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.pairs, self.exact_in, self.may_vote)


class ParameterError(ExactfitError, ValueError):
    """An option has a value it cannot have."""


class TooLargeError(ExactfitError, MemoryError):
    """The request would not fit in the memory that this process may use; raised before that is allocated."""

    def __new__(cls, *args: object) -> TooLargeError:
        """As for any exception: MemoryError's own, which Dask would call by name, refuses a class of two bases."""
        return Exception.__new__(cls, *args)


class ConstructionError(ExactfitError, RuntimeError):
    """No interpolating network came out."""


class WidthLimitError(ConstructionError):
    """The adaptive loop reached ``max_width`` with points still unseparated."""


class NoGapError(ConstructionError):
    """Rounding errors of a real-valued activation leave no room for a limit."""


class AssumptionError(ConstructionError):
    """A published recipe needs more of the points than they have.

    Attributes
    ----------
    assumption : str
        What was assumed and does not hold.
    rows : tuple of int
        Rows of the data that break it.
    """

    SHOWN = 10

    def __init__(self, assumption: str, rows: Iterable[int], remedy: str) -> None:
        self.assumption, self.rows, self.remedy = assumption, tuple(int(row) for row in rows), remedy
        shown = ", ".join(str(row) for row in self.rows[: self.SHOWN])
        more = len(self.rows) - self.SHOWN
        others = f" and {more} more" if more > 0 else ""
        super().__init__(f"{assumption} does not hold for rows {shown}{others}. {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.assumption, self.rows, self.remedy)


class ClusterError(ExactfitError, RuntimeError):
    """A cluster has lost its workers, or what only they held."""


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


class UnseenCategoryWarning(ExactfitWarning):
    """A table holds categories that its model does not know; they are encoded as all zeros."""
