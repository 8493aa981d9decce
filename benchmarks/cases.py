"""What a case is, and the data that several of them share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits, make_moons

from exactfit.lab import load_dataset

Data = tuple[np.ndarray, np.ndarray]
Row = dict[str, Any]

THREADS = 2  # cores that every side may use: those of a small machine


@dataclass(frozen=True)
class Settings:
    """What the command line says to every case."""

    data: str | None = os.environ.get("EXACTFIT_DATA") or None
    output: Path | None = None
    constructions: tuple[str, ...] = ()
    size: int | None = None


def nothing(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """Where a case prints for itself."""


@dataclass(frozen=True)
class Case:
    """Measures something: rows of numbers, which its group shows together.

    ``run`` may be called in a process of its own; cases of the same ``show`` are shown in one table.
    """

    name: str
    run: Callable[[Settings], list[Row]]
    show: Callable[[Console, Sequence[Row], Settings], None]
    needs_data: bool = False


def table_of(rows: Sequence[Row]) -> Table:
    """Rows with the same keys, as they are."""
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


def _unit(X: np.ndarray) -> np.ndarray:
    X /= np.sqrt(np.einsum("ij,ij->i", X, X).max())
    return X


def moons(n: int) -> Data:
    """Two Moons, largest norm 1."""
    X, y = make_moons(n, noise=0.05, random_state=0)
    return _unit(X), y.astype(np.int64)


def digits() -> Data:
    """scikit-learn's digits, largest norm 1."""
    X, y = load_digits(return_X_y=True)
    return _unit(X), y.astype(np.int64)


def images(name: str, rows: int, folder: str | None) -> Data:
    """The first rows of MNIST or CIFAR-10, largest norm 1."""
    data = load_dataset(name, folder)
    return _unit(data.X[:rows]), data.y[:rows]
