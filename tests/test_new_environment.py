"""Tests in new environments: which versions, on which Pythons, and what is skipped by name."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import lowest_versions
import new_environment
import pytest

PROJECT = """
[project]
name = "thing"
dependencies = ["numpy>=2.0.1", "rich>=13"]

[project.optional-dependencies]
files = ["pandas>=2.2.2", "pyarrow>=16"]
test = ["thing[files]", "dask[array,dataframe]>=2024.10", "pandas>=2.3", "ruff==0.17.5"]
old = ["dask>=2024.8"]
"""


def test_the_lowest_versions_are_those_that_all_extras_allow() -> None:
    assert lowest_versions.lowest_versions(PROJECT) == {
        "numpy": "2.0.1", "rich": "13", "pandas": "2.3", "pyarrow": "16", "dask": "2024.10", "ruff": "0.17.5",
    }  # fmt: skip


def test_what_is_not_a_floor_is_refused() -> None:
    with pytest.raises(ValueError, match="'rich>=13,<15' is neither"):
        lowest_versions.lowest_versions(PROJECT.replace("rich>=13", "rich>=13,<15"))


def test_every_dependency_of_ours_has_a_lowest_version() -> None:
    lowest = lowest_versions.lowest_versions(lowest_versions.PYPROJECT.read_text(encoding="utf-8"))
    assert {"numpy", "scipy", "scikit-learn", "numba", "pandas", "onnx", "dask", "pytest"} <= set(lowest)


def test_versions_that_are_not_the_lowest_are_named() -> None:
    assert list(lowest_versions.differences({"numpy": version("numpy"), "no-such-package": "1"})) == []
    (line,) = lowest_versions.differences({"numpy": "1.0"})
    assert line == f"numpy {version('numpy')} is installed, where pyproject.toml names 1.0"


def test_zeros_at_the_end_of_a_version_count_for_nothing() -> None:
    assert lowest_versions.as_numbers("16") == lowest_versions.as_numbers("16.0.0")
    assert lowest_versions.as_numbers("3.10") > lowest_versions.as_numbers("3.9.2")


def test_pythons_are_found_by_what_they_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = "{}.{}".format(*sys.version_info)
    assert new_environment.find_python(own) == Path(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert new_environment.find_python("2.99") is None
    broken = tmp_path / "versions" / "2.99.1" / "bin" / "python"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    assert new_environment.find_python("2.99") is None


@pytest.mark.skipif(sys.platform == "win32", reason="pyenv is for other systems")
def test_pythons_are_found_in_the_folder_of_pyenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "versions" / "2.99.1" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert new_environment.find_python("2.99") == python


def test_the_promised_pythons_are_in_order() -> None:
    assert new_environment.promised_pythons()[:3] == ["3.11", "3.12", "3.13"]


def test_what_cannot_be_had_is_skipped_by_name_and_failures_count(capsys: pytest.CaptureFixture[str]) -> None:
    def step(name: str) -> int:
        if name == "Python 2.99":
            raise new_environment.NotAvailableError("it is not on this machine")
        return 3 if name == "broken" else 0

    assert new_environment.each(["Python 2.99", "whole"], step) == 0
    assert "skipped: Python 2.99: it is not on this machine\n" in capsys.readouterr().out
    assert new_environment.each(["broken", "Python 2.99", "whole"], step) == 1


def test_a_package_that_the_index_lacks_is_told_from_one_that_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_environment, "ROOT", tmp_path)
    environment = new_environment.Environment("empty", Path(sys.executable))
    with pytest.raises(new_environment.NotAvailableError, match=r"has no no-such-thing==1\.0"):
        environment.install("--no-index", "no-such-thing==1.0")
    (tmp_path / "pyproject.toml").write_text("[project", encoding="utf-8")
    with pytest.raises(SystemExit, match="ERROR"):
        environment.install("--no-index", tmp_path)
    assert environment.run("-c", "import sys; sys.exit(sys.prefix == sys.base_prefix)") == 0
