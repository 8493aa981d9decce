"""Figures of an experiment: their kinds, and what stands below them."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest

from exactfit.cli import main
from exactfit.lab import figures

GRID = """
[grid]
width = { first = 10, last = 40, step = 10 }
max_bias = [0, 0.5, 1]
"""


ONE_FIGURE = """
[[figure]]
kind = "data"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    mpl.use("agg")
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def moons_toml(name: str = "mine", runs: int = 4) -> str:
    source = 'loader = "make_moons"\narguments = { n_samples = 50, random_state = 0 }'
    return write(f"{name}.toml", f"runs = {runs}\n[data]\n{source}\n{GRID}{ONE_FIGURE}")


def test_unknown_figures_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    write("mine.toml", Path(moons_toml(runs=1)).read_text(encoding="utf-8").replace('"data"', '"pie"'))
    assert main(["sweep", "mine.toml", "-j", "1"]) == 2
    assert "no figure is of the kind 'pie'" in capsys.readouterr().err


def test_figures_speak_of_bands_only_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(figures, "note_below", lambda _, note: notes.append(note))
    sweep = [
        "sweep",
        write("my.toml", 'runs = 4\n[data]\nname = "two-moons"\n' + GRID + '\n[[figure]]\nkind = "slices"\n'),
        "-j",
        "1",
    ]
    assert main([*sweep, "--runs", "4"]) == 0
    assert main([*sweep, "--runs", "5"]) == 0
    few, enough = notes
    assert "4 runs per cell; markers" in few
    assert "5 runs per cell; bands: 95 % confidence; markers" in enough
