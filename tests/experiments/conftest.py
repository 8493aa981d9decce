"""A folder of one's own and the rows of a small sweep, for tests of the experiments."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import sweep_toy, trial_rows

from experiments.store import read_trials


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[tuple]:
    path = tmp_path_factory.mktemp("whole") / "s.jsonl"
    report = sweep_toy(path)
    assert (report.before, report.added, report.failed) == (0, 2 * 3 * 18, 0)
    assert report.seconds > 0
    return trial_rows(read_trials(path))
