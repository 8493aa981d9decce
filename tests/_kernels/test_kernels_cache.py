"""A cache of compiled kernels that is full or damaged costs time, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

KERNEL = """
from exactfit._kernels.compile import compiled

@compiled
def double(x):
    return 2 * x
"""
TYPED = """
from typing import NamedTuple
from exactfit._kernels.compile import compiled

class {name}(NamedTuple):
    number: float

@compiled
def twice(one):
    return 2 * one.number

def double(x):
    return twice({name}(x))
"""
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"  # no file may have a byte
CALL = "from kernel_of_mine import double; print(double(21), double(0.25))"


def run(folder: Path, before: str = "", kernel: str = KERNEL) -> list[str]:
    """Return the warnings of a process that compiles two kernels or reads them from the cache."""
    (folder / "kernel_of_mine.py").write_text(kernel, encoding="utf-8")
    path = os.pathsep.join([str(folder), *sys.path])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    command = [sys.executable, "-c", f"{before}\n{CALL}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "42 0.5\n", done.stderr
    return [line for line in done.stderr.splitlines() if "Warning" in line]


def files(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f"*.{suffix}"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, bytes]]:
    """A folder with two compiled kernels, and its files as they were written."""
    folder = tmp_path_factory.mktemp("filled")
    assert run(folder) == []
    return folder, {file: file.read_bytes() for suffix in ("nbi", "nbc") for file in files(folder, suffix)}


@pytest.fixture
def cache(filled: tuple[Path, dict[Path, bytes]]) -> Path:
    folder, contents = filled
    assert [file.suffix for file in contents] == [".nbi", ".nbc", ".nbc"]
    for file, content in contents.items():
        file.write_bytes(content)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit to what a process may write")
def test_a_full_disk_is_said_once(tmp_path: Path) -> None:
    (warning,) = run(tmp_path, FULL)
    assert "compiled kernels cannot be read from or kept in" in warning
    assert "OSError" in warning
    assert "NUMBA_CACHE_DIR" in warning
    assert files(tmp_path, "nbc") == []


def empty(file: bytes) -> bytes:
    return b""


def halve(file: bytes) -> bytes:
    return file[: len(file) // 2]


def put_noise(file: bytes) -> bytes:
    return bytes(range(256)) * 10


def turn_a_bit(file: bytes) -> bytes:
    """Change one bit of machine code: nothing that a reader of the file's form could notice."""
    middle = len(file) // 2
    return file[:middle] + bytes([file[middle] ^ 4]) + file[middle + 1 :]


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("nbc", empty), ("nbc", halve), ("nbc", put_noise), ("nbc", turn_a_bit), ("nbi", empty), ("nbi", halve)],
)
def test_damaged_files_are_said_once(suffix: str, damage: Callable[[bytes], bytes], cache: Path) -> None:
    for file in files(cache, suffix):
        file.write_bytes(damage(file.read_bytes()))
    (warning,) = run(cache)
    assert "cannot be read from" in warning


def test_types_of_an_earlier_version_are_no_damage(tmp_path: Path) -> None:
    assert run(tmp_path, kernel=TYPED.format(name="Before")) == []
    assert run(tmp_path, kernel=TYPED.format(name="Renamed")) == []


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
def test_damaged_files_are_written_anew(suffix: str, cache: Path) -> None:
    for file in files(cache, suffix):
        file.write_bytes(b"")
    assert run(cache) != []
    before = {file: file.stat().st_mtime_ns for file in files(cache, "nbc")}
    assert run(cache) == []
    assert before == {file: file.stat().st_mtime_ns for file in files(cache, "nbc")}


def test_an_entry_under_another_key_is_refused(cache: Path) -> None:
    """The two files trade places: each is whole, and neither is what the index says."""
    one, other = files(cache, "nbc")
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    (warning,) = run(cache)
    assert "an index is damaged" in warning
