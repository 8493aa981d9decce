"""Published cells, at small scale and with fixed seeds: ours agree with them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from exactfit.lab import load_dataset
from exactfit.lab.experiment import paper_experiment
from exactfit.lab.published import (
    PUBLISHED,
    PUBLISHED_COSTS,
    PublishedCell,
    agreements,
    cost_text,
    pair_texts,
    z_of_means,
    z_of_shares,
)
from exactfit.lab.trial import Cell, Draw, FirstLayers, OrderedPoints, Scheme, Trial, run_cell
from exactfit.lab.trials import Trials, read_trials, row_dtype

TWO_MOONS = [cell for cell in PUBLISHED if cell.data == "two-moons"]


RUNS = 150


MOST = 3.5


RESULTS = Path(__file__).parents[2] / "results"


@cache
def kept(path: Path) -> Trials:
    return read_trials(path)


@pytest.fixture(scope="module")
def trials() -> dict[tuple[int, float], list[Trial]]:
    data = load_dataset("two-moons")
    problem, cells = OrderedPoints.of(data), [Cell(cell.n, cell.lam, 1000) for cell in TWO_MOONS]
    found: dict[tuple[int, float], list[Trial]] = {(cell.n, cell.lam): [] for cell in cells}
    for run in range(RUNS):
        layers = FirstLayers(problem, Draw(data.digest, Scheme(), run), cells)
        for cell in cells:
            found[cell.n, cell.lam].append(run_cell(layers, cell))
    return found


@pytest.mark.parametrize("cell", TWO_MOONS, ids=str)
def test_two_moons(trials: dict[tuple[int, float], list[Trial]], cell: PublishedCell) -> None:
    own = trials[cell.n, cell.lam]
    share = float(np.mean([trial.missed == 0 for trial in own]))
    assert abs(z_of_shares(share, RUNS, cell.probability, cell.runs)) < MOST
    assert abs(z_of_means(np.array([trial.detectors for trial in own]), cell.width, cell.runs)) < MOST


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.trials.csv.gz")), ids=lambda path: path.name)
def test_the_kept_results_agree_with_what_was_published(path: Path) -> None:
    for found in agreements(kept(path)):
        assert abs(found.z_probability) < MOST
        if found.cell.data == "cifar10":  # a copy that went through JPEG: close, but not the same images
            assert found.cell.width is None or found.width == pytest.approx(found.cell.width, rel=0.02)
        else:
            assert abs(found.z_width) < MOST


def test_published_cells_are_found_among_the_trials() -> None:
    found = agreements(kept(RESULTS / "two-moons.trials.csv.gz"))
    assert [each.cell for each in found] == TWO_MOONS
    assert {each.runs for each in found} == {250}


def test_a_second_layer_without_detectors_counts_as_one_neuron() -> None:
    kind = {"header": "a", "data": "two-moons"}
    rows = np.zeros(4, dtype=row_dtype(1))
    rows["n"], rows["lambda"], rows["N"], rows["missed"] = 100, 0.5, 1000, 9
    rows["detectors"] = rows["per_class"][:, 0] = [0, 0, 4, 2]
    (found,) = agreements(Trials((kind,), rows))
    assert (found.width, found.n_empty) == (2.0, 2)
    assert str(found).endswith("2 runs without a detector counted as one neuron, as in the published widths")


def test_pairs_of_digits_stand_beside_the_published_ones() -> None:
    eight, nine = pair_texts(kept(RESULTS / "mnist-pairs.trials.csv.gz"))
    assert "100 %: 85.0 against 82.4; from 80 % to 100 %: +11.8% against +12.0%" in eight
    assert "100 %: 61.0 against 60.8; from 80 % to 100 %: +12.8% against +13.2%" in nine
    families = pair_texts(kept(RESULTS / "mnist-pairs-families.trials.csv.gz"))
    assert ["+16.1%" in families[0], "+15.3%" in families[1]] == [True, True]
    assert pair_texts(kept(RESULTS / "two-moons.trials.csv.gz")) == []


def test_costs_stand_beside_the_published_ones() -> None:
    for name, (_, count) in PUBLISHED_COSTS.items():
        experiment = paper_experiment(name)
        runs = 50 if name == "two-moons" else experiment.runs
        n_points = {"sample-size": 1_000_000, "two-moons": 1000}.get(name, 14_000)
        assert count == len(experiment.data) * len(experiment.cells(n_points)) * runs
    told = cost_text(kept(RESULTS / "two-moons.trials.csv.gz"))
    assert told.startswith("637,500 trials in 0.1")
    assert told.endswith(" core-hours; published: 127,500 trials in 0.1 core-hours")


@pytest.mark.data
def test_mnist() -> None:
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    data = load_dataset("mnist", folder)
    cell = Cell(500, 0.0, 70_000)
    trial = run_cell(FirstLayers(OrderedPoints.of(data), Draw(data.digest, Scheme(), 0), [cell]), cell)
    assert trial.missed == 0
    assert trial.detectors == pytest.approx(17_116, rel=0.05)


def test_parallel_lines_are_the_worst_case() -> None:
    """Nearly every target point is an anchor; in the run that is kept, every one is."""
    data, cell = load_dataset("parallel-lines"), Cell(2000, 1.0, 20)
    found = [
        run_cell(FirstLayers(OrderedPoints.of(data), Draw(data.digest, Scheme(), run), [cell]), cell)
        for run in range(5)
    ]
    assert all(trial.missed == 0 and trial.detectors >= 8 for trial in found)
    assert found[0].detectors == 10
