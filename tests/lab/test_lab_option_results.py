"""What comes of sweeps over options: rows that a stop does not cost, a summary, a figure; the same from any backend."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from toy_options import GRID, HEAD, write_points, written

from exactfit.cli import ExitCode, main
from exactfit.lab import SweepOptions, load_sweep, sweep_options
from exactfit.lab.option_sweep import OptionSweep
from exactfit.lab.sweep import Backend


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path)
    return tmp_path


def test_from_the_shell_with_a_stop_in_between(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, extent = str(written(folder, HEAD + GRID)), ["-j", "1"]
    assert main(["sweep", path, "--shard", "1/2", *extent]) == 0
    store = folder / "exactfit-results" / "points.jsonl"
    assert len(store.read_text(encoding="utf-8").splitlines()) == 3
    with store.open("a", encoding="utf-8") as file:
        file.write('{"half a li')
    assert main(["sweep", path, *extent]) == 0
    assert "3 trials are there, 3 to run" in capsys.readouterr().err
    rows = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
    assert {row["standing"] for row in rows} == {"own"}
    assert len({(json.dumps(row["setting"]), row["run"]) for row in rows}) == len(rows) == 6
    head, *lines = (folder / "exactfit-results" / "points" / "points.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("data,standing,construction,detectors,runs,interpolating,accuracy,accuracy_low")
    assert [line.split(",")[:6] for line in lines] == [
        ["points", "own", "default", "mask", "2", "1"],
        ["points", "own", "default", "weighted", "2", "1"],
        ["points", "own", "1-nn", "", "2", "1"],
    ]
    expected = np.mean([row["accuracy"] for row in rows if row["setting"] == {"construction": "1-nn"}])
    assert float(lines[2].split(",")[6]) == pytest.approx(expected, abs=1e-5)
    assert (folder / "exactfit-results" / "points" / "points.png").stat().st_size > 1000


def test_failures_are_told_and_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(folder, HEAD + "width = [-1, 50]"))
    for _ in range(2):
        assert main(["sweep", path, "-j", "1"]) == ExitCode.FAILS
    assert "2 trials are there, 2 to run" in capsys.readouterr().err
    assert main(["sweep", path, "--independent"]) == ExitCode.USAGE


def test_any_backend_gives_the_same_rows(folder: Path) -> None:
    sweep, found = load_sweep(written(folder, HEAD + GRID)), []
    assert isinstance(sweep, OptionSweep)
    for number, backend in enumerate((Backend(), Backend("processes", 2), Backend("threads", 2))):
        store = folder / f"{number}.jsonl"
        sweep_options(sweep, SweepOptions(store=store, output=folder / "out", figures=False, backend=backend))
        rows = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
        found.append(sorted(json.dumps({**row, "seconds": 0, "crc": ""}) for row in rows))
    assert len(found[0]) == 6
    assert found[0] == found[1] == found[2]
