"""Every example runs."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# Without data sets: those that want some show a picture of the repository, quickly.
QUIET = {name: value for name, value in os.environ.items() if name != "EXACTFIT_DATA"}


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_draws_its_picture(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which has imported and compiled already what they all need; a warning is an error."""
    picture = tmp_path / "picture.png"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [str(example), str(picture)])
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        plt.close("all")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_film_is_written(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "animate_construction.py"), str(path)],
        env=QUIET | {"PYTHONPATH": str(ROOT / "src")}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().startswith(b"GIF8")


@pytest.mark.slow
@pytest.mark.torch
def test_a_convolutional_network_is_repaired_in_its_file(tmp_path: Path) -> None:
    for package in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "repair_convolutions.py"), "repaired.onnx"],
        env=QUIET | {"PYTHONPATH": str(ROOT / "src")}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "400 after, of 400" in done.stdout
    assert (tmp_path / "repaired.onnx").exists()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 15
    assert {"plot_close_pairs", "plot_two_moons"} <= {path.stem for path in EXAMPLES}
