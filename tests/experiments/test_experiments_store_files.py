"""Trials as lines and packed: what is written is read, and damage is refused."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from toys import fill, header, keys, quiet, trial

from exactfit.exceptions import DataError
from experiments.__main__ import main
from experiments.store import Store, read_trials, write_trials


def test_lines_are_plain_json(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(2))
    first, second, third = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first["header"].startswith("shared-")
    assert {"digest", "cpu", "numpy", "exactfit", "scheme", "standing", "started"} <= first.keys()
    assert second == {
        "in": first["header"], "run": 0, "n": 64, "lambda": 0.5, "N": 20, "detectors": 3, "per_class": [3],
        "missed": 0, "seconds": 0.0123, "crc": second["crc"],
    }  # fmt: skip
    assert third["run"] == 1


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = fill(tmp_path / "deep" / "s.jsonl", range(3), per_class=(1, 2, 4))
    trials = read_trials(path)
    assert trials.rows["detectors"].tolist() == [7, 7, 7]
    assert trials.rows["per_class"].tolist() == ["1 2 4"] * 3
    assert trials.rows["lambda"].tolist() == [0.5] * 3
    assert len(trials.of(header())) == 3
    assert len(trials.of(header(data="two-moons"))) == 0


def test_damage_in_the_middle_is_not_passed_over(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(3))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{half\n", *lines[2:]]))
    with pytest.raises(DataError, match="line 3 is damaged"):
        Store(path, quiet)
    with Store(tmp_path / "other.jsonl", quiet):
        pass  # and the file was let go


def test_an_altered_digit_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fill(tmp_path / "s.jsonl", range(3))
    whole = path.read_bytes()
    places = [place for place in range(len(whole)) if whole[place : place + 1].isdigit()]
    for place in places[:: max(1, len(places) // 60)] + places[-12:]:
        other = b"7" if whole[place : place + 1] != b"7" else b"3"
        path.write_bytes(whole[:place] + other + whole[place + 1 :])
        line = whole[:place].count(b"\n") + 1
        with pytest.raises(DataError, match=f"s.jsonl, line {line} is damaged"):
            read_trials(path)
    assert main(["trials", "cost", str(path)]) == 3
    told = capsys.readouterr().err.strip()
    assert told.startswith("experiments: s.jsonl, line ")
    assert len(told.splitlines()) == 1


def test_stores_without_checksums_are_read(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.jsonl", range(3))
    new = read_trials(path)
    path.write_text(re.sub(r', "crc": "\w{8}"', "", path.read_text(encoding="utf-8")), encoding="utf-8")
    old = read_trials(path)
    assert old.headers == new.headers
    assert old.rows.equals(new.rows)


@pytest.mark.parametrize(
    "row",
    [
        '"run": 0.5', '"run": -1', '"run": 1e30', '"run": null', '"n": "64"', '"detectors": 4', '"per_class": 3',
        '"per_class": [-3]', '"lambda": NaN', '"missed": 99999999999999999999', '"in": []',
    ],
)  # fmt: skip
def test_rows_that_cannot_be_are_refused_without_checksums_too(tmp_path: Path, row: str) -> None:
    path = fill(tmp_path / "s.jsonl", range(1))
    head, line = re.sub(r', "crc": "\w{8}"', "", path.read_text(encoding="utf-8")).splitlines()
    path.write_text(f"{head}\n{line[:-1]}, {row}}}\n", encoding="utf-8")  # the last of equal keys counts
    with pytest.raises(DataError):
        read_trials(path)


def test_any_damage_of_a_packed_file_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    trials = read_trials(fill(tmp_path / "s.jsonl", range(20)))
    path = tmp_path / "p.csv.gz"
    write_trials(path, trials)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with suppress(DataError):
            assert keys(read_trials(path)) == keys(trials)


@pytest.mark.parametrize("text", ['{"run": 1}\n', "[]\n", '{"header": "a"}\n{"in": "b"}\n', "7\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_trials(path)


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


def test_failures_stay_in_stores(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl", quiet) as store:
        name = store.begin(header())
        store.add(name, [{"run": 0, "n": 64, "lambda": 0.5, "N": 20, "error": "Traceback ..."}, trial(1)])
    trials = read_trials(tmp_path / "s.jsonl")
    assert trials.rows["run"].tolist() == [1]
    assert trials.failures[0]["error"] == "Traceback ..."
    write_trials(tmp_path / "again.jsonl", trials)
    assert read_trials(tmp_path / "again.jsonl").failures == trials.failures
