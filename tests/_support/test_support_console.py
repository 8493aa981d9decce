"""What reaches a terminal is shown there, and not obeyed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactfit._support.console import harmless, tell
from exactfit.cli import main


def test_control_characters_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert harmless("größe 🦀\n\tok") == "größe 🦀\n\tok"
    assert harmless("\x1b[31m\x07\x9b2J\u202eabc\r") == r"\x1b[31m\x07\x9b2J\x202eabc\x0d"
    tell("a\x1b]0;title\x07b")
    assert capsys.readouterr().out == "a\\x1b]0;title\\x07b\n"


def test_names_of_columns_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    rows = "\n".join(f"{x},{x * x % 3},{'ab'[x % 2]}" for x in np.arange(8).tolist())
    path.write_text(f"x\x1b[2J,z,y\n{rows}\n")
    for arguments in (
        ["fit", str(path), "--label", "y", "-o", str(tmp_path / "m")],
        ["info", str(tmp_path / "m")],
        ["describe", str(path), "--label", "y"],
        ["fit", str(path), "--label", "nothing", "-o", str(tmp_path / "n")],
    ):
        main(arguments)
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
