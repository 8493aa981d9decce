"""`python -m build` makes an sdist and, from it, a wheel; each installs alone and works without the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = {".css", ".html", ".js", ".py", ".toml", ".typed"}


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
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    # No isolation: that would fetch the build tools from an index, and these are here.
    run("-m", "build", "--no-isolation", "--outdir", folder, cwd=ROOT)
    (sdist,), (wheel,) = folder.glob("exactfit-*.tar.gz"), folder.glob("exactfit-*.whl")
    return {"sdist": sdist, "wheel": wheel}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    source, wheel = ROOT / "src", built["wheel"]
    expected = {
        path.relative_to(source).as_posix() for path in (source / "exactfit").rglob("*") if path.suffix in SHIPPED
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "exactfit/py.typed" in expected
    assert sorted(expected - names) == []
    assert {name.split("/")[0] for name in names} == {"exactfit", "-".join(wheel.name.split("-")[:2]) + ".dist-info"}


@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_installs_alone(built: dict[str, Path], kind: str, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    alone = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation")
    run("-m", "pip", "install", *alone, "--target", target, built[kind], cwd=tmp_path)
    code = "import exactfit; print(exactfit.__file__); print(exactfit.__version__)"
    file, version = run("-c", code, cwd=tmp_path, PYTHONPATH=str(target)).splitlines()
    assert Path(file).resolve().is_relative_to(target.resolve())
    assert version == built["wheel"].name.split("-")[1]
