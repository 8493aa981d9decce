"""Commands that measure and try; what those of the lab compute and draw is tested with the lab."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.processes import Capture, error_of, output_of, write

import exactfit
from exactfit import read_table
from exactfit.cli import ExitCode
from exactfit.lab import evaluation

pytestmark = pytest.mark.usefixtures("at_fruit")


def test_describe(capsys: Capture) -> None:
    out, _ = output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "0.5"], capsys)
    assert out.startswith("5 points, 4 features, 3 labels\n")
    plain = json.loads(
        output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "1e-9", "--json"], capsys)[0]
    )
    assert plain["sizes"] == {"apple": 2, "banana": 1, "pear": 2}
    assert plain["left_out"]


def test_compare_puts_constructions_side_by_side(capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20)))
    command = ["compare", "t.csv", "--label", "y", "--construction", "huang", "--time-limit", "60"]
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    assert [row["name"] for row in plain["rows"]] == ["huang"]
    assert plain["rows"][0]["certified"]


EVALUATE = ["evaluate", "t.csv", "--label", "y", "--folds", "2", "--repeats", "1"]


def write_noise() -> None:
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'rgb'[k % 3]},{'ab'[k % 2]}" for k in range(30)]
    write("t.csv", "x,colour,y\n" + "\n".join(rows) + "\n")


def test_evaluate_prints_a_table_and_a_line_to_paste(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "SETTINGS", {"70 hyperplanes": {"min_width": 70}})
    write_noise()
    out, _ = output_of([*EVALUATE, "--min-width", "64"], capsys)
    assert out.splitlines()[0] == "30 points, 2 classes, 2 folds"
    assert [line.split("  ")[0] for line in out.splitlines()[2:5]] == ["as given", "70 hyperplanes", "majority"]
    assert "no setting is better beyond chance" in out.splitlines()[-2]
    assert out.splitlines()[-1] == (
        "exactfit fit t.csv --label y --conflicts majority --min-width 64 --seed 0 -o model.exactfit"
    )
    plain = json.loads(output_of([*EVALUATE, "--min-width", "64", "--json"], capsys)[0])
    table = read_table("t.csv", label="y")
    own = exactfit.evaluate({"min_width": 64}, table, n_folds=2, n_repeats=1)
    assert plain["standings"][0]["accuracy"] == own["as given"].accuracy
    assert (plain["end"], plain["n_samples"]) == ("all folds", 30)
    assert plain["command"] == out.splitlines()[-1]


OPTIONS = [
    ["--scale", "none", "--drop", "colour"],
    ["--preset", "paper", "--center", "--width", "300"],
    ["--no-fallback-cuts", "--max-features", "2,3", "--target-class", "b", "--margin", "1%", "--jobs", "1"],
    ["--target-class", "all", "--missing-values", "", "--missing", "drop-rows", "--seed", "7"],
]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_command_that_evaluate_prints_fits_the_model_that_it_measured(
    options: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "SETTINGS", {})
    monkeypatch.setattr(evaluation, "usual_classifiers", lambda seed: {})
    write_noise()
    command = shlex.split(output_of([*EVALUATE, *options], capsys)[0].splitlines()[-1])
    output_of(command[1:], capsys)
    seed = [] if "--seed" in options else ["--seed", "0"]
    output_of(
        ["fit", "t.csv", "--label", "y", "--conflicts", "majority", *options, *seed, "-o", "own.exactfit"], capsys
    )
    assert Path("own.exactfit").read_bytes() == Path("model.exactfit").read_bytes()


def test_evaluate_ends_in_time_and_keeps_what_is_done(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    write_noise()
    plain = json.loads(output_of([*EVALUATE, "--time-limit", "1e-9", "--json"], capsys)[0])
    assert (plain["end"], plain["standings"], plain["command"]) == ("time limit", [], None)
    assert plain["missing"]["as given"] == "time limit"
    assert output_of([*EVALUATE, "--time-limit", "1e-9"], capsys)[0].splitlines()[-1] == "nothing was measured"
    calls, scored = [], evaluation.fold_scores

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(evaluation, "fold_scores", interrupted)
    out, _ = output_of(EVALUATE, capsys, ExitCode.INTERRUPTED)
    assert out.splitlines()[0] == "30 points, 2 classes, 1 fold (interrupted)"
    assert [line.split("  ")[0] for line in out.splitlines()[2:4]] == ["as given", "majority"]


def test_evaluate_says_what_is_wrong(capsys: Capture) -> None:
    write_noise()
    assert "'log' is not one of" in error_of([*EVALUATE, "--scale", "log"], capsys, ExitCode.USAGE)
    assert "a class has 15 points" in error_of([*EVALUATE[:-4], "--folds", "16"], capsys, ExitCode.USAGE)
