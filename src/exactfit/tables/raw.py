"""What every kind of file is read into: chosen columns, before rows with empty cells are dealt with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .table import Column, Kind, Rows


@dataclass(frozen=True)
class Choice:
    """Which columns to read: from position to kind (None: as the cells say), and the position of the labels."""

    kinds: dict[int, Kind | None]
    target: int | None = None


Choose = Callable[[Sequence[str], bool], Choice]
"""From the names of all columns, and whether they are from a header, to the ones to read."""


@dataclass(frozen=True, eq=False)
class Raw:
    """Columns as read. ``unlabelled`` says which labels are empty cells."""

    names: tuple[str, ...]
    header: bool
    columns: tuple[Column, ...]
    n_rows: int
    lines: Rows | None = None
    target: str | None = None
    labels: NDArray[Any] | None = None
    unlabelled: NDArray[Any] | None = None
