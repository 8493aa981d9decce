"""Published cells, at small scale and with fixed seeds: ours agree with them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from exactfit.experiments import load_dataset
from exactfit.experiments.trial import Cell, Draw, FirstLayers, Problem, Scheme, Trial, run_cell

PUBLISHED_RUNS = 50
# Two Moons: n, lambda, interpolation probability, mean width of the second layer.
TWO_MOONS = [
    (100, 0.5, 0.66, 8.0),
    (200, 0.5, 0.98, 6.3),
    (150, 1.0, 0.84, 6.5),
    (300, 2.0, 0.90, 6.9),
    (500, 0.0, 0.00, 14.0),
    (500, 1.0, 1.00, 5.3),
]
RUNS = 150


def z_of_shares(ours: float, runs: int, theirs: float, their_runs: int) -> float:
    """Two-proportion test."""
    pooled = (ours * runs + theirs * their_runs) / (runs + their_runs)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / their_runs))
    return float((ours - theirs) / spread) if spread > 0 else 0.0


def z_of_means(ours: np.ndarray, theirs: float, their_runs: int) -> float:
    """Two-sample test of means, with our spread for both."""
    return float((ours.mean() - theirs) / (ours.std(ddof=1) * np.sqrt(1 / len(ours) + 1 / their_runs)))


@pytest.fixture(scope="module")
def trials() -> dict[tuple[int, float], list[Trial]]:
    data = load_dataset("two-moons")
    problem, cells = Problem.of(data), [Cell(n, lam, 1000) for n, lam, *_ in TWO_MOONS]
    found: dict[tuple[int, float], list[Trial]] = {(cell.n, cell.lam): [] for cell in cells}
    for run in range(RUNS):
        layers = FirstLayers(problem, Draw(data.digest, Scheme(), run), cells)
        for cell in cells:
            found[cell.n, cell.lam].append(run_cell(layers, cell))
    return found


@pytest.mark.parametrize(("n", "lam", "probability", "width"), TWO_MOONS)
def test_two_moons(
    trials: dict[tuple[int, float], list[Trial]], n: int, lam: float, probability: float, width: float
) -> None:
    own = trials[n, lam]
    share = float(np.mean([trial.missed == 0 for trial in own]))
    assert abs(z_of_shares(share, RUNS, probability, PUBLISHED_RUNS)) < 3.5
    assert abs(z_of_means(np.array([float(trial.detectors) for trial in own]), width, PUBLISHED_RUNS)) < 3.5


@pytest.mark.data
@pytest.mark.slow
def test_mnist() -> None:
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    data = load_dataset("mnist", folder)
    cell = Cell(500, 0.0, 70_000)
    trial = run_cell(FirstLayers(Problem.of(data), Draw(data.digest, Scheme(), 0), [cell]), cell)
    assert trial.missed == 0
    assert trial.detectors == pytest.approx(17_116, rel=0.05)


def test_parallel_lines_are_the_worst_case() -> None:
    """Nearly every target point is an anchor; in the run that is kept, every one is."""
    data, cell = load_dataset("parallel-lines"), Cell(2000, 1.0, 20)
    found = [
        run_cell(FirstLayers(Problem.of(data), Draw(data.digest, Scheme(), run), [cell]), cell) for run in range(5)
    ]
    assert all(trial.missed == 0 and trial.detectors >= 8 for trial in found)
    assert found[0].detectors == 10
