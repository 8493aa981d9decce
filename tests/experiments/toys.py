"""Small experiments that tests share: files, data, sweeps and rows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_moons

from exactfit.lab import Dataset, load_dataset
from experiments.experiment import Experiment
from experiments.store import Store
from experiments.sweep import Report, SweepOptions, add_trials, header_of
from experiments.trials import Trials
from experiments.widths import WidthGrid

GRID_TOML = """
[grid]
width = { first = 10, last = 40, step = 10 }
max_bias = [0, 0.5, 1]
"""
ONE_FIGURE = """
[[figure]]
kind = "data"
"""
HELD_OUT = """title = "Points"
runs = 2
held_out = 0.25
[data]
file = "points.csv"
label = "kind"
scale = "none"
[grid]
"""
OPTIONS_GRID = """construction = ["default", "1-nn"]
detectors = ["mask", "weighted"]
"""
KEY = ["run", "n", "lambda", "N", "detectors", "missed"]


def write_toml(name: str | Path, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return str(name)


def moons_toml(name: str = "mine", runs: int = 4) -> str:
    source = 'loader = "make_moons"\narguments = { n_samples = 50, random_state = 0 }'
    return write_toml(f"{name}.toml", f"runs = {runs}\n[data]\n{source}\n{GRID_TOML}{ONE_FIGURE}")


def dataset(X: np.ndarray, y: np.ndarray, target: int | None = None, name: str = "toy") -> Dataset:
    X, y = np.ascontiguousarray(X / np.sqrt((X**2).sum(axis=1)).max()), y.astype(np.int64)
    classes = tuple(map(str, range(int(y.max()) + 1)))
    return Dataset.of(X, y, name=name, classes=classes, target=target, source="test")


X_DIGITS, Y_DIGITS = load_digits(return_X_y=True)
MOONS = dataset(*make_moons(60, noise=0.05, random_state=0), target=1, name="moons")
DIGITS = dataset(X_DIGITS[:80], Y_DIGITS[:80], name="digits")
GRID = {"width": (10, 40, 70), "max_bias": (Decimal(0), Decimal("0.5"), Decimal(1)), "points": (40, 60)}
TOY = Experiment("toy", "Toy", 3, ({}, {}), WidthGrid((GRID,), center=False))


def toy(runs: int = 3, center: bool = False, **axes: Any) -> Experiment:
    return replace(TOY, runs=runs, grid=WidthGrid(({**GRID, **axes},), center))


def quiet(_: str) -> None:
    """Notes that a test does not look at."""


def sweep_toy(
    path: Path, experiment: Experiment = TOY, data: tuple[Dataset, ...] = (MOONS, DIGITS), **options: Any
) -> Report:
    with Store(path, quiet) as store:
        return add_trials(experiment, data, store, SweepOptions(**options))


def trial_rows(trials: Trials) -> list[tuple]:
    """Everything but the seconds, sorted."""
    digests = trials.rows["header"].map({name: header["digest"] for name, header in trials.headers.items()})
    return sorted(zip(digests, *(trials.rows[name] for name in [*KEY, "per_class"]), strict=True))


def header(data: str = "parallel-lines", **facts: Any) -> dict[str, Any]:
    return header_of(TOY, load_dataset(data)) | facts


def trial(run: int, n: int = 64, per_class: tuple[int, ...] = (3,)) -> dict[str, Any]:
    cell = {"run": run, "n": n, "lambda": 0.5, "N": 20}
    return cell | {"detectors": sum(per_class), "per_class": per_class, "missed": run % 2, "seconds": 0.012345}


def fill(path: Path, runs: range, **more: Any) -> Path:
    with Store(path, quiet) as store:
        store.add(store.begin(header()), [trial(run, **more) for run in runs])
    return path


def keys(trials: Trials) -> list[list]:
    return sorted(trials.rows[KEY].to_numpy().tolist())


WIDTHS, BIASES = (10, 20, 40), (0.0, 0.5, 1.0, 1.5)


def records(runs: int = 6, points: tuple[int, ...] = (100,)) -> list[dict[str, float]]:
    """Cells at n = 10 never interpolate, those at n = 40 always, those between now and then."""
    return [
        {
            "n": n, "lambda": lam, "N": N, "detectors": 100 - n + 10 * lam + run % 3, "seconds": 0.1,
            "missed": {10: 1, 20: run % 2, 40: 0}[n],
        }
        for n in WIDTHS for lam in BIASES for N in points for run in range(runs)
    ]  # fmt: skip
