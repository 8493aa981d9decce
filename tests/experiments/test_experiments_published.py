"""How far trials are from the published cells: those run here, and those kept beside the code."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from exactfit.lab import load_dataset
from experiments.experiment import paper_experiment
from experiments.published import (
    PUBLISHED,
    PUBLISHED_COSTS,
    PublishedCell,
    agreements,
    cost_text,
    pair_texts,
    z_of_fractions,
    z_of_means,
)
from experiments.store import read_trials
from experiments.trials import Trials
from experiments.widths import Cell, WidthGrid

PAPERS = WidthGrid((), center=False)
TWO_MOONS = [cell for cell in PUBLISHED if cell.data == "two-moons"]
RUNS = 150
MOST = 3.5
RESULTS = Path(__file__).parents[2] / "results"


@cache
def kept(path: Path) -> Trials:
    return read_trials(path)


@pytest.fixture(scope="module")
def trials() -> dict[tuple[int, float], list[dict]]:
    data, found = load_dataset("two-moons"), defaultdict(list)
    for lam in {cell.lam for cell in TWO_MOONS}:
        cells = [Cell(cell.n, lam, 1000) for cell in TWO_MOONS if cell.lam == lam]
        for run in range(RUNS):
            for row in PAPERS.run(data, run, cells):
                found[row["n"], lam].append(row)
    return found


@pytest.mark.parametrize("cell", TWO_MOONS, ids=str)
def test_two_moons(trials: dict[tuple[int, float], list[dict]], cell: PublishedCell) -> None:
    own = pd.DataFrame(trials[cell.n, cell.lam])
    probability = float((own["missed"] == 0).mean())
    assert abs(z_of_fractions(probability, RUNS, cell.probability, cell.runs)) < MOST
    assert abs(z_of_means(own["detectors"].to_numpy(), cell.width, cell.runs)) < MOST


def test_two_moons_are_the_kept_trials(trials: dict[tuple[int, float], list[dict]]) -> None:
    rows = kept(RESULTS / "two-moons.trials.csv.gz").rows
    for (n, lam), own in trials.items():
        same = rows[(rows["n"] == n) & (rows["lambda"] == lam) & (rows["run"] < RUNS)].sort_values("run")
        assert same[["detectors", "missed"]].to_numpy().tolist() == [[row["detectors"], row["missed"]] for row in own]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.trials.csv.gz")), ids=lambda path: path.name)
def test_the_kept_results_agree_with_what_was_published(path: Path) -> None:
    for found in agreements(kept(path)):
        assert abs(found.z_probability) < MOST
        if found.cell.data == "cifar10":  # a copy that went through JPEG: close, but not the same images
            assert found.width == pytest.approx(found.cell.width, rel=0.02)
        else:
            assert abs(found.z_width) < MOST


def test_published_cells_are_found_among_the_trials() -> None:
    found = agreements(kept(RESULTS / "two-moons.trials.csv.gz"))
    assert [each.cell for each in found] == TWO_MOONS
    assert {each.runs for each in found} == {250}


def test_a_second_layer_without_detectors_counts_as_one_neuron() -> None:
    rows = pd.DataFrame({"detectors": [0, 0, 4, 2], "header": "a", "n": 100, "lambda": 0.5, "N": 1000, "missed": 9})
    (found,) = agreements(Trials({"a": {"header": "a", "data": "two-moons"}}, rows))
    assert (found.width, found.n_empty) == (2.0, 2)
    assert str(found).endswith("2 runs without a detector counted as one neuron, as in the published widths")


def test_pairs_of_digits_are_compared_with_the_published_ones() -> None:
    eight, nine = pair_texts(kept(RESULTS / "mnist-pairs.trials.csv.gz"))
    assert "100 %: 85.0 against 82.4; from 80 % to 100 %: +11.8% against +12.0%" in eight
    assert "100 %: 61.0 against 60.8; from 80 % to 100 %: +12.8% against +13.2%" in nine
    families = pair_texts(kept(RESULTS / "mnist-pairs-families.trials.csv.gz"))
    assert ["+16.1%" in families[0], "+15.3%" in families[1]] == [True, True]
    assert pair_texts(kept(RESULTS / "two-moons.trials.csv.gz")) == []


def test_costs_are_compared_with_the_published_ones() -> None:
    for name, (_, count) in PUBLISHED_COSTS.items():
        experiment = paper_experiment(name)
        runs = 50 if name == "two-moons" else experiment.runs
        n_points = {"sample-size": 1_000_000, "two-moons": 1000}.get(name, 14_000)
        assert count == len(experiment.data) * len(experiment.grid.cells(n_points)) * runs
    told = cost_text(kept(RESULTS / "two-moons.trials.csv.gz"))
    assert told.startswith("637,500 trials in 0.1")
    assert told.endswith(" core-hours; published: 127,500 trials in 0.1 core-hours")


@pytest.mark.data
def test_mnist() -> None:
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    (row,) = PAPERS.run(load_dataset("mnist", folder), 0, [Cell(500, 0.0, 70_000)])
    assert row["missed"] == 0
    assert row["detectors"] == pytest.approx(17_116, rel=0.05)


def test_parallel_lines_are_the_worst_case() -> None:
    """Nearly every target point is an anchor; in the run that is kept, every one is."""
    data = load_dataset("parallel-lines")
    found = [row for run in range(5) for row in PAPERS.run(data, run, [Cell(2000, 1.0, 20)])]
    assert all(row["missed"] == 0 and row["detectors"] >= 8 for row in found)
    assert found[0]["detectors"] == 10
