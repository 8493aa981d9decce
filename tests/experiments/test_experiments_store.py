"""Stores: sound after any end, one process at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import started
from toys import fill, header, quiet, trial

from exactfit.exceptions import ParameterError
from experiments import store as store_module
from experiments.store import Store, read_trials


def test_a_half_written_line_is_dropped_with_a_note(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(3))
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, last // 2, last - 1):
        path.write_bytes(whole[:-cut])
        notes: list[str] = []
        with Store(path, notes.append) as store:
            assert store.trials.rows["run"].tolist() == [0, 1]
        assert notes == [f"s.jsonl: dropped a half-written last line ({last - cut} bytes)"]
        assert path.read_bytes() == whole[:-last]
        path.write_bytes(whole)


def test_a_file_that_is_one_long_half_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 200_000)
    notes: list[str] = []
    with Store(path, notes.append) as store:
        assert len(store.trials.rows) == 0
    assert "200000 bytes" in notes[0]


ROOT = Path(__file__).parents[2]
OPEN = """
import sys
from experiments.store import Store
with Store(sys.argv[1], print):
    print("open", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(1))
    command = [sys.executable, "-c", OPEN, str(path)]
    with started(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        with pytest.raises(BlockingIOError, match="in use by another process"):
            Store(path, quiet)
    with Store(path, quiet) as store:
        assert len(store.trials.rows) == 1


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl", quiet), pytest.raises(BlockingIOError):
        Store(tmp_path / "s.jsonl", quiet)


def test_rows_reach_the_disk_twice_a_second_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[float] = []
    now = 100.0
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now)
    monkeypatch.setattr(store_module.os, "fsync", lambda _: flushed.append(now))
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        for seconds in (0.2, 0.2, 0.2, 0.2, 0.6):
            now += seconds
            store.add(name, [trial(0)])
    assert np.round(flushed, 1).tolist() == [100.6, 101.4, 101.4]


def test_a_full_disk_is_no_silent_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        really = os.write
        monkeypatch.setattr(store_module.os, "write", lambda file, data: really(file, data[:10]))
        with pytest.raises(OSError, match="no room"):
            store.add(name, [trial(0)])
        monkeypatch.undo()
    with Store(tmp_path / "s.jsonl", quiet) as store:
        assert len(store.trials.rows) == 0


def test_where_there_is_no_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, whose way of locking stands in a module that is not here."""

    class Locks:
        taken = False

        @classmethod
        def locking(cls, file: int, mode: int, count: int) -> None:
            assert (mode, count) == (2, 1)
            if cls.taken:
                raise PermissionError(13, "Permission denied")
            cls.taken = True

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Locks)
    with Store(tmp_path / "s.jsonl", quiet) as store:
        store.add(store.begin(header()), [trial(0)])
        with pytest.raises(BlockingIOError):
            Store(tmp_path / "s.jsonl", quiet)
    assert len(read_trials(tmp_path / "s.jsonl").rows) == 1


def test_a_packed_file_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="packed"):
        Store(tmp_path / "s.csv.gz", quiet)
