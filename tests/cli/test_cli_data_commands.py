"""Commands about data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Capture, error_of, output_of, write

import exactfit
from exactfit import read_table
from exactfit.cli import ExitCode, main
from exactfit.lab import evaluation

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_damaged_tables_are_one_line_and_exit_code_3(ending: str, capsys: Capture) -> None:
    rng, frame = np.random.default_rng(1), pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    if ending == "npz":
        np.savez_compressed("t.npz", X=frame[["x"]].to_numpy(), y=frame["y"].to_numpy())
    else:
        frame.to_parquet("t.parquet")
    whole, codes = Path(f"t.{ending}").read_bytes(), set()
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        Path(f"t.{ending}").write_bytes(damaged)
        codes.add(code := main(["fit", f"t.{ending}", "--label", "y", "--dry-run"]))
        message = capsys.readouterr().err
        assert code == ExitCode.FINE or (message.startswith("exactfit: ") and message.count("\n") == 1), message
    assert ExitCode.DATA in codes
    assert codes <= {ExitCode.FINE, ExitCode.DATA}


def test_describe(capsys: Capture) -> None:
    out, _ = output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "0.5"], capsys)
    assert out.startswith("5 points, 4 features, 3 labels\n")
    plain = json.loads(
        output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "1e-9", "--json"], capsys)[0]
    )
    assert plain["sizes"] == {"apple": 2, "banana": 1, "pear": 2}
    assert plain["left_out"]


def test_suspects_are_rows_of_the_file(capsys: Capture) -> None:
    rows = [(0.0, "a"), ("", "a"), (0.1, "a"), (0.2, "b"), (0.3, "a"), (5.0, "b"), (5.1, "b"), (5.2, "b")]
    write("t.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    command = ["suspects", "t.csv", "--label", "y", "--missing", "drop-rows", "--k", "2", "--top", "1"]
    header, line, *others = output_of(command, capsys)[0].splitlines()
    assert header.split() == ["row", "label", "looks", "like", "score", "why", "x"]
    assert line.split()[:3] == ["3", "b", "a"]
    assert line.split()[-1] == "0.2"
    assert {other.split()[-1] for other in others[:2]} == {"0.1", "0.3"}
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    (suspect,) = plain["suspects"]
    assert (plain["n_rows"], suspect["row"]) == (7, 3)
    assert set(suspect["conflicts"]) == {2, 4}


@pytest.mark.parametrize("model", ["random-forest", "logistic-regression", "gradient-boosting"])
def test_suspects_may_ask_a_model(model: str, capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k >= 15 or k == 7]}\n" for k in range(30)))
    command = ["suspects", "t.csv", "--label", "y", "--json", "--top", "1"]
    plain = json.loads(output_of([*command, "--model", model], capsys)[0])
    assert plain["suspects"][0]["row"] == 7


def test_suspects_take_probabilities_from_a_file(capsys: Capture) -> None:
    rows = [(0.0, "a"), ("", "a"), (0.1, "a"), (0.2, "a"), (5.0, "b"), (5.1, "b"), (5.2, "b")]
    write("t.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    write("p.csv", "0.9,0.1\n" * 3 + "0.01,0.99\n" + "0.1,0.9\n" * 3)
    command = ["suspects", "t.csv", "--label", "y", "--missing", "drop-rows", "--json", "--pred-probs", "p.csv"]
    plain = json.loads(output_of([*command, "--k", "2"], capsys)[0])
    assert plain["suspects"][0]["row"] == 3
    write("q.csv", "x\n")
    error = error_of([*command[:-1], "q.csv"], capsys, ExitCode.DATA)
    assert "q.csv must hold an array of numbers" in error


def test_suspects_write_a_page(capsys: Capture) -> None:
    command = ["suspects", "fruit.csv", "--label", "fruit", "--k", "2", "--report", "page.html"]
    assert "page.html: written" in output_of(command, capsys)[1]
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "exists" in error_of(command, capsys, ExitCode.USAGE)
    output_of([*command, "--force", "-o", "list.txt"], capsys)
    assert Path("list.txt").read_text(encoding="utf-8").startswith("row  label")
    error = error_of([*command[:-2], "--image-shape", "8,8"], capsys, ExitCode.USAGE)
    assert "--report" in error


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
    monkeypatch.setattr(evaluation, "SETTINGS", {"7 networks": {"n_networks": 7}})
    write_noise()
    out, _ = output_of([*EVALUATE, "--min-width", "64"], capsys)
    assert out.splitlines()[0] == "30 points, 2 classes, 2 folds"
    assert [line.split("  ")[0] for line in out.splitlines()[2:5]] == ["as given", "7 networks", "majority"]
    assert out.splitlines()[-1].startswith("InterpolatingClassifier(")
    plain = json.loads(output_of([*EVALUATE, "--min-width", "64", "--json"], capsys)[0])
    table = read_table("t.csv", label="y")
    own = exactfit.evaluate({"min_width": 64}, table, n_folds=2, n_repeats=1)
    assert plain["standings"][0]["accuracy"] == own["as given"].accuracy
    assert (plain["end"], plain["n_samples"]) == ("all folds", 30)


def test_evaluate_ends_in_time_and_keeps_what_is_done(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    write_noise()
    plain = json.loads(output_of([*EVALUATE, "--time-limit", "1e-9", "--json"], capsys)[0])
    assert (plain["end"], plain["standings"]) == ("time limit", [])
    calls, scored = [], evaluation.fold_scores

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(evaluation, "fold_scores", interrupted)
    out, _ = output_of(EVALUATE, capsys, ExitCode.INTERRUPTED)
    assert out.splitlines()[0] == "30 points, 2 classes, 1 folds (interrupted)"
    assert [line.split("  ")[0] for line in out.splitlines()[2:4]] == ["as given", "majority"]


def test_evaluate_says_what_is_wrong(capsys: Capture) -> None:
    write_noise()
    assert "scale must be one of" in error_of([*EVALUATE, "--scale", "log"], capsys, ExitCode.USAGE)
    assert "a class has 15 points" in error_of([*EVALUATE[:-4], "--folds", "16"], capsys, ExitCode.USAGE)
