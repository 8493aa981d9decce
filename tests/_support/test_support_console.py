"""What reaches a terminal is shown there, and not obeyed; progress only where it was asked for."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from exactfit import InterpolatingClassifier, adaptive_width, certify, find_suspects
from exactfit._support.console import Steps, echo, escape_controls, progress_bar, silent
from exactfit.cli import main


def test_control_characters_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert escape_controls("größe 🦀\n\tok") == "größe 🦀\n\tok"
    assert escape_controls("\x1b[31m\x07\x9b2J\u202eabc\r") == r"\x1b[31m\x07\x9b2J\x202eabc\x0d"
    echo("a\x1b]0;title\x07b")
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


def test_silence_by_default(capfd):
    with progress_bar(False) as tell:
        assert tell is silent
        tell("hyperplanes", 64, None)
    assert capfd.readouterr() == ("", "")


def test_a_bar_tells_each_kind_of_work_on_standard_error(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal: elsewhere the bar shows nothing
    with progress_bar(True) as tell:
        for done in (64, 128):
            tell("hyperplanes", done, None)
        tell("detectors", 3, 10)
    out, err = capfd.readouterr()
    assert out == ""
    assert "hyperplanes" in err
    assert "detectors" in err


def test_steps_of_many_threads_are_all_counted():
    told = []
    steps = Steps(lambda *what: told.append(what), "points", 4000)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(steps.add, [1, 2, 3, 4] * 400))
    assert told[-1] == ("points", 4000, 4000)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_certify_and_find_suspects_show_how_far_they_are_if_asked(capfd, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 3)), rng.integers(0, 3, 300)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    monkeypatch.setenv("FORCE_COLOR", "1")
    capfd.readouterr()
    certify(model, X, y)
    find_suspects(X, y, random_state=0)
    assert capfd.readouterr() == ("", "")
    certify(model, X, y, verbose=True)
    assert "points" in capfd.readouterr().err
    find_suspects(X, y, random_state=0, verbose=True)
    told = capfd.readouterr().err
    assert "claims" in told
    assert "neighbours" in told


def test_silence_has_a_name_in_signatures_and_stays_itself() -> None:
    assert "progress: 'Progress' = silent" in str(inspect.signature(adaptive_width))
    assert pickle.loads(pickle.dumps(silent)) is silent
    silent("points", 1, None)
