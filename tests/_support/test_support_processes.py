"""Processes of one's own: limits, reports, ends."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.processes import started

from exactfit._support.processes import Limits, OwnProcess, Reporter, Shared, as_they_end, run_alone, workers
from exactfit._support.threads import memory_of

ORPHAN = """
import os, subprocess, sys, time
from exactfit._support.processes import end_with_parent
if sys.argv[1:]:
    end_with_parent(int(sys.argv[1]))
    time.sleep(600)
else:
    child = subprocess.Popen([sys.executable, __file__, str(os.getpid())])
    print(child.pid, flush=True)
    sys.stdin.readline()
"""


def lives(process: int) -> bool:
    """Whether a process runs; one that nobody has buried yet does not."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell who is an orphan")
def test_workers_end_with_whom_they_work_for(tmp_path: Path) -> None:
    (tmp_path / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    command = [sys.executable, tmp_path / "orphan.py"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(3.0)
        assert lives(child)
    end = time.monotonic() + 20
    while lives(child):
        assert time.monotonic() < end, "the orphan lives on"
        time.sleep(0.2)


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
    assert read["a"].ctypes.data % 64 == 0
    read["a"][:] = 0.0
    np.testing.assert_array_equal(shared.open()["a"], held["a"])
    assert Shared(tmp_path / "nothing", 5).open() == 5


def scale(held: Any, task: Any) -> tuple[int, float]:
    print("a word that is no answer")
    if task == "die":
        os.kill(os.getpid(), 9)
    return os.getpid(), float(held @ np.full(len(held), task))


def test_workers_do_one_task_after_another() -> None:
    with ThreadPoolExecutor(2) as pool, workers(2, scale, np.arange(5.0)) as work:
        found = list(pool.map(work, range(20)))
    assert [value for _, value in found] == [10.0 * task for task in range(20)]
    processes = {process for process, _ in found}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    assert not any(map(lives, processes))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_worker_that_dies_is_a_clear_error() -> None:
    with workers(1, scale, np.arange(5.0)) as work, pytest.raises(ChildProcessError, match="ended by SIGKILL"):
        work("die")


def test_workers_are_ended_when_time_is_out() -> None:
    with (
        workers(1, lambda held, task: time.sleep(task), None, time_limit=0.1) as work,
        pytest.raises(TimeoutError, match=r"time limit of 0\.1 s"),
    ):
        work(60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell who is an orphan")
def test_workers_of_a_process_that_was_killed_leave_no_file(tmp_path: Path) -> None:
    code = (
        "import os, numpy as np\n"
        "from exactfit._support.processes import workers\n"
        "with workers(1, lambda held, task: held.sum(), np.ones(2**16)) as work:\n"
        "    work(0)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False, timeout=60)
    end = time.monotonic() + 20
    while list(tmp_path.glob("exactfit-*/held")):
        assert time.monotonic() < end, "its data are still there"
        time.sleep(0.2)
