"""Commands about models: what they print, what they write, and how they end when something is wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.processes import FIT, SOURCE, Capture, error_of, fit_fruit, output_of, write

import exactfit
from exactfit import InterpolatingClassifier, demo
from exactfit.cli import DEMO, ExitCode, main
from exactfit.persistence import container
from exactfit.tables import Encoding

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.fixture
def model(capsys: Capture) -> str:
    return fit_fruit(capsys)


def test_demo_prints_sizes_certificates_and_the_path_of_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == ExitCode.FINE
    out, err = capsys.readouterr()
    moons, digits, picture = out.split("\n\n")
    for text, name, n_points in ((moons, "Two Moons", 1000), (digits, "Digits", 1797)):
        shown = demo.exhibit(name)
        assert text.startswith(f"{name}: {n_points} points")
        for what, size in shown.sizes().items():
            assert f"  {what:<13}  {size}\n" in text
        assert text.endswith(str(shown.certificate))
    path = Path(picture.strip().removeprefix("picture: "))
    assert path == DEMO / "two-moons.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "\x1b" not in out + err
    assert "Two Moons" in err
    assert "certificate:" not in err


def test_demo_takes_a_folder_and_a_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "not" / "there yet"
    assert main(["demo", "--output", str(folder), "--seed", "3"]) == ExitCode.FINE
    out = capsys.readouterr().out
    assert out.endswith(f"picture: {folder / 'two-moons.png'}\n")
    assert demo.exhibit("Two Moons", 3).certificate.network_digest in out


def test_demo_says_when_a_claim_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = demo.exhibit("Two Moons")
    failing = replace(good.certificate, holds=False, n_errors=1, errors=np.array([7]))
    monkeypatch.setattr(demo, "exhibit", lambda *_: replace(good, certificate=failing))
    assert main(["demo", "--output", str(tmp_path)]) == ExitCode.FAILS
    assert "certificate: fails for 1 of 1000 points" in capsys.readouterr().out


def test_without_matplotlib_the_numbers_come_and_the_message_says_how_to_get_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--output", str(tmp_path)]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out.count("certificate: holds") == 2
    assert err.splitlines()[-1] == "exactfit: pictures need matplotlib: pip install matplotlib"


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
    assert err.splitlines()[:3] == [
        "  weight  number, 90 to 182",
        "  colour  category, 3 levels",
        "  fruit   label, 3 classes",
    ]
    assert err.splitlines()[3].startswith("fruit.csv: building")
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
    assert err.count("\n") == 5  # three columns, what is being done, and what came of it
    assert not exactfit.load("m.exactfit").classifier_.interpolates_


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


def test_a_small_table_is_answered_without_the_compiler(model: str, capsys: Capture) -> None:
    code = f"""import sys
