"""The results that are kept beside the code: summaries agree with their trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from exactfit.experiments.grid import PAPER, paper_experiment
from exactfit.experiments.records import read_trials
from exactfit.experiments.summary import summary_text

RESULTS = Path(__file__).parents[1] / "results"
PACKED = sorted(RESULTS.glob("*.trials.csv.gz"))
FEW_MB = 5 * 2**20


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_a_summary_is_what_its_trials_say(path: Path) -> None:
    summary = path.with_name(path.name.replace(".trials.csv.gz", ".csv"))
    assert summary.read_text(encoding="utf-8") == summary_text(read_trials(path))


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_trials_are_compact_and_hold_what_was_asked_for(path: Path) -> None:
    name = path.name.removesuffix(".trials.csv.gz")
    assert name in PAPER
    assert path.stat().st_size < FEW_MB
    trials, experiment = read_trials(path), paper_experiment(name, "committed")
    for header in trials.kinds():
        rows = trials.where(digest=header["digest"], scheme=header["scheme"])
        runs: dict[tuple[int, float, int], int] = {}
        for n, lam, N in zip(rows["n"].tolist(), rows["lambda"].tolist(), rows["N"].tolist(), strict=True):
            runs[n, lam, N] = runs.get((n, lam, N), 0) + 1
        lacking = [
            cell
            for cell in experiment.cells(header["points"])
            if runs.get((cell.n, cell.lam, cell.N), 0) < experiment.runs
        ]
        assert lacking == []


def test_no_summary_without_trials() -> None:
    alone = [path for path in RESULTS.glob("*.csv") if not path.with_suffix(".trials.csv.gz").exists()]
    assert alone == []
