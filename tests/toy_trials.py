"""Stores of a few trials."""

from __future__ import annotations

from pathlib import Path

from exactfit.lab import load_dataset
from exactfit.lab.experiment import header_of
from exactfit.lab.store import Store
from exactfit.lab.trial import Cell, Scheme, Trial
from exactfit.lab.trials import Trials


def quiet(_: str) -> None:
    """Notes that a test does not look at."""


def header(kind: str = "shared", data: str = "parallel-lines") -> dict:
    return header_of("toy", load_dataset(data), Scheme(kind=kind, center=False))


def trial(run: int, n: int = 64, **more) -> Trial:
    return Trial(run, Cell(n, 0.5, 20), **({"per_class": (3,), "missed": run % 2, "seconds": 0.012345} | more))


def fill(path: Path, runs: range, **more) -> Path:
    with Store(path, quiet) as store:
        name = store.begin(header())
        for run in runs:
            store.add(name, trial(run, **more))
    return path


def keys(trials: Trials) -> list[tuple]:
    return sorted(trials.rows[["run", "n", "lambda", "N", "detectors", "missed"]].tolist())


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
