"""The program: how it ends, that its errors take one line, its help and its completion."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.processes import SOURCE, Capture, output_of, python, raising

import exactfit
from exactfit import demo
from exactfit.cli import ExitCode, app, main
from exactfit.exceptions import (
    ConstructionError,
    ContradictoryLabelsError,
    DataError,
    MissingDependencyError,
    ModelFileError,
    NoGapError,
    ParameterError,
    TooLargeError,
    WidthLimitError,
)

pytestmark = pytest.mark.usefixtures("at_fruit")


HEAVY = {"numpy", "scipy", "sklearn", "numba", "matplotlib", "joblib"}


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("no numbers"), 3, "no numbers"),
        (ContradictoryLabelsError([(0, 1)]), 3, "equal points with different labels, in rows (0, 1)"),
        (ModelFileError("cut short"), 3, "cut short"),
        (ConstructionError("none came out"), 1, "none came out"),
        (WidthLimitError("too few"), 1, "too few"),
        (NoGapError("no room"), 1, "no room"),
        (ParameterError("not so"), 2, "not so"),
        (TooLargeError("too large"), 2, "too large"),
        (MissingDependencyError("pip install it"), 2, "pip install it"),
        (PermissionError(13, "Permission denied", "there"), 2, "[Errno 13] Permission denied: 'there'"),
        (RuntimeError("two\nlines"), 70, "internal error, RuntimeError: two lines (--debug shows where)"),
    ],
)
def test_errors_take_one_line_and_have_their_code(
    error: Exception, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "exhibit", raising(error))
    assert main(["demo"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    announced, line = err.splitlines()
    assert announced.startswith("Two Moons: ")
    assert line.startswith("exactfit: ")
    assert message in line


@pytest.mark.parametrize("arguments", [["--debug", "demo"], ["demo", "--debug"]])
def test_debug_shows_where_an_error_arose(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "exhibit", raising(DataError("no numbers")))
    assert main(arguments) == ExitCode.DATA
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback (most recent call last)" in err
    assert "in fail\n" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demoo"], "No such command 'demoo'"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--seed", "x"], "--seed"),
        (["demo", "--width", "3"], "--width"),
        (["demo", "extra"], "extra"),
        (["--nothing"], "--nothing"),
        (["demo", "--output", __file__], "--output"),
    ],
)
def test_wrong_usage_takes_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("exactfit: ")
    assert message in line
    assert "--help')" in line


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "exhibit", raising(KeyboardInterrupt()))
    assert main(["demo"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "exactfit: interrupted"


@pytest.mark.skipif(os.name == "nt", reason="pipes break in another way")
@pytest.mark.parametrize("command", ["--version", "--help"])
def test_a_reader_that_stops_is_no_error(command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "exactfit", command],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == ExitCode.PIPE_CLOSED
    assert done.stderr == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"exactfit {exactfit.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_names_the_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert " demo " in out
    assert err == ""


def test_arguments_of_the_process_are_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["exactfit", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("exactfit ")


def test_loading_the_command_line_is_light() -> None:
    done = python("-c", f"import sys, exactfit.cli; print(*sorted({HEAVY} & sys.modules.keys()))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def commands() -> list[str]:
    import typer

    return sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_the_commands_are_these() -> None:
    expected = [
        "certify",
        "compare",
        "demo",
        "describe",
        "encode",
        "evaluate",
        "explain",
        "export",
        "fit",
        "info",
        "playground",
        "predict",
        "repair",
    ]
    assert commands() == [*expected, "suspects", "warm-up"]


@pytest.mark.parametrize("command", commands())
def test_every_help_has_an_example_and_the_exit_codes(command: str, capsys: Capture) -> None:
    out, err = output_of([*command.split(), "--help"], capsys)
    text = " ".join(out.split())
    assert "Exit codes: 0 fine, 1 the claim does not hold, 2 usage, 3 bad data, 130 interrupted." in text
    assert f"Example: exactfit {command} " in text
    assert err == ""


def test_the_help_of_a_flag_shows_no_value(capsys: Capture) -> None:
    for command in ([], ["fit"]):
        assert "bool" not in output_of([*command, "--help"], capsys)[0].lower()


def test_the_help_lists_all_exit_codes(capsys: Capture) -> None:
    text = " ".join(output_of(["--help"], capsys)[0].split())
    for code in ExitCode:
        assert f" {code:d} {code.meaning}" in text


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


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("exactfit fit --activation ", {"threshold", "relu"}),
        ("exactfit fit --missing i", {"impute", "indicator"}),
        ("exactfit certify --arithmetic f", {"float64", "float32"}),
        ("exactfit suspects --model r", {"random-forest"}),
    ],
)
def test_shells_complete_values_and_names(
    words: str, offered: set[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("_EXACTFIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    main([])
    assert set(capsys.readouterr().out.split()) == offered
