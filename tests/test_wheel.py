"""The wheel holds the whole package, and works without the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = {".py", ".toml", ".typed"}


def run(*arguments: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("exactfit-*.whl")
    return built


def test_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix() for path in (source / "exactfit").rglob("*") if path.suffix in SHIPPED
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "exactfit/py.typed" in expected
    assert sorted(expected - names) == []
    assert {name.split("/")[0] for name in names} == {"exactfit", "-".join(wheel.name.split("-")[:2]) + ".dist-info"}


def test_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    quiet = ("--quiet", "--disable-pip-version-check")
    run("-m", "pip", "install", *quiet, "--no-deps", "--no-index", "--target", target, wheel, cwd=tmp_path)
    code = "import exactfit; print(exactfit.__file__); print(exactfit.__version__)"
    file, version = run("-c", code, cwd=tmp_path, PYTHONPATH=str(target)).splitlines()
    assert Path(file).resolve().is_relative_to(target.resolve())
    assert version == wheel.name.split("-")[1]
