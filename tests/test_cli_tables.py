"""Commands for tables: what they print, what they write, and how they end when something is wrong."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exactfit
from exactfit import InterpolatingClassifier
from exactfit.cli import ExitCode, app, main, options
from exactfit.persistence import container
from exactfit.tables import Encoding

SOURCE = Path(exactfit.__file__).parents[1]
FRUIT = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n120,yellow,pear\n90,red,pear\n"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    write("fruit.csv", FRUIT)
    return tmp_path


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


FIT = ["fit", "fruit.csv", "--label", "fruit", "-o", "m.exactfit", "--seed", "0"]


@pytest.fixture
def model(capsys: Capture) -> str:
    assert main(FIT) == 0
    capsys.readouterr()
    return "m.exactfit"


def output_of(arguments: list[str], capsys: Capture, code: int = 0) -> tuple[str, str]:
    assert main(arguments) == code, capsys.readouterr().err
    captured = capsys.readouterr()
    return captured.out, captured.err


def error_of(arguments: list[str], capsys: Capture, code: int) -> str:
    """The one line on standard error that says what is wrong."""
    out, err = output_of([*arguments, "--quiet"], capsys, code)
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("exactfit: ")
    return line


# ---------------------------------------------------------------- fit


def test_fit_prints_size_certificate_and_time_and_saves(capsys: Capture) -> None:
    out, err = output_of(FIT, capsys)
    model = exactfit.load("m.exactfit")
    assert out.startswith("fruit.csv: 5 points, 4 features, 3 classes\n")
    for name, size in zip(("hyperplanes", "detectors"), model.classifier_.network_.widths, strict=False):
        assert f"  {name:<13}  {size}\n" in out
    assert re.search(r"^  seconds        \d+\.\d\d$", out, re.MULTILINE)
    assert str(model.certify("fruit.csv")) in out
    assert model.classifier_.certificate_.proof == "recomputed"
    assert out.endswith("\nmodel: m.exactfit\n")
    assert err.startswith("fruit.csv: building")
    assert sorted(os.listdir()) == ["fruit.csv", "m.exactfit"]


def test_fit_as_json(capsys: Capture) -> None:
    out, _ = output_of([*FIT, "--json"], capsys)
    plain = json.loads(out)
    network = exactfit.load("m.exactfit").classifier_.network_
    assert (plain["rows"], plain["features"], plain["classes"]) == (5, 4, 3)
    assert [plain["hyperplanes"], plain["detectors"]] == list(network.widths[:2])
    assert plain["certificate"]["network_digest"] == network.digest
    assert plain["certificate"]["holds"]
    assert plain["model"] == "m.exactfit"
    assert plain["seconds"] > 0


def test_every_option_of_the_estimator_is_one_of_fit() -> None:
    own = {"target_class": "target", "jobs": "n_jobs", "seed": "random_state"}
    offered = {own.get(name, name) for name in inspect.signature(options.Estimator).parameters}
    assert offered == set(inspect.signature(InterpolatingClassifier).parameters) - {"verbose"}


def test_options_reach_the_estimator(capsys: Capture) -> None:
    write("two.csv", "x,y\n1,3\n2,7\n3,3\n")
    given = ["--min-width", "70", "--max-width", "9000", "--max-bias", "2.5", "--no-center", "--no-rescue", "-j", "1"]
    given += ["--hyperplanes", "bisector", "--activation", "relu", "--selection", "greedy", "--greedy-memory", "1000"]
    given += ["--target-class", "7", "--conflicts", "majority", "--seed", "5", "--scale", "none"]
    output_of(["fit", "two.csv", "--label", "y", "-o", "m", *given], capsys)
    model = exactfit.load("m")
    expected = {"min_width": 70, "max_width": 9000, "max_bias": 2.5, "center": False, "rescue": False, "n_jobs": 1}
    expected |= {"hyperplanes": "bisector", "activation": "relu", "selection": "greedy", "greedy_memory": 1000}
    expected |= {"target": 7, "conflicts": "majority", "random_state": 5, "width": "adaptive"}
    assert expected.items() <= model.classifier_.get_params().items()
    assert model.scale == "none"


def test_the_seed_decides_everything_else_nothing(capsys: Capture) -> None:
    digests = []
    for arguments in (FIT, [*FIT, "--force", "--quiet", "-j", "2"], [*FIT[:-1], "1", "--force"]):
        output_of(arguments, capsys)
        digests.append(exactfit.load("m.exactfit").classifier_.network_.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_width_that_misses_points_is_a_claim_that_fails(capsys: Capture) -> None:
    out, err = output_of([*FIT, "--width", "1"], capsys, ExitCode.FAILS)
    assert "certificate: fails for" in out
    assert "training points are missed" in err.splitlines()[-1]
    assert err.count("\n") == 2
    assert not exactfit.load("m.exactfit").classifier_.interpolates_


def test_quiet_says_nothing(capsys: Capture) -> None:
    for arguments in (["--quiet", *FIT], [*FIT, "-q", "--force"]):
        assert output_of(arguments, capsys)[1] == ""


def test_columns_are_dropped_and_categorical(capsys: Capture) -> None:
    write("t.csv", "id;zip;x;y\nq1;10115;1;a\nq2;80331;1;b\n")
    arguments = ["fit", "t.csv", "--label", "y", "-o", "m", "--separator", ";", "--drop", "id", "--categorical", "zip"]
    output_of(arguments, capsys)
    assert exactfit.load("m").features_ == ("zip=10115", "zip=80331", "x")


def test_rows_with_gaps_are_dropped_aloud(capsys: Capture) -> None:
    write("t.csv", "x,y\n1,a\n,b\n2,b\n")
    assert "1 empty cell, the first in row 1 (line 3), column 'x'" in error_of(
        ["fit", "t.csv", "--label", "y", "-o", "m"], capsys, ExitCode.DATA
    )
    _, err = output_of(["fit", "t.csv", "--label", "y", "-o", "m", "--missing", "drop-rows"], capsys)
    assert "t.csv: 1 rows with empty cells are left out" in err
    out, _ = output_of(["predict", "m", "t.csv", "--missing", "drop-rows"], capsys)
    assert out == "row,prediction\n0,a\n2,b\n"


# ---------------------------------------------------------------- predict, certify, info


def test_predict_writes_csv(model: str, capsys: Capture) -> None:
    out, err = output_of(["predict", model, "fruit.csv"], capsys)
    assert list(csv.reader(io.StringIO(out))) == [
        ["row", "prediction"],
        *([str(k), label] for k, label in enumerate(["apple", "banana", "apple", "pear", "pear"])),
    ]
    assert err == ""
    written, err = output_of(["predict", model, "fruit.csv", "-o", "answers.csv"], capsys)
    assert (written, Path("answers.csv").read_text(encoding="utf-8")) == ("", out)
    assert err == "answers.csv: written\n"


def test_predict_as_json(model: str, capsys: Capture) -> None:
    out, _ = output_of(["predict", model, "fruit.csv", "--json"], capsys)
    assert json.loads(out) == {"rows": [0, 1, 2, 3, 4], "predictions": ["apple", "banana", "apple", "pear", "pear"]}


def test_standard_input_and_standard_output(model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"colour\tweight\nred\t182\n")))
    out, _ = output_of(["predict", model, "-", "--separator", "tab"], capsys)
    assert out == "row,prediction\n0,apple\n"


def test_unseen_categories_are_one_line_on_standard_error(model: str, capsys: Capture) -> None:
    write("new.csv", "weight,colour\n182,mauve\n180,red\n90,pink\n")
    out, err = output_of(["predict", model, "new.csv"], capsys)
    assert out.count("\n") == 4
    assert err == (
        "exactfit: new.csv: categories unseen in training, encoded as all zeros: "
        "2 in column 'colour' (first 'mauve' in row 0 (line 2))\n"
    )


def test_without_a_header_columns_go_by_position(capsys: Capture) -> None:
    write("bare.csv", FRUIT.split("\n", 1)[1])
    fit = ["fit", "bare.csv", "--no-header", "--label", "2", "-o", "m"]
    output_of(fit, capsys)
    for content in ("182,red\n", "182,red,apple\n"):
        write("new.csv", content)
        assert output_of(["predict", "m", "new.csv", "--no-header"], capsys)[0] == "row,prediction\n0,apple\n"


def test_certify_proves_and_says_which_row_fails(model: str, capsys: Capture) -> None:
    out, err = output_of(["certify", model, "fruit.csv"], capsys)
    assert out == f"{exactfit.load(model).certify('fruit.csv')}\n"
    assert err == ""
    write(
        "wrong.csv", FRUIT.replace("120,yellow,pear", "120,yellow,banana").replace("118,yellow,banana\n", "118,,pear\n")
    )
    out, err = output_of(["certify", model, "wrong.csv", "--missing", "drop-rows"], capsys, ExitCode.FAILS)
    assert "certificate: fails for 1 of 4 points" in out
    assert err.splitlines()[-1] == "the first row in error is row 3 (line 5) of wrong.csv"
    out, _ = output_of(["certify", model, "wrong.csv", "--missing", "drop-rows", "--json"], capsys, ExitCode.FAILS)
    plain = json.loads(out)
    assert (plain["errors"], plain["rows_in_error"], plain["holds"]) == ([2], [3], False)


def test_certify_in_another_arithmetic(model: str, capsys: Capture) -> None:
    out, _ = output_of(["certify", model, "fruit.csv", "--arithmetic", "float32", "-j", "1"], capsys)
    assert "float32 arithmetic" in out
    assert "arithmetic must be one of" in error_of(
        ["certify", model, "fruit.csv", "--arithmetic", "decimal"], capsys, ExitCode.USAGE
    )


def test_info_shows_columns_and_certificate(model: str, capsys: Capture) -> None:
    out, _ = output_of(["info", model], capsys)
    loaded = exactfit.load(model)
    assert out.startswith("m.exactfit: 2 columns, 4 features, 3 classes\n")
    assert str(loaded.classifier_.certificate_) in out
    assert re.search(r"^weight +numeric +136\.2 +", out, re.MULTILINE)
    assert re.search(r"^colour +categorical +3: green, red, yellow$", out, re.MULTILINE)
    plain = json.loads(output_of(["info", model, "--json"], capsys)[0])
    assert plain["columns"][1] == {"name": "colour", "position": 1, "categories": ["green", "red", "yellow"]}
    assert plain["classes"] == ["apple", "banana", "pear"]
    assert plain["options"]["random_state"] == 0
    assert plain["certificate"] == loaded.classifier_.certificate_.to_dict()


def test_tables_are_drawn_on_terminals_that_are_wide_or_narrow(
    model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for width in (100, 40):
        for colours in ({"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}):
            with monkeypatch.context() as patch:
                for name, value in {"COLUMNS": str(width), **colours}.items():
                    patch.setenv(name, value)
                out, _ = output_of(["info", model], capsys)
            assert ("\x1b[32m" in out) == ("NO_COLOR" not in colours)
            drawn = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines() if line[:1] in "┏┃┡│└"]
            assert len(drawn) >= 6
            assert max(map(len, drawn)) <= width


# ---------------------------------------------------------------- data


def test_describe(capsys: Capture) -> None:
    out, _ = output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "0.5"], capsys)
    assert out.startswith("5 points, 4 features, 3 labels\n")
    plain = json.loads(
        output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "1e-9", "--json"], capsys)[0]
    )
    assert plain["sizes"] == {"apple": 2, "banana": 1, "pear": 2}
    assert plain["left_out"]


def test_npz_and_parquet_are_data_too(capsys: Capture) -> None:
    pd = pytest.importorskip("pandas")
    pd.read_csv("fruit.csv").to_parquet("fruit.parquet")
    output_of(["fit", "fruit.parquet", "--label", "fruit", "-o", "p", "--seed", "0"], capsys)
    output_of(FIT, capsys)
    digests = {exactfit.load(name).classifier_.network_.digest for name in ("p", "m.exactfit")}
    assert len(digests) == 1
    np.savez("t.npz", X=np.array([[0.0], [1.0]]), y=np.array([4, 5]))
    output_of(["fit", "t.npz", "-o", "n"], capsys)
    assert output_of(["predict", "n", "t.npz"], capsys)[0] == "row,prediction\n0,4\n1,5\n"
    np.savez("bare.npz", X=np.array([[0.0], [1.0]]))
    assert "holds no labels" in error_of(["fit", "bare.npz", "-o", "b"], capsys, ExitCode.USAGE)
    assert output_of(["predict", "n", "bare.npz"], capsys)[0] == "row,prediction\n0,4\n1,5\n"
    assert "labels are missing" in error_of(["certify", "n", "bare.npz"], capsys, ExitCode.DATA)


def test_explain_names_rows_and_anchors(model: str, capsys: Capture) -> None:
    out, _ = output_of(["explain", model, "fruit.csv", "--row", "3", "--row", "1"], capsys)
    assert out.startswith("row 1: 'banana': claimed by 'banana'\n  fires        detector ")
    assert "\nrow 3: 'pear': claimed by 'pear'\n" in out
    plain = json.loads(output_of(["explain", model, "fruit.csv", "--json"], capsys)[0])
    assert [one["row"] for one in plain] == [0, 1, 2, 3, 4]
    assert [one["label"] for one in plain] == ["apple", "banana", "apple", "pear", "pear"]
    anchors = exactfit.load(model).classifier_.anchors_.tolist()
    assert all(found["anchor"] in anchors for one in plain for found in one["fires"])
    assert "has no row 9" in error_of(["explain", model, "fruit.csv", "--row", "9"], capsys, ExitCode.USAGE)


def test_suspects_are_rows_of_the_file(capsys: Capture) -> None:
    rows = [(0.0, "a"), ("", "a"), (0.1, "a"), (0.2, "b"), (0.3, "a"), (5.0, "b"), (5.1, "b"), (5.2, "b")]
    write("t.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    command = ["suspects", "t.csv", "--label", "y", "--missing", "drop-rows", "--k", "2", "--top", "1"]
    header, line = output_of(command, capsys)[0].splitlines()
    assert header.split() == ["row", "label", "score", "claims", "support", "ball_ratio", "strangers", "conflicts"]
    assert line.split()[:2] == ["3", "b"]
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    (suspect,) = plain["suspects"]
    assert (plain["rows"], suspect["row"]) == (7, 3)
    assert set(suspect["conflicts"]) == {2, 4}


def test_compare_puts_constructions_side_by_side(capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20)))
    command = ["compare", "t.csv", "--label", "y", "--construction", "huang", "--time-limit", "60"]
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    assert [row["name"] for row in plain["rows"]] == ["huang"]
    assert plain["rows"][0]["certified"]


def test_noise_gives_rows_up_and_proves_the_rest(capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k >= 20]}\n" for k in range(40)) + "5.5,b\n")
    out, _ = output_of(["fit", "t.csv", "--label", "y", "-o", "m", "--noise", "0.05", "--seed", "0"], capsys)
    given_up = exactfit.load("m").classifier_.certificate_.given_up.tolist()
    assert given_up == [40]
    assert "certificate: holds for all 40 kept points" in out
    output_of(["certify", "m", "t.csv"], capsys, ExitCode.FAILS)


# ---------------------------------------------------------------- what is wrong is said in one line


@pytest.mark.parametrize(
    ("content", "arguments", "code", "says"),
    [
        (None, [], 2, "file 't.csv' does not exist"),
        ("", [], 3, "t.csv is empty"),
        ("x,y\n", [], 3, "has a header, but no rows"),
        ("x,z\n1,a\n", [], 2, "there is no column 'y'"),
        ("x,yy\n1,a\n", [], 2, "there is no column 'y'"),
        ("x,y\n1,a\ntwo,b\n", [], 3, "row 1 (line 3) holds the text 'two'"),
        ("x,y\n1,a\n1,b\n", [], 3, "rows 0 and 1 (lines 2 and 3)"),
        ("x,y\n1,a\n2,a\n", [], 3, "only one class"),
        ("x,y\n1,a\n2,b\n", ["--drop", "x"], 3, "no columns beside the labels"),
        ("x,y\n1,a\n2,b\n", ["--scale", "log"], 2, "scale must be one of"),
        ("x,y\n1,a\n2,b\n", ["--missing", "fill"], 2, "missing must be one of"),
        ("x,y\n1,a\n2,b\n", ["--separator", ";;"], 2, "separator must be one character"),
        ("x,y\n1,a\n2,b\n", ["--width", "wide"], 2, "--width must be a number"),
        ("x,y\n1,a\n2,b\n", ["--max-bias", "large"], 2, "--max-bias must be a number"),
        ("x,y\n1,1\n2,2\n", ["--target-class", "one"], 2, "--target-class must be a number"),
        ("x,y\n1,a\n2,b\n", ["--selection", "best"], 2, "selection must be"),
        ("x,y\n1,a\n2,b\n", ["--max-width", "1", "--min-width", "5"], 2, "max_width"),
        (b"x,y\n1,\xff\n", [], 3, "is not UTF-8"),
        ("x,y\n1,a\n2,b\n", ["--output", "no/such/folder"], 2, "there is no such folder"),
    ],
)
def test_fit_says_what_is_wrong(
    content: str | bytes | None, arguments: list[str], code: int, says: str, capsys: Capture
) -> None:
    if content is not None:
        write("t.csv", content)
    before = sorted(os.listdir())
    assert says in error_of(["fit", "t.csv", "--label", "y", "-o", "m", *arguments], capsys, code)
    assert sorted(os.listdir()) == before


def test_a_folder_is_no_table(capsys: Capture) -> None:
    assert "'.' is a folder" in error_of(["fit", ".", "--label", "y", "-o", "m"], capsys, ExitCode.USAGE)


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "fruit.csv", "--label", "fruit", "-o", "again", "--noise", "0.2"],
        ["predict", "m.exactfit", "fruit.csv"],
        ["certify", "m.exactfit", "fruit.csv"],
        ["explain", "m.exactfit", "fruit.csv"],
        ["suspects", "fruit.csv", "--label", "fruit", "--k", "2"],
    ],
)
def test_a_command_encodes_its_table_once(
    command: list[str], model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    encode = Encoding.encode
    monkeypatch.setattr(Encoding, "encode", lambda self, table: calls.append(len(table)) or encode(self, table))
    output_of(command, capsys)
    assert calls == [5]


@pytest.mark.parametrize("given", [["--target", "fruit"], ["--target=fruit"]])
def test_the_old_target_names_both_that_it_was(given: list[str], capsys: Capture) -> None:
    message = error_of(["fit", "fruit.csv", *given, "-o", "m"], capsys, ExitCode.USAGE)
    assert "--label names the column" in message
    assert "--target-class the class" in message


def test_a_label_must_be_named(capsys: Capture) -> None:
    for command in (["fit", "fruit.csv", "-o", "m"], ["describe", "fruit.csv"], ["compare", "fruit.csv"]):
        assert "--label NAME" in error_of(command, capsys, ExitCode.USAGE)


@pytest.mark.parametrize("command", ["predict", "certify", "explain"])
def test_models_that_cannot_be_used(command: str, model: str, capsys: Capture) -> None:
    def newer(header: dict[str, Any]) -> dict[str, Any]:
        return header | {"format": 2, "saved_with": {"versions": {"exactfit": "7.1"}}}

    header, tensors = container.read_model(Path(model))
    container.write_model(Path("newer"), newer(header), tensors)
    write("damaged", Path(model).read_bytes()[:-1] + b"!")
    write("empty", b"")
    exactfit.save(InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1]), "bare")
    for name, code, says in (
        ("newer", 3, "exactfit 7.1 wrote it in format 2"),
        ("damaged", 3, "has changed"),
        ("empty", 3, "it is empty"),
        ("fruit.csv", 3, "not a model that exactfit saved"),
        ("bare", 3, "without the columns of a table"),
        ("none", 2, "file 'none' does not exist"),
    ):
        assert says in error_of([command, name, "fruit.csv"], capsys, code)


def test_data_that_do_not_fit_the_model(model: str, capsys: Capture) -> None:
    for content, says in (
        ("weight,color\n1,red\n", "no column 'colour': did you mean 'color'?"),
        ("weight,colour\nheavy,red\n", "row 0 (line 2) holds the text 'heavy'"),
        ("weight,colour\n,red\n", "1 empty cell"),
    ):
        write("new.csv", content)
        assert says in error_of(["predict", model, "new.csv"], capsys, ExitCode.DATA)
    write("new.csv", "weight,colour\n1,red\n")
    assert "the labels are missing" in error_of(["certify", model, "new.csv"], capsys, ExitCode.DATA)
    assert "2 columns" not in error_of(["predict", model, "new.csv", "--no-header"], capsys, ExitCode.DATA)


def test_files_are_not_overwritten_unless_asked(model: str, capsys: Capture) -> None:
    before = Path(model).read_bytes()
    write("there", "old")
    for command in ([*FIT[:-1], "1"], ["predict", model, "fruit.csv", "-o", "there"], ["export", model, "-o", "there"]):
        assert "exists: give another name, or --force" in error_of(command, capsys, ExitCode.USAGE)
    assert (Path(model).read_bytes(), Path("there").read_text(encoding="utf-8")) == (before, "old")
    output_of(["predict", model, "fruit.csv", "-o", "there", "--force"], capsys)
    assert Path("there").read_text(encoding="utf-8").startswith("row,prediction\n")


def test_exports_are_onnx(model: str, capsys: Capture) -> None:
    assert "ends in .onnx" in error_of(["export", model, "-o", "m.pt"], capsys, ExitCode.USAGE)
    pytest.importorskip("onnx")
    assert output_of(["export", model, "-o", "m.onnx"], capsys)[0] == "model: m.onnx\n"
    assert Path("m.onnx").stat().st_size > 0


# ---------------------------------------------------------------- writes that fail


LIMITED = """
import resource, sys
from exactfit.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_write_that_fails_half_way_leaves_the_old_file(model: str) -> None:
    before = Path(model).read_bytes()
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    arguments = [*FIT, "--force", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitCode.USAGE
    (line,) = done.stderr.splitlines()
    assert "cannot save the model: File too large" in line
    assert Path(model).read_bytes() == before
    assert sorted(os.listdir()) == ["fruit.csv", "m.exactfit"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file(
    step: str, model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = Path(model).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupt)
        _, err = output_of([*FIT, "--force"], capsys, ExitCode.INTERRUPTED)
    assert err.splitlines()[-1] == "exactfit: interrupted"
    assert Path(model).read_bytes() == before
    assert sorted(os.listdir()) == ["fruit.csv", "m.exactfit"]


# ---------------------------------------------------------------- help and completion


def commands() -> list[str]:
    import typer

    return sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_the_commands_are_these() -> None:
    expected = ["certify", "compare", "demo", "describe", "explain", "export", "fit", "info", "predict", "reproduce"]
    assert commands() == [*expected, "suspects", "sweep", "trials"]


@pytest.mark.parametrize("command", [*commands(), "trials merge", "trials summary", "trials cost"])
def test_every_help_has_an_example_and_the_exit_codes(command: str, capsys: Capture) -> None:
    out, err = output_of([*command.split(), "--help"], capsys)
    text = " ".join(out.split())
    assert "Exit codes: 0 fine, 1 the claim does not hold, 2 usage, 3 bad data, 130 interrupted." in text
    assert f"Example: exactfit {command} " in text or command == "trials"
    assert err == ""


def test_the_help_lists_all_exit_codes(capsys: Capture) -> None:
    text = " ".join(output_of(["--help"], capsys)[0].split())
    for code in ExitCode:
        assert f" {code:d} {options.MEANINGS[code]}" in text


@pytest.mark.parametrize(
    ("words", "position", "offers"),
    [("exactfit f", "1", "fit"), ("exactfit fit --lab", "2", "--label"), ("exactfit predict --jso", "2", "--json")],
)
def test_the_shell_completes(
    words: str, position: str, offers: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_EXACTFIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert offers in capsys.readouterr().out.split()


def test_completion_can_be_shown(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    assert main(["--show-completion"]) == 0
    assert "_EXACTFIT_COMPLETE=complete_bash" in capsys.readouterr().out
