"""Stores: whole after any end, one process at a time; packing, merging, summaries."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from exactfit.exceptions import DataError, ParameterError
from exactfit.lab import load_dataset
from exactfit.lab import store as store_module
from exactfit.lab.statistics import COLUMNS, summary_text, write_summary
from exactfit.lab.store import Store, describe
from exactfit.lab.trial import Cell, Scheme, Trial
from exactfit.lab.trials import Trials, merge_trials, read_trials, write_trials


def quiet(_: str) -> None:
    """Notes that a test does not look at."""


def header(kind: str = "shared", data: str = "parallel-lines") -> dict:
    return describe("toy", load_dataset(data), Scheme(kind=kind))


def trial(run: int, n: int = 64, **more) -> Trial:
    return Trial(run, Cell(n, 0.5, 20), **({"per_class": (3,), "missed": run % 2, "seconds": 0.012345} | more))


def fill(path: Path, runs: range, **more) -> Path:
    with Store(path, quiet) as store:
        name = store.begin(header())
        for run in runs:
            store.add(name, trial(run, **more))
    return path


def keys(trials: Trials) -> list[tuple]:
    return sorted(trials.rows[["run", "n", "lambda", "N", "detectors", "missed"]].tolist())


def test_lines_are_plain_json(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(2))
    first, second, third = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first["header"].startswith("shared-")
    assert {"digest", "cpu", "numpy", "exactfit", "scheme", "standing", "started"} <= first.keys()
    assert second == {
        "in": first["header"], "run": 0, "n": 64, "lambda": 0.5, "N": 20, "detectors": 3, "per_class": [3],
        "missed": 0, "seconds": 0.0123,
    }  # fmt: skip
    assert third["run"] == 1


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = fill(tmp_path / "deep" / "s.jsonl", range(3), per_class=(1, 2, 4))
    trials = read_trials(path)
    assert trials.rows["detectors"].tolist() == [7, 7, 7]
    assert trials.rows["per_class"].tolist() == [[1, 2, 4]] * 3
    assert trials.rows["lambda"].tolist() == [0.5] * 3
    assert len(trials.where(data="parallel-lines")) == 3
    assert len(trials.where(data="mnist")) == 0


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


def test_damage_in_the_middle_is_not_passed_over(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(3))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{half\n", *lines[2:]]))
    with pytest.raises(DataError, match="line 3 is damaged"):
        Store(path, quiet)
    with Store(tmp_path / "other.jsonl", quiet):
        pass  # and the file was let go


@pytest.mark.parametrize("text", ['{"run": 1}\n', "[]\n", '{"header": "a"}\n{"in": "b"}\n', "7\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_trials(path)


OPEN = """
import sys
from exactfit.lab.store import Store
with Store(sys.argv[1], print):
    print("open", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(1))
    first = subprocess.Popen(
        [sys.executable, "-c", OPEN, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == "open\n"
    with pytest.raises(BlockingIOError, match="in use by another process"):
        Store(path, quiet)
    first.kill()
    first.wait()
    first.stdin.close()
    first.stdout.close()
    with Store(path, quiet) as store:
        assert len(store.trials.rows) == 1


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl", quiet), pytest.raises(BlockingIOError):
        Store(tmp_path / "s.jsonl", quiet)


def test_rows_reach_the_disk_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = threading.Event()
    really = os.fsync
    monkeypatch.setattr(store_module.os, "fsync", lambda file: (really(file), flushed.set()))
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        store.add(name, trial(0))
        start = time.monotonic()
        assert flushed.wait(5.0)
        assert time.monotonic() - start < 2.0  # half a second, on a machine that does nothing else


def test_a_full_disk_is_no_silent_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        really = os.write
        monkeypatch.setattr(store_module.os, "write", lambda file, data: really(file, data[:10]))
        with pytest.raises(OSError, match="no room"):
            store.add(name, trial(0))
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
        store.add(store.begin(header()), trial(0))
        with pytest.raises(BlockingIOError):
            Store(tmp_path / "s.jsonl", quiet)
    assert len(read_trials(tmp_path / "s.jsonl").rows) == 1


def test_a_packed_file_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="packed"):
        Store(tmp_path / "s.csv.gz", quiet)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl"])
@pytest.mark.parametrize("per_class", [(3,), (1, 0, 2)])
def test_packed_and_unpacked(tmp_path: Path, ending: str, per_class: tuple[int, ...]) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(40), per_class=per_class))
    write_trials(tmp_path / f"packed{ending}", trials)
    again = read_trials(tmp_path / f"packed{ending}")
    assert keys(again) == keys(trials)
    assert again.headers == trials.headers
    assert again.rows["per_class"].tolist() == trials.rows["per_class"].tolist()
    assert np.allclose(np.sort(again.rows["seconds"]), np.sort(trials.rows["seconds"]), rtol=0.05)


