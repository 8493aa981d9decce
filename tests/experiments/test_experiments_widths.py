"""Cells of fixed width: seeds, and the same outcome as ``fixed_width`` gives by the public way."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs
from toys import dataset

from exactfit import DataError, Options, certify, fixed_width
from exactfit.construct import evidence
from exactfit.lab import Dataset, load_dataset
from experiments import widths
from experiments.widths import Cell, WidthGrid, seed_of

PAPERS = WidthGrid((), center=False)  # draws around the origin
CELLS = [Cell(n, lam, N) for lam in (0.0, 0.5, 1.3) for N in (150, 300) for n in (10, 64, 100)]


@pytest.fixture(scope="module")
def digits() -> Dataset:
    X, y = load_digits(return_X_y=True)
    return dataset(X[:300], y[:300])


@pytest.fixture(scope="module")
def moons() -> Dataset:
    return load_dataset("two-moons")


def outcome(grid: WidthGrid, data: Dataset, run: int, cells: list[Cell]) -> list[dict]:
    return [{**row, "seconds": 0} for row in grid.run(data, run, cells)]


def by_hand(grid: WidthGrid, data: Dataset, run: int, cell: Cell):
    """The same cell by ``fixed_width``, on the first N points alone."""
    X, y = data.X[: cell.N], data.y[: cell.N]
    hyperplanes = seed_of("hyperplanes", data.digest, "gaussian", grid.center, run)
    options = Options(max_bias=cell.lam, center=grid.center, detectors=grid.detectors, target=data.target)
    first = fixed_width(X, y, cell.n, options, random_state=hyperplanes).network.layers[0]
    order, rows = seed_of("order", run, cell.n, cell.lam, cell.N), []
    for k in range(len(data.classes)):
        # The order of the candidates of a class has a stream of its own.
        own = np.flatnonzero(y == k)
        child = np.random.SeedSequence(order.entropy, spawn_key=(1, k))
        rows += own[np.random.Generator(np.random.PCG64(child)).permutation(len(own))].tolist()
    return fixed_width(X, y, options=options, hyperplanes=(first.weights.values, first.bias), order=rows)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_cells_are_networks_of_fixed_width(digits: Dataset, center: bool, detectors: str) -> None:
    grid = WidthGrid(
        ({"width": (10, 64, 100), "max_bias": (Decimal(0), Decimal("1.3")), "points": (150, 300)},), center, detectors
    )
    groups = grid.groups(digits)
    assert len(groups) == (4 if center else 2)
    assert sorted(cell for cells in groups for cell in cells) == sorted(grid.cells(300))
    for cells in groups:
        for cell, row in zip(cells, grid.run(digits, 3, cells), strict=True):
            made = by_hand(grid, digits, 3, cell)
            assert (row["run"], row["n"], row["lambda"], row["N"]) == (3, *cell)
            assert row["per_class"] == np.bincount(made.trace.detector_classes, minlength=10).tolist()
            assert row["missed"] == len(made.trace.uncovered)
            assert row["detectors"] == made.network.widths[1]
            assert row["seconds"] > 0


def test_one_target_of_two_classes(moons: Dataset) -> None:
    cell = Cell(200, 0.5, 1000)
    (row,) = PAPERS.run(moons, 2, [cell])
    made = by_hand(PAPERS, moons, 2, cell)
    assert (row["per_class"], row["missed"]) == ([made.network.widths[1]], len(made.trace.uncovered))
    assert certify(made.network, moons.X, moons.y).holds == (row["missed"] == 0)


def test_precomputed_limits_change_nothing(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [cell for cell in CELLS if cell.lam == 0.5]
    plain = outcome(PAPERS, digits, 4, cells)
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    monkeypatch.setattr(evidence, "SHARE", 0.0)
    assert outcome(PAPERS, digits, 4, cells) == plain


@given(st.lists(st.sampled_from(CELLS[:6]), min_size=1, max_size=4, unique=True), st.integers(0, 3))
def test_a_cell_does_not_depend_on_its_company(digits: Dataset, company: list[Cell], run: int) -> None:
    among = outcome(PAPERS, digits, run, sorted(company, key=lambda cell: (cell.N, cell.n)))
    for row in among:
        assert outcome(PAPERS, digits, run, [Cell(row["n"], row["lambda"], row["N"])]) == [row]


def test_seeds_depend_on_run_and_data_or_on_run_and_cell(monkeypatch: pytest.MonkeyPatch, digits: Dataset) -> None:
    asked: list[tuple] = []
    monkeypatch.setattr(widths, "seed_of", lambda *key: asked.append(key) or seed_of(*key))
    for grid in (PAPERS, replace(PAPERS, center=True)):
        list(grid.run(digits, 7, CELLS[:1]))
    order = ("order", 7, 10, 0.0, 150)
    hyperplanes = [("hyperplanes", digits.digest, "gaussian", center, 7) for center in (False, True)]
    assert asked == [hyperplanes[0], order, hyperplanes[1], order]


def test_seeds_are_fixed_for_good() -> None:
    """Rows of old stores must stay comparable: a change here makes all of them void."""
    assert seed_of("hyperplanes", "0" * 64, "gaussian", False, 7).entropy % 10**12 == 248799980553
    assert seed_of("order", 7, 500, 0.5, 1000).entropy % 10**12 == 812706888428


def test_a_class_without_points_in_a_beginning_has_no_detectors() -> None:
    X, y = make_blobs(60, centers=3, random_state=0)
    (row,) = PAPERS.run(dataset(X, np.sort(y)), 0, [Cell(64, 0.0, 25)])
    assert len(row["per_class"]) == 3
    assert row["per_class"][2] == 0


def test_a_beginning_of_one_class_is_refused(moons: Dataset) -> None:
    sorted_moons = moons.reordered(np.argsort(moons.y, kind="stable"))
    grid = WidthGrid(({"width": (10,), "max_bias": (1,), "points": (20,)},))
    with pytest.raises(DataError, match="the first 20 points of two-moons are of one class"):
        grid.groups(sorted_moons)
