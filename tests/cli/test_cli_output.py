"""What commands print on terminals and elsewhere, and that they can be quiet."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from helpers.processes import FIT, Capture, fit_fruit, output_of

from exactfit import demo
from exactfit.cli import ExitCode, main
from exactfit.cli.output import print_rows

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
    for width in (100, 60):
        for colours in ({"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}):
            with monkeypatch.context() as patch:
                for name, value in {"COLUMNS": str(width), **colours}.items():
                    patch.setenv(name, value)
                out, _ = output_of(["info", model], capsys)
            assert ("\x1b[32m" in out) == ("NO_COLOR" not in colours)
            drawn = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines() if line[:1] in "┏┃┡│└"]
            assert len(drawn) >= 6
            assert max(map(len, drawn)) <= width


def test_narrow_terminals_wrap_and_cut_nothing(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [["17", "a label of some length", "0.25"], ["4", "Donaudampfschifffahrtsgesellschaft", "1"]]
    for width in (60, 30, 20):
        monkeypatch.setenv("COLUMNS", str(width))
        print_rows(["row", "label", "score"], rows)
        out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        assert max(map(len, out.splitlines())) <= width
        letters = re.sub(r"[^A-Za-z0-9.]", "", out)
        assert "…" not in out
        assert letters.count("f") >= 5  # every letter of the long word is there
        assert letters.count("s") >= 5


@pytest.mark.parametrize("width", [100, 60, 40, 25])
def test_no_number_and_no_short_word_is_cut(width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    row = ["17", "6 of the 10 nearest rows bear another label", "-2.0863", "0.999", "female"]
    print_rows(["row", "why", "bill_length", "score", "sex"], [row])
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    words = set(re.split(r"[\s│:]+", out))
    assert {"17", "-2.0863", "0.999", "female", "nearest", "another"} <= words


def test_a_table_too_narrow_for_columns_is_a_list(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "18")
    print_rows(["row", "label", "score"], [["17", "apple", "0.25"]])
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert [line.strip() for line in out.splitlines()] == ["row: 17", "label: apple", "score: 0.25"]


def test_compiling_is_told_with_how_long_it_takes(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from exactfit._kernels import compile as kernels
    from exactfit.cli import output

    def compile_three(tell: Callable[[int], None]) -> nullcontext[None]:
        for done in range(4):
            tell(done)
        return nullcontext()

    monkeypatch.setattr(kernels, "watched", compile_three)
    monkeypatch.setattr(output, "TOLD_EVERY", 0.0)
    output.begin()
    with output.telling_of_compiling():
        pass
    first, *others = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"compiling, once on this machine: at most about \d+ s \(exactfit warm-up does it beforehand\)", first
    )
    assert others == ["compiled 1 part in 0 s", "compiled 2 parts in 0 s", "compiled 3 parts in 0 s"]
