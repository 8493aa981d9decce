"""Options: that they reach the library, and what is said of those that cannot be used."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from helpers.processes import FIT, Capture, error_of, fit_fruit, output_of, write

import exactfit
from exactfit import InterpolatingClassifier
from exactfit.cli import ExitCode, main
from exactfit.cli.arguments import Estimator
from exactfit.options import CONFLICTS, DETECTORS, PAPER, SAMPLERS, Options

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.fixture
def model(capsys: Capture) -> str:
    return fit_fruit(capsys)


def test_the_shell_has_all_options_of_the_record() -> None:
    made = {field.name: field for field in fields(Estimator)}
    assert made.keys() - {"preset", "seed"} == {field.name for field in fields(Options)}
    hints = get_type_hints(Estimator, include_extras=True)
    for name, given in InterpolatingClassifier().get_params().items():
        if name not in made:
            continue
        (told,) = [one for one in hints[name].__metadata__ if hasattr(one, "help")]
        shown = told.show_default if name in PAPER else str(made[name].default)
        assert shown == str(given)  # of options that a preset changes the default is None, and only shown
        assert (made[name].default is None) == (name in PAPER or given is None)


@pytest.mark.parametrize(
    ("name", "words"),
    [("hyperplanes", SAMPLERS), ("detectors", DETECTORS), ("conflicts", CONFLICTS)],
)
def test_the_shell_offers_the_words_that_the_library_takes(name: str, words: tuple[str, ...]) -> None:
    kind = get_type_hints(Estimator)[name]
    offered = [word for one in (kind, *get_args(kind)) for word in get_args(one) if isinstance(word, str)]
    assert set(offered) == set(words)


def test_a_preset_is_where_options_start_from(capsys: Capture) -> None:
    write("two.csv", "x,y\n1,3\n2,7\n3,3\n")
    fit = ["fit", "two.csv", "--label", "y", "-o", "m", "--force", "--preset"]
    output_of([*fit, "paper", "--min-width", "20"], capsys)
    assert exactfit.load("m").classifier_.get_params().items() >= (PAPER | {"min_width": 20}).items()
    output_of([*fit, "accurate", "--hyperplanes", "gaussian"], capsys)
    expected = {**InterpolatingClassifier().get_params(), "hyperplanes": "gaussian"}
    assert {name: expected[name] for name in PAPER}.items() <= exactfit.load("m").classifier_.get_params().items()
    assert "'best' is not one of 'accurate', 'paper'" in error_of([*fit, "best"], capsys, ExitCode.USAGE)


def test_options_reach_the_estimator(capsys: Capture) -> None:
    write("two.csv", "x,y\n1,3\n2,7\n3,3\n")
    given = [
        "--min-width",
        "70",
        "--max-width",
        "9000",
        "--max-bias",
        "2.5",
        "--no-center",
        "--no-fallback-cuts",
        "-j",
        "1",
    ]
    given += ["--no-fallback-cuts", "--hyperplanes", "bisector", "--activation", "relu"]
    given += ["--target-class", "7", "--conflicts", "majority", "--seed", "5", "--scale", "none"]
    output_of(["fit", "two.csv", "--label", "y", "-o", "m", *given], capsys)
    model = exactfit.load("m")
    expected = {
        "min_width": 70,
        "max_width": 9000,
        "max_bias": 2.5,
        "center": False,
        "fallback_cuts": False,
        "n_jobs": 1,
    }
    expected |= {"hyperplanes": "bisector", "activation": "relu"}
    expected |= {"target": 7, "conflicts": "majority", "random_state": 5, "width": "adaptive"}
    assert expected.items() <= model.classifier_.get_params().items()
    assert model.scale == "none"


def test_images_and_weights_reach_the_estimator(capsys: Capture) -> None:
    write("images.csv", "a,b,c,d,y\n1,3,0,0,0\n2,7,0,1,1\n3,3,1,1,2\n")
    fit = ["fit", "images.csv", "--label", "y", "-o", "m", "--detectors", "weighted"]
    assert "integers as in 28,28" in error_of([*fit, "--image-shape", "2x2"], capsys, ExitCode.USAGE)
    error = error_of([*fit, "--hyperplanes", "bisector", "--image-shape", "2,2"], capsys, ExitCode.USAGE)
    assert "image_shape=(2, 2) has no meaning" in error
    output_of(fit, capsys)
    assert exactfit.load("m").classifier_.get_params()["detectors"] == "weighted"
    output_of([*fit, "--force", "--image-shape", "2,2"], capsys)
    assert exactfit.load("m").classifier_.get_params()["image_shape"] == (2, 2)


@pytest.mark.parametrize(("given", "expected"), [("3", 3), ("2,3", (2, 3))])
def test_numbers_of_features_reach_the_estimator(given: str, expected: object, capsys: Capture) -> None:
    write("t.csv", "a,b,c,d,y\n1,3,0,0,0\n2,7,0,1,1\n3,3,1,1,2\n")
    fit = ["fit", "t.csv", "--label", "y", "-o", "m", "--force", "--max-features"]
    output_of([*fit, given], capsys)
    assert exactfit.load("m").classifier_.get_params()["max_features"] == expected
    for wrong in ("2-3", "1,2,3", "", "x"):
        assert "integer as in 4, or two as in 2,4" in error_of([*fit, wrong], capsys, ExitCode.USAGE)
    for wrong in ("0", "3,2"):
        assert "max_features must be an integer >= 1 or a pair" in error_of([*fit, wrong], capsys, ExitCode.USAGE)


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
    assert "t.csv: 1 row with empty cells is left out" in err
    out, _ = output_of(["predict", "m", "t.csv", "--missing", "drop-rows"], capsys)
    assert out == "row,prediction\n0,a\n2,b\n"


def test_npz_and_parquet_are_data_too(capsys: Capture) -> None:
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
        ("x,y\n1,a\n2,b\n", ["--scale", "log"], 2, "'log' is not one of 'standard', 'none'"),
        ("x,y\n1,a\n2,b\n", ["--missing", "fill"], 2, "'--missing': 'fill' is not one of 'error'"),
        ("x,y\n1,a\n2,b\n", ["--separator", ";;"], 2, "separator must be one character"),
        ("x,y\n1,a\n2,b\n", ["--width", "wide"], 2, "'--width': must be a number, or adaptive, got 'wide'"),
        ("x,y\n1,a\n2,b\n", ["--max-bias", "large"], 2, "'--max-bias': must be a number"),
        ("x,y\n1,1\n2,2\n", ["--target-class", "one"], 2, "--target-class must be a number"),
        ("x,y\n1,a\n2,b\n", ["--conflicts", "best"], 2, "'best' is not one of 'raise'"),
        ("x,y\n1,a\n2,b\n", ["--max-width", "1", "--min-width", "5"], 2, "max_width"),
        (b"x,y\n1,\xff\n", [], 3, "is not UTF-8"),
        ("x,y\n1,a\n2,b\n", ["--output", "no/such/folder"], 2, "there is no folder no/such; make it"),
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


def test_a_label_must_be_named(capsys: Capture) -> None:
    for command in (["fit", "fruit.csv", "-o", "m"], ["describe", "fruit.csv"], ["compare", "fruit.csv"]):
        assert "--label NAME" in error_of(command, capsys, ExitCode.USAGE)


def test_files_are_not_overwritten_unless_asked(model: str, capsys: Capture) -> None:
    before = Path(model).read_bytes()
    write("there", "old")
    for command in ([*FIT[:-1], "1"], ["predict", model, "fruit.csv", "-o", "there"], ["export", model, "-o", "there"]):
        assert "exists: give another name, or --force" in error_of(command, capsys, ExitCode.USAGE)
    assert (Path(model).read_bytes(), Path("there").read_text(encoding="utf-8")) == (before, "old")
    output_of(["predict", model, "fruit.csv", "-o", "there", "--force"], capsys)
    assert Path("there").read_text(encoding="utf-8").startswith("row,prediction\n")


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