from exactfit.cli import main
assert main(["predict", {model!r}, "fruit.csv"]) == 0
assert "numba" not in sys.modules"""
    found = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert main(["predict", model, "fruit.csv"]) == 0
    assert found.stdout == capsys.readouterr().out


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
    write("bare.csv", Path("fruit.csv").read_text(encoding="utf-8").split("\n", 1)[1])
    fit = ["fit", "bare.csv", "--no-header", "--label", "2", "-o", "m"]
    output_of(fit, capsys)
    for content in ("182,red\n", "182,red,apple\n"):
        write("new.csv", content)
        assert output_of(["predict", "m", "new.csv", "--no-header"], capsys)[0] == "row,prediction\n0,apple\n"


def test_certify_proves_and_says_which_row_fails(model: str, capsys: Capture) -> None:
    out, err = output_of(["certify", model, "fruit.csv"], capsys)
    assert out == f"{exactfit.load(model).certify('fruit.csv')}\n"
    assert err == ""
    whole = Path("fruit.csv").read_text(encoding="utf-8")
    write(
        "wrong.csv", whole.replace("120,yellow,pear", "120,yellow,banana").replace("118,yellow,banana\n", "118,,pear\n")
    )
    out, err = output_of(["certify", model, "wrong.csv", "--missing", "drop-rows"], capsys, ExitCode.FAILS)
    assert "certificate: fails for 1 of 4 points" in out
    assert err.splitlines()[-1] == "the first row in error is row 3 (line 5) of wrong.csv"
    out, _ = output_of(["certify", model, "wrong.csv", "--missing", "drop-rows", "--json"], capsys, ExitCode.FAILS)
    plain = json.loads(out)
    assert (plain["errors"], plain["rows_in_error"], plain["holds"]) == ([3], [3], False)


def test_certify_in_another_arithmetic(model: str, capsys: Capture) -> None:
    out, _ = output_of(["certify", model, "fruit.csv", "--arithmetic", "float32", "-j", "1"], capsys)
    assert "float32 arithmetic" in out
    assert "'decimal' is not one of" in error_of(
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


def test_explain_names_rows_and_anchors(model: str, capsys: Capture) -> None:
    out, _ = output_of(["explain", model, "fruit.csv", "--row", "3", "--row", "1"], capsys)
    assert out.startswith("row 1: 'banana': claimed by 'banana'\n  fires        detector ")
    assert "\nrow 3: 'pear': claimed by 'pear'\n" in out
    plain = json.loads(output_of(["explain", model, "fruit.csv", "--json"], capsys)[0])
    assert [one["row"] for one in plain] == [0, 1, 2, 3, 4]
    assert [one["label"] for one in plain] == ["apple", "banana", "apple", "pear", "pear"]
    anchors = exactfit.load(model).classifier_.anchors_.tolist()
    assert all(found["anchor"] in anchors for one in plain for found in one["fires"])
    out, _ = output_of(["explain", model, "fruit.csv", "--row", "1", "--radii"], capsys)
    assert re.search(r"^  may move +by [\d.e-]+ without changing its answer$", out, re.MULTILINE)
    assert "has no row 9" in error_of(["explain", model, "fruit.csv", "--row", "9"], capsys, ExitCode.USAGE)


def test_explain_says_what_holds_in_the_words_of_the_table(capsys: Capture) -> None:
    rows = [(weight, colour) for weight in range(100, 200, 5) for colour in ("red", "green", "yellow")]
    lines = [f"{weight},{colour},{'apple' if weight > 150 else 'plum'}" for weight, colour in rows]
    write("fruit2.csv", "\n".join(["weight,colour,fruit", *lines]) + "\n")
    classifier = exactfit.InterpolatingClassifier(hyperplanes="sparse", width=512, random_state=0)
    exactfit.save(exactfit.TableModel(classifier).fit("fruit2.csv", label="fruit"), "sparse.exactfit")
    out, _ = output_of(["explain", "sparse.exactfit", "fruit2.csv", "--row", "59"], capsys)
    assert re.search(r"^  because +weight >=? 1\d\d \(195, by \d+; in \d+% of rows; slack 0\.\d+\)$", out, re.MULTILINE)
    (one,) = json.loads(output_of(["explain", "sparse.exactfit", "fruit2.csv", "--row", "59", "--json"], capsys)[0])
    assert one["conditions"][0]["features"] == ["weight"]
    assert one["conditions"][0]["threshold"] < one["conditions"][0]["value"] == 195
    output_of(["explain", "sparse.exactfit", "fruit2.csv", "--row", "59", "--report", "page.html"], capsys)
    assert f">{one['conditions'][0]['text'].replace('>', '&gt;')}</td>" in Path("page.html").read_text()


def test_explaining_the_training_data_shows_the_cells_behind_the_answers(model: str, capsys: Capture) -> None:
    out, err = output_of(["explain", model, "fruit.csv", "--row", "1"], capsys)
    assert re.search(r"^ +\d+  fruit.csv  anchor of detector", out, re.MULTILINE)
    assert "--training" not in err
    write("other.csv", Path("fruit.csv").read_text().replace("green", "yellow"))
    out, err = output_of(["explain", model, "other.csv", "--row", "1"], capsys)
    assert "anchor of detector" not in out
    assert "--training FILE" in err


def test_training_data_are_read_with_the_options_given(capsys: Capture) -> None:
    write("t.csv", "x,z,y\n" + "".join(f"{k if k != 7 else 'many'},{k * k % 7},{'ab'[k % 2]}\n" for k in range(20)))
    options = ["--missing-values", "many", "--missing", "drop-rows"]
    output_of(["fit", "t.csv", "--label", "y", "-o", "m", "--seed", "0", *options], capsys)
    write("one.csv", "x,z\n3,2\n")
    out, _ = output_of(["explain", "m", "one.csv", "--training", "t.csv", *options], capsys)
    assert "anchor of detector" in out
    message = error_of(["explain", "m", "t.csv", "--row", "7", *options], capsys, ExitCode.USAGE)
    assert "row 7 of t.csv was left out for an empty cell" in message


def test_weighted_detectors_from_fit_to_info_and_explain(capsys: Capture) -> None:
    write("t.csv", "x,z,y\n" + "".join(f"{k},{k * k % 7},{'abc'[k % 3]}\n" for k in range(30)))
    options = ["--detectors", "weighted", "--seed", "0"]
    output_of(["fit", "t.csv", "--label", "y", "-o", "m", *options], capsys)
    fitted = exactfit.load("m").classifier_
    out, _ = output_of(["info", "m"], capsys)
    assert f"\n  detectors      {fitted.n_detectors_}, weighted\n" in out
    assert json.loads(output_of(["info", "m", "--json"], capsys)[0])["options"]["detectors"] == "weighted"
    out, _ = output_of(["explain", "m", "t.csv", "--row", "4"], capsys)
    assert re.search(r"^ +rests on rows \d+ \(\+0\.\d+\), .* \(-0\.\d+\)", out, re.MULTILINE)
    (one,) = json.loads(output_of(["explain", "m", "t.csv", "--row", "4", "--json"], capsys)[0])
    found = one["fires"][0]
    trace = fitted.trace_
    rows = trace.support[slice(*trace.support_starts[found["detector"] : found["detector"] + 2])].tolist()
    assert {part["row"] for part in found["support"]} <= set(rows)
    assert all((part["share"] > 0) == (part["row"] % 3 == 1) for part in found["support"])


def test_noise_has_no_bound_that_is_refused(capsys: Capture) -> None:
    text = " ".join(output_of(["fit", "--help"], capsys)[0].replace("│", " ").split())
    assert "a fraction below 0.5" in text
    assert "x<=0.5" not in text
    write("t.csv", "x,y\n1,a\n2,b\n")
    assert "noise" in error_of(["fit", "t.csv", "--label", "y", "-o", "m", "--noise", "0.5"], capsys, ExitCode.USAGE)


def test_noise_gives_rows_up_and_proves_the_rest(capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k >= 20]}\n" for k in range(40)) + "5.5,b\n")
    out, _ = output_of(["fit", "t.csv", "--label", "y", "-o", "m", "--noise", "0.05", "--seed", "0"], capsys)
    given_up = exactfit.load("m").classifier_.certificate_.given_up.tolist()
    assert given_up == [40]
    assert "certificate: holds for all 40 kept points" in out
    _, err = output_of(["certify", "m", "t.csv"], capsys, ExitCode.FAILS)
    assert "given up or overruled in fitting: 40; the model's own certificate" in err


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "fruit.csv", "--label", "fruit", "-o", "again", "--noise", "0.2"],
        ["predict", "m.exactfit", "fruit.csv"],
        ["certify", "m.exactfit", "fruit.csv"],
        ["explain", "m.exactfit", "new.csv"],
        ["suspects", "fruit.csv", "--label", "fruit", "--k", "2"],
    ],
)
def test_a_command_encodes_its_table_once(
    command: list[str], model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    write("new.csv", "".join(line.rpartition(",")[0] + "\n" for line in Path("fruit.csv").read_text().splitlines()))
    encode = Encoding.encode
    monkeypatch.setattr(Encoding, "encode", lambda self, table: calls.append(len(table)) or encode(self, table))
    output_of(command, capsys)
    assert calls == [5]


@pytest.mark.parametrize("command", ["predict", "certify", "explain"])
def test_models_that_cannot_be_used(command: str, model: str, capsys: Capture) -> None:
    def newer(header: dict[str, Any]) -> dict[str, Any]:
        return header | {"format": container.FORMAT + 1, "saved_with": {"versions": {"exactfit": "7.1"}}}

    header, tensors = container.read_container(Path(model))
    container.write_container(Path("newer"), newer(header), tensors)
    write("damaged", Path(model).read_bytes()[:-1] + b"!")
    write("empty", b"")
    exactfit.save(InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1]), "bare")
    for name, code, says in (
        ("newer", 3, f"exactfit 7.1 wrote it in format {container.FORMAT + 1}"),
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
        (
            "weight,sort\n1,red\n",
            "the model takes a column 'colour', but there is no column 'colour': the columns are weight, sort",
        ),
        ("weight,colour\nheavy,red\n", "row 0 (line 2) holds the text 'heavy'"),
        ("weight,colour\n,red\n", "1 empty cell"),
    ):
        write("new.csv", content)
        assert says in error_of(["predict", model, "new.csv"], capsys, ExitCode.DATA)
    write("new.csv", "weight,colour\n1,red\n")
    assert "the labels are missing" in error_of(["certify", model, "new.csv"], capsys, ExitCode.DATA)
    assert "2 columns" not in error_of(["predict", model, "new.csv", "--no-header"], capsys, ExitCode.DATA)


def test_exports_are_onnx(model: str, capsys: Capture) -> None:
    assert "ends in .onnx" in error_of(["export", model, "-o", "m.pt"], capsys, ExitCode.USAGE)
    pytest.importorskip("onnx")
    assert output_of(["export", model, "-o", "m.onnx"], capsys)[0] == "model: m.onnx\n"
    assert Path("m.onnx").stat().st_size > 0


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


def test_a_dry_run_says_how_each_column_is_read_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write("t.csv", ";a;when;c;y\n0;1,5;2020-01-01;NA;p\n1;2,5;2020-02-01;u;q\n2;3,5;2020-03-01;v;q\n")
    out, err = output_of(["fit", "t.csv", "--label", "y", "--dry-run", "--missing", "impute"], capsys)
    assert out.splitlines() == [
        "column  read as",
        "a       number, 1.5 to 3.5",
        "when    date (year-month-day), as days",
        "c       category, 2 levels; 1 empty cell imputed",
        "y       label, 2 classes",
    ]
    assert err.splitlines() == [
        "t.csv: cells are separated by ';', numbers have decimal commas",
        "t.csv: column without a name: row numbers, left out",
    ]
    assert not list(tmp_path.glob("*.exactfit"))
    assert "say where the model goes" in error_of(["fit", "t.csv", "--label", "y"], capsys, ExitCode.USAGE)


def test_warm_up_compiles_beforehand_and_says_how_long_it_took(capsys: Capture) -> None:
    out, err = output_of(["warm-up"], capsys)
    assert out == "ready\n"
    assert [line.split(":")[0] for line in err.splitlines()] == [
        "1 of 3 (detectors weighted)",
        "2 of 3 (detectors mask)",
        "3 of 3 (activation relu)",
    ]


def test_predict_prints_scores_and_who_claims_a_row(model: str, capsys: Capture) -> None:
    fitted = exactfit.load(model)
    out, _ = output_of(["predict", model, "fruit.csv", "--claims", "--scores"], capsys)
    header, *lines = [line.split(",") for line in out.splitlines()]
    assert header == ["row", "prediction", "claimed by", *(f"score {name}" for name in fitted.classes_)]
    scores = fitted.decision_function("fruit.csv")
    np.testing.assert_array_equal(np.array([line[3:] for line in lines], dtype=float), scores)
    assert [line[1] for line in lines] == [line[2] for line in lines] == fitted.predict("fruit.csv").tolist()
    plain = json.loads(output_of(["predict", model, "fruit.csv", "--claims", "--scores", "--json"], capsys)[0])
    assert plain["claims"] == [[line[1]] for line in lines]
    assert plain["scores"][str(fitted.classes_[0])] == scores[:, 0].tolist()


def test_two_classes_have_one_score(capsys: Capture) -> None:
    write("two.csv", "x,y\n1,a\n2,b\n3,a\n")
    output_of(["fit", "two.csv", "--label", "y", "-o", "m", "--seed", "0"], capsys)
    out, _ = output_of(["predict", "m", "two.csv", "--scores"], capsys)
    header, *lines = [line.split(",") for line in out.splitlines()]
    assert header == ["row", "prediction", "score b"]
    assert [float(line[2]) > 0 for line in lines] == [False, True, False]


def test_certify_tells_the_networks_own_output_from_predict(capsys: Capture) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 3
    X += 2 * y[:, None]
    rows = [f"{a:.4f},{b:.4f},{'abc'[k]}" for (a, b), k in zip(X, y, strict=True)]
    write("old.csv", "u,v,y\n" + "\n".join(rows[:60]) + "\n")
    write("new.csv", "u,v,y\n" + "\n".join(rows[60:]) + "\n")
    output_of(["fit", "old.csv", "--label", "y", "-o", "m", "--seed", "0"], capsys)
    fitted = exactfit.load("m")
    table = fitted.read("new.csv", labels=True)
    wrong = np.flatnonzero(fitted.predict(table) != table.labels)
    unclear = np.flatnonzero(fitted.abstains(table))
    out, _ = output_of(["certify", "m", "new.csv", "--json"], capsys, ExitCode.FAILS)
    plain = json.loads(out)
    assert plain["mispredicted"] == wrong.tolist()
    assert set(plain["errors"]) == set(wrong.tolist()) | set(unclear.tolist())
    out, err = output_of(["certify", "m", "new.csv", "--by", "predict"], capsys, ExitCode.FAILS)
    assert f"by predict     {len(wrong)} of them wrong: rows {wrong[0]}" in out
    assert f"the first row that predict gets wrong is row {wrong[0]}" in err
    right = [k for k in range(60) if k not in wrong]
    write("right.csv", "u,v,y\n" + "\n".join(rows[60 + k] for k in right) + "\n")
    output_of(["certify", "m", "right.csv"], capsys, ExitCode.FAILS)
    output_of(["certify", "m", "right.csv", "--by", "predict"], capsys)
    assert "'me' is not one of 'output', 'predict'" in error_of(["certify", "m", "new.csv", "--by", "me"], capsys, 2)
