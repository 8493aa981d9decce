"""What is measured: data, width, lambda, and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.datasets import load_digits, make_moons

from exactfit.lab.datasets import load_dataset

Data = tuple[np.ndarray, np.ndarray]


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


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    load: Callable[[str | None], Data]
    width: int
    max_bias: float
    against: Literal["dense", "fixed", "random", "neighbours"] = "dense"
    needs_data: bool = False
    target: str = ""


CASES = [
    Case("two-moons 1,000, n=500", lambda _: moons(1_000), 500, 1.0),
    Case("digits, n=500", lambda _: digits(), 500, 0.5),
    Case("mnist 20,000, n=2000", lambda f: images("mnist", 20_000, f), 2000, 0.5, needs_data=True, target=">= 20 x"),
    Case("mnist 70,000, n=500", lambda f: images("mnist", 70_000, f), 500, 0.5, needs_data=True, target=">= 45 x"),
    Case("mnist 70,000, n=5000", lambda f: images("mnist", 70_000, f), 5000, 0.5, needs_data=True, target=">= 38 x"),
    Case("cifar-10 60,000, n=1500", lambda f: images("cifar10", 60_000, f), 1500, 0.5, needs_data=True),
    Case("two-moons 1,000,000, n=2000", lambda _: moons(1_000_000), 2000, 1.0, target=">= 10 x, < 1 GB"),
    Case("adaptive, mnist 70,000", lambda f: images("mnist", 70_000, f), 0, 0.5, "fixed", True, "<= 2 x fixed"),
    Case("adaptive, two-moons 1,000,000", lambda _: moons(1_000_000), 0, 1.0, "fixed", target="< 2 min, < 2 GB"),
    Case("greedy, mnist 70,000, n=2000", lambda f: images("mnist", 70_000, f), 2000, 0.5, "random", True, "<= 10 x"),
    Case("predict 10,000, mnist, n=5000", lambda f: images("mnist", 70_000, f), 5000, 0.5, "neighbours", True, "> 1 x"),
]
