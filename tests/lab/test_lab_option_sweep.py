"""Sweeps over options: cells, what a run measures, how a file is read; rows that a stop does not cost, a summary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import HEAD, OPTIONS_GRID, write_points, written

from exactfit import InterpolatingClassifier, ParameterError
from exactfit.cli import ExitCode, main
from exactfit.lab import Experiment, SweepOptions, load_dataset, load_sweep, sweep_options
from exactfit.lab.comparison import hold_out
from exactfit.lab.option_sweep import OptionSweep, Setting, run_setting, settings_of
from exactfit.lab.sweep import Backend


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path)
    return tmp_path


def test_an_option_that_a_construction_does_not_have_makes_no_cells_for_it() -> None:
    grid = {"construction": ["default", "adaptive-width", "1-nn"], "detectors": ["mask", "weighted"], "margin": [0, 1]}
    found = settings_of([grid, grid], "x.toml")
    assert len(found) == 4 + 4 + 1
    assert str(found[0]) == "default, detectors mask, margin 0"
    with pytest.raises(ParameterError, match="none of 1-nn has the option margin"):
        settings_of([{"construction": "1-nn", "margin": 1}], "x.toml")
    with pytest.raises(ParameterError, match="no construction is called 'none': choose from default, adaptive-width"):
        settings_of([{"construction": "none"}], "x.toml")


def test_a_run_measures_what_the_same_model_gives_by_hand() -> None:
    data = load_dataset("two-moons")
    found = run_setting(data, Setting("default", (("margin", "10%"), ("min_width", 300))), 3, 0.4)
    kept, others = hold_out(data.y, np.random.default_rng(3), 0.4)
    assert len(others) == 400
    model = InterpolatingClassifier(min_width=300, margin="10%", random_state=3).fit(data.X[kept], data.y[kept])
    assert found.accuracy == model.score(data.X[others], data.y[others])
    assert (found.first_layer, found.second_layer) == model.network_.widths[:2]
    assert found.missed == 0
    assert not found.error


def test_sparse_hyperplanes_and_their_features_are_options_of_a_grid() -> None:
    grid = {"hyperplanes": "sparse", "width": 70}
    features, shape = {"max_features": [1, [2, 2]]}, {"image_shape": [[1, 2]]}
    settings = settings_of([grid | features, grid | shape], "x.toml")
    assert [dict(setting.options).get("max_features") for setting in settings] == [1, (2, 2), None]
    assert dict(settings[2].options)["image_shape"] == (1, 2)
    data = load_dataset("two-moons")
    found = [run_setting(data, setting, 0, 0.9) for setting in settings]
    assert [one.error for one in found] == [""] * 3
    assert [one.first_layer for one in found] == [70] * 3
    # Of a sparse layer the weights that it has are counted; a window of one pixel has one.
    first = [one.parameters - 71 * one.second_layer - 2 * (one.second_layer + 1) for one in found]
    assert (first[0], first[2]) == (2 * 70, 2 * 70)
    assert 2 * 70 < first[1] <= 3 * 70


def test_a_cell_that_fails_says_where() -> None:
    found = run_setting(load_dataset("two-moons"), Setting("default", (("width", -1),)), 0, 0.2)
    assert "width must be" in found.error


def test_held_out_tells_the_two_kinds_of_sweeps_apart(folder: Path) -> None:
    assert isinstance(load_sweep(written(folder, HEAD + OPTIONS_GRID)), OptionSweep)
    plain = HEAD.replace("held_out = 0.25\n", "") + "width = [10]\nmax_bias = [1]"
    assert isinstance(load_sweep(written(folder, plain)), Experiment)
    with pytest.raises(ParameterError, match="held_out must be a share between 0 and 1, got 2"):
        load_sweep(written(folder, HEAD.replace("0.25", "2") + OPTIONS_GRID))
    with pytest.raises(ParameterError, match="unknown law"):
        load_sweep(written(folder, 'law = "gaussian"\n' + HEAD + OPTIONS_GRID))


def test_from_the_shell_with_a_stop_in_between(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, extent = str(written(folder, HEAD + OPTIONS_GRID)), ["-j", "1"]
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
    sweep, found = load_sweep(written(folder, HEAD + OPTIONS_GRID)), []
    assert isinstance(sweep, OptionSweep)
    for number, backend in enumerate((Backend(), Backend("processes", 2), Backend("threads", 2))):
        store = folder / f"{number}.jsonl"
        sweep_options(sweep, SweepOptions(store=store, output=folder / "out", figures=False, backend=backend))
        rows = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
        found.append(sorted(json.dumps({**row, "seconds": 0, "crc": ""}) for row in rows))
    assert len(found[0]) == 6
    assert found[0] == found[1] == found[2]
