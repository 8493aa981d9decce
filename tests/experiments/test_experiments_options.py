"""Sweeps over options: cells, what a run measures, how a file is read; rows that a stop does not cost, a summary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import write_points
from sklearn.model_selection import train_test_split
from toys import HELD_OUT, OPTIONS_GRID, write_toml

from exactfit import InterpolatingClassifier, ParameterError
from exactfit.lab import load_dataset
from experiments.__main__ import main
from experiments.experiment import load_experiment
from experiments.options import OptionGrid, settings_of
from experiments.sweep import SweepOptions, run_experiment, run_task
from experiments.widths import WidthGrid


@pytest.fixture
def folder(here: Path) -> Path:
    write_points(here)
    return here


def written(text: str) -> Path:
    return Path(write_toml("points.toml", text))


def grid_of(*grids: dict, held_out: float = 0.25) -> OptionGrid:
    return OptionGrid(settings_of(grids, "x.toml"), held_out)


def test_an_option_that_a_construction_does_not_have_makes_no_cells_for_it() -> None:
    grid = {"construction": ["default", "adaptive-width", "1-nn"], "detectors": ["mask", "weighted"], "margin": [0, 1]}
    found = settings_of([grid, grid], "x.toml")
    assert len(found) == 4 + 4 + 1
    assert next(iter(found)) == "default, detectors mask, margin 0"
    with pytest.raises(ParameterError, match="none of 1-nn has the option margin"):
        settings_of([{"construction": "1-nn", "margin": 1}], "x.toml")
    with pytest.raises(ParameterError, match="no construction is called 'none': choose from default, adaptive-width"):
        settings_of([{"construction": "none"}], "x.toml")


def test_a_run_measures_what_the_same_model_gives_by_hand() -> None:
    data, grid = load_dataset("two-moons"), grid_of({"margin": "10%", "min_width": 300}, held_out=0.4)
    ((cell,),) = grid.groups(data)
    (found,) = grid.run(data, 3, [cell])
    kept, others = train_test_split(np.arange(1000), test_size=0.4, random_state=3, stratify=data.y)
    assert len(others) == 400
    model = InterpolatingClassifier(min_width=300, margin="10%", random_state=3).fit(data.X[kept], data.y[kept])
    assert found["setting"] == "default, margin 10%, min_width 300"
    assert found["accuracy"] == model.score(data.X[others], data.y[others])
    assert (found["first_layer"], found["second_layer"]) == model.network_.widths[:2]
    assert found["missed"] == 0


def test_sparse_hyperplanes_and_their_features_are_options_of_a_grid() -> None:
    base = {"hyperplanes": "sparse", "width": 70}
    features, shape = {"max_features": [1, [2, 2]]}, {"image_shape": [[1, 2]]}
    grid = grid_of(base | features, base | shape, held_out=0.9)
    options = [setting.options for setting in grid.settings.values()]
    assert [one.get("max_features") for one in options] == [1, (2, 2), None]
    assert options[2]["image_shape"] == (1, 2)
    data = load_dataset("two-moons")
    found = [row for cells in grid.groups(data) for row in grid.run(data, 0, cells)]
    assert [one["first_layer"] for one in found] == [70] * 3
    # Of a sparse layer the weights that it has are counted; a window of one pixel has one.
    first = [one["parameters"] - 71 * one["second_layer"] - 2 * (one["second_layer"] + 1) for one in found]
    assert (first[0], first[2]) == (2 * 70, 2 * 70)
    assert 2 * 70 < first[1] <= 3 * 70


def test_a_cell_that_fails_says_where() -> None:
    grid = grid_of({"width": -1})
    _, (row,) = run_task(grid, load_dataset("two-moons"), 0, 0, [("default, width -1",)])
    assert row["setting"] == "default, width -1"
    assert "width must be" in row["error"]


@pytest.mark.usefixtures("folder")
def test_held_out_tells_the_two_kinds_of_sweeps_apart() -> None:
    assert isinstance(load_experiment(written(HELD_OUT + OPTIONS_GRID)).grid, OptionGrid)
    plain = HELD_OUT.replace("held_out = 0.25\n", "") + "width = [10]\nmax_bias = [1]"
    assert isinstance(load_experiment(written(plain)).grid, WidthGrid)
    with pytest.raises(ParameterError, match="held_out must be a fraction between 0 and 1, got 2"):
        load_experiment(written(HELD_OUT.replace("0.25", "2") + OPTIONS_GRID))
    with pytest.raises(ParameterError, match="unknown center"):
        load_experiment(written("center = false\n" + HELD_OUT + OPTIONS_GRID))


def test_from_the_shell_with_a_stop_in_between(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = str(written(HELD_OUT + OPTIONS_GRID)), folder / "exactfit-results" / "points.jsonl"
    assert main(["sweep", path, "-j", "1", "--runs", "1"]) == 0
    with store.open("a", encoding="utf-8") as file:
        file.write('{"half a li')
    assert main(["sweep", path, "-j", "1"]) == 0
    assert "3 trials are there, 3 to run" in capsys.readouterr().err
    lines = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
    headers, rows = [line for line in lines if "header" in line], [line for line in lines if "in" in line]
    assert {(header["standing"], header["scheme"]) for header in headers} == {("own", "held-out")}
    assert len({(row["setting"], row["run"]) for row in rows}) == len(rows) == 6
    head, *cells = (folder / "exactfit-results" / "points" / "points.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("data,standing,digest,scheme,setting,runs,interpolating,probability,probability_low")
    assert "accuracy,accuracy_low,accuracy_high,first_layer,second_layer,neurons,parameters,seconds" in head
    assert [line.partition("held-out,")[2].split(",2,2,1,")[0] for line in cells] == [
        "1-nn", '"default, detectors mask"', '"default, detectors weighted"'
    ]  # fmt: skip
    expected = np.mean([row["accuracy"] for row in rows if row["setting"] == "1-nn"])
    assert float(cells[0].split(",")[10]) == pytest.approx(expected, abs=1e-5)
    assert (folder / "exactfit-results" / "points" / "points.png").stat().st_size > 1000


@pytest.mark.usefixtures("folder")
def test_failures_are_told_and_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(HELD_OUT + "width = [-1, 50]"))
    for _ in range(2):
        assert main(["sweep", path, "-j", "1"]) == 1
    assert "2 trials are there, 2 to run" in capsys.readouterr().err


def test_several_processes_give_the_same_rows(folder: Path) -> None:
    sweep, found = load_experiment(written(HELD_OUT + OPTIONS_GRID)), []
    for jobs in (1, 2):
        store = folder / f"{jobs}.jsonl"
        run_experiment(sweep, SweepOptions(store=store, output=folder / "out", figures=False, jobs=jobs))
        rows = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()[1:]]
        found.append(sorted(json.dumps({**row, "in": "", "seconds": 0, "crc": ""}) for row in rows))
    assert len(found[0]) == 6
    assert found[0] == found[1]
