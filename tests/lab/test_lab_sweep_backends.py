"""Any backend gives the same rows; what fails or dies is named."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import MOONS, TOY, sweep_toy, trial_rows
from helpers.processes import dask_cluster

from exactfit.exceptions import ParameterError
from exactfit.lab import trial as trial_module
from exactfit.lab.store import read_trials
from exactfit.lab.sweep import Backend, answers
from exactfit.lab.trial import Batch, Cell, Draw, OrderedPoints, Scheme, run_batch


@pytest.mark.parametrize("backend", [Backend("threads", 2), Backend("processes", 2), Backend("processes", 3)])
def test_any_backend_gives_the_same_rows(whole: list[tuple], tmp_path: Path, backend: Backend) -> None:
    sweep_toy(tmp_path / "s.jsonl", backend=backend)
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


def test_a_local_dask_cluster_gives_the_same_rows(whole: list[tuple], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, local_directory=str(tmp_path)) as cluster:
        sweep_toy(tmp_path / "s.jsonl", backend=Backend("dask", 1, cluster.scheduler_address))
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


def test_a_dask_cluster_of_processes_gives_the_same_rows(whole: list[tuple], tmp_path: Path) -> None:
    with dask_cluster(tmp_path, 2, 1) as address:
        sweep_toy(tmp_path / "s.jsonl", backend=Backend("dask", 1, address))
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


@pytest.mark.parametrize("kind", ["shared", "independent"])
def test_failing_first_layers_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def never(*_: object) -> None:
        raise MemoryError("on purpose")

    monkeypatch.setattr(trial_module, "FirstLayers", never)
    report = sweep_toy(tmp_path / "s.jsonl", replace(TOY, runs=1, scheme=Scheme(kind=kind)))
    assert (report.added, report.failed) == (0, 36)


@dataclass(frozen=True)
class Deadly(Draw):
    """Ends the process that draws from it."""

    def hyperplanes(self, cell: Cell) -> np.random.SeedSequence:
        os._exit(9)


def test_a_dead_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(10, 1.0, 60)
    batches = [Batch(0, Deadly(MOONS.digest, Scheme(), 0), (cell,), (cell,))]
    with (
        answers(Backend("processes", 2), run_batch, [OrderedPoints.of(MOONS)], batches) as arriving,
        pytest.raises(ChildProcessError, match=r"a worker process died \(ended with exit code 9"),
    ):
        list(arriving)


@pytest.mark.parametrize("wrong", [{"name": "ray"}, {"name": "dask"}, {"scheduler": "tcp://127.0.0.1:1"}])
def test_backends_that_cannot_be(wrong: dict[str, str]) -> None:
    with pytest.raises(ParameterError):
        Backend(**wrong)
