"""Commands, run in this process or another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import exactfit
from exactfit.cli import main

SOURCE = Path(exactfit.__file__).parents[1]


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, **options
    )


def raising(error: BaseException) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail


Capture = pytest.CaptureFixture[str]


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


FIT = ["fit", "fruit.csv", "--label", "fruit", "-o", "m.exactfit", "--seed", "0"]


def fit_fruit(capsys: Capture) -> str:
    """The file of a model of fruit.csv."""
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
