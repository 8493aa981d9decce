"""Processes of one's own: limits, reports, ends."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from exactfit._support.processes import Limits, OwnProcess, Reporter, Shared, as_they_end, run_alone
from exactfit._support.threads import memory_of


def lives(process: int) -> bool:
    """Whether a process runs; one that nobody has buried yet does not."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, FileNotFoundError):
        return False


def tell_and_sleep(report: Reporter, folder: str) -> None:
    report(process=os.getpid())
    (Path(folder) / "asleep").touch()
    time.sleep(600)


def allocate(report: Reporter) -> None:
    report(stage="allocating")
    kept = []
    while True:
        kept.append(np.ones(2**20))
        time.sleep(0.01)


def fail(report: Reporter) -> None:
    report(stage="failing")
    raise ValueError("out of luck")


def exit_with(report: Reporter, code: int) -> None:
    sys.exit(code)


def test_what_a_function_reports_comes_back() -> None:
    assert run_alone(lambda report, a, b: (report(sum=a + b), report(product=a * b)), 3, 4) == {"sum": 7, "product": 12}


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [(fail, (), r"ended with exit code 1 \(ValueError: out of luck\)"), (exit_with, (7,), "ended with exit code 7")],
)
def test_a_function_that_fails_is_a_clear_error(function: Any, arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ChildProcessError, match=says):
        run_alone(function, *arguments)


def test_out_of_time_a_process_is_ended_and_what_it_told_is_kept(tmp_path: Path) -> None:
    process = OwnProcess(tmp_path / "own", Limits(time_limit=0.5), tell_and_sleep, str(tmp_path))
    ((ended, end),) = as_they_end([lambda: process], 1)
    assert ended is process
    assert end == "time limit of 0.5 s"
    with pytest.raises(ProcessLookupError):
        os.kill(process.facts()["process"], 0)


@pytest.mark.skipif(memory_of(os.getpid()) is None, reason="the system does not tell how much a process uses")
def test_out_of_memory_a_process_is_ended() -> None:
    with pytest.raises(ChildProcessError, match="memory limit of 300 MiB"):
        run_alone(allocate, limits=Limits(memory_limit=300 * 2**20))


def test_processes_that_are_not_waited_for_are_ended(tmp_path: Path) -> None:
    starts = [
        lambda: OwnProcess(tmp_path / "sleeper", Limits(), tell_and_sleep, str(tmp_path)),
        lambda: OwnProcess(tmp_path / "other", Limits(), exit_with, 0),
    ]
    arriving = as_they_end(starts, 2)
    assert next(arriving)[1] == ""
    while not (tmp_path / "asleep").exists():
        time.sleep(0.05)
    arriving.close()
    told = json.loads((tmp_path / "sleeper" / "report.json").read_text(encoding="utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(told["process"], 0)


def test_what_is_shared_comes_back_as_it_was_and_stays_so(tmp_path: Path) -> None:
    held = {
        "a": np.arange(7.0), "b": np.asfortranarray(np.eye(5, 3)), "none": np.empty((0, 4)), "text": ["x"],
        "every other": np.arange(10)[::2], "sparse": sp.random(20, 9, 0.2, "csr", random_state=0),
    }  # fmt: skip
    shared = pickle.loads(pickle.dumps(Shared(tmp_path / "held", held)))
    read = shared.open()
    for name in ("a", "b", "none", "every other"):
        np.testing.assert_array_equal(read[name], held[name])
    assert (read["sparse"] != held["sparse"]).nnz == 0
    assert read["text"] == ["x"]
    read["a"][:] = 0.0
    np.testing.assert_array_equal(shared.open()["a"], held["a"])
    assert Shared(tmp_path / "nothing", 5).open() == 5


ORPHAN = """
import os, sys, time
import numpy as np
from pathlib import Path
from exactfit._support.processes import Limits, OwnProcess, Shared
folder = Path(sys.argv[1])
shared = Shared(folder / "held", np.ones(2**16))
OwnProcess(folder / "own", Limits(), lambda report, held: (report(process=os.getpid()), time.sleep(600)), shared)
while not (folder / "own" / "report.json").exists():
    time.sleep(0.05)
print((folder / "own" / "report.json").read_text(), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell who is an orphan")
def test_a_process_ends_with_its_parent_and_removes_its_files(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    command = [sys.executable, "-c", ORPHAN, str(tmp_path / "work")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    child, end = json.loads(run.stdout)["process"], time.monotonic() + 20
    while lives(child) or list(tmp_path.iterdir()):
        assert time.monotonic() < end, "the orphan lives on, or its data"
        time.sleep(0.2)
