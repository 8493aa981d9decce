"""Errors about points, told in terms of the file that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..exceptions import ContradictoryLabelsError, DataError, ExactfitError
from .table import Table

SHOWN_PAIRS = 5


@contextmanager
def speaking_of(table: Table) -> Iterator[None]:
    """Name rows of the file, and make scikit-learn's complaints about data our own.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.exceptions import ContradictoryLabelsError
    >>> from exactfit.tables import Column, Table
    >>> from exactfit.tables.errors import speaking_of
    >>> table = Table("a.csv", (), rows=np.array([0, 7]))
    >>> try:
    ...     with speaking_of(table):
    ...         raise ContradictoryLabelsError([(0, 1)])
    ... except ContradictoryLabelsError as error:
    ...     error.pairs
    ((0, 7),)
    """
    try:
        yield
    except ContradictoryLabelsError as error:
        raise _contradiction(error, table) from error
    except ExactfitError:
        raise
    except ValueError as error:
        raise DataError(f"{table.name}: {error}") from error


def _contradiction(error: ContradictoryLabelsError, table: Table) -> ContradictoryLabelsError:
    named = ContradictoryLabelsError([(int(table.rows[a]), int(table.rows[b])) for a, b in error.pairs], error.exact_in)
    shown = "; ".join(table.places(pair) for pair in error.pairs[:SHOWN_PAIRS])
    more = len(error.pairs) - SHOWN_PAIRS
    named.args = (
        f"{table.name}: rows that are equal after encoding{f' in {error.exact_in}' if error.exact_in else ''} have "
        f"different labels: {shown}{f'; and {more} more' if more > 0 else ''}. No function can fit both. Correct the "
        "labels, add a column that tells the rows apart, or let the majority decide with --conflicts majority "
        "(conflicts='majority' in Python)",
    )
    return named
