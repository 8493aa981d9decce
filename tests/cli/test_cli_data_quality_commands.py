"""``exactfit suspects``: rows of the file, a model or probabilities beside them, and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.processes import Capture, error_of, output_of, write

from exactfit.cli import ExitCode

pytestmark = pytest.mark.usefixtures("at_fruit")


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
