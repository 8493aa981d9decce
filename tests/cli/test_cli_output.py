"""What commands print on terminals and elsewhere, and that they can be quiet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from helpers.processes import FIT, Capture, fit_fruit, output_of

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


def test_compiling_is_told_with_how_long_it_takes(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from exactfit._kernels import compile as kernels
    from exactfit.cli import output

    def compile_three(tell: Callable[[int], None]) -> nullcontext[None]:
        for done in range(4):
            tell(done)
        return nullcontext()

    monkeypatch.setattr(kernels, "watched", compile_three)
    monkeypatch.setattr(output, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(output.state, "quiet", False)
    with output.telling_of_compiling():
        pass
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("compiling, once on this machine: ")
    assert others == ["compiled 1 part in 0 s", "compiled 2 parts in 0 s", "compiled 3 parts in 0 s"]
