"""The sessions in docs/command-line.md are real."""

from __future__ import annotations

import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

from exactfit.cli import main
from exactfit.cli.output import ExitCode

DOCUMENT = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a line of a session prints, on either stream; before a pipe, only printf is known."""
    before, _, command = line.rpartition(" | ")
    if before:
        name, text = shlex.split(before)
        assert name == "printf"
        octets = text.encode().decode("unicode_escape").encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(octets)))
    program, *arguments = shlex.split(command)
    assert program == "exactfit"
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main(arguments)
    return printed.getvalue()


def without_times(text: str) -> str:
    text = re.sub(r"^compil.*\n", "", text, flags=re.MULTILINE)  # on a machine where nothing is compiled yet
    return re.sub(r"^(  seconds +)[0-9.]+$", r"\1...", text, flags=re.MULTILINE)


def test_the_sessions_give_the_output_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = blocks("csv")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    Path("fruit.csv").write_text(table, encoding="utf-8")
    sessions = blocks("console")
    assert len(sessions) >= 7
    for session in sessions:
        lines = [line.removeprefix("$ ") for line in session.splitlines() if line.startswith("$ ")]
        printed = "".join(f"$ {line}\n{run(line, monkeypatch)}" for line in lines)
        assert without_times(printed) == without_times(session)


def test_the_exit_codes_are_those_of_the_program() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", DOCUMENT, re.MULTILINE))
    assert rows == {str(int(code)): code.meaning for code in ExitCode}
