"""Tests in new virtual environments: newest releases, lowest versions, PyTorch. Starting it needs Python alone.

python .ci/new_environment.py newest   the fast tier on every other Python that pyproject.toml names
python .ci/new_environment.py lowest   the fast tier with the lowest versions that pyproject.toml names
python .ci/new_environment.py torch    the tests that need PyTorch

What cannot be had here (a Python, or a version that the package index lacks) is skipped by name.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from lowest_versions import PYPROJECT, lowest_versions

ROOT = PYPROJECT.parent
FAST = "not long and not slow and not site"
TORCH = "torch==2.13.0"
NO_TESTS = 5  # what pytest answers where it ran none


class NotAvailableError(Exception):
    """The package index lacks a version."""


def promised_pythons() -> list[str]:
    """Return the versions of Python that pyproject.toml names, lowest first."""
    return re.findall(r"Python :: (3\.\d+)\"", PYPROJECT.read_text(encoding="utf-8"))


def runs(python: str | Path, version: str) -> bool:
    """Whether this is a Python of that version: pyenv has commands for versions that are not switched on."""
    code = f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    try:
        done = subprocess.run(
            [python, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def find_python(version: str) -> Path | None:
    """Return a Python of that version: this one, one by name, or one in pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    candidates = [sys.executable, *([named] if named else []), *sorted(pyenv.glob(f"{version}*/bin/python"))]
    return next((Path(python) for python in candidates if runs(python, version)), None)


class Environment:
    """A virtual environment with nothing in it yet, and a cache of compiled kernels of its own."""

    def __init__(self, name: str, python: Path) -> None:
        self.folder = ROOT / ".venvs" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", self.folder], check=True)
        self.python = self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        foreign = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
        kept = {name: value for name, value in os.environ.items() if name not in foreign}
        self.variables = kept | {"NUMBA_CACHE_DIR": str(self.folder / "kernels")}

    def install(self, *arguments: str | Path) -> None:
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.variables, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return
        missing = re.findall(r"No matching distribution found for (\S+)", done.stderr)
        if missing:
            raise NotAvailableError(f"the package index has no {missing[0]} for this Python")
        sys.exit(done.stderr)

    def run(self, *arguments: str | Path) -> int:
        return subprocess.run([self.python, *arguments], cwd=ROOT, env=self.variables, check=False).returncode

    def test(self, marks: str, n_jobs: str, *more: str) -> int:
        options = ("-n", n_jobs, "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart", "0")
        status = self.run("-m", "pytest", "-q", *options, "-m", marks, *more)
        return 1 if status == NO_TESTS else status


def newest(version: str, n_jobs: str) -> int:
    """Run the fast tier with the newest releases that a Python can have."""
    python = find_python(version)
    if python is None:
        raise NotAvailableError(f"Python {version} is not on this machine")
    environment = Environment(f"newest-{version}", python)
    environment.install("--editable", ".[test]")
    return environment.test(FAST, n_jobs)


def lowest(n_jobs: str) -> int:
    """Run the fast tier with the lowest versions, on the lowest Python."""
    version = promised_pythons()[0]
    python = find_python(version)
    if python is None:
        raise NotAvailableError(f"Python {version} is not on this machine")
    environment = Environment("lowest", python)
    constraints = environment.folder / "lowest.txt"
    versions = lowest_versions(PYPROJECT.read_text(encoding="utf-8"))
    constraints.write_text("".join(f"{name}=={number}\n" for name, number in versions.items()), encoding="utf-8")
    environment.install("--constraint", constraints, "--editable", ".[test]")
    # Old releases call what newer releases of others deprecate: theirs to mend.
    ignored = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")
    return environment.run(".ci/lowest_versions.py", "--installed") or environment.test(FAST, n_jobs, *ignored)


def torch(n_jobs: str) -> int:
    """Run the tests that need PyTorch."""
    environment = Environment("torch", Path(sys.executable))
    environment.install(TORCH)
    environment.install("--editable", ".[test]")
    return environment.test("torch and not slow and not site", n_jobs)


def each(names: Iterable[str], step: Callable[[str], int]) -> int:
    """Run a step for each name: 1 where one failed, and a line for each that cannot be had."""
    failed = 0
    for name in names:
        print(f"{name}:", flush=True)
        try:
            failed |= int(step(name) != 0)
        except NotAvailableError as reason:
            print(f"skipped: {name}: {reason}", flush=True)
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["newest", "lowest", "torch"])
    parser.add_argument("--jobs", default="2", help="test processes")
    chosen = parser.parse_args()
    if chosen.kind == "newest":
        own = "{}.{}".format(*sys.version_info)
        others = {f"Python {version}, newest releases": version for version in promised_pythons() if version != own}
        sys.exit(each(others, lambda name: newest(others[name], chosen.jobs)))
    if chosen.kind == "lowest":
        sys.exit(each(["lowest versions"], lambda _: lowest(chosen.jobs)))
    sys.exit(each([TORCH], lambda _: torch(chosen.jobs)))
