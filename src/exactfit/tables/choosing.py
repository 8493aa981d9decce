"""Which columns of a file to read, by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

from ..exceptions import ParameterError
from .table import Choice

LABELS = "y"  # the array of labels in an NPZ file
SHOWN_NAMES = 20  # columns that a message lists


def all_but(
    names: Sequence[str], header: bool, label: str | None, drop: Collection[str], categorical: Collection[str]
) -> Choice:
    """All columns but the labels and those to drop."""
    if label is not None and not isinstance(label, str):
        raise ParameterError(f"label must be the name of a column, got {type(label).__name__}")
    if label is None and not header and LABELS in names:  # the labels of an NPZ file
        label = LABELS
    for name in (*drop, *categorical, *([] if label is None else [label])):
        if name not in names:
            raise ParameterError(no_column(name, names))
    if label in drop:
        raise ParameterError(f"column {label!r} holds the labels: it cannot be dropped")
    kept = {k: name for k, name in enumerate(names) if name != label and name not in drop}
    kinds: dict[int, Any] = {k: "categorical" if name in categorical else None for k, name in kept.items()}
    return Choice(kinds, None if label is None else list(names).index(label))


def no_column(name: str, names: Sequence[str]) -> str:
    """That there is no such column, and what the user may have meant."""
    near = difflib.get_close_matches(name, names, n=1)
    shown = ", ".join(names[:SHOWN_NAMES]) + (
        f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    )
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    hint = "; is the separator another one (--separator)?" if len(names) == 1 else ""
    return f"there is no column {name!r}: the columns are {shown}{hint}"
