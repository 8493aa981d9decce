"""``python -m exactfit`` is the command line."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import exactfit

SOURCE = Path(exactfit.__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exactfit", *arguments],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_runs_the_command_line() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"exactfit {exactfit.__version__}\n", "")


def test_ends_with_its_exit_code_and_calls_itself_exactfit() -> None:
    done = run("no-such-command")
    assert done.returncode == 2
    assert done.stderr.startswith("exactfit: No such command")
    assert "'exactfit --help'" in done.stderr


def test_importing_it_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("exactfit.__main__")
    assert capsys.readouterr() == ("", "")
