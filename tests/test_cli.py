"""The command line: what it prints where, how it ends, and that its errors take one line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactfit
from exactfit import demo
from exactfit.cli import DEMO, ExitCode, main
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

SOURCE = Path(exactfit.__file__).parents[1]
HEAVY = {"numpy", "scipy", "sklearn", "numba", "matplotlib", "joblib"}


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, **options
    )


def raising(error: BaseException) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail


# ---------------------------------------------------------------- demo


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


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_are_for_terminals_that_want_them(
    environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = demo.exhibit("Two Moons")
    monkeypatch.setattr(demo, "exhibit", lambda *_: good)
    monkeypatch.setattr(demo, "draw", lambda *_: Path("x" * 200))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["demo"]) == ExitCode.FINE
    out = capsys.readouterr().out
    assert ("\x1b[32mcertificate: holds" in out) == colored
    assert "\x1b[3" in out or not colored
    assert f"picture: {'x' * 200}\n" in out  # never wrapped


# ---------------------------------------------------------------- how it ends


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


# ---------------------------------------------------------------- the rest


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
