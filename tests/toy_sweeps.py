"""A small sweep over small data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_moons

from exactfit.data import data_digest
from exactfit.lab import Dataset
from exactfit.lab.experiment import Experiment, Scheme
from exactfit.lab.store import Store
from exactfit.lab.sweep import Backend, Shard, Sweep, SweepReport
from exactfit.lab.trials import Trials


def dataset(name: str, X: np.ndarray, y: np.ndarray, target: int | None = None) -> Dataset:
    X, y = np.ascontiguousarray(X / np.sqrt((X**2).sum(axis=1)).max()), y.astype(np.int64)
    return Dataset(
        X=X, y=y, name=name, classes=tuple(map(str, range(int(y.max()) + 1))), target=target,
        digest=data_digest(X, y), published=None, source="test",
    )  # fmt: skip


MOONS = dataset("moons", *make_moons(60, noise=0.05, random_state=0), target=1)


X_DIGITS, Y_DIGITS = load_digits(return_X_y=True)


DIGITS = dataset("digits", X_DIGITS[:80], Y_DIGITS[:80])


GRID = {"width": (10, 40, 70), "max_bias": (0.0, 0.5, 1.0), "points": (40, 60)}


TOY = Experiment("toy", "Toy", 3, ({}, {}), (GRID,), Scheme(center=False))


def quiet(*_: object) -> None:
    """Whoever does not listen."""


def sweep(
    path: Path, experiment: Experiment = TOY, backend: Backend | None = None, shard: Shard | None = None,
    data: tuple[Dataset, ...] = (MOONS, DIGITS),
) -> SweepReport:  # fmt: skip
    with Store(path, quiet) as store:
        return Sweep(experiment, data, store, shard or Shard()).run(backend or Backend(), quiet)


def rows_of(trials: Trials) -> list[tuple]:
    """Everything but the seconds, sorted."""
    digests = np.array([header["digest"] + header["scheme"] for header in trials.headers])[trials.rows["header"]]
    plain = trials.rows[["run", "n", "lambda", "N", "detectors", "missed"]].tolist()
    return sorted(zip(digests.tolist(), plain, trials.rows["per_class"].tolist(), strict=True))
