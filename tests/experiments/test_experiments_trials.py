"""Trials: merged, each once; from trials to cells, with intervals and means; and the results kept beside the code."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toys import fill, header, keys, quiet, trial

from exactfit.exceptions import DataError
from exactfit.lab import load_dataset
from experiments.experiment import BEYOND, PAPER, paper_experiment
from experiments.store import Store, read_trials
from experiments.trials import Trials, border, mean_interval, merge_trials, per_cell, summary_text, wilson

COLUMNS = [
    "data", "standing", "digest", "scheme", "n", "lambda", "N", "runs", "interpolating", "probability",
    "probability_low", "probability_high", "detectors", "detectors_low", "detectors_high", "seconds",
]  # fmt: skip
RESULTS = Path(__file__).parents[2] / "results"
PACKED = sorted(RESULTS.glob("*.trials.csv.gz"))
# Experiments whose published grid is kept as a whole, with at least the published runs.
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


def test_summary(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(10)))
    lines = summary_text(trials).splitlines()
    assert lines[0] == ",".join(COLUMNS)
    row = dict(zip(COLUMNS, lines[1].split(","), strict=True))
    assert (row["data"], row["standing"], row["scheme"]) == ("parallel-lines", "generated", "shared")
    assert row["digest"] == load_dataset("parallel-lines").digest
    assert (row["runs"], row["interpolating"], row["probability"], row["detectors"]) == ("10", "5", "0.5", "3")
    assert row["probability_low"] == "0.236593"


def test_a_summary_of_one_run_leaves_intervals_empty(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(1)))
    row = dict(zip(COLUMNS, summary_text(trials).splitlines()[1].split(","), strict=True))
    assert row["detectors_low"] == row["detectors_high"] == ""


def trials(count: int = 400) -> np.ndarray:
    rng = np.random.default_rng(0)
    kinds = {"n": "i8", "lambda": "f8", "N": "i8", "detectors": "i8", "missed": "i8", "seconds": "f8"}
    rows = np.zeros(count, dtype=list(kinds.items()))
    rows["n"], rows["lambda"] = rng.choice([10, 20], count), rng.choice([0.0, 0.1, 0.3], count)
    rows["N"], rows["detectors"] = 50, rng.integers(3, 20, count)
    rows["missed"], rows["seconds"] = rng.integers(0, 2, count), rng.random(count)
    return rows


@pytest.mark.parametrize(("successes", "runs"), [(0, 1), (1, 1), (3, 10), (249, 250), (250, 250)])
def test_wilson_as_scipy_has_it(successes: int, runs: int) -> None:
    expected = stats.binomtest(successes, runs).proportion_ci(0.95, method="wilson")
    low, high = wilson(np.array([successes]), np.array([runs]))
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)


def test_interval_of_a_mean_as_scipy_has_it() -> None:
    sample = np.array([3.0, 5.0, 8.0, 13.0])
    low, high = mean_interval(np.array([sample.mean()]), np.array([sample.std(ddof=1)]), np.array([4]))
    expected = stats.t.interval(0.95, 3, loc=sample.mean(), scale=stats.sem(sample))
    assert (low[0], high[0]) == pytest.approx(expected)


def test_cells_as_pandas_groups_them() -> None:
    rows = trials()
    cells = per_cell(rows)
    frame = pd.DataFrame({name: rows[name] for name in rows.dtype.names})
    groups = frame.groupby(["n", "lambda", "N"])
    assert list(cells[["n", "lambda", "N"]].itertuples(index=False, name=None)) == list(groups.groups)
    assert cells["runs"].tolist() == groups.size().tolist()
    assert np.allclose(cells["detectors"], groups["detectors"].mean())
    assert np.allclose(cells["probability"], groups["missed"].agg(lambda missed: (missed == 0).mean()))
    half = groups["detectors"].agg(lambda each: stats.t.ppf(0.975, len(each) - 1) * stats.sem(each))
    assert np.allclose(cells["detectors_high"] - cells["detectors"], half)


def test_records_of_every_kind() -> None:
    rows = trials(50)
    frame = pd.DataFrame({name: rows[name] for name in rows.dtype.names})
    plain = [dict(zip(rows.dtype.names, row, strict=True)) for row in rows.tolist()]
    for records in (frame, plain, per_cell(rows)):
        pd.testing.assert_frame_equal(per_cell(records), per_cell(rows))


def test_one_run_has_no_interval_and_none_has_no_cells() -> None:
    cells = per_cell(trials(1))
    assert np.isnan(cells["detectors_low"]).all()
    assert len(per_cell([])) == 0
    assert len(per_cell(trials(0))) == 0


def test_merging_takes_every_trial_once(tmp_path: Path) -> None:
    parts = [read_trials(fill(tmp_path / f"{k}.jsonl", range(start, start + 6))) for k, start in enumerate((0, 4, 20))]
    merged = merge_trials(parts)
    assert sorted(merged.rows["run"].tolist()) == [*range(10), *range(20, 26)]
    assert len(merged.headers) == 3
    assert keys(merge_trials([merged, *parts])) == keys(merged)
    assert len(merge_trials([]).rows) == 0


def test_merging_keeps_what_is_of_another_kind(tmp_path: Path) -> None:
    with Store(tmp_path / "a.jsonl", quiet) as store:
        store.add(store.begin(header()), [trial(0)])
        store.add(store.begin(header(scheme="independent")), [trial(0, per_class=(9,))])
        store.add(store.begin(header(data="two-moons")), [trial(0, per_class=(5,))])
    trials = merge_trials([read_trials(tmp_path / "a.jsonl")])
    assert sorted(trials.rows["detectors"].tolist()) == [3, 5, 9]
    assert len(trials.kinds()) == 3


def test_two_outcomes_of_one_trial_are_refused(tmp_path: Path) -> None:
    one = read_trials(fill(tmp_path / "a.jsonl", range(3)))
    other = read_trials(fill(tmp_path / "b.jsonl", range(3), per_class=(4,)))
    with pytest.raises(DataError, match=r"came out in two ways.*detectors 3.*detectors 4"):
        merge_trials([one, other])


def test_the_line_of_99_percent_is_monotone_in_each_column_and_smooth_along_them() -> None:
    rows = np.arange(1.0, 6.0)
    table = np.array([[0, 0.2, 0.1, 1, 1.0], [0, 0, 0, 1, 1.0], [0, 0, 0, 0, 0.5], [1, 1, 1, 1, 1.0]]).T
    heights = border(rows, table)
    assert np.isnan(heights).tolist() == [False, False, True, True]
    assert heights[:2] == pytest.approx([3.99, 3.99], abs=0.02)
    many = border(rows, np.tile([[0.0], [0.3], [0.6], [1.0], [1.0]], (1, 50)))
    assert many == pytest.approx(many[0])
    steps = np.where(np.arange(50) % 2, 3.0, 4.0)
    jagged = border(rows, (rows[:, None] >= steps).astype(float))
    assert np.abs(np.diff(jagged[5:-5])).max() < 0.1


@cache
def kept(path: Path) -> Trials:
    return read_trials(path)


def runs_of(trials: Trials, header: dict) -> Counter:
    return Counter(trials.of(header)[["n", "lambda", "N"]].itertuples(index=False, name=None))


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_a_kept_summary_is_what_its_trials_say(path: Path) -> None:
    summary = path.with_name(path.name.replace(".trials.csv.gz", ".csv"))
    assert summary.read_text(encoding="utf-8") == summary_text(kept(path))


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_kept_trials_are_compact_and_of_the_published_grid(path: Path) -> None:
    name = path.name.removesuffix(".trials.csv.gz")
    assert name in PAPER + BEYOND
    assert path.stat().st_size < FEW_MB
    trials, experiment = kept(path), paper_experiment(name)
    assert len(trials.failures) == 0
    for one in trials.kinds():
        assert runs_of(trials, one).keys() <= set(experiment.grid.cells(one["points"]))


@pytest.mark.parametrize("name", WHOLE)
def test_kept_experiments_have_every_published_cell_and_run(name: str) -> None:
    trials, experiment = kept(RESULTS / f"{name}.trials.csv.gz"), paper_experiment(name)
    for one in trials.kinds():
        assert runs_of(trials, one) == dict.fromkeys(experiment.grid.cells(one["points"]), experiment.runs)


def test_mnist_wide_has_every_published_cell_with_equal_runs() -> None:
    trials = kept(RESULTS / "mnist-wide.trials.csv.gz")
    cells = paper_experiment("mnist-wide").grid.cells(70_000)
    (one,) = trials.kinds()
    assert runs_of(trials, one) == dict.fromkeys(cells, paper_experiment("mnist-wide", "committed").runs)


def test_no_summary_without_trials() -> None:
    alone = [path for path in RESULTS.glob("*.csv") if not path.with_suffix(".trials.csv.gz").exists()]
    assert alone == []
