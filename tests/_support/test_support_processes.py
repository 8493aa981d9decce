"""Processes of one's own: limits, reports, ends; and how much memory one uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactfit._support.processes import (
    Limits,
    OwnProcess,
    Reporter,
    as_they_end,
    memory_of,
    run_alone,
    told_by_ps,
)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells through files")
def test_memory_of_a_process_is_told() -> None:
    before = memory_of(os.getpid())
    kept = np.ones(2**23)
    after = memory_of(os.getpid())
    assert before is not None
    assert after is not None
    assert kept.nbytes * 0.9 < after - before < kept.nbytes * 1.5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ps")
def test_memory_is_told_where_there_are_no_files_to_read() -> None:
    told = told_by_ps(os.getpid())
    if told is None:
        pytest.skip("there is no ps")
    assert told > 2**24
    assert told_by_ps(2**22 + 1) is None


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
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "orphan.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(3.0)
    assert lives(child)
    parent.kill()
    parent.communicate()
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
