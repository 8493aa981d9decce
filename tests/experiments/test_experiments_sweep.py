"""Sweeps: the same rows whatever is run when, where and by how many; failures, backends, a worker that dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import dask_cluster
from toys import DIGITS, MOONS, TOY, quiet, sweep_toy, toy, trial_rows

from exactfit.exceptions import ClusterError, DataError
from experiments import sweep
from experiments.options import OptionGrid, Setting
from experiments.store import Store, read_trials
from experiments.sweep import SweepOptions, add_trials
from experiments.widths import Cell, WidthGrid


def test_every_cell_of_every_run_once(whole: list[tuple]) -> None:
    assert len({row[:5] for row in whole}) == len(whole) == 108
    assert any(row[6] == 0 for row in whole)
    assert any(row[6] > 0 for row in whole)


def test_part_after_part_in_any_order(whole: list[tuple], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path, toy(runs=2, max_bias=(0.5,)))
    sweep_toy(path, toy(runs=1, points=(60,), width=(70,)), data=(DIGITS,))
    report = sweep_toy(path)
    assert report.before == 2 * 2 * 6 + 3 - 1
    assert report.added == 108 - report.before
    assert trial_rows(read_trials(path)) == whole
    again = sweep_toy(path)
    assert (again.before, again.added) == (108, 0)


def test_nothing_new_means_no_header(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path)
    before = path.read_bytes()
    sweep_toy(path)
    assert path.read_bytes() == before


def test_kinds_of_draws_do_not_count_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path)
    assert sweep_toy(path, toy(center=True)).before == 0
    assert sweep_toy(path, toy(center=True)).before == 108


def test_a_store_of_another_kind_of_sweep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path)
    options = OptionGrid({"1-nn": Setting("1-nn", {})}, 0.25)
    with pytest.raises(DataError, match=r"s\.jsonl holds trials of another kind of sweep"):
        sweep_toy(path, replace(TOY, grid=options))


@dataclass(frozen=True)
class Sometimes(WidthGrid):
    """Fails at one cell."""

    def run(self, data, run, cells) -> Iterator[dict]:
        for row in super().run(data, run, cells):
            if (row["n"], row["lambda"], row["N"]) == (40, 0.5, 60):
                raise ZeroDivisionError("on purpose")
            yield row


def test_a_failing_trial_is_recorded_and_run_again(whole: list[tuple], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    report = sweep_toy(path, replace(TOY, grid=Sometimes(TOY.grid.grids, center=False)))
    assert (report.added, report.failed) == (102, 6)
    failures = read_trials(path).failures
    assert len(failures) == 6
    assert "ZeroDivisionError: on purpose" in failures[0]["error"]
    assert "Traceback" in failures[0]["error"]
    assert sweep_toy(path).added == 6
    assert trial_rows(read_trials(path)) == whole


@dataclass(frozen=True)
class Never(WidthGrid):
    """Fails before the first cell."""

    def run(self, data, run, cells) -> Iterator[dict]:
        raise MemoryError("on purpose")


def test_failing_first_layers_are_recorded(tmp_path: Path) -> None:
    report = sweep_toy(tmp_path / "s.jsonl", replace(TOY, runs=1, grid=Never(TOY.grid.grids, center=False)))
    assert (report.added, report.failed) == (0, 36)


def test_several_processes_give_the_same_rows(whole: list[tuple], tmp_path: Path) -> None:
    sweep_toy(tmp_path / "s.jsonl", jobs=2)
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


def test_a_dask_cluster_gives_the_same_rows(whole: list[tuple], tmp_path: Path) -> None:
    with dask_cluster(tmp_path, 2, 1) as address:
        sweep_toy(tmp_path / "s.jsonl", scheduler=address)
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


def test_a_cluster_without_workers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(sweep, "WORKER_SECONDS", 0.2)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options, local_directory=str(tmp_path)) as cluster,
        pytest.raises(ClusterError, match=r"has no worker after 0\.2 s: start some"),
    ):
        sweep_toy(tmp_path / "s.jsonl", scheduler=cluster.scheduler_address)


@dataclass(frozen=True)
class Deadly(WidthGrid):
    """Ends the process that runs it."""

    def run(self, data, run, cells) -> Iterator[dict]:
        os._exit(9)


def test_a_dead_worker_is_named(tmp_path: Path) -> None:
    with pytest.raises(ChildProcessError, match="a worker process died, perhaps for lack of memory"):
        sweep_toy(tmp_path / "s.jsonl", replace(TOY, grid=Deadly(TOY.grid.grids, center=False)), jobs=2)


def test_a_line_a_minute_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "LINE_SECONDS", 0.0)
    said: list[str] = []
    with Store(tmp_path / "s.jsonl", quiet) as store:
        add_trials(toy(runs=1, max_bias=(0.5,)), (MOONS,), store, SweepOptions(), said.append)
    assert said == ["toy: 0 trials are there, 6 to run", "toy: 6 of 6 trials, 0 failed"]


def test_a_bar_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    sweep_toy(tmp_path / "s.jsonl", toy(runs=1))
    assert "36/36" in capsys.readouterr().err


def test_groups_share_first_layers() -> None:
    groups = TOY.grid.groups(MOONS)
    assert [{cell.lam for cell in cells} for cells in groups] == [{0.0}, {0.5}, {1.0}]
    assert groups[0][0] == Cell(10, 0.0, 40)
    assert np.all([list(cells) == sorted(cells, key=lambda cell: (cell.N, cell.n)) for cells in groups])
