"""The version stands in one place, and everything that names it takes it from there."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import exactfit
from exactfit._version import __version__


def test_it_is_a_version_and_the_package_has_it() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", __version__)
    assert exactfit.__version__ == __version__ == version("exactfit")


def test_no_other_file_of_the_package_writes_it_down() -> None:
    folder = Path(exactfit.__file__).parent
    literal = f'"{__version__}"'
    assert [path.name for path in folder.rglob("*.py") if literal in path.read_text("utf-8")] == ["_version.py"]
