"""Sweeps over options: what is a cell, what a run measures, and how a file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_options import GRID, HEAD, write_points, written

from exactfit import InterpolatingClassifier, ParameterError
from exactfit.lab import Experiment, load_dataset, load_sweep
from exactfit.lab.comparing import hold_out
from exactfit.lab.option_sweep import OptionSweep, Setting, run_setting, settings_of


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


def test_a_cell_that_fails_says_where() -> None:
    found = run_setting(load_dataset("two-moons"), Setting("default", (("width", -1),)), 0, 0.2)
    assert "width must be" in found.error


def test_held_out_tells_the_two_kinds_of_sweeps_apart(folder: Path) -> None:
    assert isinstance(load_sweep(written(folder, HEAD + GRID)), OptionSweep)
    plain = HEAD.replace("held_out = 0.25\n", "") + "width = [10]\nmax_bias = [1]"
    assert isinstance(load_sweep(written(folder, plain)), Experiment)
    with pytest.raises(ParameterError, match="held_out must be a share between 0 and 1, got 2"):
        load_sweep(written(folder, HEAD.replace("0.25", "2") + GRID))
    with pytest.raises(ParameterError, match="unknown law"):
        load_sweep(written(folder, 'law = "gaussian"\n' + HEAD + GRID))
