"""The results that are kept beside the code: summaries agree with their trials."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from exactfit.lab.experiment import BEYOND, PAPER, paper_experiment
from exactfit.lab.store import read_trials
from exactfit.lab.trials import Trials, summary_text

RESULTS = Path(__file__).parents[2] / "results"


PACKED = sorted(RESULTS.glob("*.trials.csv.gz"))


# Experiments whose published grid is kept whole, with at least the published runs.
WHOLE = (
    "two-moons",
    "sample-size",
    "mnist-pairs",
    "cifar10",
    "cifar10-wide",
    "parallel-lines",
    "mnist-pairs-families",
    "sample-size-beyond",
)


FEW_MB = 5 * 2**20


@cache
def kept(path: Path) -> Trials:
    return read_trials(path)


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_a_summary_is_what_its_trials_say(path: Path) -> None:
    summary = path.with_name(path.name.replace(".trials.csv.gz", ".csv"))
    assert summary.read_text(encoding="utf-8") == summary_text(kept(path))


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_trials_are_compact_and_of_the_published_grid(path: Path) -> None:
    name = path.name.removesuffix(".trials.csv.gz")
    assert name in PAPER + BEYOND
    assert path.stat().st_size < FEW_MB
    trials, experiment = kept(path), paper_experiment(name)
    assert len(trials.failures) == 0
    for header in trials.kinds():
        rows = trials.where(digest=header["digest"], scheme=header["scheme"])
        cells = {(cell.n, cell.lam, cell.N) for cell in experiment.cells(header["points"])}
        assert set(rows[["n", "lambda", "N"]].tolist()) <= cells


@pytest.mark.parametrize("name", WHOLE)
def test_whole_experiments_have_every_published_cell_and_run(name: str) -> None:
    trials, experiment = kept(RESULTS / f"{name}.trials.csv.gz"), paper_experiment(name)
    for header in trials.kinds():
        rows = trials.where(digest=header["digest"], scheme=header["scheme"])
        runs = Counter(map(tuple, rows[["n", "lambda", "N"]].tolist()))
        assert runs == {(c.n, c.lam, c.N): experiment.runs for c in experiment.cells(header["points"])}


def test_mnist_wide_has_every_published_cell_with_equal_runs() -> None:
    trials = kept(RESULTS / "mnist-wide.trials.csv.gz")
    runs = Counter(map(tuple, trials.rows[["n", "lambda", "N"]].tolist()))
    cells = paper_experiment("mnist-wide").cells(70_000)
    assert runs == {(c.n, c.lam, c.N): paper_experiment("mnist-wide", "committed").runs for c in cells}


def test_no_summary_without_trials() -> None:
    alone = [path for path in RESULTS.glob("*.csv") if not path.with_suffix(".trials.csv.gz").exists()]
    assert alone == []
