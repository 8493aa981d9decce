"""``exactfit repair``: an ONNX model and rows in, an ONNX model that is right on them out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.networks import two_layers
from helpers.processes import Capture, output_of

from exactfit.cli import main

pytest.importorskip("onnx")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
onnxruntime = pytest.importorskip("onnxruntime")

HEADER = "a,b,c,d,e,f,y"


def answers(path: Path, X: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return session.run(["label"], {"points": X.astype(np.float32)})[0]


def table(path: Path, X: np.ndarray, y) -> None:
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).integers(-9, 10, (40, 6)).astype(float)
    np.save("X.npy", X)
    Path("model.onnx").write_bytes(two_layers(6, 4).SerializeToString())
    table(tmp_path / "failures.csv", X[:10], np.arange(10) % 4)
    table(tmp_path / "golden.csv", X[10:], np.arange(30) % 4)
    return tmp_path


COMMAND = ["repair", "model.onnx", "failures.csv", "--keep", "golden.csv", "--label", "y", "-o", "repaired.onnx"]


def test_every_row_of_both_tables_is_right(folder: Path, capsys: Capture) -> None:
    out, _ = output_of(COMMAND, capsys)
    X = np.load("X.npy")
    assert answers(folder / "repaired.onnx", X).tolist() == [*(np.arange(10) % 4), *(np.arange(30) % 4)]
    assert "certificate: holds for all 40 points (proof: recomputed, float32 arithmetic)" in out
    assert "model: repaired.onnx" in out


def test_a_report_as_json(folder: Path, capsys: Capture) -> None:
    out, _ = output_of([*COMMAND, "--json", "--reach", "0.5", "--patches", "mask", "--seed", "1"], capsys)
    told = json.loads(out)
    assert told["certificate"]["holds"]
    assert told["n_given"] == 40
    assert len(told["patches"]) <= told["n_wrong"]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda given: [*given[:-1], "repaired.pkl"], 2, "end"),
        (lambda given: [*given, "--reach", "far"], 2, "'--reach': must be a number"),
        (lambda given: [*given, "--patches", "cube"], 2, "'cube' is not one of"),
        (lambda given: [*given, "--exact-in", "half"], 2, "'half' is not one of"),
        (lambda given: [part for part in given if part not in ("--label", "y")], 2, "--label NAME"),
        (lambda given: [*given, "--drop", "f"], 3, "X has 5 features, the model takes 6"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change, code, message, folder: Path, capsys: Capture) -> None:
    assert main(change(COMMAND)) == code
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "repaired.onnx").exists()


def refused(folder: Path, capsys: Capture) -> str:
    assert main(COMMAND) == 3
    assert not (folder / "repaired.onnx").exists()
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_tables_that_contradict_each_other_are_refused(folder: Path, capsys: Capture) -> None:
    X = np.load("X.npy")
    table(folder / "golden.csv", X[[20, 3]], [0, 0])
    line = refused(folder, capsys)
    assert "failures.csv" in line
    assert "golden.csv" in line
    assert "different labels" in line


def test_rows_that_the_model_cannot_know_are_refused(folder: Path, capsys: Capture) -> None:
    X = np.load("X.npy")
    table(folder / "golden.csv", X[20:22], [0, 9])
    assert "none of the model's classes 0, 1, 2, 3" in refused(folder, capsys)
    table(folder / "golden.csv", X[20:22], ["no", "yes"])
    assert "different kinds" in refused(folder, capsys)
    (folder / "failures.csv").write_text(f"{HEADER}\n1,2,3,4,5,red,0\n1,2,3,4,5,blue,1\n")
    assert "column 'f' of failures.csv holds no numbers" in refused(folder, capsys)


def test_an_old_file_is_not_replaced_unasked(folder: Path, capsys: Capture) -> None:
    (folder / "repaired.onnx").write_text("old")
    assert main(COMMAND) == 2
    assert (folder / "repaired.onnx").read_text() == "old"
    assert main([*COMMAND, "--force"]) == 0