def test_packing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(10)))
    for name in ("a", "b"):
        write_trials(tmp_path / f"{name}.csv.gz", trials)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv.gz", "b.csv.gz", "s.jsonl"]


def test_a_packed_file_is_read_by_pandas(tmp_path: Path) -> None:
    import pandas as pd

    write_trials(tmp_path / "p.csv.gz", read_trials(fill(tmp_path / "s.jsonl", range(5))))
    frame = pd.read_csv(tmp_path / "p.csv.gz", comment="#")
    assert frame["run"].tolist() == list(range(5))


@pytest.mark.parametrize("damage", ["a,b\n1,2\n", "# {}\n", "# no json\n", "header,run,n,lambda,N\n"])
def test_damaged_packed_files_are_refused(tmp_path: Path, damage: str) -> None:
    (tmp_path / "p.csv").write_text(damage, encoding="utf-8")
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(damage.encode())[:-4])
    for name in ("p.csv", "p.csv.gz"):
        with pytest.raises(DataError):
            read_trials(tmp_path / name)


def test_merging_takes_every_trial_once(tmp_path: Path) -> None:
    parts = [read_trials(fill(tmp_path / f"{k}.jsonl", range(start, start + 6))) for k, start in enumerate((0, 4, 20))]
    merged = merge_trials(parts)
    assert sorted(merged.rows["run"].tolist()) == [*range(10), *range(20, 26)]
    assert len(merged.headers) == 3
    assert keys(merge_trials([merged, *parts])) == keys(merged)
    assert len(merge_trials([]).rows) == 0


def test_merging_keeps_what_is_of_another_kind(tmp_path: Path) -> None:
    with Store(tmp_path / "a.jsonl", quiet) as store:
        store.add(store.begin(header()), trial(0))
        store.add(store.begin(header("independent")), trial(0, per_class=(9,)))
        store.add(store.begin(header(data="two-moons")), trial(0, per_class=(5,)))
    trials = merge_trials([read_trials(tmp_path / "a.jsonl")])
    assert sorted(trials.rows["detectors"].tolist()) == [3, 5, 9]
    assert len(trials.kinds()) == 3


def test_two_outcomes_of_one_trial_are_refused(tmp_path: Path) -> None:
    one = read_trials(fill(tmp_path / "a.jsonl", range(3)))
    other = read_trials(fill(tmp_path / "b.jsonl", range(3), per_class=(4,)))
    with pytest.raises(DataError, match=r"came out in two ways.*3 and 4 detectors"):
        merge_trials([one, other])


def test_failures_stay_in_stores(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        store.add(name, trial(0, error="Traceback ..."))
        store.add(name, trial(1))
    trials = read_trials(tmp_path / "s.jsonl")
    assert trials.rows["run"].tolist() == [1]
    assert trials.failures[0]["error"] == "Traceback ..."
    write_trials(tmp_path / "again.jsonl", trials)
    assert read_trials(tmp_path / "again.jsonl").failures == trials.failures


def test_summary(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(10)))
    lines = summary_text(trials).splitlines()
    assert lines[0] == ",".join(COLUMNS)
    row = dict(zip(COLUMNS, lines[1].split(","), strict=True))
    assert (row["data"], row["standing"], row["scheme"]) == ("parallel-lines", "generated", "shared")
    assert row["digest"] == load_dataset("parallel-lines").digest
    assert (row["runs"], row["interpolating"], row["probability"], row["detectors"]) == ("10", "5", "0.5", "3")
    assert row["probability_low"] == "0.236593"
    write_summary(tmp_path / "deep" / "s.csv", trials)
    assert (tmp_path / "deep" / "s.csv").read_text(encoding="utf-8").splitlines() == lines


def test_a_summary_of_one_run_leaves_intervals_empty(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(1)))
    row = dict(zip(COLUMNS, summary_text(trials).splitlines()[1].split(","), strict=True))
    assert row["detectors_low"] == row["detectors_high"] == ""
