"""What commands print on terminals and elsewhere, and that they can be quiet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import FIT, Capture, fit_fruit, output_of

from exactfit import demo
from exactfit.cli import ExitCode, main

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.fixture
def model(capsys: Capture) -> str:
    return fit_fruit(capsys)


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


def test_quiet_says_nothing(capsys: Capture) -> None:
    for arguments in (["--quiet", *FIT], [*FIT, "-q", "--force"]):
        assert output_of(arguments, capsys)[1] == ""


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
