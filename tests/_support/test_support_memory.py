"""The memory that a process may use: its machine's, its containers', its own limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exactfit._support import memory

MACHINE = 2**35


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of 32 GiB without limits; the folder is where its control groups lie."""
    monkeypatch.setattr(memory, "_main_memory", lambda: MACHINE)
    monkeypatch.setattr(memory, "_address_limits", lambda: ())
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "cgroup")
    return tmp_path


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_without_limits_it_is_the_machines() -> None:
    assert memory.usable_memory() == MACHINE


@pytest.mark.parametrize(
    ("own", "folder", "name"),
    [
        ("0::/\n", ".", "memory.max"),
        ("0::/user/job/step\n", "user/job/step", "memory.max"),
        ("0::/user/job/step\n", "user", "memory.max"),
        ("0::/../../docker/abc\n", ".", "memory.max"),
        ("5:cpu:/x\n3:cpuset,memory:/job\n", "memory/job", "memory.limit_in_bytes"),
        ("5:cpu:/x\n3:memory:/docker/abc\n", "memory", "memory.limit_in_bytes"),
    ],
)
def test_a_container_sets_a_limit(own: str, folder: str, name: str, machine: Path) -> None:
    (machine / "cgroup").write_text(own)
    put(machine / folder, name, "1288490188\n")
    assert memory.usable_memory() == 1288490188


@pytest.mark.parametrize("text", ["max\n", "9223372036854771712\n", "", "lots"])
def test_a_container_without_a_limit_sets_none(text: str, machine: Path) -> None:
    (machine / "cgroup").write_text("0::/job\n3:memory:/job\nnonsense\n\n")
    put(machine / "job", "memory.max", text)
    put(machine / "memory" / "job", "memory.limit_in_bytes", text)
    assert memory.usable_memory() == MACHINE


def test_the_narrowest_container_counts(machine: Path) -> None:
    (machine / "cgroup").write_text("0::/a/b\n")
    put(machine / "a", "memory.max", "2000000000")
    put(machine / "a" / "b", "memory.max", "3000000000")
    assert memory.usable_memory() == 2000000000


def test_memory_is_guessed_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert memory.usable_memory() > 2**20
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory._main_memory() == memory.UNKNOWN_MEMORY


LIMITED = """
import resource
import numpy as np
import exactfit
from exactfit._support.memory import usable_memory
X, y = np.random.default_rng(0).normal(size=(200, 20)), np.arange(200) % 2
exactfit.fixed_width(X, y, 64)
X, y = np.zeros((200_000, 20), dtype=np.float32), np.arange(200_000) % 2
X[:, 0] = np.arange(200_000)
resource.setrlimit(resource.RLIMIT_AS, (int({room}) + int(open("/proc/self/statm").read().split()[0]) * 4096,) * 2)
assert usable_memory() <= {room}
try:
    exactfit.fixed_width(X, y, 60_000)
except exactfit.TooLargeError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_limit_on_addresses_refuses_instead_of_failing() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIMITED.format(room=1_200_000_000)], capture_output=True, text=True, check=False
    )
    assert run.stdout.startswith("refused: width=60000 needs 1,"), run.stderr
