"""Sweeps: the same rows whatever is run when, where and by how many; failures; shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import DIGITS, GRID, MOONS, TOY, ignore_all, sweep_toy, trial_rows

from exactfit.exceptions import DataError, ParameterError
from exactfit.lab import sweep as sweep_module
from exactfit.lab import trial as trial_module
from exactfit.lab.store import Store, read_trials
from exactfit.lab.sweep import Backend, BatchSize, Display, Shard, Sweep, weight
from exactfit.lab.trial import Cell, OrderedPoints, Scheme, Trial, run_cell
from exactfit.lab.trials import merge_trials


def test_every_cell_of_every_run_once(whole: list[tuple]) -> None:
    assert len({(digest, row[:4]) for digest, row, _ in whole}) == len(whole) == 108
    assert any(row[5] == 0 for _, row, _ in whole)
    assert any(row[5] > 0 for _, row, _ in whole)


def test_part_after_part_in_any_order(whole: list[tuple], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path, replace(TOY, runs=2, grids=({**GRID, "max_bias": (0.5,)},)))
    sweep_toy(path, replace(TOY, runs=1, grids=({**GRID, "points": (60,), "width": (70,)},)), data=(DIGITS,))
    report = sweep_toy(path)
    assert report.before == 2 * 2 * 6 + 3 - 1
    assert report.added == 108 - report.before
    assert trial_rows(read_trials(path)) == whole
    again = sweep_toy(path)
    assert (again.before, again.added) == (108, 0)


def test_first_layers_in_several_goes_for_lack_of_memory(
    whole: list[tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "MEMORY", 1)
    sweep_toy(tmp_path / "s.jsonl")
    assert trial_rows(read_trials(tmp_path / "s.jsonl")) == whole


def test_nothing_new_means_no_header(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path)
    before = path.read_bytes()
    sweep_toy(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("count", [2, 3, 5, 200])
def test_shards_merge_to_the_whole(whole: list[tuple], tmp_path: Path, count: int) -> None:
    parts = []
    for index in range(count if count < 100 else 7):
        sweep_toy(tmp_path / f"{index}.jsonl", shard=Shard(index, count))
        parts.append(read_trials(tmp_path / f"{index}.jsonl"))
    rows = trial_rows(merge_trials(parts))
    assert sum(len(part.rows) for part in parts) == len(rows)
    assert rows == whole if count < 100 else set(map(str, rows)) <= set(map(str, whole))


def test_shards_are_equal_parts() -> None:
    for runs, cells, count in ((250, 10, 8), (5, 183, 16), (1, 7, 7)):
        parts = [Shard(index, count).holds(runs, cells) for index in range(count)]
        assert (np.sum(parts, axis=0) == 1).all()
        sizes = [part.sum() for part in parts]
        assert max(sizes) - min(sizes) <= (cells if count <= runs else 1)


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "a/3", "1/", "1/0", "-1/3"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(ParameterError, match="a shard is i/k"):
        Shard.parse(text)


def test_independent_cells(whole: list[tuple], tmp_path: Path) -> None:
    free = replace(TOY, scheme=Scheme(kind="independent"))
    sweep_toy(tmp_path / "a.jsonl", free)
    sweep_toy(tmp_path / "b.jsonl", free, Backend("threads", 2))
    rows = trial_rows(read_trials(tmp_path / "a.jsonl"))
    assert rows == trial_rows(read_trials(tmp_path / "b.jsonl"))
    assert len(rows) == len(whole)
    assert [row[1:] for row in rows] != [row[1:] for row in whole]
    header = read_trials(tmp_path / "a.jsonl").headers[0]
    assert header["scheme"] == "independent"
    assert header["header"].startswith("independent-")


def test_schemes_do_not_count_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sweep_toy(path)
    assert sweep_toy(path, replace(TOY, scheme=Scheme(center=True))).before == 0
    assert sweep_toy(path, replace(TOY, scheme=Scheme(center=True))).before == 108


def test_a_failing_trial_is_recorded_and_run_again(
    whole: list[tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sometimes(layers, cell: Cell) -> Trial:
        if cell == Cell(40, 0.5, 60):
            raise ZeroDivisionError("on purpose")
        return run_cell(layers, cell)

    monkeypatch.setattr(trial_module, "run_cell", sometimes)
    path, seen = tmp_path / "s.jsonl", []
    with Store(path, ignore_all) as store:
        report = Sweep(TOY, (MOONS, DIGITS), store).run(Backend(), seen.extend)
    assert (report.added, report.failed) == (102, 6)
    assert sum(bool(trial.error) for trial in seen) == 6
    failures = read_trials(path).failures
    assert len(failures) == 6
    assert "ZeroDivisionError: on purpose" in failures[0]["error"]
    assert "Traceback" in failures[0]["error"]
    monkeypatch.undo()
    assert sweep_toy(path).added == 6
    assert trial_rows(read_trials(path)) == whole


def test_one_class_in_a_beginning_is_refused(tmp_path: Path) -> None:
    order = np.argsort(MOONS.y, kind="stable")
    with pytest.raises(DataError, match="the first 20 points of moons are of one class"):
        sweep_toy(
            tmp_path / "s.jsonl", replace(TOY, grids=({**GRID, "points": (20,)},)), data=(MOONS.reordered(order),)
        )


def test_batches_grow_to_half_a_second() -> None:
    cells = [Cell(64, 1.0, 1000)] * 5000
    pace = BatchSize()
    assert pace.count(cells) == 1
    for _ in range(20):
        pace.learn([Trial(0, cells[0], seconds=0.001)], 0.0)
    assert 400 <= pace.count(cells) <= 600
    pace.learn([Trial(0, cells[0], seconds=3.001)], 3.0)
    assert pace.count([*cells, *cells]) > 4000, "first layers that take long make for longer batches"
    for _ in range(20):
        pace.learn([Trial(0, cells[0], seconds=70.0)], 0.0)
    assert pace.count(cells) == 1
    assert weight(Cell(128, 1.0, 10)) > weight(Cell(64, 1.0, 10))


def test_a_small_trial_goes_in_batches() -> None:
    """Many small trials are few messages."""
    sent = []
    cells = [Cell(64, 1.0, 60)] * 4000

    def count_cells(batches):
        for batch in batches:
            sent.append(len(batch.cells))
            yield batch

    part = sweep_module.Part(OrderedPoints.of(MOONS), Scheme(), "", cells, np.zeros((1, 4000), dtype=bool))
    pace = BatchSize()
    for batch in count_cells(part.batches(0, 0, pace)):
        pace.learn([Trial(0, cell, seconds=0.0005) for cell in batch.cells], 0.0)
    assert sum(sent) == 4000
    assert len(sent) < 10


def test_display_without_a_terminal_says_a_line_a_minute() -> None:
    said: list[str] = []
    now = 0.0
    cell = Cell(64, 1.0, 100)
    with Display("toy", [cell] * 10, said.append, clock=lambda: now) as display:
        for second, error in ((30.0, ""), (61.0, ""), (62.0, "Traceback"), (130.0, "")):
            now = second
            display([Trial(0, cell, (1,), error=error)])
    assert said == [
        "toy: 2 of 10 trials, 0.03 a second, 0:04:04 left, 0 failed",
        "toy: 4 of 10 trials, 0.03 a second, 0:03:15 left, 1 failed",
    ]


def test_display_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    cell = Cell(64, 1.0, 100)
    with Display("toy", [cell] * 2, ignore_all) as display:
        display([Trial(0, cell, (1,))])
    assert "1 of 2 trials" in capsys.readouterr().err
